"""Public bounds of the features, stated by the caller and never read from the data.

Bounds are two numbers for all features, two arrays, or the kinds of a schema. What lies outside is clipped. From them
follow the axes on which columns are rounded, the same in memory and in a database.
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

_WANTED = "bounds must be (low, high), two numbers or an array each, or a Schema"


def feature_kinds(bounds: object, count: int, names: Sequence[str] | None = None) -> tuple[Kind, ...]:
    """Return the kind of each of ``count`` features: numbers between public bounds, or the kinds of a schema."""
    if bounds is None:
        raise UnboundedDataError(
            "bounds must be given, from public knowledge and not from the data: bounds=(low, high), two numbers or an "
            "array each, or a Schema."
        )
    if isinstance(bounds, Mapping):
        return _from_schema(bounds, count, names)
    low, high = _two(bounds, _WANTED)
    if np.ndim(low) == 0 and np.ndim(high) == 0:
        return (_real(low, high, "bounds"),) * count
    lows, highs = (_one_each(side, count) for side in (low, high))
    return tuple(
        _real(low, high, f"bounds of feature {place + 1}")
        for place, (low, high) in enumerate(zip(lows, highs, strict=True))
    )


def target_kind(bounds_y: object) -> Kind:
    """Return the kind of a target that is a number."""
    if bounds_y is None:
        raise UnboundedDataError(
            "bounds_y must be given, from public knowledge and not from the data: bounds_y=(low, high) of the target."
        )
    if isinstance(bounds_y, Kind):
        return _numeric(bounds_y, "the target")
    low, high = _two(bounds_y, "bounds_y must be (low, high), two numbers")
    return _real(low, high, "bounds_y")


def known_count(bounds: object) -> int | None:
    """Return how many features bounds speak of; None if they are the same for all."""
    if isinstance(bounds, Mapping):
        return len(bounds)
    if bounds is None:
        return None
    sizes = {np.size(side) for side in _two(bounds, _WANTED) if np.ndim(side)}
    return sizes.pop() if len(sizes) == 1 else None


def axis_of(kind: Kind) -> Axis:
    """Return the axis of a kind that is a number; refuse any other."""
    axis = _axis(kind)
    if axis is None:
        raise ParameterError(f"{type(kind).__name__} is no number: encode it before, or leave the column out.")
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
            raise ParameterError(
                f"bounds speak of {len(schema)} columns, the data have {count}: give a frame with named columns."
            )
        names = list(schema)
    missing = [name for name in names if name not in schema]
    if missing:
        raise UnboundedDataError(
            f"bounds have no column {safe_repr(missing[0])}: add it to them, or leave it out of the data."
        )
    return tuple(schema[name] if isinstance(schema[name], Kind) else _pair_kind(schema[name]) for name in names)


def _pair_kind(bounds: object) -> Kind:
    return _real(*_two(bounds, "bounds of a column must be (low, high) or a kind such as Real(0, 1)"), "bounds")


def _numeric(kind: Kind, what: str) -> Kind:
    if isinstance(kind, Category) or kind.axis is None:
        raise ParameterError(f"{what} must be a number, not {kind!r}.")
    return kind


def _two(bounds: object, wanted: str) -> tuple[Any, Any]:
    if isinstance(bounds, np.ndarray):
        bounds = list(bounds)
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(f"{wanted}, not {safe_repr(bounds)}.")
    return bounds[0], bounds[1]


def _one_each(side: Any, count: int) -> list[Any]:
    if np.ndim(side) == 0:
        return [side] * count
    items: list[Any] = np.asarray(side).tolist()
    if np.ndim(side) != 1 or len(items) != count:
        # Not how many there are: of a table that was turned on its side that would be the number of rows.
        raise ParameterError("bounds must be two numbers, or two arrays with one number for each feature of X.")
    return items


def _real(low: Any, high: Any, what: str) -> Real:
    plain = [value.item() if isinstance(value, np.generic) else value for value in (low, high)]
    try:
        return Real(*plain)
    except ParameterError as error:
        raise type(error)(f"{what}: {error}") from None
