"""Moving losses onto a grid keeps both masses, never lowers a profile, and hardly raises it."""

import itertools
import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from celosia.accounting.pld.discretise import Cells, Pair, coarsen, discretise, outline
from celosia.accounting.pld.loss_atoms import Atoms
from celosia.accounting.pld.normal import Normal, SampledNormal
from celosia.core.errors import ParameterError


def losses_of(cells: Cells) -> np.ndarray:
    losses: np.ndarray = (cells.first + np.arange(len(cells.masses))) * cells.interval
    return losses


def profile(losses: np.ndarray, masses: np.ndarray, infinity: float, epsilons: np.ndarray) -> np.ndarray:
    """The definition of the hockey-stick divergence, term by term."""
    over = np.maximum(losses[None, :] - epsilons[:, None], 0.0)
    divergence: np.ndarray = infinity - np.expm1(-over) @ masses
    return divergence


@st.composite
def atoms(draw: st.DrawFn) -> Atoms:
    """Pairs with a handful of losses, some with mass at infinity and missing mass."""
    size = draw(st.integers(2, 6))
    p = np.array(draw(st.lists(st.floats(0.01, 1.0), min_size=size, max_size=size)))
    q = np.array(draw(st.lists(st.floats(0.01, 1.0), min_size=size, max_size=size)))
    infinity, missing = draw(st.sampled_from([(0.0, 0.0), (0.1, 0.0), (0.0, 0.2), (0.01, 0.02)]))
    p, q = p / p.sum() * (1 - infinity), q / q.sum() * (1 - missing)
    losses = np.log(p / q)
    values, place = np.unique(losses.round(6), return_inverse=True)
    grouped_p, grouped_q = (np.bincount(place, side).astype(np.float64) for side in (p, q))
    exact = np.log(grouped_p / grouped_q)
    assert len(values) == len(exact)
    return Atoms(losses=exact, masses=grouped_p, infinity=infinity, missing=missing)


@settings(deadline=None)
@given(atoms(), st.floats(0.001, 3.0))
def test_both_masses_are_kept(pair: Atoms, interval: float) -> None:
    cells = discretise(pair, interval)
    assert cells.infinity == pair.infinity
    assert np.all(cells.masses >= 0)
    assert cells.masses.sum() == pytest.approx(pair.masses.sum(), rel=1e-12)
    under_q = (pair.masses * np.exp(-pair.losses)).sum()
    assert (cells.masses * np.exp(-losses_of(cells))).sum() == pytest.approx(under_q, rel=1e-12)


@settings(deadline=None)
@given(atoms(), st.floats(0.001, 3.0))
def test_no_profile_gets_lower_and_at_grid_points_none_changes(pair: Atoms, interval: float) -> None:
    cells = discretise(pair, interval)
    epsilons = np.linspace(-4, 4, 33)
    fine = profile(pair.losses, pair.masses, pair.infinity, epsilons)
    assert np.all(profile(losses_of(cells), cells.masses, cells.infinity, epsilons) >= fine - 1e-14)
    points = losses_of(cells)[:50]
    exact = profile(pair.losses, pair.masses, pair.infinity, points)
    assert profile(losses_of(cells), cells.masses, cells.infinity, points) == pytest.approx(exact, abs=1e-12)


def test_moving_losses_to_the_nearest_point_would_not_do() -> None:
    pair = Atoms(losses=np.array([-1.0, 1.0]), masses=1 / (1 + np.exp([1.0, -1.0])))
    nearest = np.round(pair.losses / 0.7) * 0.7
    assert profile(nearest, pair.masses, 0.0, np.zeros(1)) < profile(pair.losses, pair.masses, 0.0, np.zeros(1))


def density_profile(mu: float, q: float, kind: str, epsilon: float) -> float:
    """The divergence of the sampled normal by SciPy's adaptive quadrature."""

    def r(x: float) -> float:
        return float((1 - q) * stats.norm.pdf(x) + q * stats.norm.pdf(x - mu))

    def integrand(x: float) -> float:
        p, other = (r(x), stats.norm.pdf(x)) if kind == "remove" else (stats.norm.pdf(x), r(x))
        return max(0.0, float(p - math.exp(epsilon) * other))

    edge = (math.exp(epsilon) - 1 + q) / q if kind == "remove" else (math.exp(-epsilon) - 1 + q) / q
    points = [min(max((math.log(edge) + mu**2 / 2) / mu, -12.0), mu + 12.0)] if edge > 0 else []
    cuts = [-12.0, *points, mu + 12.0]
    return sum(
        integrate.quad(integrand, a, b, epsabs=1e-15, epsrel=1e-12, limit=200)[0] for a, b in itertools.pairwise(cuts)
    )


