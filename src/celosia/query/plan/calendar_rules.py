"""Typing rules of dates and times: parts, truncation, and added months and seconds.

All of them are monotone, so the bounds of a result are the results for the bounds. A month is added by its number in
the calendar; a day that the new month lacks becomes its last: 2021-01-31 plus one month is 2021-02-28.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.query.plan.intervals import integers_between
from celosia.query.plan.types import Derivation, ValueType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from celosia.query.plan.arithmetic import Rule

UNITS: Final = ("year", "quarter", "month", "week", "day", "hour")
"""The units of DATE_TRUNC; weeks begin on Monday, and hours are for times only."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SECONDS_A_DAY = 86_400
_MAX_MONTHS = 12 * 9999
_MAX_SECONDS = _SECONDS_A_DAY * 3_700_000


def truncate_time(moment: dt.datetime, unit: str) -> dt.datetime:
    """Return the start of the year, quarter, month, week, day or hour of a time."""
    hour = moment.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    match unit:
        case "hour":
            return hour
        case "day":
            return day
        case "week":
            return day - dt.timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
    return day.replace(month=1, day=1)


def add_months(moment: dt.datetime, months: int) -> dt.datetime | None:
    """Return a time some months later, at most the last day of its month; None outside the years 1 to 9999."""
    year, month = divmod(12 * moment.year + moment.month - 1 + months, 12)
    if not 1 <= year <= dt.MAXYEAR:
        return None
    following = dt.date(year + (month == 11), (month + 1) % 12 + 1, 1) if (year, month) != (dt.MAXYEAR, 11) else None
    last = 31 if following is None else (following - dt.timedelta(days=1)).day
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def _date(args: Sequence[ValueType]) -> ValueType:
    (a,) = args
    if a.family == "date":
        return replace(a, literal_value=None)
    if a.family != "timestamp":
        raise QueryError("query.cast_to_date_not_time", found=a.description)
    ends = a.ends
    days = integers_between(int(ends.low) // _SECONDS_A_DAY, int(ends.high) // _SECONDS_A_DAY)
    source = Derivation("query.label_date_of", operand=a.source)
    return ValueType(family="date", source=source, interval=days, nullable=a.nullable)


def _part(name: str, part: Callable[[dt.datetime], int], least: int, most: int, *, of: str = "") -> Rule:
    """Return the rule of a date part; its bounds are tight if all dates share the larger parts."""

    def rule(args: Sequence[ValueType]) -> ValueType:
        (a,) = args
        if a.family not in ("date", "timestamp") or (name == "HOUR" and a.family == "date"):
            code = "query.function_for_times" if name == "HOUR" else "query.function_for_dates"
            raise QueryError(code, function=name, given=a.description)
        first, last = _ends(a)
        shared = first.strftime(of) == last.strftime(of)
        interval = integers_between(part(first), part(last)) if shared else integers_between(least, most)
        source = Derivation("query.label_function_of", name, a.source)
        return ValueType(family="number", source=source, interval=interval, nullable=a.nullable)

    return rule


def _truncate(args: Sequence[ValueType]) -> ValueType:
    a, unit = args
    _check_date_or_time("DATE_TRUNC", a)
    known = UNITS if a.family == "timestamp" else UNITS[:-1]
    if unit.literal_value not in known:
        raise QueryError(
            "query.unknown_date_trunc_unit", operand=a.description, known=", ".join(known), found=unit.label
        )
    source = Derivation("query.label_function_of", "DATE_TRUNC", a.source)
    return _shift(a, [truncate_time(end, str(unit.literal_value)) for end in _ends(a)], source)


def _add_months(args: Sequence[ValueType]) -> ValueType:
    a, months = args
    _check_date_or_time("INTERVAL", a)
    number = _written_integer("ADD_MONTHS", months, _MAX_MONTHS)
    return _shift(a, [add_months(end, number) for end in _ends(a)], a.source)


def _add_seconds(args: Sequence[ValueType]) -> ValueType:
    a, seconds = args
    number = _written_integer("ADD_SECONDS", seconds, _MAX_SECONDS)
    if a.family != "timestamp":
        raise QueryError("query.seconds_added_to_non_time", found=a.description)
    return _shift(a, [_add_seconds_to(end, number) for end in _ends(a)], a.source)


def _add_seconds_to(end: dt.datetime, seconds: int) -> dt.datetime | None:
    try:
        return end + dt.timedelta(seconds=seconds)
    except OverflowError:
        return None


def _written_integer(name: str, a: ValueType, most: int) -> int:
    if type(a.literal_value) is not int or abs(a.literal_value) > most:
        raise QueryError("query.shift_not_integer_literal", name=name, most=most, found=a.label)
    return a.literal_value


def _check_date_or_time(name: str, a: ValueType) -> None:
    if a.family not in ("date", "timestamp"):
        raise QueryError("query.operand_not_a_date", name=name, found=a.description)


def _ends(a: ValueType) -> list[dt.datetime]:
    unit = _SECONDS_A_DAY if a.family == "date" else 1
    return [_EPOCH + dt.timedelta(seconds=int(end) * unit) for end in (a.ends.low, a.ends.high)]


def _shift(a: ValueType, ends: Sequence[dt.datetime | None], source: str | Derivation) -> ValueType:
    found = [end for end in ends if end is not None]
    if len(found) < len(ends):
        raise QueryError("query.interval_leaves_calendar")
    unit = dt.timedelta(days=1) if a.family == "date" else dt.timedelta(seconds=1)
    interval = integers_between(*((end - _EPOCH) // unit for end in found))
    return ValueType(family=a.family, source=source, interval=interval, nullable=a.nullable)


CALENDAR: Final[dict[str, Rule]] = {
    "date": _date,
    "year": _part("YEAR", lambda d: d.year, 1, 9999),
    "quarter": _part("QUARTER", lambda d: (d.month + 2) // 3, 1, 4, of="%Y"),
    "month": _part("MONTH", lambda d: d.month, 1, 12, of="%Y"),
    "day": _part("DAY", lambda d: d.day, 1, 31, of="%Y-%m"),
    "isodow": _part("ISODOW", lambda d: d.isoweekday(), 1, 7, of="%Y-%m-%d"),
    "hour": _part("HOUR", lambda d: d.hour, 0, 23, of="%Y-%m-%d"),
    "date_trunc": _truncate,
    "add_months": _add_months,
    "add_seconds": _add_seconds,
}
"""The rules by operation."""
