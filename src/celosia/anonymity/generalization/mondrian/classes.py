"""The classes that Mondrian finds. Equal records are one row with a mass, so copies cost nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import Coded, group_rows, sort_rows
from celosia.anonymity.generalization.mondrian.domains import Domain
from celosia.anonymity.generalization.mondrian.kernels import split_all
from celosia.anonymity.microdata import Microdata
from celosia.noise import permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Different records: ``ids[i]`` is the row of record ``i``, ``examples[row]`` one of its records, and its mass.

    ``starts`` has the row where each stratum starts, and the end.
    """

    ids: "NDArray[np.int64]"
    examples: "NDArray[np.int64]"
    masses: "NDArray[np.int64]"
    starts: "NDArray[np.int64]"


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """One record of each row, class after class, where each class starts, and the class of each record."""

    examples: "NDArray[np.int64]"
    starts: "NDArray[np.int64]"
    ids: "NDArray[np.int64]"


def merge_records(strata: "NDArray[np.int32]", columns: Sequence[Coded]) -> Rows:
    """Return one row for all records that are equal in all columns, by stratum."""
    groups = group_rows([_as_column(strata), *columns])
    examples = groups.find_examples()
    return Rows(groups.ids.astype(np.int64), examples, groups.sizes, _find_starts(strata[examples]))


def separate_records(
    data: Microdata, strata: "NDArray[np.int32]", columns: Sequence[Coded], source: "Source | None"
) -> Rows:
    """Return one row for each record, by stratum and columns, in which equal ones are drawn by lot.

    Sorted by other columns, equal ones would be split into classes that are alike in these, which protects nobody.
    """
    keys = (_as_column(strata), *columns)
    known = sort_rows((*keys, *data.encode(data.table.column_names)))  # for one source, the same whatever the order was
    groups = group_rows(keys).ids[known]
    order = known[np.lexsort((permutation(len(known), source), groups))]
    ids = np.empty(len(order), dtype=np.int64)
    ids[order] = np.arange(len(order))
    return Rows(ids, order, np.ones(len(order), dtype=np.int64), _find_starts(strata[order]))


def find_classes(domains: Sequence[Domain], rows: Rows, *, k: int, relaxed: bool) -> Classes:
    """Return the classes of at least ``k`` records that no allowed split makes smaller."""
    codes, positions, places, sizes = stack_domains(domains, rows)
    order, starts = split_all(codes, rows.masses.copy(), rows.starts, positions, places, sizes, k, relaxed)
    return make_classes(rows, order, starts)


def stack_domains(
    domains: Sequence[Domain], rows: Rows
) -> "tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]":
    """Return the codes of the rows, and the positions, their places and the sizes of the columns, for the kernels."""
    codes = np.ascontiguousarray(np.column_stack([domain.codes[rows.examples] for domain in domains]))
    places = np.append(0, np.cumsum([len(domain.positions) for domain in domains]))
    sizes = np.array([len(domain.labels) + 1 for domain in domains])
    return codes, np.concatenate([domain.positions for domain in domains]), places, sizes


def make_classes(rows: Rows, order: "NDArray[np.int64]", starts: "NDArray[np.int64]") -> Classes:
    """Return the classes of rows that stand in an order, class after class."""
    ids = np.empty(len(order), dtype=np.int64)
    ids[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return Classes(rows.examples[order], starts, ids[rows.ids])


def _find_starts(sorted_ids: "NDArray[np.int32]") -> "NDArray[np.int64]":
    changes = np.flatnonzero(np.diff(sorted_ids)) + 1
    return np.concatenate([[0], changes, [len(sorted_ids)]]).astype(np.int64)


def _as_column(strata: "NDArray[np.int32]") -> Coded:
    import pyarrow as pa

    return Coded(strata, pa.nulls(int(strata.max(initial=-1)) + 1))
