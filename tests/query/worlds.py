"""Neighbouring worlds: the same tables with one person or row more, less or other, behind one engine.

Making a query takes far longer than running it on a few rows, so the engine here makes it once and runs it in every
world, exchanging the rows. The connection is shared by all tests of a process.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from celosia.core import ZCDP, AddRemove, ApproxDP, PureDP
from celosia.noise import Seeded
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.engines.ibis import IbisEngine
from celosia.query.execution import person_level, row_level
from celosia.query.execution.row_level import Sums
from celosia.query.plan.relations import tables_of
from celosia.query.planning.analysis import AnalyzedPlan, analyze_plan
from celosia.query.planning.cells import Cells
from celosia.query.planning.strategy import Strategy, read_target, strategy_for
from celosia.query.session import Session
from celosia.statistics import Measure
from celosia.statistics.selection import ranks
from tests.query import oracle_plans
from tests.query.samples import Pretending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from ibis.expr import types as ir
    from numpy.typing import NDArray

    from celosia.data.table import Table
    from celosia.query.plan.nodes import Plan
    from celosia.query.planning.measurements import Measurement
    from celosia.statistics import Sensitivity

    Tables = Mapping[str, Table]

SECRET = (1, 2, 3, 4)
_SLOW = 100_000  # numbers that plain Python need not compute
_WIDE = 10_000  # numbers in a summary from which a choice takes long


@functools.cache
def shared_backend() -> Any:
    import ibis

    return ibis.duckdb.connect(threads=1)  # for a few rows


class WorldSums:
    """Replaces the engine's sums: one for each world; ``now`` is the world that is being read."""

    worlds = 1
    now = 0

    def __init__(self, cells: int, width: int) -> None:
        self._each = [Sums(cells, width) for _ in range(WorldSums.worlds)]

    def add(self, places: NDArray[np.int64], columns: int | NDArray[np.int64], values: NDArray[Any]) -> None:
        self._each[WorldSums.now].add(places, columns, values)

    @property
    def array(self) -> NDArray[Any]:
        return np.stack([sums.array for sums in self._each])


class InWorlds(IbisEngine):
    """An engine that makes each query once and runs it in every world, one after another."""

    def __init__(self, *worlds: Tables) -> None:
        self.worlds = worlds
        super().__init__(worlds[0])

    def enter(self, world: int) -> None:
        """Put the rows of a world where those of the first one were."""
        raise NotImplementedError

    def compiled_once(self, query: Any) -> AbstractContextManager[object]:
        """Make the text of a query once, for all worlds."""
        return mock.patch.object(self.backend, "compile", return_value=self.backend.compile(query))

    def execute(self, query: ir.Table, *args: Any, **kwargs: Any) -> Iterator[pa.RecordBatch]:
        with self.compiled_once(query):
            for WorldSums.now in range(len(self.worlds)):
                self.enter(WorldSums.now)
                yield from super().execute(query, *args, **kwargs)

    def summaries_of_all(
        self, question: AnalyzedPlan, needs: Sequence[Measurement], cells: Cells
    ) -> list[tuple[NDArray[Any], ...]]:
        """Return the exact summaries in each world."""
        WorldSums.worlds = len(self.worlds)
        with mock.patch.multiple(person_level, Sums=WorldSums), mock.patch.multiple(row_level, Sums=WorldSums):
            found = self.summaries(question.plan, needs, question.bounding, SECRET, cells)
        return list(zip(*found, strict=True))

    def key_counts_of_all(self, question: AnalyzedPlan) -> list[dict[tuple[Any, ...], int]]:
        """Return the private keys and their numbers of units in each world."""
        found: list[dict[tuple[Any, ...], int]] = [{} for _ in self.worlds]
        for batch in self.key_counts(question.plan, question.bounding, SECRET):
            *keys, units = (column.to_pylist() for column in batch.columns)
            for key, number in zip(zip(*keys, strict=True), units, strict=True):
                assert key not in found[WorldSums.now], "a key comes once"
                assert None not in key
                assert number >= 1, "a key that nobody has does not come at all"
                found[WorldSums.now][key] = number
        return found


class WorldEngine(InWorlds, DuckDBEngine):
    """DuckDB on a shared connection."""

    def _open_backend(self) -> Any:
        return shared_backend()

    def compiled_once(self, query: Any) -> AbstractContextManager[object]:  # noqa: ARG002 - as in the parent
        return contextlib.nullcontext()  # the engine keeps its statements

    def enter(self, world: int) -> None:
        for name in self.tables:
            self.backend.con.register(f"celosia_{name}", self.worlds[world][name].source.frame)  # type: ignore[union-attr]


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """A plan, the tables in one world, and those in several worlds that differ from it by one unit."""

    plan: Plan
    first: Tables
    others: Sequence[Tables]


