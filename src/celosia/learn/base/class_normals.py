"""From noisy moments to a normal distribution for every class and column: quotients, shrunk according to the noise.

A quotient of noisy sums is trusted as far as it stands out from the noise (James and Stein 1961, Efron and Morris
1973). Means of classes are drawn towards the mean of all; variances of classes towards those of their column, and these
towards the variance of all columns. What is uncertain about a mean is added to the variance, alike for all classes, so
that no class wins by its noise. All of it is post-processing, and all of it vanishes with the noise.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.learn.base.class_moments import NoisyMoments

_EVEN: Final = 1 / 3
"""The variance of the uniform distribution between -1 and 1: the prior guess."""

_SURE: Final = 3.0
"""How many deviations of the noise a number must be above 0 to be taken as it is."""

_LEAST_PART: Final = 0.5
"""What a noisy variance may be of the one that it is drawn to, and what is kept of a mean's distance, at the least."""

_NARROW: Final = 0.01
"""The least variance of all columns together, a twentieth of the range as a deviation, where noise hides it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Normals:
    """The share of every class, and means and variances of z, classes by columns."""

    shares: "NDArray[np.float64]"
    means: "NDArray[np.float64]"
    variances: "NDArray[np.float64]"


def least_count(noise: float) -> float:
    """Return the smallest number of rows that a class is supposed to have: below, a quotient would be noise alone."""
    return max(1.0, _SURE * noise)


def class_normals(moments: "NoisyMoments") -> Normals:
    """Return shares, means and variances of the classes."""
    counts = np.maximum(moments.counts, least_count(moments.count_noise))[:, None]
    shares = counts / counts.sum()
    rough = np.clip(moments.sums / counts, -1.0, 1.0)
    doubt = float(np.mean((moments.sum_noise**2 + (rough * moments.count_noise) ** 2) / counts**2))
    variances = _variances(moments, counts, rough, doubt)
    return Normals(shares=shares[:, 0], means=_drawn_together(rough, shares, doubt), variances=variances + doubt)


def _drawn_together(rough: "NDArray[np.float64]", shares: "NDArray[np.float64]", doubt: float) -> "NDArray[np.float64]":
    """Draw the means of classes to the mean of all, column by column, as far as their distance may be noise."""
    middle = (shares * rough).sum(axis=0)
    apart = rough - middle
    spread = (apart**2).sum(axis=0) / max(len(rough) - 1, 1)
    kept = 1 - np.divide(doubt, spread, out=np.ones_like(spread), where=spread > doubt)
    means: NDArray[np.float64] = np.clip(middle + np.maximum(kept, _LEAST_PART) * apart, -1.0, 1.0)
    return means


def _variances(
    moments: "NoisyMoments", counts: "NDArray[np.float64]", rough: "NDArray[np.float64]", doubt: float
) -> "NDArray[np.float64]":
    """Draw the variances of classes to those of their columns, and these to the variance of all."""
    found, noise = _rough_variances(moments, counts, rough, doubt)
    noise = noise.mean(axis=1, keepdims=True)  # the same for all columns: a column noisier by chance is no worse
    weights = (1 / noise) / (1 / noise).sum()
    column, column_noise = (weights * found).sum(axis=0), float((weights**2 * noise).sum())
    overall_noise = column_noise / len(column)
    least = min(_NARROW, 2 * overall_noise**0.5)
    overall = float(np.clip(column.mean(), least, _EVEN))
    between = max(float(np.mean((column - overall) ** 2)) - column_noise, 0.0) if len(column) > 1 else overall**2
    drawn = overall + between / (between + column_noise) * (column - overall)
    drawn = np.maximum(drawn, min(_LEAST_PART * overall, _SURE * column_noise**0.5))
    apart = found - drawn
    within = max(float(np.mean(apart**2 - noise)), 0.0) if len(found) > 1 else 0.0
    single = drawn + within / (within + noise) * apart
    floor = np.minimum(_LEAST_PART * drawn, _SURE * noise**0.5)
    variances: NDArray[np.float64] = np.minimum(np.maximum(single, floor), 1.0)
    return variances


def _rough_variances(
    moments: "NoisyMoments", counts: "NDArray[np.float64]", rough: "NDArray[np.float64]", doubt: "float"
) -> tuple["NDArray[np.float64]", "NDArray[np.float64]"]:
    """Return mean squares less squared means, and the variance of their noise (to the first order, but for the means).

    The square of a noisy mean is too large by the variance of its noise, on average, and is made smaller by that.
    """
    short = moments.shortfalls / counts
    found = 1 - short - rough**2 + doubt
    slope = short + 2 * rough**2  # how much a count of one row more would change the variance, times the count
    noise = (
        moments.shortfall_noise**2 + (slope * moments.count_noise) ** 2 + (2 * rough * moments.sum_noise) ** 2
    ) / counts**2 + 2 * doubt**2
    return found, noise


def column_normals(moments: "NoisyMoments") -> Normals:
    """Return means and variances of columns without classes, each on its own.

    A variance that is less than the noise might have made it is set to that, or to what an evenly spread column has.
    """
    counts = np.maximum(moments.counts, least_count(moments.count_noise))[:, None]
    means = np.clip(moments.sums / counts, -1.0, 1.0)
    found, noise = _rough_variances(moments, counts, means, 0.0)
    floor = np.minimum(_SURE * noise**0.5, _EVEN)
    variances = np.minimum(np.maximum(found, floor), 1.0)
    return Normals(shares=np.ones(len(counts)), means=means, variances=variances)
