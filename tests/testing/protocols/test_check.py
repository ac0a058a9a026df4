"""Protocols pass at a small or a large epsilon (thorough: at four); each planted mistake is convicted by its check."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import pytest

from celosia.core import ConformanceError, ParameterError
from celosia.local import CountMeanSketch, DirectEncoding, HadamardCountMeanSketch, LocalHashing, OptimizedUnary
from celosia.local.base.memoised import Memoised
from celosia.testing import Report, check_protocol
from tests.testing.protocol_mutants import MUTANTS, DrawsTooTrue
from tests.testing.small_protocols import SMALL, WORDS
from tests.testing.third_party import ANSWERS, Warner

CHECKS = ["form", "law", "event", "sampler", "scalar", "bias", "variance"]
MORE = ["merging", "wire", "hostile", "seeds", "refusals"]


EPSILONS = (Fraction(1, 2), 4, 1, 2)
QUICK = {(name, EPSILONS[place % 2]) for place, name in enumerate(sorted(SMALL))}  # a small or a large one each
CASES = [
    pytest.param(name, epsilon, marks=[] if (name, epsilon) in QUICK else [pytest.mark.thorough])
    for name in sorted(SMALL)
    for epsilon in EPSILONS
]


@pytest.mark.parametrize(("name", "epsilon"), CASES)
def test_every_protocol_keeps_its_promise(name: str, epsilon: Any, *, thorough: bool) -> None:
    make, values = SMALL[name]
    report = check_protocol(make(epsilon), values, samples=12_000 if thorough else 4_000)
    first = [*CHECKS[:5], "memoised", "histories", *CHECKS[5:]] if isinstance(make(epsilon), Memoised) else CHECKS
    expected = [*first[:-1], *MORE] if name == "DistinctCount" else [*first, *MORE]
    assert [check.name for check in report.checks] == expected
    assert 0 < report.lower_bound <= float(make(epsilon).guarantee.epsilon) * (1 + 1e-9)


def test_mutants_are_convicted() -> None:
    for name in sorted(MUTANTS):
        make, words = MUTANTS[name]
        with pytest.raises(ConformanceError, match=words):
            check_protocol(make(domain=4, epsilon=1), samples=4_000)  # as many as clear the right ones above


def test_three_million_draws_show_a_coin_two_percent_off() -> None:
    cases: list[int] = [1, 4]
    for epsilon in cases:
        with pytest.raises(ConformanceError, match=r"sampler: .* p-value"):
            check_protocol(DrawsTooTrue(domain=4, epsilon=epsilon), samples=3_000_000)


def too_true(protocol: Any) -> Any:
    """The protocol, with the sampler of a little more epsilon: its flip probability is 2 % too small."""
    lie = 0.98 / (1 + math.exp(float(protocol.epsilon)))
    given = {field.name: getattr(protocol, field.name) for field in dataclasses.fields(protocol)}
    other = type(protocol)(**{**given, "epsilon": Fraction(math.log((1 - lie) / lie))})
    kind = type(f"Mutant{type(protocol).__name__}", (type(protocol),), {"__slots__": (), "sample": other.sample})
    return kind(**given)


def test_three_million_draws_show_other_clients_two_percent_off() -> None:
    cases: list[Any] = [
        HadamardCountMeanSketch(epsilon=4, hashes=2, width=4, seed=7),  # the rarest flip of all
        OptimizedUnary(domain=4, epsilon=2),
        LocalHashing(domain=4, epsilon=1, hashes=8, buckets=3),
    ]
    for protocol in cases:
        with pytest.raises(ConformanceError, match=r"sampler: .* p-value"):
            check_protocol(too_true(protocol), [0, 1, 2, 3], samples=3_000_000)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 4], ids=str)
def test_somebody_elses_protocol_is_checked_alike(epsilon: Any) -> None:
    report = check_protocol(Warner(question="Do you smoke?", epsilon=epsilon), ANSWERS, samples=20_000)
    assert [check.name for check in report.checks] == [*CHECKS, *MORE]


def test_a_report_says_what_was_found() -> None:
    report = check_protocol(DirectEncoding(domain=3, epsilon=1), samples=1_000)
    assert isinstance(report, Report)
    assert str(report).startswith("DirectEncoding: nothing found against it (evidence, not proof)\n  form: ")
    assert report.lower_bound == pytest.approx(1)


def test_reports_too_many_to_list_are_attacked() -> None:
    report = check_protocol(CountMeanSketch(epsilon=4, hashes=2, width=64), WORDS, samples=20_000)
    names = [check.name for check in report.checks]
    assert names == ["form", "event", "stated", "audit", "bias", "variance", *MORE]
    assert 0 < report.lower_bound <= 4


def test_values_must_be_neighbours() -> None:
    cases: list[list[int]] = [[1], [1, 1], []]
    for values in cases:
        with pytest.raises(ParameterError, match="two different"):
            check_protocol(DirectEncoding(domain=3, epsilon=1), values)


def test_parameters_are_checked() -> None:
    cases: list[tuple[str, float]] = [("samples", 3), ("failure", 0.0), ("failure", 1.0)]
    for name, value in cases:
        with pytest.raises(ParameterError, match=name):
            check_protocol(DirectEncoding(domain=3, epsilon=1), **{name: value})  # type: ignore[arg-type]  # on purpose


def test_what_is_no_protocol_is_refused() -> None:
    with pytest.raises(ConformanceError, match=r"must be a celosia\.local\.Protocol"):
        check_protocol(3)  # type: ignore[arg-type]  # on purpose
