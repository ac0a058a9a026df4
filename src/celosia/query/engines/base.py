"""What an engine does: exact whole-number summaries of private rows, and nothing else.

An engine is opened on the tables of a session. It looks at types when it is opened, which are public, and at rows when
it is asked for summaries, which by then are paid for. What it raises never repeats what the database said.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

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
    """What is to be summed or counted in every cell: a measure or choice, and the columns that it is taken of.

    ``distinct`` is None, ``"persons"``, ``"values"`` or ``"contributions"``. The last counts each person once, in the
    first of its cells by the keyed order, at the index ``21 i + j`` of ``Bins(441)``: ``i`` and ``j`` are the least
    numbers, at most 20, for which the person is in at most ``2^i`` cells and has at most ``2^j`` rows in that one.

    The measure ``CutRows(most)`` counts the rows that the bounding keeps and those that it cuts off in each cell. Of a
    person with more than ``most`` rows in all cells together, each number is multiplied by ``most``, divided by the
    person's rows and rounded down. ``CutPersons()`` counts, in all cells together, the persons of whom all rows count
    and those of whom some are cut off: its summary has one row.
    """

    @property
    def measure(self) -> "Measure | Choice":
        """What is taken."""
        ...

    @property
    def columns(self) -> "tuple[Expression, ...]":
        """Of what it is taken."""
        ...

    @property
    def distinct(self) -> str | None:
        """Whether different persons or values are counted, or persons by what they contribute."""
        ...


class Engine(ABC):
    """Opened on tables, it answers in exact integers.

    An engine of your own is found under the entry point group ``celosia.engines``: a function that takes the tables by
    name and returns an engine, or None if it does not know their kind. ``celosia.testing.check_engine`` tells whether
    it computes what it should.

    >>> from celosia.query.engines.registry import open_engine
    >>> import celosia as cl, pyarrow as pa
    >>> deaths = cl.table(pa.table({"age": [34, 71]}), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> with open_engine({"deaths": deaths}) as engine:
    ...     isinstance(engine, Engine)
    True
    """

    tables: "Mapping[str, Table]"

    @abstractmethod
    def check(self, plan: "Plan") -> None:
        """Refuse a plan that the engine cannot run, without looking at a row."""

    def check_types(self) -> None:  # noqa: B027 - an engine that reads every type has nothing to refuse
        """Refuse tables with columns of a type that their kinds cannot be read from; all of them are named."""

    @abstractmethod
    def key_counts(
        self, plan: "Plan", bounding: "ContributionBounds", secret: Sequence[int]
    ) -> "Iterator[pa.RecordBatch]":
        """Yield the keys that occur, ``k0``, ``k1``, …, and the number of units of each, ``units``.

        Units are persons, at most ``bounding.groups`` keys of each, or rows where there is no person.
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
        """Return an array for each request, cells by width: integers of 64 bits, or Python's where one is larger."""

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Let go of what was opened."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
