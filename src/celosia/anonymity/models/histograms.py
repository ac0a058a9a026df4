"""How often each sensitive value occurs in each class, and what follows from it.

Only pairs of class and value that occur are stored, so that a column with many values costs no more than its records.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.hierarchies.categories import write_values

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_DENSE: Final = 1 << 22  # as many sums as an array holds without harm


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sensitive:
    """A sensitive column: the distribution of its values in the whole file, in the order of the values.

    ``shares[v]`` is the part of the records that have value ``v``. ``labels`` are the values; if there is one more
    share than labels, value 0 is the null. ``levels`` has the code of each value at each level of the column's
    hierarchy, the last of which holds one code; it is None if there is no hierarchy.
    """

    name: str
    shares: "NDArray[np.float64]"
    labels: "pa.Array | None" = field(default=None, repr=False)
    levels: "NDArray[np.int64] | None" = None

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.shares)

    def write_values(self) -> list[str]:
        """Return the values as texts; a null is empty."""
        texts = [] if self.labels is None else write_values(self.labels)
        return [""] * (self.size - len(texts)) + texts


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Histogram:
    """Counts of pairs of class and sensitive value, in the order of classes, then of values."""

    classes: "NDArray[np.int64]"
    values: "NDArray[np.int64]"
    counts: "NDArray[np.float64]"
    count: int
    column: Sensitive

    @property
    def totals(self) -> "NDArray[np.float64]":
        """The number of known values in each class."""
        return self.sum_by_class(self.counts)

    @property
    def shares(self) -> "NDArray[np.float64]":
        """The part of its class that each pair is."""
        return self.counts / self.totals[self.classes]

    def sum_by_class(self, terms: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the sum of terms, one for each pair, in each class."""
        return np.bincount(self.classes, weights=terms, minlength=self.count).astype(np.float64, copy=False)

    def recode(self, codes: "NDArray[np.int64]", size: int) -> "Histogram":
        """Return the histogram with another code for each value, below ``size``; equal codes are added up."""
        shares = np.bincount(codes, weights=self.column.shares, minlength=size).astype(np.float64, copy=False)
        column = Sensitive(name=self.column.name, shares=shares)
        classes, values, counts = sum_pairs(self.classes, codes[self.values], self.counts, self.count, size)
        return Histogram(classes=classes, values=values, counts=counts, count=self.count, column=column)


def sum_pairs(
    classes: "NDArray[np.int64]",
    values: "NDArray[np.int64]",
    counts: "NDArray[np.float64] | None",
    count: int,
    size: int,
) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]":
    """Return the different pairs of class and value in their order, with the sums of their counts."""
    keys = classes * np.int64(size) + values
    if count * size <= max(_DENSE, 2 * len(keys)):
        sums = np.bincount(keys, weights=counts, minlength=count * size)
        found = np.flatnonzero(sums)
        totals = sums[found].astype(np.float64)
    else:
        found, ids = np.unique(keys, return_inverse=True)
        totals = np.bincount(ids, weights=counts, minlength=len(found)).astype(np.float64)
        found, totals = found[totals > 0], totals[totals > 0]
    return found // size, found % size, totals


def count_values(histogram: Histogram) -> "NDArray[np.float64]":
    """Return the number of different values in each class."""
    return histogram.sum_by_class(np.ones(len(histogram.counts)))


def find_largest(histogram: Histogram, texts: tuple[str, ...] = ()) -> "NDArray[np.float64]":
    """Return the part of each class that has its most frequent value, of some or all; 0 where none is known."""
    shares = histogram.shares
    if texts:
        asked = np.array([text in texts for text in histogram.column.write_values()])
        shares = np.where(asked[histogram.values], shares, 0.0)
    largest = np.zeros(histogram.count)
    np.maximum.at(largest, histogram.classes, shares)
    return largest


def measure_entropy(histogram: Histogram) -> "NDArray[np.float64]":
    """Return the exponential of the entropy in each class: the number of equally likely values that is as uncertain."""
    shares = histogram.shares
    entropies: NDArray[np.float64] = np.exp(-histogram.sum_by_class(shares * np.log(shares)))
    return np.where(histogram.totals > 0, entropies, 0.0)


def measure_recursive(histogram: Histogram, c: float) -> "NDArray[np.float64]":
    """Return the largest l for which each class is recursively (c, l)-diverse, or 0.

    With counts r1 >= r2 >= ... of its values, a class is so if r1 < c * (r_l + r_(l+1) + ...).
    """
    order = np.lexsort((-histogram.counts, histogram.classes))
    counts, classes = histogram.counts[order], histogram.classes[order]
    starts = np.searchsorted(classes, np.arange(histogram.count))
    before = np.cumsum(counts) - counts
    occupied = np.diff(starts, append=len(classes)) > 0
    first = np.zeros(histogram.count)
    first[occupied] = counts[starts[occupied]]
    base = np.zeros(histogram.count)
    base[occupied] = before[starts[occupied]]
    tails = histogram.totals[classes] - (before - base[classes])
    diverse = (first[classes] < c * tails).astype(np.float64)
    return np.bincount(classes, weights=diverse, minlength=histogram.count).astype(np.float64)
