"""Columns of an answer as arrays with a mask: what expressions over noisy answers are computed on.

Numbers are 64-bit integers or IEEE doubles, dates are days and times are seconds since 1970, texts stay as they are.
A column is of one family, found from the *types* of its values alone, so that whether something can be computed never
depends on the values. A column without a single value fits every family.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.errors import QueryError
from celosia.core.messages.message import Message
from celosia.query.plan.suggestions import list_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_INTEGER: Final = 2**62
"""Integers beyond plus or minus this become null: a sum of two must fit 64 bits."""

_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SECOND = dt.timedelta(seconds=1)
_FAMILIES: "Final[tuple[tuple[tuple[type, ...], str], ...]]" = (
    ((bool, np.bool_), "truth"),
    ((int, float, Fraction, Decimal, np.integer, np.floating), "number"),
    ((str,), "text"),
    ((dt.datetime,), "timestamp"),
    ((dt.date,), "date"),
)
_DESCRIPTIONS: Final = {
    "truth": "query.answer_booleans",
    "number": "query.answer_numbers",
    "text": "query.answer_texts",
    "timestamp": "query.answer_times",
    "date": "query.answer_dates",
    "list": "query.answer_lists",
    "null": "query.answer_nulls",
}


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """Items of one family; where ``null`` is true there is no value, whatever the item is."""

    family: str
    items: "NDArray[Any]"
    null: "NDArray[np.bool_]"

    @property
    def description(self) -> Message:
        """What a message calls the items."""
        return Message(_DESCRIPTIONS[self.family])

    @property
    def is_integer(self) -> bool:
        """Whether the items are kept as integers."""
        return self.items.dtype.kind == "i"

    def repeated(self, rows: int) -> "Vector":
        """Return one item as a column of ``rows`` rows."""
        items, null = (np.broadcast_to(array, (rows,)) for array in (self.items, self.null))
        return Vector(self.family, items, null)


def vector_of(values: "Sequence[Any] | NDArray[Any]") -> Vector:
    """Return a column of an answer as an array; None, NaN and infinities are null."""
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    types = set(map(type, plain))
    missing = type(None) in types
    null = np.array([value is None for value in plain], dtype=bool) if missing else np.zeros(len(plain), dtype=bool)
    families = {_find_family(kind) for kind in types - {type(None)}}
    if len(families) > 1:
        named = sorted(Message(_DESCRIPTIONS[family]) for family in families)
        raise QueryError("query.answer_column_mixes_types", families=list_items(named, "query.and_item"))
    family = next(iter(families), "null")
    if family == "number":
        return _numbers(plain, types, null)
    if family == "date":
        return Vector(family, np.array(plain, dtype="datetime64[D]").astype(np.int64), null)
    if family in {"truth", "null"}:
        filled = [value is not None and bool(value) for value in plain] if missing else plain
        return Vector(family, np.array(filled, dtype=bool), null)
    if family == "timestamp":
        return Vector(family, np.array([_seconds(value) for value in plain], dtype=np.int64), null)
    filled = ["" if value is None else value for value in plain] if missing and family == "text" else plain
    return Vector(family, np.fromiter(filled, dtype=object, count=len(plain)), null)


def to_list(vector: Vector) -> list[Any]:
    """Return a column as a list of Python's own values, None for null."""
    items = vector.items
    if vector.family == "date":
        items = items.astype("datetime64[D]")
    if vector.family == "timestamp":
        plain = np.where(vector.null, 0, items).astype("datetime64[s]").tolist()
        items = np.fromiter((moment.replace(tzinfo=dt.UTC) for moment in plain), dtype=object, count=len(plain))
    if vector.null.any():
        items = items.astype(object)
        items[vector.null] = None
    return list(items.tolist())


def align(name: str, vectors: Sequence[Vector]) -> list[Vector]:
    """Return columns of one family and type; refuse to mix families. ``name`` is the operation, for the message."""
    given = [vector for vector in vectors if vector.family != "null"]
    other = next((vector for vector in given if vector.family != given[0].family), None)
    if other is not None:
        raise QueryError(
            "query.answer_types_mixed", name=name.upper(), found=given[0].description, other=other.description
        )
    if not given:
        return list(vectors)
    kind = np.result_type(*(vector.items.dtype for vector in given))
    return [
        Vector(given[0].family, np.full(vector.items.shape, "" if kind.kind == "O" else 0, kind), vector.null)
        if vector.family == "null"
        else Vector(vector.family, vector.items.astype(kind, copy=False), vector.null)
        for vector in vectors
    ]


def _find_family(kind: type) -> str:
    return next((family for types, family in _FAMILIES if issubclass(kind, types)), "list")


def _numbers(values: "Sequence[Any]", types: set[type], null: "NDArray[np.bool_]") -> Vector:
    filled = [0 if value is None else value for value in values] if type(None) in types else values
    if not all(issubclass(kind, int | np.integer) for kind in types - {type(None)}):
        items = np.array(filled, dtype=np.float64)
        return Vector("number", items, null | ~np.isfinite(items))
    try:
        return Vector("number", np.array(filled, dtype=np.int64), null)
    except OverflowError:  # still integers: the type must not depend on the values
        far = np.array([abs(value) > MAX_INTEGER for value in filled])
        kept = [0 if abs(value) > MAX_INTEGER else value for value in filled]
        return Vector("number", np.array(kept, dtype=np.int64), null | far)


def _seconds(value: dt.datetime | None) -> int:
    if value is None:
        return 0
    return ((value.replace(tzinfo=dt.UTC) if value.utcoffset() is None else value) - _MIDNIGHT) // _SECOND
