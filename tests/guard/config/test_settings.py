from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from celosia.core.errors import ParameterError
from celosia.guard.config.sections import Limits, Oidc
from celosia.guard.config.settings import Config
from celosia.guard.roles import Role

OIDC: dict[str, Any] = {
    "issuer": "https://login.example",
    "audience": "celosia",
    "jwks": "https://login.example/keys",
    "roles": {"team": "analyst"},
}


def test_the_defaults_are_for_one_machine() -> None:
    config = Config(store="sqlite:///ledger.db")
    assert config.loopback
    assert (config.slot_milliseconds, config.limits) == (100, Limits())
    assert Limits() == Limits(requests_per_minute=600, body_bytes=65_536, plan_nodes=500, cells=10_000, waiting=256)


def test_what_makes_no_sense_is_refused_by_the_name_of_its_line() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"store": "ledger.db"}, "store must be sqlite:///FILE or postgresql"),
        ({"store": "mysql://ana:secret@db/x"}, "store must be sqlite:///FILE or postgresql"),
        ({"store": ""}, "store must be a text"),
        ({"store": 7}, "store must be a text"),
        ({"port": 65_536}, "port must be an integer from 0 to 65535, not 65536"),
        ({"port": "8750"}, "port must be an integer"),
        ({"port": True}, "port must be an integer"),
        ({"workers": 0}, "workers must be"),
        ({"slot_milliseconds": -1}, "slot_milliseconds must be"),
        ({"slot_milliseconds": 1.5}, "slot_milliseconds must be"),
        ({"behind_proxy": 1}, "behind_proxy must be true or false"),
        ({"certificate": Path("a.pem")}, "certificate and private_key go together"),
        ({"private_key": Path("a.pem")}, "certificate and private_key go together"),
        ({"host": "0.0.0.0"}, "others can reach"),
        ({"host": "guard.example"}, "others can reach"),
        ({"host": ""}, "host must be a text"),
    ]
    for wrong, words in cases:
        with pytest.raises(ParameterError, match=words) as caught:
            Config(**{"store": "memory://"} | wrong)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_this_machine_needs_no_tls(host: str) -> None:
    assert Config(store="memory://", host=host).loopback


def test_others_may_come_through_tls_or_a_proxy() -> None:
    assert not Config(store="memory://", host="0.0.0.0", behind_proxy=True).loopback
    files: dict[str, Any] = {"certificate": Path("a.pem"), "private_key": Path("b.pem")}
    assert not Config(store="memory://", host="::", **files).loopback


def test_limits_are_whole_numbers_of_ordinary_size() -> None:
    name_cases: list[str] = ["requests_per_minute", "body_bytes", "plan_nodes", "cells", "waiting", "patience_seconds"]
    value_cases: list[Any] = [0, -1, 1.0, "9", None, True, 10**12]
    for name in name_cases:
        for value in value_cases:
            with pytest.raises(ParameterError, match=rf"limits\.{name} must be an integer"):
                Limits(**{name: value})


def test_a_provider_that_makes_no_sense_is_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"issuer": ""}, "oidc.issuer must be a text"),
        ({"audience": 7}, "oidc.audience must be a text"),
        ({"jwks": "http://login.example/keys"}, "oidc.jwks must be an https address"),
        ({"jwks": "ftp://login.example/keys"}, "oidc.jwks must be an https address"),
        ({"jwks": "https://ana:secret@login.example/keys"}, "oidc.jwks must be an https address"),
        ({"jwks": "https://[login"}, "oidc.jwks must be an https address"),
        ({"jwks": "https:///keys"}, "oidc.jwks must be an https address"),
        ({"roles": {}}, "oidc.roles must say"),
        ({"roles": ["analyst"]}, "oidc.roles must say"),
        ({"roles": {"team": "king"}}, "role must be one of"),
        ({"role_claim": ""}, "oidc.role_claim must be a text"),
    ]
    for wrong, words in cases:
        with pytest.raises(ParameterError, match=words) as caught:
            Oidc(**OIDC | wrong)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "jwks", ["https://login.example/keys", "http://127.0.0.1:8000/keys", "http://[::1]/k", "keys.json"]
)
def test_keys_come_from_https_this_machine_or_a_file(jwks: str) -> None:
    assert Oidc(**OIDC | {"jwks": jwks}).roles == {"team": Role.ANALYST}


def test_passwords_are_not_shown() -> None:
    config = Config(store="postgresql://ana:secret@db.example/registry")
    assert "secret" not in repr(config)
    assert "ana:***@db.example" in repr(config)


def test_a_file_is_written_for_its_owner_alone_and_never_over_another(tmp_path: Path) -> None:
    file = tmp_path / "guard.toml"
    Config(store="sqlite:///ledger.db").write(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    with pytest.raises(ParameterError, match="is left as it is"):
        Config(store="sqlite:///other.db").write(file)
    assert file.read_bytes() == before
    assert Config.read(file) == Config(store=f"sqlite:///{tmp_path}/ledger.db")


def test_a_file_that_cannot_be_read_is_told_so(tmp_path: Path) -> None:
    cases: list[tuple[bytes, str]] = [
        (b"store = ", "is not TOML"),
        (b"\xff\xfe\xfa", "cannot be read as a text"),
        (b"", "store must be given"),
        (b"a = " + b"[" * 100_000, "is not TOML"),
    ]
    for content, words in cases:
        file = tmp_path / "guard.toml"
        file.write_bytes(content)
        with pytest.raises(ParameterError, match=words):
            Config.read(file)
        with pytest.raises(ParameterError, match="celosia guard init writes one"):
            Config.read(tmp_path / "nowhere.toml")
        with pytest.raises(ParameterError, match="cannot be read"):
            Config.read(tmp_path)
