"""The terms on which a statistic of a plain array is released: its price, its neighbours, its randomness.

With a delta, Gaussian noise is considered beside Laplace noise, and whichever will be less far off is taken; neither
choice looks at the data. The exact summary is held here, for as long as it takes to noise it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.exact import Exact
from celosia.core.release import Release
from celosia.noise.source import source_or_system
from celosia.statistics.base.contribution import ContributionBounds
from celosia.statistics.base.noise import Noise

if TYPE_CHECKING:
    from celosia.core.mechanism import Source
    from celosia.statistics.base.measure import Measure

_MANY = 1e15  # rows: at a guess so large no answer's spread is cut off by its bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Epsilon, perhaps delta, the adjacency and the unit they speak of, and where randomness comes from."""

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
        """Return what the noisy summary, of one cell, says of a quantity."""
        source = source_or_system(self.source)
        noise = noise_for(measure, quantity, self.epsilon, self.delta, self.bounding)
        estimate = measure.answer(quantity, noise.release(summary, source), noise)
        between = estimate.interval

        def interval(level: float) -> tuple[Any, Any]:
            assert between is not None  # noqa: S101 - for the type checker: sums have intervals
            low, high = between(level)
            return _alone(low), _alone(high)

        return Release(
            value=_alone(estimate.value),
            event=noise.event,
            guarantee=noise.guarantee,
            seeded=source.seeded,
            interval=None if between is None else interval,
        )


def noise_for(
    measure: "Measure", quantity: str, epsilon: Exact, delta: Exact | None, bounding: ContributionBounds, cells: int = 1
) -> Noise:
    """Return the noise with which a quantity will be least far off."""
    sensitivity, width = measure.sensitivity(bounding), measure.width
    pure = measure.pure_noise(epsilon, cells, bounding)
    if delta is None:
        return pure
    gaussian = Noise.approximate(epsilon, delta, sensitivity, cells, width, bounding)
    spreads = [measure.spread(quantity, noise, rows=_MANY) or 0.0 for noise in (pure, gaussian)]
    return pure if spreads[0] <= spreads[1] else gaussian


def _alone(values: NDArray[Any]) -> Any:
    """Return the one cell's number, or its row of numbers."""
    (only,) = np.asarray(values)
    return only if isinstance(only, np.ndarray) else only.item()
