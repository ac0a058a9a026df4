"""Ranges, quantiles and frequent values of integers: a count-min for each level of a binary tree.

Every range of 2^b numbers is a sum of at most two nodes of each level of the tree over them (Cormode and Muthukrishnan
2005). Levels with few nodes are counted exactly, each of the L finer ones in a count-min. In every row, the at most 2L
nodes of a range are together too high by 2L/w of the total on average: Markov's inequality, and independent rows, bound
the probability of a larger error. An estimate is the least of the rows, because errors are upwards.
"""

import math
from typing import TYPE_CHECKING, Self

import numpy as np

from celosia.core.errors import FormatError, InputError, ParameterError
from celosia.core.exact import Exact, exact_probability, safe_repr
from celosia.sketches.base.medians import row_failure
from celosia.sketches.base.relative_error import open_unit
from celosia.sketches.base.serial import Kind, pack, read_array, signed_field, unpack, unsigned_field, write_array
from celosia.sketches.base.sketch import WeightedSketch
from celosia.sketches.base.weights import MAX_COUNTER, exact_sum, read_weights, signed_sums
from celosia.sketches.frequency.binary_tree import range_borders, tree_levels, tree_limits
from celosia.sketches.frequency.count_min import CountMin
from celosia.sketches.frequency.table import table_shape
from celosia.sketches.hashing.columns import Values, read_column
from celosia.sketches.hashing.digest import xxh64_word
from celosia.sketches.hashing.family import collision_chance, width_for

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MAX_NODES = 1 << 20


