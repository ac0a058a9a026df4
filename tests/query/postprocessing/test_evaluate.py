"""Expressions over answers; DuckDB says what SQL makes of them."""

from __future__ import annotations

import datetime as dt
import math
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Call, Column, Expression, Literal
from celosia.query.plan.nodes import Aggregate, Base, Key, Order, Plan
from celosia.query.plan.operations import OPERATIONS
from celosia.query.plan.text_functions import TEXT_FUNCTIONS
from celosia.query.postprocessing.evaluate import evaluate, rehearse
from celosia.query.postprocessing.vectors import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterator

# ------------------------------------------------------------------------------------------- DuckDB as the oracle

TYPES = {
    "i": pa.int64(),
    "j": pa.int64(),
    "x": pa.float64(),
    "y": pa.float64(),
    "p": pa.bool_(),
    "q": pa.bool_(),
    "s": pa.string(),
    "t": pa.string(),
    "d": pa.date32(),
    "e": pa.date32(),
    "m": pa.timestamp("s"),
    "n": pa.timestamp("s"),
}
SQL_TYPES = {
    "whole": "BIGINT",
    "real": "DOUBLE",
    "truth": "BOOLEAN",
    "text": "VARCHAR",
    "date": "DATE",
    "time": "TIMESTAMP",
}
NAMES = {"whole": "ij", "real": "xy", "truth": "pq", "text": "st", "date": "de", "time": "mn"}

NOON = dt.datetime(2021, 12, 31, 12, tzinfo=dt.UTC)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.integers(-9, 9),
    "real": st.integers(-16, 16).map(lambda number: number / 4),
    "truth": st.booleans(),
    "text": st.sampled_from(["", "a", "B", "ab", "ñ", "it's"]),
    "date": st.dates(dt.date(1900, 1, 1), dt.date(2100, 12, 31)),
    "time": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)).map(  # noqa: DTZ001 - columns without a zone
        lambda moment: moment.replace(microsecond=0)
    ),
}


def sql_literal(value: Any) -> str:
    match value:
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case int():
            return f"CAST({value} AS BIGINT)"
        case float():
            return f"CAST({value!r} AS DOUBLE)"
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case _:
            return f"DATE '{value.isoformat()}'"


Both = tuple[Expression, str]


def leaves(family: str) -> st.SearchStrategy[Both]:
    columns = st.sampled_from(NAMES[family]).map(lambda name: (Column(name), name))
    literals = VALUES[family].map(lambda value: (Literal(value), sql_literal(value)))
    nothing = st.just((Literal(None), f"CAST(NULL AS {SQL_TYPES[family]})"))
    return st.one_of(columns, columns, literals, nothing)


def call(name: str, sql: str, *parts: Both) -> Both:
    """A call and its SQL, in which {0}, {1} … stand for the arguments and {all} for those after the first."""
    texts = [f"({text})" for _, text in parts]
    return Call(name, tuple(made for made, _ in parts)), sql.format(*texts, all=", ".join(texts[1:]))


def strictly(sql: str, many: int) -> str:
    return f"CASE WHEN {' OR '.join(f'{{{i}}} IS NULL' for i in range(many))} THEN NULL ELSE {sql} END"


@st.composite
def expressions(draw: st.DrawFn, family: str, depth: int) -> Both:
    """An expression of a family and how SQL says it."""
    choice = draw(st.integers(0, 5))
    if depth == 0 or choice == 0:
        strategy = leaves(family)
    elif choice == 1 or family == "text":
        strategy = alternatives(family, depth)
    elif family == "truth":
        strategy = conditions(depth)
    elif family in {"date", "time"}:
        strategy = moments(family, depth)
    else:
        strategy = numbers(family, depth)
    return draw(strategy)


@st.composite
def moments(draw: st.DrawFn, family: str, depth: int) -> Both:
    def of(other: str) -> Both:
        return draw(expressions(other, depth - 1))

    dates: list[Any] = [
        lambda: call("+", "{0} + CAST({1} AS INTEGER)", of("date"), of("whole")),
        lambda: call("-", "{0} - CAST({1} AS INTEGER)", of("date"), of("whole")),
        lambda: call("date", "CAST({0} AS DATE)", of("time")),
    ]
    both: list[Any] = [
        lambda: call("least", strictly("least({0}, {1})", 2), of(family), of(family)),
        lambda: call("greatest", strictly("greatest({0}, {1})", 2), of(family), of(family)),
    ]
    made: Both = draw(st.sampled_from([*both, *(dates if family == "date" else [])]))()
    return made


