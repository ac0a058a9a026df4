"""The law of the count of an absent value, given the table of a server.

Hashing maps a value that is not in the table to a uniform cell of each row. Its count is therefore a sum of independent
draws, one from each row, and the server knows all cells. This law is conditional on the table: holders of a frequent
value in one row are one large cell, and are drawn together.

Rows are centred and pooled: the sum is taken as one draw from all cells for each row. The Chernoff bound of the pooled
law is never below that of the rows (Jensen). Its tail is computed from the law that is tilted to the Chernoff quantile,
by one Fourier transform: see ``proofs/null-law.md``.
"""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from celosia.local.base.hashed_rows import LARGEST_SCALE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from celosia.sketches.hashing.family import HashFamily

    Floats = NDArray[np.float64]

MAX_OWN_LAWS = 16
"""The number of largest counts whose own holders are left out of the law, if they matter."""

_DRAW_STEPS, _SUM_STEPS = 16.0, 4000.0  # grid steps in a standard deviation of one draw, and of the sum
_WINDOW_DEVIATIONS = 12.0  # standard deviations of the tilted sum on each side of its mean
_MARGIN_DEVIATIONS = 2.0  # of the shift that centring adds to an atom
_TILT_TOLERANCE = 1e-4
_MAX_LOG = 700.0
_MIN_OWN_SHARE = 0.05  # of the variance: with less, a value's own holders are not left out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NullLaw:
    """Law of a sum of ``draws`` independent cells: ``cells`` counts those at ``first + step * place``.

    A count is ``offset`` plus ``scale`` times the sum. ``margin`` is added to quantiles of the sum: the shift of
    its atoms by the centring of rows, at most one hit.
    """

    cells: "Floats"
    first: float
    step: float
    draws: int
    margin: float
    scale: float
    offset: float = 0.0

    @classmethod
    def of(cls, table: "NDArray[np.int64]", *, scale: float, offset: float = 0.0) -> "NullLaw":
        """Return the law of a sum of one cell of each row, less the means of the rows."""
        rows, width = table.shape
        means = table.mean(axis=1)
        least, most, squares = _spread(table, means)
        deviation = math.sqrt(squares / (rows * width))
        step = max(deviation / _DRAW_STEPS, deviation * math.sqrt(rows) / _SUM_STEPS) or 1.0
        cells = np.zeros(int((most - least) / step) + 2)
        _fill(table, means, least, step, cells)
        moved = rows * (float(np.var(means)) + step**2 / 6)
        margin = min(1.0, _MARGIN_DEVIATIONS * math.sqrt(moved))
        return cls(cells=cells, first=least, step=step, draws=rows, margin=margin, scale=scale, offset=offset)

    @property
    def variance(self) -> float:
        """The variance of a count."""
        masses, places = self.cells / self.cells.sum(), np.arange(self.cells.size)
        squares = float(masses @ (places - masses @ places) ** 2)
        return self.draws * (self.scale * self.step) ** 2 * squares

    def quantile(self, chance: float, *, lower: bool = False) -> float:
        """Return a count that the law exceeds (with ``lower``: falls below) with probability at most ``chance``."""
        if np.count_nonzero(self.cells) <= 1:
            return self.offset
        cells = self.cells[::-1] if lower else self.cells
        first = -(self.first + self.step * (cells.size - 1)) if lower else self.first
        sum_ = self.draws * first + self.step * _quantile(cells / cells.sum(), self.draws, chance) + self.margin
        return self.offset + self.scale * (-sum_ if lower else sum_)

    def without(self, contents: "Floats") -> "NullLaw":
        """Return the law without one centred cell of each row, whose values are ``contents``, centred again."""
        cells = self.cells.copy()
        places = (contents - self.first) / self.step
        below = np.clip(places.astype(np.int64), 0, cells.size - 2)
        np.subtract.at(cells, below, 1 - (places - below))
        np.subtract.at(cells, below + 1, places - below)
        cells = np.maximum(cells, 0.0)
        mean = float(cells @ np.arange(cells.size) / cells.sum())
        return replace(self, cells=cells, first=-self.step * mean, offset=0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableLaws:
    """The law of an absent value's count, and for the largest counts the law of the others' contribution."""

    null: NullLaw
    others: "Mapping[int, NullLaw]" = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        table: "NDArray[np.int64]",
        family: "HashFamily",
        digests: "NDArray[np.uint64]",
        sizes: "NDArray[np.int64] | Floats",
        *,
        scale: float,
        offset: float = 0.0,
    ) -> "TableLaws | None":
        """Return the laws of a table, and those without the own holders of the candidates with the largest sizes.

        Return None if the scale of the noise is beyond ``LARGEST_SCALE``: the table shows nothing else.
        """
        if scale > LARGEST_SCALE:
            return None
        null, others = NullLaw.of(table, scale=scale, offset=offset), {}
        means, rows = table.mean(axis=1), np.arange(len(table))
        places = np.argsort(-sizes, kind="stable")[:MAX_OWN_LAWS]
        most = (1 - _MIN_OWN_SHARE) * null.variance
        for place, columns in zip(places.tolist(), family.table(digests[places]).T, strict=True):
            law = null.without(table[rows, columns] - means)
            if law.variance < most:
                others[place] = law
        return cls(null=null, others=others)

    def take(self, places: "NDArray[np.int64]") -> "TableLaws":
        """Return the laws for some of the candidates, in another order."""
        others = {i: self.others[place] for i, place in enumerate(places.tolist()) if place in self.others}
        return replace(self, others=others)

    def reach(self, errors: "Floats", chance: float, times: float, *, lower: bool) -> "Floats":
        """Return the one-sided reach of counts beyond their mean, with probability ``chance``.

        If the law has less variance than the standard error squared, the rest is that of the holders' own coins, which
        is taken as normal. The reach is never below that of the normal law, ``times`` the standard error.
        """
        sign = -1 if lower else 1
        found = np.full(errors.shape, sign * (self.null.quantile(chance, lower=lower) - self.null.offset))
        variances = np.full(errors.shape, self.null.variance)
        for place, law in self.others.items():
            found[place], variances[place] = sign * law.quantile(chance, lower=lower), law.variance
        own = np.maximum(errors**2 - variances, 0.0)
        return np.asarray(np.maximum(times * errors, np.sqrt(np.maximum(found, 0.0) ** 2 + times**2 * own)))


