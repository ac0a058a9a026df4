"""Covariance and correlation of two plain arrays between public bounds.

Four sums of products that are noised together carry the rows, the means and the covariance; for the correlation there
are nine (``CrossMoments``). A row that lacks one of its two values is left out, unless a value is put in its place.
"""

from typing import TYPE_CHECKING

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import InputError
from celosia.core.exact import Exact
from celosia.statistics.arrays.reading import read_numbers
from celosia.statistics.arrays.stepping import kind_for, pair, steps_on, summary_of
from celosia.statistics.arrays.terms import Terms
from celosia.statistics.moments.cross_moments import CrossMoments

if TYPE_CHECKING:
    from celosia.core.mechanism import Source
    from celosia.core.release import Release

    Bounds = tuple[tuple[Exact, Exact], tuple[Exact, Exact]]


def covariance(  # noqa: PLR0913 - the bounds, and the terms of a release
    x: object,
    y: object,
    bounds: "Bounds",
    epsilon: Exact,
    *,
    delta: Exact | None = None,
    null: Exact = "drop",
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> "Release[float]":
    """Return the mean product of the distances from the means; ``bounds`` are ``((low, high), (low, high))``.

    It is divided by n, not by n - 1. Values are rounded to at most 2^20 steps.

    >>> import numpy as np
    >>> from celosia.noise import Seeded
    >>> x = np.arange(100_000) % 101
    >>> round(covariance(x, 100 - x, bounds=((0, 100), (0, 100)), epsilon=1, source=Seeded(7)).value)
    -850
    """
    terms = Terms(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=unit, source=source)
    return _release_cross_moment("covariance", (x, y), bounds, null, terms)


def correlation(  # noqa: PLR0913 - the bounds, and the terms of a release
    x: object,
    y: object,
    bounds: "Bounds",
    epsilon: Exact,
    *,
    delta: Exact | None = None,
    null: Exact = "drop",
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> "Release[float]":
    """Return Pearson's correlation, between -1 and 1; ``bounds`` are ``((low, high), (low, high))``.

    Values are rounded to at most 2^10 steps.

    >>> import numpy as np
    >>> from celosia.noise import Seeded
    >>> x = np.arange(100_000) % 101
    >>> round(correlation(x, 100 - x, bounds=((0, 100), (0, 100)), epsilon=1, source=Seeded(7)).value, 2)
    -1.0
    """
    terms = Terms(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=unit, source=source)
    return _release_cross_moment("correlation", (x, y), bounds, null, terms)


def _release_cross_moment(
    quantity: str, arrays: tuple[object, object], bounds: "Bounds", null: Exact, terms: Terms
) -> "Release[float]":
    pairs = pair(bounds, "statistics.bounds_not_two_pairs")
    columns = [read_numbers(array, name=name) for array, name in zip(arrays, "xy", strict=True)]
    if len(columns[0].values) != len(columns[1].values):
        raise InputError("statistics.lengths_differ")
    kinds = [kind_for(column, ends, grid=None, null=null) for column, ends in zip(columns, pairs, strict=True)]
    measure = CrossMoments(kinds[0].axis, kinds[1].axis, degree=1 if quantity == "covariance" else 2)
    found = [steps_on(axis, column, kind) for axis, column, kind in zip(measure.axes, columns, kinds, strict=True)]
    both = found[0][1] & found[1][1]
    kept = [steps[both] for steps, _ in found]
    return terms.release(measure, quantity, summary_of(measure, kept, len(kept[0])))
