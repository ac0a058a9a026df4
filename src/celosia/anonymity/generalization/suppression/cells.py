"""The records under local suppression: equal ones are one entry, which is split when only some of them change.

An entry's key is the sum of one number for each column that still has a value, so that the key without some columns
is a subtraction. The numbers are digits of a number in mixed radix; where that does not fit 64 bits, they are hashes,
and the result is checked afterwards.
"""

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.coding.kernels import number_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

_MAX_KEY: Final = 2**62
_GOLDEN: Final = 0x9E3779B97F4A7C15


@dataclass(slots=True, eq=False)
class Cells:
    """Entries: ``codes[entry, column]`` are 0 where there is no value, ``counts`` the numbers of records of each.

    ``origins`` are the different records of the file that the entries come from, and ``strata`` their strata.
    """

    codes: "NDArray[np.int32]"
    counts: "NDArray[np.int64]"
    origins: "NDArray[np.int64]"
    strata: "NDArray[np.int64]"

    def merge_equal(self) -> None:
        """Join the entries of one origin that look alike, and sort them."""
        rows = np.column_stack([self.origins, self.codes])
        order = np.lexsort(rows.T[::-1])
        rows = rows[order]
        starts = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1)))
        counts = np.add.reduceat(self.counts[order], starts)
        first = order[starts]
        self.codes, self.counts = self.codes[first], counts
        self.origins, self.strata = self.origins[first], self.strata[first]

    def split(self, entries: "NDArray[np.int64]", moved: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Separate ``moved`` records from each of some entries, and return the entries that hold them."""
        partial = moved < self.counts[entries]
        rest, size = entries[partial], len(self.counts)
        for one in fields(self):
            values = getattr(self, one.name)
            setattr(self, one.name, np.concatenate([values, values[rest]]))
        self.counts[size:] = moved[partial]
        self.counts[rest] -= moved[partial]
        places = entries.copy()
        places[partial] = np.arange(size, size + len(rest))
        return places


@dataclass(frozen=True, slots=True, eq=False)
class KeyMaker:
    """The number of each column and code; a key is the sum over columns. Code 0 adds nothing."""

    numbers: "tuple[NDArray[np.int64], ...]"
    stratum: np.int64

    def make(self, codes: "NDArray[np.int32]", strata: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return the key of each entry."""
        with np.errstate(over="ignore"):
            keys = strata * self.stratum
            for column, numbers in enumerate(self.numbers):
                keys += numbers[codes[:, column]]
        return keys

    def restrict(self, columns: "Collection[int]") -> "KeyMaker":
        """Return the maker of keys that ignore all other columns."""
        numbers = (one if place in columns else np.zeros_like(one) for place, one in enumerate(self.numbers))
        return KeyMaker(tuple(numbers), self.stratum)


def make_key_maker(sizes: "Sequence[int]", strata: int, salt: int = 0) -> KeyMaker:
    """Return the numbers of columns with ``sizes`` codes: digits if their product is a number, else hashes."""
    if math.prod(sizes) * strata < _MAX_KEY:
        strides = [math.prod(sizes[:place]) for place in range(len(sizes) + 1)]
        digits = (np.arange(size, dtype=np.int64) * stride for size, stride in zip(sizes, strides, strict=False))
        return KeyMaker(tuple(digits), np.int64(strides[-1]))
    starts = np.cumsum([1, *sizes])
    hashes = [_mix(np.arange(start, start + size), salt) for start, size in zip(starts, sizes, strict=False)]
    for one in hashes:
        one[0] = 0
    return KeyMaker(tuple(hashes), _mix(np.array([0]), salt)[0] | 1)


def _mix(values: "NDArray[np.int64]", salt: int) -> "NDArray[np.int64]":
    """Return 64 mixed bits of each value (the finalizer of SplitMix64, Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        bits = (values.astype(np.uint64) + np.uint64(salt) * np.uint64(2**40) + np.uint64(1)) * np.uint64(_GOLDEN)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (bits ^ (bits >> np.uint64(31))).view(np.int64)


def number(keys: "NDArray[np.int64]") -> "tuple[NDArray[np.int32], int]":
    """Return the number of each key among the different ones, by first occurrence, and how many there are."""
    ids, found = number_keys(keys, max(4, int(2 * len(keys)).bit_length()))
    return ids, len(found)
