"""Uniform and normal numbers from the words of a source, to 53 bits: for masking, never for differential privacy."""

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


def draw_uniform(count: int, source: "Source") -> "NDArray[np.float64]":
    """Return numbers between 0 and 1, both excluded."""
    return np.asarray(((source.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53, dtype=np.float64)


def draw_normal(count: int, source: "Source") -> "NDArray[np.float64]":
    """Return numbers of the standard normal distribution."""
    return np.asarray(special.ndtri(draw_uniform(count, source)), dtype=np.float64)
