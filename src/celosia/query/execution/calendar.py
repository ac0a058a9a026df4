"""Years, months and days of a day number, by integer arithmetic alone.

Engines disagree about time zones and about calendars before 1582; days since 1970 in the proleptic Gregorian calendar
are the same everywhere. Counting from March makes the leap day the last of its year, its century and its four
centuries, so each division gives one part (Neri and Schneider 2022). Days lie in the years 1 to 9999, so nothing is
negative once it is counted from the year 0.
"""

from typing import TYPE_CHECKING, Final

from celosia.query.execution.dialect import floor_divide, integer_literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from ibis.expr import types as ir

SECONDS_PER_DAY: Final = 86_400
"""Without leap seconds, as in Unix time."""

_SINCE_MARCH_0 = 719_468  # days from 0000-03-01 to 1970-01-01
_MONDAY = 719_470  # days from a Monday before the year 1 to 1970-01-01
_FOUR_CENTURIES, _FOUR_YEARS = 146_097, 1_461
_JANUARY = 306  # days from March to the end of the year


def _quarter_days(days: "ir.Value") -> "ir.Value":
    """Return four times the days since March of the year 0, plus three: the dividend for four centuries."""
    return (days + integer_literal(_SINCE_MARCH_0)) * integer_literal(4) + integer_literal(3)


def _in_century(days: "ir.Value") -> "ir.Value":
    """Return the same within the century: the dividend for four years."""
    return floor_divide(_quarter_days(days) % integer_literal(_FOUR_CENTURIES), 4) * integer_literal(
        4
    ) + integer_literal(3)


def _day_of_year(days: "ir.Value") -> "ir.Value":
    """Return the day of the year that begins in March, from 0."""
    return floor_divide(_in_century(days) % integer_literal(_FOUR_YEARS), 4)


def _month_from_march(days: "ir.Value") -> "ir.Value":
    return floor_divide(_day_of_year(days) * integer_literal(5) + integer_literal(2), 153)


def _year(days: "ir.Value") -> "ir.Value":
    import ibis

    century = floor_divide(_quarter_days(days), _FOUR_CENTURIES)
    year = century * integer_literal(100) + floor_divide(_in_century(days), _FOUR_YEARS)
    return year + ibis.cases(
        (_day_of_year(days) >= integer_literal(_JANUARY), integer_literal(1)), else_=integer_literal(0)
    )


def _month(days: "ir.Value") -> "ir.Value":
    return (_month_from_march(days) + integer_literal(2)) % integer_literal(12) + integer_literal(1)


def _quarter(days: "ir.Value") -> "ir.Value":
    return floor_divide(_month(days) + integer_literal(2), 3)


def _day(days: "ir.Value") -> "ir.Value":
    first = floor_divide(_month_from_march(days) * integer_literal(153) + integer_literal(2), 5)
    return _day_of_year(days) - first + integer_literal(1)


def _weekday(days: "ir.Value") -> "ir.Value":
    """Return Monday as 1 to Sunday as 7."""
    return (days + integer_literal(_MONDAY)) % integer_literal(7) + integer_literal(1)


PARTS: "Final[dict[str, Callable[[ir.Value], ir.Value]]]" = {
    "year": _year,
    "quarter": _quarter,
    "month": _month,
    "day": _day,
    "isodow": _weekday,
}
"""The parts of a day number."""
