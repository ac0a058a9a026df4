"""What the formulas accept, and in which words they refuse the rest."""

import math
from typing import Any

import pytest

from celosia.accounting.checks import check_epsilons, check_orders, check_positive, check_probability, vector
from celosia.core import ParameterError


def test_orders_must_be_finite_and_above_one() -> None:
    cases: list[object] = [[1.0], [0.5], [math.nan], [math.inf], [[2.0]], 2.0, ["two"], [None]]
    for orders in cases:
        with pytest.raises(ParameterError, match="orders must be"):
            check_orders(orders)  # type: ignore[arg-type]


def test_epsilons_must_be_finite() -> None:
    cases: list[object] = [[math.nan], [-math.inf], [[1.0]], "1 2", {}]
    for epsilons in cases:
        with pytest.raises(ParameterError, match="epsilons must be"):
            check_epsilons(epsilons)  # type: ignore[arg-type]


def test_a_sampling_probability_is_above_zero_and_at_most_one() -> None:
    cases: list[Any] = [0, -0.1, 1.5, math.nan, math.inf, True, "0.5", None]
    for probability in cases:
        with pytest.raises(ParameterError, match="probability must be"):
            check_probability(probability)


def test_a_positive_number_is_finite() -> None:
    cases: list[Any] = [0, -1, math.nan, math.inf, True, "1", None]
    for mu in cases:
        with pytest.raises(ParameterError, match="mu must be"):
            check_positive(mu, "mu")


def test_a_vector_is_a_copy() -> None:
    values = check_epsilons([1.0])
    assert vector(values, "epsilons") is not values
