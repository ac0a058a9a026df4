"""Intervals of raw columns select the rows that comparisons of clean values select, to the last bit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core import QueryError
from celosia.query.engines.duckdb import DuckDBDialect, DuckDBEngine
from celosia.query.execution import raw_ranges
from celosia.query.execution.clean import clean_double
from celosia.query.execution.compile import compile_expression
from celosia.query.execution.raw_ranges import RawRange, compare_raw
from celosia.query.execution.rows import rows_of
from celosia.query.plan.expressions import Call, Column, Literal
from celosia.query.plan.nodes import Aggregate, Base, Plan
from celosia.query.sql.expressions import parse_expression

if TYPE_CHECKING:
    from celosia.query.plan.expressions import Expression

KINDS: dict[str, cl.Kind] = {
    "age": cl.Integer(-3, 120),
    "wide": cl.Integer(-(2**50), 2**50),
    "weight": cl.Real(0, 300),
    "coarse": cl.Real(-10, 10, grid="0.1"),
    "tiny": cl.Real(0, "0.001"),
    "number": cl.Integer(0, 9),  # stored as doubles
    "single": cl.Real(0, 1),  # stored as floats of 32 bits
    "huge": cl.Integer(0, 2**60),  # beyond 2**53 a double is not every integer
    "huge_number": cl.Integer(0, 2**60),  # stored as doubles
    "off": cl.Real("0.25", "99.9", grid="0.8"),  # bounds beside the grid
    "steps": cl.Real(-1000, 1000, grid=7),
    "byte": cl.Integer(-3, 120),
    "half": cl.Integer(5, 5),
    "unsigned": cl.Integer(0, 2**31),
}
TYPES = dict.fromkeys(KINDS, pa.float64()) | {
    "age": pa.int64(),
    "wide": pa.int64(),
    "huge": pa.int64(),
    "byte": pa.int8(),
    "half": pa.int16(),
    "unsigned": pa.uint32(),
    "single": pa.float32(),
}
INTEGERS = tuple(name for name, stored in TYPES.items() if pa.types.is_integer(stored))
COUNT = Aggregate(kind="count", name="n")
FORMS = ("<", "<=", ">", ">=", "=")
LITERALS = st.one_of(
    st.integers(-(2**50), 2**50),
    st.integers(2**53 - 3, 2**53 + 3),
    st.integers(-(2**62), 2**62),
    st.integers(-5, 310),
    st.floats(-400, 400, width=32).map(lambda x: x if abs(x) > 1e-20 else 0.0),
    st.sampled_from([0.1, 0.15, 0.05, -0.05, 1e-7, 300.0, 299.9999997, 120, 120.0, 9.5, 0.5, 2.0**50, 2e18, 2.0**53]),
)


def make_condition(name: str, form: str, values: list[Any]) -> Expression:
    match form:
        case "between":
            return Call("between", (Column(name), *map(Literal, sorted(values))))
        case "mirrored":
            return Call("<=", (Literal(values[0]), Column(name)))
    return Call(form, (Column(name), Literal(values[0])))


def values_around(found: RawRange) -> list[float]:
    """Both ends with their neighbours, the bounds of the type, and what is no number."""
    stored = TYPES[found.name]
    if found.name in INTEGERS:
        least = 0 if pa.types.is_unsigned_integer(stored) else -(2 ** (stored.bit_width - 1))
        most = least + 2**stored.bit_width - 1
        ends = [int(end) + by for end in (found.low, found.high) for by in (-1, 0, 1)]
        return [x for x in (*ends, least, most, 0, 5, 2**53, 2**53 + 1) if least <= x <= most]
    near = [x for end in (found.low, found.high) for x in (math.nextafter(end, -math.inf), end)]
    near += [math.nextafter(end, math.inf) for end in (found.low, found.high)]
    return [*near, math.inf, -math.inf, math.nan, 0.0, -0.0, 5e-324, 1.7976931348623157e308]


def make_table(columns: dict[str, list[Any]]) -> cl.Table:
    longest = max(map(len, columns.values()))
    arrays = {
        name: pa.array([*columns.get(name, []), *[None] * (longest - len(columns.get(name, [])))], stored)
        for name, stored in TYPES.items()
    }
    schema = cl.Schema({"id": cl.Integer(0, 10_000), **KINDS})
    return cl.table(pa.table({"id": range(longest), **arrays}), schema=schema, name="raw_ranges")


def select(engine: DuckDBEngine, condition: Expression) -> list[int]:
    """The numbers of the rows in which a condition is true."""
    rows = rows_of(Base("raw_ranges"), engine).where(condition)
    batches = engine.run(rows.table.select(rows.names["id"]))
    return sorted(number for batch in batches for number in batch.column(0).to_pylist())


@settings(max_examples=100)
@given(data=st.data())
def test_an_interval_selects_the_rows_of_the_comparison(data: st.DataObject) -> None:
    conditions = [
        make_condition(name, data.draw(st.sampled_from((*FORMS, "between", "mirrored"))), data.draw(
            st.lists(LITERALS, min_size=2, max_size=2)
        ))
        for name in KINDS
    ]  # fmt: skip
    check_same_rows(conditions)


def check_same_rows(conditions: list[Expression]) -> None:
    ranges = [compare_raw(condition, KINDS, ibis_types()) for condition in conditions]
    assert all(isinstance(found, RawRange) for found in ranges)
    columns = {found.name: values_around(found) for found in ranges if isinstance(found, RawRange)}
    with DuckDBEngine({"raw_ranges": make_table(columns)}) as engine:
        for condition, found in zip(conditions, ranges, strict=True):
            assert select(engine, found) == select(engine, condition), (condition, found)


def test_one_double_makes_all_ends_doubles() -> None:
    for low, high in [(2**53 + 1, 2e18), (5.5, 2**53), (0.5, 10**18 + 1)]:
        for name in ("huge", "huge_number"):
            check_same_rows([make_condition(name, "between", [low, high])])


def ibis_types() -> Any:
    import ibis

    return ibis.schema(pa.schema(list(TYPES.items())))


def test_conditions_with_parameters_select_the_same_rows() -> None:
    """One shape asked with several ends, beside other literals, and with more of them than there are parameters."""
    x = [i / 7 for i in range(200)]
    columns: dict[str, list[Any]] = {"weight": x, "coarse": x[::-1], "age": [int(v) for v in x]}
    with DuckDBEngine({"raw_ranges": make_table(columns)}) as engine:
        for low, high in [(3, 9.5), (9.5, 20), (20, 3), (2, 25)]:
            written = f"weight > {low} AND coarse <= {high} OR age BETWEEN {low} AND {high} OR weight + 1 < {low}"
            many = " OR ".join(f"weight = {i}.5" for i in range(60))
            for text in (written, f"({written}) AND age <> 4", many):
                condition = parse_expression(text)
                plan = Plan(
                    relation=Base("raw_ranges"), aggregates=(Aggregate(kind="count", name="n"),), filter=condition
                )
                shape, values = engine._split(plan)
                assert plan.filter == condition
                assert shape.filter is not None
                rows = rows_of(Base("raw_ranges"), engine).where(shape.filter)
                batches = list(engine.execute(rows.table.select(rows.names["id"]), values))
                found = sorted(number for batch in batches for number in batch.column(0).to_pylist())
                assert found == select(engine, condition), text


def test_an_interval_is_no_column_elsewhere() -> None:
    with pytest.raises(QueryError):
        compile_expression(RawRange("x", 0, 1), lambda _: None, {}, DuckDBDialect())


@settings(max_examples=300)
@given(name=st.sampled_from(sorted(KINDS)), form=st.sampled_from(FORMS), value=LITERALS)
def test_the_ends_are_where_the_comparison_changes(name: str, form: str, value: Any) -> None:
    """In Python: the ends compare as claimed, and the next values outside do not."""
    found = compare_raw(make_condition(name, form, [value]), KINDS, ibis_types())
    assert isinstance(found, RawRange)
    kind = KINDS[name]
    assert isinstance(kind, cl.Integer | cl.Real)

    def holds(raw: float) -> bool:
        inside = max(int(kind.low), min(int(kind.high), int(raw))) if name in INTEGERS else clean_double(raw, kind)
        a, b = (inside, value) if isinstance(inside, int) and isinstance(value, int) else (float(inside), float(value))
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "=": a == b}[form]

    for raw in values_around(found):
        if math.isfinite(raw):
            assert holds(raw) == (found.low <= raw <= found.high), (kind, form, value, raw)


def test_only_stored_numbers_are_replaced() -> None:
    import ibis

    cases: list[tuple[str, cl.Kind, int]] = [
        ("int64", cl.Integer(0, 9), 1), ("uint32", cl.Integer(0, 9), 1), ("uint64", cl.Integer(0, 9), 0),
        ("int64", cl.Real(0, 9), 0), ("decimal(38, 0)", cl.Integer(0, 9), 0), ("decimal(9, 2)", cl.Real(0, 9), 0),
        ("string", cl.Integer(0, 9), 0), ("string", cl.Real(0, 9), 0), ("boolean", cl.Integer(0, 1), 0),
        ("float32", cl.Real(0, 9), 1), ("int8", cl.Boolean(), 0),
    ]  # fmt: skip
    for stored, kind, wanted in cases:
        found = compare_raw(parse_expression("x > 3"), {"x": kind}, ibis.schema({"x": stored}))
        assert isinstance(found, RawRange) == bool(wanted), (stored, kind)


def test_only_what_true_alone_decides_is_replaced() -> None:
    import ibis

    kinds = {"x": cl.Real(0, 1), "filled": cl.Real(0, 1, null=0), "day": cl.Date("2020-01-01", "2020-01-31")}
    types = ibis.schema(dict.fromkeys(kinds, "float64"))

    def ranges(text: str) -> int:
        return repr(compare_raw(parse_expression(text), kinds, types)).count("RawRange")

    assert ranges("x > 0.5 AND (x < 0.7 OR 0.9 <= x)") == 3
    # NOT turns null into null, but false into true.
    assert ranges("NOT (x > 0.5)") == 0
    assert ranges("CASE WHEN x > 0.5 THEN TRUE ELSE FALSE END = TRUE") == 0
    # A replaced missing value may lie in the interval; other comparisons have none.
    for text in ("filled > 0.5", "x <> 0.5", "x IN (0.5)", "x > x", "day > DATE '2020-01-02'", "x + 1 > 0.5"):
        assert ranges(text) == 0, text


def test_parameters_make_queries_equal() -> None:
    one, other = RawRange("x", 0.0, 1.0), RawRange("x", 0.0, 2.0)
    assert one != other
    assert one.take_place(1) == other.take_place(1)
    assert hash(one.take_place(1)) == hash(other.take_place(1))
    assert one.take_place(1) != other.take_place(3)
    assert one.take_place(1) != RawRange("x", 0, 1).take_place(1)  # integers are cast to another type
    assert one.take_place(1) != RawRange("y", 0.0, 1.0).take_place(1)


def test_an_end_that_is_one_double_off_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = raw_ranges._double_at
    monkeypatch.setattr(raw_ranges, "_double_at", lambda place: exact(place - 1))
    raw_ranges._find_doubles.cache_clear()
    with pytest.raises(AssertionError):
        test_the_ends_are_where_the_comparison_changes()
    raw_ranges._find_doubles.cache_clear()
