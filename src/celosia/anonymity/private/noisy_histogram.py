"""Synthetic records from a noisy histogram.

The cells of all combinations of declared categories and bins are counted, empty ones too; each count gets discrete
Laplace noise, and records are drawn from the noisy counts. What is drawn depends on the data through the noisy counts
alone, which are epsilon-private. Where there are too many cells, several smaller histograms share the noise, and the
relation between their columns is lost. Proof: ``proofs/noisy-histogram.md``. Dwork, McSherry, Nissim and Smith 2006.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from celosia.anonymity.microdata import Microdata
from celosia.anonymity.private.cleaning import check_columns, check_schema, get_axis, read_steps, to_values
from celosia.anonymity.private.private_microdata import PrivateMicrodata, make_microdata, spend
from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, exact_integer, safe_repr
from celosia.core.guarantees import Guarantee
from celosia.data.schema.columns import Boolean, Category, Integer, Kind, Real
from celosia.mechanisms import Laplace
from celosia.noise import categorical, permutation, uniform_below

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core.events import Event
    from celosia.core.mechanism import Source

MAX_CELLS: Final = 1_000_000
"""The most cells of all histograms together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyHistogramSampling:
    """Draw synthetic records from noisy counts of all cells: epsilon-differential privacy for each record.

    Under add-remove a record is in one cell of each histogram, so the noise is for as many counts as there are
    histograms; under replace-one it leaves one cell and enters another, which needs twice as much. A value that is
    missing or unknown follows the null rule of its kind; a record left out is in no cell of the histogram.

    Parameters
    ----------
    schema
        The columns to make: ``Category``, ``Boolean``, ``Integer`` or ``Real``, with public categories or bounds.
    epsilon
        The privacy of all histograms together.
    bins
        The number of bins of equal width of a numeric column. A ``Real`` must have it; an ``Integer`` without has a
        bin for each value. Within its bin a value is drawn uniformly.
    marginals
        The columns of each histogram, which must name every column once; by default one histogram of all.
    records
        How many records to draw; by default as many as the noisy counts say. It must not be the number of true records
        under add-remove, where that is private.
    adjacency, unit
        The neighbours that the guarantee is for, and what a record is about.

    Examples
    --------
    >>> import celosia as cl, pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> frame = pa.table({"sex": ["F", "M", "F", "F"], "age": [30, 41, 29, 77]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["sex", "age"]))
    >>> schema = {"sex": cl.Category("F", "M"), "age": cl.Integer(0, 99)}
    >>> made = NoisyHistogramSampling(schema=schema, epsilon=1, bins={"age": 10}, records=100).release(data)
    >>> made.data.table.num_rows, made.event
    (100, LaplaceEvent(scale=1, sensitivity=1, dimension=20))
    """

    schema: Mapping[str, Kind]
    epsilon: Exact
    bins: Mapping[str, int] = field(default_factory=dict)
    marginals: Sequence[Sequence[str]] | None = None
    records: int | None = None
    adjacency: Adjacency | str = AddRemove
    unit: str = "row"

    def __post_init__(self) -> None:
        schema = check_schema(self.schema, (Category, Boolean, Integer, Real))
        object.__setattr__(self, "schema", schema)
        exact_epsilon(self.epsilon)
        if isinstance(self.adjacency, str) and self.adjacency in {one.value for one in Adjacency}:
            object.__setattr__(self, "adjacency", Adjacency(self.adjacency))  # as a plan file writes it
        if self.records is not None:
            exact_integer(self.records, name="records")
        for name, count in self.bins.items():
            kind = schema.get(name)
            if not isinstance(kind, Integer | Real):
                raise ParameterError("anonymity_private.bins_of_other_column", name=safe_repr(name))
            if exact_integer(count, name="bins") > get_axis(kind).steps + 1:
                raise ParameterError("anonymity_private.more_bins_than_values", name=safe_repr(name))
        for name, kind in schema.items():
            if isinstance(kind, Real) and name not in self.bins:
                raise ParameterError("anonymity_private.bins_missing", name=safe_repr(name))
        groups = tuple(tuple(group) for group in (self.marginals if self.marginals is not None else [tuple(schema)]))
        if sorted(name for group in groups for name in group) != sorted(schema) or not all(groups):
            raise ParameterError("anonymity_private.marginals_not_a_partition")
        object.__setattr__(self, "marginals", groups)
        cells = sum(math.prod(self._shape(group)) for group in groups)
        if cells > MAX_CELLS:
            widest = max(schema, key=lambda name: len(self._find_edges(name)))
            raise ParameterError(
                "anonymity_private.too_many_cells", cells=cells, most=MAX_CELLS, name=safe_repr(widest)
            )
        self._make_mechanism()  # raises if adjacency or unit are none

    @property
    def event(self) -> "Event":
        """The event of a release."""
        return self._make_mechanism().event

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of a release."""
        return self._make_mechanism().guarantee

    def release(self, data: Microdata, *, budget: object = None, source: "Source | None" = None) -> PrivateMicrodata:
        """Return the synthetic file.

        ``budget`` is a ledger's account, a session or an ``InMemoryBudget``, which pays before the data are read.
        """
        check_columns(data, self.schema)
        event, guarantee = self.event, self.guarantee
        question = f"Synthetic records of {', '.join(self.schema)} from a noisy histogram"
        with spend(budget, source, event, guarantee, question=question) as drawn:
            noisy = self._make_mechanism().release(self.count_cells(data), source=drawn).value
            columns = self._sample(np.asarray(noisy, dtype=np.int64), drawn)
        return PrivateMicrodata(
            data=make_microdata(data, columns), event=event, guarantee=guarantee, seeded=drawn.seeded
        )

    def count_cells(self, data: Microdata) -> "NDArray[np.int64]":
        """Return the true counts of all cells, one histogram after another. They are not private."""
        counts = []
        for group in self._groups:
            cells, present = np.zeros(len(data), dtype=np.int64), np.ones(len(data), dtype=np.bool_)
            for name, size in zip(group, self._shape(group), strict=True):
                steps, known = read_steps(data, name, self.schema[name])
                cells = cells * size + np.searchsorted(self._find_edges(name), steps, side="right") - 1
                present &= known
            counts.append(np.bincount(cells[present], minlength=math.prod(self._shape(group))))
        return np.concatenate(counts)

    @property
    def _groups(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(group) for group in self.marginals or ())

    def _shape(self, group: Sequence[str]) -> tuple[int, ...]:
        """Return the number of bins of each column."""
        return tuple(len(self._find_edges(name)) for name in group)

    def _find_edges(self, name: str) -> "NDArray[np.int64]":
        """Return the first step of each bin."""
        kind = self.schema[name]
        total = len(kind.values) if isinstance(kind, Category) else self._count_steps(kind)
        count = min(self.bins.get(name, total), MAX_CELLS + 1)
        return np.arange(count, dtype=np.int64) * total // count

    @staticmethod
    def _count_steps(kind: Kind) -> int:
        # A column with one possible value has an axis of two steps.
        if isinstance(kind, Integer) and kind.low == kind.high:
            return 1
        return get_axis(kind).steps + 1

    def _make_mechanism(self) -> Laplace:
        """Return the mechanism for the counts of all histograms together."""
        adjacency = cast("Adjacency", self.adjacency)  # the mechanism refuses what is none
        moved = 1 if adjacency is AddRemove else 2
        return Laplace(
            epsilon=self.epsilon,
            sensitivity=moved * len(self._groups),
            dimension=sum(math.prod(self._shape(group)) for group in self._groups),
            adjacency=adjacency,
            unit=self.unit,
        )

    def _sample(self, noisy: "NDArray[np.int64]", source: "Source") -> "dict[str, pa.Array]":
        """Return the columns of synthetic records; noisy counts are all that this sees."""
        sizes = [math.prod(self._shape(group)) for group in self._groups]
        parts = np.split(noisy, np.cumsum(sizes)[:-1])
        wanted = self.records or max(1, round(sum(int(part.sum()) for part in parts) / len(parts)))
        columns = {}
        for group, part in zip(self._groups, parts, strict=True):
            cells = categorical(fit_total(part, max(1, int(part.sum()))), wanted, source)
            # Draws of several histograms are independent, so that no relation between them is made up.
            places = np.unravel_index(cells[permutation(wanted, source)], self._shape(group))
            for name, bins in zip(group, places, strict=True):
                columns[name] = self._fill(name, bins.astype(np.int64), source)
        return {name: columns[name] for name in self.schema}

    def _fill(self, name: str, bins: "NDArray[np.int64]", source: "Source") -> "pa.Array":
        """Return values of some bins: the category, or a number drawn uniformly among the steps of its bin."""
        import pyarrow as pa

        kind, edges = self.schema[name], self._find_edges(name)
        if isinstance(kind, Category):
            return pa.array(kind.values).take(pa.array(bins))
        widths = np.diff(np.append(edges, self._count_steps(kind)))
        steps = edges[bins]
        for width in np.unique(widths).tolist():  # two at most
            chosen = widths[bins] == width
            steps[chosen] += uniform_below(width, int(chosen.sum()), source)
        if isinstance(kind, Integer | Real):
            values = to_values(steps, kind)
            return pa.array(values.astype(np.int64) if isinstance(kind, Integer) else values)
        return pa.array(steps.astype(np.bool_))


def fit_total(noisy: "NDArray[np.int64]", total: int) -> "NDArray[np.int64]":
    """Return counts of 0 or more that sum to the total at most: each noisy count less the same whole number.

    Setting negative counts to 0 alone would add records to empty cells; the number that is taken from all corrects it.
    If nothing remains, all cells are alike.

    >>> fit_total(np.array([10, 3, -2, 1]), 12).tolist()
    [9, 2, 0, 0]
    """
    kept = np.maximum(noisy, 0)
    if int(kept.sum()) > total:
        falling = -np.sort(-kept)
        counts = np.arange(1, kept.size + 1)
        # After the largest j counts lose the same number, they sum to the total: that number is the largest over j.
        shift = int(np.max(-((total - np.cumsum(falling)) // counts)))
        kept = np.maximum(kept - max(shift, 0), 0)
    return kept if kept.any() else np.ones_like(kept)
