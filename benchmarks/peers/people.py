"""The data that models are compared on, the same for us and for every peer; NumPy and scikit-learn only.

Bounds are round numbers that somebody who knows the subject would give without having seen the rows. Splits are drawn
from fixed seeds: seven tenths to learn from, three tenths to be scored on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers.cache import cache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["EPSILONS", "SPLITS", "People", "file_of", "load", "splits"]

EPSILONS = (0.1, 0.5, 1, 2, 5)
SPLITS = 20

# Standard errors and worst values have bounds of their own: three blocks of ten measurements.
_BREAST = (
    30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1,
    3, 5, 25, 600, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03,
    40, 50, 260, 4500, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25,
)  # fmt: skip

_TARGETS = {"auto": (5.0, 50.0), "earnings": (0.0, 100.0)}


@dataclass(frozen=True)
class People:
    """Features, target, and public bounds of both."""

    X: NDArray[Any]
    y: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    y_low: float = 0.0
    y_high: float = 1.0

    def unit(self) -> NDArray[Any]:
        """Return the features between 0 and 1."""
        unit: NDArray[Any] = (np.clip(self.X, self.low, self.high) - self.low) / (self.high - self.low)
        return unit


def file_of(name: str) -> Path:
    """Return where a data set from another package is kept; ``benchmarks/peers/rdatasets.py`` writes it."""
    return cache() / "people" / f"{name}.npz"


def load(name: str) -> People:
    """Return a data set: breast, pima, pima2 (glucose and BMI), auto, wages, earnings or juice."""
    if name == "breast":
        from sklearn.datasets import load_breast_cancer

        found = load_breast_cancer()
        return People(found.data, found.target, np.zeros(30), np.array(_BREAST, dtype=np.float64))
    with np.load(file_of("pima" if name == "pima2" else name)) as stored:
        people = People(**{key: stored[key] for key in ("X", "y", "low", "high")})
        if name in _TARGETS:
            return People(people.X, people.y, people.low, people.high, *_TARGETS[name])
    if name == "pima2":
        columns = [1, 4]
        return People(people.X[:, columns], people.y, people.low[columns], people.high[columns])
    return people


def splits(rows: int, count: int = SPLITS) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the rows to learn from and those to be scored on."""
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(rows)
        cut = rows * 7 // 10
        yield order[:cut], order[cut:]
