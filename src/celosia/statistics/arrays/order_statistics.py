"""Median, quantiles, minimum and maximum of a plain column of numbers, in one call.

The column is clipped to public bounds and rounded to a grid, exactly as a query does it; what is missing follows the
null rule. The answer is one of the grid's values, chosen by rank with the exponential mechanism (``ranks``), and every
row counts as one unit. The interval of a minimum or maximum ends at a bound: what lies beyond was clipped to it, and no
private answer can rule out a single row there.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, safe_repr
from celosia.core.release import Release
from celosia.noise.source import source_or_system
from celosia.statistics.arrays.reading import read_numbers
from celosia.statistics.arrays.stepping import kind_for, steps_on
from celosia.statistics.base.choice import make_guarantee
from celosia.statistics.base.noise import ContributionBounds
from celosia.statistics.selection.ranks import Quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

    Interval = Callable[[float], tuple[Any, Any]]

_MAX_BINS = 2**20


class _Options(TypedDict, total=False):
    """The options of ``quantiles`` beside the column, its bounds and epsilon."""

    rho: Exact | None
    grid: Exact | None
    null: Exact
    adjacency: Adjacency
    unit: str
    interval: bool
    source: "Source | None"


def quantiles(  # noqa: PLR0913 - the column and its declarations
    array: object,
    qs: Iterable[Exact],
    bounds: tuple[Exact, Exact],
    epsilon: Exact | None = None,
    *,
    rho: Exact | None = None,
    grid: Exact | None = None,
    null: Exact = "drop",
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    interval: bool = True,
    source: "Source | None" = None,
) -> "Release[NDArray[Any]]":
    """Return several quantiles at once; they are in the order of ``qs`` and never cross.

    Parameters
    ----------
    array
        A NumPy array, a list, or a column of pandas, Polars or Arrow. Arrays of integers have integers as quantiles.
    qs
        Shares between 0 (the minimum) and 1 (the maximum).
    bounds
        The least and the greatest value, known without looking at the data; values beyond are clipped.
    epsilon, rho
        The price of all quantiles together, as pure privacy or as zCDP.
    grid
        The step that values are rounded to; by default a power of two far finer than the noise.
    null
        ``"drop"``, or the value that replaces missing ones.
    adjacency, unit
        The neighbouring relation and the privacy unit.
    interval
        Whether the release has intervals. For quantiles other than the minimum and the maximum these take two thirds of
        the price; without them the answers are three times as near in rank.
    source
        The source of randomness; by default the operating system.

    Examples
    --------
    >>> ages = np.repeat(np.arange(101), 500)
    >>> quantiles(ages, ["1/4", "1/2", "3/4"], bounds=(0, 120), epsilon=1)
    Release(array([25, 50, 75]), PureDP(epsilon=1))
    >>> low, high = quantiles(ages, ["1/4", "1/2", "3/4"], bounds=(0, 120), epsilon=1).confidence_interval(0.95)
    >>> bool((high - low).max() <= 2)
    True
    """
    column = read_numbers(array)
    kind = kind_for(column, bounds, grid=grid, null=null)
    choice = Quantiles(axis=kind.axis, quantiles=_check_shares(qs), bins=_MAX_BINS, interval=interval)
    bounding = ContributionBounds(adjacency=adjacency, unit=unit)
    event, source = choice.event(epsilon, bounding, rho=rho), source_or_system(source)
    steps, present = steps_on(kind.axis, column, kind)
    counts = np.bincount(steps[present] // choice.bin_width, minlength=choice.width)[None]
    chosen = choice.release(counts, epsilon, bounding, rho=rho, source=source)
    return Release(
        value=chosen.value[0],
        event=event,
        guarantee=make_guarantee(epsilon, rho, bounding),
        seeded=source.seeded,
        interval=None if chosen.interval is None else _take_cell(chosen.interval),
    )


def quantile(
    array: object,
    q: Exact,
    bounds: tuple[Exact, Exact],
    epsilon: Exact | None = None,
    **options: Unpack[_Options],
) -> Release[Any]:
    """Return the value below which a share ``q`` of the rows lies; further options as for ``quantiles``.

    >>> quantile(np.repeat(np.arange(101), 500), 0.9, bounds=(0, 120), epsilon=1).value
    90
    """
    several = quantiles(array, (q,), bounds, epsilon, **options)
    return Release(
        value=several.value[0].item(),
        event=several.event,
        guarantee=several.guarantee,
        seeded=several.seeded,
        interval=None if several.interval is None else _take_number(several.interval),
    )


def median(
    array: object, bounds: tuple[Exact, Exact], epsilon: Exact | None = None, **options: Unpack[_Options]
) -> Release[Any]:
    """Return the value with half of the rows on either side; further options as for ``quantiles``.

    >>> median(np.repeat(np.arange(101), 500), bounds=(0, 120), epsilon=1)
    Release(50, PureDP(epsilon=1))
    """
    return quantile(array, Fraction(1, 2), bounds, epsilon, **options)


def minimum(
    array: object, bounds: tuple[Exact, Exact], epsilon: Exact | None = None, **options: Unpack[_Options]
) -> Release[Any]:
    """Return nearly the least value: one with a few rows below it; further options as for ``quantiles``.

    >>> from celosia.noise import Seeded
    >>> minimum(np.repeat(np.arange(20, 90), 500), bounds=(0, 120), epsilon=1, source=Seeded(7)).value
    20
    """
    return quantile(array, 0, bounds, epsilon, **options)


def maximum(
    array: object, bounds: tuple[Exact, Exact], epsilon: Exact | None = None, **options: Unpack[_Options]
) -> Release[Any]:
    """Return nearly the greatest value: one with a few rows above it; further options as for ``quantiles``.

    >>> from celosia.noise import Seeded
    >>> maximum(np.repeat(np.arange(20, 90), 500), bounds=(0, 120), epsilon=1, source=Seeded(7)).value
    89
    """
    return quantile(array, 1, bounds, epsilon, **options)


def _take_cell(interval: "Interval") -> "Interval":
    def ends(level: float) -> "tuple[NDArray[Any], NDArray[Any]]":
        low, high = interval(level)
        return low[0], high[0]

    return ends


def _take_number(interval: "Interval") -> "Interval":
    def ends(level: float) -> tuple[Any, Any]:
        low, high = interval(level)
        return low[0].item(), high[0].item()

    return ends


def _check_shares(qs: Iterable[Exact]) -> tuple[Exact, ...]:
    if isinstance(qs, str) or not isinstance(qs, Iterable):
        raise ParameterError("statistics.qs_not_probabilities", qs=safe_repr(qs))
    return tuple(qs)
