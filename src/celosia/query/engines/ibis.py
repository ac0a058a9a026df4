"""Engines that Ibis speaks to: from a plan to queries, and from their results to exact integers.

An engine of this kind brings its raw tables, its dialect and a way to run a query; what is asked of it is the same for
all. Nothing that it says while a query runs is repeated: an error of a database may quote the row that it stumbled on.
"""

import contextlib
import functools
import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from celosia.core.errors import CelosiaError, EngineError, QueryError, SchemaError
from celosia.data.sources.classify import Database, IbisSource, SparkSource
from celosia.query.engines.base import Engine
from celosia.query.engines.collations import check_collations
from celosia.query.engines.sanitize.preparation import Prepared
from celosia.query.execution.column_checks import check_columns, unfit_columns
from celosia.query.execution.dialect import Dialect
from celosia.query.execution.hashing import KeyedOrder
from celosia.query.execution.public_keys import check_public_key
from celosia.query.execution.rows import PERSON, Rows, rows_of
from celosia.query.plan.expressions import kind_of
from celosia.query.plan.relations import columns_of
from celosia.statistics import CutPersons, CutRows

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir
    from numpy.typing import NDArray

    from celosia.data.table import Table
    from celosia.query.engines.base import Request
    from celosia.query.execution.person_level import PersonLevel
    from celosia.query.execution.row_level import RowLevel
    from celosia.query.plan.nodes import Plan
    from celosia.query.planning.cells import Cells
    from celosia.statistics import ContributionBounds

T = TypeVar("T")

_ASKED = (
    "The engine could not run the query. What it said is kept back, because it may quote the data; "
    "its own log may have it."
)
OPENED = (
    "The engine could not open the tables: check the address, the files and the types of the columns. "
    "What it said is kept back, because it may quote the data or a password."
)
"""What is said when tables cannot be opened."""


def hide_driver_errors(function: Callable[..., T], message: str = _ASKED) -> Callable[..., T]:
    """Let only our own errors out of a function."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        try:
            return function(*args, **kwargs)
        except CelosiaError:
            raise
        except Exception:  # noqa: BLE001, S110 - raised below, where the original is no longer attached
            pass
        raise EngineError(message)

    return wrapper


class IbisEngine(Engine):
    """The base of the engines for DuckDB, PostgreSQL and Spark."""

    def __init__(self, tables: "Mapping[str, Table]") -> None:
        self._prepared = hide_driver_errors(Prepared, OPENED)(tables)
        self.tables: Mapping[str, Table] = self._prepared.tables
        self._lock = threading.RLock()
        self._closing = contextlib.ExitStack()
        weakref.finalize(self, self._closing.close)  # also if nobody closes the engine
        self._finally(self._prepared.close)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._backend = hide_driver_errors(self._connected, OPENED)()
        self._raw = {name: hide_driver_errors(self._table, OPENED)(name, table) for name, table in self.tables.items()}
        for name, table in self.tables.items():
            check_columns(table, self._raw[name])
        self._unfit = {name: unfit_columns(table, self._raw[name]) for name, table in self.tables.items()}
        for name, table in self.tables.items():
            if isinstance(table.source, Database | IbisSource | SparkSource):
                hide_driver_errors(self._check_collations, OPENED)(table, self._raw[name])
            if table.public:
                hide_driver_errors(check_public_key, OPENED)(name, self, self.run)

    @abstractmethod
    def _connected(self) -> Any:
        """Return the backend of Ibis that runs the queries."""

    @abstractmethod
    def _table(self, name: str, table: "Table") -> "ir.Table":
        """Return a table with its columns as they are."""

    def _check_collations(self, table: "Table", raw: "ir.Table") -> None:
        """Refuse a table of somebody else's database in which different texts are one person, or equal literals."""
        check_collations(table, raw, self.run)

    @abstractmethod
    def dialect_of(self, name: str) -> Dialect:
        """Return how the columns of a table are read."""

    @abstractmethod
    def run(self, query: "ir.Table") -> "Iterator[pa.RecordBatch]":
        """Run a query and yield its results."""

    def raw(self, name: str) -> "ir.Table":
        """Return a table with its columns as they are."""
        return self._raw[name]

    def read(self, name: str) -> "ir.Table":
        """Return a table in which texts may have been read as their kinds; here as they are."""
        return self._raw[name]

    def unfit(self, name: str) -> Mapping[str, str]:
        """Return the columns whose type cannot hold what the schema declares, each with the reason."""
        return self._unfit[name]

    def close(self) -> None:
        """Undo what was done to open the engine, the last first; whatever fails on the way out is of no interest."""
        self._closing.close()

    def _finally(self, function: Callable[..., object], *args: object) -> None:
        self._closing.callback(_suppress_errors, function, *args)

    def forget(self) -> None:
        """Let go of what was only made for the query that has been run."""

    def check_types(self) -> None:
        """Refuse columns of types that their kinds cannot be read from; a query is refused only if it uses one."""
        problems = [reason for reasons in self._unfit.values() for reason in reasons.values()]
        if problems:
            raise SchemaError(" ".join(problems))

    @hide_driver_errors
    def check(self, plan: "Plan") -> None:
        """Make the queries of a plan, without running them."""
        rows = self._rows(plan)
        for key in plan.keys:
            rows.label(key.expression)
        for aggregate in plan.aggregates:
            for column in aggregate.columns:
                rows.value(column)

    def key_counts(
        self, plan: "Plan", bounding: "ContributionBounds", secret: Sequence[int]
    ) -> "Iterator[pa.RecordBatch]":
        """Yield keys and their numbers of units."""
        import pyarrow as pa

        from celosia.query.execution.row_level import decoded, integers

        with self._lock, contextlib.ExitStack() as stack:
            stack.callback(self.forget)
            query = self._key_query(plan, bounding, KeyedOrder(tuple(secret)))
            kinds = [kind_of(key.expression, columns_of(plan.relation, self.tables)) for key in plan.keys]
            for batch in _quiet_batches(self.run, query):
                *keys, units = batch.columns
                named = {
                    f"k{place}": decoded(column, kind)
                    for place, (column, kind) in enumerate(zip(keys, kinds, strict=True))
                }
                yield pa.record_batch(named | {"units": pa.array(integers(units))})

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
        from celosia.query.execution.inputs import summed
        from celosia.query.execution.person_level import PersonLevel
        from celosia.query.execution.row_level import RowLevel

        if not len(cells):
            return tuple(np.zeros((0, request.measure.width), dtype=np.int64) for request in requests)
        with self._lock, contextlib.ExitStack() as stack:
            stack.callback(self.forget)
            rows = self._rows(plan)
            level: PersonLevel | RowLevel
            if rows.persons and not rows.single:
                level = PersonLevel(rows, plan.keys, cells, bounding, KeyedOrder(tuple(secret)), self.run)
            else:
                level = RowLevel(rows, plan.keys, cells, self.run)
            found = _count_each(requests, rows, level)
            added = [place for place in range(len(requests)) if place not in found]
            if added:  # by one query
                arrays = level.sums(summed([requests[place] for place in added], rows))
                found |= dict(zip(added, arrays, strict=True))
            return tuple(found[place] for place in range(len(requests)))

    def _rows(self, plan: "Plan") -> Rows:
        return rows_of(plan.relation, self).kept(plan.filter)

    @hide_driver_errors
    def _key_query(self, plan: "Plan", bounding: "ContributionBounds", order: KeyedOrder) -> "ir.Table":
        from celosia.query.execution.bounding import first_in_order, person_number

        rows = self._rows(plan)
        keys = {f"k{place}": _exactly(rows, key.expression) for place, key in enumerate(plan.keys)}
        if not rows.persons or rows.single:
            table = rows.table.select(**keys).drop_null(list(keys))
            return table.group_by(list(keys)).aggregate(units=table.count())
        table = rows.table.select(PERSON, **keys).drop_null(list(keys)).distinct()
        numbers = [
            rows.dialect.digest(table[name], order.salt)
            if table[name].type().is_string()
            else order.folded(table[name])
            for name in keys
        ]
        ranked = table.mutate(rank=order.mixed(person_number(table, order, rows.dialect), *numbers))
        kept = first_in_order(ranked, [PERSON], list(keys), bounding.groups).select(*keys)
        return kept.group_by(list(keys)).aggregate(units=kept.count())


