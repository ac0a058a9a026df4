"""Counts of a plain array: its values, its distinct values, and the values in each bin or category.

One row changes a count by one. A histogram is as private as one count, for a row falls into one bin: under add-remove
the bins share the noise scale of a single one, under replace-one a row can change two.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, double_at_least, exact, safe_repr
from celosia.data.schema.columns import Category
from celosia.statistics.arrays.reading import Column, read_column, read_numbers
from celosia.statistics.arrays.stepping import indices
from celosia.statistics.arrays.terms import Terms
from celosia.statistics.moments.measures import Bins, Distinct, RowCount

if TYPE_CHECKING:
    from celosia.core.mechanism import Source
    from celosia.core.release import Release

_MAX_EDGES = 1_000_001


def count(
    array: object,
    epsilon: Exact,
    *,
    delta: Exact | None = None,
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> "Release[int]":
    """Return the number of values; missing ones (None, NaN, an infinity) do not count.

    >>> from celosia.noise import Seeded
    >>> count([34, None, 71], epsilon=1, source=Seeded(7))
    Release(6, PureDP(epsilon=1), seeded=True)
    """
    found = int(np.count_nonzero(read_column(array).present))
    terms = Terms(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=unit, source=source)
    return terms.release(RowCount(), "count", np.array([[found]]))


def count_distinct(
    array: object,
    epsilon: Exact,
    *,
    delta: Exact | None = None,
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> "Release[int]":
    """Return the number of distinct values; missing ones do not count.

    >>> from celosia.noise import Seeded
    >>> count_distinct(["U071", "E10", "U071"], epsilon=1, source=Seeded(7))
    Release(6, PureDP(epsilon=1), seeded=True)
    """
    column = read_column(array)
    found = _count_different(column.values[column.present])
    terms = Terms(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=unit, source=source)
    return terms.release(Distinct(), "distinct", np.array([[found]]))


def histogram(  # noqa: PLR0913 - how to cut, and the terms of a release
    array: object,
    epsilon: Exact,
    *,
    edges: Sequence[Exact] | None = None,
    categories: Sequence[str | int] | None = None,
    null: Exact = "drop",
    delta: Exact | None = None,
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> "Release[NDArray[np.int64]]":
    """Return the number of values in each bin or category; the other parameters are those of ``mean``.

    ``edges`` are those of the bins, in increasing order; a value on an edge belongs to the bin above, the last edge to
    the last bin. Values beyond the ends count in the first and the last bin. ``categories`` are strings or integers.
    ``null`` is ``"drop"``, or the value or category that replaces missing or unknown ones.

    >>> from celosia.noise import Seeded
    >>> histogram([3, 34, 71, 12], epsilon=1, edges=[0, 18, 65, 120], source=Seeded(7)).value.tolist()
    [6, 3, 1]
    >>> histogram(["F", "M", "F"], epsilon=1, categories=["F", "M"], source=Seeded(7)).value.tolist()
    [6, 1]
    """
    if (edges is None) == (categories is None):
        raise ParameterError("statistics.edges_or_categories")
    if edges is not None:
        cuts = _parse_edges(edges)
        places, bins = _assign_bins(read_numbers(array), cuts, null), len(cuts) - 1
    else:
        kind = Category(categories or (), null=null)  # type: ignore[arg-type]  # it says what it needs
        places, bins = indices(read_column(array), kind), len(kind.values)
    summary = np.bincount(places, minlength=bins).astype(np.int64)[None, :]
    terms = Terms(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=unit, source=source)
    return terms.release(Bins(bins), "histogram", summary)


def _count_different(values: NDArray[Any]) -> int:
    return len(set(values.tolist())) if values.dtype == object else len(np.unique(values))


def _parse_edges(edges: Sequence[Exact]) -> NDArray[np.float64]:
    if isinstance(edges, str) or not hasattr(edges, "__len__") or not 2 <= len(edges) <= _MAX_EDGES:
        raise ParameterError("statistics.wrong_number_of_edges", most=_MAX_EDGES, edges=safe_repr(edges))
    cuts = np.array([double_at_least(exact(edge, name="edges")) for edge in edges])
    if not np.all(np.diff(cuts) > 0):
        raise ParameterError("statistics.edges_not_increasing")
    return cuts


def _assign_bins(column: Column, cuts: NDArray[np.float64], null: Exact) -> NDArray[np.int64]:
    values, present = column.values.astype(np.float64), column.present
    if not (isinstance(null, str) and null == "drop"):
        values, present = np.where(present, values, float(exact(null, name="null"))), np.ones(len(values), dtype=bool)
    found = np.searchsorted(cuts, values[present], side="right") - 1
    return np.clip(found, 0, len(cuts) - 2)
