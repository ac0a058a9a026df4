"""Noised moments of all parties: how many records there are, and where columns lie and how far they spread.

In a first round each party sends its number of records, and for each column (features, then the target) the sum and the
sum of squares of integers between ``-grid`` and ``grid``. One record's part has a bounded length, which is proved on
integers (proofs/federated-sgd.md), so the noise of the later rounds hides it too, at the cost of a stated share. What
is read from the totals is shrunk towards public guesses as far as the noise hides it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.federated.updates.local_descent import add_columns

if TYPE_CHECKING:
    from celosia.federated.contributions import RoundSum

Floats = NDArray[np.float64]

_FINEST: Final = 2**24  # steps of a column's half range: squares of these are exact in 64 bits
_SPREAD: Final = 0.08  # the variance that a column from -1 to 1 is taken to have while the noise hides it
_LOOSE: Final = (0.5, 0.1)  # how far, squared, centres of features and of a target are taken to lie from the middle
_LEAST_SPREAD: Final = 0.05  # of the mean variance of all features
_FEWEST: Final = 8  # no party is taken to have less than this part of the mean number of records
_USUAL_SIZE: Final = 100.0  # records that a party is taken to have where no number is released


class Moments(NamedTuple):
    """What noisy totals tell; columns lie between -1 and 1.

    ``sizes`` are the numbers of records of all parties. ``loudness`` is the noise of a total, in times the variance of
    one party's, over the squared number of records in it. The last of ``centres`` and ``spreads`` is the target's.
    """

    sizes: Floats
    loudness: float
    centres: Floats
    spreads: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentSums:
    """What a party sends in the first round, in steps: ``grid`` stands for 1.

    ``counts`` says whether numbers of records are private, and so among them.

    >>> sums = MomentSums(columns=3, counts=True, grid=4)
    >>> sums.width, sums.length_squared, sums.sensitivity_squared
    (7, Fraction(67, 16), 67)
    """

    columns: int
    counts: bool
    grid: int

    @classmethod
    def fit(cls, *, columns: int, counts: bool, longest: Fraction) -> "MomentSums":
        """Return the sums on the finest grid on which a record moves them by at most the root of ``longest``."""
        whole = cls(columns=columns, counts=counts, grid=4)
        grid = min(math.isqrt(math.floor(longest / whole.length_squared)), _FINEST) // 4 * 4
        if grid == 0:
            raise ParameterError("learn.target_unreachable")
        return cls(columns=columns, counts=counts, grid=grid)

    @property
    def weight(self) -> int:
        """What a record counts, where the largest value of a column counts 1."""
        return max(1, math.isqrt(self.columns) // 2) if self.counts else 0

    @property
    def width(self) -> int:
        """How many integers there are: the number of records, sums, and sums of squares."""
        return int(self.counts) + 2 * self.columns

    @property
    def length_squared(self) -> Fraction:
        """The squared length of the longest record, for a grid of 1: a column adds 1, and its square 1/16, at most."""
        return self.weight**2 + Fraction(17, 16) * self.columns

    @property
    def sensitivity_squared(self) -> int:
        """The squared length of the longest record, in steps: an integer, for the grid is a multiple of 4."""
        return int(self.length_squared * self.grid**2)

    def add(self, rows: Floats, targets: Floats, bounds: NDArray[np.int64], norm: float) -> NDArray[np.int64]:
        """Return the exact sums, a row for each party: ``rows`` times ``norm`` are columns between -1 and 1."""
        sums = add_columns(rows, targets, bounds, norm, self.columns - 1, self.grid)
        if not self.counts:
            return sums
        sizes = (bounds[:, 1] - bounds[:, 0]) * (self.weight * self.grid)
        return np.column_stack([sizes, sums])

    def read(
        self, found: "RoundSum", sizes: Floats | None, places: list[int], parties: int, deviation: float
    ) -> Moments:
        """Read noisy totals.

        Parameters
        ----------
        found
            The sum of a round, with the parts of parties where they are seen.
        sizes
            How many records each of all parties has, where that is public.
        places, parties
            Where those whose messages are in the sum stand among all, and how many all are.
        deviation
            The standard deviation of the noise in a message, in steps.
        """
        spread = float(len(places) if found.spread is None else found.spread)
        total, noise = np.asarray(found.total, dtype=np.float64) / self.grid, deviation / self.grid * math.sqrt(spread)
        if sizes is None:
            records = max(total[0] / self.weight, noise / self.weight, float(len(places)))
            sizes = self._read_sizes(found, records / len(places), places, parties, deviation / self.grid)
        else:
            records = float(sizes[places].sum())
        sums = total[int(self.counts) : self.width] / records
        centres, spreads = _read_columns(sums[: self.columns], 2 * sums[self.columns :] + 0.5, noise / records)
        return Moments(sizes=sizes, loudness=spread / records**2, centres=centres, spreads=spreads)

    def _read_sizes(self, found: "RoundSum", mean: float, places: list[int], parties: int, noise: float) -> Floats:
        """Return the numbers of records of all parties: near the mean as far as the noise hides how they differ."""
        sizes = np.full(parties, mean)
        if found.parts and len(places) > 1:
            told = np.array([float(found.parts[name][0]) for name in found.accepted]) / (self.weight * self.grid)
            differ = float(np.var(told, ddof=1))
            kept = math.sqrt(max(differ - (noise / self.weight) ** 2, 0.0) / differ) if differ > 0 else 0.0
            near = np.maximum(mean + kept * (told - told.mean()), mean / _FEWEST)
            sizes[places] = near * (mean / near.mean())
        return sizes


def guess_moments(sizes: Floats | None, parties: int, columns: int) -> Moments:
    """Return what is public without any totals: columns lie in the middle, and spread as is usual."""
    known = np.full(parties, _USUAL_SIZE) if sizes is None else sizes
    loudness = parties / float(known.sum()) ** 2
    return Moments(known, loudness, np.zeros(columns), np.full(columns, math.sqrt(_SPREAD)))


def _read_columns(means: Floats, squares: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return centres and spreads, the target's last, from noisy means: a square has twice the ``noise`` of a value."""
    loose = np.append(np.full(len(means) - 1, _LOOSE[0]), _LOOSE[1])
    centres = np.clip(means, -1, 1) * loose / (loose + noise**2)
    variances = squares - centres**2
    hidden = np.hypot(2 * noise, 2 * noise * np.abs(centres))  # of each variance
    target = max(_shrink(float(variances[-1]), _SPREAD, float(hidden[-1])), _LEAST_SPREAD * _SPREAD)
    found = np.array([target])
    if len(means) > 1:  # each feature's is shrunk to the mean of all, and that to what is usual
        each = float(np.sqrt(np.mean(hidden[:-1] ** 2)))
        mean = _shrink(float(variances[:-1].mean()), _SPREAD, each / math.sqrt(len(means) - 1))
        mean = max(mean, _LEAST_SPREAD * _SPREAD)
        own = [max(_shrink(one, mean, each), _LEAST_SPREAD * mean) for one in variances[:-1].tolist()]
        found = np.array([*own, target])
    return centres, np.sqrt(np.minimum(found, 1.0))


def _shrink(noisy: float, guess: float, noise: float) -> float:
    """Return a number between 0 and 1, near a guess of about its own size as far as noise hides it."""
    trust = guess**2 / (guess**2 + noise**2)
    return trust * min(max(noisy, 0.0), 1.0) + (1 - trust) * guess
