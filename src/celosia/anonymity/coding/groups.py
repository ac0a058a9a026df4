"""The groups of rows that agree on several columns: the equivalence classes of a file.

Here a null is a value like any other; ``matching`` counts rows where a null matches everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.coding.columns import Coded
from celosia.anonymity.coding.kernels import number_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_KEY: Final = 2**62
_SMALL_KEYS: Final = 1 << 20  # as many as an array of counts holds without harm


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """``ids[i]`` is the group of row ``i``, from 0; ``sizes`` are the numbers of rows of the groups.

    Groups are numbered in the order of their values, so their numbers do not depend on the order of the rows.
    """

    ids: "NDArray[np.int32]"
    sizes: "NDArray[np.int64]"

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(self.sizes)

    def list_rows(self) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """Return the rows, group after group, and where each group starts; the last start is the number of rows."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        return np.argsort(self.ids, kind="stable"), starts

    def find_examples(self) -> "NDArray[np.int64]":
        """Return one row of each group."""
        rows = np.empty(self.count, dtype=np.int64)
        rows[self.ids[::-1]] = np.arange(len(self.ids) - 1, -1, -1)
        return rows


def group_rows(columns: Sequence[Coded], *, rows: int | None = None) -> Groups:
    """Return the groups of rows with equal codes in all columns; ``rows`` is their number if there is no column.

    >>> import pyarrow as pa
    >>> from celosia.anonymity.coding import encode
    >>> sex, age = encode(pa.array(list("MFMM")), name="sex"), encode(pa.array([40, 30, 40, None]), name="age")
    >>> groups = group_rows([sex, age])
    >>> groups.ids.tolist(), groups.sizes.tolist()
    ([2, 0, 2, 1], [1, 1, 2])
    """
    if not columns:
        total = rows or 0
        return Groups(np.zeros(total, dtype=np.int32), np.array([total] if total else [], dtype=np.int64))
    keys, room = columns[0].codes.astype(np.int64) + 1, len(columns[0].labels) + 1
    for column in columns[1:]:
        base = len(column.labels) + 1
        if room > _MAX_KEY // base:
            keys, room = _renumber(keys, room)
        keys = keys * base + (column.codes + 1)
        room *= base
    ids, count = _renumber(keys, room)
    narrow = ids.astype(np.int32, copy=False)
    return Groups(narrow, np.bincount(narrow, minlength=count))


def _renumber(keys: "NDArray[np.int64]", room: int) -> "tuple[NDArray[np.int64], int]":
    """Return the rank of each key among the different ones, and their number."""
    if room <= max(_SMALL_KEYS, 2 * keys.size):
        present = np.zeros(room, dtype=np.int64)
        present[keys] = 1
        return (np.cumsum(present) - 1)[keys], int(present.sum())
    ids, found = number_keys(keys, max(4, int(2 * keys.size).bit_length()))
    ranks = np.empty(found.size, dtype=np.int64)
    ranks[np.argsort(found)] = np.arange(found.size)
    return ranks[ids], found.size
