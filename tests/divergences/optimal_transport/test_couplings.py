"""Couplings have the right marginals, and each is optimal in its own sense."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.divergences import (
    Coupling,
    Discrete,
    Samples,
    maximal_coupling,
    monotone_coupling,
    optimal_coupling,
    product_coupling,
    total_variation,
    transport,
    wasserstein,
    witness,
)
from celosia.divergences.optimal_transport.couplings import as_discrete, quantile_cells
from tests.divergences.laws import Two, twos


def has_marginals(coupling: Coupling) -> bool:
    sides = zip(coupling.marginals, (coupling.p, coupling.q), strict=True)
    return all(np.allclose(found, side.probabilities, atol=1e-9) for found, side in sides)


def cloud(seed: int, size: int, dimension: int = 2) -> Discrete:
    generator = np.random.default_rng(seed)
    weights = generator.integers(1, 9, size)
    points = generator.integers(0, 7, (size, dimension))
    return Discrete(points=points, probabilities=weights / weights.sum())


@given(twos())
def test_marginals(pair: Two) -> None:
    for couple in (product_coupling, maximal_coupling, monotone_coupling, optimal_coupling):
        coupling = couple(*pair)
        assert has_marginals(coupling)
        assert (coupling.masses >= 0).all()
        assert np.allclose(coupling.plan.sum(), 1)


def test_table_4_1_of_seed_001() -> None:
    # The column of row sums is headed V and the row of column sums U: the thesis has exchanged the two names.
    coupling = product_coupling([0.75, 0.10, 0.10, 0.05], [0.75, 0.25])
    table = [[0.5625, 0.1875], [0.075, 0.025], [0.075, 0.025], [0.0375, 0.0125]]
    assert coupling.plan == pytest.approx(np.array(table), abs=1e-15)
    assert coupling.marginals[0] == pytest.approx(np.array([0.75, 0.10, 0.10, 0.05]))
    assert coupling.marginals[1] == pytest.approx(np.array([0.75, 0.25]))


@given(twos())
def test_the_maximal_coupling_differs_as_rarely_as_total_variation(pair: Two) -> None:
    assert maximal_coupling(*pair).disagreement == pytest.approx(total_variation(*pair), abs=1e-12)
    assert product_coupling(*pair).disagreement >= total_variation(*pair) - 1e-12


@given(twos(), st.sampled_from([1.0, 2.0, 3.0]))
def test_the_monotone_coupling_is_optimal_on_the_line(pair: Two, order: float) -> None:
    coupling = monotone_coupling(*pair)
    labels = np.abs(np.arange(len(pair[0]))[:, None] - np.arange(len(pair[1]))) ** order
    assert coupling.cost(labels) == pytest.approx(transport(labels, *pair).cost, abs=1e-8)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6))
def test_witnesses_exist_exactly_from_the_distance_on(seed: int, n: int, m: int) -> None:
    # Lemma 4.2 of Estrada Franco 2025 (whose third statement means ||V|| <= s where it prints W).
    for dimension in (1, 2):
        p, q = cloud(seed, n, dimension), cloud(seed + 1, m, dimension)
        radius = wasserstein(p, q, math.inf)
        found = witness(p, q, radius)
        assert found is not None
        assert has_marginals(found)
        assert found.reach <= radius * (1 + 1e-9)
        if radius > 0:
            assert witness(p, q, radius * (1 - 1e-6)) is None


def test_optimal_in_the_plane() -> None:
    p, q = cloud(1, 5), cloud(2, 7)
    coupling = optimal_coupling(p, q, 2)
    lengths = np.linalg.norm(p.points[:, None] - q.points, axis=2)
    assert has_marginals(coupling)
    assert coupling.cost(lengths**2) == pytest.approx(wasserstein(p, q, 2) ** 2)
    assert coupling.cost(lengths**2) <= product_coupling(p, q).cost(lengths**2)


def test_rounding_leaves_no_sliver() -> None:
    tenths, thirds = np.full(10, 0.1), np.full(30, 1 / 30)
    first, second, masses = quantile_cells(tenths, thirds)
    assert len(masses) == 30
    assert (first == second // 3).all()
    assert monotone_coupling(tenths, tenths).reach == 0
    # Three times 0.1 is not 0.3 in doubles.
    assert monotone_coupling([0.1, 0.1, 0.1, 0.7], [0.3, 0.0, 0.0, 0.7]).reach == 2


def test_tiny_masses_are_not_lost() -> None:
    for shape in ((2,), (2, 1)):
        points = np.array([0.0, 1000.0]).reshape(shape)
        p = Discrete(points=points, probabilities=[1 - 1e-13, 1e-13])
        q = Discrete(points=points[:1], probabilities=[1.0])
        assert wasserstein(p, q, math.inf) == 1000
        assert witness(p, q, 999) is None
        plane = [np.column_stack([side.rows, side.rows]) for side in (p, q)]
        p, q = (Discrete(points=x, probabilities=s.probabilities) for x, s in zip(plane, (p, q), strict=True))
        assert wasserstein(p, q, math.inf, norm=math.inf) == 1000


def test_one_point() -> None:
    assert quantile_cells(np.array([1.0]), np.array([1.0]))[2].tolist() == [1.0]
    assert product_coupling([1], [1]).plan.tolist() == [[1.0]]


def test_bad_input() -> None:
    plane = cloud(0, 3)
    with pytest.raises(ParameterError, match="points on the line"):
        monotone_coupling(plane, plane)
    with pytest.raises(ParameterError, match="radius"):
        witness(plane, plane, -1)
    with pytest.raises(ParameterError, match="same dimension"):
        witness(plane, Samples([1.0]), 1)
    with pytest.raises(ParameterError, match="order"):
        optimal_coupling(plane, plane, 0.5)
    with pytest.raises(ParameterError, match="costs"):
        product_coupling([1], [1]).cost([[1, 2]])
    with pytest.raises(ParameterError, match="p must sum"):
        as_discrete([0.5], "p")


def test_no_mass_is_too_small_to_be_carried() -> None:
    p = Discrete(points=[0, 1e9], probabilities=[1 - 1e-15, 1e-15])
    q = Discrete(points=[0], probabilities=[1])
    assert witness(p, q, 1) is None
    assert monotone_coupling(p, q).reach == 1e9
    assert monotone_coupling(q, p).reach == 1e9


def test_tiny_masses_do_not_spoil_levels_that_are_equal_but_for_rounding() -> None:
    p, q = np.array([0.1] * 3 + [0.7, 1e-300]), np.array([1e-300, 0.3, 0.7])
    first, second, masses = quantile_cells(p, q)
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    assert pairs == {(0, 0), (0, 1), (1, 1), (2, 1), (3, 2), (4, 2)}
    assert np.allclose(np.bincount(first, masses), p, atol=1e-15)


@given(twos(), st.integers(20, 1000))
def test_every_point_with_mass_is_in_a_cell(pair: Two, small: int) -> None:
    p, q = (np.append(side, 10.0**-small if small < 300 else 5e-324) for side in pair)
    first, second, masses = quantile_cells(p, q)
    assert (masses > 0).all()
    assert set(first.tolist()) == set(np.flatnonzero(p).tolist())
    assert set(second.tolist()) == set(np.flatnonzero(q).tolist())
