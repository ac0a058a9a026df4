"""The interface of engines: exact integer summaries of private rows.

An engine is opened on the tables of a session. Opening it looks at types, which are public; only requests for
summaries, which are already paid, read rows. Its errors never repeat a message of the database.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from celosia.core.closing import Closing
from celosia.core.errors import EngineError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.data.table import Table
    from celosia.query.plan.expressions import Expression
    from celosia.query.plan.nodes import Plan
    from celosia.query.planning.cells import Cells
    from celosia.statistics import Choice, ContributionBounds, Measure


class Request(Protocol):
    """A measure or choice to summarize in every cell, with its input columns.

    ``distinct`` is None, ``"persons"``, ``"values"`` or ``"contributions"``. The last counts each person once, in the
    first of its cells by the keyed order, at the index ``21 i + j`` of ``Bins(441)``: ``i`` and ``j`` are the least
    numbers, at most 20, for which the person is in at most ``2^i`` cells and has at most ``2^j`` rows in that one.

    The measure ``CutRows(most)`` counts the rows that the bounding keeps and those that it cuts off in each cell. For a
    person with more than ``most`` rows in all cells together, each number is multiplied by ``most``, divided by the
    person's rows and rounded down. ``CutPersons()`` counts, in all cells together, the persons of whom all rows count
    and those of whom some are cut off: its summary has one row.
    """

    @property
    def measure(self) -> "Measure | Choice":
        """Measure or choice."""
        ...

    @property
    def columns(self) -> "tuple[Expression, ...]":
        """Input columns."""
        ...

    @property
    def distinct(self) -> str | None:
        """Whether to count distinct persons or values, or persons by their contributions."""
        ...


class Engine(Closing):
    """Computes exact integer summaries of the tables it is opened on.

    A third party's engine implements ``check``, ``key_counts`` and ``summaries``, and may override ``check_types``,
    ``read_rows``, ``interrupt`` and ``close``; no underscored method is part of the interface. The entry point group
    ``celosia.engines`` lists functions that take the tables by name and return an engine, or None for tables of
    another kind.
    ``celosia.testing.check_engine`` tests an engine against the reference.

    >>> from celosia.query.engines.registry import open_engine
    >>> import celosia as cl, pyarrow as pa
    >>> deaths = cl.table(pa.table({"age": [34, 71]}), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> with open_engine({"deaths": deaths}) as engine:
    ...     isinstance(engine, Engine)
    True
    """

    tables: "Mapping[str, Table]"

    time_limit: float | None = None
    """The seconds that one statement may take, where the database can end it by itself."""

    @abstractmethod
    def check(self, plan: "Plan") -> None:
        """Raise if the engine cannot run a plan; read no row."""

    def check_types(self) -> None:  # an engine that reads every type has nothing to refuse
        """Raise if columns have types that their kinds cannot be read from; list all of them."""

    @abstractmethod
    def key_counts(
        self, plan: "Plan", bounding: "ContributionBounds", secret: Sequence[int]
    ) -> "Iterator[pa.RecordBatch]":
        """Yield the keys that occur, ``k0``, ``k1``, …, and the number of units of each, ``units``.

        Units are persons, with at most ``bounding.groups`` keys each, or rows if there is no person column.
        """

    @abstractmethod
    def summaries(
        self,
        plan: "Plan",
        requests: Sequence[Request],
        bounding: "ContributionBounds",
        secret: Sequence[int],
        cells: "Cells",
    ) -> "tuple[NDArray[np.int64] | NDArray[Any], ...]":
        """Return one array per request, cells by width: int64, or Python integers if one is larger."""

    def read_rows(self, table: str, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":  # noqa: ARG002 - refuses
        """Yield the clean rows of a table that have a value in all of these columns, for training in memory.

        Columns come in this order: doubles of reals, integers of dates and times as in queries, categories as they are.
        """
        raise EngineError("query.engine_gives_no_rows")

    def interrupt(self) -> None:  # an engine that cannot is waited for
        """Make the running request raise, from another thread; if none runs, do nothing."""

    def close(self) -> None:  # most have nothing to close
        """Release the resources of the engine."""
