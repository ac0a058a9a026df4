"""Dates of an answer are truncated and moved as in a query, and are null beyond the calendar."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.query.plan.calendar_rules import UNITS, add_months, truncate_time
from celosia.query.plan.expressions import Call, Column, Literal
from celosia.query.plan.operations import OPERATIONS
from celosia.query.postprocessing.calendar_vectors import CALENDAR_FUNCTIONS
from celosia.query.postprocessing.evaluate import evaluate

MOMENTS = st.datetimes(timezones=st.just(dt.UTC)).map(lambda moment: moment.replace(microsecond=0))


def applied(name: str, value: dt.date | None, *given_: object) -> object:
    call = Call(name, (Column("x"), *(Literal(one) for one in given_)))  # type: ignore[arg-type] # scalars
    return evaluate(call, {"x": [value, None]}, 2)[0]


def test_all_of_them_are_operations() -> None:
    assert set(OPERATIONS) > CALENDAR_FUNCTIONS


@given(MOMENTS, st.sampled_from(UNITS), st.integers(-200, 200))
def test_they_mean_what_the_rules_mean(moment: dt.datetime, unit: str, number: int) -> None:
    assert applied("date_trunc", moment, unit) == truncate_time(moment, unit)
    assert applied("add_months", moment, number) == add_months(moment, number)
    later = add_months(moment, number)
    assert applied("add_months", moment.date(), number) == (None if later is None else later.date())
    if unit != "hour":
        assert applied("date_trunc", moment.date(), unit) == truncate_time(moment, unit).date()


def test_what_leaves_the_calendar_is_null() -> None:
    last = dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
    assert applied("add_seconds", last, 1) is None
    assert applied("add_months", last, 10**11) is None
    assert applied("add_seconds", last, -59) == last.replace(second=0)


def test_refusals() -> None:
    cases: list[Any] = [
        ("date_trunc", dt.date(2021, 1, 1), "hour"),
        ("date_trunc", dt.date(2021, 1, 1), "fortnight"),
        ("add_seconds", dt.date(2021, 1, 1), 1),
        ("add_months", dt.date(2021, 1, 1), 0.5),
        ("add_months", 7, 1),
    ]
    for name, value, given_ in cases:
        with pytest.raises(QueryError):
            applied(name, value, given_)
