"""Failure probability of the median of independent rows.

If each row is off by more than t with probability at most q, the median of d rows is off by more than t only if at
least half of them are: with probability at most P(Binomial(d, q) ≥ d/2), which falls exponentially in d (Alon, Matias
and Szegedy 1999). The binomial tail itself is used here, not a bound on it: it makes sketches about half as large.
"""

import math
from collections.abc import Callable

from celosia.core.errors import ParameterError

_MAX_ROWS = 201
_MAX_ROW_FAILURE = 1 / 3
_MIN_FAILURE = 1e-100  # below it the inverse of the incomplete beta function may be NaN
_SAFETY = 1 - 1e-9  # more than the error of the incomplete beta function and its inverse


def median_failure(rows: int, failure: float) -> float:
    """Return the probability that at least half of the rows fail, if each does with probability ``failure``."""
    from scipy.special import betainc

    half = (rows + 1) // 2
    return float(betainc(half, rows - half + 1, failure))


def row_failure(rows: int, failure: float) -> float:
    """Return the failure probability of a row at which half of the rows fail with probability at most ``failure``."""
    from scipy.special import betaincinv

    half = (rows + 1) // 2
    if failure < _MIN_FAILURE:  # a union bound over half of the rows, close for rare failures
        choices = math.lgamma(rows + 1) - math.lgamma(half + 1) - math.lgamma(rows - half + 1)
        return math.exp((math.log(failure) - choices) / half) * _SAFETY
    return float(betaincinv(half, rows - half + 1, failure)) * _SAFETY


def cheapest_shape(failure: float, width_at: Callable[[float], int]) -> tuple[int, int]:
    """Return the odd number of rows, and their width, that take the fewest cells.

    ``width_at`` returns the width of a row that fails with at most a given probability, at most 1/3.
    """
    best: tuple[int, int] | None = None
    for rows in range(1, _MAX_ROWS + 1, 2):
        chance = row_failure(rows, failure)
        try:
            width = width_at(min(chance, _MAX_ROW_FAILURE))
        except ParameterError:  # such few rows would be too wide
            continue
        if best is None or rows * width < math.prod(best):
            best = rows, width
        if chance >= _MAX_ROW_FAILURE:  # more rows only cost
            break
    return best or (_MAX_ROWS, width_at(_MAX_ROW_FAILURE))  # raises the error that names the parameter
