"""Every protocol has a short name; what it takes is passed on, and what it does not take is refused."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from celosia import local
from celosia.core.errors import ParameterError
from celosia.local.base.protocol import Protocol
from celosia.local.catalogue import build, find, load_catalogue

CATALOGUE = load_catalogue()

STATED: dict[str, dict[str, Any]] = {
    "domain": {"domain": 8},
    "bounds": {"low": 0, "high": 1},
    "spelling": {},
    "nothing": {},
}


def made(name: str, **options: Any) -> Protocol[Any]:
    epsilon = None if name == "rappor" else 2
    return build(name, epsilon=epsilon, **{**STATED[CATALOGUE[name].requires], **options})


def test_every_name_builds_its_protocol() -> None:
    for name in list(CATALOGUE):
        protocol = made(name)
        assert type(protocol) is CATALOGUE[name].kind
        assert Protocol.from_json(protocol.to_json()) == protocol


def test_no_protocol_is_without_a_name() -> None:
    kinds = {
        kind
        for name in local.__all__
        if inspect.isclass(kind := getattr(local, name)) and issubclass(kind, Protocol) and not inspect.isabstract(kind)
    }
    assert kinds == {entry.kind for entry in CATALOGUE.values()}


def test_options_are_parameters_of_the_constructor() -> None:
    for name in list(CATALOGUE):
        entry = CATALOGUE[name]
        known = set(inspect.signature(entry.kind.__init__).parameters)
        assert {entry.renamed.get(option, option) for option in (*entry.options, *entry.defaults)} <= known
        assert {"seed", "symmetric"} & known - {"symmetric"} <= set(entry.options)


def test_options_are_passed_on() -> None:
    assert made("hcms", width=64).to_json() == local.HadamardCountMeanSketch(epsilon=2, hashes=1024, width=64).to_json()
    assert made("dbitflip", d=3, seed=5) == local.DBitFlip(buckets=8, d=3, epsilon=2, seed=5)
    assert made("dbitflip", domain=3) == local.DBitFlip(buckets=3, d=3, epsilon=2)
    assert made("sue") == local.OptimizedUnary(domain=8, epsilon=2, symmetric=True)
    assert made("loloha") == local.LOLOHA(domain=8, epsilon=2, epsilon_infinity=4)
    assert made("pem", domain=1 << 20) == local.PrefixExtension(epsilon=2, domain=1 << 20)
    assert made("rappor", f="1/4", hashes=1) == local.Rappor(f="1/4", hashes=1)
    assert made("piecewise", width="least") == local.Piecewise(low=0, high=1, epsilon=2, width="least")
    assert made("hcms", width=None) == made("hcms")


def test_bad_requests() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda: find("md5"), "protocol must be one of cms, hcms"),
        (lambda: find(["cms"]), "protocol must be one of"),  # type: ignore[arg-type]  # that is what is tested
        (lambda: build("hcms"), "hcms needs an epsilon"),
        (lambda: build("hcms", epsilon=1, d=4), "hcms takes hashes, width and seed besides epsilon, not d"),
        (lambda: build("grr", epsilon=1), "grr needs the domain"),
        (lambda: build("duchi", epsilon=1, low=0), "duchi needs the high"),
        (lambda: build("duchi", epsilon=1), "duchi needs the low and high"),
        (lambda: build("rappor", epsilon=1), "epsilon of rappor follows"),
        (lambda: build("hcms", epsilon=-1), "epsilon must be greater than 0"),
    ]
    for call, words in cases:
        with pytest.raises(ParameterError, match=words):
            call()
