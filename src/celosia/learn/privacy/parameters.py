"""The public bounds of the data that every estimator takes.

Bounds are stated by the caller and never read from the data: two numbers for all features, two arrays, or the kinds of
a schema. What lies outside is clipped. From them follow the axes on which columns are rounded, the same in memory and
in a database.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from celosia.core.errors import ParameterError, UnboundedDataError
from celosia.core.exact import safe_repr
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Category, Kind, Real


def feature_kinds(bounds: object, count: int, names: Sequence[str] | None = None) -> tuple[Kind, ...]:
    """Return the kind of each of ``count`` features: numbers between public bounds, or the kinds of a schema."""
    if bounds is None:
        raise UnboundedDataError("learn.missing_bounds")
    if isinstance(bounds, Mapping):
        return _from_schema(bounds, count, names)
    low, high = _two(bounds, "learn.bounds_not_a_pair")
    if np.ndim(low) == 0 and np.ndim(high) == 0:
        return (_real(low, high, "learn.bounds_invalid"),) * count
    lows, highs = (_one_each(side, count) for side in (low, high))
    return tuple(
        _real(low, high, "learn.feature_bounds_invalid", feature=place + 1)
        for place, (low, high) in enumerate(zip(lows, highs, strict=True))
    )


def target_kind(bounds_y: object) -> Kind:
    """Return the kind of a target that is a number."""
    if bounds_y is None:
        raise UnboundedDataError("learn.missing_target_bounds")
    if isinstance(bounds_y, Kind):
        return _numeric(bounds_y)
    low, high = _two(bounds_y, "learn.bounds_y_not_a_pair")
    return _real(low, high, "learn.bounds_y_invalid")


def known_count(bounds: object) -> int | None:
    """Return how many features bounds speak of; None if they are the same for all."""
    if isinstance(bounds, Mapping):
        return len(bounds)
    if bounds is None:
        return None
    sizes = {np.size(side) for side in _two(bounds, "learn.bounds_not_a_pair") if np.ndim(side)}
    return sizes.pop() if len(sizes) == 1 else None


def axis_of(kind: Kind) -> Axis:
    """Return the axis of a kind that is a number; refuse any other."""
    axis = _axis(kind)
    if axis is None:
        raise ParameterError("learn.column_not_a_number", kind=type(kind).__name__)
    return axis


@functools.lru_cache(maxsize=1024)
def _axis(kind: Kind) -> Axis | None:
    """The axis of a kind; columns are often alike, and exact numbers take their time."""
    return kind.axis


def ends_of(kind: Kind) -> tuple[float, float]:
    """Return what numbers in a column of this kind are clipped to; for categories, nothing."""
    if kind.axis is None:
        return -math.inf, math.inf
    low, high = getattr(kind, "low", None), getattr(kind, "high", None)
    if not isinstance(low, int | Fraction) or not isinstance(high, int | Fraction):  # booleans, days, moments
        low, high = kind.axis.low, kind.axis.high
    return float(low), float(high)


def _from_schema(schema: "Mapping[str, Any]", count: int, names: Sequence[str] | None) -> tuple[Kind, ...]:
    if names is None:
        if len(schema) != count:
            raise ParameterError("learn.bounds_column_mismatch", in_bounds=len(schema), in_data=count)
        names = list(schema)
    missing = [name for name in names if name not in schema]
    if missing:
        raise UnboundedDataError("learn.column_without_bounds", column=safe_repr(missing[0]))
    return tuple(schema[name] if isinstance(schema[name], Kind) else _pair_kind(schema[name]) for name in names)


def _pair_kind(bounds: object) -> Kind:
    return _real(*_two(bounds, "learn.column_bounds_not_a_pair"), "learn.bounds_invalid")


def _numeric(kind: Kind) -> Kind:
    if isinstance(kind, Category) or kind.axis is None:
        raise ParameterError("learn.target_not_a_number", value=repr(kind))
    return kind


def _two(bounds: object, code: str) -> tuple[Any, Any]:
    if isinstance(bounds, np.ndarray):
        bounds = list(bounds)
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(code, value=safe_repr(bounds))
    return bounds[0], bounds[1]


def _one_each(side: Any, count: int) -> list[Any]:
    if np.ndim(side) == 0:
        return [side] * count
    items: list[Any] = np.asarray(side).tolist()
    if np.ndim(side) != 1 or len(items) != count:
        # Not how many there are: of a table that was turned on its side that would be the number of rows.
        raise ParameterError("learn.malformed_bounds")
    return items


def _real(low: Any, high: Any, code: str, **fields: object) -> Real:
    plain = [value.item() if isinstance(value, np.generic) else value for value in (low, high)]
    try:
        return Real(*plain)
    except ParameterError as error:
        raise type(error)(code, error=error, **fields) from None