class DyadicCountMin(WeightedSketch):
    """Counts of ranges of the integers from ``low`` to ``high``.

    Adding or removing a record changes ``rows`` counters of each sketched level, and one of the exact level, by 1
    (``levels`` times ``rows``, plus one, in all); the counters alone are not private.

    >>> ages = DyadicCountMin.suggest("0.01", "0.01", low=0, high=2**20, seed=7)
    >>> ages.update(range(0, 1_000_000, 100))
    >>> ages.range([0, 250_000], [499_999, 250_099]).tolist()
    [5001, 8]
    >>> ages.quantile(["0.5"]).tolist()
    [499872]
    """

    __slots__ = ("_exact", "_high", "_low", "_rows", "_sketches", "_width")

    _NOT_ALIKE = "sketches.dyadic_not_alike"

    def __init__(self, low: int, high: int, *, rows: int, width: int, seed: int = 0) -> None:
        self._low, self._high = tree_limits(low, high)
        self._rows, self._width = table_shape(rows, width)
        super().__init__(seed)
        levels, leaves = tree_levels(self._high - self._low, self._rows * self._width)
        seeds = (int(xxh64_word(np.uint64(level), np.uint64(self.seed))) for level in range(levels))
        self._sketches = [CountMin(self._rows, self._width, seed=own) for own in seeds]
        self._exact = np.zeros(leaves, dtype=np.int64)

    @classmethod
    def suggest(cls, error: Exact, failure: Exact, *, low: int, high: int, seed: int = 0) -> Self:
        """Return the smallest sketch whose ranges exceed ``error`` of the total with probability at most ``failure``.

        >>> DyadicCountMin.suggest("0.01", "0.05", low=0, high=10**9)
        DyadicCountMin(0, 1000000000, rows=3, width=8687)
        """
        wanted, chance = open_unit(error, name="error"), open_unit(failure, name="failure")
        first, last = tree_limits(low, high)
        rows = math.ceil(math.log(1 / chance))
        shapes = []
        for most in range(1, (last - first).bit_length() + 1):
            width = width_for(wanted * chance ** (1 / rows) / (2 * most), name="error", given=error)
            levels, leaves = tree_levels(last - first, rows * width)
            if levels <= most:
                shapes.append((levels * rows * width + leaves, width))
        return cls(first, last, rows=rows, width=min(shapes)[1] if shapes else 2, seed=seed)

    @property
    def levels(self) -> int:
        """The number of sketched levels."""
        return len(self._sketches)

    @property
    def memory(self) -> int:
        """The bytes of all counters."""
        return self._exact.nbytes + sum(sketch.memory for sketch in self._sketches)

    def update(self, values: Values, weights: "ArrayLike | None" = None) -> None:
        """Count integers, each once or by its weight.

        >>> few = DyadicCountMin(0, 99, rows=3, width=10)
        >>> few.update([5, 5, 60], weights=[1, 1, 4])
        >>> few.range(0, 10).tolist()
        [2]
        """
        column = read_column(values)
        places = self._places(np.empty(0, dtype=np.int64) if len(column) == 0 else column.integers, "values")
        amounts = read_weights(weights, len(column))
        total, volume = signed_sums(amounts, len(column))
        self._require_room(volume)
        for level, sketch in enumerate(self._sketches):
            sketch.update(places >> level, amounts if amounts.size == places.size else int(amounts[0]))
        np.add.at(self._exact, places >> self.levels, amounts if places.size else 0)
        self._total, self._volume = self._total + total, self._volume + volume

    def relative_error(self, failure: Exact) -> float:
        """Return the error, as a share of ``total``, that a range exceeds with probability at most ``failure``.

        If weights were negative, it is two-sided, as a share of ``volume``.

        >>> DyadicCountMin(0, 2**20, rows=5, width=40_000).relative_error("0.01") < 0.001
        True
        """
        chance = open_unit(failure, name="failure")
        mean = 2 * self.levels * collision_chance(self._width)
        return (
            mean / row_failure(self._rows, chance) if self._has_negatives else float(mean * chance ** (-1 / self._rows))
        )

    def range(self, lows: "ArrayLike", highs: "ArrayLike") -> "NDArray[np.int64]":
        """Return the number of values from each of ``lows`` to each of ``highs``, both included; never too low.

        If weights were negative, the median of the rows is taken, whose error goes to both sides.

        >>> DyadicCountMin(0, 99, rows=3, width=10).range([0, 5], [10, 4]).tolist()
        [0, 0]
        """
        first, last = np.atleast_1d(lows), np.atleast_1d(highs)
        if first.ndim != 1 or last.ndim != 1 or (first.size != last.size and 1 not in (first.size, last.size)):
            raise InputError("sketches.wrong_number_of_ranges")
        starts, ends = np.broadcast_arrays(self._places(first, "lows"), self._places(last, "highs") + 1)
        ends = np.maximum(ends, starts)
        sums = np.zeros((self._rows if self._sketches else 1, starts.size), dtype=np.int64)
        for sketch in self._sketches:
            for asked, nodes in range_borders(starts, ends):
                if asked.size:
                    sums[:, asked] = self._add_counts(sums[:, asked], self._counts(sketch, nodes))
            starts, ends = (starts + 1) >> 1, ends >> 1
            ends = np.maximum(ends, starts)
        until = np.concatenate([[0], np.cumsum(self._exact)])
        return self._over_rows(self._add_counts(sums, until[ends] - until[starts]))

    def quantile(self, shares: "ArrayLike") -> "NDArray[np.int64]":
        """Return quantiles: the values at these shares of the total, whose ranks have the error of ranges.

        >>> few = DyadicCountMin(0, 99, rows=3, width=100)
        >>> few.update(range(100))
        >>> few.quantile([0, 0.25, 1]).tolist()
        [0, 24, 99]
        """
        asked = [exact_probability(share, name="shares") for share in np.atleast_1d(np.asarray(shares, object))]
        ranks = np.array([max(1, math.ceil(share * max(self._total, 1))) for share in asked], dtype=np.int64)
        until = np.cumsum(self._exact)
        nodes = np.minimum(np.searchsorted(until, ranks), until.size - 1)
        left = ranks - np.concatenate([[0], until])[nodes]
        for sketch in reversed(self._sketches):
            nodes = 2 * nodes
            here = self._over_rows(self._counts(sketch, nodes))
            right = left > here
            nodes, left = nodes + right, np.where(right, left - here, left)
        found: NDArray[np.int64] = np.minimum(nodes + self._low, self._high)
        return found

    def frequent(self, share: Exact) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """Return the values with at least a share of the total, and their counts; none is missed, a few may be rarer.

        If weights were negative, some may be missed: counts are then medians, which are off to both sides.

        >>> few = DyadicCountMin(0, 999_999, rows=3, width=1_000)
        >>> few.update([7] * 60 + list(range(1_000, 1_040)))
        >>> [found.tolist() for found in few.frequent("0.5")]
        [[7], [60]]
        """
        least = max(1, math.ceil(exact_probability(share, name="share") * self._total))
        nodes = np.flatnonzero(self._exact >= least)
        counts = self._exact[nodes]
        for level, sketch in reversed(list(enumerate(self._sketches))):
            if nodes.size > _MAX_NODES:
                raise ParameterError("sketches.share_too_small", share=safe_repr(share))
            nodes = np.concatenate([2 * nodes, 2 * nodes + 1])
            nodes = nodes[nodes <= (self._high - self._low) >> level]  # the tree may go on beyond the largest number
            counts = self._over_rows(self._counts(sketch, nodes))
            nodes, counts = nodes[counts >= least], counts[counts >= least]
        order = np.argsort(-counts, kind="stable")
        return nodes[order] + self._low, counts[order]

    def merge(self, other: Self) -> Self:
        """Add another of the same parameters into this one.

        >>> left, right = DyadicCountMin(0, 99, rows=3, width=10), DyadicCountMin(0, 99, rows=3, width=10)
        >>> right.update([5])
        >>> left.merge(right).range(0, 9).tolist()
        [1]
        """
        self._require_alike(other)
        self._require_room(other._volume)
        for mine, theirs in zip(self._sketches, other._sketches, strict=True):
            mine.merge(theirs)
        self._exact += other._exact
        self._total, self._volume = self._total + other._total, self._volume + other._volume
        return self

    def serialize(self) -> bytes:
        """Return the sketch as bytes: its parameters, total and volume; the exact level, then the tables by level.

        >>> few = DyadicCountMin(0, 99, rows=3, width=10)
        >>> DyadicCountMin.deserialize(few.serialize()) == few
        True
        """
        low, high, rows, width, seed = self._parameters()
        fields = [
            unsigned_field(low),
            unsigned_field(high),
            rows,
            width,
            seed,
            unsigned_field(self._total),
            self._volume,
        ]
        tables = [write_array(sketch.counters) for sketch in self._sketches]
        return pack(Kind.DYADIC, fields, b"".join([write_array(self._exact), *tables]))

    @classmethod
    def deserialize(cls, data: bytes) -> Self:
        """Return the sketch that ``serialize`` wrote.

        >>> DyadicCountMin.deserialize(DyadicCountMin(0, 99, rows=3, width=10).serialize())
        DyadicCountMin(0, 99, rows=3, width=10)
        """
        (low, high, rows, width, seed, total, volume), payload = unpack(data, kind=Kind.DYADIC, fields=7)
        try:
            first, last = tree_limits(signed_field(low), signed_field(high))
            levels, leaves = tree_levels(last - first, rows * width)
            numbers = read_array(payload, np.int64, (leaves + levels * rows * width,))
            sketch = cls(first, last, rows=rows, width=width, seed=seed)
        except ParameterError as error:
            raise FormatError("sketches.dyadic_bad_parameters") from error
        sketch._restore(numbers, signed_field(total), volume)
        return sketch

    def _restore(self, numbers: "NDArray[np.int64]", total: int, volume: int) -> None:
        exact, tables = np.split(numbers, [self._exact.size])
        self._sketches = [
            CountMin.from_counters(table, seed=sketch.seed, total=total, volume=volume)
            for sketch, table in zip(self._sketches, tables.reshape(self.levels, self._rows, self._width), strict=True)
        ]
        fits = volume <= MAX_COUNTER and int(exact.min()) >= -MAX_COUNTER and exact_sum(np.abs(exact)) <= volume
        if not fits or exact_sum(exact) != total or (volume - total) % 2:
            raise FormatError("sketches.dyadic_impossible_counters")
        self._exact, self._total, self._volume = exact, total, volume

    @property
    def _has_negatives(self) -> bool:
        return self._volume != self._total

    def _places(self, numbers: "NDArray[np.int64] | None", name: str) -> "NDArray[np.int64]":
        if numbers is None or (numbers.size and numbers.dtype.kind not in "iu"):
            raise InputError("sketches.not_integers", name=name)
        if numbers.size and (int(numbers.min()) < self._low or int(numbers.max()) > self._high):
            raise InputError("sketches.values_out_of_range", name=name, low=self._low, high=self._high)
        return numbers.astype(np.int64) - self._low

    def _counts(self, sketch: CountMin, nodes: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return the counters of nodes in each row; where none is too low, the least in every row."""
        cells = sketch.cells(nodes)
        return cells if self._has_negatives else np.broadcast_to(cells.min(axis=0), cells.shape)

    def _add_counts(self, sums: "NDArray[np.int64]", counts: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Add counts to sums: no range has more than the volume, and so neither leaves the 64-bit integers."""
        room = self._volume - np.maximum(counts, 0)
        added: NDArray[np.int64] = np.maximum(np.minimum(sums, room) + counts, -self._volume)
        return added

    def _over_rows(self, sums: "NDArray[np.int64]") -> "NDArray[np.int64]":
        middle = (sums.shape[0] - 1) // 2 if self._has_negatives else 0
        chosen: NDArray[np.int64] = np.partition(sums, middle, axis=0)[middle]
        return chosen

    def _parameters(self) -> tuple[int, int, int, int, int]:
        return self._low, self._high, self._rows, self._width, self.seed

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, DyadicCountMin):
            return NotImplemented
        return (
            self._parameters() == other._parameters()
            and self._sketches == other._sketches
            and (self._total, self._volume) == (other._total, other._volume)
            and bool(np.array_equal(self._exact, other._exact))
        )

    __hash__ = None  # type: ignore[assignment] # mutable

    def __repr__(self) -> str:
        seed = f", seed={self.seed}" if self.seed else ""
        return f"{type(self).__name__}({self._low}, {self._high}, rows={self._rows}, width={self._width}{seed})"