@st.composite
def numbers(draw: st.DrawFn, family: str, depth: int) -> Both:
    def of(other: str) -> Both:
        return draw(expressions(other, depth - 1))

    shared = [
        *(lambda name=name: call(name, f"{{0}} {name} {{1}}", of(family), of(family)) for name in "+-*"),
        lambda: call("%", "{0} % nullif({1}, 0)", of(family), of(family)),
        lambda: call("neg", "-{0}", of(family)),
        lambda: call("abs", "abs({0})", of(family)),
        lambda: call("least", strictly("least({0}, {1}, {2})", 3), of(family), of(family), of(family)),
        lambda: call("clip", strictly("least(greatest({0}, {1}), {2})", 3), of(family), of(family), of(family)),
    ]
    whole = [
        lambda: call("floor", "CAST(floor({0}) AS BIGINT)", of("real")),
        lambda: call("ceil", "CAST(ceil({0}) AS BIGINT)", of("real")),
        lambda: call("integer", "CAST({0} AS BIGINT)", of("truth")),
        lambda: call("-", "{0} - {1}", of("date"), of("date")),
        lambda: call("hour", "hour({0})", of("time")),
        *(
            lambda name=name: call(name, f"{name}({{0}})", of(draw(st.sampled_from(["date", "time"]))))
            for name in ("year", "quarter", "month", "day", "isodow")
        ),
    ]
    real = [
        lambda: call("/", "CAST({0} AS DOUBLE) / nullif(CAST({1} AS DOUBLE), 0)", of("whole"), of("real")),
        lambda: call("/", "CAST({0} AS DOUBLE) / nullif(CAST({1} AS DOUBLE), 0)", of("whole"), of("whole")),
        lambda: call("real", "CAST({0} AS DOUBLE)", of("whole")),
        lambda: call("+", "{0} + {1}", of("whole"), of("real")),
    ]
    made: list[Any] = [*shared, *(whole if family == "whole" else real)]
    both: Both = draw(st.sampled_from(made))()
    return both


@st.composite
def conditions(draw: st.DrawFn, depth: int) -> Both:
    def of(other: str) -> Both:
        return draw(expressions(other, depth - 1))

    ordered = draw(st.sampled_from(["whole", "real", "date", "time", "text"]))
    made: list[Any] = [
        *(
            lambda name=name: call(name, f"{{0}} {name} {{1}}", of(ordered), of(ordered))
            for name in ("=", "<>", "<", "<=", ">", ">=")
        ),
        lambda: call("=", "{0} = {1}", of("truth"), of("truth")),
        lambda: call("<", "{0} < {1}", of("whole"), of("real")),
        lambda: call("between", "{0} BETWEEN {1} AND {2}", of(ordered), of(ordered), of(ordered)),
        lambda: call("in", "{0} IN ({all})", of(ordered), of(ordered), of(ordered), of(ordered)),
        lambda: call("and", "{0} AND {1} AND {2}", of("truth"), of("truth"), of("truth")),
        lambda: call("or", "{0} OR {1} OR {2}", of("truth"), of("truth"), of("truth")),
        lambda: call("not", "NOT {0}", of("truth")),
        lambda: call("is_null", "{0} IS NULL", of(ordered)),
    ]
    both: Both = draw(st.sampled_from(made))()
    return both


@st.composite
def alternatives(draw: st.DrawFn, family: str, depth: int) -> Both:
    def of(other: str) -> Both:
        return draw(expressions(other, depth - 1))

    if draw(st.booleans()):
        return call("coalesce", "coalesce({0}, {1}, {2})", of(family), of(family), of(family))
    sql = "CASE WHEN {0} THEN {1} WHEN {2} THEN {3} ELSE {4} END"
    return call("case", sql, of("truth"), of(family), of("truth"), of(family), of(family))


