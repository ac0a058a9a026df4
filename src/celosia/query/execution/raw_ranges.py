"""Conditions on raw columns in place of conditions on their clean values, true for the same rows.

A clean number is a monotone function of the raw one: clipped, then rounded to a grid. The raw values whose clean value
compares with a literal are therefore an interval. Its ends are found here by bisection, with the engine's arithmetic on
IEEE doubles. The engine then compares the column itself, in a part of the time. A missing or invalid value lies in no
interval, so only conditions of which true alone counts are replaced: those of a table's own columns, not of a
subquery's. An engine that skips blocks of rows by such an interval would show by its time what single rows hold, so
only engines that read all rows use it (``IbisEngine.compares_raw``).
"""

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from celosia.data.schema.columns import Integer, Kind, Real
from celosia.query.execution.clean import clean_double
from celosia.query.plan.expressions import Call, Column, Expression, Literal

if TYPE_CHECKING:
    from ibis.expr import datatypes as dt

_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_INTEGERS: Final = range(-(2**63), 2**63)
_DOUBLES: Final = range(-0x7FEF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000)  # the places of the finite ones in their order
_MAX_KEPT: Final = 1_024


@dataclass(frozen=True, slots=True, eq=False)
class RawRange(Column):
    """The condition that a raw column lies between two ends, both included.

    With a ``place`` the ends are the parameters of that number and the next: equal to others of its place and type,
    whatever the ends.
    """

    low: float = 0
    high: float = 0
    place: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawRange) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        ends = (self.low, self.high) if self.place is None else ()
        return self.name, self.place, type(self.low), *ends

    def take_place(self, place: int) -> "RawRange":
        """Return the condition with parameters for its ends."""
        return replace(self, place=place)


def compare_raw(condition: Expression, kinds: Mapping[str, Kind], types: "Mapping[str, dt.DataType]") -> Expression:
    """Return a condition that is true for the same rows, with intervals of raw columns where that is possible.

    ``types`` are those of the raw columns in the engine.
    """
    match condition:
        case Call(name="and" | "or" as name, arguments=arguments):
            return Call(name, tuple([compare_raw(argument, kinds, types) for argument in arguments]))
        case Call(name="between" | "=" | "<" | "<=" | ">" | ">=" as name, arguments=(Column() as column, *others)):
            return _find_range(name, column.name, others, kinds, types) or condition
        case Call(name=name, arguments=(Literal() as literal, Column() as column)) if name in _MIRRORED:
            return _find_range(_MIRRORED[name], column.name, [literal], kinds, types) or condition
    return condition


def _find_range(
    name: str,
    column: str,
    others: "list[Expression]",
    kinds: Mapping[str, Kind],
    types: "Mapping[str, dt.DataType]",
) -> RawRange | None:
    """Return the interval of a comparison; None if the column is not numeric, or replaces missing values."""
    values = [other.value for other in others if isinstance(other, Literal) and type(other.value) in (int, float)]
    kind, type_ = kinds.get(column), types.get(column)
    if type_ is None or not isinstance(kind, Integer | Real) or not kind.nullable or len(values) != len(others):
        return None
    if type_.is_floating():
        return RawRange(column, *_find_doubles(kind, name, *values))
    signed = type_.is_integer() and not (type_.is_unsigned_integer() and type_.nbytes == 8)
    return RawRange(column, *_find_integers(kind, name, *values)) if signed and isinstance(kind, Integer) else None


@lru_cache(_MAX_KEPT, typed=True)
def _find_doubles(kind: Integer | Real, name: str, *values: float) -> tuple[float, float]:
    first, last = _find_ends(_DOUBLES, lambda place: clean_double(_double_at(place), kind), name, values)
    return _double_at(first), _double_at(last)


@lru_cache(_MAX_KEPT, typed=True)
def _find_integers(kind: Integer, name: str, *values: float) -> tuple[int, int]:
    low, high = int(kind.low), int(kind.high)
    return _find_ends(_INTEGERS, lambda raw: max(low, min(high, raw)), name, values)


def _find_ends(places: range, clean: Callable[[int], Any], name: str, values: tuple[float, ...]) -> tuple[int, int]:
    """Return the first and the last place at which a comparison is true; 1 and 0 if there is none."""
    if any(isinstance(value, float) for value in values):
        values = tuple(map(float, values))  # one double makes all of them doubles, as in the engine

    def is_from(value: float, place: int) -> bool:
        return _compare(clean(place), value) >= 0

    def is_above(value: float, place: int) -> bool:
        return _compare(clean(place), value) > 0

    low, high = values[0], values[-1]
    first, end = places.start, places.stop
    if name in (">", ">=", "=", "between"):
        first = _find_first(places, partial(is_above if name == ">" else is_from, low))
    if name in ("<", "<=", "=", "between"):
        end = _find_first(places, partial(is_from if name == "<" else is_above, high))
    return (first, end - 1) if first < end else (1, 0)


def _compare(number: float, value: float) -> int:
    if isinstance(number, float) or isinstance(value, float):  # an engine compares doubles then
        number, value = float(number), float(value)
    return (number > value) - (number < value)


def _find_first(places: range, holds: Callable[[int], bool]) -> int:
    """Return the first place at which a monotone condition holds; the end of the places if it does at none."""
    low, high = places.start, places.stop
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _double_at(place: int) -> float:
    """Return the double at a place in the order of doubles; 0 is at 0."""
    found: float = struct.unpack("<d", struct.pack("<q", abs(place)))[0]
    return math.copysign(found, place)
