from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import ParameterError
from celosia.guard.config.file import write_config
from celosia.guard.config.sections import Limits, Oidc
from celosia.guard.config.settings import Config
from celosia.guard.roles import Role

FOLDER = Path("/srv/guard")
TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=20)
CONFIGS = st.builds(
    Config,
    store=st.sampled_from(["memory://", "sqlite:////srv/guard/ledger.db", "postgresql://ana:${P}@db.example/x"]),
    host=st.sampled_from(["127.0.0.1", "::1", "localhost"]),
    port=st.integers(0, 65_535),
    workers=st.integers(1, 256),
    slot_milliseconds=st.integers(0, 60_000),
    behind_proxy=st.booleans(),
    data_folders=st.lists(TEXTS.map(FOLDER.joinpath), max_size=2).map(tuple),
    limits=st.builds(Limits, cells=st.integers(1, 10**6), plan_nodes=st.integers(10, 10**5)),
    oidc=st.none()
    | st.builds(
        Oidc,
        issuer=TEXTS,
        audience=TEXTS,
        jwks=st.just("https://login.example/keys"),
        role_claim=TEXTS,
        name_claim=TEXTS,
        roles=st.dictionaries(TEXTS, st.sampled_from(Role), min_size=1, max_size=3),
    ),
)


@given(CONFIGS)
def test_what_was_written_is_read(config: Config) -> None:
    assert Config.from_document(tomllib.loads(write_config(config)), FOLDER) == config


def test_every_line_that_is_left_out_is_shown_as_a_comment() -> None:
    text = write_config(Config(store="memory://"))
    for name in ("certificate", "private_key", "data_folders", "[oidc]", "issuer", "audience", "jwks", "roles"):
        assert f"# {name}" in text
    uncommented = "\n".join(
        line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ") and "=" in line
    )
    assert "certificate" in uncommented


def test_paths_are_relative_to_the_folder() -> None:
    oidc = {"issuer": "i", "audience": "a", "jwks": "keys.json", "roles": {"team": "analyst"}}
    given_ = {
        "store": "sqlite:///ledger.db",
        "host": "0.0.0.0",
        "certificate": "tls/a.pem",
        "private_key": "/etc/b.pem",
        "data_folders": ["data", "/srv/more"],
        "oidc": oidc,
    }
    config = Config.from_document(given_, FOLDER)
    assert config.store == "sqlite:////srv/guard/ledger.db"
    assert (config.certificate, config.private_key) == (FOLDER / "tls/a.pem", Path("/etc/b.pem"))
    assert config.data_folders == (FOLDER / "data", Path("/srv/more"))
    assert config.oidc is not None
    assert config.oidc.jwks == "/srv/guard/keys.json"
    assert Config.from_document({"store": "sqlite:////var/ledger.db"}, FOLDER).store == "sqlite:////var/ledger.db"
    assert Config.from_document({"store": "postgresql://db/x"}, FOLDER).store == "postgresql://db/x"


def test_what_is_wrong_is_told_by_the_name_of_its_line() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "store must be given"),
        ({"store": 7}, "store must be given"),
        ({"store": "memory://", "prot": 1}, "'prot'; it knows host, port"),
        ({"store": "memory://", "limits": {"cell": 1}}, r"'limits\.cell'; it knows limits"),
        ({"store": "memory://", "limits": 7}, r"limits must be a section, \[limits\]"),
        ({"store": "memory://", "limits": {"cells": 0}}, r"limits\.cells must be"),
        ({"store": "memory://", "oidc": {"issuer": "x"}}, r"oidc\.audience must be given"),
        ({"store": "memory://", "oidc": "x"}, "oidc must be a section"),
        ({"store": "memory://", "certificate": 7, "private_key": "x"}, "certificate must be the path"),
        ({"store": "memory://", "data_folders": "data"}, "data_folders must be a list"),
        ({"store": "memory://", "data_folders": [7]}, "data_folders must be the path"),
        ({"store": "memory://", "data_folders": [""]}, "data_folders must be the path"),
        ({"store": "memory://", "certificate": "", "private_key": "x"}, "certificate must be the path"),
    ]
    for document, words in cases:
        with pytest.raises(ParameterError, match=words):
            Config.from_document(document, FOLDER)
