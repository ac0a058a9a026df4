"""The distinct records of a file, which are grouped again at each node of the lattice."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.coding import Coded, Groups, group_rows
from celosia.anonymity.generalization.full_domain.kernels import number_rows
from celosia.anonymity.generalization.full_domain.lattice import Lattice
from celosia.anonymity.models.classes import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_KEY: Final = 2**62
_DENSE: Final = 4  # slots for each row, up to which a table of all keys is quicker than a hash table


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Base:
    """Distinct records: ``codes[i]`` are the values of each, ``ids`` say which one each record of the file is."""

    codes: "NDArray[np.int32]" = field(repr=False)
    records: Records = field(repr=False)
    ids: "NDArray[np.int32]" = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def counts(self) -> "NDArray[np.float64]":
        """The number of records that each stands for."""
        counts = self.records.counts
        return np.ones(len(self)) if counts is None else counts

    def group(self, lattice: Lattice, levels: Sequence[int]) -> "tuple[NDArray[np.int32], int]":
        """Return the class of each distinct record at a node, and the number of classes."""
        table, room = lattice.list_keys(levels)
        if room > _MAX_KEY:
            groups = group_rows(self.generalize(lattice, levels))
            return groups.ids, groups.count
        bits = 0 if room <= _DENSE * len(self) else max(4, (2 * len(self)).bit_length())
        ids, count = number_rows(self.codes, table, lattice.starts, room, bits)
        return ids, int(count)

    def generalize(self, lattice: Lattice, levels: Sequence[int]) -> list[Coded]:
        """Return the columns at a node; nulls below ``*`` stay nulls."""
        columns = []
        for place, (ladder, level) in enumerate(zip(lattice.ladders, levels, strict=True)):
            codes = ladder.codes[level][self.codes[:, place]].astype(np.int32)
            labels = ladder.levels.labels[level]
            columns.append(Coded(np.where(codes >= len(labels), np.int32(-1), codes), labels))
        return columns

    def collapse(self, lattice: Lattice, levels: Sequence[int]) -> "Base":
        """Return the distinct records at a node; they give the same classes at all coarser ones."""
        ids, count = self.group(lattice, levels)
        groups = _number_sensitive(Groups(ids, np.bincount(ids, minlength=count)), self.records)
        records, examples = _add_up(self.records, groups)
        return Base(codes=self.codes[examples], records=records, ids=groups.ids[self.ids])


def read_base(columns: Sequence[Coded], records: Records, lattice: Lattice) -> Base:
    """Return the distinct records of a file, in the order of their values."""
    groups = _number_sensitive(group_rows(columns), records)
    summed, examples = _add_up(records, groups)
    codes = [
        ladder.place_nulls(column.codes[examples]) for ladder, column in zip(lattice.ladders, columns, strict=True)
    ]
    return Base(codes=np.ascontiguousarray(np.stack(codes, axis=1)), records=summed, ids=groups.ids)


def _number_sensitive(groups: Groups, records: Records) -> Groups:
    """Return groups of records that agree on the sensitive columns, too."""
    import pyarrow as pa

    if not records.codes:
        return groups
    parts = [Coded(groups.ids, pa.array(np.arange(groups.count)))]
    for name, codes in records.codes.items():
        parts.append(Coded(codes.astype(np.int32), pa.array(np.arange(records.columns[name].size))))
    return group_rows(parts)


def _add_up(records: Records, groups: Groups) -> "tuple[Records, NDArray[np.int64]]":
    """Return what is known of groups of equal records, and one record of each."""
    examples, count = groups.find_examples(), groups.count

    def add(terms: "NDArray[np.float64] | None") -> "NDArray[np.float64]":
        return np.bincount(groups.ids, weights=terms, minlength=count).astype(np.float64)

    summed = replace(
        records,
        counts=add(records.counts),
        weights=add(records.weights),
        codes={name: codes[examples] for name, codes in records.codes.items()},
        populations=tuple((table, add(people)) for table, people in records.populations),
    )
    return summed, examples
