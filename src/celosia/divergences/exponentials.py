"""Exponential functions without cancellation."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TERMS = 20  # the next one is below 2^-53 of the first for arguments up to 1


def exp_minus_linear(x: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return ``exp(x) - 1 - x`` without cancellation."""
    small = np.clip(x, -1.0, 1.0)
    series = np.ones_like(small)
    for n in range(_TERMS, 2, -1):  # Horner: x^2/2 (1 + x/3 (1 + x/4 (...)))
        series = 1 + small / n * series
    return np.where(np.abs(x) <= 1, small * small / 2 * series, np.expm1(x) - x)
