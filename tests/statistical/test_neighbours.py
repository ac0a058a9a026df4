"""The guarantee of a query: one unit more, less or other changes the exact summaries by what the event says.

Random schemas, plans and tables with their neighbours go through DuckDB, PostgreSQL and Spark. Differences between
neighbours are measured with exact integers, an error in one of the worlds fails the test, and every summary is compared
with that of an oracle in plain Python. Some dozen plans run by default, thousands when tests are thorough. What
is reported of neighbours (columns, number of rows, errors, price) is the same. Then the guarantee is broken on purpose,
one piece at a time, and each break is found.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import warnings
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, seed, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core import CelosiaError, EngineError
from celosia.noise import Seeded
from celosia.query.builder import Query
from celosia.query.engines import ibis as ibis_engine
from celosia.query.engines import postgres as postgres_engine
from celosia.query.execution import clean, hashing, person_level
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, PerPerson, Plan, PlanDraft
from celosia.query.session import Session
from celosia.statistics import ContributionBounds, RowSensitivity, Sensitivity
from tests.query.asking import (
    CONDITIONS,
    NUMBERS,
    PRIVATE_KEYS,
    PUBLIC_KEYS,
    drawn_columns,
    frame,
    is_refused,
    person_worlds,
    public_table,
    row_worlds,
)
from tests.query.samples import outcome
from tests.query.server_worlds import PostgresWorlds, SparkWorlds, connected
from tests.query.worlds import InWorlds, Neighbours, WorldEngine, check_neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from celosia.data.table import Table


WORLDS = {
    "rows": row_worlds(),
    "rows, private keys": row_worlds(private_keys=True),
    "persons": person_worlds(),
    "persons, private keys": person_worlds(private_keys=True),
    "public tables": person_worlds(public=True),
    "public tables, private keys": person_worlds(private_keys=True, public=True),
}
SPARK = [pytest.mark.needs_java, pytest.mark.xdist_group("spark")]
ENGINES = ["duckdb", "postgres", pytest.param("spark", marks=SPARK)]
QUICK = {"duckdb": (3, 1, 3, 1, 2, 1), "postgres": (1, 0, 1, 1, 1, 1), "spark": (0, 0, 1, 0, 1, 0)}
"""Plans of each kind of worlds."""


def law(
    worlds: st.SearchStrategy[Neighbours], examples: int, part: int, opened: Callable[..., InWorlds] = WorldEngine
) -> Callable[[], None]:
    """Return the neighbours' law as a test of its own; parts draw different examples, so that they can run at once."""

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), database=None)
    @given(worlds)
    def holds(given: Neighbours) -> None:
        assume(not is_refused(given))
        others = given.others
        if getattr(opened, "func", None) is SparkWorlds:  # there a query takes longer to run than to make
            others = others[:1]
        elif settings().derandomize:  # the last one may be of another kind
            others = [*others[:2], *others[2:][-1:]]
        check_neighbours(dataclasses.replace(given, others=others), opened, exact=True)

    return seed(part)(holds) if settings().derandomize else holds


def opener(engine: str, request: pytest.FixtureRequest) -> Callable[..., InWorlds]:
    """What opens an engine on several worlds; servers are started when they are asked for."""
    match engine:
        case "postgres":
            return functools.partial(PostgresWorlds, request.getfixturevalue("connection"))
        case "spark":
            return functools.partial(SparkWorlds, request.getfixturevalue("spark"))
        case _:
            return WorldEngine


@pytest.fixture(scope="module")
def connection(postgres: str) -> Iterator[Any]:
    with connected(postgres) as backend:
        yield backend


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        yield


@pytest.fixture(autouse=True)
def rarely_collected() -> Iterator[None]:
    """Queries are made of many small objects, and most of the time would go into looking for garbage."""
    before = gc.get_threshold()
    gc.set_threshold(500_000, 20, 20)
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_unit_changes_the_summaries_by_what_the_event_says(engine: str, request: pytest.FixtureRequest) -> None:
    for worlds, plans in zip(WORLDS.values(), QUICK[engine], strict=True):
        if plans:
            law(worlds, plans, 0, opener(engine, request))()


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("part", range(1, 5))
def test_the_same_of_thousands_of_plans(part: int, name: str, engine: str, request: pytest.FixtureRequest) -> None:
    law(WORLDS[name], 10 if engine == "spark" else 100, part, opener(engine, request))()


