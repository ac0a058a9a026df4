"""Every protocol's stated law, estimates and lifetimes, against an implementation that shares nothing with it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.local import (
    LOLOHA,
    CountMeanSketch,
    DBitFlip,
    DirectEncoding,
    HadamardCountMeanSketch,
    HadamardResponse,
    HierarchicalHistogram,
    Hybrid,
    LocalHashing,
    LocalLaplace,
    OneBitMean,
    OptimizedUnary,
    Piecewise,
    PrefixExtension,
    Rappor,
    SequenceFragmentPuzzle,
    SubsetSelection,
)
from celosia.local.longitudinal.rappor_equations import Equations
from celosia.testing.protocols.histories import history_law as listed_law
from tests.local.exact_laws import expected, history_law, law
from tests.local.reference_client import column, digest
from tests.testing.protocol_mutants import HalfEpsilon, StatesTooMuch
from tests.testing.small_protocols import SMALL

if TYPE_CHECKING:
    from celosia.local.base.memoised import Memoised
    from celosia.local.base.protocol import Protocol

PEOPLE = 10**13  # of whom as many send each report as is expected: what is left is rounding


def small(name: str, epsilon: Any) -> tuple[Protocol[Any], list[Any]]:
    make, values = SMALL[name]
    if name.startswith("Rappor"):  # all permanent and all instantaneous bits are enumerated
        old: Any = make(epsilon)
        return Rappor(bits=4, hashes=1, cohorts=2, f=old.f, p=old.p, q=old.q, seed=7), values
    return make(epsilon), values


def check_law(protocol: Protocol[Any], values: list[Any]) -> np.ndarray[Any, Any]:
    """The law is the client's; returned are the probabilities, a row for each value."""
    outputs = protocol.outputs()
    assert outputs is not None
    listed = [row.tobytes() for row in outputs]
    rows = []
    for value in values:
        found = law(protocol.to_json(), value)
        assert float(sum(found.values())) == pytest.approx(1, abs=1e-15)
        assert set(found) <= set(listed)
        exact = np.array([float(found.get(report, 0)) for report in listed])
        stated = protocol.log_masses(value, outputs)
        assert (np.isneginf(stated) == (exact == 0)).all()
        assert np.abs(stated[exact > 0] - np.log(exact[exact > 0])).max() < 1e-9
        rows.append(exact)
    pure = max(float(np.log(one / two).max()) for one in rows for two in rows if one is not two)
    assert pure <= float(protocol.guarantee.epsilon) * (1 + 1e-9)
    return np.array(rows)


def crowd(protocol: Protocol[Any], chances: np.ndarray[Any, Any]) -> Any:
    """The aggregate that is expected of very many people, all with the same probabilities of reports."""
    outputs, aggregate = protocol.outputs(), protocol.aggregate()
    assert outputs is not None
    total = {name: np.zeros(array.shape, dtype=object) for name, array in aggregate.state.items()}
    sizes = [round(Fraction(float(chance)) * PEOPLE) for chance in chances]
    for report, size in zip(outputs, sizes, strict=True):
        one = protocol.aggregate()
        protocol.accumulate(one.state, report[None])
        for name, array in one.state.items():
            total[name] = total[name] + array.astype(object) * size
    aggregate.state = {name: array.astype(np.int64) for name, array in total.items()}
    aggregate.reports = sum(sizes)
    return aggregate


def check_estimates(protocol: Protocol[Any], values: list[Any], masses: np.ndarray[Any, Any]) -> None:
    for held, chances in zip(values, masses, strict=True):
        estimate = crowd(protocol, chances).estimate(*([] if hasattr(protocol, "low") else [values]))
        if hasattr(protocol, "low"):
            clamped = 1e-6 if isinstance(protocol, LocalLaplace) else 0.0
            assert estimate.mean == pytest.approx(held, abs=1e-8 + clamped)
            continue
        wanted = [expected(protocol.to_json(), held, asked) for asked in values]
        assert estimate.raw / PEOPLE == pytest.approx(np.array(wanted), abs=1e-6)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 2], ids=str)
