"""Probabilistic k-anonymity: values change places within groups of k or more similar records, at random.

All orders of the values within a group are equally likely, and groups do not overlap. So someone who knows the true
values of everybody, and the groups, links a person to a released record with probability 1/k at most. Sensitive values
of a group may still be alike, and it is *not* differential privacy. Soria-Comas and Domingo-Ferrer 2012.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.masking.parts import check_names, get_complete_codes, split_rows
from celosia.anonymity.microdata import Microdata
from celosia.core.exact import exact_integer
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilisticSwap:
    """Permute values at random within disjoint groups of ``k`` to ``2 k - 1`` records of one stratum.

    The groups of one column are neighbouring ranks. Those of several columns are formed for all of them together, by
    microaggregation of their ranks, and each column is permuted on its own: if each column had groups of its own, the
    groups that a person is in could still tell the person.

    Parameters
    ----------
    columns
        The columns that others may know; their values must have an order, and no nulls.
    k
        An attacker who knows all of them is right with probability ``1 / k`` at most.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> frame = pa.table({"age": [30, 31, 46, 51, 60, 65]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["age"]))
    >>> ages = ProbabilisticSwap(columns=["age"], k=3).apply(data).get_numbers("age")
    >>> sorted(ages[:3].tolist()), sorted(ages[3:].tolist())
    ([30.0, 31.0, 46.0], [51.0, 60.0, 65.0])
    """

    columns: Sequence[str]
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", check_names(self.columns, name="columns"))
        exact_integer(self.k, name="k", least=2)

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the file with permuted values."""
        import pyarrow as pa

        drawn = source_or_system(source)
        codes = np.column_stack([get_complete_codes(data, name).codes for name in self.columns])
        parts = [(rows, self.group(codes[rows])) for rows in split_rows(data, self.columns, least=self.k)]
        changed = {}
        for name in self.columns:
            origins = np.arange(len(data))
            for rows, groups in parts:
                origins[rows[np.argsort(groups, kind="stable")]] = rows[_permute(groups, drawn)]
            changed[name] = data.get_column(name).take(pa.array(origins))
        return data.replace_columns(changed)

    def group(self, codes: "NDArray[np.int32]") -> "NDArray[np.int64]":
        """Return the groups of sorted records, given the codes of their values in each column."""
        count, width = codes.shape
        if width == 1:
            return np.asarray(np.arange(count) * (count // self.k) // count, dtype=np.int64)
        from celosia.anonymity.masking.microaggregation.mdav_kernels import group_by_mdav

        ranks = np.empty(codes.shape)
        for column in range(width):
            sizes = np.bincount(codes[:, column])
            ranks[:, column] = (np.cumsum(sizes) - (sizes + 1) / 2)[codes[:, column]]
        return np.asarray(group_by_mdav(ranks, self.k), dtype=np.int64)


def _permute(groups: "NDArray[np.int64]", source: "Source") -> "NDArray[np.int64]":
    """Return the places sorted by group, in uniformly random order within each; equal keys are drawn again."""
    while True:
        keys = source.words(groups.size)
        order = np.lexsort((keys, groups))
        same = (keys[order[1:]] == keys[order[:-1]]) & (groups[order[1:]] == groups[order[:-1]])
        if not same.any():
            return order
