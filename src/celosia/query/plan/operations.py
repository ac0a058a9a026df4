"""The operations that a query may use, each with its meaning and its typing rule.

Every operation is total: on clean values inside their bounds it returns a value or null, the same in every engine, and
never raises, because an error would reveal something about a row. Null means "no value" and passes through every
operation except ``is_null``, ``coalesce``, ``case``, ``and`` and ``or``, which treat it as SQL does. Arithmetic is on
64-bit integers or, if one operand is a real, on IEEE doubles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.query.plan.arithmetic import ARITHMETIC, Rule
from celosia.query.plan.calendar_rules import CALENDAR
from celosia.query.plan.comparison import COMPARISON
from celosia.query.plan.text_rules import TEXT_RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.query.plan.types import ValueType


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: fewest and most arguments (None: no limit), typing rule, meaning."""

    least: int
    most: int | None
    rule: Rule
    meaning: str


def _round(args: Sequence[ValueType]) -> ValueType:
    raise QueryError("query.round_inside_rows", found=args[0].description)


OPERATIONS: Final[dict[str, Operation]] = {
    "+": Operation(2, 2, ARITHMETIC["+"], "a sum; a date or time and whole days give another"),
    "-": Operation(
        2, 2, ARITHMETIC["-"], "a difference; two dates give whole days, a date or time and whole days another"
    ),
    "*": Operation(2, 2, ARITHMETIC["*"], "a product"),
    "/": Operation(2, 2, ARITHMETIC["/"], "a quotient of reals, also of integers; null where the divisor is zero"),
    "%": Operation(2, 2, ARITHMETIC["%"], "the remainder by a positive whole literal, with the sign of the dividend"),
    "neg": Operation(1, 1, ARITHMETIC["neg"], "minus x"),
    "abs": Operation(1, 1, ARITHMETIC["abs"], "the magnitude of x"),
    "floor": Operation(1, 1, ARITHMETIC["floor"], "the greatest integer that is not above x"),
    "ceil": Operation(1, 1, ARITHMETIC["ceil"], "the least integer that is not below x"),
    "least": Operation(2, None, COMPARISON["least"], "the least of several; null if one of them is"),
    "greatest": Operation(2, None, COMPARISON["greatest"], "the greatest of several; null if one of them is"),
    "clip": Operation(3, 3, COMPARISON["clip"], "x moved to the nearer of two bounds if it lies outside"),
    "integer": Operation(1, 1, ARITHMETIC["integer"], "1 for true and 0 for false; an integer stays as it is"),
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
    "bucket": Operation(3, None, COMPARISON["bucket"], "x and edges: the interval of x, by bucket_labels"),
    "round": Operation(1, 2, _round, "of an answer: x to some decimals, halves away from zero"),
    "date": Operation(1, 1, CALENDAR["date"], "the day of a time, in UTC"),
    "year": Operation(1, 1, CALENDAR["year"], "the year of a date or time"),
    "quarter": Operation(1, 1, CALENDAR["quarter"], "1 to 4"),
    "month": Operation(1, 1, CALENDAR["month"], "1 to 12"),
    "day": Operation(1, 1, CALENDAR["day"], "the day of the month, 1 to 31"),
    "isodow": Operation(1, 1, CALENDAR["isodow"], "Monday 1 to Sunday 7"),
    "hour": Operation(1, 1, CALENDAR["hour"], "the hour in UTC, 0 to 23"),
    "date_trunc": Operation(2, 2, CALENDAR["date_trunc"], "the beginning of the year, quarter, month, week, day, hour"),
    "add_months": Operation(2, 2, CALENDAR["add_months"], "some months later, or the last day of a shorter month"),
    "add_seconds": Operation(2, 2, CALENDAR["add_seconds"], "a time some seconds later"),
    "upper": Operation(1, 1, TEXT_RULES["upper"], "a text in capitals, by the list of plan.text_functions"),
    "lower": Operation(1, 1, TEXT_RULES["lower"], "a text in small letters, by the same list"),
    "length": Operation(1, 1, TEXT_RULES["length"], "the number of code points of a text"),
    "trim": Operation(1, 2, TEXT_RULES["trim"], "a text without blanks, or other characters, at both ends"),
    "ltrim": Operation(1, 2, TEXT_RULES["ltrim"], "the same at the beginning"),
    "rtrim": Operation(1, 2, TEXT_RULES["rtrim"], "the same at the end"),
    "substring": Operation(2, 3, TEXT_RULES["substring"], "a text from a position, from 1, of a given length"),
    "right": Operation(2, 2, TEXT_RULES["right"], "the last code points of a text"),
    "replace": Operation(3, 3, TEXT_RULES["replace"], "a text with another one in the place of each occurrence"),
    "like": Operation(2, 3, TEXT_RULES["like"], "a text matches a pattern with % and _, with an optional escape"),
}
"""Every operation by its name."""
