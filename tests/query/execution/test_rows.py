"""Relations as rows of an engine, value by value as the reference has them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import QueryError
from celosia.data.schema.axis import Axis
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.execution.row_level import decode_labels
from celosia.query.execution.rows import PERSON, rows_of
from celosia.query.plan.expressions import Column, kind_of
from celosia.query.plan.nodes import Base, Join, PerPerson, Projection
from celosia.query.sql.expressions import parse_expression
from celosia.testing.engines.reference_rows import clean_rows
from celosia.testing.engines.tables import SCHEMA, nasty_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.query.plan.expressions import Expression
    from celosia.query.plan.nodes import Relation

TABLES = nasty_tables()
PEOPLE = Base("people")
NEW = (
    ("half", parse_expression("weight / 2")),
    ("sex", Column("sex")),
    ("born", Column("born")),
    ("flag", Column("flag")),
)


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine(TABLES) as opened:
        yield opened


def values(
    engine: DuckDBEngine, relation: Relation, *expressions: Expression, where: Expression | None = None
) -> Counter[Any]:
    """The values of expressions in all rows, with whose they are, in any order."""
    rows = rows_of(relation, engine).where(where)
    made = {f"v{place}": rows.value(expression) for place, expression in enumerate(expressions)}
    who = {PERSON: rows.table[PERSON]} if rows.persons else {}
    batches = list(engine.run(rows.table.select(**who, **made)))
    kinds = [kind_of(expression, rows.kinds) for expression in expressions]
    columns = []
    for place, kind in enumerate(kinds):
        column = pa.concat_arrays([batch.column(f"v{place}") for batch in batches]) if batches else pa.array([])
        as_is = isinstance(kind, cl.Real | cl.Boolean)  # already values, and not numbers that stand for them
        columns.append((column if as_is else decode_labels(column, kind)).to_pylist())
    persons = [person for batch in batches for person in batch.column(PERSON).to_pylist()] if rows.persons else None
    return Counter(zip(persons or [None] * len(columns[0]), *columns, strict=True))


def expected(relation: Relation, *expressions: Expression, where: Expression | None = None) -> Counter[Any]:
    rows = clean_rows(relation, TABLES).where(where)
    return Counter(zip(rows.persons, *(rows.values(expression) for expression in expressions), strict=True))


@pytest.mark.parametrize("name", SCHEMA)
def test_columns_are_clean(engine: DuckDBEngine, name: str) -> None:
    assert values(engine, Base("visits"), Column(name)) == expected(Base("visits"), Column(name))


@pytest.mark.parametrize("table", ["people", "texts"])
def test_rows_without_a_person_are_dropped(engine: DuckDBEngine, table: str) -> None:
    assert values(engine, Base(table), Column("age")) == expected(Base(table), Column("age"))


@pytest.mark.parametrize(
    "text",
    [
        "sex = 'F'",
        "sex IN ('F', 'ñandú') AND age > 10",
        "sex = 'F' OR level = 'low'",
        "NOT (sex = 'F')",
        "NOT (sex IN ('F', 'M') AND alive)",
        "(sex = 'F') IS NULL",
        "level = 'low' AND code IN (1, 2)",
        "sex <> 'F'",
    ],
)
def test_filters_keep_what_is_true(engine: DuckDBEngine, text: str) -> None:
    condition = parse_expression(text)
    found = values(engine, PEOPLE, Column("sex"), Column("age"), where=condition)
    assert found == expected(PEOPLE, Column("sex"), Column("age"), where=condition)
    assert 0 < found.total() < 225


@pytest.mark.parametrize(
    "relation",
    [
        Projection(relation=PEOPLE, columns=NEW),
        Projection(relation=Base("visits"), columns=NEW, filter=parse_expression("age < 100")),
        Projection(
            relation=Projection(relation=PEOPLE, columns=NEW),
            columns=(("sex", Column("sex")), ("half", parse_expression("half + 1"))),
        ),
    ],
)
def test_subqueries_hand_on_clean_columns(engine: DuckDBEngine, relation: Relation) -> None:
    names = [Column(name) for name in cl.query.plan.relations.columns_of(relation, TABLES)]
    assert values(engine, relation, *names) == expected(relation, *names)


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize(
    "join",
    [
        {"left": PEOPLE, "right": Base("book"), "on": (("code", "code"),)},
        {"left": PEOPLE, "right": Base("notes"), "by": "person"},
        {"left": Projection(relation=PEOPLE, columns=NEW), "right": Base("notes"), "by": "person"},
    ],
    ids=["public", "private", "subquery"],
)
def test_joins_put_rows_side_by_side(engine: DuckDBEngine, join: dict[str, Any], how: str) -> None:
    relation = Join(**join, how=how)
    wanted = ["sex", "title", "factor"] if "on" in join else ["sex", "score"]
    names = [Column(name) for name in wanted]
    assert values(engine, relation, *names) == expected(relation, *names)


def test_columns_of_both_sides_go_by_their_table(engine: DuckDBEngine) -> None:
    relation = Join(left=PEOPLE, right=Base("book"), on=(("code", "code"),))
    names = [Column("people.code"), Column("book.code")]
    assert values(engine, relation, *names) == expected(relation, *names)


def test_a_table_joined_with_itself_is_refused(engine: DuckDBEngine) -> None:
    with pytest.raises(QueryError):
        rows_of(Join(left=PEOPLE, right=PEOPLE, by="person"), engine)


def test_a_person_becomes_one_row(engine: DuckDBEngine) -> None:
    columns = (
        ("n", "count", None),
        ("known", "count", Column("weight")),
        ("most", "max", Column("weight")),
        ("first", "min", Column("seen")),
        ("ages", "sum", Column("age")),
        ("lived", "min", Column("alive")),
    )
    relation = PerPerson(relation=PEOPLE, columns=columns, filter=parse_expression("age > 3"))
    names = [Column(name) for name, _, _ in columns]
    assert values(engine, relation, *names) == expected(relation, *names)
    assert rows_of(relation, engine).single
    joined = Join(left=relation, right=Base("notes"), by="person")
    assert not rows_of(joined, engine).single


def test_labels_of_categories_are_raw_where_that_is_enough(engine: DuckDBEngine) -> None:
    rows = rows_of(Base("visits"), engine)
    assert rows.label(Column("sex")).get_name() == rows.names["sex"]
    assert rows.label(Column("level")).get_name() != rows.names["level"]  # its null rule puts something in


def test_only_numbers_and_ordered_categories_have_steps(engine: DuckDBEngine) -> None:
    with pytest.raises(QueryError, match="Text is not a number"):
        rows_of(Base("visits"), engine).step(Column("city"), Axis(0, 1, SCHEMA["age"].axis.grid))  # type: ignore[union-attr]


def _number(relation: Relation, engine: DuckDBEngine) -> int:
    table = rows_of(relation, engine).table
    (batch,) = engine.run(table.aggregate(number=table.count()))
    return int(batch["number"][0].as_py())


@pytest.mark.parametrize("declared", [1, 20])
def test_a_join_on_the_person_cannot_grow_without_end(declared: int) -> None:
    # A person with 1,000 rows, four times side by side: 10^12 rows without a cap.
    rows = pa.table({"who": [1] * 1000 + [2, 3], "cost": [7] * 1002})
    limits = {"max_groups_per_person": declared, "max_rows_per_group": declared}
    visits = cl.table(rows, schema=cl.Schema(cost=cl.Integer(0, 9)), name="visits", person="who", **limits)  # type: ignore[arg-type]
    relation: Relation = Projection(relation=Base("visits"), columns=(("c0", Column("cost")),))
    for place in range(1, 5):
        other = Projection(relation=Base("visits"), columns=((f"c{place}", Column("cost")),))
        relation = Join(left=relation, right=other, by="person")
    with DuckDBEngine({"visits": visits}) as engine:
        if declared == 1:
            assert _number(relation, engine) == 256 * 256 + 2
        else:  # what is declared to count is never cut
            side = Join(
                left=Projection(relation=Base("visits"), columns=(("a", Column("cost")),)),
                right=Projection(relation=Base("visits"), columns=(("b", Column("cost")),)),
                by="person",
            )
            assert _number(side, engine) == 400 * 400 + 2
