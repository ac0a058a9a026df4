"""Parts of dates, truncation and months later on columns of an answer, with NumPy's own calendar."""

from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.core.errors import QueryError
from celosia.query.plan.calendar_rules import UNITS
from celosia.query.postprocessing.vectors import Vector

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from celosia.query.plan.types import Scalar

    _Days = NDArray[np.int64]

_SECONDS_A_DAY = 86_400
_EARLIEST, _LATEST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, in days since 1970
_MAX_SHIFT = 10**12  # months or seconds, more than the calendar has


def _months(days: "_Days") -> "_Days":
    """Months since January 1970."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _first_of_month(months: "_Days") -> "_Days":
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


_PARTS: "Final[dict[str, Callable[[_Days], _Days]]]" = {
    "year": lambda days: _months(days) // 12 + 1970,
    "quarter": lambda days: _months(days) % 12 // 3 + 1,
    "month": lambda days: _months(days) % 12 + 1,
    "day": lambda days: days - _first_of_month(_months(days)) + 1,
    "isodow": lambda days: (days + 3) % 7 + 1,  # the first day was a Thursday
}
CALENDAR_FUNCTIONS: Final = frozenset({*_PARTS, "date", "hour", "date_trunc", "add_months", "add_seconds"})
"""The operations on dates and times."""


def apply_calendar(name: str, moment: Vector, given: "Sequence[Scalar]") -> Vector:
    """Return an operation on each date or time; what would leave the calendar is null."""
    time = moment.family == "timestamp"
    if not time and (name in ("hour", "add_seconds") or (name == "date_trunc" and given[0] == "hour")):
        raise QueryError("query.answer_dates_without_hours", name=name.upper(), found=moment.description)
    items = moment.items.astype(np.int64)
    days, seconds = np.divmod(items, _SECONDS_A_DAY) if time else (items, np.zeros_like(items))
    if name == "hour":
        return Vector("number", seconds // 3600, moment.null)
    if name == "date":
        return Vector("date", days, moment.null)
    if name in _PARTS:
        return Vector("number", _PARTS[name](days), moment.null)
    if name == "date_trunc":
        return _truncate(moment, days, seconds, given[0])
    number = given[0]
    if type(number) is not int or abs(number) > _MAX_SHIFT:
        raise QueryError("query.answer_shift_not_literal", name=name.upper())
    if name == "add_months":
        return _combine(moment, _months_later(days, number), seconds)
    return _combine(moment, days, seconds + number)


def _truncate(moment: Vector, days: "_Days", seconds: "_Days", unit: "Scalar") -> Vector:
    if unit not in UNITS:
        raise QueryError("query.unknown_answer_trunc_unit", known=", ".join(UNITS))
    if unit == "hour":
        return _combine(moment, days, seconds - seconds % 3600)
    if unit == "week":
        days = days - (days + 3) % 7
    elif unit != "day":
        months = _months(days)
        days = _first_of_month(months - months % {"month": 1, "quarter": 3, "year": 12}[str(unit)])
    return _combine(moment, days, np.zeros_like(seconds))


def _months_later(days: "_Days", number: int) -> "_Days":
    months: _Days = np.clip(_months(days) + number, -200_000, 200_000)
    same = _first_of_month(months) + days - _first_of_month(_months(days))
    found: _Days = np.minimum(same, _first_of_month(months + 1) - 1)
    return found


def _combine(moment: Vector, days: "_Days", seconds: "_Days") -> Vector:
    time = moment.family == "timestamp"
    items = days * _SECONDS_A_DAY + seconds if time else days
    day = items // _SECONDS_A_DAY if time else items
    beyond = (day < _EARLIEST) | (day > _LATEST)
    return Vector(moment.family, np.where(beyond, 0, items), moment.null | beyond)
