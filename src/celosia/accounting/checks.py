"""Checks of parameters: arrays of epsilons and orders, probabilities of sampling.

They refuse NaN, infinities, booleans and orders of 1, with the same messages everywhere.
"""

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

Array = NDArray[np.float64]
"""An array of doubles, mostly of one dimension."""


def vector(values: ArrayLike, name: str) -> Array:
    """Return a copy of ``values`` as a one-dimensional array of doubles."""
    try:
        given = np.asarray(values)
        array = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError("accounting.not_numbers", name=name, values=safe_repr(values)) from error
    if given.dtype.kind not in "iuf" and given.size:  # booleans and strings
        raise ParameterError("accounting.not_numbers", name=name, values=safe_repr(values))
    if array.ndim != 1:
        raise ParameterError("accounting.not_one_dimensional", name=name, values=safe_repr(values))
    return array


def check_epsilons(epsilons: ArrayLike) -> Array:
    """Return finite numbers as an array; raise ``ParameterError`` for others."""
    values = vector(epsilons, "epsilons")
    if not np.all(np.isfinite(values)):
        raise ParameterError("accounting.epsilons_not_finite", epsilons=safe_repr(epsilons))
    return values


def check_orders(orders: ArrayLike) -> Array:
    """Return Rényi orders as an array; all must be finite and greater than 1."""
    values = vector(orders, "orders")
    if not values.size or not np.all(np.isfinite(values) & (values > 1)):
        raise ParameterError("accounting.orders_empty_or_invalid", orders=safe_repr(orders))
    return values


def check_probability(probability: float) -> float:
    """Return a sampling probability: greater than 0 and at most 1."""
    if isinstance(probability, bool) or not isinstance(probability, Real) or not 0 < probability <= 1:
        raise ParameterError("accounting.probability_out_of_range", probability=safe_repr(probability))
    return float(probability)


def check_positive(value: float, name: str) -> float:
    """Return a finite number greater than 0 as a float."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < math.inf:
        raise ParameterError("accounting.not_finite_and_positive", name=name, value=safe_repr(value))
    return float(value)
