"""Releases come back from strict JSON as they were; intervals of other levels hold; what is none is refused."""

from __future__ import annotations

import copy
import datetime as dt
import functools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import CelosiaError, FormatError, NoIntervalError, ParameterError
from celosia.core.events import Event, LaplaceEvent
from celosia.core.guarantees import Guarantee
from celosia.core.messages.message import Message
from celosia.core.strict_json import read_json
from celosia.noise import Seeded
from celosia.query.release import TableRelease
from celosia.query.serial.records import record_from_json, record_to_json
from celosia.query.serial.release import (
    LEVELS,
    release_from_json,
    release_to_json,
)
from tests.query.samples import Pretending, asking, persons_table
from tests.query.serial.test_plan import paths, plans, put, tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.query.plan.nodes import Plan

EVENT = LaplaceEvent(scale=10, sensitivity=1)
GUARANTEE = cl.PureDP(epsilon="0.1")


def sent(release: TableRelease) -> TableRelease:
    return release_from_json(read_json(json.dumps(release_to_json(release), allow_nan=False)))


@functools.cache
def asked() -> TableRelease:
    """An answer with a column of every type that a query can give."""
    schema = cl.Schema(
        sex=cl.Category("F", "M"),
        age=cl.Integer(0, 120),
        weight=cl.Real(0, 300, grid="0.1"),
        alive=cl.Boolean(),
        born=cl.Date("2020-01-01", "2020-12-31"),
        seen=cl.Timestamp("2020-01-01", "2021-01-01"),
    )
    rows = {
        "sex": ["F", "M", "F"],
        "age": [3, 40, 80],
        "weight": [15.0, 60.5, 70.0],
        "alive": [True, False, True],
        "born": [dt.date(2020, 2, 29)] * 3,
        "seen": [dt.datetime(2020, 7, 1, 12, tzinfo=dt.UTC)] * 3,
    }
    table = cl.table(pa.table(rows), schema=schema, name="t")
    with cl.Session(table, budget=cl.ApproxDP(epsilon=99, delta="1e-6"), source=Seeded(3)) as session:
        query = session.query().group_by("sex", "alive").count().sum("weight").mean("age").variance("age")
        query = query.correlation("age", "weight").median("age").median("born").min("seen").mode("sex").top_k("sex", 2)
        return query.order_by("count").limit(3).release(epsilon=50)


@functools.cache
def made_up() -> TableRelease:
    """What a query seldom gives: nulls, NaN, infinities, lists of every type, and no rows of some."""
    columns = {
        "null": pa.nulls(2),
        "bool": pa.array([True, None]),
        "int64": pa.array([2**63 - 1, -(2**63)]),
        "double": pa.array([math.nan, -math.inf]),
        "string": pa.array(["é\u2028<script>", None]),
        "date": pa.array([dt.date(1, 1, 1), None]),
        "timestamp": pa.array([dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC), None]),
        "lists": pa.array([["a", None], None]),
        "numbers": pa.array([[0.5, math.inf], []]),
        "days": pa.array([[dt.date(2020, 1, 1)], []]),
    }
    ends = (np.array([-math.inf, 0.1]), np.array([math.inf, 0.30000000000000004]))
    return TableRelease(
        value=pa.table(columns),
        event=EVENT,
        guarantee=GUARANTEE,
        keys=("string",),
        notes=(Message("One measurement."),),
        intervals={
            "double": lambda level: (ends[0] - level, ends[1] + level),
            "int64": lambda _: (ends_of(1), ends_of(2)),
        },
    )


def ends_of(value: int) -> Any:
    return np.array([value, -value], dtype=np.int64)


