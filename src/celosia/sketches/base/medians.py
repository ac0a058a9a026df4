"""How sure the median of independent rows is.

If each row is off by more than t with probability at most q, the median of d rows is off by more than t only if at
least half of them are: with probability at most P(Binomial(d, q) ≥ d/2), which falls exponentially in d (Alon, Matias
and Szegedy 1999). The binomial tail itself is used here, not a bound on it: it makes sketches about half as large.
"""

import math
from collections.abc import Callable

from celosia.core.errors import ParameterError

_MOST_ROWS = 201
_LARGEST_ROW_FAILURE = 1 / 3
_RARE = 1e-100  # beyond, the inverse of the incomplete beta function may not be a number
_DOWN = 1 - 1e-9  # more than the error of the incomplete beta function and its inverse


def median_failure(rows: int, failure: float) -> float:
    """Return the probability that at least half of the rows fail, if each does with probability ``failure``."""
    from scipy.special import betainc

    half = (rows + 1) // 2
    return float(betainc(half, rows - half + 1, failure))


def row_failure(rows: int, failure: float) -> float:
    """Return with which probability each row may fail, if at least half of them shall with ``failure`` at most."""
    from scipy.special import betaincinv

    half = (rows + 1) // 2
    if failure < _RARE:  # some half of the rows all fail: a bound, close where failures are rare
        choices = math.lgamma(rows + 1) - math.lgamma(half + 1) - math.lgamma(rows - half + 1)
        return math.exp((math.log(failure) - choices) / half) * _DOWN
    return float(betaincinv(half, rows - half + 1, failure)) * _DOWN


def cheapest_shape(failure: float, width_at: Callable[[float], int]) -> tuple[int, int]:
    """Return the odd number of rows, and their width, that take the fewest cells.

    ``width_at`` says how wide a row must be to fail with no more than a probability, of 1/3 at most.
    """
    best: tuple[int, int] | None = None
    for rows in range(1, _MOST_ROWS + 1, 2):
        chance = row_failure(rows, failure)
        try:
            width = width_at(min(chance, _LARGEST_ROW_FAILURE))
        except ParameterError:  # so few rows would have to be too wide
            continue
        if best is None or rows * width < math.prod(best):
            best = rows, width
        if chance >= _LARGEST_ROW_FAILURE:  # from here on, rows only cost
            break
    return best or (_MOST_ROWS, width_at(_LARGEST_ROW_FAILURE))  # which says what is too small
