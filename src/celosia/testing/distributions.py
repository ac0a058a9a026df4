"""A test of whether draws follow a stated distribution.

Pearson's chi-square compares counts with exact probabilities. Values are pooled, in order, into cells: finer towards
the tails, where samplers go wrong, yet never so fine that the chi-square law of the statistic is in doubt. The
probabilities are those of the stated distribution, not of a sample, so that nothing is fitted.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from celosia.core import ConformanceError, ParameterError

_MIN_EXPECTED = 25.0  # expected draws in a cell
_CELLS = 200
_MAX_RANGE = 1 << 27
_BLOCKS = 1 << 20
_MIN_PROBABILITY = 1e-12
_TAIL_MASS = 1e-9


def check_distribution(
    draws: ArrayLike, log_mass: Callable[[NDArray[np.int64]], ArrayLike], *, failure: float = 1e-6
) -> float:
    """Return the p-value of integer draws under the distribution whose log probabilities ``log_mass`` gives.

    Raises ``ConformanceError`` if the p-value is below ``failure``, if a draw was impossible, or if the probabilities
    do not add up to one. Not to reject is evidence, never a proof.

    >>> from celosia.noise import DiscreteLaplace, Seeded
    >>> noise = DiscreteLaplace(2)
    >>> check_distribution(noise.sample(10_000, Seeded(7)), noise.log_mass) > 1e-6
    True
    >>> check_distribution(noise.sample(10_000, Seeded(7)), DiscreteLaplace("2.2").log_mass)
    Traceback (most recent call last):
    ...
    celosia.core.errors.ConformanceError: distribution: 10000 draws have a p-value of ..., below 1e-06.
    """
    values = np.asarray(draws)
    if values.ndim != 1 or values.dtype.kind not in "iu" or values.size == 0:
        raise ParameterError("testing.draws_not_integers")
    if np.isneginf(_log_masses(log_mass, np.unique(values).astype(np.int64))).any():
        raise ConformanceError("testing.impossible_value_drawn")
    start, block, masses = _tabulate(values, log_mass)
    observed = np.bincount(((values - start) // block).astype(np.int64), minlength=masses.size)
    p_value = chi_square(observed, masses)
    if p_value < failure:
        raise ConformanceError("testing.draws_do_not_fit", draws=values.size, p_value=p_value, failure=failure)
    return p_value


def chi_square(observed: ArrayLike, probabilities: ArrayLike, *, outside: int = 0) -> float:
    """Return the p-value of counts under exact probabilities, neighbouring cells being pooled where they are small.

    ``outside`` counts the draws that fell in none of the cells; they form one more cell, with the probability that is
    missing to one.

    >>> chi_square([30, 70], [0.3, 0.7])
    1.0
    >>> chi_square([70, 30], [0.3, 0.7]) < 1e-6
    True
    """
    counts, masses = np.asarray(observed, dtype=np.int64), np.asarray(probabilities, dtype=np.float64)
    total = int(counts.sum()) + outside
    missing = max(0.0, 1.0 - float(masses.sum()))
    if counts.shape != masses.shape or counts.ndim != 1 or total == 0:
        raise ParameterError("testing.observed_and_probabilities_differ")
    if (counts[masses <= 0] > 0).any():
        return 0.0
    starts = _pool(masses, total)
    cells, expected = np.add.reduceat(counts, starts), np.add.reduceat(masses, starts) * total
    if missing * total >= _MIN_EXPECTED:
        cells, expected, outside = np.append(cells, outside), np.append(expected, missing * total), 0
    statistic = float(((cells - expected) ** 2 / expected).sum())
    p_value = float(special.chdtrc(cells.size - 1, statistic)) if cells.size > 1 else 1.0
    # A cell with a tiny expected count has no chi-square law: its Poisson tail is tested separately.
    return min(1.0, 2 * min(p_value, float(special.gammainc(outside, missing * total)))) if outside else p_value


def _pool(masses: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Return where each pooled cell starts: cells are in proportion to what lies beyond them, within limits."""
    cumulative = np.cumsum(masses)
    whole = float(cumulative[-1])
    least, most = _MIN_EXPECTED / total, max(_MIN_EXPECTED / total, 1 / _CELLS)
    starts = [0]
    done = 0.0
    while whole - done > least:
        tail = min(done, whole - done) / 2
        end = int(np.searchsorted(cumulative, done + min(max(tail, least), most)))
        if end + 1 >= masses.size or whole - cumulative[end] < least:
            break
        starts.append(end + 1)
        done = float(cumulative[end])
    return np.array(starts, dtype=np.int64)


def _tabulate(
    values: NDArray[np.signedinteger], log_mass: Callable[[NDArray[np.int64]], ArrayLike]
) -> tuple[int, int, NDArray[np.float64]]:
    """Return the first value, the width of a block, and the probabilities of blocks that hold all but a billionth."""
    start, stop = int(values.min()), int(values.max()) + 1
    total, before = 0.0, -1.0
    while stop - start <= _MAX_RANGE and total > before:
        before = total + _MIN_PROBABILITY
        block = -(-(stop - start) // _BLOCKS)
        stop = start + -(-(stop - start) // block) * block
        masses = _block_masses(log_mass, start, stop, block)
        total = float(masses.sum())
        if total > 1 + _TAIL_MASS:
            raise ConformanceError("testing.probabilities_exceed_one", total=total)
        if total > 1 - _TAIL_MASS:
            return start, block, masses
        reach = (stop - start) // 2 + 8
        start, stop = start - reach, stop + reach
    raise ConformanceError("testing.probabilities_fall_short", total=total)


def _block_masses(
    log_mass: Callable[[NDArray[np.int64]], ArrayLike], start: int, stop: int, block: int
) -> NDArray[np.float64]:
    length = max(1, _BLOCKS // block) * block  # evaluated at once, so that memory stays small for wide noise
    parts = [np.arange(at, min(at + length, stop), dtype=np.int64) for at in range(start, stop, length)]
    return np.concatenate([np.exp(_log_masses(log_mass, part)).reshape(-1, block).sum(axis=1) for part in parts])


def _log_masses(log_mass: Callable[[NDArray[np.int64]], ArrayLike], values: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(log_mass(values), dtype=np.float64)
