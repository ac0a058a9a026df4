"""PostgreSQL gives the integers of the reference, survives what only it can hold, and leaves nothing behind."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import EngineError, QueryError, SchemaError
from celosia.data.sources.classify import Database
from celosia.query.engines.postgres import PostgresDialect, PostgresEngine
from celosia.query.engines.registry import open_engine
from celosia.query.execution.bounding import average_down
from celosia.query.execution.dialect import engine_function, integer_literal
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, Plan
from celosia.query.planning.cells import Cells
from celosia.query.planning.measurements import Measurement
from celosia.statistics import ContributionBounds, Distinct, FirstMoments, RowCount, Total
from celosia.testing.engines import check
from celosia.testing.engines.cases import cases
from celosia.testing.engines.check import check_engine
from tests.query.face import LIMITS, SCHEMA, ask_everything, people

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.data.table import Table
    from celosia.query.engines.base import Engine

NUMBERS = itertools.count()
TYPES = {
    pa.int64(): "bigint",
    pa.int32(): "integer",
    pa.int16(): "smallint",
    pa.float64(): "double precision",
    pa.decimal128(18, 4): "numeric(18, 4)",
    pa.bool_(): "boolean",
    pa.string(): "text",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
}


def executed(url: str, statement: str, *rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        if rows:
            cursor.executemany(statement, rows)
        else:
            cursor.execute(statement)
        return [] if cursor.description is None else cursor.fetchall()


def uploaded(url: str, table: Table) -> Table:
    """The same table, in the database."""
    if table.public:
        return table
    frame: pa.Table = table.source.frame  # type: ignore[union-attr] # a frame
    name = f"t{next(NUMBERS)}"
    columns = ", ".join(f'"{field.name}" {TYPES[field.type]}' for field in frame.schema)
    executed(url, f'CREATE TABLE "{name}" ({columns})')
    places = ", ".join(["%s"] * frame.num_columns)
    executed(url, f'INSERT INTO "{name}" VALUES ({places})', *(tuple(row.values()) for row in frame.to_pylist()))
    return dataclasses.replace(table, source=Database(url, name))


def test_it_agrees_with_the_reference(postgres: str, monkeypatch: pytest.MonkeyPatch, *, thorough: bool) -> None:
    if not thorough:  # random plans are tried on PostgreSQL as well
        monkeypatch.setattr(check, "cases", lambda *, persons: list(cases(persons=persons))[persons::4])

    def opened(tables: Mapping[str, Table]) -> Engine:
        return open_engine({name: uploaded(postgres, table) for name, table in tables.items()})

    assert len(check_engine(opened)) > (25 if thorough else 8)


def made(url: str, values: str, type_: str, kind: cl.data.Kind, **options: Any) -> Table:
    name = f"t{next(NUMBERS)}"
    executed(url, f'CREATE TABLE "{name}" (x {type_}, who bigint)')
    executed(
        url, f'INSERT INTO "{name}" SELECT v::{type_}, row_number() OVER () FROM unnest(ARRAY[{values}]::text[]) v'
    )
    return cl.table(url, name=name, schema=cl.Schema(x=kind), **options)


def totals(table: Table, measure: Any) -> list[list[int]]:
    plan = Plan(relation=Base(table.name), aggregates=(Aggregate(kind="count", name="count"),))
    needs = [Measurement(measure=measure, columns=(Column("x"),), answers=())]
    with open_engine({table.name: table}) as engine:
        (found,) = engine.summaries(plan, needs, ContributionBounds(), (1, 2), Cells.product([]))
    return found.tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("type_", ["numeric", "numeric(1000, 500)"])
def test_decimals_of_any_size_are_numbers(postgres: str, type_: str) -> None:
    values = "'0.5', '1e400', '-1e400', '1e-400', '2.25', 'NaN', NULL"
    if type_ != "numeric":
        values = values.replace("1e-400", "1e-490")
    kind = cl.Real(0, 10, grid="0.25")
    assert totals(made(postgres, values, type_, kind), FirstMoments(kind.axis)) == [
        [2 + 40 + 0 + 0 + 9, 38 + 0 + 40 + 40 + 31]
    ]


def test_infinite_decimals_have_no_value(postgres: str) -> None:
    kind = cl.Integer(0, 10)
    values = "'Infinity', '-Infinity', 'NaN', '7.5', '2.49'"
    assert totals(made(postgres, values, "numeric", kind), FirstMoments(kind.axis)) == [[8 + 2, 2 + 8]]
    assert totals(made(postgres, "'NaN', '99999999999999999999', '3'", "numeric(20, 0)", kind), RowCount()) == [[2]]


@pytest.mark.parametrize("type_", ["date", "timestamp", "timestamptz"])
def test_infinite_and_distant_dates(postgres: str, type_: str) -> None:
    far = "'5874897-12-31'" if type_ == "date" else "'294276-12-31'"
    values = f"'infinity', '-infinity', '2020-01-03', {far}, '4713-01-01 BC', NULL"
    kind = cl.Date("2020-01-01", "2020-01-11")
    assert totals(made(postgres, values, type_, kind), FirstMoments(kind.axis)) == [[2 + 10 + 0, 8 + 0 + 10]]
    when = cl.Timestamp("2020-01-01", "2020-01-11")
    day = 86_400
    assert totals(made(postgres, values, type_, when), FirstMoments(when.axis)) == [[12 * day, 18 * day]]


def test_times_with_a_zone_are_instants(postgres: str) -> None:
    kind = cl.Timestamp("1969-12-31", "1970-01-02")
    values = "'1970-01-01 00:00:00.9+00', '1969-12-31 19:00:00-05', '1969-12-31 23:59:59.999999+00'"
    assert totals(made(postgres, values, "timestamptz", kind), Total(kind.axis)) == [[0 + 0 - 1]]


def test_padded_texts_are_categories(postgres: str) -> None:
    table = made(postgres, "'F', 'M', 'F', 'X'", "char(5)", cl.Category("F", "M"))
    plan = Plan(
        relation=Base(table.name),
        keys=(Key(name="x", expression=Column("x")),),
        aggregates=(Aggregate(kind="count", name="count"),),
    )
    with open_engine({table.name: table}) as engine:
        needs = [Measurement(measure=RowCount(), columns=(), answers=())]
        (found,) = engine.summaries(plan, needs, ContributionBounds(cells=2), (1, 2), Cells.product([("F", "M")]))
    assert found.tolist() == [[2], [1]]


def test_subnormal_numbers_do_not_underflow(postgres: str) -> None:
    kind = cl.Real(-(10**30), 10**30, grid=10**22)
    assert totals(
        made(postgres, "'5e-324', '-5e-324', '1e22', '1.7e308'", "double precision", kind), Total(kind.axis)
    ) == [[1 + 10**8]]


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("bigint", cl.Date("2020-01-01", "2020-02-01")),
        ("date", cl.Real(0, 1)),
        ("double precision", cl.Category("F", "M")),
        ("int[]", cl.Integer(0, 10)),
    ],
)
def test_types_that_cannot_serve_are_refused(postgres: str, type_: str, kind: cl.data.Kind) -> None:
    table = made(postgres, "NULL", type_, kind)
    plan = Plan(relation=Base(table.name), aggregates=(Aggregate(kind="count", name="n", columns=(Column("x"),)),))
    with pytest.raises(SchemaError, match="'x'"), open_engine({table.name: table}) as engine:
        engine.check(plan)


@pytest.mark.parametrize("type_", ["double precision[]", "date", "numeric"])
def test_persons_are_whole_numbers_or_texts(postgres: str, type_: str) -> None:
    limits = {"max_groups_per_person": 1, "max_rows_per_group": 1}
    table = made(postgres, "NULL", "bigint", cl.Integer(0, 10), person="who", **limits)
    executed(postgres, f'ALTER TABLE "{table.name}" DROP COLUMN who; ALTER TABLE "{table.name}" ADD COLUMN who {type_}')
    with pytest.raises(SchemaError, match="person column 'who'"):
        open_engine({table.name: table})


def test_a_missing_column_or_table_is_refused(postgres: str) -> None:
    table = made(postgres, "'1'", "bigint", cl.Integer(0, 10))
    gone = dataclasses.replace(table, schema=cl.Schema(y=cl.Integer(0, 10)))
    with pytest.raises(SchemaError, match="has no column 'y'"):
        open_engine({table.name: gone})
    executed(postgres, f'DROP TABLE "{table.name}"')
    with pytest.raises(EngineError) as caught:
        open_engine({table.name: table})
    assert caught.value.__context__ is None


def test_errors_do_not_repeat_messages_of_the_database(postgres: str) -> None:
    table = made(postgres, "'1'", "bigint", cl.Integer(0, 10))
    plan = Plan(relation=Base(table.name), aggregates=(Aggregate(kind="count", name="count"),))
    with open_engine({table.name: table}) as engine:
        executed(postgres, f'DROP TABLE "{table.name}"')
        needs = [Measurement(measure=RowCount(), columns=(), answers=())]
        for _ in range(2):
            with pytest.raises(EngineError, match="could not run") as caught:
                engine.summaries(plan, needs, ContributionBounds(), (1, 2), Cells.product([]))
            assert caught.value.__context__ is None
            assert table.name not in str(caught.value)


def test_an_address_that_does_not_answer_shows_no_password() -> None:
    url = "postgresql://ana:hunter2@127.0.0.1:1/none"
    with pytest.raises(EngineError) as caught:
        open_engine({"t": cl.table(url, name="t", schema=cl.Schema(x=cl.Integer(0, 1)))})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__context__ is None


def test_queries_can_only_read(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(postgres, "'1'", "bigint", cl.Integer(0, 10))
    engine = PostgresEngine({table.name: table})
    deleting = f'DELETE FROM "{table.name}" RETURNING x'
    monkeypatch.setattr("celosia.query.engines.postgres_compiler.compile_query", lambda _: deleting)
    with pytest.raises(Exception, match=r"read-only|DELETE"):
        list(engine.run(engine.raw(table.name)))
    assert executed(postgres, f'SELECT count(*) FROM "{table.name}"') == [(1,)]
    engine.close()


def test_nothing_is_left_behind(postgres: str) -> None:
    before = executed(postgres, "SELECT relname FROM pg_class ORDER BY relname")
    connections = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    table = made(postgres, "'1'", "bigint", cl.Integer(0, 10))
    totals(table, RowCount())
    executed(postgres, f'DROP TABLE "{table.name}"')
    assert executed(postgres, "SELECT relname FROM pg_class ORDER BY relname") == before
    assert executed(postgres, connections) == [(1,)]


def test_tables_must_be_in_one_database(postgres: str) -> None:
    table = made(postgres, "'1'", "bigint", cl.Integer(0, 10))
    other = dataclasses.replace(table, source=Database(f"{postgres}&application_name=other", table.name))
    with pytest.raises(QueryError, match="different databases"):
        open_engine({"a": table, "b": other})
    file = cl.table(pa.table({"x": [1]}), schema=cl.Schema(x=cl.Integer(0, 1)), name="c")
    with pytest.raises(QueryError, match="different places"):
        open_engine({"a": table, "c": file})


def test_an_ibis_table_is_queried_on_its_own_connection(postgres: str) -> None:
    import ibis

    table = made(postgres, "'1', '5', '99'", "bigint", cl.Integer(0, 10))
    backend = ibis.connect(postgres)
    given = cl.table(backend.table(table.name), schema=table.schema, name="t")
    assert totals(given, Total(cl.Integer(0, 10).axis)) == [[16]]
    assert backend.table(table.name).count().to_pyarrow().as_py() == 3
    backend.disconnect()


def test_long_results_come_in_batches(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("celosia.query.engines.postgres._BATCH_ROWS", 3)
    name = f"t{next(NUMBERS)}"
    executed(postgres, f'CREATE TABLE "{name}" AS SELECT (i % 10)::text AS x FROM generate_series(1, 25) i')
    table = cl.table(postgres, name=name, schema=cl.Schema(x=cl.Text()))
    plan = Plan(
        relation=Base(name),
        keys=(Key(name="x", expression=Column("x")),),
        aggregates=(Aggregate(kind="count", name="count"),),
    )
    with open_engine({name: table}) as engine:
        batches = list(engine.key_counts(plan, ContributionBounds(cells=5), (1, 2)))
    assert [batch.num_rows for batch in batches] == [3, 3, 3, 1]
    units = np.concatenate([batch.column("units").to_numpy() for batch in batches])
    assert units.sum() == 25


def test_small_tables_travel_in_the_query() -> None:
    import ibis

    table = pa.table({"key": ["a'b", "ñ", None], "code": pa.array([1, 2, 3], pa.int64())})
    text = ibis.to_sql(PostgresDialect().small_table(table), dialect="postgres")
    assert "a''b" in text
    assert "CREATE" not in text


@pytest.fixture
def persons(postgres: str) -> Table:
    """Persons whose rows have codes and texts; only the first code is in the public table."""
    name = f"t{next(NUMBERS)}"
    executed(postgres, f'CREATE TABLE "{name}" (who integer, c text, t text, x bigint)')
    rows = [(1, "a", "u", -3), (1, "a", "v", 4), (2, "b", "u", 5), (2, "b", "u", 7)]
    executed(postgres, f'INSERT INTO "{name}" VALUES (%s, %s, %s, %s)', *rows)
    schema = cl.Schema(c=cl.Category("a", "b", "z"), t=cl.Text(), x=cl.Integer(-9, 9))
    return cl.table(postgres, name=name, schema=schema, person="who", max_groups_per_person=3, max_rows_per_group=1)


@pytest.mark.parametrize("code", ["a", "z"])
def test_integers_of_a_public_table_have_64_bits(persons: Table, code: str) -> None:
    """They did not, and a question was an error if some row met one of them, and answered if none did."""
    book = pa.table({"code": [code], "w": [9]})
    schema = cl.Schema(code=cl.Category("a", "b", "z"), w=cl.Integer(0, 9))
    public = cl.table(book, schema=schema, name="k", public=True, key="code")
    relation = Join(left=Base(persons.name), right=Base("k"), on=(("c", "code"),))
    keys = tuple(Key(name=name, expression=Column(name)) for name in ("t", "w"))
    keyed, plain = (
        Plan(relation=relation, keys=some, aggregates=(Aggregate(kind="count", name="n"),)) for some in (keys, ())
    )
    distinct = Measurement(measure=Distinct(), columns=(Column("w"),), answers=(), distinct="values")
    bounding = ContributionBounds(unit="person")
    with open_engine({persons.name: persons, "k": public}) as engine:
        batches = list(engine.key_counts(keyed, dataclasses.replace(bounding, groups=3, cells=9), (1, 2)))
        (found,) = engine.summaries(plain, [distinct], bounding, (1, 2), Cells.product([]))
    counted = sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())
    assert counted == ([("u", 9, 1), ("v", 9, 1)] if code == "a" else [])
    assert found.tolist() == [[code == "a"]]


def test_averages_of_negative_numbers_are_integers(postgres: str) -> None:
    """They were doubles, because sign() gives one there: sums of many persons were rounded to 15 digits."""
    import ibis

    total = ibis.literal(-(2**61) - 1).cast("decimal(38, 0)")
    average = average_down(total, integer_literal(1), 1, (-(2**62), 2**62))
    kind = engine_function("pg_typeof", ("int64",), "string")(average)
    query = ibis.to_sql(kind.name("type").as_table().mutate(x=average), dialect="postgres")
    assert executed(postgres, str(query)) == [("bigint", -(2**61) - 1)]


def test_a_public_table_may_be_empty_and_of_any_type(persons: Table) -> None:
    rows = pa.table(
        {
            "code": pa.array([], pa.string()),
            "w": pa.array([], pa.uint64()),
            "v": pa.array([], pa.float32()),
            "day": pa.array([], pa.date32()),
        }
    )
    schema = cl.Schema(
        code=cl.Category("a"), w=cl.Integer(0, 9), v=cl.Real(0, 1), day=cl.Date("2020-01-01", "2020-12-31")
    )
    public = cl.table(rows, schema=schema, name="k", public=True, key="code")
    relation = Join(left=Base(persons.name), right=Base("k"), on=(("c", "code"),), how="left")
    plan = Plan(relation=relation, aggregates=(Aggregate(kind="count", name="n"),))
    needs = [Measurement(measure=RowCount(), columns=(Column(name),), answers=()) for name in ("x", "w", "v", "day")]
    with open_engine({persons.name: persons, "k": public}) as engine:
        found = engine.summaries(plan, needs, ContributionBounds(rows=9, unit="person"), (1, 2), Cells.product([]))
    assert [array.tolist() for array in found] == [[[4]], [[0]], [[0]], [[0]]]


def test_numbers_of_a_public_table_travel_with_their_types() -> None:
    import ibis

    rows = pa.table(
        {
            "w": pa.array([3, None], pa.int16()),
            "u": pa.array([2**64 - 1, 0], pa.uint64()),
            "v": pa.array([0.5, float("nan")], pa.float32()),
        }
    )
    text = ibis.to_sql(PostgresDialect().small_table(rows), dialect="postgres")
    for part in ("'{3,NULL}' AS BIGINT[]", "'18446744073709551615' AS DECIMAL(20, 0)", "'{0.5,nan}' AS DOUBLE"):
        assert part in text, text


def test_a_session_asks_a_database(postgres: str) -> None:
    rows = people()
    executed(
        postgres,
        "CREATE TABLE face (person_id bigint, age bigint, weight double precision, sex text, cause text, town text)",
    )
    placed = "INSERT INTO face VALUES (%s, %s, %s, %s, %s, %s)"
    executed(postgres, placed, *zip(*(column.to_pylist() for column in rows.columns), strict=True))
    ask_everything(cl.table(postgres, name="face", schema=SCHEMA, person="person_id", **LIMITS))
