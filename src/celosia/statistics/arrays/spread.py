"""Variance and standard deviation of a plain array between public bounds.

Three sums that are noised together carry the rows, the mean and the mean square (``SecondMoments``).
"""

from typing import TYPE_CHECKING

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.exact import Exact
from celosia.statistics.arrays.reading import read_numbers
from celosia.statistics.arrays.stepping import kind_for, steps_on, summary_of
from celosia.statistics.arrays.terms import Terms
from celosia.statistics.moments.bernstein import SecondMoments

if TYPE_CHECKING:
    from celosia.core.mechanism import Source
    from celosia.core.release import Release


def variance(  # noqa: PLR0913 - the bounds, and the terms of a release
    array: object,
    bounds: tuple[Exact, Exact],
    epsilon: Exact,
    *,
    delta: Exact | None = None,
    grid: Exact | None = None,
    null: Exact = "drop",
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> "Release[float]":
    """Return the mean squared distance from the mean; its parameters are those of ``mean``.

    It is divided by n, not by n - 1. Values are rounded to at most 2^16 steps.

    >>> import celosia
    >>> from celosia.noise import Seeded
    >>> ages = celosia.data.deaths()["age"]
    >>> round(variance(ages, bounds=(0, 120), epsilon=1, source=Seeded(7)).value, 1)
    325.0
    """
    terms = Terms(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=unit, source=source)
    return _release_second_moment("variance", array, bounds, grid, null, terms)


def std(  # noqa: PLR0913 - the bounds, and the terms of a release
    array: object,
    bounds: tuple[Exact, Exact],
    epsilon: Exact,
    *,
    delta: Exact | None = None,
    grid: Exact | None = None,
    null: Exact = "drop",
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> "Release[float]":
    """Return the standard deviation, the root of ``variance``; its parameters are those of ``mean``.

    >>> import celosia
    >>> from celosia.noise import Seeded
    >>> ages = celosia.data.deaths()["age"]
    >>> round(std(ages, bounds=(0, 120), epsilon=1, source=Seeded(7)).value, 2)
    18.03
    """
    terms = Terms(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=unit, source=source)
    return _release_second_moment("std", array, bounds, grid, null, terms)


def _release_second_moment(
    quantity: str, array: object, bounds: tuple[Exact, Exact], grid: Exact | None, null: Exact, terms: Terms
) -> "Release[float]":
    column = read_numbers(array)
    kind = kind_for(column, bounds, grid=grid, null=null)
    measure = SecondMoments(kind.axis)
    steps, present = steps_on(measure.axes[0], column, kind)
    kept = steps[present]
    return terms.release(measure, quantity, summary_of(measure, [kept], len(kept)))
