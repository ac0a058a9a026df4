"""What the tests of frequency sketches share: streams with known frequencies, and how many misses are too many.

Sketches with different seeds are independent, values in one sketch are not: so each trial takes a new seed and asks for
one value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from celosia.sketches.frequency.ams import AMS
from celosia.sketches.frequency.count_mean import CountMean
from celosia.sketches.frequency.count_median import CountMedian
from celosia.sketches.frequency.count_min import CountMin
from celosia.sketches.frequency.count_sketch import CountSketch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

TABLES: list[type[Any]] = [CountMin, CountMean, CountMedian, CountSketch, AMS]
POINTS: list[type[Any]] = [CountMin, CountMean, CountMedian, CountSketch]
_SURE = 1e-6
_DOMAIN = 2_000


def zipf(size: int = 5_000, seed: int = 1) -> NDArray[np.int64]:
    """A stream in which few values make most."""
    return np.minimum(np.random.default_rng(seed).zipf(1.3, size), _DOMAIN) - 1


def uniform(size: int = 5_000, seed: int = 1) -> NDArray[np.int64]:
    """A stream in which all values are about alike."""
    return np.random.default_rng(seed).integers(0, _DOMAIN, size)


def turnstile(size: int = 5_000, seed: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A stream with weights of both signs."""
    return zipf(size, seed), np.random.default_rng(seed).integers(-5, 6, size)


STREAMS: dict[str, Callable[[], NDArray[np.int64]]] = {"zipf": zipf, "uniform": uniform}


def frequencies(values: NDArray[np.int64], weights: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """The exact frequency of each value of the domain."""
    counts = np.zeros(_DOMAIN, dtype=np.int64)
    np.add.at(counts, values, 1 if weights is None else weights)
    return counts


def asked(trial: int) -> int:
    """The value that a trial asks for: frequent ones, rare ones, and some that never came."""
    return int(np.random.default_rng(trial).choice([0, 1, 5, 40, 300, 1_900]))


def too_many(misses: int, trials: int, failure: float) -> bool:
    """Whether so many misses happen by chance less than once in a million times."""
    return misses > int(binom.isf(_SURE, trials, failure))