@pytest.mark.parametrize("name", sorted(SMALL))
@pytest.mark.sampled(3)
def test_small_protocols(name: str, epsilon: Any) -> None:
    protocol, values = small(name, epsilon)
    masses = check_law(protocol, values)
    if name != "DistinctCount" and not name.startswith("Rappor"):  # theirs are no sums of counts
        check_estimates(protocol, values, masses)


@pytest.mark.parametrize("f", ["1/8", 0])
def test_rappor_takes_the_coins_off_each_bit(f: Any) -> None:
    protocol = Rappor(bits=4, hashes=2, cohorts=2, f=f, p="1/4", q="2/3", seed=7)
    density = 1 - (1 - 1 / 4) ** 2  # of bits that people without a candidate set, taken off as well
    for value in ("sun", "nieve"):
        found = law(protocol.to_json(), value)
        outputs = protocol.outputs()
        assert outputs is not None
        state = crowd(protocol, np.array([float(found.get(row.tobytes(), 0)) for row in outputs])).state
        equations = Equations.of(protocol, state["ones"].sum(axis=0), state["sizes"].sum(axis=0))
        bits = [
            float(any(column(digest(value, 7), row, 4, 7) == bit for row in (2 * cohort, 2 * cohort + 1)))
            for cohort in range(2)
            for bit in range(4)
        ]
        assert equations.people / equations.sizes == pytest.approx(np.array(bits) - density, abs=1e-6)


LARGER: list[tuple[Protocol[Any], list[Any]]] = [
    (CountMeanSketch(epsilon=3, hashes=5, width=8, seed=2), list(range(12))),
    (DBitFlip(buckets=9, d=4, epsilon=1, seed=5), list(range(9))),
    (DBitFlip(buckets=8, d=8, epsilon=3), list(range(8))),
    (DirectEncoding(domain=300, epsilon=5), list(range(300))),
    (HadamardCountMeanSketch(epsilon=3, hashes=7, width=32, seed=2), list(range(20))),
    (HadamardResponse(domain=60, epsilon=3, blocks=4), list(range(60))),
    (HierarchicalHistogram(domain=9, epsilon=1, fanout=3), list(range(9))),
    (HierarchicalHistogram(domain=27, epsilon=1, fanout=3, oracle="hadamard"), list(range(27))),
    (Hybrid(epsilon=3, low=-3, high=5, grid=16), [-3, -2.9, 0.7, 1, 4.99, 5]),
    (LOLOHA(domain=9, epsilon=1, epsilon_infinity="1.5", g=5, functions=9), list(range(9))),
    (LocalHashing(domain=20, epsilon=3, hashes=30, buckets=11), list(range(20))),
    (LocalLaplace(epsilon="0.3", low=0, high=7, grid=16), [0, 0.1, 3.3, 7]),
    (OneBitMean(low="0.1", high="0.7", epsilon=3), [0.1, 0.2, 0.65, 0.7]),
    (OptimizedUnary(domain=12, epsilon=3), list(range(12))),
    (OptimizedUnary(domain=12, epsilon=3, symmetric=True), list(range(12))),
    (Piecewise(epsilon=3, low=-3, high=5, grid=64), [-3, -2.9, 0.7, 1, 4.99, 5]),
    (PrefixExtension(domain=256, epsilon=3, step=3, hashes=9), [0, 1, 77, 128, 255]),
    (
        SequenceFragmentPuzzle(
            epsilon=3, alphabet="abc", length=6, fragment=2, hashes=2, width=5, fragment_hashes=2, fragment_width=4
        ),
        ["a", "abcabc", "ba", "cc"],
    ),
    (SubsetSelection(domain=9, epsilon=1, chosen=4), list(range(9))),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("protocol", "values"), LARGER, ids=lambda given: repr(given)[:60])
def test_larger_protocols(protocol: Protocol[Any], values: list[Any]) -> None:
    check_estimates(protocol, values, check_law(protocol, values))


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 4], ids=str)
@pytest.mark.parametrize("name", sorted(SMALL))
def test_small_protocols_at_more_epsilons(name: str, epsilon: Any) -> None:
    test_small_protocols(name, epsilon)


