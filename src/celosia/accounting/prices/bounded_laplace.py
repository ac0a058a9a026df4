"""The privacy of Laplace noise that is conditioned on an interval: epsilon from the scale, and the scale from epsilon.

Inside an interval of ``reach`` steps the normaliser of the noise depends on the true value. Near an end it is about
half of that in the middle, and this adds to the loss: ``sensitivity / scale`` is not enough. On the grid normalisers
are geometric sums, so that the loss has a closed form: proofs/bounded-laplace.md. Holohan, Antonatos, Braghin and Mac
Aonghusa 2020.
"""

import math
from fractions import Fraction
from functools import lru_cache

from celosia.core.exact import double_at_most

_SAFE = 1 + 1e-12  # far above the rounding of a few operations
_STEPS = 60


@lru_cache(maxsize=1024)
def bounded_laplace_loss(scale: Fraction, sensitivity: int, reach: int, dimension: int = 1) -> float:
    """Return the largest privacy loss of bounded Laplace noise, rounded up.

    The worst neighbours have all coordinates at an end and move as many of them as possible, equally far.
    """
    moved = min(sensitivity, reach * dimension)
    parts = min(dimension, moved)
    each, more = divmod(moved, parts)
    step = double_at_most(scale)
    farther = more * _loss(step, each + 1, reach) if more else 0.0
    return ((parts - more) * _loss(step, each, reach) + farther) * _SAFE


def _loss(scale: float, moved: int, reach: int) -> float:
    """Return the loss of one coordinate that moves away from an end: the distance, and the normalisers."""
    inside = math.exp(-1 / scale) * math.expm1(-moved / scale) * math.expm1(-(reach - moved) / scale)
    return moved / scale + math.log1p(inside / -math.expm1(-(reach + 1) / scale))


@lru_cache(maxsize=1024)
def smallest_bounded_scale(epsilon: Fraction, sensitivity: int, reach: int, dimension: int = 1) -> Fraction:
    """Return nearly the smallest scale with a loss of at most epsilon; the returned one was tried."""
    low = float(Fraction(min(sensitivity, reach * dimension)) / epsilon) * (1 - 1e-9)
    high = 2 * low * (1 + 1e-6)  # normalisers differ by no more than the noise does
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = bounded_laplace_loss(Fraction(middle), sensitivity, reach, dimension) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return Fraction(high)
