"""Gaussian differential privacy of discrete Gaussian noise: a mu for whole shifts in any number of coordinates.

Continuous noise is mu-GDP with mu = length / sigma. On the grid that is not true, but nearly: discrete noise of
variance v is, within tiny factors, what a random rounding makes of continuous noise of variance v - s, for any s below
v (a convolution, with Poisson's summation formula for the rounding). The factors change both errors of a test slightly,
and a larger mu pays for that. Dong, Roth and Su 2022 for the notion; the proof is in ``proofs/pairs.md``.
"""

import math
from statistics import NormalDist

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, exact_non_negative, exact_positive, safe_repr

_MAX_SIZE = 1e300  # beyond, quotients would leave the doubles
_SAFE = 1e-12  # far above the rounding of a dozen operations
_CANDIDATES = 120  # variances of the rounding
_STANDARD = NormalDist()


def gaussian_dp(variance: Exact, sensitivity_squared: Exact, dimension: int, *, spread: float = 0.0) -> float:
    """Return a mu (rounded up) for discrete Gaussian noise on integers, in ``dimension`` coordinates.

    Parameters
    ----------
    variance
        The parameter sigma^2 of the noise of each coordinate, in steps.
    sensitivity_squared
        The largest squared length of a shift, in steps; shifts are whole.
    dimension
        The number of coordinates.
    spread
        The logarithm of the factor within which noise is that of a discrete Gaussian, where it is not one.
    """
    square = float(exact_positive(variance, name="variance")) * (1 - 1e-15)
    longest = math.floor(exact_non_negative(sensitivity_squared, name="sensitivity_squared"))
    moved = min(exact_integer(dimension, name="dimension"), longest)  # coordinates: each that moves adds 1 or more
    if longest == 0:
        return 0.0
    if max(square, longest) > _MAX_SIZE:
        raise ParameterError(
            "accounting.variance_or_sensitivity_too_large", most=_MAX_SIZE, variance=safe_repr(variance)
        )
    mu = min(_mu(square, rounding, float(longest), moved, spread) for rounding in _candidates(square, moved))
    if mu == math.inf:
        raise ParameterError("accounting.variance_too_small", variance=safe_repr(variance))
    return mu * (1 + _SAFE)


def _candidates(square: float, moved: int) -> list[float]:
    """Return variances of the rounding to try: any is valid, and the best is between these orders of magnitude."""
    most = min(square, 1.0 + math.log1p(moved))
    return [most * i / (_CANDIDATES + 1) for i in range(1, _CANDIDATES + 1)]


def _mu(square: float, rounding: float, longest: float, moved: int, spread: float) -> float:
    """Return the mu that a rounding of this variance proves, or infinity."""
    rest = square - rounding
    ripple = _waves(rounding)
    if ripple >= 0.5:
        return math.inf
    averaged = _waves(rounding * (1 + rest / square))
    # By how much the rounded normal distribution may exceed the discrete one, and fall below it: logarithms.
    above = moved * (math.log1p(averaged + ripple * ripple / (1 - ripple)) + math.log1p(_waves(square)))
    below = -moved * math.log1p(-averaged)
    above, below = above + moved * spread, below + moved * spread
    if above > 0.5:
        return math.inf
    steepest = (math.exp(above) / 2) / _STANDARD.pdf(_STANDARD.inv_cdf(math.exp(above) / 2))
    return math.sqrt(longest / rest) + 2 * max(above * steepest, below * math.sqrt(math.pi / 2))


def _waves(square: float) -> float:
    """Return 2 sum exp(-2 pi^2 square m^2) over m = 1, 2, ..., rounded up; 0 never, so that it can be compared."""
    rate = math.exp(-2 * math.pi**2 * square)
    # From the second term on a geometric series is above.
    return (2 * rate + 2 * rate**4 / (1 - rate**5)) * (1 + 1e-12) if rate < 0.9 else math.inf
