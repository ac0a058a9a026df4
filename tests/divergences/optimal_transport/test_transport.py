"""Transport programmes against brute force, duality and hand-made plans."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.divergences import Discrete, transport
from celosia.divergences.optimal_transport.transport import distances

WEIGHTS = st.lists(st.integers(0, 3), min_size=1, max_size=3).filter(any)


def cheapest(costs: np.ndarray, p: list[int], q: list[int]) -> float:
    """The least cost of any pairing of single units: with whole weights an optimal plan is whole."""
    units = math.lcm(sum(p), sum(q))
    sources = [i for i, weight in enumerate(p) for _ in range(weight * units // sum(p))]
    targets = [j for j, weight in enumerate(q) for _ in range(weight * units // sum(q))]
    pairings = set(itertools.permutations(targets))
    return float(min(sum(costs[i, j] for i, j in zip(sources, pairing, strict=True)) for pairing in pairings)) / units


@settings(max_examples=40)
@given(WEIGHTS, WEIGHTS, st.data())
def test_it_is_the_cheapest_of_all_pairings(p: list[int], q: list[int], data: st.DataObject) -> None:
    if math.lcm(sum(p), sum(q)) > 6:
        p, q = [1] * len(p), [1] * len(p)
    costs = np.array([[data.draw(st.integers(-5, 9)) for _ in q] for _ in p])
    found = transport(costs, np.array(p) / sum(p), np.array(q) / sum(q))
    assert found.cost == pytest.approx(cheapest(costs, p, q), abs=1e-9)
    assert found.plan.sum(axis=1) == pytest.approx(np.array(p) / sum(p), abs=1e-9)
    assert found.plan.sum(axis=0) == pytest.approx(np.array(q) / sum(q), abs=1e-9)
    assert (found.plan >= 0).all()


def test_example_4_1_of_seed_001() -> None:
    # Any plan brings 0.25 to the second point; the product plan has the same cost here, as no choice is left.
    found = transport([[0, 1]] * 4, [0.75, 0.10, 0.10, 0.05], [0.75, 0.25])
    assert found.cost == pytest.approx(0.25)
    # With a cost for the distance of the labels a better plan than the product exists.
    labels = np.abs(np.arange(4)[:, None] - np.arange(2))
    product = float((np.outer([0.75, 0.10, 0.10, 0.05], [0.75, 0.25]) * labels).sum())
    assert transport(labels, [0.75, 0.10, 0.10, 0.05], [0.75, 0.25]).cost == pytest.approx(0.2)
    assert product > 0.2


def test_large_and_small_costs() -> None:
    assert transport([[1e300, 2e300]], [1], [0.5, 0.5]).cost == pytest.approx(1.5e300)
    assert transport(np.zeros((2, 3)), [0.5, 0.5], [0.25, 0.25, 0.5]).cost == 0


def test_distances_are_norms() -> None:
    cases: list[float] = [1, 1.5, 2, math.inf]
    for norm in cases:
        p = Discrete(points=np.array([[0.0, 0.0]]), probabilities=np.array([1.0]))
        q = Discrete(points=np.array([[3.0, -4.0]]), probabilities=np.array([1.0]))
        assert distances(p, q, norm)[0, 0] == pytest.approx(np.linalg.norm([3, 4], norm))


def test_bad_costs() -> None:
    cases: list[Any] = [
        ([[1.0]], "one row per entry"),
        ([[math.nan, 1], [1, 1]], "costs must be finite"),
        ([1.0], "2 dimensions"),
    ]
    for costs, message in cases:
        with pytest.raises(ParameterError, match=message):
            transport(costs, [0.5, 0.5], [0.5, 0.5])
        with pytest.raises(ParameterError, match="entries"):
            transport(np.zeros((2001, 2000)), np.full(2001, 1 / 2001), np.full(2000, 1 / 2000))
