"""A query that uses a column of an unfit type raises; others do not."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import SchemaError
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.engines.duckdb import DuckDBDialect
from celosia.query.execution.clean import clean
from celosia.query.execution.column_checks import check_columns, family_of, unfit_columns
from tests.query.computed import computed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.data.table import Table

FAMILIES = {
    "int8": "integer", "int16": "integer", "int32": "integer", "int64": "integer",
    "uint8": "integer", "uint16": "integer", "uint32": "integer", "uint64": "integer",
    "float32": "real", "float64": "real", "decimal(38, 0)": "decimal", "decimal(10, 2)": "decimal",
    "boolean": "boolean", "string": "text", "uuid": "uuid", "date": "date",
    "timestamp": "timestamp", "timestamp(9)": "timestamp", "timestamp('UTC')": "timestamp",
    "time": None, "interval('s')": None, "binary": None, "json": None, "array<int64>": None,
    "map<string, int64>": None, "struct<a: int64>": None, "inet": None,
}  # fmt: skip
KINDS: dict[str, Kind] = {
    "Integer": Integer(0, 120),
    "Real": Real(0, 1),
    "Boolean": Boolean(),
    "Category": Category("F", "M"),
    "codes": Category(1, 2),
    "Text": Text(),
    "Date": Date("2021-01-01", "2021-12-31"),
    "Timestamp": Timestamp("2021-01-01", "2021-12-31"),
}
NUMBERS = {"integer", "real", "decimal", "boolean", "text"}
SERVES: dict[str, set[str]] = {
    "Integer": NUMBERS,
    "Real": NUMBERS,
    "Boolean": NUMBERS,
    "Category": {"text", "integer", "uuid"},
    "codes": {"integer", "real", "decimal", "text"},
    "Text": {"text", "integer", "uuid"},
    "Date": {"date", "timestamp", "text"},
    "Timestamp": {"date", "timestamp", "text"},
}


def unfit(type_: str, kind: Kind) -> Mapping[str, str]:
    return unfit_columns(declared(kind), ibis.table({"x": type_}, name="deaths"))


def declared(kind: Kind, person: str | None = None) -> Table:
    """A table whose source is not looked at, as that of a database: the engine does it."""
    limit = None if person is None else 1
    return replace(
        cl.table(pa.table({"x": pa.array([], pa.string())}), schema=cl.Schema(x=kind), name="deaths"),
        person=person,
        max_groups_per_person=limit,
        max_rows_per_group=limit,
    )


def test_types_have_a_family() -> None:
    for type_, family in FAMILIES.items():
        assert family_of(ibis.dtype(type_)) == family


def test_a_kind_takes_the_types_that_hold_it() -> None:
    for name, kind in KINDS.items():
        for type_, family in FAMILIES.items():
            found = unfit(type_, kind)
            if family in SERVES[name]:
                assert found == {}
            else:
                assert found["x"].startswith("The column 'x' of 'deaths' is of the type ")
                assert "cannot be read as" in found["x"]


SAMPLES: dict[str, tuple[pa.DataType, Any]] = {
    **{
        name: (getattr(pa, name)(), 1)
        for name in FAMILIES
        if "int" in name and "interval" not in name and "<" not in name
    },
    "float32": (pa.float32(), 1.0),
    "float64": (pa.float64(), 1.0),
    "decimal(38, 0)": (pa.decimal128(38, 0), Decimal(1)),
    "decimal(10, 2)": (pa.decimal128(10, 2), Decimal(1)),
    "boolean": (pa.bool_(), True),
    "string": (pa.string(), "1"),
    "date": (pa.date32(), dt.date(2021, 1, 1)),
    "timestamp": (pa.timestamp("us"), dt.datetime(2021, 1, 1)),  # noqa: DTZ001 - without a zone
    "timestamp(9)": (pa.timestamp("ns"), dt.datetime(2021, 1, 1)),  # noqa: DTZ001 - without a zone
    "timestamp('UTC')": (pa.timestamp("us", tz="UTC"), dt.datetime(2021, 1, 1, tzinfo=dt.UTC)),
}


def test_what_is_let_through_can_be_cleaned() -> None:
    """A type that passes the check must not fail on a row later."""
    for kind in KINDS.values():
        for type_, (arrow, value) in SAMPLES.items():
            rows = pa.table({"x": pa.array([value, None], arrow)})
            if not unfit(type_, kind):
                found = computed(rows, lambda table: clean(table.x, kind, DuckDBDialect()))  # noqa: B023 - called at once
                assert found[1].as_py() is None


def test_a_missing_column_is_named() -> None:
    with pytest.raises(SchemaError, match="The table 'deaths' has no column 'x'"):
        check_columns(declared(Integer(0, 1)), ibis.table({"y": "int64"}, name="deaths"))


# --------------------------------------------------------------------------------------------------------- persons


def check_person(type_: str) -> None:
    raw = ibis.table({"x": "int64", "who": type_}, name="deaths")
    check_columns(declared(Integer(0, 1), "who"), raw)


def test_persons_are_whole_numbers_or_texts() -> None:
    for type_ in ("int8", "int64", "uint64", "string", "uuid", "float64", "decimal(38, 0)"):
        check_person(type_)


def test_other_types_tell_no_persons_apart() -> None:
    cases: list[str] = ["boolean", "date", "timestamp", "decimal(10, 2)", "binary", "array<int64>", "time"]
    for type_ in cases:
        with pytest.raises(SchemaError, match=r"The person column 'who' .* must hold integers or texts"):
            check_person(type_)


def test_a_missing_person_column_is_named() -> None:
    raw = ibis.table({"x": "int64"}, name="deaths")
    with pytest.raises(SchemaError, match="The table 'deaths' has no column 'who'"):
        check_columns(declared(Integer(0, 1), "who"), raw)


def test_all_that_is_wrong_is_listed_at_once() -> None:
    raw = ibis.table({"who": "boolean"}, name="deaths")
    with pytest.raises(SchemaError, match=r"no column 'x'\. The person column 'who' .* must hold"):
        check_columns(declared(Integer(0, 1), "who"), raw)


# --------------------------------------------------------------------------------------------------------- queries


ROWS = pa.table({"who": [1, 2, 3], "age": [34, 71, 20], "born": [True, False, None], "code": ["a", "b", "a"]})
MIXED = cl.Schema(age=Integer(0, 120), born=Date("1900-01-01", "2021-12-31"), code=Category("a", "b"))


def test_only_the_columns_that_a_query_uses_are_checked() -> None:
    """One column of the wrong type shuts neither the table nor its joins, and a refusal costs nothing."""
    limits = {"person": "who", "max_groups_per_person": 1, "max_rows_per_group": 1}
    visits = cl.table(ROWS, schema=MIXED, name="visits", **limits)  # type: ignore[arg-type] # by name
    book = cl.table(pa.table({"code": ["a", "b"]}), name="book", public=True, key="code")
    session = cl.Session([visits, book], budget=cl.PureDP(epsilon=1000))
    joined = "FROM visits LEFT JOIN book USING (code)"
    for text in ("SELECT SUM(age) AS n FROM visits", f"SELECT SUM(age) AS n {joined}"):
        assert abs(int(session.sql(text, epsilon=100).to_arrow().column("n")[0].as_py()) - 125) < 100
    before = session.spent
    for source in ("FROM visits", joined):
        with pytest.raises(SchemaError, match="The column 'born' of 'visits' is of the type boolean"):
            session.sql(f"SELECT COUNT(born) AS n {source}", epsilon=100)
    assert session.spent == before


def test_identifiers_can_be_texts() -> None:
    """A column of UUIDs is read as its texts, one for each."""
    names = [str(uuid.UUID(int=number)) for number in (1, 2)]
    rows = pa.table({"x": names})
    assert computed(rows, lambda table: clean(table.x.cast("uuid"), Text(), DuckDBDialect())).to_pylist() == names
