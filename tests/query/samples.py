"""Small tables for tests, fake engines, and one-line queries over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import celosia as cl
from celosia.core import CelosiaError
from celosia.query.builder import Query
from celosia.query.engines.base import Engine
from celosia.query.plan.nodes import Base, Plan, PlanDraft
from celosia.query.planning.analysis import AnalyzedPlan, analyze_plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from celosia.data.table import Table
    from celosia.query.engines.base import Request
    from celosia.query.planning.cells import Cells
    from celosia.statistics import ContributionBounds

COLUMNS = {
    "who": [1, 1, 2, 2, 3],
    "age": [34, 71, 5, 18, 90],
    "weight": [60.5, 82.0, 20.25, 70.0, 55.5],
    "sex": ["F", "M", "F", "F", "M"],
    "risk": ["low", "high", "low", "middle", "low"],
    "town": ["A", "B", "A", "C", "A"],
    "alive": [True, False, True, True, False],
}
SCHEMA = cl.Schema(
    age=cl.Integer(0, 120),
    weight=cl.Real(0, 300, grid="0.1", null=0),
    sex=cl.Category("F", "M"),
    risk=cl.Category("low", "middle", "high", ordered=True),
    town=cl.Text(),
    alive=cl.Boolean(),
)
FULL = cl.Schema(age=cl.Integer(0, 120, null=0), sex=cl.Category("F", "M"))
"""A schema in which every row has an age."""


def rows_table(name: str = "deaths", *, schema: cl.Schema = SCHEMA, **options: Any) -> Table:
    return cl.table(pa.table(COLUMNS), schema=schema, name=name, **options)


def persons_table(name: str = "deaths", *, groups: int = 2, rows: int = 3, **options: Any) -> Table:
    limits: dict[str, Any] = {"max_groups_per_person": groups, "max_rows_per_group": rows}
    return rows_table(name, person="who", **limits, **options)


def code_book(name: str = "towns") -> Table:
    book = pa.table({"town": ["A", "B", "C"], "beds": [10, 200, 0], "region": ["n", "s", "n"]})
    return cl.table(book, name=name, public=True, key="town")


def asking(*tables: Table, budget: cl.Guarantee | None = None, **options: Any) -> cl.Session:
    return cl.Session(list(tables) or rows_table(), budget=budget or cl.ApproxDP(epsilon=10, delta="1e-6"), **options)


def question(query: Query | Plan, *tables: Table) -> AnalyzedPlan:
    named = {table.name: table for table in (tables or (rows_table(),))}
    return analyze_plan(query if isinstance(query, Plan) else query.plan, named)


def ask(table: Table | None = None) -> Query:
    """Begin a query that is never answered."""
    session = asking(table) if table is not None else asking()
    return Query(session=session, draft=PlanDraft(relation=Base(next(iter(session.tables)))))


class Pretending(Engine):
    """An engine that has made up its summaries: zeros, or what it was given for each measurement in turn."""

    def __init__(
        self,
        summaries: Sequence[NDArray[Any]] | None = None,
        *,
        keys: Mapping[tuple[Any, ...], int] | None = None,
        error: BaseException | None = None,
    ) -> None:
        self.made_up, self.keys, self.error = summaries, dict(keys or {}), error
        self.checks = self.reads = self.closed = 0

    def check(self, plan: Plan) -> None:  # noqa: ARG002 - any plan will do
        self.checks += 1

    def key_counts(self, plan: Plan, bounding: ContributionBounds, secret: Sequence[int]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - made up
        self._read()
        for key, units in self.keys.items():  # one batch a key: what is chosen must not depend on batches
            columns = {f"k{place}": pa.array([value]) for place, value in enumerate(key)}
            yield pa.record_batch(columns | {"units": pa.array([units], type=pa.int64())})

    def summaries(
        self,
        plan: Plan,  # noqa: ARG002 - made up
        requests: Sequence[Request],
        bounding: ContributionBounds,  # noqa: ARG002 - made up
        secret: Sequence[int],  # noqa: ARG002 - made up
        cells: Cells,
    ) -> tuple[NDArray[Any], ...]:
        self._read()
        if self.made_up is not None:
            return tuple(self.made_up)
        return tuple(np.zeros((len(cells), request.measure.width), dtype=np.int64) for request in requests)

    def close(self) -> None:
        self.closed += 1

    def _read(self) -> None:
        self.reads += 1
        if self.error is not None:
            raise self.error


class Remembering(Engine):
    """An engine that reads the rows for a question once."""

    def __init__(self, inner: Engine) -> None:
        self.inner, self.tables = inner, inner.tables
        self.known: dict[Any, Any] = {}

    def check(self, plan: Plan) -> None:
        if plan not in self.known:
            self.inner.check(plan)
            self.known[plan] = None

    def key_counts(self, plan: Plan, bounding: ContributionBounds, secret: Sequence[int]) -> Iterator[pa.RecordBatch]:
        key = plan, bounding
        if key not in self.known:
            self.known[key] = list(self.inner.key_counts(plan, bounding, secret))
        yield from self.known[key]

    def summaries(
        self, plan: Plan, requests: Sequence[Request], bounding: ContributionBounds, secret: Sequence[int], cells: Cells
    ) -> tuple[NDArray[Any], ...]:
        key = plan, bounding, tuple(map(repr, requests)), tuple(map(tuple, cells.columns()))
        if key not in self.known:
            self.known[key] = self.inner.summaries(plan, requests, bounding, secret, cells)
        found: tuple[NDArray[Any], ...] = self.known[key]
        return found


def outcome(action: Any) -> tuple[str, str]:
    """What came of it: the kind of error and its words, or that there was none."""
    try:
        action()
    except CelosiaError as error:
        return type(error).__name__, str(error)
    return "answered", ""