def _suppress_errors(function: Callable[..., object], *args: object) -> None:
    with contextlib.suppress(Exception):
        function(*args)


def _count_each(
    requests: "Sequence[Request]", rows: Rows, level: "PersonLevel | RowLevel"
) -> "dict[int, NDArray[Any]]":
    """Answer the requests that take a query each, by their places: counts by value, or of distinct values."""
    from celosia.query.execution.inputs import counted, is_counted
    from celosia.query.execution.row_level import RowLevel

    found = _cut_off(requests, level)
    for place, request in enumerate(requests):
        if place in found:
            continue
        if request.distinct == "contributions":
            found[place] = _of_persons(level).contributions()
        elif is_counted(request):
            found[place] = level.counts(counted(request, rows))
        elif request.distinct == "values":
            found[place] = level.distinct(_exactly(rows, request.columns[0]))
        elif request.distinct == "persons" and not isinstance(level, RowLevel):
            found[place] = level.persons()
    return found


def _cut_off(requests: "Sequence[Request]", level: "PersonLevel | RowLevel") -> "dict[int, NDArray[Any]]":
    """What the limits cut off: rows and persons are counted by one query."""
    found: dict[int, NDArray[Any]] = {}
    persons: NDArray[Any] | None = None
    for place, request in enumerate(requests):
        if isinstance(request.measure, CutRows):
            found[place], persons = _of_persons(level).cut_off(request.measure.most)
    for place, request in enumerate(requests):
        if isinstance(request.measure, CutPersons):
            found[place] = _of_persons(level).cut_off(1)[1] if persons is None else persons
    return found


def _of_persons(level: "PersonLevel | RowLevel") -> "PersonLevel":
    from celosia.query.execution.row_level import RowLevel

    if isinstance(level, RowLevel):
        raise QueryError("Only the rows of persons have limits.")
    return level


def _exactly(rows: Rows, expression: Any) -> "ir.Value":
    """A key as a label that is only there where it is a value."""
    return rows.value(expression) if kind_of(expression, rows.kinds).axis is None else rows.number(expression)


def _quiet_batches(
    run: "Callable[[ir.Table], Iterator[pa.RecordBatch]]", query: "ir.Table"
) -> "Iterator[pa.RecordBatch]":
    batches = hide_driver_errors(run)(query)
    following = hide_driver_errors(lambda: next(batches, None))
    while (batch := following()) is not None:
        yield batch
