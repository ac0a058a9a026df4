"""What the formulas accept, and in which words they refuse the rest."""

import math

import pytest

from celosia.accounting.checks import checked_epsilons, checked_orders, checked_positive, checked_probability, vector
from celosia.core import ParameterError


@pytest.mark.parametrize("orders", [[1.0], [0.5], [math.nan], [math.inf], [[2.0]], 2.0, ["two"], [None]])
def test_orders_must_be_finite_and_above_one(orders: object) -> None:
    with pytest.raises(ParameterError, match="orders must be"):
        checked_orders(orders)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilons", [[math.nan], [-math.inf], [[1.0]], "1 2", {}])
def test_epsilons_must_be_finite(epsilons: object) -> None:
    with pytest.raises(ParameterError, match="epsilons must be"):
        checked_epsilons(epsilons)  # type: ignore[arg-type]


@pytest.mark.parametrize("probability", [0, -0.1, 1.5, math.nan, math.inf, True, "0.5", None])
def test_a_sampling_probability_is_above_zero_and_at_most_one(probability: float) -> None:
    with pytest.raises(ParameterError, match="probability must be"):
        checked_probability(probability)


@pytest.mark.parametrize("mu", [0, -1, math.nan, math.inf, True, "1", None])
def test_a_positive_number_is_finite(mu: float) -> None:
    with pytest.raises(ParameterError, match="mu must be"):
        checked_positive(mu, "mu")


def test_a_vector_is_a_copy() -> None:
    values = checked_epsilons([1.0])
    assert vector(values, "epsilons") is not values
