"""Base of engines that run queries through Ibis: from a plan to queries, and from results to exact integers.

A subclass provides its raw tables, its dialect and a way to run a query. Errors of the database are replaced: they may
quote a row. An engine with parameters keeps its queries: a plan that differs from an earlier one in compared literals
alone is neither checked nor built again.
"""

import contextlib
import functools
import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import numpy as np

from celosia.core.errors import CelosiaError, EngineError, QueryError, SchemaError
from celosia.core.messages.message import join_messages
from celosia.data.sources.classify import Database, IbisSource, SparkSource
from celosia.query.engines.base import Engine
from celosia.query.engines.collations import check_collations
from celosia.query.engines.sanitize.preparation import PreparedTables
from celosia.query.execution.column_checks import check_columns, unfit_columns
from celosia.query.execution.compile import split_parameters
from celosia.query.execution.dialect import Dialect
from celosia.query.execution.hashing import KeyedOrder
from celosia.query.execution.public_keys import check_public_key
from celosia.query.execution.raw_ranges import compare_raw
from celosia.query.execution.rows import PERSON, Rows, rows_of
from celosia.query.plan.expressions import kind_of
from celosia.query.plan.nodes import Base
from celosia.query.plan.relations import columns_of
from celosia.statistics import CutOffMeasure, CutPersons, CutRows

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir
    from numpy.typing import NDArray

    from celosia.data.table import Table
    from celosia.query.engines.base import Request
    from celosia.query.execution.person_level import PersonLevel
    from celosia.query.execution.row_level import RowLevel, Summary
    from celosia.query.plan.nodes import Key, Plan
    from celosia.query.planning.cells import Cells
    from celosia.statistics import ContributionBounds

    Queries = list[tuple[list[Sequence[int]], Summary]]
    """Each query, with the places of the requests that each of its arrays answers."""

T = TypeVar("T")

_MAX_KEPT: Final = 256  # plans, and queries of plans; all are dropped when there are more
_MAX_KEPT_CELLS: Final = 1_000  # of a query that is kept
_QUERY_FAILED = "query.engine_failed"
OPEN_FAILED = "query.engine_not_opened"
"""The code of the error if tables cannot be opened."""


