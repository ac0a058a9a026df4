"""How far a weighted sum of independent noises goes: quantiles of sums of Laplace and of normal variables.

The noises of the mechanisms are discrete. Spread evenly over their steps they are symmetric and unimodal and lie closer
to 0, in the sense of Birnbaum's peakedness (1948), than a continuous noise of slightly larger scale; then so do their
weighted sums, and a larger weight never brings a sum closer. For Laplace noise the tail of the sum is a sum of
exponentials; weights that nearly coincide are first moved apart, which by Proschan (1965) only lengthens the tail. So
every quantile here is an upper bound. The proof is in ``proofs/moments.md``.
"""

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["laplace_margin", "laplace_scale", "normal_deviation", "normal_margin"]

_APART = 0.02  # relative distance to which coinciding weights are moved, each its half
_LEAST = 0.01  # of the largest weight: smaller ones count as that
_ROUNDING = 2.0**-50  # of the coefficients, whose sum is 1 but which may be large
_ROWS = 8_192  # of weights at a time: some megabytes
_ROUNDED = 1e-9  # relative, of the last step
_STEPS = 6


def laplace_scale(scale: float) -> float:
    """Return the scale of continuous Laplace noise that lies less close to 0 than discrete noise spread over its steps.

    >>> round(laplace_scale(1.0), 4), round(laplace_scale(100.0), 4)
    (1.082, 100.0008)
    """
    return 0.5 / math.tanh(0.5 / scale)


def normal_deviation(variance: float) -> float:
    """Return the deviation of normal noise that lies less close to 0 than discrete noise spread over its steps.

    What is needed beyond ``variance`` is at most 0.195, and 0.175 where the noise is wide.

    >>> round(normal_deviation(100.0), 4)
    10.0125
    """
    return math.sqrt(variance + 0.25)


def normal_margin(weights: "NDArray[np.float64]", failure: float) -> "NDArray[np.float64]":
    """Return what ``|sum of weights * normal|`` exceeds with probability ``failure``, along the last axis.

    >>> normal_margin(np.array([[3.0, 4.0]]), 0.05).round(3).tolist()
    [9.8]
    """
    quantile = -NormalDist().inv_cdf(failure / 2)
    lengths: NDArray[np.float64] = np.sqrt(np.sum(np.square(weights), axis=-1))
    return lengths * quantile


def laplace_margin(weights: "NDArray[np.float64]", failure: float) -> "NDArray[np.float64]":
    """Return what ``|sum of weights * Laplace|`` exceeds with probability ``failure`` at most, along the last axis.

    The logarithm of the tail is concave, so that every step of Newton's method towards the quantile ends beyond it.

    >>> laplace_margin(np.array([[1.0], [2.0]]), 0.05).round(3).tolist()
    [2.996, 5.991]
    >>> laplace_margin(np.array([[1.0, 1.0], [1.0, 0.0]]), 0.05).round(2).tolist()
    [4.11, 3.0]
    """
    rows = np.abs(weights).reshape(-1, weights.shape[-1])
    parts = [_margins(rows[start : start + _ROWS], failure) for start in range(0, len(rows), _ROWS)]
    return np.concatenate([np.empty(0), *parts]).reshape(weights.shape[:-1])


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
