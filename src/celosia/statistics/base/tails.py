"""Quantiles of weighted sums of independent noises: of Laplace and of normal variables.

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

_MIN_GAP = 0.02  # relative distance to which coinciding weights are moved, each its half
_MIN_WEIGHT = 0.01  # of the largest weight: smaller ones count as that
_ROUNDING = 2.0**-50  # of the coefficients, whose sum is 1 but which may be large
_BATCH_ROWS = 8_192  # of weights at a time: some megabytes
_MAX_CACHED_SIZE = 64  # weights of which the margins are kept
_ROUNDING_MARGIN = 1e-9  # relative, of the last step
_NEWTON_STEPS = 6
_WEIGHT_PARTS = 128  # of the largest weight, to which the others are rounded up: some thousandths of a margin
_BISECTIONS = 50
_MAX_TERMS = 3
_MIN_FAILURE = 1e-8  # below, rounding errors could matter
_SLACK = 1e-11


def laplace_scale(scale: float) -> float:
    """Return the scale of continuous Laplace noise that is no closer to 0 than discrete noise spread over its steps."""
    return 0.5 / math.tanh(0.5 / scale)


def normal_deviation(variance: float) -> float:
    """Return the deviation of normal noise that lies less close to 0 than discrete noise spread over its steps.

    The least sufficient excess over ``variance`` is at most 0.195, and 0.175 for wide noise.
    """
    return math.sqrt(variance + 0.25)


def normal_margin(weights: "NDArray[np.float64]", failure: float) -> "NDArray[np.float64]":
    """Return the bound that ``|sum of weights * normal|`` exceeds with probability ``failure``, along the last axis."""
    quantile = -NormalDist().inv_cdf(failure / 2)
    lengths: NDArray[np.float64] = np.sqrt(np.sum(np.square(weights), axis=-1))
    return lengths * quantile


def laplace_margin(weights: "NDArray[np.float64]", failure: float) -> "NDArray[np.float64]":
    """Return a bound that ``|sum of weights * Laplace|`` exceeds with probability ``failure`` at most.

    The last axis runs over the weights. The logarithm of the tail is concave, so that every step of Newton's method
    towards the quantile ends beyond it.
    """
    rows = np.abs(weights).reshape(-1, weights.shape[-1])
    if 0 < rows.size <= _MAX_CACHED_SIZE:
        found = _compute_few_margins(rows.astype(np.float64).tobytes(), rows.shape[1], failure)
        return found.reshape(weights.shape[:-1]).copy()
    parts = [_compute_margins(rows[start : start + _BATCH_ROWS], failure) for start in range(0, len(rows), _BATCH_ROWS)]
    return np.concatenate([np.empty(0), *parts]).reshape(weights.shape[:-1])


def cube_margin(weights: "NDArray[np.float64]", dimension: int, failure: float) -> "NDArray[np.float64]":
    """Return a bound that ``|sum of weights * noise|`` exceeds with ``failure`` at most, for noise from cubes.

    The noise is uniform in a cube of ``dimension`` coordinates whose half-width is Gamma-distributed, of shape
    ``dimension + 1`` and scale 1. Weights, along the last axis, are rounded up to a few parts of the largest.
    """
    from scipy.special import gammainccinv

    rows = -np.sort(-np.abs(weights).reshape(-1, weights.shape[-1]), axis=1)
    widest = float(gammainccinv(dimension + 1, failure))  # of the cube itself
    if failure < _MIN_FAILURE or np.count_nonzero(rows, axis=1).max(initial=0) > _MAX_TERMS:
        sums: NDArray[np.float64] = rows.sum(axis=1) * widest
        return sums.reshape(weights.shape[:-1])
    rows = np.pad(rows[:, :_MAX_TERMS], ((0, 0), (0, max(0, _MAX_TERMS - rows.shape[1]))))
    largest = np.where(rows[:, 0] > 0, rows[:, 0], 1.0)
    shares = np.ceil(rows / largest[:, None] * _WEIGHT_PARTS - _ROUNDING_MARGIN).astype(np.int64)
    kinds, places = np.unique(shares, axis=0, return_inverse=True)
    found = np.array([_cube_margin(tuple(kind.tolist()), dimension, failure, widest) for kind in kinds])
    margins: NDArray[np.float64] = rows[:, 0] * found[places.reshape(-1)]
    return margins.reshape(weights.shape[:-1])


@lru_cache(maxsize=4096)
def _cube_margin(shares: tuple[int, ...], dimension: int, failure: float, widest: float) -> float:
    """Return the margin for weights given in parts of the largest, by bisection: the upper end."""
    weights = np.array([share / _WEIGHT_PARTS for share in shares if share])
    low, high = 0.0, float(weights.sum()) * widest
    for _ in range(_BISECTIONS if weights.size else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if _cube_tail(middle, weights, dimension) <= failure - _SLACK else (middle, high)
    return high * (1 + _ROUNDING_MARGIN)


def _cube_tail(reach: float, weights: "NDArray[np.float64]", dimension: int) -> float:
    """Return the probability that ``G |w . U|`` exceeds a reach, U uniform in the cube [-1, 1] and G of the Gamma law.

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