@pytest.mark.parametrize("mutant", [StatesTooMuch, HalfEpsilon], ids=lambda kind: kind.__name__)
def test_a_law_and_an_estimate_that_are_off_are_seen(mutant: Any) -> None:
    protocol = mutant(domain=4, epsilon=1)
    # The reference knows the honest protocol by its name.
    text = protocol.to_json().replace(mutant.__name__, "DirectEncoding")
    honest = np.array([[float(law(text, value)[bytes([said])]) for said in range(4)] for value in range(4)])
    stated = np.exp([protocol.log_masses(value, protocol.outputs()) for value in range(4)])
    assert (np.abs(stated - honest).max() > 1e-3) == (mutant is StatesTooMuch)
    raw = crowd(protocol, honest[0]).estimate().raw / PEOPLE
    assert (np.abs(raw - [1, 0, 0, 0]).max() > 1e-3) == (mutant is HalfEpsilon)


KEPT: list[tuple[Memoised[Any], list[Any]]] = [
    (DBitFlip(buckets=3, d=3, epsilon=1), [0, 1, 2]),
    (DBitFlip(buckets=3, d=1, epsilon=1, seed=3), [0, 1, 2]),
    (LOLOHA(domain=4, epsilon=1, epsilon_infinity="1.2", g=2, functions=8), [0, 1, 2]),
    (LOLOHA(domain=4, epsilon=1, epsilon_infinity=2, g=3, functions=2), [0, 1, 3]),
    (OneBitMean(low=-1, high=1, epsilon=1), [-1, 0.25, 1]),
    (Rappor(bits=2, hashes=1, cohorts=1, f="1/4", p="1/4", q="3/4", seed=7), ["sun", "nieve"]),
    (Rappor(bits=2, hashes=1, cohorts=2, f="1/2", p=0, q="3/4", seed=7), ["sun", "nieve"]),
    (Rappor(bits=2, hashes=1, cohorts=2, f="1/2", p=0, q=1, seed=7), ["sun", "nieve"]),
]
EACH_KEPT = pytest.mark.parametrize(("protocol", "values"), KEPT, ids=lambda given: repr(given)[:60])


def check_histories(protocol: Memoised[Any], values: list[Any], reports: int) -> None:
    """The laws of histories are the client's; no pair loses more than is stated between any two, or same changes."""
    stated = listed_law(protocol, values, reports)
    assert stated is not None
    listed = [row.tobytes() for row in stated.outputs]
    exact = {}
    for history, logs in zip(stated.values, stated.logs, strict=True):
        found = {b"".join(said): float(chance) for said, chance in history_law(protocol.to_json(), history).items()}
        assert set(found) <= set(listed)
        exact[history] = np.array([found.get(said, 0.0) for said in listed])
        assert np.exp(logs) == pytest.approx(exact[history], rel=1e-9, abs=1e-15)
    for one, two in combinations(product(values, repeat=reports), 2):
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = float(np.nanmax(np.abs(np.log(exact[one] / exact[two]))))
        different = max(len(set(one)), len(set(two)))
        bound = protocol.plain_lifetime_epsilon(reports, different)
        assert lost <= (math.inf if bound is None else float(bound) * (1 + 1e-9))
        # Constant, or with two values exchanged: the only ones that change alike whatever the client drew.
        exchanged = dict(zip(values, reversed(values), strict=True))
        if different == 1 or (len(values) == 2 and two == tuple(exchanged[value] for value in one)):
            assert lost <= float(protocol.lifetime_epsilon(reports, different)) * (1 + 1e-9)


@EACH_KEPT
@pytest.mark.sampled(2)
def test_histories_of_two_reports(protocol: Memoised[Any], values: list[Any]) -> None:
    check_histories(protocol, values[:2], 2)


@pytest.mark.thorough
@EACH_KEPT
def test_longer_histories(protocol: Memoised[Any], values: list[Any]) -> None:
    check_histories(protocol, values, 2)
    check_histories(protocol, values[:2], 3)
