"""The promise of a query, at its root: one unit more, less or other changes the exact summaries by what the event says.

Two thousand random schemas, questions and tables with their neighbours go through the engine; differences are measured
with exact integers. What is reported of neighbours (columns, number of rows, errors, price) is the same. Then the
promise is broken on purpose, one piece at a time, and each break is found.
"""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, seed, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core import CelosiaError
from celosia.noise import Seeded
from celosia.query import clean, ibis_engine, person_level
from celosia.query.builder import Query
from celosia.query.expressions import Column
from celosia.query.plan import Aggregate, Base, Joined, Key, PerPerson, Plan
from celosia.query.question import question_of
from celosia.query.session import Session
from celosia.statistics import Bounding, Footprint, Sensitivity
from tests.query import oracle
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
from tests.query.worlds import Neighbours, WorldEngine, check_neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from celosia.data.table import Table


def law(worlds: st.SearchStrategy[Neighbours], examples: int, part: int) -> Callable[[], None]:
    """Return the neighbours' law as a test of its own; parts draw different examples, so that they can run at once."""

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow], database=None)
    @given(worlds)
    def holds(given: Neighbours) -> None:
        assume(not is_refused(given))
        check_neighbours(given)

    return seed(part)(holds) if settings().derandomize else holds


@pytest.fixture(autouse=True)
def rarely_collected() -> Iterator[None]:
    """Queries are made of many small objects, and most of the time would go into looking for garbage."""
    before = gc.get_threshold()
    gc.set_threshold(500_000, 20, 20)
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize("part", range(11))
def test_one_row_changes_the_summaries_by_what_the_event_says(part: int) -> None:
    law(row_worlds(), 100, part)()


@pytest.mark.parametrize("part", range(2))
def test_one_row_changes_private_keys_by_what_the_event_says(part: int) -> None:
    law(row_worlds(private_keys=True), 100, part)()


@pytest.mark.parametrize("part", range(11))
def test_one_person_changes_the_summaries_by_what_the_event_says(part: int) -> None:
    law(person_worlds(), 50, part)()


@pytest.mark.parametrize("part", range(3))
def test_one_person_changes_private_keys_by_what_the_event_says(part: int) -> None:
    law(person_worlds(private_keys=True), 50, part)()


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(row_worlds())
def test_the_exact_summaries_of_rows_are_those_of_plain_python(given: Neighbours) -> None:
    assume(isinstance(given.plan.relation, Base) and not is_refused(given))
    question, table = question_of(given.plan, given.first), given.others[0]["t"]
    assert question.cells is not None
    assume(len(question.cells) * sum(need.measure.width for need in question.needs) < 100_000)  # Python takes its time
    with WorldEngine({"t": table}) as engine:
        (found,) = engine.summaries_of_all(question, question.needs, question.cells)
    for one, other in zip(found, oracle.summaries(question, table), strict=True):
        assert one.tolist() == other.tolist()


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
    query = Query(session=session, relation=Base("t"))
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


@pytest.mark.parametrize("part", range(2))
def test_neighbours_get_the_same_answer_or_the_same_refusal_at_the_same_price(part: int) -> None:
    @settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow], database=None)
    @given(hostile(), st.sampled_from([{"epsilon": "0.5"}, {"epsilon": 2}, {"error": 3}, {"rho": 1}]))
    def holds(drawn: tuple[dict[str, Table], dict[str, Table], Plan], target: dict[str, Any]) -> None:
        *worlds, plan = drawn
        seen = []
        for world in worlds:
            session = Session(list(world.values()), budget=cl.ApproxDP(epsilon=1, delta="1e-6"), source=Seeded(1))
            with contextlib.closing(WorldEngine(world)) as session._engine:
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


def visits(people: dict[int, list[tuple[int, str]]], **options: Any) -> Table:  # noqa: ANN401 - of table()
    rows = [(who, x, c) for who, those in people.items() for x, c in those]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("p", "x", "c"))}
    source = pa.table(
        {"p": pa.array(columns["p"], pa.int64()), "x": pa.array(columns["x"], pa.int64()), "c": columns["c"]}
    ).append_column("t", pa.array(columns["c"], pa.string()))
    schema = cl.Schema(x=cl.Integer(0, 10), c=cl.Category("a", "b", "c", "d"), t=cl.Text())
    return cl.table(source, schema=schema, name="t", **options)


def broken(plan: Plan, *, adjacency: Any = cl.AddRemove, person: bool = True) -> Neighbours:  # noqa: ANN401 - an adjacency
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


def plan(*aggregates: Aggregate, keys: tuple[Key, ...] = (), relation: Any = None) -> Plan:  # noqa: ANN401 - a relation
    return Plan(relation=relation or Base("t"), keys=keys, aggregates=aggregates)