# ------------------------------------------------------------------------------------- errors that depend on no row


@st.composite
def hostile(draw: st.DrawFn) -> tuple[dict[str, Table], dict[str, Table], Plan]:
    """Two neighbouring tables and a plan that may well make no sense."""
    columns = draw(drawn_columns("irbcont"))
    rows, row = draw(st.lists(columns.row, max_size=4)), draw(columns.row)
    worlds = []
    for some in (rows, [*rows, row]):
        source = frame(some, columns.types)
        worlds.append({"t": cl.table(source, schema=cl.Schema(columns.kinds), name="t"), "k": public_table()})
    texts = st.sampled_from([*NUMBERS, *CONDITIONS, *PUBLIC_KEYS, *PRIVATE_KEYS])
    session = Session(list(worlds[0].values()), budget=cl.ApproxDP(epsilon=1, delta="1e-6"))
    query = Query(session=session, draft=PlanDraft(relation=Base("t")))
    try:
        asked = _garbled(draw, query, texts).plan
    except CelosiaError:  # no plan at all
        asked = query.count().plan
    return worlds[0], worlds[1], asked


def _garbled(draw: st.DrawFn, query: Query, texts: st.SearchStrategy[str]) -> Query:
    if draw(st.booleans()):
        query = query.where(draw(st.one_of(st.sampled_from(CONDITIONS), texts)))
    if draw(st.booleans()):
        keys = draw(st.none() | st.lists(st.sampled_from([1, "a", 0.5, True, "zz", -1]), max_size=2))
        query = query.group_by(k=draw(texts), keys=keys)
    for place in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(["count", "sum", "mean", "median", "mode", "count_distinct", "std", "min"]))
        query = getattr(query, kind)(draw(texts), name=f"a{place}")
    if draw(st.booleans()):
        query = query.having(draw(st.sampled_from(["a0 > 1", "a0 = 'a'", "a0 / a0 > 0", "k = 1", "k <> 'a'", "a0"])))
    if draw(st.booleans()):
        query = query.order_by(draw(st.sampled_from(["a0", "k", "a0 + 1", "-a0"]))).limit(draw(st.integers(1, 3)))
    return query


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.thorough) for part in range(1, 6))])
def test_neighbours_get_the_same_answer_or_the_same_refusal_at_the_same_price(part: int) -> None:
    examples = 12 if settings().derandomize else 100

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow], database=None)
    @given(hostile(), st.sampled_from([{"epsilon": "0.5"}, {"epsilon": 2}, {"error": 3}, {"rho": 1}]))
    def holds(drawn: tuple[dict[str, Table], dict[str, Table], Plan], target: dict[str, Any]) -> None:
        *worlds, plan = drawn
        seen = []
        for world in worlds:
            session = Session(list(world.values()), budget=cl.ApproxDP(epsilon=1, delta="1e-6"), source=Seeded(1))
            with contextlib.closing(WorldEngine(world)) as session._context.engine:
                shown: list[Any] = []
                found = outcome(lambda s=session, to=shown: to.append(s.release(plan, **target)))
            rows = [] if any(key.expression == Column("t") for key in plan.keys) else [r.value.num_rows for r in shown]
            having = plan.having is not None
            seen.append((found, [r.value.column_names for r in shown], [] if having else rows, session.spent))
            assert found[0] != "EngineError", "an engine failed where nothing is wrong with it"
        assert seen[0] == seen[1]

    (seed(part)(holds) if settings().derandomize else holds)()


# ----------------------------------------------------------------------------------------------------- broken promises

COUNT = Aggregate(kind="count", name="n")
SUM = Aggregate(kind="sum", columns=(Column("x"),), name="s")
MODE = Aggregate(kind="mode", columns=(Column("c"),), name="m")
DISTINCT = Aggregate(kind="count_distinct", columns=(Column("x"),), name="d")
BY_CATEGORY = (Key(name="c", expression=Column("c")),)
BY_TEXT = (Key(name="t", expression=Column("t")),)