@pytest.mark.parametrize("kind", ["remove", "add"])
@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.01), (0.5, 0.3), (3.0, 0.9), (2.0, 1.0 - 1e-9)])
@pytest.mark.sampled(3)
def test_densities_agree_with_adaptive_quadrature(mu: float, q: float, kind: Literal["remove", "add"]) -> None:
    pair = SampledNormal(mu=mu, probability=q, kind=kind)
    cells = discretise(pair, 1e-4 if q < 0.1 else 1e-3)
    points = losses_of(cells)
    for epsilon in points[np.linspace(0, len(points) - 1, 7).astype(int)]:
        exact = density_profile(mu, q, kind, float(epsilon))
        found = profile(points, cells.masses, cells.infinity, np.array([epsilon]))[0]
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-13)
        assert found >= exact * (1 - 1e-11) - 1e-13


def test_no_density_gets_a_lower_profile() -> None:
    cases: list[Pair] = [
        Normal(mu=0.01),
        Normal(mu=1.0),
        Normal(mu=30.0),
        SampledNormal(mu=1.0, probability=0.01, kind="remove"),
        SampledNormal(mu=1.0, probability=0.01, kind="add"),
        SampledNormal(mu=40.0, probability=0.5, kind="remove"),
        SampledNormal(mu=40.0, probability=0.5, kind="add"),
        SampledNormal(mu=1e-3, probability=1e-6, kind="remove"),
        SampledNormal(mu=1.0, probability=0.01, kind="fixed"),
        SampledNormal(mu=40.0, probability=0.1, kind="fixed"),
    ]
    for pair in cases:
        losses, masses = outline(pair)
        mean = float(losses @ masses)
        spread = max(math.sqrt(float(masses @ np.square(losses - mean))), 1e-9 * abs(mean))
        cells = discretise(pair, spread / 50)
        between = np.linspace(0.0, max(mean, 0.0) + 6 * spread, 40)
        epsilons = np.append(np.round(between / cells.interval) * cells.interval, between)
        exact = np.asarray(pair.profile(epsilons))
        found = profile(losses_of(cells), cells.masses, cells.infinity, epsilons)
        assert np.all(found >= exact * (1 - 3e-12) - 1e-27)
        assert found[:40] == pytest.approx(exact[:40], rel=1e-7, abs=1e-13)  # the same at grid points
        assert cells.masses.sum() + cells.infinity == pytest.approx(1.0, abs=1e-12)


@settings(deadline=None)
@given(atoms(), st.integers(1, 40))
def test_a_coarser_grid_dominates(pair: Atoms, factor: int) -> None:
    fine = discretise(pair, 0.05)
    coarse = coarsen(fine, 0.05 * factor)
    epsilons = np.linspace(-4, 4, 33)
    before = profile(losses_of(fine), fine.masses, fine.infinity, epsilons)
    assert np.all(profile(losses_of(coarse), coarse.masses, coarse.infinity, epsilons) >= before - 1e-14)


def test_an_outline_has_the_moments_of_its_pair() -> None:
    losses, masses = outline(Normal(mu=2.0))
    mean = losses @ masses
    assert mean == pytest.approx(2.0, rel=1e-9)
    assert np.square(losses - mean) @ masses == pytest.approx(4.0, rel=1e-9)
    size = 10**5
    losses = np.linspace(-1.0, 1.0, size)
    even = Atoms(losses=losses, masses=np.exp(losses / 2) / np.exp(losses / 2).sum())
    short_losses, short_masses = outline(even, count=100)
    assert len(short_losses) <= 100
    assert short_masses.sum() == pytest.approx(1.0)


def test_a_pair_that_is_all_at_infinity_has_no_cells() -> None:
    cells = discretise(Atoms(losses=np.zeros(0), masses=np.zeros(0), infinity=1.0, missing=1.0), 0.1)
    assert cells.masses.sum() == 0
    assert cells.infinity == 1


def test_an_interval_that_would_fill_the_memory_is_refused() -> None:
    cases: list[Pair] = [Normal(mu=1.0), Atoms(losses=np.array([-1.0, 1.0]), masses=1 / (1 + np.exp([1.0, -1.0])))]
    for pair in cases:
        with pytest.raises(ParameterError, match=r"interval must leave at most 16777216 cells.*1e-12"):
            discretise(pair, 1e-12)


def test_normals_too_far_apart_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"mu must be positive and at most 1000, not 2000\.0"):
        discretise(Normal(mu=2000.0), 1.0)
