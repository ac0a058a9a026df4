"""The operations that a query may use, in one table, each with its meaning and its typing rule.

What is not in the table cannot be asked. Every operation is total: on clean values inside their bounds it gives a value
or null, the same in every engine, and never an error, because an error would tell something about a row. Null means "no
value" and passes through every operation except ``is_null``, ``coalesce``, ``case``, ``and`` and ``or``, which treat it
as SQL does. Arithmetic is on 64-bit integers or, as soon as one operand is a real, on IEEE doubles.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.query.arithmetic import ARITHMETIC, Rule
from celosia.query.comparison import COMPARISON, bucket_labels
from celosia.query.intervals import whole_between
from celosia.query.typed import Typed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["OPERATIONS", "Operation", "bucket_labels"]

_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: the fewest and the most arguments it takes (None: any number), its typing rule, its meaning.

    >>> OPERATIONS["clip"].meaning
    'x moved to the nearer of two bounds if it lies outside'
    """

    least: int
    most: int | None
    rule: Rule
    meaning: str


def _date(args: Sequence[Typed]) -> Typed:
    (a,) = args
    if a.family == "date":
        return replace(a, written=None)
    if a.family != "timestamp":
        message = f"Only a time can be turned into a date, not {a.described}; a date is written DATE '2021-12-31'."
        raise QueryError(message)
    ends = a.ends
    days = whole_between(int(ends.low) // _SECONDS_A_DAY, int(ends.high) // _SECONDS_A_DAY)
    return Typed(family="date", label=f"the date of {a.label}", interval=days, nullable=a.nullable)


def _part(name: str, part: Callable[[dt.datetime], int], least: int, most: int, *, of: str = "") -> Rule:
    """The rule of a part of a date; its bounds are tight where all dates share what stands before it."""

    def rule(args: Sequence[Typed]) -> Typed:
        (a,) = args
        if a.family not in ("date", "timestamp") or (name == "HOUR" and a.family == "date"):
            message = f"{name} is for {'times' if name == 'HOUR' else 'dates and times'}, not for {a.described}."
            raise QueryError(message)
        unit = _SECONDS_A_DAY if a.family == "date" else 1
        first, last = (_MIDNIGHT + dt.timedelta(seconds=int(end) * unit) for end in (a.ends.low, a.ends.high))
        shared = first.strftime(of) == last.strftime(of)
        interval = whole_between(part(first), part(last)) if shared else whole_between(least, most)
        return Typed(family="number", label=f"{name} of {a.label}", interval=interval, nullable=a.nullable)

    return rule


OPERATIONS: Final[dict[str, Operation]] = {
    "+": Operation(2, 2, ARITHMETIC["+"], "a sum; a date and whole days give a date"),
    "-": Operation(2, 2, ARITHMETIC["-"], "a difference; two dates give whole days, a date and whole days a date"),
    "*": Operation(2, 2, ARITHMETIC["*"], "a product"),
    "/": Operation(2, 2, ARITHMETIC["/"], "a quotient of reals, also of whole numbers; null where the divisor is zero"),
    "%": Operation(2, 2, ARITHMETIC["%"], "the remainder by a positive whole literal, with the sign of the dividend"),
    "neg": Operation(1, 1, ARITHMETIC["neg"], "minus x"),
    "abs": Operation(1, 1, ARITHMETIC["abs"], "the magnitude of x"),
    "floor": Operation(1, 1, ARITHMETIC["floor"], "the greatest whole number that is not above x"),
    "ceil": Operation(1, 1, ARITHMETIC["ceil"], "the least whole number that is not below x"),
    "least": Operation(2, None, COMPARISON["least"], "the least of several; null if one of them is"),
    "greatest": Operation(2, None, COMPARISON["greatest"], "the greatest of several; null if one of them is"),
    "clip": Operation(3, 3, COMPARISON["clip"], "x moved to the nearer of two bounds if it lies outside"),
    "integer": Operation(1, 1, ARITHMETIC["integer"], "1 for true and 0 for false; a whole number stays as it is"),
    "real": Operation(1, 1, ARITHMETIC["real"], "a number as a double"),
    "=": Operation(2, 2, COMPARISON["="], "equal"),
    "<>": Operation(2, 2, COMPARISON["<>"], "not equal"),
    "<": Operation(2, 2, COMPARISON["<"], "less"),
    "<=": Operation(2, 2, COMPARISON["<="], "less or equal"),
    ">": Operation(2, 2, COMPARISON[">"], "greater"),
    ">=": Operation(2, 2, COMPARISON[">="], "greater or equal"),
    "between": Operation(3, 3, COMPARISON["between"], "x is at least the second and at most the third"),
    "in": Operation(2, None, COMPARISON["in"], "x is one of the literals that follow"),
    "and": Operation(2, None, COMPARISON["and"], "all are true"),
    "or": Operation(2, None, COMPARISON["or"], "one is true"),
    "not": Operation(1, 1, COMPARISON["not"], "true where x is false; null stays null"),
    "is_null": Operation(1, 1, COMPARISON["is_null"], "x has no value; never null itself"),
    "coalesce": Operation(2, None, COMPARISON["coalesce"], "the first that has a value"),
    "case": Operation(3, None, COMPARISON["case"], "condition, result, condition, result, …, other: as CASE WHEN"),
    "bucket": Operation(3, None, COMPARISON["bucket"], "x and edges: which interval x lies in, as bucket_labels says"),
    "date": Operation(1, 1, _date, "the day of a time, in UTC"),
    "year": Operation(1, 1, _part("YEAR", lambda d: d.year, 1, 9999), "the year of a date or time"),
    "quarter": Operation(1, 1, _part("QUARTER", lambda d: (d.month + 2) // 3, 1, 4, of="%Y"), "1 to 4"),
    "month": Operation(1, 1, _part("MONTH", lambda d: d.month, 1, 12, of="%Y"), "1 to 12"),
    "day": Operation(1, 1, _part("DAY", lambda d: d.day, 1, 31, of="%Y-%m"), "the day of the month, 1 to 31"),
    "isodow": Operation(1, 1, _part("ISODOW", lambda d: d.isoweekday(), 1, 7, of="%Y-%m-%d"), "Monday 1 to Sunday 7"),
    "hour": Operation(1, 1, _part("HOUR", lambda d: d.hour, 0, 23, of="%Y-%m-%d"), "the hour in UTC, 0 to 23"),
}
"""Every operation by its name."""
