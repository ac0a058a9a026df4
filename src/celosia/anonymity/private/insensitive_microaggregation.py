"""Insensitive microaggregation: private centers of groups that hardly change with one record.

Records are sorted by a total order that is fixed in advance, and groups are k neighbours. If a record is replaced, each
group gives one record to its neighbour and takes one. In the column that is sorted by, all sums together then move by
one range at most, so that noise for one range hides the record, and a center has the noise of a range over k. MDAV
centers have no such bound: noise for R/k on them is not private. Proof: ``proofs/insensitive-microaggregation.md``.
Soria-Comas, Domingo-Ferrer, Sánchez and Martínez 2014; Sánchez et al. 2016.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.microdata import Microdata
from celosia.anonymity.private.cleaning import check_columns, check_schema, get_axis, read_steps, to_values
from celosia.anonymity.private.private_microdata import PrivateMicrodata, make_microdata, spend
from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import InputError, ParameterError
from celosia.core.events import Event
from celosia.core.exact import Exact, exact_epsilon, exact_integer, safe_repr
from celosia.core.guarantees import PureDP
from celosia.core.structure import ComposedEvent
from celosia.data.schema.columns import Integer, Real
from celosia.mechanisms import Laplace
from celosia.noise import permutation

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_MAX_SUM: Final = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class InsensitiveMicroaggregation:
    """Release noisy centers of fixed groups of ``k`` records: epsilon-differential privacy for each record.

    Neighbours differ in the values of one record; the number of records is public. So a null must have a replacement
    (``Integer(0, 120, null=0)``): a record without a value cannot be left out.

    Parameters
    ----------
    schema
        The columns to release, each an ``Integer`` or a ``Real`` with public bounds.
    k
        The number of records of a group; the remainder is spread over the groups, which have ``2 k - 1`` at most.
    epsilon
        The privacy of all columns together; each column has an equal part.
    order
        The column by which all records are sorted; the others break ties. The released rows are then centers of
        records, and a column other than this needs noise for as many ranges as there are groups. By default each
        column is sorted by itself, which needs the noise of one range, and loses the relation between columns.
    unit
        What a record is about.

    Examples
    --------
    >>> import celosia as cl, pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [20, 30, 41, 52, 60, 70]}), roles=Roles(quasi_identifiers=["age"]))
    >>> step = InsensitiveMicroaggregation(schema={"age": cl.Integer(0, 120, null=0)}, k=3, epsilon=1)
    >>> step.compute_scales(records=6)
    {'age': 40.0}
    >>> made = step.release(data)
    >>> len(made.data), made.guarantee
    (6, PureDP(epsilon=1, adjacency=ReplaceOne))
    """

    schema: Mapping[str, Integer | Real]
    k: int
    epsilon: Exact
    order: str | None = None
    unit: str = "row"

    def __post_init__(self) -> None:
        schema = check_schema(self.schema, (Integer, Real))
        object.__setattr__(self, "schema", schema)
        exact_integer(self.k, name="k")
        exact_epsilon(self.epsilon)
        for name, kind in schema.items():
            if kind.nullable:
                raise ParameterError("anonymity_private.null_rule_missing", name=safe_repr(name))
        if self.order is not None and self.order not in schema:
            raise ParameterError("anonymity_private.order_not_declared", name=safe_repr(self.order))

    @property
    def guarantee(self) -> PureDP:
        """The guarantee of a release."""
        return PureDP(epsilon=self.epsilon, adjacency=ReplaceOne, unit=self.unit)

    def event_for(self, records: int) -> Event:
        """Return the event of releasing a file of so many records, which are public."""
        events = tuple(mechanism.event for mechanism in self._make_mechanisms(self.size_groups(records)).values())
        return events[0] if len(events) == 1 else ComposedEvent(events=events)

    def compute_scales(self, records: int) -> dict[str, float]:
        """Return the scale of the noise of a center of ``k`` records in each column, in the units of the column."""
        mechanisms = self._make_mechanisms(self.size_groups(records))
        return {
            name: float(mechanism.event.scale * get_axis(self.schema[name]).grid / self.k)
            for name, mechanism in mechanisms.items()
        }

    def size_groups(self, records: int) -> "NDArray[np.int64]":
        """Return the sizes of the groups, which follow from the number of records alone."""
        count = exact_integer(records, name="records") // self.k
        if not count:
            raise InputError("anonymity_private.too_few_records", k=self.k)
        ends = np.arange(count + 1, dtype=np.int64) * records // count
        return np.diff(ends)

    def release(self, data: Microdata, *, budget: object = None, source: "Source | None" = None) -> PrivateMicrodata:
        """Return the private file.

        ``budget`` is a ledger's account, a session or an ``InMemoryBudget``, which pays before the data are read.
        """
        check_columns(data, self.schema)
        event = self.event_for(len(data))
        question = f"Insensitive microaggregation of {', '.join(self.schema)}"
        with spend(budget, source, event, self.guarantee, question=question) as drawn:
            columns = self._release_columns(data, drawn)
        return PrivateMicrodata(
            data=make_microdata(data, columns), event=event, guarantee=self.guarantee, seeded=drawn.seeded
        )

    def _release_columns(self, data: Microdata, source: "Source") -> "dict[str, pa.Array]":
        import pyarrow as pa

        sizes = self.size_groups(len(data))
        steps = {name: read_steps(data, name, kind)[0] for name, kind in self.schema.items()}
        columns = {}
        for name, mechanism in self._make_mechanisms(sizes).items():
            axis = get_axis(self.schema[name])
            sums = sum_groups(steps[name], self._sort(steps, name), sizes)
            noisy = mechanism.release(sums, source=source).value
            centers = np.clip(noisy / sizes, 0, axis.steps)  # what follows is computed from noisy sums alone
            values = np.repeat(to_values(centers, self.schema[name]), sizes)
            columns[name] = pa.array(values if self.order is not None else values[permutation(len(data), source)])
        return columns

    def _sort(self, steps: "Mapping[str, NDArray[np.int64]]", name: str) -> "NDArray[np.int64]":
        """Return the total order: by one column, or by the declared one and then by all others."""
        if self.order is None:
            return np.argsort(steps[name], kind="stable")
        others = [steps[each] for each in self.schema if each != self.order]
        return np.lexsort((*others[::-1], steps[self.order]))

    def _make_mechanisms(self, sizes: "NDArray[np.int64]") -> dict[str, Laplace]:
        """Return the mechanism of each column, whose sensitivity is in steps, summed over all groups."""
        part = exact_epsilon(self.epsilon) / len(self.schema)
        mechanisms = {}
        for name, kind in self.schema.items():
            axis = get_axis(kind)
            if axis.steps * int(sizes.sum()) > _MAX_SUM:
                raise ParameterError("anonymity_private.grid_too_fine", name=safe_repr(name))
            ranges = 1 if self.order in (None, name) else sizes.size
            mechanisms[name] = Laplace(
                epsilon=Fraction(part),
                sensitivity=axis.steps * ranges,
                dimension=sizes.size,
                adjacency=ReplaceOne,
                unit=self.unit,
            )
        return mechanisms


def sum_groups(
    steps: "NDArray[np.int64]", order: "NDArray[np.int64]", sizes: "NDArray[np.int64]"
) -> "NDArray[np.int64]":
    """Return the sums of groups of sorted records, as exact integers."""
    starts = np.cumsum(sizes) - sizes
    return np.asarray(np.add.reduceat(steps[order], starts), dtype=np.int64)
