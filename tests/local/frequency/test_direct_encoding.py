"""Direct encoding: the law of k-ary randomized response, its draws, its estimates, and what it refuses."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from celosia.core import InputError, ParameterError, PureDP, RandomizedResponseEvent, RepeatedEvent, ReplaceOne
from celosia.local import DirectEncoding, Protocol
from celosia.noise import Seeded
from tests.local import laws

EPSILONS: list[int | str] = ["0.5", 1, 2, 4]


def test_the_law_uses_epsilon_and_no_more() -> None:
    for epsilon, size in product(EPSILONS, (2, 3, 7, 300)):
        laws.check_law(DirectEncoding(domain=size, epsilon=epsilon), list(range(size)))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.sampled(2)
def test_draws_follow_the_law(epsilon: Any) -> None:
    for value in (0, 2, 4):
        laws.check_draws(DirectEncoding(domain=5, epsilon=epsilon), value)


def test_estimates_are_right_on_average() -> None:
    values = np.repeat(np.arange(12), [1500, 750, 150, *[0] * 9])
    laws.check_moments(DirectEncoding(domain=12, epsilon=1), values, 12)


def test_the_variance_is_that_of_the_table() -> None:
    cases: list[tuple[int, tuple[str, ...]]] = [
        (100, ("34.1", "2.58", "0.0531")),
        (1000, ("339", "24.6", "0.366")),
        (65536, ("22", "1606", "22.8")),
    ]
    for size, variances in cases:
        for epsilon, variance in zip((1, 2, 4), variances, strict=True):
            told = DirectEncoding(domain=size, epsilon=epsilon).variance(1)
            assert variance in {f"{told / 1000:.0f}", f"{told:.0f}", f"{told:.3g}"}


def test_the_textbooks_probabilities() -> None:
    # Kairouz, Bonawitz and Ramage 2016: e^epsilon / (e^epsilon + k - 1).
    protocol = DirectEncoding(domain=5, epsilon=2)
    masses = np.exp(laws.table(protocol, list(range(5))))
    assert np.diag(masses) == pytest.approx([math.exp(2) / (math.exp(2) + 4)] * 5)
    assert masses[0, 1] == pytest.approx(1 / (math.exp(2) + 4))


def test_what_is_promised() -> None:
    protocol = DirectEncoding(domain=4, epsilon="0.1")
    assert protocol.guarantee == PureDP(epsilon="0.1", adjacency=ReplaceOne, unit="person")
    assert protocol.event == RandomizedResponseEvent(epsilon="0.1", categories=4, unit="person")
    assert protocol.shuffled_event(100).event == protocol.event
    assert protocol.lifetime(30) == RepeatedEvent(event=protocol.event, times=30)


def test_domains_of_texts_and_of_numbers() -> None:
    for domain in (["red", "green", "blue"], [5, -3, 2**40]):
        protocol = DirectEncoding(domain=domain, epsilon=12)
        estimate = protocol.aggregate().absorb(protocol.privatize([domain[2]] * 50, source=Seeded(1))).estimate()
        assert estimate.candidates == domain
        assert estimate.counts.round().tolist() == [0, 0, 50]
        assert Protocol.from_json(protocol.to_json()) == protocol
        assert protocol.aggregate().estimate([domain[1]]).candidates == [domain[1]]


def test_a_large_epsilon_tells_the_truth() -> None:
    for epsilon in (40, 700, 60_000):
        protocol = DirectEncoding(domain=3, epsilon=epsilon)
        estimate = protocol.aggregate().absorb(protocol.privatize([1, 1, 2])).estimate()
        assert estimate.counts == pytest.approx([0, 2, 1], abs=1e-12)
        assert protocol.log_masses(1, protocol.outputs()) == pytest.approx([-epsilon, 0, -epsilon])  # type: ignore[arg-type]


def test_a_small_epsilon_has_a_variance() -> None:
    assert DirectEncoding(domain=3, epsilon="1e-20").variance(1) == pytest.approx(2e40, rel=1e-6)


def test_a_bad_epsilon_is_refused() -> None:
    cases: list[Any] = [0, -1, math.nan, math.inf, True, None, "one", 10**6]
    for epsilon in cases:
        with pytest.raises(ParameterError, match="epsilon"):
            DirectEncoding(domain=3, epsilon=epsilon)


def test_values_outside_the_domain_are_refused() -> None:
    cases: list[Any] = [[3], [-1], ["a"], [1.0], [None], 1, "1", [[1]], np.array([2.5]), [True, 1]]
    for values in cases:
        protocol = DirectEncoding(domain=3, epsilon=1)
        with pytest.raises(InputError, match="values"):
            protocol.privatize(values)
        with pytest.raises(InputError, match=r"values|candidates"):
            protocol.aggregate().estimate(values)


def test_impossible_reports_are_dropped() -> None:
    protocol = DirectEncoding(domain=5, epsilon=1)
    head = protocol.header
    aggregate = protocol.aggregate().absorb([head + bytes([number]) for number in range(256)])
    assert (aggregate.reports, aggregate.rejected) == (5, 251)
    assert aggregate.state["said"].tolist() == [1] * 5
