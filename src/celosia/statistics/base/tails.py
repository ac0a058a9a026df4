"""How far a weighted sum of independent noises goes: quantiles of sums of Laplace and of normal variables.

The noises of the mechanisms are discrete. Spread evenly over their steps they are symmetric and unimodal and lie closer
to 0, in the sense of Birnbaum's peakedness (1948), than a continuous noise of slightly larger scale; then so do their
weighted sums, and a larger weight never brings a sum closer. For Laplace noise the tail of the sum is a sum of
exponentials; weights that nearly coincide are first moved apart, which by Proschan (1965) only lengthens the tail. So
every quantile here is an upper bound. The proof is in ``proofs/moments.md``.
"""

import itertools
import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_APART = 0.02  # relative distance to which coinciding weights are moved, each its half
_LEAST = 0.01  # of the largest weight: smaller ones count as that
_ROUNDING = 2.0**-50  # of the coefficients, whose sum is 1 but which may be large
_ROWS = 8_192  # of weights at a time: some megabytes
_ROUNDED = 1e-9  # relative, of the last step
_STEPS = 6
_RATIOS = 128  # of the largest weight, to which the others are rounded up: some thousandths of a margin
_HALVINGS = 50
_MOST_TERMS = 3
_LEAST_FAILURE = 1e-8  # below, rounding could be felt
_SLACK = 1e-11


def laplace_scale(scale: float) -> float:
    """Return the scale of continuous Laplace noise that is no closer to 0 than discrete noise spread over its steps."""
    return 0.5 / math.tanh(0.5 / scale)


def normal_deviation(variance: float) -> float:
    """Return the deviation of normal noise that lies less close to 0 than discrete noise spread over its steps.

    What is needed beyond ``variance`` is at most 0.195, and 0.175 where the noise is wide.
    """
    return math.sqrt(variance + 0.25)


def normal_margin(weights: "NDArray[np.float64]", failure: float) -> "NDArray[np.float64]":
    """Return what ``|sum of weights * normal|`` exceeds with probability ``failure``, along the last axis."""
    quantile = -NormalDist().inv_cdf(failure / 2)
    lengths: NDArray[np.float64] = np.sqrt(np.sum(np.square(weights), axis=-1))
    return lengths * quantile


def laplace_margin(weights: "NDArray[np.float64]", failure: float) -> "NDArray[np.float64]":
    """Return what ``|sum of weights * Laplace|`` exceeds with probability ``failure`` at most, along the last axis.

    The logarithm of the tail is concave, so that every step of Newton's method towards the quantile ends beyond it.
    """
    rows = np.abs(weights).reshape(-1, weights.shape[-1])
    parts = [_margins(rows[start : start + _ROWS], failure) for start in range(0, len(rows), _ROWS)]
    return np.concatenate([np.empty(0), *parts]).reshape(weights.shape[:-1])


def cube_margin(weights: "NDArray[np.float64]", dimension: int, failure: float) -> "NDArray[np.float64]":
    """Return what ``|sum of weights * noise|`` exceeds with probability ``failure`` at most, for noise from cubes.

    The noise is uniform in a cube of ``dimension`` coordinates whose half-width is Gamma-distributed, of shape
    ``dimension + 1`` and scale 1. Weights, along the last axis, are rounded up to a few parts of the largest.
    """
    from scipy.special import gammainccinv

    rows = -np.sort(-np.abs(weights).reshape(-1, weights.shape[-1]), axis=1)
    widest = float(gammainccinv(dimension + 1, failure))  # of the cube itself
    if failure < _LEAST_FAILURE or np.count_nonzero(rows, axis=1).max(initial=0) > _MOST_TERMS:
        sums: NDArray[np.float64] = rows.sum(axis=1) * widest
        return sums.reshape(weights.shape[:-1])
    rows = np.pad(rows[:, :_MOST_TERMS], ((0, 0), (0, max(0, _MOST_TERMS - rows.shape[1]))))
    largest = np.where(rows[:, 0] > 0, rows[:, 0], 1.0)
    shares = np.ceil(rows / largest[:, None] * _RATIOS - _ROUNDED).astype(np.int64)
    kinds, places = np.unique(shares, axis=0, return_inverse=True)
    found = np.array([_cube_margin(tuple(kind.tolist()), dimension, failure, widest) for kind in kinds])
    margins: NDArray[np.float64] = rows[:, 0] * found[places.reshape(-1)]
    return margins.reshape(weights.shape[:-1])


