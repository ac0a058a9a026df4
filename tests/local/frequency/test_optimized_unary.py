"""Unary encoding, optimized and symmetric: law, draws, estimates, bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from celosia.accounting import basic
from celosia.core import GuaranteedEvent, InputError, ParameterError, PureDP, ReplaceOne
from celosia.local import Protocol
from celosia.local.frequency.optimized_unary import OptimizedUnary
from celosia.noise import Seeded
from tests.local import laws

EPSILONS: list[int | str] = ["0.5", 1, 2, 4]
KINDS = [False, True]


def test_the_law_uses_epsilon_and_no_more() -> None:
    for epsilon, symmetric, size in product(EPSILONS, KINDS, (2, 3, 9)):
        laws.check_law(OptimizedUnary(domain=size, epsilon=epsilon, symmetric=symmetric), list(range(size)))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("symmetric", KINDS, ids=["optimized", "symmetric"])
@pytest.mark.sampled(3)
def test_draws_follow_the_law(epsilon: Any, symmetric: bool) -> None:  # noqa: FBT001 - Exact
    for value in (0, 3):
        laws.check_draws(OptimizedUnary(domain=4, epsilon=epsilon, symmetric=symmetric), value)


@pytest.mark.parametrize("symmetric", KINDS, ids=["optimized", "symmetric"])
def test_every_bit_of_long_vectors_has_its_probability(symmetric: bool) -> None:  # noqa: FBT001 - a kind
    protocol = OptimizedUnary(domain=150, epsilon=1, symmetric=symmetric)
    rate = 0.5 if symmetric else 1.0
    for value in (0, 63, 64, 149):
        payload = protocol.privatize(np.full(20_000, value), source=Seeded(value)).payload
        shares = np.unpackbits(payload, axis=1, bitorder="little")[:, :150].mean(axis=0)
        expected = np.full(150, 1 / (math.exp(rate) + 1))
        expected[value] = 1 - expected[0] if symmetric else 0.5
        assert np.abs((shares - expected) / np.sqrt(expected * (1 - expected) / 20_000)).max() < 5
        assert not np.unpackbits(payload, axis=1, bitorder="little")[:, 150:].any()
        one = laws.one_by_one(protocol, value, 120, value)
        ones = np.unpackbits(one, axis=1, bitorder="little")[:, :150].mean(axis=0)
        assert np.abs((ones - expected) / np.sqrt(expected * (1 - expected) / 120)).max() < 5


def test_bits_are_independent() -> None:
    for symmetric in KINDS:
        protocol = OptimizedUnary(domain=70, epsilon=1, symmetric=symmetric)
        bits = np.unpackbits(protocol.privatize([5] * 40_000, source=Seeded(1)).payload, axis=1, bitorder="little")[
            :, :70
        ]
        correlations = np.asarray(np.corrcoef(bits.T))[np.triu_indices(70, 1)]
        assert np.abs(correlations).max() * math.sqrt(40_000) < 5.5


@pytest.mark.parametrize("symmetric", KINDS, ids=["optimized", "symmetric"])
def test_estimates_are_right_on_average(symmetric: bool) -> None:  # noqa: FBT001 - a kind
    values = np.repeat(np.arange(12), [1500, 750, 150, *[0] * 9])
    laws.check_moments(OptimizedUnary(domain=12, epsilon=1, symmetric=symmetric), values, 12)


def test_the_variance_is_that_of_the_table() -> None:
    for size in (100, 1000, 65536):
        for epsilon, optimized, symmetric in ((1, "3.68", "3.92"), (2, "0.724", "0.921"), (4, "0.076", "0.181")):
            assert f"{OptimizedUnary(domain=size, epsilon=epsilon).variance(1):.3g}" == optimized
            assert f"{OptimizedUnary(domain=size, epsilon=epsilon, symmetric=True).variance(1):.3g}" == symmetric
            assert OptimizedUnary(domain=size, epsilon=epsilon).bits == size


def test_the_textbooks_formulas() -> None:
    for epsilon in (0.1, 1, 3):
        # Wang, Blocki, Li and Jha 2017: 4 e^epsilon / (e^epsilon - 1)^2, and e^(epsilon/2) / (e^(epsilon/2) - 1)^2.
        e, h = math.exp(epsilon), math.exp(epsilon / 2)
        assert OptimizedUnary(domain=9, epsilon=epsilon).variance(1) == pytest.approx(4 * e / (e - 1) ** 2)
        assert OptimizedUnary(domain=9, epsilon=epsilon, symmetric=True).variance(1) == pytest.approx(h / (h - 1) ** 2)
        # With everybody: p (1 - p) / (p - q)^2.
        everybody = 0.25 / (0.5 - 1 / (e + 1)) ** 2
        assert OptimizedUnary(domain=9, epsilon=epsilon).variance(1, 1) == pytest.approx(everybody)


def test_what_is_promised() -> None:
    optimized, symmetric = (OptimizedUnary(domain=4, epsilon="0.1", symmetric=kind) for kind in (False, True))
    promise = PureDP(epsilon="0.1", adjacency=ReplaceOne, unit="person")
    assert optimized.guarantee == symmetric.guarantee == promise
    assert optimized.event == GuaranteedEvent(guarantee=promise)
    assert basic(symmetric.event) == (promise.epsilon, Fraction(0))
    assert (symmetric.event.unit, symmetric.event.adjacency) == ("person", ReplaceOne)
    assert symmetric.shuffled_event(1000).event == GuaranteedEvent(guarantee=promise)


def test_a_large_epsilon_has_a_law_and_estimates() -> None:
    for symmetric, epsilon in product(KINDS, (80, 60_000)):
        protocol = OptimizedUnary(domain=3, epsilon=epsilon, symmetric=symmetric)
        estimate = protocol.aggregate().absorb(protocol.privatize([1] * 400, source=Seeded(1))).estimate()
        assert estimate.counts[[0, 2]] == pytest.approx([0, 0], abs=1e-9)
        assert abs(estimate.counts[1] - 400) <= (0 if symmetric else 100)
        assert np.exp(protocol.log_masses(1, protocol.outputs())).sum() == pytest.approx(1)  # type: ignore[arg-type]


def test_texts_and_the_wire() -> None:
    protocol = OptimizedUnary(domain=["sun", "rain", "snow"], epsilon=3)
    assert Protocol.from_json(protocol.to_json()) == protocol
    batch = protocol.privatize(["sun"] * 900, source=Seeded(2)).to_arrow()
    estimate = protocol.aggregate().absorb(batch).estimate(["sun", "snow"])
    assert np.abs((estimate.raw - [900, 0]) / estimate.standard_errors).max() < 5


def test_impossible_reports_are_dropped() -> None:
    protocol = OptimizedUnary(domain=5, epsilon=1)
    aggregate = protocol.aggregate().absorb([protocol.header + bytes([number]) for number in range(256)])
    assert (aggregate.reports, aggregate.rejected) == (32, 224)
    assert aggregate.state["ones"].tolist() == [16] * 5


def test_too_many_outputs_are_not_listed() -> None:
    assert OptimizedUnary(domain=17, epsilon=1).outputs() is None


def test_a_bad_kind_is_refused() -> None:
    cases: list[Any] = [1, None, "symmetric", np.True_]
    for symmetric in cases:
        with pytest.raises(ParameterError, match="symmetric must be True or False"):
            OptimizedUnary(domain=3, epsilon=1, symmetric=symmetric)


def test_values_outside_the_domain_are_refused() -> None:
    cases: list[Any] = [[3], [-1], ["a"], [1.0], [None], 1]
    for values in cases:
        with pytest.raises(InputError, match="values"):
            OptimizedUnary(domain=3, epsilon=1).privatize(values)
