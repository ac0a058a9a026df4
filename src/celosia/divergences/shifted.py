"""The shifted Rényi divergence: the smallest divergence when the first distribution may be moved a little.

D^(z)_alpha(mu || nu) is the infimum of D_alpha(mu' || nu) over the mu' with W_infinity(mu, mu') <= z (Feldman, Mironov,
Talwar and Thakurta 2018; definition 5.4 of Estrada Franco 2025). On the line W_infinity <= z means that the
distribution function of mu' lies between two bounds. Drawn against the distribution function of nu, the best one is the
string pulled taut between them, for every order at once (Barlow, Bartholomew, Bremner and Brunk 1972;
proofs/iteration.md). So the answer is found exactly, up to rounding, without a search.
"""

import math
from collections import deque
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_positive
from celosia.divergences.distributions.arguments import as_array, as_number, as_probabilities
from celosia.divergences.distributions.discrete import exact_masses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MAX_POINTS = 5_000


def shifted_renyi_gaussian(alpha: float, distance: float, variance: float, shift: float) -> float:
    """Return D^(shift)_alpha for two normal distributions of one variance, their means ``distance`` apart.

    Moving the first straight towards the second is best, in any dimension.

    >>> shifted_renyi_gaussian(2, distance=3, variance=1, shift=1), shifted_renyi_gaussian(2, 3, 1, shift=4)
    (4.0, 0.0)
    """
    alpha = as_number(alpha, name="alpha", above=1)
    distance = as_number(distance, name="distance", least=0)
    spread = math.sqrt(exact_positive(variance, name="variance"))
    left = max(distance - as_number(shift, name="shift", least=0), 0.0) / spread
    value = alpha / 2 * left * left
    if math.isinf(value):
        raise ParameterError("divergences.distance_too_large")
    return value


def shifted_renyi(
    alpha: float,
    mu: "ArrayLike",
    nu: "ArrayLike",
    shift: float,
    *,
    points: "ArrayLike | None" = None,
    nu_points: "ArrayLike | None" = None,
) -> float:
    """Return D^(shift)_alpha(mu || nu) for probabilities at points of the line; see `shifted_distribution`.

    It is infinite where some of mu's mass has no point of nu's within reach.

    >>> round(shifted_renyi(2, [0.5, 0.5, 0], [0, 0.5, 0.5], shift=0), 6)
    inf
    >>> round(shifted_renyi(2, [0.5, 0.5, 0], [0, 0.5, 0.5], shift=1), 6) + 0.0
    0.0
    """
    alpha = as_number(alpha, name="alpha", above=1)
    moved = _shift(mu, nu, shift, points, nu_points)
    if moved is None:
        return math.inf
    kept = moved > 0
    nu = as_probabilities(nu, name="nu")
    terms = alpha * np.log(moved[kept]) + (1 - alpha) * np.log(nu[kept])
    return max(0.0, float(scipy.special.logsumexp(terms)) / (alpha - 1))


def shifted_distribution(
    mu: "ArrayLike",
    nu: "ArrayLike",
    shift: float,
    *,
    points: "ArrayLike | None" = None,
    nu_points: "ArrayLike | None" = None,
) -> "NDArray[np.float64]":
    """Return the distribution on nu's points, no further than ``shift`` from mu, that is closest to nu.

    It is the same for every order. ``points`` are where mu's probabilities are, increasing, and 0, 1, 2 … when left
    out; ``nu_points`` are where nu's are, and the same as mu's when left out.

    >>> shifted_distribution([1, 0, 0, 0], [0.25] * 4, shift=1)
    array([0.5, 0.5, 0. , 0. ])
    """
    moved = _shift(mu, nu, shift, points, nu_points)
    if moved is None:
        raise ParameterError("divergences.shift_too_small")
    return moved