@lru_cache(maxsize=4096)
def _cube_margin(shares: tuple[int, ...], dimension: int, failure: float, widest: float) -> float:
    """The margin for weights that are so many parts of the largest, by halving: the upper end."""
    weights = np.array([share / _RATIOS for share in shares if share])
    low, high = 0.0, float(weights.sum()) * widest
    for _ in range(_HALVINGS if weights.size else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if _cube_tail(middle, weights, dimension) <= failure - _SLACK else (middle, high)
    return high * (1 + _ROUNDED)


def _cube_tail(reach: float, weights: "NDArray[np.float64]", dimension: int) -> float:
    """The probability that ``G |w . U|`` exceeds a reach, U uniform in the cube from -1 to 1 and G of the Gamma law.

    For G = 1 it is a sum over the corners s of the box of w of their signs times ``(s - reach)^m`` where that is
    positive; the powers of 1/G have incomplete Gamma functions as their means.
    """
    from scipy.special import gammaincc, gammaln

    terms = len(weights)
    signs = np.array(list(itertools.product((1, -1), repeat=terms)))
    corners = signs @ weights
    kept = corners > 0
    corners, odd = corners[kept], signs.prod(axis=1)[kept]
    total = np.zeros_like(corners)
    for power in range(terms + 1):
        mean = gammaincc(dimension + 1 - power, reach / corners)
        mean *= math.exp(gammaln(dimension + 1 - power) - gammaln(dimension + 1))
        total += math.comb(terms, power) * corners ** (terms - power) * (-reach) ** power * mean
    return float(2 * (odd * total).sum() / (2**terms * math.factorial(terms) * weights.prod()))


def _margins(rows: "NDArray[np.float64]", failure: float) -> "NDArray[np.float64]":
    largest: NDArray[np.float64] = rows.max(axis=1)
    single = -math.log(failure)
    if rows.shape[1] == 1:
        return largest * single
    with np.errstate(invalid="ignore"):
        scaled = np.where(largest[:, None] > 0, rows / largest[:, None], 0.0)
    scaled = _apart(np.maximum(-np.sort(-scaled, axis=1), _LEAST))
    coefficients = _coefficients(scaled)
    slack = _ROUNDING * np.abs(coefficients).sum(axis=1)
    # All at once, each at its share of the failure, is above: where rounding spoils the sum, it has to do.
    most: NDArray[np.float64] = scaled.sum(axis=1) * -math.log(failure / rows.shape[1])
    wanted = np.maximum(failure - 3 * slack, failure / 2)
    reach = np.maximum(single, normal_margin(scaled, failure) * math.sqrt(2))
    for _ in range(_STEPS):
        terms = coefficients * np.exp(-reach[:, None] / scaled)
        tail = np.maximum(terms.sum(axis=1), slack)
        slope = np.maximum(np.sum(terms / scaled, axis=1), slack)
        reach = np.clip(reach + np.log(tail / wanted) * tail / slope, single, most) * (1 + _ROUNDED)
    reached = np.sum(coefficients * np.exp(-reach[:, None] / scaled), axis=1) + slack <= failure
    return largest * np.where(reached, np.minimum(reach, most), most)


def _apart(scaled: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return sorted weights with a little moved from the smaller to the larger of every two that are close."""
    moved = scaled.copy()
    for i in range(scaled.shape[1]):
        for j in range(i + 1, scaled.shape[1]):
            larger, smaller = scaled[:, i], scaled[:, j]
            part = np.maximum(_APART * smaller - (larger - smaller) / 2, 0.0)
            moved[:, i] += part
            moved[:, j] -= part
    return moved


def _coefficients(scaled: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the factors of the exponentials: the product over the others j of ``w_i^2 / (w_i^2 - w_j^2)``."""
    squares = scaled**2
    gaps = squares[:, :, None] - squares[:, None, :]
    width = scaled.shape[1]
    gaps[:, np.arange(width), np.arange(width)] = squares
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factors = np.prod(squares[:, :, None] / gaps, axis=2)
    return np.where(np.isfinite(factors), factors, 1e300)  # two that still coincide: the slack then rejects the sum
