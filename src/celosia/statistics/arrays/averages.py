"""Sum and mean of a plain array between public bounds.

The sum alone has the noise of the bound further from 0. A mean is taken from the distances to both bounds, noised
together (``FirstMoments``). Where the number of rows is public, under replace-one and with no row left out, only the
sum needs noise (``CentredSum``).
"""

from typing import TYPE_CHECKING, Any, Literal

from celosia.core.adjacency import AddRemove, Adjacency, ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, safe_repr
from celosia.statistics.arrays.reading import read_numbers
from celosia.statistics.arrays.stepping import kind_for, steps_on, summary_of
from celosia.statistics.arrays.terms import Terms
from celosia.statistics.base.measure import Measure
from celosia.statistics.moments.bernstein import FirstMoments
from celosia.statistics.moments.half_half import HalfHalfMean
from celosia.statistics.moments.measures import CentredSum, Total

if TYPE_CHECKING:
    from celosia.core.mechanism import Source
    from celosia.core.release import Release
    from celosia.data.schema.columns import Integer, Real
    from celosia.statistics.arrays.reading import Column


def sum(  # noqa: A001, PLR0913 - the field's word; the bounds, and the terms of a release
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
) -> "Release[Any]":
    """Return the sum of a column; its parameters are those of ``mean``.

    >>> import numpy as np
    >>> from celosia.noise import Seeded
    >>> sum(np.array([34, 71, 200]), bounds=(0, 120), epsilon=1, source=Seeded(7)).value
    800
    """
    column = read_numbers(array)
    kind = kind_for(column, bounds, grid=grid, null=null)
    terms = Terms(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=unit, source=source)
    measure: Measure = Total(kind.axis)
    if _rows_are_public(column, kind, adjacency):
        measure = CentredSum(kind.axis, rows=len(column.values))
    return _answer("sum", measure, column, kind, terms)


def mean(  # noqa: PLR0913 - the bounds, and the terms of a release
    array: object,
    bounds: tuple[Exact, Exact],
    epsilon: Exact,
    *,
    delta: Exact | None = None,
    grid: Exact | None = None,
    null: Exact = "drop",
    method: Literal["joint", "half-half"] = "joint",
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> "Release[float]":
    """Return the mean of a column.

    Parameters
    ----------
    array
        The column: a NumPy array, a list, a column of pandas, Polars or Arrow.
    bounds
        The least and the largest value, known without looking at the data; values are clipped to them.
    epsilon, delta
        The price; with a delta Gaussian noise is used where it is better.
    grid
        The step that values are rounded to; by default 1 for arrays of integers with integer bounds, else a power of
        two far finer than the noise.
    null
        ``"drop"``, or the value that replaces missing ones (None, NaN, an infinity).
    method
        ``"joint"``, or ``"half-half"`` for the textbook method: half of epsilon on the sum and half on the count.
    adjacency, unit
        The neighbouring relation and the privacy unit of the price.
    source
        The source of randomness; by default the operating system.

    Examples
    --------
    >>> import celosia
    >>> from celosia.noise import Seeded
    >>> ages = celosia.data.deaths()["age"]
    >>> release = mean(ages, bounds=(0, 120), epsilon=1, source=Seeded(7))
    >>> round(release.value, 3), [round(end, 3) for end in release.confidence_interval(0.95)]
    (61.939, [61.938, 61.94])
    """
    if method not in ("joint", "half-half"):
        raise ParameterError("statistics.unknown_method", method=safe_repr(method))
    column = read_numbers(array)
    kind = kind_for(column, bounds, grid=grid, null=null)
    terms = Terms(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=unit, source=source)
    measure: Measure = FirstMoments(kind.axis)
    if method == "half-half":
        measure = HalfHalfMean(kind.axis)
    elif _rows_are_public(column, kind, adjacency):
        measure = CentredSum(kind.axis, rows=len(column.values))
    return _answer("mean", measure, column, kind, terms)


def _rows_are_public(column: "Column", kind: "Integer | Real", adjacency: Adjacency) -> bool:
    """Return whether the number of rows is public: under replace-one, if no row can be left out."""
    dropped = column.nullable and kind.nullable
    return adjacency is ReplaceOne and not dropped and len(column.values) > 0


def _answer(quantity: str, measure: Measure, column: "Column", kind: "Integer | Real", terms: Terms) -> "Release[Any]":
    (axis,) = measure.axes
    steps, present = steps_on(axis, column, kind)
    kept = steps[present]
    return terms.release(measure, quantity, summary_of(measure, [kept], len(kept)))
