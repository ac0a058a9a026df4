"""Base class of the count-mean sketches: a table of hashed values, and counts that are corrected for collisions.

A client draws one of ``hashes`` rows, and its report adds to cells of that row. A cell, times ``scale`` and less the
expected noise, is unbiased for the number of people of that row and column. The variance of a count is that of the
coins, and that of collisions, whose weight is the number of pairs of people with the same value and the same row.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.exact import Exact, exact_epsilon
from celosia.local.base.checks import check_crowd
from celosia.local.base.estimate import Estimate, build_estimate
from celosia.local.base.hashed_rows import LARGEST_SCALE, build_hash_family, exact_seed, exact_table, read_candidates
from celosia.local.base.protocol import Protocol, State
from celosia.sketches.hashing.digest import digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.local.base.aggregate import Aggregate
    from celosia.sketches.hashing.family import HashFamily

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class HashedTable(Protocol[Estimate]):
    """A sketch over an open domain, whose state has the ``reports`` of each row beside its table."""

    hashes: int
    width: int
    seed: int = 0

    def __init__(self, *, epsilon: Exact, hashes: int, width: int, seed: int = 0) -> None:
        rows, columns = self._exact_shape(hashes, width)
        self._set(epsilon=exact_epsilon(epsilon), hashes=rows, width=columns, seed=exact_seed(seed))

    @staticmethod
    def _exact_shape(hashes: int, width: int) -> tuple[int, int]:
        return exact_table(hashes, width)

    def variance(self, reports: int, count: float = 0.0, *, squares: float | None = None) -> float:
        """Return the variance of an estimated count, if ``count`` of the reporters have the value.

        ``squares`` is the sum of the squared counts of the other values; the default is that they are all different.

        >>> from celosia.local import CountMeanSketch
        >>> round(CountMeanSketch(epsilon=2, hashes=1024, width=1024).variance(1), 3)
        0.923
        """
        check_crowd(reports, count, squares)
        others = reports - count
        squares = others if squares is None else squares
        collisions = others * (1 - 1 / self.hashes) + squares / self.hashes
        return float(self._coins(reports, np.array(count)) + collisions / (self.width - 1))

    @property
    def hash_family(self) -> "HashFamily":
        """The hash functions of the rows of the table."""
        return build_hash_family(self.hashes, self.width, self.seed)

    def encode(self, values: Any) -> "NDArray[np.uint64]":
        return digest(values)

    @abstractmethod
    def _scale(self) -> float:
        """Return the factor by which the coins shrink a cell."""

    @abstractmethod
    def _coins(self, reports: int, counts: "Floats") -> "Floats | float":
        """Return the part of the variances of counts that is due to what clients draw beside the row."""

    @abstractmethod
    def _cells(self, state: State) -> "NDArray[np.int64]":
        """Return the cells, one for each row and column."""

    @abstractmethod
    def _noise(self, reports: int, scale: float) -> float:
        """Return the part of a scaled sum of cells that is due to the coins alone."""

    @abstractmethod
    def _squares(self, state: State, scale: float, reports: "Floats") -> tuple[float, float]:
        """Return the sum of the squares of all scaled cells, and how much of it is noise; ``reports`` is by row."""

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> Estimate:
        from celosia.local.base.null_law import TableLaws
        from celosia.local.base.support import support

        labels, words = read_candidates(candidates)
        n, stretch = aggregate.reports, self.width / (self.width - 1)
        scale, table = self._scale(), self._cells(aggregate.state)
        noise = self._noise(n, scale)
        sums = support(table, self.hash_family, words)
        raw = np.asarray(stretch * (scale * sums - noise - n / self.width), dtype=np.float64)
        mean = stretch * (scale * table.sum() / self.width - noise - n / self.width)
        counts = np.clip(raw, 0.0, n)
        all_pairs = self._pairs(aggregate.state, scale)
        own = counts * (1 - 1 / self.hashes) + counts**2 / self.hashes
        pairs = np.maximum(all_pairs - own, n - counts)
        null_variance = float(self._coins(n, np.zeros(()))) + max(all_pairs, n) / (self.width - 1)
        return build_estimate(
            labels,
            raw,
            variances=self._coins(n, counts) + pairs / (self.width - 1),
            null_variances=np.full(len(raw), null_variance),
            reports=n,
            postprocess=postprocess,
            laws=TableLaws.of(table, self.hash_family, words, raw, scale=stretch * scale, offset=float(mean)),
        )

    def _pairs(self, state: State, scale: float) -> float:
        """Estimate the number of pairs of reporters (themselves too) with the same value and the same hash function.

        It gives the weight of collisions. The squares of the cells estimate it, less the squares of their noise and
        the pairs of different values that collide.
        """
        if scale > LARGEST_SCALE:
            return 0.0
        reports = state["reports"].astype(np.float64)
        squares, noise = self._squares(state, scale, reports)
        by_chance = (reports**2).sum() / self.width
        return float((squares - noise - by_chance) * self.width / (self.width - 1))