def _shift(
    mu: "ArrayLike",
    nu: "ArrayLike",
    shift: float,
    points: "ArrayLike | None",
    nu_points: "ArrayLike | None",
) -> "NDArray[np.float64] | None":
    p, q = as_probabilities(mu, name="mu"), as_probabilities(nu, name="nu")
    shift = as_number(shift, name="shift", least=0)
    x = _positions(points, p.size, name="points")
    y = x if nu_points is None else _positions(nu_points, q.size, name="nu_points")
    if y.size != q.size:
        raise ParameterError("divergences.nu_and_points_differ", probabilities=q.size, points=y.size)
    carried, kept = p > 0, q > 0
    masses = exact_masses(p[carried])
    low, high = _bounds(x[carried], masses, y[kept], shift)
    if any(below > above for below, above in zip(low, high, strict=True)):
        return None
    widths = exact_masses(q[kept])
    total = sum(masses)
    corners = taut_string([0, *accumulate(widths)], low, high)
    moved = np.zeros_like(q)
    moved[kept] = [
        # A quotient of integers is rounded once, so that small masses keep all their digits.
        width * (there - here) / (whole * total)
        for (i, here), (j, there) in pairwise(corners)
        for whole in (sum(widths[i:j]),)
        for width in widths[i:j]
    ]
    return moved


def _positions(points: "ArrayLike | None", size: int, *, name: str) -> "NDArray[np.float64]":
    array = np.arange(size, dtype=np.float64) if points is None else as_array(points, name=name)
    if points is not None and name == "points" and array.size != size:
        raise ParameterError("divergences.mu_and_points_differ", probabilities=size, points=array.size)
    if array.size > _MAX_POINTS:
        raise ParameterError("core.above_maximum", name=name, most=_MAX_POINTS, value=array.size)
    if (np.diff(array) <= 0).any():
        raise ParameterError("divergences.points_not_increasing", name=name)
    return array


def _bounds(
    x: "NDArray[np.float64]", masses: list[int], y: "NDArray[np.float64]", shift: float
) -> tuple[list[int], list[int]]:
    """Return the bounds of the distribution function of mu', before the first point of ``y`` and at each."""
    total = [0, *accumulate(masses)]
    # A rounded difference is at most shift whenever the true one is: nothing within reach is left out.
    reached = np.count_nonzero(x[None, :] - y[:, None] <= shift, axis=1)
    passed = np.count_nonzero(y[:, None] - x[None, :] > shift, axis=1)
    high = [0, *(total[number] for number in reached.tolist())]
    low = [*(total[number] for number in passed.tolist()), total[-1]]  # too far left of the next: already placed
    return low, high


def taut_string(x: Sequence[int], low: Sequence[int], high: Sequence[int]) -> list[tuple[int, int]]:
    """Return the corners (index, height) of the shortest path from ``low[0]`` to ``low[-1]`` between two bounds.

    Its slopes make the sum of ``h(slope) * width`` least for every convex h at once. The bounds are equal at both ends.
    """
    corners = [(0, low[0])]
    chains: tuple[deque[tuple[int, int]], deque[tuple[int, int]]] = (deque(), deque())

    def turn(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> int:
        """Return a positive number if the path from a over b to c bends upwards."""
        return (c[1] - b[1]) * (x[b[0]] - x[a[0]]) - (b[1] - a[1]) * (x[c[0]] - x[b[0]])

    for index in range(1, len(x)):
        for side, bound, sign in ((0, high, 1), (1, low, -1)):
            mine, other = chains[side], chains[1 - side]
            new = (index, bound[index])
            # The chain along the upper bound bends upwards only, that along the lower bound downwards only.
            while mine and sign * turn(mine[-2] if len(mine) > 1 else corners[-1], mine[-1], new) <= 0:
                mine.pop()
            if not mine:  # straight from the last corner, but around what of the other bound is in the way
                while other and sign * turn(corners[-1], other[0], new) < 0:
                    corners.append(other.popleft())
            mine.append(new)
    # The bounds meet at the end: a chain above and a chain below from one corner to one point are straight.
    return [*corners, (len(x) - 1, low[-1])]