def visits(people: dict[int, list[tuple[int, str]]], **options: Any) -> Table:
    rows = [(who, x, c) for who, those in people.items() for x, c in those]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("p", "x", "c"))}
    source = pa.table(
        {"p": pa.array(columns["p"], pa.int64()), "x": pa.array(columns["x"], pa.int64()), "c": columns["c"]}
    ).append_column("t", pa.array(columns["c"], pa.string()))
    schema = cl.Schema(x=cl.Integer(0, 10), c=cl.Category("a", "b", "c", "d"), t=cl.Text())
    return cl.table(source, schema=schema, name="t", **options)


def broken(plan: Plan, *, adjacency: Any = cl.AddRemove, person: bool = True) -> Neighbours:
    """Somebody with many rows in many cells and values far outside, and the world without or with somebody else."""
    options: dict[str, Any] = {"adjacency": adjacency}
    if person:
        options |= {"person": "p", "max_groups_per_person": 2, "max_rows_per_group": 1}
    others = {1: [(3, "a")], 2: [(4, "b"), (5, "b")]}
    greedy = [(x, c) for x in (10**6, 7, 9, -(10**6), 2) for c in "abcd"]
    if not person:
        greedy = [(10**6, "d")]
    second = others if adjacency is cl.AddRemove else {**others, 3: [(0, "b")]}
    first, other = (visits(people, **options) for people in ({**others, 3: greedy}, second))
    book = public_table()
    return Neighbours(plan=plan, first={"t": first, "k": book}, others=[{"t": other, "k": book}])


def plan(*aggregates: Aggregate, keys: tuple[Key, ...] = (), relation: Any = None) -> Plan:
    return Plan(relation=relation or Base("t"), keys=keys, aggregates=aggregates)


def everything(self: Any, inputs: Any) -> Any:
    return self._rows_in_cells(inputs)


def without_adjacency(self: RowSensitivity, bounding: ContributionBounds) -> Sensitivity:
    l1, l2 = bounding.groups * bounding.rows * self.l1, bounding.groups * bounding.rows**2 * self.l2_squared
    return Sensitivity(l1=l1, l2_squared=l2)


SENSITIVITY = RowSensitivity.sensitivity


def one_less(self: RowSensitivity, bounding: ContributionBounds) -> Sensitivity:
    stated = SENSITIVITY(self, bounding)
    return Sensitivity(l1=max(stated.l1 - 1, 1), l2_squared=stated.l2_squared)


def unclipped(number: Any, *_: object, **__: object) -> Any:
    return number.cast("int64")


def unchanged(table: Any, *_: object, **__: object) -> Any:
    return table


BREAKS: dict[str, tuple[Neighbours, Any]] = {
    "a person is in every cell": (
        broken(plan(COUNT, keys=BY_CATEGORY)),
        lambda: mock.patch.object(person_level.PersonLevel, "_chosen_rows", everything),
    ),
    "all rows of a person are summed": (
        broken(plan(SUM)),
        lambda: mock.patch.object(person_level, "average_down", unclipped),
    ),
    "all rows of a person are counted": (
        broken(plan(COUNT)),
        lambda: mock.patch.object(person_level, "average_down", unclipped),
    ),
    "all rows of a person are chosen among": (
        broken(plan(MODE)),
        lambda: mock.patch.object(person_level, "sample_rows", unchanged),
    ),
    "all values of a person are distinct": (
        broken(plan(DISTINCT)),
        lambda: mock.patch.object(person_level, "take_first", unchanged),
    ),
    "a person has every key": (
        broken(plan(COUNT, keys=BY_TEXT)),
        lambda: mock.patch("celosia.query.execution.bounding.take_first", unchanged),
    ),
    "a replaced person only leaves": (
        broken(plan(COUNT, keys=BY_CATEGORY), adjacency=cl.ReplaceOne),
        lambda: mock.patch.object(RowSensitivity, "sensitivity", without_adjacency),
    ),
    "a replaced row only leaves": (
        broken(plan(COUNT, keys=BY_CATEGORY), adjacency=cl.ReplaceOne, person=False),
        lambda: mock.patch.object(RowSensitivity, "sensitivity", without_adjacency),
    ),
    "a sensitivity is one too small": (
        broken(plan(COUNT, keys=BY_CATEGORY)),
        lambda: mock.patch.object(RowSensitivity, "sensitivity", one_less),
    ),
    "values are not clipped": (
        broken(plan(SUM), person=False),
        lambda: mock.patch.object(clean, "_clip_to_bounds", unclipped),
    ),
    "a subquery per person keeps all rows": (
        broken(plan(COUNT, relation=PerPerson(relation=Base("t"), columns=(("v", "count", None),)))),
        lambda: mock.patch.object(ibis_engine, "rows_of", _all_as_single),
    ),
}


