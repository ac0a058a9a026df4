"""Checks of numbers and arrays for divergences; they are read as doubles.

A NaN would become a wrong divergence or a comparison that is silently false, so it is refused here. Booleans and
strings are not numbers. Infinity is a valid *order* and a valid *result*, never a valid mass or point.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SUM_TOLERANCE = 1e-9  # of probabilities: the rounding of a million doubles, not of single precision


def as_number(value: object, *, name: str, least: float = -math.inf, above: float = -math.inf) -> float:
    """Return a finite real number of at least ``least`` and greater than ``above``."""
    number = _real(value, name)
    if not math.isfinite(number):
        raise ParameterError("divergences.not_finite", name=name, value=safe_repr(value))
    if number < least:
        raise ParameterError("divergences.number_too_small", name=name, least=least, value=safe_repr(value))
    if number <= above:
        raise ParameterError("divergences.number_not_above", name=name, above=above, value=safe_repr(value))
    return number


def as_order(value: object, *, least: float = 0.0, name: str = "order") -> float:
    """Return the order of a divergence or of a norm, or a divergence: a number of at least ``least``, or infinity."""
    number = _real(value, name)
    if not number >= least:
        raise ParameterError("divergences.order_too_small", name=name, least=least, value=safe_repr(value))
    return number


def as_array(value: object, *, name: str, dimensions: tuple[int, ...] = (1,)) -> "NDArray[np.float64]":
    """Return a non-empty array of finite doubles with one of the given numbers of dimensions."""
    if np.ma.is_masked(value):
        raise ParameterError("divergences.masked_entries", name=name)
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise ParameterError("divergences.array_not_rectangular", name=name) from error
    if array.dtype.kind not in "iuf":
        raise ParameterError("divergences.array_not_numeric", name=name, dtype=array.dtype)
    if array.ndim not in dimensions or array.size == 0:
        wanted = " or ".join(str(number) for number in dimensions)
        raise ParameterError("divergences.wrong_array_shape", name=name, wanted=wanted, shape=array.shape)
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ParameterError("divergences.array_not_finite", name=name)
    return array


def as_probabilities(value: object, *, name: str) -> "NDArray[np.float64]":
    """Return probabilities: at least 0, with sum 1 up to rounding, which is then taken out."""
    array = as_array(value, name=name)
    if (array < 0).any():
        raise ParameterError("divergences.negative_probability", name=name, found=array.min())
    total = math.fsum(array)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise ParameterError("divergences.probabilities_do_not_sum_to_one", name=name, total=repr(total))
    return array / total


def _real(value: object, name: str) -> float:
    known = not isinstance(value, (bool, np.bool_, str, bytes)) and hasattr(type(value), "__float__")
    if not known or (isinstance(value, np.ndarray) and value.ndim > 0):
        raise ParameterError("core.not_a_number", name=name, value=safe_repr(value))
    try:
        number = float(value)  # type: ignore[arg-type]  # it has __float__, as was just seen
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError("core.not_a_number", name=name, value=safe_repr(value)) from error
    if math.isnan(number):
        raise ParameterError("core.not_a_number", name=name, value=safe_repr(value))
    return number
