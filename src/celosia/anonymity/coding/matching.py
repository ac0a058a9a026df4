"""Rows that match where a null stands for any value.

Two rows match if they agree on each column where both have a value. Matching is not transitive, so there are no
groups: each row has a number of matches, which counts the row itself. Rows are first grouped with null as a value;
each pair of patterns of nulls is then one comparison of keys on the columns that both know.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding.columns import Coded
from celosia.anonymity.coding.groups import Groups, group_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def count_matches(columns: Sequence[Coded], weights: "NDArray[np.float64] | None" = None) -> "NDArray[np.float64]":
    """Return for each row how many rows match it, or the sum of their weights.

    >>> import pyarrow as pa
    >>> from celosia.anonymity.coding import encode
    >>> sex = encode(pa.array(["M", "M", None]), name="sex")
    >>> count_matches([sex, encode(pa.array([40, 30, 40]), name="age")]).tolist()
    [2.0, 1.0, 2.0]
    """
    groups = group_rows(columns)
    mass = np.bincount(groups.ids, weights=weights, minlength=groups.count).astype(np.float64)
    total = np.zeros(groups.count)
    for left, right, left_ids, right_ids in match_keys(columns, groups):
        sums = np.bincount(right_ids, weights=mass[right], minlength=int(left_ids.max(initial=0)) + 1)
        total[left] += sums[left_ids]
    return total[groups.ids]


def match_keys(
    columns: Sequence[Coded], groups: Groups
) -> "Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]]":
    """Yield for each pair of patterns of nulls: the groups of both, and ids that are equal where the groups match."""
    examples = groups.find_examples()
    keys = [column.take(examples) for column in columns]
    patterns = group_rows([Coded((key.codes < 0).astype(np.int32), _two_labels()) for key in keys], rows=len(examples))
    order, starts = patterns.list_rows()
    members = [order[low:high] for low, high in itertools.pairwise(starts)]
    known = [[key.codes[rows[0]] >= 0 for key in keys] for rows in members]
    for left, left_known in zip(members, known, strict=True):
        for right, right_known in zip(members, known, strict=True):
            shared = [key for key, one, two in zip(keys, left_known, right_known, strict=True) if one and two]
            both = np.concatenate([left, right])
            ids = group_rows([key.take(both) for key in shared], rows=len(both)).ids
            yield left, right, ids[: len(left)], ids[len(left) :]


def _two_labels() -> "pa.Array":
    import pyarrow as pa

    return pa.array([False, True])
