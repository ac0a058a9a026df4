"""Rényi curves in closed form, held against sums with 450 digits, Google's accountant and each other."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import dp_accounting
import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting.prices.closed_forms import (
    bounded_range,
    discrete_laplace,
    gaussian,
    laplace,
    pure,
    randomized_response,
)
from celosia.core import ParameterError

mp = mpmath.mp.clone()
mp.dps = 450

ORDERS = [1, 1 + 2**-52, 1 + 1e-9, 1.001, 1.1, 1.75, 1.999, 2, 2.001, 3, 10, 64, 1e4, 1e9, 1e12]
RATES = [1e-140, 1e-9, 1e-3, 0.1, 0.5, 1.0, 2.5, 10.0, 100.0, 60_000.0]
NEIGHBORS = dp_accounting.NeighboringRelation


def number(value: float | Fraction) -> mpmath.mpf:
    fraction = Fraction(value)
    return mp.mpf(fraction.numerator) / fraction.denominator


def assert_rounded_up(ours: np.ndarray, exact: Callable[[mpmath.mpf], mpmath.mpf]) -> None:
    for order, value in zip(ORDERS, ours, strict=True):
        over = mp.mpf(10) ** -60 if order == 1 else number(order) - 1
        truth = mp.log(exact(1 + over)) / over
        assert truth * (1 - mp.mpf("1e-300")) <= float(value) <= truth * (1 + mp.mpf("3e-13")) + mp.mpf("2e-300"), order


def check_randomized_response(rate: float, categories: int) -> None:
    epsilon = number(rate)

    def moment(order: mpmath.mpf) -> mpmath.mpf:
        answers = mp.exp(order * epsilon) + mp.exp((1 - order) * epsilon) + categories - 2
        return answers / (mp.exp(epsilon) + categories - 1)

    assert_rounded_up(randomized_response(rate, ORDERS, categories), moment)


def test_randomized_response() -> None:
    categories_cases: list[int] = [2, 3, 2**50]
    for rate, categories in product(RATES, categories_cases):
        check_randomized_response(rate, categories)


def check_laplace(rate: float) -> None:
    epsilon = number(rate)

    def moment(order: mpmath.mpf) -> mpmath.mpf:
        return (order * mp.exp((order - 1) * epsilon) + (order - 1) * mp.exp(-order * epsilon)) / (2 * order - 1)

    assert_rounded_up(laplace(1, ORDERS, sensitivity=rate), moment)


def test_laplace() -> None:
    for rate in RATES:
        check_laplace(rate)


def check_discrete_laplace(rate: float, shift: int) -> None:
    step = number(Fraction(rate) / shift)
    ratio = mp.exp(-step)

    def moment(order: mpmath.mpf) -> mpmath.mpf:
        q = mp.exp(-(2 * order - 1) * step)
        inside = (1 - ratio) * (q - q**shift) / (1 - q)
        return mp.exp((order - 1) * shift * step) * (1 + q**shift + inside) / (1 + ratio)

    assert_rounded_up(discrete_laplace(shift / Fraction(rate), shift, ORDERS), moment)


def test_discrete_laplace(*, thorough: bool) -> None:
    shift_cases: list[int] = [1, 2, 3, 4, 7, 2**20, 2**60] if thorough else [1, 2, 7, 2**60]
    for rate, shift in product(RATES, shift_cases):
        check_discrete_laplace(rate, shift)


def test_discrete_laplace_by_its_definition() -> None:
    shift_cases: list[int] = [1, 2, 5, 12]
    scale_cases: list[float] = [0.7, 3.0, 40.0]
    order_cases: list[float] = [1.5, 2.0, 7.3]
    for shift in shift_cases:
        for scale in scale_cases:
            for order in order_cases:
                x = np.arange(-4_000, 4_001, dtype=np.float64)
                log_p = -np.abs(x) / scale - math.log(1 / math.tanh(0.5 / scale))
                log_q = -np.abs(x - shift) / scale - math.log(1 / math.tanh(0.5 / scale))
                total = np.exp(order * log_p + (1 - order) * log_q).sum()
                assert discrete_laplace(scale, shift, [order])[0] == pytest.approx(
                    math.log(total) / (order - 1), rel=1e-10
                )


def check_bounded_range_is_the_worst_pair_of_losses(rate: float) -> None:
    epsilon = number(rate)

    def moment(order: mpmath.mpf) -> mpmath.mpf:
        # The losses are t and t - epsilon; this t is where the derivative of the moment vanishes.
        t = mp.log((order - 1) / order * mp.expm1(order * epsilon) / mp.expm1((order - 1) * epsilon))
        return losses(epsilon, t, order)

    assert_rounded_up(bounded_range(rate, ORDERS), moment)


def test_bounded_range_is_the_worst_pair_of_losses() -> None:
    for rate in RATES:
        check_bounded_range_is_the_worst_pair_of_losses(rate)


def losses(epsilon: mpmath.mpf, t: mpmath.mpf, order: mpmath.mpf) -> mpmath.mpf:
    upper = (mp.exp(epsilon) - mp.exp(t)) / mp.expm1(epsilon)
    return upper * mp.exp((order - 1) * t) + (1 - upper) * mp.exp((order - 1) * (t - epsilon))


def test_no_pair_of_losses_is_worse() -> None:
    for rate, order in product((0.01, 1.0, 5.0), (1.01, 2.0, 30.0)):
        ours = bounded_range(rate, [order])[0]
        worst = max(float(mp.log(losses(number(rate), number(rate) * i / 50, number(order)))) for i in range(51))
        assert worst / (order - 1) <= ours
        assert worst / (order - 1) >= ours * 0.99


def test_against_googles_accountant() -> None:
    orders = [1.001, 1.25, 2, 3.5, 8, 32, 256]

    def google(event: dp_accounting.DpEvent, relation: dp_accounting.NeighboringRelation) -> np.ndarray:
        accountant = RdpAccountant(orders, relation)
        accountant.compose(event)
        return np.asarray(accountant._rdp)

    for scale in [0.3, 1.0, 4.0, 50.0]:
        theirs = google(dp_accounting.LaplaceDpEvent(scale), NEIGHBORS.ADD_OR_REMOVE_ONE)
        # Theirs loses digits by subtraction where scale is large and the order near 1.
        np.testing.assert_allclose(laplace(scale, orders)[1:], theirs[1:], rtol=1e-10)
        theirs = google(dp_accounting.GaussianDpEvent(scale), NEIGHBORS.ADD_OR_REMOVE_ONE)
        np.testing.assert_allclose(gaussian(Fraction(scale) ** 2, 1, orders), theirs, rtol=1e-10)
    for epsilon, categories in [(0.5, 2), (1.0, 2), (3.0, 7)]:
        lie = categories / (math.exp(epsilon) + categories - 1)  # the probability of an answer drawn without looking
        theirs = google(dp_accounting.RandomizedResponseDpEvent(lie, categories), NEIGHBORS.REPLACE_ONE)
        np.testing.assert_allclose(randomized_response(epsilon, orders, categories), theirs, rtol=1e-10)


def test_limits() -> None:
    ends = [1, math.inf]
    assert pure(2, ends) == pytest.approx([2 * math.tanh(1), 2], rel=1e-12)
    assert laplace(0.5, ends) == pytest.approx([2 + math.exp(-2) - 1, 2], rel=1e-12)
    assert discrete_laplace(0.5, 1, ends) == pytest.approx([2 * math.tanh(1), 2], rel=1e-12)
    assert bounded_range(2, ends)[1] == 2
    assert gaussian(2, 1, ends) == pytest.approx([0.25, math.inf])
    assert pure(700, [1e308, math.inf]).tolist() == [700, 700]
    for zero in [
        pure(0, ends),
        laplace(1, ends, 0),
        discrete_laplace(1, 0, ends),
        gaussian(1, 0, ends),
        bounded_range(0, ends),
    ]:
        assert zero.tolist() == [0, 0]


EPSILONS = st.floats(1e-6, 40)
GRIDS = st.lists(st.floats(1, 1e6), min_size=2, max_size=8).map(sorted)


@given(EPSILONS, GRIDS, st.integers(1, 10**6))
def test_curves_grow_with_the_order_and_keep_their_ranks(epsilon: float, orders: list[float], shift: int) -> None:
    general = pure(epsilon, orders)
    spread = shift / Fraction(epsilon)
    continuous, discrete, ranged = (
        laplace(spread, orders, shift),
        discrete_laplace(spread, shift, orders),
        bounded_range(epsilon, orders),
    )
    for curve in (general, continuous, discrete, ranged):
        assert (np.diff(curve) >= -2e-13 * curve[1:]).all()
        assert (curve <= general * (1 + 2e-13)).all()
        assert (curve <= epsilon).all()
    assert (continuous <= discrete * (1 + 3e-13)).all()
    assert (ranged <= np.asarray(orders) * epsilon**2 / 8 * (1 + 3e-13)).all()
    assert (general <= np.asarray(orders) * epsilon**2 / 2 * (1 + 3e-13)).all()


@given(EPSILONS, st.floats(1, 1e4), st.integers(2, 1000))
def test_rounding_to_fewer_answers_never_costs_more(epsilon: float, order: float, categories: int) -> None:
    many = randomized_response(epsilon, [order], categories + 1)
    assert many[0] <= randomized_response(epsilon, [order], categories)[0] * (1 + 3e-13) + 1e-290


def test_the_curves_of_the_seed_at_chosen_orders() -> None:
    """Figures 5.1 to 5.3 of the thesis on Rényi privacy, by its formulas as they stand."""
    p, order, spread = 0.75, 4.0, 2.0
    epsilon = math.log(p / (1 - p))
    response = math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)
    assert randomized_response(epsilon, [order])[0] == pytest.approx(response, rel=1e-12)
    # Its table 5.1 prints Laplace's two weights with "alpha" and "alpha - 1" hard to tell; these are the right ones.
    mean = order / (2 * order - 1) * math.exp((order - 1) / spread)
    mean += (order - 1) / (2 * order - 1) * math.exp(-order / spread)
    assert laplace(spread, [order])[0] == pytest.approx(math.log(mean) / (order - 1), rel=1e-12)
    assert gaussian(9, 1, [order])[0] == pytest.approx(order / 18, rel=1e-12)


def test_a_missing_half_would_be_seen() -> None:
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(bounded_range(1, ORDERS), pure(1, ORDERS), rtol=1e-10)


def test_orders_that_make_no_sense() -> None:
    cases: list[Any] = [[], [0.5], [math.nan], [2, math.nan], "2, 3", [True], [None], [-math.inf]]
    for orders in cases:
        with pytest.raises(ParameterError, match="orders"):
            pure(1, orders)


def test_parameters_that_make_no_sense() -> None:
    cases: list[Any] = [-1, math.nan, math.inf, "one", True]
    for bad in cases:
        with pytest.raises(ParameterError, match="epsilon"):
            randomized_response(bad, [2])
        with pytest.raises(ParameterError, match="epsilon"):
            bounded_range(bad, [2])
        with pytest.raises(ParameterError, match="scale"):
            laplace(bad, [2])
        with pytest.raises(ParameterError, match="variance"):
            gaussian(bad, 1, [2])
        with pytest.raises(ParameterError, match="shift"):
            discrete_laplace(1, -1, [2])
        with pytest.raises(ParameterError, match="categories"):
            randomized_response(1, [2], categories=1)
        with pytest.raises(ParameterError, match="beyond the range of doubles"):
            laplace("1e-300", [2], sensitivity="1e300")
