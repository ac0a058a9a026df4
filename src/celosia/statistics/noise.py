"""The noise of a summary: one draw of the same distribution for every cell and coordinate.

A summary is an array of whole numbers, cells by coordinates, whose neighbours differ by at most a stated number of
steps over the whole array. Noise wraps the Laplace or the Gaussian mechanism for it, says what was run, and tells how
far sums of noisy coordinates can be off: that is what confidence intervals are made of.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from celosia.core.errors import InputError
from celosia.core.exact import Exact, exact_level, whole
from celosia.mechanisms.gaussian import Gaussian
from celosia.mechanisms.laplace import Laplace
from celosia.statistics.contribution import Bounding, Sensitivity
from celosia.statistics.tails import laplace_margin, laplace_scale, normal_deviation, normal_margin

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.events import GaussianEvent, LaplaceEvent
    from celosia.core.guarantees import Guarantee
    from celosia.core.mechanism import Source

__all__ = ["Noise"]

_MOST = 2**62 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Laplace or Gaussian noise for a summary of ``cells`` times ``width`` whole numbers.

    With another number of cells (``dataclasses.replace``) every coordinate still gets the same noise.

    >>> noise = Noise.laplace(1, Sensitivity(l1=120, l2_squared=14400), 32, 2, Bounding(cells=32))
    >>> noise.event
    LaplaceEvent(scale=120, sensitivity=120, dimension=64)
    """

    mechanism: Laplace | Gaussian
    cells: int
    width: int

    def __post_init__(self) -> None:
        size = self.cells * self.width
        if size not in (0, self.mechanism.dimension):  # fewer cells are shown than were planned for
            object.__setattr__(self, "mechanism", _resized(self.mechanism, size))

    @classmethod
    def laplace(cls, epsilon: Exact, sensitivity: Sensitivity, cells: int, width: int, bounding: Bounding) -> "Noise":
        """Return Laplace noise that makes the whole summary epsilon-private.

        >>> Noise.laplace("0.5", Sensitivity(l1=1, l2_squared=1), 1, 1, Bounding()).guarantee
        PureDP(epsilon=0.5)
        """
        mechanism = Laplace(
            epsilon=epsilon,
            sensitivity=sensitivity.l1,
            dimension=_size(cells, width),
            adjacency=bounding.adjacency,
            unit=bounding.unit,
        )
        return cls(mechanism=mechanism, cells=cells, width=width)

    @classmethod
    def gaussian(cls, rho: Exact, sensitivity: Sensitivity, cells: int, width: int, bounding: Bounding) -> "Noise":
        """Return Gaussian noise that makes the whole summary rho-zCDP.

        >>> Noise.gaussian("0.5", Sensitivity(l1=1, l2_squared=1), 2, 1, Bounding(cells=2)).event
        GaussianEvent(variance=1, sensitivity_squared=1, dimension=2)
        """
        mechanism = Gaussian(
            rho=rho,
            sensitivity_squared=sensitivity.l2_squared,
            dimension=_size(cells, width),
            adjacency=bounding.adjacency,
            unit=bounding.unit,
        )
        return cls(mechanism=mechanism, cells=cells, width=width)

    @classmethod
    def approximate(
        cls, epsilon: Exact, delta: Exact, sensitivity: Sensitivity, cells: int, width: int, bounding: Bounding
    ) -> "Noise":
        """Return Gaussian noise that makes the whole summary (epsilon, delta)-private.

        >>> Noise.approximate(1, "1e-6", Sensitivity(l1=1, l2_squared=1), 1, 1, Bounding()).guarantee
        ApproxDP(epsilon=1, delta='1e-06')
        """
        mechanism = Gaussian(
            epsilon=epsilon,
            delta=delta,
            sensitivity_squared=sensitivity.l2_squared,
            dimension=_size(cells, width),
            adjacency=bounding.adjacency,
            unit=bounding.unit,
        )
        return cls(mechanism=mechanism, cells=cells, width=width)

    @property
    def kind(self) -> Literal["Laplace", "Gaussian"]:
        """The name of the mechanism.

        >>> Noise.laplace(1, Sensitivity(l1=1, l2_squared=1), 1, 1, Bounding()).kind
        'Laplace'
        """
        return "Laplace" if isinstance(self.mechanism, Laplace) else "Gaussian"

    @property
    def event(self) -> "LaplaceEvent | GaussianEvent":
        """What is run, known before anything is read.

        >>> Noise.laplace(1, Sensitivity(l1=1, l2_squared=1), 1, 1, Bounding()).event
        LaplaceEvent(scale=1, sensitivity=1)
        """
        return self.mechanism.event

    @property
    def guarantee(self) -> "Guarantee":
        """What the whole noisy summary promises.

        >>> Noise.gaussian(1, Sensitivity(l1=1, l2_squared=1), 1, 1, Bounding()).guarantee
        ZCDP(rho=1)
        """
        return self.mechanism.guarantee

    @property
    def variance(self) -> float:
        """The variance of one coordinate's noise, in squared steps.

        >>> round(Noise.laplace(1, Sensitivity(l1=10, l2_squared=100), 1, 1, Bounding()).variance, 2)
        199.83
        """
        if isinstance(self.mechanism, Gaussian):
            return float(self.mechanism.event.variance)  # a little above the true one
        return 0.5 / _sinh(0.5 / float(self.mechanism.event.scale)) ** 2

    def release(self, summary: "NDArray[Any]", source: "Source | None" = None) -> "NDArray[np.int64]":
        """Return a summary with fresh noise in every cell and coordinate.

        >>> from celosia.noise import Seeded
        >>> noise = Noise.laplace(1, Sensitivity(l1=1, l2_squared=1), 2, 1, Bounding(cells=2))
        >>> noise.release(np.array([[108], [51]]), Seeded(7)).tolist()
        [[112], [51]]
        """
        if summary.shape != (self.cells, self.width):
            message = f"The summary must have {self.cells} cells of {self.width} coordinates."
            raise InputError(message)
        if summary.dtype == object:  # Python's integers, where 64 bits could be too few
            summary = np.minimum(np.maximum(summary, -_MOST), _MOST).astype(np.int64)
        if summary.dtype.kind not in "iu":
            message = f"The summary must hold whole numbers, not {summary.dtype}."
            raise InputError(message)
        noisy: NDArray[np.int64] = self.mechanism.release(summary, source=source).value
        return noisy

    def margin(self, level: Exact = 0.95) -> int:
        """Return how far off one coordinate is at most, in steps, with probability ``level`` or more.

        >>> Noise.laplace(1, Sensitivity(l1=1, l2_squared=1), 1, 1, Bounding()).margin(0.95)
        3
        """
        return int(self.mechanism.error(level))

    def margin_of(self, weights: "ArrayLike", level: Exact = 0.95) -> "NDArray[np.float64]":
        """Return how far off weighted sums of a cell's coordinates are at most, with probability ``level`` or more.

        The last axis of ``weights`` runs over coordinates. Larger weights never give a smaller margin than the truth
        for smaller ones: where weights are known up to a range, the largest magnitudes will do.

        >>> noise = Noise.laplace(1, Sensitivity(l1=100, l2_squared=10000), 1, 2, Bounding())
        >>> noise.margin_of([[1, 0], [0.5, 0.5]]).round().tolist()
        [300.0, 206.0]
        """
        failure = 1 - exact_level(level)
        sizes = np.abs(np.atleast_1d(np.asarray(weights, dtype=np.float64)))
        total = sizes.sum(axis=-1)
        # Each coordinate at its share of the failure: exact if only one counts, and good if most draws are 0.
        counted = np.count_nonzero(sizes, axis=-1)
        single = np.array([0.0] + [self.margin(1 - failure / count) for count in range(1, sizes.shape[-1] + 1)])
        if isinstance(self.mechanism, Gaussian):
            spread = normal_deviation(float(self.mechanism.event.variance)) * normal_margin(sizes, failure)
        else:
            spread = laplace_scale(float(self.mechanism.event.scale)) * laplace_margin(sizes, failure)
        margins: NDArray[np.float64] = np.minimum(spread + total / 2, single[counted] * total)
        return margins


def _resized(mechanism: Laplace | Gaussian, size: int) -> Laplace | Gaussian:
    """Return a mechanism that adds the very same noise to another number of coordinates."""
    if isinstance(mechanism, Laplace):
        return replace(mechanism, dimension=size)
    event = mechanism.event
    return Gaussian(
        rho=event.sensitivity_squared / (2 * event.variance),
        sensitivity_squared=event.sensitivity_squared,
        dimension=size,
        adjacency=event.adjacency,
        unit=event.unit,
    )


def _size(cells: int, width: int) -> int:
    return whole(cells, name="cells") * whole(width, name="width")


def _sinh(x: float) -> float:
    return math.sinh(min(x, 300.0))  # beyond, the variance is nothing