def check_equal(one: TableRelease, two: TableRelease) -> None:
    assert one.value.schema == two.value.schema
    for name in one.value.column_names:  # NaN is not equal to itself
        assert repr(one.value[name].to_pylist()) == repr(two.value[name].to_pylist())
    assert (one.event, one.guarantee, one.seeded) == (two.event, two.guarantee, two.seeded)
    assert (one.keys, one.notes, list(one.intervals)) == (two.keys, two.notes, list(two.intervals))
    assert repr(one) == repr(two)
    for level in LEVELS:
        for name, interval in one.intervals.items():
            for mine, other in zip(interval(level), two.intervals[name](level), strict=True):
                assert np.array_equal(np.asarray(mine), other, equal_nan=mine.dtype != object)
                assert np.asarray(mine).dtype == other.dtype


@pytest.mark.parametrize("make", [asked, made_up])
def test_releases_come_back_as_they_were(make: Callable[[], TableRelease]) -> None:
    check_equal(make(), sent(make()))
    check_equal(make(), sent(sent(make())))


@pytest.mark.parametrize("budget", [cl.PureDP(epsilon=9), cl.ApproxDP(epsilon=9, delta="1e-6"), cl.ZCDP(rho=9)])
@pytest.mark.parametrize("keys", [("sex",), ("town",), ()])
def test_answers_of_all_kinds_come_back(budget: cl.Guarantee, keys: tuple[str, ...]) -> None:
    if keys == ("town",) and not isinstance(budget, cl.ApproxDP):
        return  # private keys cost a delta
    session = asking(
        persons_table(),
        budget=budget,
        engine=Pretending(keys={("A",): 400, ("B",): 0}) if keys == ("town",) else Pretending(),
    )
    query = session.query().group_by(*keys) if keys else session.query()
    query = query.count().mean("age").std("weight").count_persons()
    target: Any = {"rho": 1} if isinstance(budget, cl.ZCDP) else {"epsilon": 2}
    release = query.release(**target)
    check_equal(release, sent(release))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans(private=False), seed=st.integers(0, 99))
def test_the_answer_to_any_question_comes_back(plan: Plan, seed: int) -> None:
    session = cl.Session(list(tables().values()), budget=cl.PureDP(epsilon=1), source=Seeded(seed), engine=Pretending())
    try:
        release = session.release(plan, epsilon=1)
    except CelosiaError:
        return
    check_equal(release, sent(release))


def test_a_release_that_was_read_back_does_all_that_a_release_does() -> None:
    again = sent(asked())
    assert again.to_arrow(0.9).equals(asked().to_arrow(0.9))
    assert again.confidence_interval(0.95) == asked().confidence_interval(0.95)
    assert again.to_pandas().shape == (3, 12)
    assert again.to_polars(0.5).shape[0] == 3
    assert again.plot("count").to_dict()["layer"]
    assert again._repr_html_() == asked()._repr_html_()
    with asking() as session:
        one = session.query().count().release(epsilon=1)
        assert sent(one).item() == one.item()
        chosen = sent(session.query().mode("risk").release(epsilon=1))
    with pytest.raises(NoIntervalError):
        chosen.confidence_interval()


@given(level=st.floats(0.001, 0.999))
def test_a_level_between_two_is_answered_by_the_next_higher(level: float) -> None:
    again = sent(made_up())
    low, high = again.intervals["double"](level)
    next_level = min(known for known in LEVELS if known >= level)
    assert np.array_equal(low, made_up().intervals["double"](next_level)[0])
    exact_low, exact_high = made_up().intervals["double"](level)
    assert (low <= exact_low).all()
    assert (high >= exact_high).all()


@pytest.mark.parametrize("level", [0.9991, 0.99999])
def test_beyond_the_highest_level_there_is_nothing(level: float) -> None:
    again = sent(asked())
    for look in (again.confidence_interval, again.to_arrow, lambda level: again.plot(level=level)):
        with pytest.raises(ParameterError, match=r"at most 0\.999"):
            look(level)
    for wrong in (0, 1, -1, math.nan):
        with pytest.raises(ParameterError):
            again.confidence_interval(wrong)