POOLS: dict[str, list[Any]] = {
    "whole": [None, None, *range(-5, 6)],
    "real": [None, None, *(number / 4 for number in range(-8, 9))],
    "truth": [None, True, False],
    "text": [None, "", "a", "B", "ab", "ñ", "it's"],
    "date": [None, *(dt.date(1900, 1, 31) + dt.timedelta(days=days) for days in range(0, 70_000, 977))],
    "time": [None, *(dt.datetime(1900, 1, 31) + dt.timedelta(seconds=s) for s in range(0, 6 * 10**9, 10**8 + 7))],  # noqa: DTZ001 - columns without a zone
}


def made_table(seed: int, rows: int) -> dict[str, list[Any]]:
    """A table of random answers; one column in four has nothing but nulls."""
    random = Random(seed)
    table = {name: random.choices(POOLS[family], k=rows) for family, names in NAMES.items() for name in names}
    return {name: column if random.random() < 0.75 else [None] * rows for name, column in table.items()}


tables = st.builds(made_table, st.integers(0, 10**9), st.integers(1, 8))


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    yield connection
    connection.close()


def plain(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


@settings(max_examples=100)
@given(tables, st.sampled_from(sorted(NAMES)), st.data())
def test_sql_means_the_same_in_duckdb(
    engine: duckdb.DuckDBPyConnection, table: dict[str, list[Any]], family: str, data: st.DataObject
) -> None:
    expression, sql = data.draw(expressions(family, 3))
    answers = pa.table({name: pa.array(column, TYPES[name]) for name, column in table.items()})
    engine.register("answers", answers)
    expected = engine.execute(f"SELECT {sql} FROM answers").fetchall()
    found = evaluate(expression, table, len(table["i"]))
    assert [plain(value) for value in found] == [row[0] for row in expected]
    if family == "truth":
        assert all(value is None or type(value) is bool for value in found)


WRITTEN: dict[str, list[Literal]] = {  # beside a column
    "substring": [Literal(1)],
    "right": [Literal(1)],
    "replace": [Literal("a"), Literal("b")],
    "like": [Literal("a%")],
    "date_trunc": [Literal("month")],
    "add_months": [Literal(1)],
    "add_seconds": [Literal(1)],
}


def test_every_operation_can_be_used_on_an_answer() -> None:
    samples: dict[str, Any] = {
        "truth": True,
        "date": dt.date(2021, 1, 1),
        "time": dt.datetime(2021, 1, 1, tzinfo=dt.UTC),
    }
    special = {
        "and": "truth",
        "or": "truth",
        "not": "truth",
        "integer": "truth",
        "case": "truth",
        "hour": "time",
        **dict.fromkeys(["date_trunc", "add_months", "add_seconds"], "time"),
        **dict.fromkeys(["date", "year", "quarter", "month", "day", "isodow"], "date"),
    }
    for name, operation in OPERATIONS.items():
        many = operation.least
        numbers = (8, 8, 9)  # the first is in the interval of the others
        arguments = tuple(Literal(samples.get(special.get(name, ""), numbers[place])) for place in range(many))
        if name in TEXT_FUNCTIONS:
            arguments = (Literal("a"), *WRITTEN.get(name, []))
        elif name in WRITTEN:
            arguments = (arguments[0], *WRITTEN[name])
        (value,) = evaluate(Call(name, arguments), {}, 1)
        assert value is not None, name


# -------------------------------------------------------------------------------------------------- what is no value


def one(name: str, *values: Any) -> Any:
    """The value of a call on columns of one row."""
    columns = {f"c{place}": [value] for place, value in enumerate(values)}
    (found,) = evaluate(Call(name, tuple(Column(column) for column in columns)), columns, 1)
    return found


def test_what_has_no_value_is_null() -> None:
    cases: list[tuple[str, tuple[Any, ...], Any]] = [
        ("/", (1, 0), None),
        ("/", (0, 0), None),
        ("/", (1.0, 0.0), None),
        ("/", (1, -0.0), None),
        ("/", (1e300, 1e-300), None),
        ("%", (7, 0), None),
        ("%", (7.5, 0), None),
        ("%", (-7, 3), -1),
        ("%", (7, -3), 1),
        ("%", (-7.5, 2), -1.5),
        ("*", (1e200, 1e200), None),
        ("*", (2**40, 2**40), None),
        ("*", (2**31, 2**31), MAX_INTEGER),
        ("*", (2**31, 2**31 + 1), None),
        ("*", (3_037_000_500, 3_037_000_500), None),  # whose product wraps around 64 bits
        ("+", (MAX_INTEGER, 0), MAX_INTEGER),
        ("+", (MAX_INTEGER, 1), None),
        ("-", (-MAX_INTEGER, 1), None),
        ("+", (MAX_INTEGER, MAX_INTEGER), None),
        ("neg", (-MAX_INTEGER,), MAX_INTEGER),
        ("neg", (-(2**63),), None),
        ("abs", (-(2**63),), None),
        ("floor", (1e18,), 10**18),
        ("floor", (1e19,), None),
        ("floor", (-2.5,), -3),
        ("ceil", (-2.5,), -2),
        ("ceil", (7,), 7),
        ("real", (7,), 7.0),
        ("+", (float("nan"), 1), None),
        ("+", (float("inf"), 1), None),
        ("=", (float("nan"), float("nan")), None),
        ("+", (dt.date(9999, 12, 31), 1), None),
        ("-", (dt.date(1, 1, 1), 1), None),
        ("+", (1, dt.date(2021, 12, 31)), dt.date(2022, 1, 1)),
        ("+", (dt.date(2021, 12, 31), MAX_INTEGER), None),
        ("-", (dt.date(2021, 12, 31), None), None),
    ]
    for name, values, expected in cases:
        found = one(name, *values)
        assert found == expected
        assert type(found) is type(expected)


def test_null_in_a_list_and_in_a_range_has_three_truth_values() -> None:
    assert one("in", 1, 1, None) is True
    assert one("in", 1, 2, None) is None
    assert one("between", 5, None, 3) is False
    assert one("between", 5, None, 7) is None
    assert one("and", *(False, None)) is False
    assert one("or", *(True, None)) is True


def test_a_condition_that_is_null_is_not_true() -> None:
    positive = Call(">", (Column("x"), Literal(-1)))  # true of whatever stands in the place of a null
    columns = {"x": [None, 1, -2]}
    assert evaluate(Call("case", (positive, Literal("yes"), Literal("no"))), columns, 3) == ["no", "yes", "no"]
    assert evaluate(Call("not", (positive,)), columns, 3) == [None, False, True]
    assert evaluate(Call("integer", (positive,)), columns, 3) == [None, 1, 0]


def test_parts_of_dates_and_times_are_those_of_the_calendar() -> None:
    days = [dt.date.fromordinal(number) for number in range(1, dt.date.max.toordinal() + 1, 997)]
    days += [
        dt.date(year, 2, 28) + dt.timedelta(days=day) for year in (1, 1600, 1900, 1969, 1970, 2000) for day in (0, 1, 2)
    ]
    times = [dt.datetime.combine(day, dt.time(place % 24, 59, 59), dt.UTC) for place, day in enumerate(days)]
    parts = {
        "year": [day.year for day in days],
        "quarter": [(day.month + 2) // 3 for day in days],
        "month": [day.month for day in days],
        "day": [day.day for day in days],
        "isodow": [day.isoweekday() for day in days],
        "date": days,
    }
    for name, expected in parts.items():
        for column in (days, times):
            assert evaluate(Call(name, (Column("c"),)), {"c": column}, len(days)) == expected
    assert evaluate(Call("hour", (Column("c"),)), {"c": times}, len(days)) == [time.hour for time in times]


def test_whole_numbers_stay_whole() -> None:
    assert type(one("+", 1, 2)) is int
    assert type(one("/", 4, 2)) is float
    assert type(one("+", 1, 2.0)) is float
    assert one("=", 2**53 + 1, 2**53) is False


def test_intervals() -> None:
    bucket = Call("bucket", (Column("x"), Literal(0), Literal(18), Literal(65)))
    columns = {"x": [-1, 0, 17, 18, 64, 65, 66, None]}
    assert evaluate(bucket, columns, 8) == [None, "[0, 18)", "[0, 18)", "[18, 65]", "[18, 65]", "[18, 65]", None, None]
    halves = Call("bucket", (Column("x"), Literal(0.5), Literal(1), Literal(2.5)))
    assert evaluate(halves, {"x": [0.75, 1, 2]}, 3) == ["[0.5, 1)", "[1, 2.5]", "[1, 2.5]"]
    days = Call("bucket", (Column("x"), Literal(dt.date(2021, 1, 1)), Literal(dt.date(2022, 1, 1))))
    assert evaluate(days, {"x": [dt.date(2021, 7, 1)]}, 1) == ["[2021-01-01, 2022-01-01]"]
    for edges in (
        (Literal(1), Literal(1)),
        (Literal(2), Literal(1)),
        (Literal(1), Literal(None)),
        (Column("x"), Literal(3)),
    ):
        with pytest.raises(QueryError, match="BUCKET"):
            evaluate(Call("bucket", (Column("x"), *edges)), {"x": [1]}, 1)


# ------------------------------------------------------------------------------------------------- what is refused


def test_values_of_different_types_are_not_combined() -> None:
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("+", (1, "a")),
        ("+", (1, True)),
        ("*", (dt.date(2021, 1, 1), 2)),
        ("-", (1, dt.date(2021, 1, 1))),
        ("+", (dt.date(2021, 1, 1), 1.5)),
        ("+", (dt.date(2021, 1, 1), dt.date(2021, 1, 1))),
        ("+", ("a", "b")),
        ("/", (True, 2)),
        ("neg", ("a",)),
        ("floor", (True,)),
        ("=", (1, "1")),
        ("=", (1, True)),
        ("=", (dt.date(2021, 1, 1), dt.datetime(2021, 1, 1, tzinfo=dt.UTC))),
        ("<", ("a", 1)),
        ("<", (True, False)),
        ("in", (1, "1")),
        ("between", (1, 0, "2")),
        ("least", (1, "a")),
        ("clip", (1, 0, "a")),
        ("and", (True, 1)),
        ("or", (1, 0)),
        ("not", (1,)),
        ("case", (1, 2, 3)),
        ("case", (True, 2, "3")),
        ("coalesce", (1, "a")),
        ("integer", (1.5,)),
        ("integer", ("1",)),
        ("hour", (dt.date(2021, 1, 1),)),
        ("year", (2021,)),
        ("=", (["a"], ["a"])),
    ]
    for name, values in cases:
        with pytest.raises(QueryError, match=r"answer|FLOOR"):
            one(name, *values)


@st.composite
def anything(draw: st.DrawFn, depth: int) -> Expression:
    """An expression without regard to types."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        names = draw(st.sampled_from("".join(NAMES.values())))
        values = draw(st.one_of(st.none(), *VALUES.values()))
        return Column(names) if draw(st.booleans()) else Literal(values)
    name = draw(st.sampled_from(sorted(OPERATIONS.keys() - {"bucket"})))
    return Call(name, tuple(draw(anything(depth - 1)) for _ in range(OPERATIONS[name].least)))


@settings(max_examples=200)
@given(anything(3), tables)
def test_what_is_refused_is_refused_because_of_types_and_never_because_of_values(
    expression: Expression, table: dict[str, list[Any]]
) -> None:
    samples = {"whole": 1, "real": 0.5, "truth": True, "text": "a", "date": dt.date(2021, 1, 1), "time": NOON}
    one_row = {name: [samples[family]] for family, names in NAMES.items() for name in names}
    try:
        evaluate(expression, one_row, 1)
    except QueryError:
        return
    assert len(evaluate(expression, table, len(table["i"]))) == len(table["i"])


def test_lists_can_be_shown_but_not_computed_with() -> None:
    columns: dict[str, list[Any]] = {"top": [["a", "b"], ["c", "d"]], "count": [3, 5]}
    assert evaluate(Column("top"), columns, 2) == columns["top"]
    assert evaluate(Call("is_null", (Column("top"),)), columns, 2) == [False, False]
    shown = Call("case", (Call(">", (Column("count"), Literal(4))), Column("top"), Literal(None)))
    assert evaluate(shown, columns, 2) == [None, ["c", "d"]]
    with pytest.raises(QueryError, match="cannot be used on lists"):
        evaluate(Call("<", (Column("top"), Column("top"))), columns, 2)


def test_columns_that_are_not_there_are_refused() -> None:
    with pytest.raises(QueryError, match="no column 'mean'; it has count"):
        evaluate(Column("mean"), {"count": [1]}, 1)
    with pytest.raises(QueryError, match="no column 'mean'"):
        evaluate(Call("neg", (Column("mean"),)), {"count": []}, 0)
    with pytest.raises(QueryError, match="has 1 rows, not 2"):
        evaluate(Column("count"), {"count": [1]}, 2)
    with pytest.raises(QueryError, match="is no expression"):
        evaluate("count", {"count": [1]}, 1)  # type: ignore[arg-type] # wrong on purpose
    with pytest.raises(QueryError, match="CASE takes pairs"):
        evaluate(Call("case", (Literal(True), Literal(1), Literal(True), Literal(2))), {}, 1)  # noqa: FBT003 - literals


def test_without_rows_every_operation_gives_nothing() -> None:
    for name, operation in OPERATIONS.items():
        if name != "bucket":
            others = WRITTEN.get(name, [Column("c")] * (operation.least - 1))
            arguments = (Column("c"), *others)
            assert evaluate(Call(name, arguments), {"c": []}, 0) == [], name


# ------------------------------------------------------------------------------------------------------- long answers


def test_a_plain_column_is_handed_over_as_it_is() -> None:
    column: list[Any] = [1, 2.5, "a", None, float("nan")]
    found = evaluate(Column("c"), {"c": column}, 5)
    assert found is not column
    assert all(a is b for a, b in zip(found, column, strict=True))
    assert evaluate(Column("c"), {"c": np.arange(3)}, 3) == [0, 1, 2]


def test_long_answers_are_computed_in_arrays() -> None:
    rows = 200_000
    columns: dict[str, list[Any]] = {"total": [number / 2 for number in range(rows)], "count": list(range(rows))}
    ratio = evaluate(Call("/", (Column("total"), Column("count"))), columns, rows)
    assert ratio[0] is None
    assert ratio[1:] == [0.5] * (rows - 1)
    calls = 0

    class Counted(float):
        def __truediv__(self, other: Any) -> float:
            nonlocal calls
            calls += 1
            return math.nan

    evaluate(Call("/", (Column("total"), Literal(2))), {"total": [Counted(1)] * 1000}, 1000)
    assert calls == 0  # no Python loop over rows


# ----------------------------------------------------------------------------------------------------------- rehearsal

COUNT = Aggregate(kind="count", name="count")
SEX = Key(name="sex", expression=Column("sex"))


def plan(**changes: Any) -> Plan:
    return Plan(relation=Base("deaths"), keys=(SEX,), aggregates=(COUNT,), **changes)


def test_what_can_be_computed_passes_the_rehearsal() -> None:
    cases: list[dict[str, Any]] = [
        {},
        {"having": Call(">", (Column("count"), Literal(100)))},
        {"having": Call("=", (Column("sex"), Literal("F")))},
        {
            "outputs": (("share", Call("/", (Column("count"), Literal(10)))),),
            "order": (Order(expression=Column("share")),),
        },
        {"having": Call("is_null", (Call("/", (Column("count"), Literal(0))),))},
        {"having": Call(">", (Call("/", (Column("count"), Literal(0))), Literal(1)))},
    ]
    for changes in cases:
        rehearse(plan(**changes), {"sex": "F", "count": 0})


def test_what_cannot_is_refused_before_anything_is_read() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"having": Call(">", (Column("sex"), Literal(100)))}, "texts with numbers"),
        ({"having": Column("count")}, "HAVING needs a condition"),
        ({"outputs": (("x", Call("+", (Column("sex"), Literal(1)))),)}, "texts"),
        ({"order": (Order(expression=Call("neg", (Column("sex"),))),)}, "texts"),
    ]
    for changes, word in cases:
        with pytest.raises(QueryError, match=word):
            rehearse(plan(**changes), {"sex": "F", "count": 0})


# ----------------------------------------------------------------------------------------------------------- rounding


def test_answers_are_rounded_away_from_zero() -> None:
    columns: dict[str, list[Any]] = {"x": [2.5, -2.5, 0.125, None, 1e300, -0.04], "n": [7, -7, 0, None, 3, 4]}
    assert evaluate(Call("round", (Column("x"),)), columns, 6) == [3.0, -3.0, 0.0, None, 1e300, 0.0]
    assert evaluate(Call("round", (Column("x"), Literal(2))), columns, 6) == [2.5, -2.5, 0.13, None, 1e300, -0.04]
    assert evaluate(Call("round", (Column("n"), Literal(1))), columns, 6) == columns["n"]
    for wrong in (-1, 16, 0.5, "1", True):
        with pytest.raises(QueryError, match="decimals from 0 to 15"):
            evaluate(Call("round", (Column("x"), Literal(wrong))), columns, 6)
