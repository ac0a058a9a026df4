"""Whether intervals cover what they say: summed over every outcome of the noise where these are few, else by draws."""

import itertools
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from celosia.core import GaussianEvent, LaplaceEvent
from celosia.noise import Seeded
from celosia.statistics.base.measure import Measure
from celosia.statistics.base.noise import ContributionBounds, Noise


def summary(measure: Measure, columns: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The exact sums of a measure's features, as one row."""
    rows = len(columns[0])
    return np.array([np.broadcast_to(feature, rows).sum() for feature in measure.features(*columns)], dtype=np.int64)


def laplace(measure: Measure, epsilon: float) -> Noise:
    return Noise.laplace(epsilon, measure.sensitivity(ContributionBounds()), 1, measure.width, ContributionBounds())


def gaussian(measure: Measure, rho: float) -> Noise:
    return Noise.gaussian(rho, measure.sensitivity(ContributionBounds()), 1, measure.width, ContributionBounds())


def masses(noise: Noise, reach: int) -> NDArray[np.float64]:
    """The probabilities of the noises from -reach to reach, from SciPy or from the definition."""
    values = np.arange(-reach, reach + 1)
    if isinstance(noise.event, LaplaceEvent):
        found: NDArray[np.float64] = stats.dlaplace(1 / float(noise.event.scale)).pmf(values)
        return found
    assert isinstance(noise.event, GaussianEvent)
    terms = np.exp(-(np.arange(-400, 401) ** 2) / (2 * float(noise.event.variance)))
    few: NDArray[np.float64] = terms[400 - reach : 401 + reach] / terms.sum()
    return few


def covered_exactly(
    measure: Measure,
    quantity: str,
    exact: NDArray[np.int64],
    truth: float,
    noise: Noise,
    reach: int,
    levels: tuple[float, ...],
) -> list[tuple[float, float]]:
    """For each level, the probability that the interval holds the truth, and what of it was not looked at."""
    each = masses(noise, reach)
    outcomes = np.array(list(itertools.product(range(-reach, reach + 1), repeat=measure.width)))
    weights = np.prod(each[outcomes + reach], axis=1)
    estimate = measure.answer(quantity, exact + outcomes, noise)
    assert estimate.interval is not None
    found = []
    for level in levels:
        low, high = estimate.interval(level)
        found.append((float(weights[holds(low, truth, high)].sum()), 1 - float(weights.sum())))
    return found


def holds(low: NDArray[np.float64], truth: float, high: NDArray[np.float64]) -> NDArray[np.bool_]:
    slack = 1e-9 * (1 + abs(truth))  # answers are doubles
    return (low - slack <= truth) & (truth <= high + slack)


def drawn(
    measure: Measure,
    quantity: str,
    exact: NDArray[np.int64],
    noise: Noise,
    draws: int,
    level: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Values and interval ends of many releases of one summary."""
    many = replace(noise, cells=draws)
    noisy = many.release(np.tile(exact, (draws, 1)), Seeded(5))
    estimate = measure.answer(quantity, noisy, many)
    assert estimate.interval is not None
    return estimate.value, *estimate.interval(level)


def believable(held: int, draws: int, level: float) -> bool:
    """Whether so few intervals hold the truth by chance once in a million at the least."""
    return bool(stats.binom.cdf(held, draws, level) > 1e-6)