def hide_driver_errors(function: Callable[..., T], code: str = _QUERY_FAILED) -> Callable[..., T]:
    """Replace all errors of a function except our own."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        try:
            return function(*args, **kwargs)
        except CelosiaError:
            raise
        except Exception:  # noqa: BLE001, S110 - raised below, where the original is no longer attached
            pass
        raise EngineError(code)

    return wrapper


class IbisEngine(Engine):
    """Base of the engines for DuckDB, PostgreSQL and Spark.

    A subclass implements ``connect``, ``open_table``, ``dialect_of`` and ``run``.
    """

    has_parameters: ClassVar[bool] = False
    """Whether ``execute`` takes the values of parameters; then queries are kept."""

    compares_raw: bool = False
    """Whether conditions compare raw columns: only if no block of rows is skipped (``raw_ranges``)."""

    def __init__(self, tables: "Mapping[str, Table]") -> None:
        self._prepared = hide_driver_errors(PreparedTables, OPEN_FAILED)(tables)
        self.tables: Mapping[str, Table] = self._prepared.tables
        self._lock = threading.RLock()
        self._last_rows: tuple[Plan | None, Rows | None] = None, None
        self._checked: dict[Plan, None] = {}
        self._queries: dict[Any, Queries] = {}
        self._closing = contextlib.ExitStack()
        weakref.finalize(self, self._closing.close)  # also if the engine is never closed
        self.call_on_close(self._prepared.close)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self.backend = hide_driver_errors(self.connect, OPEN_FAILED)()
        self._raw = {
            name: hide_driver_errors(self.open_table, OPEN_FAILED)(name, table) for name, table in self.tables.items()
        }
        for name, table in self.tables.items():
            check_columns(table, self._raw[name])
        self._unfit = {name: unfit_columns(table, self._raw[name]) for name, table in self.tables.items()}
        for name, table in self.tables.items():
            if isinstance(table.source, Database | IbisSource | SparkSource):
                hide_driver_errors(self.check_collations, OPEN_FAILED)(table, self._raw[name])
            if table.public:
                hide_driver_errors(check_public_key, OPEN_FAILED)(name, self, self.run)

    @abstractmethod
    def connect(self) -> Any:
        """Return the Ibis backend that runs the queries."""

    @abstractmethod
    def open_table(self, name: str, table: "Table") -> "ir.Table":
        """Return a table with its raw columns."""

    def check_collations(self, table: "Table", raw: "ir.Table") -> None:
        """Raise if different texts are one person, or equal literals, in a database that is not ours."""
        check_collations(table, raw, self.run)

    @abstractmethod
    def dialect_of(self, name: str) -> Dialect:
        """Return the dialect for the columns of a table."""

    @abstractmethod
    def run(self, query: "ir.Table") -> "Iterator[pa.RecordBatch]":
        """Run a query and yield its results."""

    def execute(
        self,
        query: "ir.Table",
        values: Sequence[str] = (),  # noqa: ARG002 - for overriding
        *,
        most_rows: int | None = None,  # noqa: ARG002 - for overriding
    ) -> "Iterator[pa.RecordBatch]":
        """Run a query with the values of its parameters, as texts, and yield its results.

        ``most_rows`` is the largest number of results, None if it depends on the data.
        """
        return self.run(query)

    def raw(self, name: str) -> "ir.Table":
        """Return a table with its raw columns."""
        return self._raw[name]

    def read(self, name: str) -> "ir.Table":
        """Return a table in which texts may be parsed as their kinds; here the raw table."""
        return self._raw[name]

    def unfit(self, name: str) -> Mapping[str, str]:
        """Return the columns whose type cannot hold their kind, each with the reason."""
        return self._unfit[name]

    def close(self) -> None:
        """Undo the steps of opening, the last first; errors on the way are ignored."""
        self._closing.close()

    def call_on_close(self, function: Callable[..., object], *args: object) -> None:
        """Call a function when the engine is closed; its errors are ignored."""
        self._closing.callback(_suppress_errors, function, *args)

    def drop_small_tables(self) -> None:
        """Drop tables that served only the last query."""

    def has_small_tables(self) -> bool:
        """Return whether there are tables that serve only the last query, so that it cannot be kept."""
        return False

    def check_types(self) -> None:
        """Raise if columns have types that their kinds cannot be read from; a query raises only if it uses one."""
        problems = [reason for reasons in self._unfit.values() for reason in reasons.values()]
        if problems:
            raise SchemaError(join_messages(problems))

    @hide_driver_errors
    def check(self, plan: "Plan") -> None:
        """Build the queries of a plan, without running them."""
        shape, _ = self._split(plan)
        if shape in self._checked:
            return
        rows = self._rows(shape)
        for key in plan.keys:
            rows.label(key.expression)
        for aggregate in plan.aggregates:
            for column in aggregate.columns:
                rows.value(column)
        keep(self._checked, shape, None)

    def key_counts(
        self, plan: "Plan", bounding: "ContributionBounds", secret: Sequence[int]
    ) -> "Iterator[pa.RecordBatch]":
        """Yield keys and their numbers of units."""
        import pyarrow as pa

        from celosia.query.execution.row_level import decode_labels, to_integers

        with self._lock, contextlib.ExitStack() as stack:
            stack.callback(self.drop_small_tables)
            shape, values = self._split(plan)
            query = self._key_query(shape, bounding, KeyedOrder(tuple(secret)))
            kinds = [kind_of(key.expression, columns_of(plan.relation, self.tables)) for key in plan.keys]
            for batch in _stream_batches(self.execute, query, values):
                *keys, units = batch.columns
                named = {
                    f"k{place}": decode_labels(column, kind)
                    for place, (column, kind) in enumerate(zip(keys, kinds, strict=True))
                }
                yield pa.record_batch(named | {"units": pa.array(to_integers(units))})

    @hide_driver_errors
    def summaries(
        self,
        plan: "Plan",
        requests: "Sequence[Request]",
        bounding: "ContributionBounds",
        secret: Sequence[int],
        cells: "Cells",
    ) -> "tuple[NDArray[Any], ...]":
        """Return the exact integers of each request."""
        if not len(cells):
            return tuple(np.zeros((0, request.measure.width), dtype=np.int64) for request in requests)
        found: dict[int, NDArray[Any]] = {}
        with self._lock, contextlib.ExitStack() as stack:
            stack.callback(self.drop_small_tables)
            shape, values = self._split(plan)
            asked = tuple((request.measure, request.columns, request.distinct) for request in requests)
            kept = self.has_parameters and len(cells) <= _MAX_KEPT_CELLS
            key = (shape, asked, bounding, tuple(secret), cells) if kept else None
            queries = self._queries.get(key)
            if queries is None:
                order = KeyedOrder(tuple(secret))
                queries = _build_queries(self._rows(shape), plan.keys, requests, bounding, order, cells)
                if kept and not self.has_small_tables():
                    keep(self._queries, key, queries)
            for targets, summary in queries:
                arrays = summary.add_up(self.execute(summary.query, values, most_rows=summary.most_rows))
                found |= {place: array for places, array in zip(targets, arrays, strict=True) for place in places}
        return tuple(found[place] for place in range(len(requests)))

    def read_rows(self, table: str, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
        """Yield the clean rows of a table that have a value in all of these columns."""
        with self._lock, contextlib.ExitStack() as stack:
            stack.callback(self.drop_small_tables)
            query = hide_driver_errors(self._select_clean)(table, columns)
            yield from _stream_batches(self.execute, query, ())

    def _select_clean(self, table: str, columns: Sequence[str]) -> "ir.Table":
        rows = rows_of(Base(table), self)
        values = {f"v{place}": rows.column(name) for place, name in enumerate(columns)}
        return rows.table.select(**values).drop_null(list(values))

    def _split(self, plan: "Plan") -> "tuple[Plan, tuple[str, ...]]":
        """Return a plan with parameters in its condition, and their values; it compares raw columns where it can."""
        condition = plan.filter
        if not self.has_parameters or condition is None:
            return plan, ()
        if self.compares_raw and isinstance(plan.relation, Base):
            name = plan.relation.table
            condition = compare_raw(condition, self.tables[name].schema, self.read(name).schema())
        condition, values = split_parameters(condition)
        return (plan if condition is plan.filter else replace(plan, filter=condition)), values

    def _rows(self, plan: "Plan") -> Rows:
        """Return the rows of a plan; those of the last plan are not built again."""
        last, rows = self._last_rows
        if rows is None or last is None or (last.relation, last.filter) != (plan.relation, plan.filter):
            rows = rows_of(plan.relation, self).where(plan.filter)
            self._last_rows = plan, rows
        return rows

    @hide_driver_errors
    def _key_query(self, plan: "Plan", bounding: "ContributionBounds", order: KeyedOrder) -> "ir.Table":
        from celosia.query.execution.bounding import person_number, take_first, value_number

        rows = self._rows(plan)
        keys = {f"k{place}": _exact_label(rows, key.expression) for place, key in enumerate(plan.keys)}
        if not rows.persons or rows.single:
            table = rows.table.select(**keys).drop_null(list(keys))
            return table.group_by(list(keys)).aggregate(units=table.count())
        table = rows.table.select(PERSON, **keys).drop_null(list(keys)).distinct()
        numbers = [value_number(table[name], order, rows.dialect) for name in keys]
        ranked = table.mutate(rank=order.hash_integers(person_number(table, order, rows.dialect), *numbers))
        kept = take_first(ranked, [PERSON], list(keys), bounding.groups).select(*keys)
        return kept.group_by(list(keys)).aggregate(units=kept.count())


def _suppress_errors(function: Callable[..., object], *args: object) -> None:
    with contextlib.suppress(Exception):
        function(*args)


def to_batch(rows: "Sequence[Sequence[Any]]", schema: "pa.Schema") -> "pa.RecordBatch":
    """Return results, at least one, that a driver hands out row by row."""
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)


def keep(kept: "dict[Any, Any]", key: object, value: object) -> None:
    """Add an entry; drop all others if there are too many."""
    if len(kept) >= _MAX_KEPT:
        kept.clear()
    kept[key] = value


def _build_queries(
    rows: Rows,
    keys: "Sequence[Key]",
    requests: "Sequence[Request]",
    bounding: "ContributionBounds",
    order: KeyedOrder,
    cells: "Cells",
) -> "Queries":
    """Return the queries for requests; all sums are found by one."""
    from celosia.query.execution.person_level import PersonLevel
    from celosia.query.execution.row_level import RowLevel, plan_sums

    level: PersonLevel | RowLevel
    if rows.persons and not rows.single:
        level = PersonLevel(rows, keys, cells, bounding, order)
    else:
        level = RowLevel(rows, keys, cells)
    queries = [*_count_cut_off(requests, level), *_count_each(requests, rows, level)]
    found = {place for targets, _ in queries for places in targets for place in places}
    added = [place for place in range(len(requests)) if place not in found]
    if added:
        sums = level.sums(plan_sums([requests[place] for place in added], rows))
        queries.append(([[place] for place in added], sums))
    return queries


def _count_each(requests: "Sequence[Request]", rows: Rows, level: "PersonLevel | RowLevel") -> "Queries":
    """Return the queries of the requests that take one each: counts by value, or of distinct values."""
    from celosia.query.execution.row_level import RowLevel, is_counted, plan_count

    found: Queries = []
    for place, request in enumerate(requests):
        if isinstance(request.measure, CutOffMeasure):
            continue
        if request.distinct == "contributions":
            found.append(([[place]], _require_persons(level).contributions()))
        elif is_counted(request):
            found.append(([[place]], level.counts(plan_count(request, rows))))
        elif request.distinct == "values":
            found.append(([[place]], level.distinct(_exact_label(rows, request.columns[0]))))
        elif request.distinct == "persons" and not isinstance(level, RowLevel):
            found.append(([[place]], level.persons()))
    return found


def _count_cut_off(requests: "Sequence[Request]", level: "PersonLevel | RowLevel") -> "Queries":
    """Return the queries of the rows and persons that the limits cut off: one for both."""
    rows = {
        place: request.measure.most for place, request in enumerate(requests) if isinstance(request.measure, CutRows)
    }
    persons = [place for place, request in enumerate(requests) if isinstance(request.measure, CutPersons)]
    if persons and not rows:
        return [([[], persons], _require_persons(level).cut_off(1))]
    return [([[place], persons], _require_persons(level).cut_off(most)) for place, most in rows.items()]


def _require_persons(level: "PersonLevel | RowLevel") -> "PersonLevel":
    from celosia.query.execution.row_level import RowLevel

    if isinstance(level, RowLevel):
        raise QueryError("query.limits_without_persons")
    return level


def _exact_label(rows: Rows, expression: Any) -> "ir.Value":
    """Return a key as a label that is null unless it is a valid value."""
    return rows.value(expression) if kind_of(expression, rows.kinds).axis is None else rows.number(expression)


def _stream_batches(
    run: "Callable[..., Iterator[pa.RecordBatch]]", query: "ir.Table", values: Sequence[str]
) -> "Iterator[pa.RecordBatch]":
    batches = hide_driver_errors(run)(query, values)
    following = hide_driver_errors(lambda: next(batches, None))
    while (batch := following()) is not None:
        yield batch
