"""The shifted Rényi divergence: against linear programmes, and the lemmas of Estrada Franco 2025 that build on it."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, stats

from celosia.core import ParameterError
from celosia.divergences.shifted import shifted_distribution, shifted_renyi, shifted_renyi_gaussian, taut_string

Array = NDArray[np.float64]


def _renyi(alpha: float, p: Array, q: Array) -> float:
    if (q[p > 0] == 0).any():
        return math.inf
    kept = p > 0
    return math.log(math.fsum(p[kept] ** alpha * q[kept] ** (1 - alpha))) / (alpha - 1)


def _couplings(p: Array, x: Array, y: Array, shift: float) -> tuple[Array, Array, Array]:
    """Rows and columns of the transport problem over the pairs within reach."""
    i, j = np.nonzero(np.abs(x[:, None] - y[None, :]) <= shift)
    rows = (np.arange(p.size)[:, None] == i[None, :]).astype(float)
    columns = (np.arange(y.size)[:, None] == j[None, :]).astype(float)
    return rows, columns, np.ones(i.size)


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Array, Array, Array, Array, float]:
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    x = np.array(sorted(draw(st.sets(st.integers(0, 12), min_size=n, max_size=n))), dtype=float)
    y = np.array(sorted(draw(st.sets(st.integers(0, 12), min_size=m, max_size=m))), dtype=float)
    p = np.array(draw(st.lists(st.integers(1, 20), min_size=n, max_size=n)), dtype=float)
    q = np.array(draw(st.lists(st.integers(1, 20), min_size=m, max_size=m)), dtype=float)
    return x, p / p.sum(), y, q / q.sum(), float(draw(st.integers(0, 8)))


@settings(max_examples=60)
@given(_cases(), st.floats(1.1, 20))
def test_no_coupling_within_reach_does_better(case: tuple[Array, Array, Array, Array, float], alpha: float) -> None:
    x, p, y, q, shift = case
    rows, columns, ones = _couplings(p, x, y, shift)
    feasible = bool(ones.size) and optimize.linprog(0 * ones, A_eq=rows, b_eq=p).status == 0
    if not feasible:
        assert shifted_renyi(alpha, p, q, shift, points=x, nu_points=y) == math.inf
        with pytest.raises(ParameterError, match="shift must be larger"):
            shifted_distribution(p, q, shift, points=x, nu_points=y)
        return
    best = shifted_distribution(p, q, shift, points=x, nu_points=y)
    reached = optimize.linprog(0 * ones, A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, best]))
    assert reached.status == 0, "it can be reached"
    # The gradient of the sum of best^alpha q^(1-alpha): no feasible direction goes down (Frank and Wolfe's gap).
    slope = (best / q) ** (alpha - 1)
    lowest = optimize.linprog(slope @ columns, A_eq=rows, b_eq=p)
    assert slope @ best - float(lowest.fun or 0) <= 1e-9 * (slope @ best)
    assert shifted_renyi(alpha, p, q, shift, points=x, nu_points=y) == pytest.approx(_renyi(alpha, best, q), abs=1e-12)


@given(_cases())
def test_the_largest_ratio_is_least_too(case: tuple[Array, Array, Array, Array, float]) -> None:
    x, p, y, q, _ = case
    rows, columns, ones = _couplings(p, x, y, 12.0)
    best = shifted_distribution(p, q, 12.0, points=x, nu_points=y)
    assert (best / q).max() == pytest.approx(1.0), "everything is within reach"
    rows, columns, ones = _couplings(p, x, y, 7.0)
    if ones.size == 0 or optimize.linprog(0 * ones, A_eq=rows, b_eq=p).status != 0:
        return
    best = shifted_distribution(p, q, 7.0, points=x, nu_points=y)
    # The least t with columns <= t q: a linear programme in the coupling and t.
    programme = optimize.linprog(
        np.append(0 * ones, 1.0),
        A_ub=np.hstack([columns, -q[:, None]]),
        b_ub=np.zeros(q.size),
        A_eq=np.hstack([rows, np.zeros((p.size, 1))]),
        b_eq=p,
    )
    assert (best / q).max() == pytest.approx(programme.fun, rel=1e-7)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=7),
    st.integers(0, 60),
)
def test_the_taut_string_is_the_shortest_path(gates: list[tuple[int, int, int]], end: int) -> None:
    xs = [0, *itertools.accumulate(width for width, _, _ in gates)]
    lows = [0, *(a - b for _, a, b in gates[:-1]), end]
    highs = [0, *(a for _, a, _ in gates[:-1]), end]
    corners = taut_string(xs, lows, highs)
    x, low, high = (np.array(values, dtype=float) for values in (xs, lows, highs))
    string = np.interp(x, x[[index for index, _ in corners]], [height for _, height in corners])
    assert (string >= low - 1e-9).all()
    assert (string <= high + 1e-9).all()
    width = np.diff(x)

    def energy(inner: Array) -> float:
        return float(np.sum(np.diff(np.concatenate([[0.0], inner, [float(end)]])) ** 2 / width))

    found = optimize.minimize(
        energy,
        np.clip(string[1:-1], low[1:-1], high[1:-1]),
        bounds=list(zip(low[1:-1], high[1:-1], strict=True)),
    )
    assert np.sum(np.diff(string) ** 2 / width) <= found.fun + 1e-6 * (1 + found.fun)


# ---- proposition 5.1 and the lemmas

_pmf = st.lists(st.integers(0, 9), min_size=8, max_size=8).filter(any).map(lambda w: np.array(w) / sum(w))
_full = st.lists(st.integers(1, 9), min_size=8, max_size=8).map(lambda w: np.array(w) / sum(w))


@given(_pmf, _full, st.floats(1.1, 30))
def test_a_larger_shift_never_makes_it_larger(p: Array, q: Array, alpha: float) -> None:
    values = [shifted_renyi(alpha, p, q, z) for z in range(9)]
    assert values[0] == pytest.approx(_renyi(alpha, p, q), abs=1e-12)
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] == pytest.approx(0, abs=1e-9)


@given(_pmf, _full, st.floats(1.1, 30), st.integers(-4, 4))
def test_a_displacement_is_one_way_to_shift(p: Array, q: Array, alpha: float, x: int) -> None:
    points = np.arange(8.0)
    wide = np.arange(-8.0, 16.0)
    padded = np.zeros(24)
    padded[8 + x : 16 + x] = p
    other = np.full(24, 1e-3)
    other[8:16] += q
    other /= other.sum()
    left = shifted_renyi(alpha, p, other, abs(x), points=points, nu_points=wide)
    assert left <= _renyi(alpha, padded, other) + 1e-12


@settings(max_examples=40)
@given(_pmf, _full, st.floats(1.1, 10), st.integers(0, 3), st.integers(0, 3), st.floats(0.5, 4))
def test_lemma_5_1_noise_reduces_the_shift(p: Array, q: Array, alpha: float, z: int, a: int, variance: float) -> None:
    reach = 40
    k = np.arange(-reach, reach + 1)
    noise = np.exp(-(k**2) / (2 * variance))
    noise /= noise.sum()
    left, right = np.convolve(p, noise), np.convolve(q, noise)
    kept = slice(reach - 20, reach + 28)  # beyond, the mass is too small to count, and the grid would end
    left, right = left[kept] / left[kept].sum(), right[kept] / right[kept].sum()
    # On integers the discrete Gaussian's R_alpha is at most the continuous one's (Canonne, Kamath, Steinke 2020).
    bound = shifted_renyi(alpha, p, q, z + a) + alpha * a**2 / (2 * variance)
    assert shifted_renyi(alpha, left, right, z) <= bound + 1e-9


@given(_pmf, _full, st.floats(1.1, 10), st.integers(0, 4), st.integers(-2, 2), st.integers(0, 3), st.integers(4, 7))
def test_lemma_5_2_contractions_do_not_widen_the_shift(
    p: Array, q: Array, alpha: float, z: int, offset: int, low: int, high: int
) -> None:
    def pushed(mass: Array, images: NDArray[np.int64]) -> Array:
        return np.asarray(np.bincount(images + 4, weights=mass, minlength=24), dtype=float)

    x = np.arange(8)
    for images in (np.clip(x, low, high), np.abs(x - low), x // 2 * 0 + 3):
        left = shifted_renyi(alpha, pushed(p, images), pushed(q, images + offset), z + abs(offset))
        assert left <= shifted_renyi(alpha, p, q, z) + 1e-9
    # Stretching is no contraction, and the lemma fails for it.
    one, other = np.eye(8)[0], np.eye(8)[1]
    assert shifted_renyi(alpha, one, other, 1) == 0
    assert shifted_renyi(alpha, pushed(one, 2 * x), pushed(other, 2 * x), 1) == math.inf


# ---- normal distributions


def test_normal_distributions_by_a_fine_grid() -> None:
    mean_cases: list[tuple[float, float]] = [(0.5, 0.25), (1.0, 0.0), (1.0, 0.5), (2.0, 1.5), (1.0, 1.0), (0.5, 2.0)]
    alpha_cases: list[float] = [1.5, 3]
    for mean, shift in mean_cases:
        for alpha in alpha_cases:
            x = np.arange(-640, 641) / 64
            q, p = stats.norm.pdf(x), stats.norm.pdf(x, mean)
            fine = shifted_renyi(alpha, p / p.sum(), q / q.sum(), shift, points=x)
            assert fine == pytest.approx(shifted_renyi_gaussian(alpha, mean, 1, shift), abs=1e-4)


# ---- bad input


def test_orders_are_above_one() -> None:
    cases: list[Any] = [1, 0, math.nan, math.inf, True, "2"]
    for alpha in cases:
        with pytest.raises(ParameterError, match=r"^alpha must be"):
            shifted_renyi(alpha, [1.0], [1.0], 0)
        with pytest.raises(ParameterError, match=r"^alpha must be"):
            shifted_renyi_gaussian(alpha, 1, 1, 0)


def test_distributions_without_a_meaning_are_refused() -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("mu", {"mu": [0.5, 0.6]}),
        ("mu", {"mu": []}),
        ("mu", {"points": [0.0, 1.0, 2.0]}),
        ("nu", {"nu": [1.5, -0.5]}),
        ("nu", {"nu": [math.nan, 1.0]}),
        ("nu", {"nu_points": [0.0]}),
        ("nu", {"nu": [1.0]}),
        ("points", {"points": [1.0, 0.0]}),
        ("points", {"points": [1.0, 1.0]}),
        ("points", {"points": [1.0, math.inf]}),
        ("nu_points", {"nu_points": [2.0, 1.0]}),
        ("shift", {"shift": -1}),
        ("shift", {"shift": math.nan}),
        ("points", {"mu": [1 / 5001] * 5001, "nu": [1 / 5001] * 5001}),
    ]
    for name, changes in cases:
        given: dict[str, Any] = {"mu": [0.5, 0.5], "nu": [0.5, 0.5], "shift": 1.0}
        with pytest.raises(ParameterError, match=rf"^{name} must "):
            shifted_renyi(2, **(given | changes))


def test_normal_parameters_without_a_meaning_are_refused() -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("distance", {"distance": -1}),
        ("variance", {"variance": 0}),
        ("shift", {"shift": -1}),
    ]
    for name, changes in cases:
        given: dict[str, Any] = {"distance": 1, "variance": 1, "shift": 0}
        with pytest.raises(ParameterError, match=rf"^{name} must be"):
            shifted_renyi_gaussian(2, **(given | changes))
        with pytest.raises(ParameterError, match="beyond the doubles"):
            shifted_renyi_gaussian(2, 1e200, 1, 0)


def test_the_smallest_double_is_a_mass() -> None:
    assert shifted_renyi(2, [0, 1.0], [1.0, 5e-324], 0) == pytest.approx(-math.log(5e-324), rel=1e-12)
