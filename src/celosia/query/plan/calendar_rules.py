"""Typing rules of dates and times: parts of them, the beginning of a month or week, months and seconds added.

All of them are monotone, so that the bounds of a result are the results for the bounds. A month is added by its number
in the calendar; a day that the new month lacks becomes its last: 2021-01-31 plus one month is 2021-02-28.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.query.plan.intervals import whole_between
from celosia.query.plan.types import Typed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from celosia.query.plan.arithmetic import Rule

UNITS: Final = ("year", "quarter", "month", "week", "day", "hour")
"""What DATE_TRUNC goes back to the beginning of; weeks begin on Monday, and hours are for times only."""

_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SECONDS_A_DAY = 86_400
_MOST_MONTHS = 12 * 9999
_MOST_SECONDS = _SECONDS_A_DAY * 3_700_000


def begin(moment: dt.datetime, unit: str) -> dt.datetime:
    """Return the beginning of the year, quarter, month, week, day or hour that a time lies in."""
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
    """Return a time some months later; the last day of a month that is shorter; None outside the years 1 to 9999."""
    year, month = divmod(12 * moment.year + moment.month - 1 + months, 12)
    if not 1 <= year <= dt.MAXYEAR:
        return None
    following = dt.date(year + (month == 11), (month + 1) % 12 + 1, 1) if (year, month) != (dt.MAXYEAR, 11) else None
    last = 31 if following is None else (following - dt.timedelta(days=1)).day
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def _date(args: Sequence[Typed]) -> Typed:
    (a,) = args
    if a.family == "date":
        return replace(a, written=None)
    if a.family != "timestamp":
        raise QueryError(
            f"Only a time can be turned into a date, not {a.described}; a date is written DATE '2021-12-31'."
        )
    ends = a.ends
    days = whole_between(int(ends.low) // _SECONDS_A_DAY, int(ends.high) // _SECONDS_A_DAY)
    return Typed(family="date", label=f"the date of {a.label}", interval=days, nullable=a.nullable)


def _part(name: str, part: Callable[[dt.datetime], int], least: int, most: int, *, of: str = "") -> Rule:
    """The rule of a part of a date; its bounds are tight where all dates share what stands before it."""

    def rule(args: Sequence[Typed]) -> Typed:
        (a,) = args
        if a.family not in ("date", "timestamp") or (name == "HOUR" and a.family == "date"):
            raise QueryError(
                f"{name} is for {'times' if name == 'HOUR' else 'dates and times'}, not for {a.described}."
            )
        first, last = _ends(a)
        shared = first.strftime(of) == last.strftime(of)
        interval = whole_between(part(first), part(last)) if shared else whole_between(least, most)
        return Typed(family="number", label=f"{name} of {a.label}", interval=interval, nullable=a.nullable)

    return rule


def _truncate(args: Sequence[Typed]) -> Typed:
    a, unit = args
    _check_moment("DATE_TRUNC", a)
    known = UNITS if a.family == "timestamp" else UNITS[:-1]
    if unit.written not in known:
        raise QueryError(f"DATE_TRUNC of {a.described} takes {', '.join(known)} in quotes, not {unit.label}.")
    return _moved(a, [begin(end, str(unit.written)) for end in _ends(a)], f"DATE_TRUNC of {a.label}")


def _add_months(args: Sequence[Typed]) -> Typed:
    a, months = args
    _check_moment("INTERVAL", a)
    number = _whole("ADD_MONTHS", months, _MOST_MONTHS)
    return _moved(a, [add_months(end, number) for end in _ends(a)], a.label)


def _add_seconds(args: Sequence[Typed]) -> Typed:
    a, seconds = args
    number = _whole("ADD_SECONDS", seconds, _MOST_SECONDS)
    if a.family != "timestamp":
        raise QueryError(f"Hours, minutes and seconds can be added to times only, not to {a.described}.")
    return _moved(a, [_later(end, number) for end in _ends(a)], a.label)


def _later(end: dt.datetime, seconds: int) -> dt.datetime | None:
    try:
        return end + dt.timedelta(seconds=seconds)
    except OverflowError:
        return None


def _whole(name: str, a: Typed, most: int) -> int:
    if type(a.written) is not int or abs(a.written) > most:
        raise QueryError(f"{name}(x, number) takes an integer that is written out, at most {most:,}, not {a.label}.")
    return a.written


def _check_moment(name: str, a: Typed) -> None:
    if a.family not in ("date", "timestamp"):
        raise QueryError(f"{name} is for dates and times, not for {a.described}; a date is written DATE '2021-12-31'.")


def _ends(a: Typed) -> list[dt.datetime]:
    unit = _SECONDS_A_DAY if a.family == "date" else 1
    return [_MIDNIGHT + dt.timedelta(seconds=int(end) * unit) for end in (a.ends.low, a.ends.high)]


def _moved(a: Typed, ends: Sequence[dt.datetime | None], label: str) -> Typed:
    found = [end for end in ends if end is not None]
    if len(found) < len(ends):
        raise QueryError("A date of the query could fall outside the years 1 to 9999: add or subtract less.")
    unit = dt.timedelta(days=1) if a.family == "date" else dt.timedelta(seconds=1)
    interval = whole_between(*((end - _MIDNIGHT) // unit for end in found))
    return Typed(family=a.family, label=label, interval=interval, nullable=a.nullable)


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
"""The rules by the names of the operations."""
