"""How far one record, or a whole party, moves the result of a proximal step.

The objective of a step curves by mu + penalty at least, so its argmin over the ball moves by no more than the length of
the change of its gradient over that. One of n records changes the gradient of a mean by 2 G / n at most, and by less
where no two records have opposite gradients of the largest length at the same weights. Proofs: proofs/proximal.md.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from scipy import special

from celosia.core.enclosure import root_at_least
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, double_at_least, exact_integer, exact_non_negative, exact_positive, safe_repr
from celosia.learn.optimize.losses import LogisticLoss, Loss, SquaredLoss
from celosia.mechanisms.grid import fine_step

_ANGLES: Final = 512
_LENGTHS: Final = 64
_SAFE: Final = 1 + 2.0**-40


def proximal_sensitivity(
    records: int,
    *,
    lipschitz: Exact,
    mu: Exact,
    penalty: Exact = 0,
    grid: Exact,
    dimension: int,
    tolerance: Exact,
) -> Fraction:
    """Return the squared L2 sensitivity, in steps of the grid, of the rounded weights of a party: replace one record.

    Parameters
    ----------
    records
        How many the party has: a public number.
    lipschitz
        The longest gradient of a record in the ball; or `half_spread`, which is shorter.
    mu, penalty
        As for the step.
    grid
        A power of two. Each weight is rounded to the nearest multiple.
    dimension
        The number of weights.
    tolerance
        How far from the true argmin a result may be.

    >>> proximal_sensitivity(100, lipschitz=2, mu=1, grid="1/1024", dimension=4, tolerance=0)
    Fraction(1845, 1)
    """
    convexity = exact_positive(mu, name="mu") + exact_non_negative(penalty, name="penalty")
    step, size = exact_positive(grid, name="grid"), exact_integer(dimension, name="dimension")
    if fine_step(step) != step:  # division by it would round
        raise ParameterError("mechanisms.grid_not_a_power", grid=safe_repr(grid))
    moved = 2 * exact_positive(lipschitz, name="lipschitz") / (exact_integer(records, name="records") * convexity)
    apart = (moved + 2 * exact_non_negative(tolerance, name="tolerance")) / step + root_at_least(Fraction(size))
    return Fraction(math.floor(apart**2))  # a vector of integers has a whole squared length


def bound_movement(*, lipschitz: Exact, mu: Exact, penalty: Exact = 0, radius: Exact, tolerance: Exact = 0) -> Fraction:
    """Return how far weights are from a start in the ball at the most, whatever the records: a clip that never bites.

    >>> bound_movement(lipschitz=2, mu=4, radius=1)
    Fraction(1, 2)
    """
    pull, size = exact_non_negative(penalty, name="penalty"), exact_positive(radius, name="radius")
    steepest = exact_positive(lipschitz, name="lipschitz") + pull * size
    moved = min(steepest / (exact_positive(mu, name="mu") + pull), 2 * size)
    return moved + exact_non_negative(tolerance, name="tolerance")


def half_spread(loss: Loss, radius: Exact, lipschitz: Exact | None = None) -> Fraction:
    """Return half of how far the gradients of two records are apart at the most, at the same weights in the ball.

    It may stand for ``lipschitz`` in `proximal_sensitivity`. ``lipschitz`` is where slopes are cut.

    >>> [round(float(half_spread(loss, 1)), 2) for loss in (SquaredLoss(), LogisticLoss())]
    [1.3, 0.55]
    """
    reach = exact_positive(radius, name="radius")
    longest = loss.lipschitz(reach)
    if lipschitz is not None:
        longest = min(longest, exact_positive(lipschitz, name="lipschitz"))
    if isinstance(loss, SquaredLoss):
        return min(longest, Fraction(_spread_squares(double_at_least(reach)) / 2))
    if isinstance(loss, LogisticLoss):
        return min(longest, Fraction(_spread_logistic(double_at_least(reach)) / 2))
    return longest


def _spread_squares(radius: float) -> float:
    """Return the largest 2 sin(a) (1 + R cos(a)), rounded up: two records beside the weights, mirrored at them."""
    cosine = 2 * radius / (1 + math.sqrt(1 + 8 * radius * radius))
    return 2 * math.sqrt(1 - cosine * cosine) * (1 + radius * cosine) * _SAFE


@lru_cache(maxsize=64)
def _spread_logistic(radius: float) -> float:
    """Bound the diameter of the gradients p(z.w) z, |z| <= 1, for all |w| <= R, from points of all angles and lengths.

    A gradient moves by p + |w| / 4 at the most for each unit of the angle, and by 1/4 for each unit of the length.
    """
    angles, turn = np.linspace(0.0, math.pi, _ANGLES, retstep=True)
    lengths, growth = np.linspace(0.0, radius, _LENGTHS, retstep=True)
    largest = 0.0
    for length in lengths:
        chances = special.expit(length * np.cos(angles))
        ahead, aside = chances * np.cos(angles), chances * np.sin(angles)
        apart = np.hypot(ahead[:, None] - ahead, aside[:, None] + aside)
        largest = max(largest, float(apart.max()))
    off = float(turn) / 2 * (float(special.expit(radius)) + radius / 4) + float(growth) / 2 / 4
    return (largest + 2 * off) * _SAFE
