"""Convert a column to steps on its axis, by the rules of the schema, and steps to exact sums.

Missing values follow the null rule; numbers are clipped to their bounds and rounded to the nearest step, ``floor(value
/ grid + 0.5)`` in doubles, as every engine does it. Sums are exact: integers of any size.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, safe_repr
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Category, Integer, Real

if TYPE_CHECKING:
    from celosia.statistics.arrays.reading import Column
    from celosia.statistics.base.measure import Measure

_LOW_BITS = 20
_MAX_INT64_SUM = 2**62


def kind_for(column: "Column", bounds: tuple[Exact, Exact], *, grid: Exact | None, null: Exact) -> Integer | Real:
    """Return the kind of a column of numbers between bounds: integers keep steps of one."""
    low, high = pair(bounds, "statistics.bounds_not_a_pair")
    whole = not isinstance(low, bool) and hasattr(low, "__index__") and hasattr(high, "__index__")
    if column.integral and whole and grid is None:
        return Integer(low, high, null=null)  # type: ignore[arg-type]  # it says what it needs
    return Real(low, high, grid=grid, null=null)


def pair(bounds: object, code: str) -> tuple[Any, Any]:
    """Return the two items of a pair, or raise the error of a code."""
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(code, value=safe_repr(bounds))
    return bounds[0], bounds[1]


def steps_on(axis: Axis, column: "Column", kind: Integer | Real) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each row's step, counted from the lower end, and which rows are present."""
    present, null = column.present, kind.null
    values = column.values
    if not isinstance(null, str):
        filler = int(null) if column.integral and isinstance(kind, Integer) else float(null)
        values, present = np.where(present, values, filler), np.ones(len(values), dtype=bool)
    else:
        values = np.where(present, values, values.dtype.type(0))  # unused, but NaN would warn
    if values.dtype.kind == "i" and isinstance(kind, Integer) and axis.grid == 1:
        return np.clip(values, kind.low, kind.high) - axis.lowest, present
    clipped = np.clip(values.astype(np.float64), float(kind.low), float(kind.high))
    steps = np.floor(clipped / float(axis.grid) + 0.5)
    return np.clip(steps, axis.lowest, axis.highest).astype(np.int64) - axis.lowest, present


def summary_of(measure: "Measure", steps: Sequence[NDArray[np.int64]], rows: int) -> NDArray[np.object_]:
    """Return the exact sums of a measure's features over rows, as one cell of integers of any size."""
    largest = max(max(-low, high) for low, high in measure.reach)
    sums = [_exact_sum(feature, rows, largest) for feature in measure.features(*steps)]
    summary = np.empty((1, measure.width), dtype=object)
    summary[0] = sums
    return summary


def _exact_sum(feature: Any, rows: int, largest: int) -> int:
    if isinstance(feature, int):
        return feature * rows
    if largest * rows < _MAX_INT64_SUM:
        return int(feature.sum(dtype=np.int64))
    low = feature & np.int64((1 << _LOW_BITS) - 1)
    return (int((feature >> np.int64(_LOW_BITS)).sum(dtype=np.int64)) << _LOW_BITS) + int(low.sum(dtype=np.int64))


def indices(column: "Column", categories: Category) -> NDArray[np.int64]:
    """Return the index of the category of each row that is present."""
    values = categories.values
    if column.values.dtype.kind in "if":
        found = _numeric_indices(column.values, values)
    else:
        place = {value: index for index, value in enumerate(values)}
        items = (place.get(item, -1) if isinstance(item, str | int) else -1 for item in column.values)
        found = np.fromiter(items, dtype=np.int64, count=len(column.values))
    found = np.where(column.present, found, -1)
    if categories.nullable:
        return found[found >= 0]
    return np.where(found >= 0, found, values.index(categories.null))


def _numeric_indices(numbers: NDArray[Any], values: tuple[str | int, ...]) -> NDArray[np.int64]:
    if not all(isinstance(value, int) for value in values):
        return np.full(len(numbers), -1, dtype=np.int64)
    wanted = np.array(values, dtype=np.int64)
    order = np.argsort(wanted)
    places = np.clip(np.searchsorted(wanted[order], numbers), 0, len(wanted) - 1)
    return np.where(wanted[order][places] == numbers, order[places], -1)
