"""Numbers between two bounds, on a grid as fine as doubles: the items of the protocols for means.

A number of the interval becomes an integer number of parts of a grid step, 2^32 to a step, by a fixed rule in doubles;
a client then rounds it up or down to a step at random, without bias. A mixture of private reports is private: random
rounding costs nothing. Numbers outside the bounds, NaN and nulls raise an error of the client that names the bounds,
never the number.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import Exact, exact, exact_integer, safe_repr
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

PART_BITS = 32
"""A step of a grid has two to this power parts."""

DEFAULT_GRID = 1 << 20
"""The number of steps of a grid, unless a protocol is given another."""

_PARTS = 1 << PART_BITS
_MAX_GRID = 1 << 30
_MAX_RANGE = 1e150
_NUMBERS = int | float | np.integer | np.floating


def exact_bounds(low: Exact, high: Exact) -> tuple[Fraction, Fraction]:
    """Return the bounds of an interval as exact numbers."""
    least, most = exact(low, name="low"), exact(high, name="high")
    # Variances need the square of the distance: it must not overflow.
    if not 0 < float(most) - float(least) <= _MAX_RANGE:
        raise ParameterError("local.low_not_below_high", low=safe_repr(low), high=safe_repr(high))
    return least, most


def exact_grid(grid: int) -> int:
    """Return a number of steps, from 1 to 2^30."""
    steps = exact_integer(grid, name="grid")
    if steps > _MAX_GRID:
        raise ParameterError("local.grid_too_fine", value=safe_repr(grid))
    return steps


def read_numbers(values: Any, *, name: str = "values") -> "NDArray[np.float64]":
    """Return a column of numbers as doubles; strings, nulls and NaN raise ``InputError``."""
    array = values if isinstance(values, np.ndarray) else _from_column(values, name)
    numeric = array.dtype.kind in "iuf" or not array.size
    if np.ma.isMaskedArray(array) or array.ndim != 1 or not numeric or array.dtype.itemsize > np.dtype(float).itemsize:
        raise _column_error(name)
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("local.numbers_not_finite", name=name)
    return numbers


def read_parts(
    values: Any,
    low: Fraction,
    high: Fraction,
    parts: int,
    *,
    name: str = "values",
) -> "NDArray[np.int64]":
    """Return where each number lies between the bounds, in whole ``parts`` of their distance.

    The part is ``floor((number - low) / (high - low) * parts + 0.5)``, each operation in doubles: the same in every
    language, and off by about one part in 2^52.
    """
    numbers = read_numbers(values, name=name)
    least, most = float(low), float(high)
    if numbers.size and not (numbers.min() >= least and numbers.max() <= most):
        raise InputError("local.number_outside_bounds", name=name, least=repr(least), most=repr(most))
    return np.floor((numbers - least) / (most - least) * float(parts) + 0.5).astype(np.int64).clip(0, parts)


def round_parts(parts: "NDArray[np.int64]", source: "Source") -> "NDArray[np.int64]":
    """Round parts to whole steps at random, without bias."""
    return (parts + uniform_below(_PARTS, parts.size, source)) >> PART_BITS


def round_part(part: int, source: "Source") -> int:
    """Round one number of parts as ``round_parts`` does."""
    return (part + integer_below(_PARTS, source)) >> PART_BITS


def _from_column(values: Any, name: str) -> "NDArray[Any]":
    if isinstance(values, range):
        return np.arange(values.start, values.stop, values.step)
    if isinstance(values, list | tuple):
        if any(isinstance(value, bool) or not isinstance(value, _NUMBERS) for value in values):
            raise _column_error(name)
        try:
            return np.array([float(value) for value in values])
        except OverflowError:  # an integer beyond the doubles
            raise _column_error(name) from None
    if isinstance(values, str | bytes | int | float | np.generic) or values is None:
        raise InputError("local.single_value", name=name, kind=type(values).__name__)
    return _from_arrow(values, name)


def _from_arrow(values: Any, name: str) -> "NDArray[Any]":
    import narwhals as nw
    import pyarrow as pa

    try:
        if not isinstance(values, pa.Array | pa.ChunkedArray):
            values = nw.from_native(values, series_only=True).to_arrow()
        kind = values.type
        if (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and not values.null_count:
            numbers: NDArray[Any] = values.to_numpy() if isinstance(values, pa.ChunkedArray) else values.to_numpy(False)  # noqa: FBT003 - Arrow's
            return numbers
    except Exception:  # noqa: BLE001 - the error of a library may quote values
        raise _column_error(name) from None
    raise _column_error(name)


def _column_error(name: str) -> InputError:
    return InputError("local.not_a_column_of_numbers", name=name)
