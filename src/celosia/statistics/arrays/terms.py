"""The terms on which a statistic of a plain array is released: its price, its neighbours, its randomness.

With a delta, Gaussian noise is considered beside Laplace noise, and the more accurate one is taken; neither choice
depends on the data. The exact summary exists here only until it is noised.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.exact import Exact
from celosia.core.release import Release
from celosia.noise.source import source_or_system
from celosia.statistics.base.noise import ContributionBounds, Noise

if TYPE_CHECKING:
    from celosia.core.mechanism import Source
    from celosia.statistics.base.measure import Measure

_MANY_ROWS = 1e15  # with so many rows the bounds cut off no answer's spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Epsilon, an optional delta, their adjacency and unit, and the source of randomness."""

    epsilon: Exact
    delta: Exact | None = None
    adjacency: Adjacency = AddRemove
    unit: str = "row"
    source: "Source | None" = None

    @property
    def bounding(self) -> ContributionBounds:
        """One row in one cell."""
        return ContributionBounds(adjacency=self.adjacency, unit=self.unit)

    def release(self, measure: "Measure", quantity: str, summary: NDArray[Any]) -> Release[Any]:
        """Return a quantity of a noisy summary of one cell."""
        source = source_or_system(self.source)
        noise = noise_for(measure, quantity, self.epsilon, self.delta, self.bounding)
        estimate = measure.answer(quantity, noise.release(summary, source), noise)
        between = estimate.interval

        def interval(level: float) -> tuple[Any, Any]:
            assert between is not None  # noqa: S101 - for the type checker: sums have intervals
            low, high = between(level)
            return _unwrap(low), _unwrap(high)

        return Release(
            value=_unwrap(estimate.value),
            event=noise.event,
            guarantee=noise.guarantee,
            seeded=source.seeded,
            interval=None if between is None else interval,
        )


def noise_for(
    measure: "Measure", quantity: str, epsilon: Exact, delta: Exact | None, bounding: ContributionBounds, cells: int = 1
) -> Noise:
    """Return the noise with the smallest spread of a quantity."""
    sensitivity, width = measure.sensitivity(bounding), measure.width
    pure = measure.pure_noise(epsilon, cells, bounding)
    if delta is None:
        return pure
    gaussian = Noise.approximate(epsilon, delta, sensitivity, cells, width, bounding)
    spreads = [measure.spread(quantity, noise, rows=_MANY_ROWS) or 0.0 for noise in (pure, gaussian)]
    return pure if spreads[0] <= spreads[1] else gaussian


def _unwrap(values: NDArray[Any]) -> Any:
    """Return the one cell's number, or its row of numbers."""
    (only,) = np.asarray(values)
    return only if isinstance(only, np.ndarray) else only.item()
