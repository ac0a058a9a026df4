"""Sizes of sketches for a relative error, and error bounds of estimates.

Sketches that count different values have a relative error of c/√size, with a constant c of their own, and their
estimates are close to normal: the numbers here are those of the normal distribution.
"""

import math
from statistics import NormalDist

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact, exact_positive, safe_repr

_MAX_DEVIATIONS = 8


def size_for(constant: float, error: Exact, failure: Exact) -> int:
    """Return the least size whose relative error exceeds ``error`` with probability at most ``failure``."""
    wanted = open_unit(error, name="error")
    return math.ceil((constant * deviations_for(failure) / wanted) ** 2)


def deviations_for(failure: Exact) -> float:
    """Return the two-sided normal quantile: the number of standard deviations exceeded with probability ``failure``."""
    return -NormalDist().inv_cdf(open_unit(failure, name="failure") / 2)


def tail_beyond(deviations: float) -> float:
    """Return the one-sided tail probability of a normal variable at a number of standard deviations."""
    return NormalDist().cdf(-deviations)


def open_unit(value: Exact, *, name: str) -> float:
    """Return a number greater than 0 and less than 1."""
    number = float(exact(value, name=name))
    if not 0 < number < 1:
        raise ParameterError("core.not_between_zero_and_one", name=name, value=safe_repr(value))
    return number


def standard_deviations(value: Exact) -> float:
    """Return a number of standard deviations for bounds, or raise ``ParameterError``."""
    number = float(exact_positive(value, name="deviations"))
    if number > _MAX_DEVIATIONS:
        raise ParameterError("sketches.too_many_deviations", most=_MAX_DEVIATIONS, value=safe_repr(value))
    return number


def relative_bounds(estimate: float, error: float, least: float, deviations: Exact) -> tuple[float, float]:
    """Return the true values at which an estimate is the given number of standard deviations off.

    ``error`` is the relative standard error; ``least`` a certain lower bound of the truth.
    """
    width = standard_deviations(deviations) * error
    high = estimate / (1 - width) if width < 1 else math.inf
    return max(estimate / (1 + width), least), max(high, least)
