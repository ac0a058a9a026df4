"""A party's records in a table: a file, a frame or a database, with a schema and a privacy unit.

Sums are computed by the table's engine, as in ``session.fit``: no row leaves the database. The schema states the bounds
and how missing values are treated. Gradients need rows in memory, which are read clean and within the bounds.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from celosia.data.schema.columns import Category
from celosia.data.schema.schema import Schema
from celosia.noise.source import source_or_system
from celosia.query.answering.fitting import FittedRows, plan_table_fitting
from celosia.query.context import SessionContext
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Base, Plan

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.data.schema.columns import Kind
    from celosia.data.table import Table
    from celosia.query.answering.fitting import Fitting
    from celosia.query.engines.base import Engine

_NO_SECRET = (0, 0, 0, 0)  # where each row is its own unit, no rows are selected


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartyTable:
    """A table and the columns that are learned from; ``open`` it before rows are summed or read.

    >>> import celosia as cl
    >>> visits = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="visits")
    >>> PartyTable(table=visits, features=("age",)).kinds
    {'age': Integer(0, 120)}
    """

    table: "Table"
    features: tuple[str, ...]
    target: str | None = None
    context: SessionContext | None = field(default=None, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read: the features and, last, the target."""
        return self.features if self.target is None else (*self.features, self.target)

    @property
    def kinds(self) -> "dict[str, Kind]":
        """The kinds of these columns."""
        return {name: self.table.schema[name] for name in self.names}

    @property
    def limits(self) -> tuple[object, ...]:
        """What decides how much one unit can change: it must be the same for all parties."""
        table = self.table
        return table.adjacency, table.unit, table.max_groups_per_person, table.max_rows_per_group

    def describe(self) -> str:
        """Return the schema of these columns as TOML."""
        return Schema(self.kinds).to_toml()

    def open(self) -> "PartyTable":
        """Check the table row by row, as a session does, and return it with an engine for it."""
        return replace(self, context=SessionContext({self.table.name: self.table}, source_or_system(None)))

    def close(self) -> None:
        """Close files and connections."""
        if self.context is not None:
            self.context.close()

    def plan_sums(self, model: object, *, exact: bool) -> "Fitting":
        """Plan the sums of an estimator from the schema alone; ``exact`` as in ``Learner.plan_fit``."""
        rows = FittedRows({self.table.name: self.table}, self.table.name)
        return plan_table_fitting(model, rows, self.features, self.target, exact=exact)

    def check(self, plan: Plan) -> "Engine":
        """Return the engine after it has checked that it can run a plan."""
        assert self.context is not None  # noqa: S101 - for the type checker: it is open
        return self.context.check(plan)

    def read_sums(self, fitting: "Fitting", source: "Source") -> "NDArray[Any]":
        """Return the exact sums, which must have been paid for; the source selects rows of persons with too many."""
        secret = _NO_SECRET if self.table.person is None else tuple(int(word) for word in source.words(4))
        return fitting.read_sums(self.check(fitting.plan), secret)

    def read_rows(self) -> "pa.Table":
        """Return the clean rows that have a value in every column."""
        import pyarrow as pa

        counts = tuple(
            Aggregate(kind="count", columns=(Column(name),), name=f"count_{place}")
            for place, name in enumerate(self.names)
        )
        engine = self.check(Plan(relation=Base(self.table.name), aggregates=counts))
        batches, empty = list(engine.read_rows(self.table.name, self.names)), self.make_empty()
        if not batches:
            return empty
        return pa.Table.from_batches(batches).rename_columns(list(self.names)).cast(empty.schema)

    def make_empty(self) -> "pa.Table":
        """Return the columns without a row: numbers as doubles, categories as texts or integers."""
        import pyarrow as pa

        types = {name: pa.float64() if kind.axis is not None else _find_type(kind) for name, kind in self.kinds.items()}
        return pa.schema(list(types.items())).empty_table()


def _find_type(kind: "Kind") -> "pa.DataType":
    import pyarrow as pa

    integers = isinstance(kind, Category) and isinstance(kind.values[0], int)
    return pa.int64() if integers else pa.string()
