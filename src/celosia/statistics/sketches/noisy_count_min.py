"""Private frequencies of values without a public list: a count-min sketch with noise on every counter.

A row of data adds 1 to one counter in each row of the sketch, so that the tables of neighbours are ``rows`` steps apart
(twice that if a row is replaced), and the Laplace or Gaussian mechanism on the whole table pays once for all later
queries. Exact totals are not released: the total is read from the noisy counters too. An interval adds up what the
noise can do and what other values in the same counters can do. Cormode and Muthukrishnan 2005; the noise as in Mir,
Muthukrishnan, Nikolov and Wright 2011. The proof is in ``proofs/noisy-sketches.md``.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import InputError
from celosia.core.exact import Exact, ReprMixin, exact_epsilon, exact_integer, exact_level, exact_positive
from celosia.core.release import Release
from celosia.noise.source import source_or_system
from celosia.statistics.base.noise import ContributionBounds, Noise, Sensitivity
from celosia.statistics.base.noise_sums import sum_margin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee
    from celosia.core.mechanism import Source
    from celosia.sketches.hashing.columns import Values

# celosia.sketches is imported where sketches are made, because it loads Numba.


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class NoisyCountMin(ReprMixin):
    """A count-min sketch that is released once with noise, and read any number of times.

    Parameters
    ----------
    epsilon, delta
        The price; with a delta Gaussian noise is used where it is smaller.
    rows, width, seed
        The shape and the hash functions of the sketch. More rows make collisions rarer, but the noise larger.
    contributions
        How many rows of data one unit has at most.
    adjacency, unit
        The neighbouring relation and the privacy unit of the price.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> visits = NoisyCountMin(epsilon=1, rows=3, width=200, seed=7)
    >>> release = visits.release(["sun"] * 500 + ["rain"] * 30, source=Seeded(7))
    >>> release.guarantee, release.value.shape
    (PureDP(epsilon=1), (3, 200))
    >>> answer = visits.estimate(release.value, ["sun", "rain", "snow"])
    >>> answer.counts.round().tolist()
    [496.0, 30.0, 0.0]
    """

    epsilon: Fraction
    rows: int
    width: int
    seed: int = 0
    delta: Fraction | None = None
    contributions: int = 1
    adjacency: Adjacency = AddRemove
    unit: str = "row"

    def __init__(  # noqa: PLR0913 - the price, the sketch, and who is protected
        self,
        *,
        epsilon: Exact,
        rows: int,
        width: int,
        seed: int = 0,
        delta: Exact | None = None,
        contributions: int = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        from celosia.sketches.frequency.count_min import CountMin

        sketch = CountMin(rows, width, seed=seed)
        self._set(
            epsilon=exact_epsilon(epsilon),
            rows=sketch.rows,
            width=sketch.width,
            seed=sketch.seed,
            delta=None if delta is None else exact_positive(delta, name="delta"),
            contributions=exact_integer(contributions, name="contributions"),
        )
        bounding = ContributionBounds(adjacency=adjacency, unit=unit)
        self._set(adjacency=bounding.adjacency, unit=bounding.unit)
        _ = self.noise  # a target that cannot be met is refused here, not at the release

    @property
    def sensitivity(self) -> Sensitivity:
        """How far apart the tables of neighbours are at the most.

        >>> NoisyCountMin(epsilon=1, rows=3, width=200, contributions=2).sensitivity
        Sensitivity(l1=6, l2_squared=12)
        """
        # A replaced unit takes away as much as it adds, at worst from one counter and to another.
        ways = 1 if self.adjacency is AddRemove else 2
        return Sensitivity(
            l1=ways * self.rows * self.contributions, l2_squared=ways * self.rows * self.contributions**2
        )

    @property
    def noise(self) -> Noise:
        """The noise of every counter.

        >>> NoisyCountMin(epsilon=1, rows=3, width=200).noise.kind
        'Laplace'
        """
        bounding = ContributionBounds(adjacency=self.adjacency, unit=self.unit)
        return _smallest_noise(self.epsilon, self.delta, self.sensitivity, self.rows, self.width, bounding)

    @property
    def event(self) -> "Event":
        """The event of a release.

        >>> NoisyCountMin(epsilon=1, rows=3, width=200).event
        LaplaceEvent(scale=3, sensitivity=3, dimension=600)
        """
        return self.noise.event

    @property
    def guarantee(self) -> "Guarantee":
        """The guarantee of a release.

        >>> NoisyCountMin(epsilon=1, rows=3, width=200).guarantee
        PureDP(epsilon=1)
        """
        return self.noise.guarantee

    def release(self, values: "Values", /, *, source: "Source | None" = None) -> "Release[NDArray[np.int64]]":
        """Return the noisy table of a column, or of a ``CountMin`` of the same shape and seed.

        A ``CountMin`` must have been updated without weights, or no unit may have a larger sum of absolute weights than
        ``contributions``. The interval of the release is that of each counter; frequencies have theirs in ``estimate``.

        >>> NoisyCountMin(epsilon=1, rows=3, width=200).release(["sun"]).value.dtype
        dtype('int64')
        """
        source, noise = source_or_system(source), self.noise
        return Release(
            value=noise.release(self._table(values), source),
            event=noise.event,
            guarantee=noise.guarantee,
            seeded=source.seeded,
            margin=noise.margin,
        )

    def _table(self, values: "Values") -> "NDArray[np.int64]":
        from celosia.sketches.frequency.count_min import CountMin

        if isinstance(values, CountMin):
            if (values.rows, values.width, values.seed) != (self.rows, self.width, self.seed):
                raise InputError(
                    "statistics.count_min_parameters_differ", rows=self.rows, width=self.width, seed=self.seed
                )
            return values.counters
        sketch = CountMin(self.rows, self.width, seed=self.seed)
        sketch.update(values)
        return sketch.counters

    def estimate(self, table: "NDArray[np.int64]", values: "Values") -> "Frequencies":
        """Return how often values came, read from a released table.

        >>> visits = NoisyCountMin(epsilon=1, rows=3, width=200)
        >>> visits.estimate(visits.release(["sun"] * 100).value, ["sun"]).counts.shape
        (1,)
        """
        from celosia.sketches.hashing.digest import digest
        from celosia.sketches.hashing.family import HashFamily

        counters = np.asarray(table)
        if counters.shape != (self.rows, self.width) or counters.dtype.kind not in "iu":
            raise InputError("statistics.not_a_released_table", rows=self.rows, width=self.width)
        family = HashFamily(self.rows, self.width, independence=2, seed=self.seed)
        columns = family.table(digest(values, seed=self.seed))
        cells = np.take_along_axis(counters.astype(np.int64), columns, axis=1)
        return Frequencies(
            cells=cells,
            usual=np.median(counters, axis=1),
            total=float(counters.sum(dtype=np.float64)) / self.rows,
            noise=self.noise,
        )


@lru_cache(maxsize=64)
def _smallest_noise(
    epsilon: Fraction,
    delta: Fraction | None,
    sensitivity: Sensitivity,
    rows: int,
    width: int,
    bounding: ContributionBounds,
) -> Noise:
    laplace = Noise.laplace(epsilon, sensitivity, rows, width, bounding)
    if delta is None:
        return laplace
    gaussian = Noise.approximate(epsilon, delta, sensitivity, rows, width, bounding)
    return laplace if laplace.variance <= gaussian.variance else gaussian


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Frequencies:
    """Frequencies of some values: the noisy ``cells`` of each, the ``usual`` counter of a row, and a noisy ``total``.

    >>> visits = NoisyCountMin(epsilon=1, rows=3, width=200)
    >>> visits.estimate(visits.release(["sun"] * 10_000).value, ["sun", "snow"])
    Frequencies(2 values)
    """

    cells: "NDArray[np.int64]"
    usual: "NDArray[np.float64]"
    total: float
    noise: Noise

    @property
    def counts(self) -> "NDArray[np.float64]":
        """The median over the rows of a value's counter less the median counter of its row.

        Other values and noise are as often above the usual counter as below, so that counts are as often too high as
        too low, and may be below 0. The mean counter would be too much to take off, where few values are frequent.
        """
        medians: NDArray[np.float64] = np.median(self.cells - self.usual[:, None], axis=0)
        return medians

    def confidence_interval(self, level: Exact = 0.95) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Return bounds of each frequency, which hold with probability ``level`` or more for each one.

        The probability is over the noise and the choice of the hash functions. Other values only add to a counter, so
        that no frequency is above the least noisy counter and its noise; that all counters have more than a multiple of
        their share of others is unlikely by Markov's inequality.

        >>> visits = NoisyCountMin(epsilon=1, rows=5, width=2_000)
        >>> low, high = visits.estimate(visits.release(["sun"] * 10_000).value, ["sun"]).confidence_interval(0.999)
        >>> bool(low[0] <= 10_000 <= high[0])
        True
        """
        from celosia.sketches.hashing.family import collision_chance

        failure, rows = 1 - exact_level(level), self.cells.shape[0]
        margin = self.noise.margin(1 - failure / (2 * rows))
        total = max(self.total + sum_margin(self.noise.mechanism, rows * self.noise.width, failure / 4) / rows, 0.0)
        others = total * collision_chance(self.noise.width) * (4 / failure) ** (1 / rows)
        least = self.cells.min(axis=0).astype(np.float64)
        high = np.maximum(least + margin, 0.0)
        return np.clip(least - margin - min(others, total), 0.0, high), high

    def __repr__(self) -> str:
        return f"Frequencies({self.cells.shape[1]} values)"
