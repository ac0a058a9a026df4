"""Streams on which sketches are tried: Zipf's law, uniform values with repetition, and all values different."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def zipf(size: int, seed: int) -> NDArray[np.int64]:
    """Values by Zipf's law: a few everywhere, many once."""
    return np.minimum(np.random.default_rng(seed).zipf(1.2, size), 2**40)


def uniform(size: int, seed: int) -> NDArray[np.int64]:
    """Values that come about three times each."""
    return np.random.default_rng(seed).integers(0, size // 3, size)


def different(size: int, seed: int) -> NDArray[np.int64]:
    """Values that come once each."""
    return np.arange(seed * size, (seed + 1) * size)


STREAMS: dict[str, Callable[[int, int], NDArray[np.int64]]] = {"zipf": zipf, "uniform": uniform, "different": different}


def relative_errors(
    make: Callable[[int], Any], estimate: Callable[[Any], float], size: int, trials: int
) -> NDArray[np.float64]:
    """Relative errors of an estimate over seeded trials with different values."""
    found = np.empty(trials)
    for seed in range(trials):
        sketch = make(seed)
        sketch.update(different(size, seed))
        found[seed] = estimate(sketch) / size - 1
    return found


def believable(errors: NDArray[np.float64], deviation: float, *, bias: float = 0.0) -> bool:
    """Whether errors of a stated deviation, and a bias of at most so much, may be these: up to 4.5 standard errors."""
    trials = errors.size
    return bool(
        abs(errors.mean()) < bias + 4.5 * deviation / math.sqrt(trials)
        and math.sqrt(np.mean(errors**2)) < deviation * (1 + 4.5 / math.sqrt(2 * trials))
    )
