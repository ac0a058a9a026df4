"""Dummy rows fit every declaration, whatever it is, and nothing of the data is in them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import CelosiaError, ParameterError, SchemaError
from celosia.data import SchemaFile, draw_dummy_batches, draw_dummy_rows
from celosia.data.schema.columns import Boolean, Category, Date, Kind, Real, Text, Timestamp
from celosia.query.engines.duckdb import DuckDBDialect
from celosia.query.execution.clean import clean, encode_value
from tests.data.schema.test_columns import kinds
from tests.query.computed import all_computed

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = cl.Schema(
    age=cl.Integer(0, 120),
    weight=cl.Real(0, 300, grid="0.1"),
    sex=cl.Category("F", "M"),
    grade=cl.Category(3, 1, 2, null=1),
    insured=cl.Boolean(null=False),
    employer=cl.Text(),
    note=cl.Text(null="none given"),
    died=cl.Date("2021-01-01", "2021-12-31"),
    admitted=cl.Timestamp("2020-12-01 08:00:00", "2021-12-31 23:59:59"),
)
VISITS = SchemaFile(
    schema=SCHEMA, name="visits", person="who", max_groups_per_person=4, max_rows_per_group=5, max_rows_per_person=7
)


def bytes_of(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


# ---------------------------------------------------------------------------------------------------- declarations


def plain(value: Any, kind: Kind) -> Any:
    """A cell as engines compute with it."""
    return value if value is None or isinstance(kind, Boolean | Category | Real | Text) else encode_value(value, kind)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdef"), kinds, min_size=1), st.integers(1, 40), st.integers(0, 2**80))
def test_an_engine_finds_nothing_to_clean(columns: dict[str, Kind], count: int, seed: int) -> None:
    """No value is outside its bounds, unknown, or null where a rule replaces nulls: cleaning changes none."""
    rows = draw_dummy_rows(columns, rows=count, seed=seed)
    assert (rows.num_rows, rows.column_names) == (count, list(columns))
    found = all_computed(
        rows, lambda table: {name: clean(table[name], kind, DuckDBDialect()) for name, kind in columns.items()}
    )
    for name, kind in columns.items():
        drawn = rows[name].to_pylist()
        assert kind.nullable or None not in drawn
        for raw, cleaned in zip(drawn, found[name].to_pylist(), strict=True):
            value = plain(raw, kind)
            if isinstance(kind, Real) and raw is not None:  # engines write a step as another double
                assert float(kind.low) <= raw <= float(kind.high)
                assert abs(cleaned - value) <= max(float(kind.axis.grid), abs(value) * 2**-50)
            else:
                assert (cleaned, type(cleaned)) == (value, type(value)), (name, kind)


def test_reals_are_the_doubles_nearest_to_the_grid() -> None:
    weights = draw_dummy_rows(cl.Schema(weight=cl.Real("0.05", "29.97", grid="0.1", null=1)), rows=5000)[
        "weight"
    ].to_pylist()
    assert set(weights) == {step / 10 for step in range(1, 300)}


def test_types_nulls_and_all_values_occur() -> None:
    rows = draw_dummy_rows(SCHEMA, rows=5000)
    assert {name: str(rows.schema.field(name).type) for name in SCHEMA} == {
        "age": "int64",
        "weight": "double",
        "sex": "string",
        "grade": "int64",
        "insured": "bool",
        "employer": "string",
        "note": "string",
        "died": "date32[day]",
        "admitted": "timestamp[s]",
    }
    for name, kind in SCHEMA.items():
        assert (rows[name].null_count > 0) == kind.nullable, name
        assert rows[name].null_count < 400, name
        if (domain := kind.domain()) is not None:
            assert set(rows[name].drop_null().to_pylist()) == set(domain), name
    assert "none given" in rows["note"].to_pylist()
    first, last = (str(end) for end in pc.min_max(rows["admitted"]).values())
    assert "2020-12-01 08:00:00" <= first < "2020-12-05"
    assert "2021-12-28" < last <= "2021-12-31 23:59:59"


def test_bounds_of_one_value_and_of_all() -> None:
    columns: dict[str, Kind] = {
        "one": cl.Integer(7, 7, null=7),
        "wide": cl.Integer(-(2**62), 2**62),
        "day": Date("2021-01-01", "2021-01-01", null="2021-01-01"),
        "moments": Timestamp("0001-01-01", "9999-12-31 23:59:59"),
    }
    rows = draw_dummy_rows(columns, rows=100)
    assert set(rows["one"].to_pylist()) == {7}
    assert set(rows["day"].to_pylist()) == {dt.date(2021, 1, 1)}
    wide = rows["wide"].drop_null().to_pylist()
    assert min(wide) < -(2**60) < 2**60 < max(wide)
    assert len(set(rows["moments"].to_pylist())) > 90


# ---------------------------------------------------------------------------------------------------------- persons


def test_persons_have_several_rows_and_never_too_many() -> None:
    cases = [((4, 5, 7), 7), ((4, 5, None), 10), ((2, 3, 500), 6), ((1, 1, None), 1), ((9, 9, 1), 1)]
    for (groups, each, most), expected in cases:
        file = replace(VISITS, max_groups_per_person=groups, max_rows_per_group=each, max_rows_per_person=most)
        rows = draw_dummy_rows(file, rows=9000)
        assert rows.column_names == ["who", *SCHEMA]
        counts = rows.group_by("who").aggregate([([], "count_all")])["count_all"].to_pylist()
        assert set(counts) == set(range(1, expected + 1))
        assert rows["who"].null_count == 0


def test_a_session_on_dummy_rows_answers() -> None:
    visits = VISITS.table(draw_dummy_rows(VISITS))
    with cl.Session(visits, budget=cl.ApproxDP(epsilon=1000, delta="0.01")) as session:
        text = "SELECT sex, COUNT(DISTINCT PERSON), AVG(weight) FROM visits WHERE age >= 18 GROUP BY sex"
        assert session.sql(text, epsilon=100).to_arrow().num_rows == 2
        keys = session.sql("SELECT employer, COUNT(*) FROM visits GROUP BY employer", epsilon=100, delta="0.001")
        assert set(keys.to_arrow()["employer"].to_pylist()) == {f"text {number}" for number in range(1, 21)}


# ----------------------------------------------------------------------------------------------------- public tables


def test_keys_of_public_tables_are_unique_and_complete() -> None:
    schema = cl.Schema(
        ward=cl.Category("A", "B", "C"), year=cl.Integer(2020, 2024), town=cl.Text(), beds=cl.Integer(1, 9)
    )
    cases = [(("ward",), 3), (("town",), 20), (("ward", "year"), 15), (("ward", "year", "town"), 100), (("beds",), 9)]
    for key, expected in cases:
        declared = replace(cl.table(pa.table({"x": [1]}), public=True, key="x"), schema=schema, key=key)
        rows = draw_dummy_rows(declared, rows=100)
        assert rows.num_rows == expected
        assert cl.table(rows, schema=schema, public=True, key=key).key == key


def test_wide_keys_are_drawn_too() -> None:
    schema = cl.Schema(code=cl.Integer(-(2**62), 2**62), other=cl.Integer(-(2**62), 2**62))
    declared = replace(cl.table(pa.table({"x": [1]}), public=True, key="x"), schema=schema, key=("code", "other"))
    rows = draw_dummy_rows(declared, rows=5000)
    assert cl.table(rows, schema=schema, public=True, key=["code", "other"]).public


# ------------------------------------------------------------------------------------------------ no data, one stream


class Unreadable:
    """A source that must not be looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


