"""The allocation of theorem 5.3: feasible, and against solvers that know nothing of minorants."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize

from celosia.accounting.iteration.allocation import (
    gaussian_allocation,
    gaussian_rho,
    laplace_allocation,
    laplace_price,
)
from celosia.core import ParameterError
from celosia.core.iterations import Run
from celosia.divergences.magnitude import LaplaceNoise

_shifts = st.integers(0, 12).map(lambda n: Fraction(n, 4))
_sizes = st.integers(1, 12).map(lambda n: Fraction(n, 3))
_runs = st.lists(st.tuples(_shifts, _sizes, st.integers(1, 3)), min_size=1, max_size=5)
_starts = st.integers(0, 4).map(lambda n: Fraction(n, 2))
_orders = st.sampled_from([1.01, 1.5, 2.0, 4.0, 32.0])


def _steps(runs: list[Run]) -> list[tuple[Fraction, Fraction]]:
    return [(shift, size) for shift, size, count in runs for _ in range(count)]


def _assert_kept(runs: list[Run], start: Fraction, amounts: tuple[Fraction, ...]) -> None:
    left = start
    for (shift, _, count), amount in zip(runs, amounts, strict=True):
        assert amount >= 0
        for _ in range(count):
            left += shift - amount
            assert left >= 0
    assert left == 0


def _brute(runs: list[Run], start: Fraction, price: Callable[[float, float], float]) -> float:
    """The least price over all allocations to single steps, by a general solver from several beginnings."""
    steps = _steps(runs)
    reach = np.cumsum([float(shift) for shift, _ in steps]) + float(start)
    sizes = [float(size) for _, size in steps]
    constraints: list[Any] = [
        {"type": "ineq", "fun": lambda a: reach[:-1] - np.cumsum(a)[:-1]},
        {"type": "eq", "fun": lambda a: reach[-1] - a.sum()},
    ]
    late = np.diff(np.concatenate([[0.0], reach]))

    def total(a: NDArray[np.float64]) -> float:
        return math.fsum(price(size, max(x, 0.0)) for size, x in zip(sizes, a.tolist(), strict=True))

    found = [
        optimize.minimize(
            total,
            begin,
            bounds=[(0, None)] * len(steps),
            constraints=constraints if len(steps) > 1 else constraints[1:],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-13},
        )
        for begin in (late, late * 0.5 + reach[-1] / len(steps) * 0.5)
    ]
    kept = [
        result.fun
        for result in found
        if (np.cumsum(result.x) <= reach + 1e-8).all() and abs(result.x.sum() - reach[-1]) < 1e-8
    ]
    return float(min([*kept, total(late)]))


@settings(max_examples=50)
@given(_runs, _starts)
def test_gaussian_allocations_are_feasible_and_best(runs: list[Run], start: Fraction) -> None:
    amounts = gaussian_allocation(runs, start)
    _assert_kept(runs, start, amounts)
    rho = gaussian_rho(runs, start)
    spent = sum(count * amount**2 / (2 * size) for amount, (_, size, count) in zip(amounts, runs, strict=True))
    assert rho == spent, "exactly"
    brute = _brute(runs, start, lambda size, a: a * a / (2 * size))
    assert float(rho) <= brute + 1e-6 * (1 + brute)


@given(_runs, _starts)
def test_slopes_increase_only_where_all_of_the_reach_is_used(runs: list[Run], start: Fraction) -> None:
    """The conditions of Karush, Kuhn and Tucker, which for a convex problem are enough."""
    amounts = gaussian_allocation(runs, start)
    slopes = [amount / size for amount, (_, size, _) in zip(amounts, runs, strict=True)]
    left = start
    for i, (shift, _, count) in enumerate(runs[:-1]):
        left += (shift - amounts[i]) * count
        assert slopes[i + 1] >= slopes[i]
        if slopes[i + 1] > slopes[i]:
            assert left == 0


@given(_runs, _starts)
def test_runs_are_as_good_as_single_steps(runs: list[Run], start: Fraction) -> None:
    single = [(shift, size, 1) for shift, size in _steps(runs)]
    assert gaussian_rho(runs, start) == gaussian_rho(single, start)
    assert laplace_price(2.0, runs, start) == pytest.approx(laplace_price(2.0, single, start), rel=1e-9)


def test_a_fine_grid_of_allocations_finds_nothing_better() -> None:
    runs = [(Fraction(1), Fraction(1), 1), (Fraction(1, 2), Fraction(3), 1), (Fraction(1), Fraction(1, 2), 1)]
    step = np.arange(0, 2.5 + 1e-9, 0.01)
    a, b = np.meshgrid(step, step, indexing="ij")
    allowed = (a <= 1 + 1e-12) & (a + b <= 1.5 + 1e-12)
    price = np.where(allowed, a**2 / 2 + b**2 / 6 + (2.5 - a - b) ** 2, np.inf)
    assert float(gaussian_rho(runs)) <= price.min() + 1e-12
    assert float(gaussian_rho(runs)) == pytest.approx(price.min(), rel=1e-3)


def test_constant_steps_give_theorem_5_4() -> None:
    """One shift 2 eta L in step t, then noise eta sigma: 2 L^2 / (sigma^2 (n + 1 - t))."""
    cases: list[int] = [1, 2, 7, 1000, 10**6]
    for n in cases:
        eta, lipschitz, variance = Fraction(1, 10), Fraction(3), Fraction(7)
        for t in {1, (n + 1) // 2, n}:
            before = [(Fraction(0), eta**2 * variance, t - 1)] if t > 1 else []
            after = [(Fraction(0), eta**2 * variance, n - t)] if t < n else []
            runs = [*before, (2 * eta * lipschitz, eta**2 * variance, 1), *after]
            assert gaussian_rho(runs) == 2 * lipschitz**2 / (variance * (n + 1 - t))


@settings(max_examples=12)  # a search over all allocations is dear
@given(_runs, _starts, _orders)
def test_laplace_allocations_are_feasible_and_best(runs: list[Run], start: Fraction, alpha: float) -> None:
    amounts = laplace_allocation(alpha, runs, start)
    _assert_kept(runs, start, amounts)
    brute = _brute(runs, start, lambda size, a: float(LaplaceNoise(scale=size).magnitude(alpha, a)))
    price = laplace_price(alpha, runs, start)
    assert price <= brute + 1e-6 * (1 + brute)
    spent = [
        count * float(LaplaceNoise(scale=float(size)).magnitude(alpha, float(amount)))
        for amount, (_, size, count) in zip(amounts, runs, strict=True)
    ]
    assert math.fsum(spent) <= price <= math.fsum(spent) * (1 + 1e-11)


@settings(max_examples=30)
@given(_runs, _starts, _orders)
def test_laplace_multipliers_increase_only_where_all_of_the_reach_is_used(
    runs: list[Run], start: Fraction, alpha: float
) -> None:
    amounts = laplace_allocation(alpha, runs, start)

    def rate(amount: Fraction, scale: Fraction) -> float:
        ratio = math.exp(-(2 * alpha - 1) * amount / scale)
        return alpha * (1 - ratio) / (alpha + (alpha - 1) * ratio) / float(scale)

    rates = [rate(amount, size) for amount, (_, size, _) in zip(amounts, runs, strict=True)]
    left = start
    for i, (shift, _, count) in enumerate(runs[:-1]):
        left += (shift - amounts[i]) * count
        assert rates[i + 1] >= rates[i] - 1e-9
        if rates[i + 1] > rates[i] + 1e-6:
            assert left == 0


def test_a_long_way_through_laplace_noise_costs_its_length() -> None:
    runs = [(Fraction(1000), Fraction(1), 1), (Fraction(0), Fraction(2), 3)]
    assert laplace_price(2.0, runs) <= 500 * (1 + 1e-9)
    assert laplace_price(2.0, runs) > 495
    tiny = [(Fraction(1), Fraction(1), 1), (Fraction(0), Fraction(2), 10**6)]
    assert laplace_price(2.0, tiny) == pytest.approx(
        float(gaussian_rho([(s, b * b, c) for s, b, c in tiny])) * 2, rel=1e-4
    )


def test_many_runs_are_rounded_towards_less_privacy() -> None:
    generator = np.random.default_rng(1)
    primes = [Fraction(int(a), int(b)) for a, b in generator.integers(1, 10**6, size=(3000, 2))]
    runs = [(shift, size, 1) for shift, size in zip(primes[::2], primes[1::2], strict=True)]
    rho = gaussian_rho(runs)
    amounts = gaussian_allocation(runs)
    assert len(amounts) == 1500
    slopes = [amount / size for amount, (_, size, _) in zip(amounts, runs, strict=True)]
    assert float(rho) == pytest.approx(sum(float(a) * float(s) / 2 for a, s in zip(amounts, slopes, strict=True)))
    few = runs[:100]
    assert (
        gaussian_rho(few)
        <= gaussian_rho([*few, (Fraction(0), Fraction(1, 10**30), 1)])
        <= gaussian_rho(few) * (1 + Fraction(1, 2**50))
    )


def test_a_million_equal_steps_are_one_run() -> None:
    runs = [(Fraction(1, 1000), Fraction(1), 10**6)]
    assert gaussian_rho(runs) == Fraction(1, 2)
    assert laplace_price(2.0, runs) == pytest.approx(10**6 * 1e-6, rel=1e-3)


def test_what_is_beyond_the_doubles_is_refused() -> None:
    with pytest.raises(ParameterError, match="beyond the"):
        laplace_price(2.0, [(Fraction(2) ** 1023, Fraction(1), 4)])