@lru_cache(maxsize=1024)
def _compute_few_margins(rows: bytes, width: int, failure: float) -> "NDArray[np.float64]":
    """Return the margins of rows of weights; a server answers queries with the same few weights again and again."""
    return _compute_margins(np.frombuffer(rows).reshape(-1, width), failure)


def _compute_margins(rows: "NDArray[np.float64]", failure: float) -> "NDArray[np.float64]":
    largest: NDArray[np.float64] = rows.max(axis=1)
    single = -math.log(failure)
    if rows.shape[1] == 1:
        return largest * single
    with np.errstate(invalid="ignore"):
        scaled = np.where(largest[:, None] > 0, rows / largest[:, None], 0.0)
    scaled = _separate(np.maximum(-np.sort(-scaled, axis=1), _MIN_WEIGHT))
    coefficients = _compute_coefficients(scaled)
    slack = _ROUNDING * np.abs(coefficients).sum(axis=1)
    # The union bound is always above: use it where rounding spoils the sum.
    most: NDArray[np.float64] = scaled.sum(axis=1) * -math.log(failure / rows.shape[1])
    wanted = np.maximum(failure - 3 * slack, failure / 2)
    reach = np.maximum(single, normal_margin(scaled, failure) * math.sqrt(2))
    for _ in range(_NEWTON_STEPS):
        terms = coefficients * np.exp(-reach[:, None] / scaled)
        tail = np.maximum(terms.sum(axis=1), slack)
        slope = np.maximum(np.sum(terms / scaled, axis=1), slack)
        reach = np.clip(reach + np.log(tail / wanted) * tail / slope, single, most) * (1 + _ROUNDING_MARGIN)
    reached = np.sum(coefficients * np.exp(-reach[:, None] / scaled), axis=1) + slack <= failure
    return largest * np.where(reached, np.minimum(reach, most), most)


def _separate(scaled: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return sorted weights with a little moved from the smaller to the larger of every two that are close."""
    moved = scaled.copy()
    for i in range(scaled.shape[1]):
        for j in range(i + 1, scaled.shape[1]):
            larger, smaller = scaled[:, i], scaled[:, j]
            part = np.maximum(_MIN_GAP * smaller - (larger - smaller) / 2, 0.0)
            moved[:, i] += part
            moved[:, j] -= part
    return moved


def _compute_coefficients(scaled: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the factors of the exponentials: the product over the others j of ``w_i^2 / (w_i^2 - w_j^2)``."""
    squares = scaled**2
    gaps = squares[:, :, None] - squares[:, None, :]
    width = scaled.shape[1]
    gaps[:, np.arange(width), np.arange(width)] = squares
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factors = np.prod(squares[:, :, None] / gaps, axis=2)
    return np.where(np.isfinite(factors), factors, 1e300)  # two that still coincide: the slack then rejects the sum