def everything(self: Any, inputs: Any) -> Any:  # noqa: ANN401 - a method of PersonLevel
    return self._in_cells(inputs)


def without_adjacency(self: Footprint, bounding: Bounding) -> Sensitivity:
    l1, l2 = bounding.groups * bounding.rows * self.l1, bounding.groups * bounding.rows**2 * self.l2_squared
    return Sensitivity(l1=l1, l2_squared=l2)


def unclipped(number: Any, *_: object, **__: object) -> Any:  # noqa: ANN401 - an Ibis value
    return number.cast("int64")


def unchanged(table: Any, *_: object, **__: object) -> Any:  # noqa: ANN401 - an Ibis table
    return table


BREAKS: dict[str, tuple[Neighbours, Any]] = {
    "a person is in every cell": (
        broken(plan(COUNT, keys=BY_CATEGORY)),
        lambda: mock.patch.object(person_level.PersonLevel, "_chosen", everything),
    ),
    "all rows of a person are summed": (
        broken(plan(SUM)),
        lambda: mock.patch.object(person_level, "averaged", unclipped),
    ),
    "all rows of a person are counted": (
        broken(plan(COUNT)),
        lambda: mock.patch.object(person_level, "averaged", unclipped),
    ),
    "all rows of a person are chosen among": (
        broken(plan(MODE)),
        lambda: mock.patch.object(person_level, "sampled_rows", unchanged),
    ),
    "all values of a person are distinct": (
        broken(plan(DISTINCT)),
        lambda: mock.patch.object(person_level, "first_in_order", unchanged),
    ),
    "a person has every key": (
        broken(plan(COUNT, keys=BY_TEXT)),
        lambda: mock.patch("celosia.query.bounding.first_in_order", unchanged),
    ),
    "a replaced person only leaves": (
        broken(plan(COUNT, keys=BY_CATEGORY), adjacency=cl.ReplaceOne),
        lambda: mock.patch.object(Footprint, "sensitivity", without_adjacency),
    ),
    "a replaced row only leaves": (
        broken(plan(COUNT, keys=BY_CATEGORY), adjacency=cl.ReplaceOne, person=False),
        lambda: mock.patch.object(Footprint, "sensitivity", without_adjacency),
    ),
    "values are not clipped": (
        broken(plan(SUM), person=False),
        lambda: mock.patch.object(clean, "_inside", unclipped),
    ),
    "a subquery per person keeps all rows": (
        broken(plan(COUNT, relation=PerPerson(relation=Base("t"), columns=(("v", "count", None),)))),
        lambda: mock.patch.object(ibis_engine, "rows_of", _all_as_single),
    ),
}


def _all_as_single(relation: Any, engine: Any) -> Any:  # noqa: ANN401 - as rows_of
    import dataclasses

    from celosia.query.rows import rows_of

    return dataclasses.replace(rows_of(relation.relation, engine), single=True)


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_promise_is_found(name: str) -> None:
    neighbours, breaking = BREAKS[name]
    check_neighbours(neighbours)
    with breaking(), pytest.raises(AssertionError):
        check_neighbours(neighbours)


def test_a_public_key_that_is_there_twice_is_found() -> None:
    """The check when the table is made is what keeps a join from multiplying rows."""
    relation = Joined(left=Base("t"), right=Base("k"), on=(("c", "code"),))
    given = broken(plan(COUNT, relation=relation), person=False)
    twice = pa.table({"code": ["d", "d"], "w": [1, 2]})
    schema = cl.Schema(code=cl.Category("a", "d"), w=cl.Integer(0, 5))
    with mock.patch("celosia.data.table.check_key"):
        book = cl.table(twice, schema=schema, name="k", public=True, key="code")
    worlds = [{**world, "k": book} for world in (given.first, *given.others)]
    with pytest.raises(AssertionError):
        check_neighbours(Neighbours(plan=given.plan, first=worlds[0], others=worlds[1:]))


def _is_broken(given: Neighbours) -> bool:
    if is_refused(given):
        return False
    try:
        check_neighbours(given)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize(
    ("worlds", "breaking", "examples"),
    [
        (person_worlds(), "a person is in every cell", 200),
        (person_worlds(), "all rows of a person are counted", 200),
        (row_worlds(), "a replaced row only leaves", 200),
        (row_worlds(), "values are not clipped", 200),
    ],
)
def test_random_worlds_find_it_too(worlds: st.SearchStrategy[Neighbours], breaking: str, examples: int) -> None:
    limits = settings(
        max_examples=examples, phases=[Phase.generate], derandomize=True, suppress_health_check=list(HealthCheck)
    )
    with BREAKS[breaking][1]():
        assert find(worlds, _is_broken, settings=limits) is not None