def _all_as_single(relation: Any, engine: Any) -> Any:
    from celosia.query.execution.rows import rows_of

    return dataclasses.replace(rows_of(relation.relation, engine), single=True)


def test_a_broken_guarantee_is_found() -> None:
    for neighbours, breaking in BREAKS.values():
        check_neighbours(neighbours)
        with breaking(), pytest.raises(AssertionError):
            check_neighbours(neighbours)


def test_a_public_key_that_is_there_twice_is_found() -> None:
    """The checks when the table is made and when it is opened are what keeps a join from multiplying rows."""
    relation = Join(left=Base("t"), right=Base("k"), on=(("c", "code"),))
    given = broken(plan(COUNT, relation=relation), person=False)
    twice = pa.table({"code": ["d", "d"], "w": [1, 2]})
    schema = cl.Schema(code=cl.Category("a", "d"), w=cl.Integer(0, 5))
    with mock.patch("celosia.data.table.check_key"):
        book = cl.table(twice, schema=schema, name="k", public=True, key="code")
    worlds = [{**world, "k": book} for world in (given.first, *given.others)]
    unchecked = mock.patch("celosia.query.engines.ibis.check_public_key")
    with unchecked, pytest.raises(AssertionError):
        check_neighbours(Neighbours(plan=given.plan, first=worlds[0], others=worlds[1:]))


def _bare_array(column: Any) -> Any:
    import ibis

    return ibis.literal(column.to_pylist(), type=f"array<{ibis.dtype(column.type)}>")


def _bare_constant(constant: Any, _: object) -> Any:
    return constant


@contextlib.contextmanager
def _narrow() -> Iterator[None]:
    """Numbers travel bare, as 32 bits."""
    with (
        mock.patch.object(postgres_engine, "_array_literal", _bare_array),
        mock.patch.object(hashing, "_as_literal", _bare_constant),
        mock.patch.object(clean, "integer_literal", _bare),
    ):
        yield


def _bare(value: int) -> Any:
    import ibis

    return ibis.literal(value, type="int64")


MUTANTS = [
    ("duckdb", "persons", "all rows of a person are counted"),
    ("duckdb", "rows", "values are not clipped"),
    ("postgres", "public tables", "numbers of 32 bits"),
    ("postgres", "public tables, private keys", "numbers of 32 bits"),
    pytest.param("duckdb", "rows", "a sensitivity is one too small", marks=pytest.mark.thorough),
    pytest.param("duckdb", "rows", "a replaced row only leaves", marks=pytest.mark.thorough),
    pytest.param("duckdb", "persons", "a person is in every cell", marks=pytest.mark.thorough),
]


def _is_broken(given: Neighbours, opened: Callable[..., InWorlds]) -> bool:
    if is_refused(given):
        return False
    try:
        check_neighbours(given, opened, exact=True)
    except (AssertionError, EngineError):
        return True
    return False


@pytest.mark.parametrize(("engine", "worlds", "mutant"), MUTANTS)
def test_random_worlds_find_it_too(engine: str, worlds: str, mutant: str, request: pytest.FixtureRequest) -> None:
    breaking = _narrow if mutant == "numbers of 32 bits" else BREAKS[mutant][1]
    limits = settings(
        max_examples=200, phases=[Phase.generate], derandomize=True, suppress_health_check=list(HealthCheck)
    )
    opened = opener(engine, request)
    with breaking():
        assert find(WORLDS[worlds], lambda given: _is_broken(given, opened), settings=limits) is not None
