"""Subset selection: law, draws, the best size, estimates, bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from celosia.core import InputError, ParameterError
from celosia.local import Protocol
from celosia.local.frequency.direct_encoding import DirectEncoding
from celosia.local.frequency.subset_selection import SubsetSelection
from celosia.noise import Seeded
from tests.local import laws

EPSILONS: list[int | str] = ["0.5", 1, 2, 4]


def test_the_law_uses_epsilon_and_no_more() -> None:
    for epsilon, (size, chosen) in product(EPSILONS, ((2, 1), (5, 1), (5, 2), (5, 4), (9, 3), (12, 6))):
        protocol = SubsetSelection(domain=size, epsilon=epsilon, chosen=chosen)
        laws.check_law(protocol, list(range(size)))
        assert len(protocol.outputs()) == math.comb(size, chosen)  # type: ignore[arg-type] # listed


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("size", "chosen"), [(2, 1), (6, 1), (6, 2), (6, 4), (6, 5)])
@pytest.mark.sampled(4)
def test_draws_follow_the_law(epsilon: Any, size: int, chosen: int) -> None:
    protocol = SubsetSelection(domain=size, epsilon=epsilon, chosen=chosen)
    for value in (0, size - 1):
        laws.check_draws(protocol, value, many=320_000)


def test_members_of_large_subsets_have_their_probabilities() -> None:
    protocol = SubsetSelection(domain=130, epsilon=1)
    k, w = 130, protocol.chosen
    inside = w * math.e / (w * math.e + k - w)
    for value in (0, 64, 129):
        payload = protocol.privatize(np.full(20_000, value), source=Seeded(value)).payload
        members = np.unpackbits(payload, axis=1, bitorder="little")[:, :k]
        assert (members.sum(axis=1) == w).all()
        expected = np.full(k, (w - inside) / (k - 1))
        expected[value] = inside
        shares = members.mean(axis=0)
        assert np.abs((shares - expected) / np.sqrt(expected * (1 - expected) / 20_000)).max() < 5
        one = np.unpackbits(laws.one_by_one(protocol, value, 300, value), axis=1, bitorder="little")[:, :k]
        assert (one.sum(axis=1) == w).all()
        assert np.abs((one.mean(axis=0) - expected) / np.sqrt(expected * (1 - expected) / 300)).max() < 5


def test_estimates_are_right_on_average() -> None:
    values = np.repeat(np.arange(12), [1200, 750, 150, 0, 0, 300, *[0] * 6])
    laws.check_moments(SubsetSelection(domain=12, epsilon=1), values, 12)


def test_the_variance_is_that_of_the_table() -> None:
    cases: list[tuple[int, tuple[str, ...]]] = [
        (100, ("3.59", "0.69", "0.0531")),
        (1000, ("3.67", "0.721", "0.0739")),
        (65536, ("3.68", "0.724", "0.076")),
    ]
    for size, variances in cases:
        for epsilon, variance in zip((1, 2, 4), variances, strict=True):
            protocol = SubsetSelection(domain=size, epsilon=epsilon)
            assert f"{protocol.variance(1):.3g}" == variance
            assert protocol.bits == size


def test_the_variance_is_that_of_the_law() -> None:
    """By brute force over all subsets: the second value's membership, given that somebody has the first."""
    for chosen in (1, 2, 3, 6):
        protocol = SubsetSelection(domain=7, epsilon=1, chosen=chosen)
        subsets = np.array([[i in members for i in range(7)] for members in combinations(range(7), chosen)])
        masses = np.exp(protocol.log_masses(0, protocol.outputs()))  # type: ignore[arg-type] # listed
        own, other = masses @ subsets[:, 0], masses @ subsets[:, 1]
        assert protocol.variance(1) == pytest.approx(other * (1 - other) / (own - other) ** 2)
        assert protocol.variance(1, 1) == pytest.approx(own * (1 - own) / (own - other) ** 2)


def test_the_size_is_the_best() -> None:
    for epsilon, size in product(EPSILONS, (2, 3, 10, 57, 400)):
        protocol = SubsetSelection(domain=size, epsilon=epsilon)
        every = [SubsetSelection(domain=size, epsilon=epsilon, chosen=w).variance(1) for w in range(1, size)]
        assert protocol.variance(1) == pytest.approx(min(every), rel=1e-12)
        assert abs(protocol.chosen - size / (math.exp(Fraction(epsilon)) + 1)) <= 1


def test_one_is_direct_encoding() -> None:
    one, direct = SubsetSelection(domain=9, epsilon=2, chosen=1), DirectEncoding(domain=9, epsilon=2)
    assert one.variance(5, 2) == pytest.approx(direct.variance(5, 2))


def test_a_large_epsilon_tells_the_truth() -> None:
    for epsilon in (50, 800, 60_000):
        protocol = SubsetSelection(domain=9, epsilon=epsilon)
        assert protocol.chosen == 1
        estimate = protocol.aggregate().absorb(protocol.privatize([3] * 10)).estimate()
        assert estimate.counts == pytest.approx(np.eye(9)[3] * 10, abs=1e-9)


def test_texts_and_the_wire() -> None:
    protocol = SubsetSelection(domain=["sun", "rain", "snow"], epsilon=3)
    assert Protocol.from_json(protocol.to_json()) == protocol
    batch = protocol.privatize(["sun"] * 900, source=Seeded(2)).to_arrow()
    estimate = protocol.aggregate().absorb(batch).estimate(["sun", "snow"])
    assert np.abs((estimate.raw - [900, 0]) / estimate.standard_errors).max() < 5


def test_only_subsets_of_the_right_size_are_counted() -> None:
    protocol = SubsetSelection(domain=5, epsilon=1, chosen=2)
    aggregate = protocol.aggregate().absorb([protocol.header + bytes([number]) for number in range(256)])
    assert (aggregate.reports, aggregate.rejected) == (10, 246)
    assert aggregate.state["supports"].tolist() == [4] * 5


def test_too_many_outputs_are_not_listed() -> None:
    assert SubsetSelection(domain=100, epsilon=1).outputs() is None


def test_a_bad_size_is_refused() -> None:
    cases: list[Any] = [0, -1, 5, 100, 1.5, True, "2"]
    for chosen in cases:
        with pytest.raises(ParameterError, match="chosen"):
            SubsetSelection(domain=5, epsilon=1, chosen=chosen)


def test_values_outside_the_domain_are_refused() -> None:
    cases: list[Any] = [[5], [-1], ["a"], [1.0], [None], 1]
    for values in cases:
        with pytest.raises(InputError, match="values"):
            SubsetSelection(domain=5, epsilon=1).privatize(values)