@mock.patch.object(ranks, "_MAX_COUNTS", 2**12)  # few bins: the arrays of many take longer than all the rest
def check_neighbours(given: Neighbours, opened: Callable[..., InWorlds] = WorldEngine, *, exact: bool = False) -> None:
    """Raise AssertionError if the exact summaries of two worlds differ by more than the events of the plan state.

    An engine that raises an error in any of the worlds is told by that error. ``exact``: in every world they are also
    compared with those that plain Python finds.
    """
    question = analyze_plan(given.plan, given.first)
    worlds = _read_tables(given)
    with opened(*worlds) as engine:
        engine.check(given.plan)
        cells = _check_keys(question, engine, exact=exact) if question.cells is None else question.cells
        needs = [need.for_cells(len(cells)) for need in question.aggregate_measurements]
        if not len(cells):
            return
        first, *others = found = engine.summaries_of_all(question, needs, cells)
    if exact and len(cells) * sum(need.measure.width for need in needs) < _SLOW:
        for world, arrays in zip(worlds, found, strict=True):
            right = oracle_plans.summaries(question, world, needs, cells, SECRET)
            same = all(array.tolist() == expected.tolist() for array, expected in zip(arrays, right, strict=True))
            assert same, "other summaries than in plain Python"
    ways = strategies_of(question)
    claims = [_claimed(question, ways, position) for position in range(len(needs))]
    for other in others:
        for one, two, need, claimed in zip(first, other, needs, claims, strict=True):
            assert one.shape == two.shape == (len(cells), need.measure.width)
            if claimed is None:
                _check_counts(question, two - one)
            else:
                _check_numbers(*claimed, two.astype(object) - one.astype(object))
    if opened is WorldEngine and question.cells is not None and sum(array.size for array in first) < _WIDE:
        _check_answers(given, found[:3])


def _read_tables(given: Neighbours) -> list[Tables]:
    read = set(tables_of(given.plan.relation))
    return [{name: world[name] for name in world if name in read} for world in (given.first, *given.others)]


def _check_answers(given: Neighbours, summaries: Sequence[tuple[NDArray[Any], ...]]) -> None:
    """Check that the releases of all worlds have the same form and the same price."""
    shapes = []
    for world, exact in zip((given.first, *given.others), summaries, strict=False):
        session = Session(
            list(world.values()),
            budget=PureDP(epsilon=1),
            source=Seeded(1),
            engine=Pretending([*exact, np.array([[3]])]),
        )  # and a number of rows, if that is public
        release = session.release(given.plan, epsilon=1)
        shapes.append(
            (release.value.schema.names, release.value.num_rows, release.event, session.spent, release.guarantee)
        )
    assert all(shape == shapes[0] for shape in shapes)
    assert shapes[0][-1] == replace(PureDP(epsilon=1), adjacency=shapes[0][-1].adjacency, unit=shapes[0][-1].unit)


def _check_numbers(claimed: Sensitivity, largest: int | None, change: NDArray[Any]) -> None:
    if largest is not None:
        assert sum(int(max(map(abs, cell))) for cell in change) <= largest, "further apart than stated, in a cell"
    steps = [int(step) for step in change.ravel()]
    assert sum(map(abs, steps)) <= claimed.l1, "further apart than stated, in L1"
    assert sum(step * step for step in steps) <= claimed.l2_squared, "further apart than stated, in L2"


def _claimed(question: AnalyzedPlan, ways: Sequence[Strategy], position: int) -> tuple[Sensitivity, int | None] | None:
    """The sensitivity of a measurement, as the events state it that a session pays; None of a choice.

    With it, for K-norm noise, how far the largest numbers of all cells move.
    """
    need = question.aggregate_measurements[position]
    if not isinstance(need.measure, Measure):
        return None
    stated, largest = need.measure.sensitivity(need.bounding(question.bounding)), None
    for strategy in ways:
        noise = strategy.parts[position].noise
        assert noise is not None
        event: Any = noise.event
        if noise.kind == "Laplace":
            assert event.sensitivity == stated.l1
        elif noise.kind == "K-norm":
            largest = int(event.sensitivity)
        else:
            assert event.sensitivity_squared == stated.l2_squared
        assert (event.adjacency, event.unit) == (question.bounding.adjacency, question.bounding.unit)
    return stated, largest


def strategies_of(question: AnalyzedPlan) -> list[Strategy]:
    """The ways in which a session may answer: paid by an epsilon, or by a rho; by a delta too, if keys are private."""
    if question.cells is None:
        return [strategy_for(question, read_target(ApproxDP(epsilon=1, delta="1e-6"), epsilon=1))]
    pure, zero = read_target(PureDP(epsilon=1), epsilon=1), read_target(ZCDP(rho=1), rho=1)
    return [strategy_for(question, target) for target in (pure, zero)]


def _check_counts(question: AnalyzedPlan, change: NDArray[Any]) -> None:
    """Check counts of a choice: a unit adds at most ``rows`` rows to each of at most ``groups`` cells."""
    bounding = question.bounding
    more, less = np.maximum(change, 0).sum(axis=1), np.maximum(-change, 0).sum(axis=1)
    for moved in (more, less):
        assert max(moved) <= bounding.rows
        assert np.count_nonzero(moved) <= bounding.groups
    if bounding.adjacency is AddRemove:
        assert not (more.any() and less.any())


def _check_keys(question: AnalyzedPlan, engine: InWorlds, *, exact: bool) -> Cells:
    """Check the numbers of units of private keys; return all keys of all worlds as cells."""
    (strategy,) = strategies_of(question)
    assert strategy.keys is not None
    groups, touched = question.bounding.groups, strategy.keys.event.affected_keys
    first, *others = counted = engine.key_counts_of_all(question)
    if exact:
        for world, found in zip(engine.worlds, counted, strict=True):
            same = {oracle_plans.key_labels(key, question): units for key, units in found.items()}
            assert same == oracle_plans.key_counts(question, world, SECRET), "other keys than in plain Python"
    for other in others:
        change = [other.get(key, 0) - first.get(key, 0) for key in first.keys() | other.keys()]
        assert all(abs(step) <= 1 for step in change)
        assert sum(step > 0 for step in change) <= groups
        assert sum(step < 0 for step in change) <= groups
        assert sum(map(abs, change)) <= touched
    everything = sorted({key for found in (first, *others) for key in found}, key=repr)
    return Cells.from_rows(everything, len(question.plan.keys))