def test_a_table_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("who," + ",".join(SCHEMA) + "\n")
    table = VISITS.table(str(file))
    file.unlink()
    expected = bytes_of(draw_dummy_rows(VISITS))
    assert bytes_of(draw_dummy_rows(table)) == expected
    assert bytes_of(draw_dummy_rows(replace(table, source=Unreadable()))) == expected  # type: ignore[arg-type]


def test_other_data_give_the_same_dummies() -> None:
    """Neighbouring tables, and tables with nothing in common: the bytes are equal."""
    data = draw_dummy_rows(VISITS, rows=50, seed=99)
    other = draw_dummy_rows(VISITS, rows=7, seed=98)
    found = {bytes_of(draw_dummy_rows(VISITS.table(rows), seed=5)) for rows in (data, data.slice(1), other)}
    assert len(found) == 1


def test_seeds_and_columns_are_streams_of_their_own() -> None:
    first, again, other = (draw_dummy_rows(SCHEMA, seed=seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not any(first[name].equals(other[name]) for name in SCHEMA)
    kind = cl.Integer(0, 10**6)
    pair = draw_dummy_rows({"a": kind, "b": kind})
    assert not pair["a"].equals(pair["b"])
    assert draw_dummy_rows({"b": kind})["b"].equals(pair["b"])  # a new column changes no other


def test_batches_are_the_rows() -> None:
    batches = list(draw_dummy_batches(VISITS, rows=9000, seed=3))
    assert len(batches) == 3
    assert pa.Table.from_batches(batches).equals(draw_dummy_rows(VISITS, rows=9000, seed=3))


def test_what_cannot_be_drawn_is_refused_at_once() -> None:
    twice = SchemaFile(schema=SCHEMA, person="age", max_groups_per_person=1, max_rows_per_group=1)
    cases: list[tuple[Any, dict[str, Any], type[CelosiaError]]] = [
        (SCHEMA, {"rows": 0}, ParameterError),
        (SCHEMA, {"rows": 2.0}, ParameterError),
        (SCHEMA, {"rows": -1}, ParameterError),
        (SCHEMA, {"seed": -1}, ParameterError),
        (SCHEMA, {"seed": "x"}, ParameterError),
        ("schema.toml", {}, SchemaError),
        (None, {}, SchemaError),
        ({}, {}, SchemaError),
        ({"age": int}, {}, SchemaError),
        ({"age": cl.Boolean(), "AGE": cl.Boolean()}, {}, SchemaError),
        (twice, {}, SchemaError),
        (SchemaFile(schema=SCHEMA, person="who"), {}, ParameterError),
    ]
    for declared, options, error in cases:
        with pytest.raises(error):
            draw_dummy_batches(declared, **options)


def test_a_table_has_at_most_ten_million_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for rows in (10_000_001, 10**9, 10**100):
        with pytest.raises(ParameterError, match=r"at most 10,000,000 dummy rows.* in parts") as caught:
            draw_dummy_rows(SCHEMA, rows=rows)
        assert caught.value.code == "data.too_many_dummy_rows"
    assert next(iter(draw_dummy_batches(SCHEMA, rows=10**9))).num_rows == 4096  # a stream is never whole
    monkeypatch.setattr("celosia.data.dummy._MAX_TABLE_ROWS", 30)
    assert draw_dummy_rows(SCHEMA, rows=30).num_rows == 30