def _quantile(masses: "Floats", draws: int, chance: float) -> int:
    """Return the least place of the grid 0, 1, … that a sum of draws exceeds with probability at most ``chance``."""
    from scipy import fft

    places = np.flatnonzero(masses)
    masses, log_chance = masses[places], math.log(chance)
    if draws * math.log(masses[-1]) >= log_chance:
        return draws * int(places[-1])
    tilt = _find_tilt(masses, places, log_chance / draws)
    _, log_moment, tilted = _tilt_law(masses, places, tilt)
    mean = float(tilted @ places)
    spread = math.sqrt(draws * float(tilted @ (places - mean) ** 2))
    middle, size = round(draws * mean), fft.next_fast_len(2 * math.ceil(_WINDOW_DEVIATIONS * spread + 2), real=True)
    folded = np.bincount(places % size, weights=tilted, minlength=size)
    sums = np.roll(fft.irfft(fft.rfft(folded) ** draws, size), size // 2 - middle % size)
    # The sum at place x of the window is middle - size // 2 + x; its mass is that of the tilted law, tilted back.
    sum_places = middle - size // 2 + np.arange(size)
    untilted = np.maximum(sums, 0.0) * np.exp(np.minimum(draws * log_moment - tilt * sum_places, _MAX_LOG))
    rare = int(np.searchsorted(np.cumsum(untilted[::-1]), chance, side="right"))  # the number of largest sums
    return int(sum_places[-1]) - rare


def _find_tilt(masses: "Floats", places: "NDArray[np.int64]", log_chance: float) -> float:
    """Return the tilt at which the logarithm of the Chernoff bound for one draw is ``log_chance``."""
    low, high = 0.0, 1.0 / float(places[-1])
    while _tilt_law(masses, places, high)[0] > log_chance and high < _MAX_LOG:
        low, high = high, 2 * high
    while high - low > _TILT_TOLERANCE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _tilt_law(masses, places, middle)[0] > log_chance else (low, middle)
    return high


def _tilt_law(masses: "Floats", places: "NDArray[np.int64]", tilt: float) -> "tuple[float, float, Floats]":
    """Return the logarithm of the Chernoff bound at the mean of the tilted law, that of its moment, and the law."""
    top = tilt * float(places[-1])
    weights = masses * np.exp(tilt * places - top)
    total = float(weights.sum())
    tilted = weights / total
    log_moment = math.log(total) + top
    return log_moment - tilt * float(tilted @ places), log_moment, tilted


@njit(cache=True, nogil=True)
def _spread(table: "NDArray[np.int64]", means: "Floats") -> tuple[float, float, float]:
    least, most, squares = 0.0, 0.0, 0.0
    for row in range(table.shape[0]):
        part = 0.0
        for column in range(table.shape[1]):
            content = table[row, column] - means[row]
            least, most = min(least, content), max(most, content)
            part += content * content
        squares += part
    return least, most, squares


@njit(cache=True, nogil=True)
def _fill(table: "NDArray[np.int64]", means: "Floats", first: float, step: float, cells: "Floats") -> None:
    """Count the cells at each place of the grid; a value between two places is shared, with the same mean."""
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            place = (table[row, column] - means[row] - first) / step
            below = min(int(place), cells.size - 2)
            cells[below] += 1 - (place - below)
            cells[below + 1] += place - below
