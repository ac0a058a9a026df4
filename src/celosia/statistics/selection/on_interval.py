"""A private choice of a point of an interval, by any utility that the caller can bound.

The exponential mechanism takes any utility: where to put a warehouse, which threshold to use, a quantile of one's own.
It is given as a function of points, or as numbers between edges; all that privacy needs is how far one unit can move it
at any point. Points are drawn exactly, each with probability proportional to ``exp(epsilon * utility / (2 *
sensitivity))``. McSherry and Talwar 2007.
"""

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import Exact, double_at_least, double_at_most, exact, exact_integer, safe_repr
from celosia.mechanisms.selection.exponential import Exponential

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from celosia.core.mechanism import Source
    from celosia.core.release import Release

    Utility: TypeAlias = Callable[[NDArray[np.float64]], ArrayLike] | tuple[ArrayLike, ArrayLike]

_MAX_PIECES = 2**22


def choose(  # noqa: PLR0913 - the interval, the utility and the options of a mechanism
    utility: "Utility",
    low: Exact,
    high: Exact,
    *,
    sensitivity: Exact,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    monotone: bool = False,
    pieces: int = 4096,
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> "Release[float]":
    """Return a point from ``low`` up to ``high`` whose utility is nearly the largest.

    Parameters
    ----------
    utility
        A function that returns the utilities of an array of points; it is called once, for the middles of ``pieces``
        equal pieces of the interval, and holds for the whole piece. Or ``(edges, utilities)``: edges in increasing
        order between ``low`` and ``high``, which may come from the data, and one utility more than there are edges.
    low, high
        The interval, public.
    sensitivity
        The most that one unit moves the utility of any point. The guarantee relies on this number.
    epsilon, rho
        The price, as pure privacy or as zCDP.
    monotone
        Whether an added unit moves all utilities in the same direction: twice the accuracy, add-remove only.
    pieces
        The number of pieces on which a function is evaluated.
    adjacency, unit
        The neighbouring relation and the privacy unit of the sensitivity.
    source
        The source of randomness; by default the operating system.

    Examples
    --------
    >>> homes = np.array([2.0, 3.0, 3.5, 9.0] * 500)  # where to wait: not further than 10 from anybody
    >>> near = lambda x: -np.minimum(abs(x[:, None] - homes), 10).sum(axis=1)
    >>> 2.5 < choose(near, 0, 10, sensitivity=10, epsilon=2).value < 4
    True
    >>> 40 <= choose(([40, 41], [-30, 0, -30]), 0, 100, sensitivity=1, epsilon=20).value <= 41
    True
    """
    mechanism = Exponential(
        sensitivity=sensitivity, epsilon=epsilon, rho=rho, monotone=monotone, adjacency=adjacency, unit=unit
    )
    first, last = _bounds(low, high)
    count = exact_integer(pieces, name="pieces")
    if count > _MAX_PIECES:
        raise ParameterError("statistics.too_many_pieces", most=_MAX_PIECES, pieces=safe_repr(pieces))
    edges, utilities = (
        _evaluate_utility(utility, first, last, count) if callable(utility) else _check_utility(utility, first, last)
    )
    return mechanism.release_on_line(edges, utilities, source=source)


def _bounds(low: Exact, high: Exact) -> tuple[float, float]:
    """Return the interval in doubles, no wider than it was given."""
    first, last = double_at_least(exact(low, name="low")), double_at_most(exact(high, name="high"))
    if not first < last:
        raise ParameterError("core.low_not_below_high", low=safe_repr(low), high=safe_repr(high))
    return first, last


def _evaluate_utility(
    utility: "Callable[[NDArray[np.float64]], ArrayLike]", low: float, high: float, pieces: int
) -> "tuple[NDArray[np.float64], ArrayLike]":
    edges = np.linspace(low, high, pieces + 1)
    utilities = np.asarray(utility((edges[:-1] + edges[1:]) / 2))
    if utilities.shape != (pieces,):
        raise InputError("statistics.wrong_number_of_utilities", points=pieces)
    return edges, utilities


def _check_utility(utility: object, low: float, high: float) -> "tuple[NDArray[np.float64], ArrayLike]":
    if not isinstance(utility, tuple) or len(utility) != 2:
        raise ParameterError("statistics.not_a_utility", type=type(utility).__name__)
    try:
        inner = np.asarray(utility[0], dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("statistics.utility_edges_not_numbers") from None
    if inner.ndim != 1 or np.isnan(inner).any():
        raise InputError("statistics.utility_edges_not_a_list")
    return np.concatenate([[low], np.clip(inner, low, high), [high]]), utility[1]
