"""Parses numbers, dates and times of SQL.

They are read exactly: a date that does not exist, a number beyond the doubles or a time with a zone raises.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.query.plan.expressions import Literal
from celosia.query.sql.syntax import check_parts

if TYPE_CHECKING:
    from sqlglot import exp

_DECIMAL = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,5})?", re.ASCII)
_MAX_NUMBER_LENGTH = 400
_UNITS: Final = {
    "YEAR": ("months", 12),
    "QUARTER": ("months", 3),
    "MONTH": ("months", 1),
    "WEEK": ("days", 7),
    "DAY": ("days", 1),
    "HOUR": ("seconds", 3600),
    "MINUTE": ("seconds", 60),
    "SECOND": ("seconds", 1),
}


def number_literal(text: str) -> Literal:
    """Return the integer or double of a text."""
    digits = text.removeprefix("-")
    number = _DECIMAL.fullmatch(digits) if len(digits) <= _MAX_NUMBER_LENGTH else None
    if number is not None and digits.isdigit():
        return Literal(int(text))
    vanished = number is not None and float(text) == 0 and number[1].strip("0.")  # 1e-400 is not zero
    if number is None or vanished:
        raise QueryError("query.number_written_wrong", found=safe_repr(text))
    return Literal(float(text))


def interval_literal(interval: exp.Expr) -> tuple[str, Literal]:
    """Return the unit (days, months or seconds) and the integer amount of an INTERVAL."""
    check_parts(interval, "this", "unit")
    amount, unit = ("" if one is None else str(one.name) for one in map(interval.args.get, ("this", "unit")))
    found = _UNITS.get(unit.upper().removesuffix("S"))
    if found is None or not re.fullmatch(r"-?\d{1,12}", amount, re.ASCII):
        raise QueryError("query.interval_written_wrong")
    return found[0], Literal(int(amount) * found[1])


def date_literal(text: str) -> Literal:
    """Return the date of a text."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        try:
            return Literal(dt.date.fromisoformat(text))
        except ValueError:
            pass
    raise QueryError("query.date_written_wrong", found=safe_repr(text))


def time_literal(text: str) -> Literal:
    """Return the time in UTC of a text."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2})?)?", text, re.ASCII):
        try:
            return Literal(dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC))
        except ValueError:
            pass
    raise QueryError("query.time_written_wrong", found=safe_repr(text))
