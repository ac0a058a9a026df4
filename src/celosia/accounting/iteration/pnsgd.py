"""The cost of projected noisy stochastic gradient descent of which only the last weights are released.

A record that is used k steps before the end is covered by k noises: D_alpha <= 2 alpha L^2 / (sigma^2 k) (Feldman,
Mironov, Talwar and Thakurta 2018; Estrada Franco 2025, theorem 5.4). Over several epochs the shifts of all uses are
spread together, or the comparison restarts after one of the uses with the diameter of the projection's set as the
distance, so that long runs stop costing more (Altschuler and Talwar 2022). A secret order or stop is a mixture, whose
divergence is at most 1/(alpha-1) log of the *mean of exp((alpha-1) D)*; the mean of the D is not a bound
(proofs/iteration.md).
"""

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import double_at_least, safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from celosia.core.iterations import PNSGDEvent

_SAFE = 1 + 1e-12  # far above the rounding of sums and powers
_ONE_BY_ONE = 4_096  # numbers of noises that are priced one by one
_GROWTH = 256  # blocks of further ones are this part of their first
_RESTARTS = 512  # uses after a restart that are tried one by one
_MAX_WIDTH = 2**400  # a distance, in shifts, whose square is still a double
_MAX_EXPONENT = 500.0  # exponents from here on are added in logarithms


def pnsgd_rho(event: "PNSGDEvent") -> float:
    """Return the rho, rounded up, for which D_alpha <= rho alpha at every order, whatever the record's place.

    For a secret order or stop this is a valid bound too, but a coarse one: see `pnsgd_curve`.
    """
    return float(_rhos(event, np.array([1.0]))[0])  # fewer noises after the last use never cost less


def record_rhos(event: "PNSGDEvent", positions: "ArrayLike") -> "NDArray[np.float64]":
    """Return the rho, rounded up, of the records at these places of an epoch (from 1), in a fixed order."""
    places = np.asarray(positions)
    if places.ndim != 1 or not places.size or places.dtype.kind not in "iu":
        raise ParameterError("accounting.positions_not_integers")
    if places.min() < 1 or places.max() > event.records:
        wrong = places[(places < 1) | (places > event.records)][0]
        raise ParameterError("accounting.position_out_of_range", records=event.records, found=safe_repr(int(wrong)))
    return _rhos(event, event.records + 1.0 - places)


def pnsgd_curve(event: "PNSGDEvent", orders: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return upper bounds of the Rényi divergence at these orders, for every record."""
    with np.errstate(over="ignore"):
        worst = orders * (pnsgd_rho(event) * _SAFE)
    if event.order == "fixed" and event.stop == "fixed":
        return worst
    weights, first, last = _uses(event)
    curve = np.array([_mix_blocks(order, weights, first, last) for order in orders.tolist()])
    return np.minimum(curve * _SAFE, worst)


def _mix_blocks(
    order: float, weights: "NDArray[np.float64]", first: "NDArray[np.float64]", last: "NDArray[np.float64]"
) -> float:
    """Return 1/(order-1) log of the mean of exp((order-1) order rho), where rho runs from first to last in each block.

    The rest of the weights has divergence 0. In a block the terms are a convex function of the place, so their mean is
    at most the mean of the two ends.
    """
    with np.errstate(over="ignore"):
        ends = (order - 1) * order * np.stack([first, last])
    if not np.isfinite(ends).all():
        raise ParameterError("accounting.order_price_overflows", order=safe_repr(order))
    if ends[0, 0] < _MAX_EXPONENT:
        return float(np.log1p(np.expm1(ends).mean(axis=0) @ weights)) / (order - 1)
    top = ends.max()
    return float(np.logaddexp(0.0, top + np.log((np.exp(ends - top) @ weights).sum() / 2))) / (order - 1)


def _uses(event: "PNSGDEvent") -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    """Return how likely a record's last use is to be covered by k noises, in blocks of k: weights, rho at the ends.

    A secret order makes every k equally likely; a secret stop too, for the record that is used first (the worst one:
    others are sometimes not used at all). With both, k has the weight (records - k + 1) / records^2.
    """
    n = event.records
    first, last = _blocks(n)
    weights = (last - first + 1) / n
    if event.order != "fixed" and event.stop != "fixed":
        weights *= (n - first + 1) / n  # of the first of the block: the others weigh less
    return weights, *_rhos_of_blocks(event, first, last)


def _blocks(n: int) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Return the ends of blocks that cover 1 to ``n``: single numbers first, then blocks that grow with them."""
    starts = list(range(1, min(n, _ONE_BY_ONE) + 1))
    while (following := starts[-1] + max(1, starts[-1] // _GROWTH)) <= n and n > _ONE_BY_ONE:
        starts.append(following)
    first = np.array(starts, dtype=np.float64)
    return first, np.append(first[1:] - 1, float(n))


def _rhos(event: "PNSGDEvent", covered: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return _rhos_of_blocks(event, covered, covered)[0]


def _rhos_of_blocks(
    event: "PNSGDEvent", first: "NDArray[np.float64]", last: "NDArray[np.float64]"
) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Return the rho of both ends of blocks, by the plan that is best for the first: any plan is valid."""
    one = double_at_least(2 * event.lipschitz**2 / event.variance)
    ends = _best_plans(event, np.stack([first, last]))
    with np.errstate(over="ignore"):
        low, high = ends * (one * _SAFE)
    if not np.isfinite(low).all():
        raise ParameterError("accounting.price_overflows")
    return low, high


def _best_plans(event: "PNSGDEvent", covered: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the price of the best plan for a last use covered by k noises, in units of the price of a single noise.

    The first plan spreads the shifts of all uses. The others restart right after a use, with ``uses`` more to come, at
    the distance ``width``, in units of one shift. ``covered`` has a row for each end of blocks; the plan is the best
    one of the first.
    """
    from celosia.accounting.pld.kernels import best_restarts

    n = float(event.records)
    found: NDArray[np.float64] = (event.epochs - 1) / n + 1 / covered
    width = Fraction(_MAX_WIDTH) if event.diameter is None else event.diameter / (2 * event.step_size * event.lipschitz)
    if width >= _MAX_WIDTH:  # a restart would cost too much
        return found
    across = double_at_least(width)
    with np.errstate(divide="ignore"):
        at_once = across * across / (covered - 1)
    found = np.where(at_once[0] < found[0], at_once, found)
    best_restarts(n, across, np.array(list(_restarts(event.epochs)), dtype=np.float64), covered, found)
    return found


def _restarts(epochs: int) -> "Iterator[int]":
    """Yield numbers of uses after the restart: all up to some hundreds, then ever sparser ones."""
    uses = 1
    while uses < epochs:
        yield uses
        uses += max(1, uses // (_RESTARTS // 8)) if uses >= _RESTARTS else 1
