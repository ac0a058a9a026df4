"""The text for all values that a class has in one column: a range of numbers, a set of names, or a hierarchy's label.

A null stands with other values only as ``*``: a range or a set would say that the person has one of its values.
"""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.generalization.mondrian.domains import Domain
from celosia.anonymity.hierarchies import ANY
from celosia.anonymity.hierarchies.categories import write_values

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """The label of each class, by code (-1 is null), and the part of the domain that it stands for."""

    codes: "NDArray[np.int64]"
    labels: "pa.Array"
    shares: "NDArray[np.float64]"


def label_classes(
    domain: Domain, codes: "NDArray[np.int32]", starts: "NDArray[np.int64]", *, use_hierarchy: bool
) -> Labelled | None:
    """Return the labels of classes, of which class ``i`` has the codes from ``starts[i]``; none if all are exact.

    ``codes`` are those of the rows, class after class.
    """
    least = np.minimum.reduceat(codes, starts[:-1])
    most = np.maximum.reduceat(codes, starts[:-1])
    if (least == most).all():
        return None
    if use_hierarchy and domain.levels is not None:
        coarse = _find_ancestors(domain, codes, starts)
    elif domain.positions.size:
        coarse = _write_ranges(domain, least, most)
    else:
        coarse = _write_sets(domain, codes, starts)
    return _mark_nulls(coarse, least, most)


def _mark_nulls(found: Labelled, least: "NDArray[np.int32]", most: "NDArray[np.int32]") -> Labelled:
    """Return the labels with ``*`` for classes of nulls and others, and null for classes of nulls."""
    import pyarrow as pa

    mixed = (least == 0) & (most > 0)
    codes = np.where(mixed, len(found.labels), np.where(most == 0, -1, found.codes))
    shares = np.where(mixed, 1.0, np.where(least == most, 0.0, found.shares))
    return Labelled(codes, pa.concat_arrays([found.labels, pa.array([ANY])]), shares)


def _number_keys(
    keys: "NDArray[np.int64]", write: "Callable[[list[int]], list[str]]"
) -> "tuple[NDArray[np.int64], pa.Array]":
    """Return a code for each key, and the label of each code."""
    import pyarrow as pa

    found, ids = np.unique(keys, return_inverse=True)
    return ids, pa.array(write(found.tolist()), pa.string())


def _write_ranges(domain: Domain, least: "NDArray[np.int32]", most: "NDArray[np.int32]") -> Labelled:
    texts = ["", *write_values(domain.labels)]
    size, form = len(texts), _choose_form(domain.labels)

    def write(keys: list[int]) -> list[str]:
        ends = (divmod(key, size) for key in keys)
        return [texts[low] if low == high else form.format(texts[low], texts[high]) for low, high in ends]

    codes, labels = _number_keys(least.astype(np.int64) * size + most, write)
    return Labelled(codes, labels, domain.positions[most] - domain.positions[least])


def _choose_form(labels: "pa.Array") -> str:
    """Return how a range is written: ``20-29``, ``[-5, 5]``, or ``2024-01-01/2024-01-31`` as in ISO 8601."""
    import pyarrow as pa

    if pa.types.is_temporal(labels.type):
        return "{}/{}"
    return "{}-{}" if pa.types.is_integer(labels.type) and labels[0].as_py() >= 0 else "[{}, {}]"


def _write_sets(domain: Domain, codes: "NDArray[np.int32]", starts: "NDArray[np.int64]") -> Labelled:
    """Return the set of values of each class, sorted by name."""
    import pyarrow as pa

    size = len(domain.labels) + 1
    texts = ["", *write_values(domain.labels)]
    ranks = np.argsort(np.argsort(np.array(texts, dtype=object), kind="stable"), kind="stable")
    by_rank = sorted(texts)
    classes = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    pairs = np.unique(classes * size + ranks[codes])
    members = (pairs % size).tolist()
    ends = np.append(0, np.cumsum(np.bincount(pairs // size, minlength=len(starts) - 1))).tolist()
    numbers: dict[tuple[int, ...], int] = {}
    ids = [numbers.setdefault(tuple(members[low:high]), len(numbers)) for low, high in itertools.pairwise(ends)]
    sets = [
        by_rank[one[0]] if len(one) == 1 else "{" + ", ".join(by_rank[each] for each in one) + "}" for one in numbers
    ]
    counts = np.array([len(one) for one in numbers])
    return Labelled(np.array(ids), pa.array(sets, pa.string()), (counts / max(size - 1, 1))[ids])


def _find_ancestors(domain: Domain, codes: "NDArray[np.int32]", starts: "NDArray[np.int64]") -> Labelled:
    """Return the label of the lowest level at which all values of a class are one."""
    import pyarrow as pa

    levels = domain.levels
    assert levels is not None  # noqa: S101 - asked for by the caller
    known = np.maximum(codes - 1, 0)  # classes with nulls get another label
    chosen = np.full(len(starts) - 1, -1)
    shares = np.ones(len(starts) - 1)
    before = 0
    texts = []
    for level in range(levels.height):
        own = levels.codes[level][known]
        least, most = np.minimum.reduceat(own, starts[:-1]), np.maximum.reduceat(own, starts[:-1])
        new = (chosen < 0) & (least == most)
        chosen[new] = before + least[new]
        shares[new] = levels.shares[level][least[new]]
        texts.append(pa.array(write_values(levels.labels[level]), pa.string()))
        before += len(levels.labels[level])
    return Labelled(chosen, pa.concat_arrays(texts), shares)