def test_a_column_of_another_type_is_not_written() -> None:
    odd = TableRelease(value=pa.table({"x": pa.array([b"raw"])}), event=EVENT, guarantee=GUARANTEE)
    with pytest.raises(FormatError, match="no JSON form"):
        release_to_json(odd)


# ------------------------------------------------------------------------------------------------------------ refusals


def test_records_are_read_as_what_they_should_be() -> None:
    assert record_from_json(Event, record_to_json(EVENT)) == EVENT
    assert record_from_json(Guarantee, record_to_json(GUARANTEE)) == GUARANTEE  # type: ignore[type-abstract]
    odd: list[object] = [{}, None, [], "x", {"kind": "LaplaceEvent"}, {"a": math.nan}, {"a": object()}]
    for wrong in [record_to_json(GUARANTEE), *odd]:
        with pytest.raises(FormatError):
            record_from_json(Event, wrong)


SMALL = TableRelease(
    value=pa.table({"sex": ["F", "M"], "count": [3, 4], "share": [0.5, None]}),
    event=EVENT,
    guarantee=GUARANTEE,
    keys=("sex",),
    notes=(Message("query.values_clipped", columns="age"),),
    intervals={"count": lambda level: (np.array([1, 2]), np.array([5.5, 6]))},  # noqa: ARG005 - the same at all
)
WRITTEN = release_to_json(SMALL)
WRONG: list[Any] = [
    None, True, 0, -1, 2**70, 0.5, math.nan, "", "1/2", "\ud800", [], {}, [[]], [None], [1, 2, 3],
    b"bytes", object(), {1: 2},
]  # fmt: skip


def test_no_field_can_be_replaced_by_something_that_does_harm() -> None:
    for path in paths(WRITTEN):
        for wrong in WRONG:
            try:
                release = release_from_json(put(WRITTEN, path, wrong))
            except CelosiaError:
                continue
            else:  # another note, another number: still a release that can be written
                check_equal(release, sent(release))


def test_what_is_no_release_is_refused() -> None:
    cases: list[tuple[tuple[Any, ...], Any]] = [
        (("version",), 1),
        (("columns",), []),
        (("columns", 0, "name"), "count"),
        (("columns", 0, "values"), ["F"]),
        (("columns", 1, "values"), [3, 4.0]),
        (("columns", 1, "values"), [3, True]),
        (("columns", 1, "values"), [3, 2**63]),
        (("columns", 1, "type"), "int32"),
        (("columns", 0, "type"), "date"),
        (("columns", 0, "type"), "timestamp"),
        (("columns", 0, "type"), "list<string>"),
        (("columns", 0, "values"), ["F", "\ud800"]),
        (("keys",), ["nothing"]),
        (("intervals", 0, "column"), "nothing"),
        (("intervals", 0, "levels"), []),
        (("intervals", 0, "levels", 0, "level"), 0.9),
        (("intervals", 0, "levels", 0, "level"), 0),
        (("intervals", 0, "levels", 5, "level"), 1),
        (("intervals", 0, "levels", 0, "low"), [1]),
        (("intervals", 0, "levels", 0, "low"), [1, "x"]),
        (("intervals", 0, "type"), "int64"),
        (("intervals",), [WRITTEN["intervals"][0]] * 2),
        (("seeded",), 0),
        (("guarantee",), record_to_json(EVENT)),
        (("event", "scale"), 10),
        (("event", "scale"), "-1"),
    ]
    for path, new in cases:
        with pytest.raises(FormatError):
            release_from_json(put(WRITTEN, path, new))


def test_a_field_more_or_less_is_refused() -> None:
    for path in paths(WRITTEN):
        place = functools.reduce(lambda at, step: at[step], path, WRITTEN)
        if isinstance(place, dict):
            with pytest.raises(FormatError):
                release_from_json(put(WRITTEN, path, {**place, "surprise": 1}))
            for name in place:
                fewer = copy.deepcopy(place)
                del fewer[name]
                with pytest.raises(FormatError):
                    release_from_json(put(WRITTEN, path, fewer))
