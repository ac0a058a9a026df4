"""Compiled addition of noise to an array: the same as ``grid``, in one pass over memory.

``add_to_integers`` is ``add_steps(to_steps(values, 1), noise)``, ``add_to_reals`` is
``from_steps(add_steps(to_steps(values, step), noise), step)``; the tests compare them bit by bit.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_STEPS = 2**62 - 1


@njit(cache=True, nogil=True)
def _add_saturating(steps: int, noise: int) -> int:
    return steps + min(max(noise, -_MAX_STEPS - steps), _MAX_STEPS - steps)


@njit(cache=True, nogil=True)
def add_to_integers(values: "NDArray[np.int64]", noise: "NDArray[np.int64]") -> None:
    """Replace each noise by value plus noise, both flat and of one size, saturated at 2^62 - 1."""
    for i in range(values.size):
        noise[i] = _add_saturating(min(max(values[i], -_MAX_STEPS), _MAX_STEPS), noise[i])


@njit(cache=True, nogil=True)
def add_to_reals(
    values: "NDArray[np.float64]", noise: "NDArray[np.int64]", step: float, per_step: float, out: "NDArray[np.float64]"
) -> None:
    """Write value plus noise, with the value rounded to steps; ``step`` and its inverse are powers of two."""
    for i in range(values.size):
        scaled = np.rint(values[i] * per_step)
        # Below 2^62 a double is at most 2^62 - 512: only what is clipped needs care.
        steps = _MAX_STEPS if scaled >= 2.0**62 else -_MAX_STEPS if scaled <= -(2.0**62) else int(scaled)
        out[i] = np.float64(_add_saturating(steps, noise[i])) * step
