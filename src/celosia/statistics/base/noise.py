"""Contribution bounds of one privacy unit, the sensitivity of a summary that follows, and the noise for it.

Summaries are sums over rows of integer features, cells by coordinates. A row's features lie in a *region* around 0,
which stands for an absent row; a unit's part of one cell lies in that region times the rows it may have there, also
when its rows were averaged down. From how far the region reaches, and how far it is across, follows what adding,
removing or replacing a unit can do. Everything is an integer number of steps. The proof is in ``proofs/moments.md``.

``Noise`` wraps the Laplace, the Gaussian or the K-norm mechanism: one distribution for every cell and coordinate. It
gives the event, and the error bounds of sums of noisy coordinates, from which confidence intervals are made. K-norm
noise is drawn for all coordinates of a cell together.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import Exact, exact_adjacency, exact_integer, exact_level, exact_positive, exact_text, safe_repr
from celosia.mechanisms.gaussian import Gaussian
from celosia.mechanisms.k_norm import KNorm
from celosia.mechanisms.laplace import Laplace
from celosia.statistics.base.tails import cube_margin, laplace_margin, laplace_scale, normal_deviation, normal_margin

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.events import GaussianEvent, KNormEvent, LaplaceEvent
    from celosia.core.guarantees import Guarantee
    from celosia.core.mechanism import Source

_MAX_SUM = 2**62 - 1
_MAX_STEPS_PER_UNIT = 2**51  # averages of a unit's rows are exact in doubles up to here


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionBounds:
    """Bounds on one unit's contribution: ``rows`` rows in each of ``groups`` out of ``cells`` cells.

    The cells are those of a GROUP BY; without one there is one. Whether there is more than one decides whether a
    replaced unit can leave a cell and enter another.

    >>> ContributionBounds(groups=2, rows=3, cells=32, unit="person")
    ContributionBounds(groups=2, rows=3, adjacency=AddRemove, unit='person', cells=32)
    """

    groups: int = 1
    rows: int = 1
    adjacency: Adjacency = AddRemove
    unit: str = "row"
    cells: int = 1

    def __post_init__(self) -> None:
        for name in ("groups", "rows", "cells"):
            object.__setattr__(self, name, exact_integer(getattr(self, name), name=name))
        object.__setattr__(self, "adjacency", exact_adjacency(self.adjacency))
        object.__setattr__(self, "unit", exact_text(self.unit, name="unit"))
        if self.groups > self.cells:
            raise ParameterError("statistics.more_groups_than_cells", cells=self.cells, groups=safe_repr(self.groups))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The largest distance of neighbours' summaries, over all cells and coordinates, in steps.

    ``l2_squared`` is the square of the Euclidean distance, which is an integer.

    >>> Sensitivity(l1=2, l2_squared=2)
    Sensitivity(l1=2, l2_squared=2)
    """

    l1: int
    l2_squared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSensitivity:
    """Distances of one row's features: from 0 (an absent row), and from another row's or 0.

    >>> age = RowSensitivity(l1=120, l2_squared=120**2, replace_l1=240, replace_l2_squared=2 * 120**2)
    >>> age.sensitivity(ContributionBounds())
    Sensitivity(l1=120, l2_squared=14400)
    """

    l1: int
    l2_squared: int
    replace_l1: int
    replace_l2_squared: int

    def sensitivity(self, bounding: ContributionBounds) -> Sensitivity:
        """Return the sensitivity to one unit under the adjacency of the bounds.

        An added or removed unit changes ``groups`` cells by up to ``rows`` rows. A replaced one changes cells that it
        keeps by the width of the row_sensitivity, and may instead leave ``groups`` cells and enter as many others.

        >>> from celosia.core import ReplaceOne
        >>> RowSensitivity(l1=1, l2_squared=1, replace_l1=1, replace_l2_squared=1).sensitivity(
        ...     ContributionBounds(groups=2, rows=3, cells=32, adjacency=ReplaceOne)
        ... )
        Sensitivity(l1=12, l2_squared=36)
        """
        if self.l1 * bounding.rows > _MAX_STEPS_PER_UNIT:
            raise ParameterError("statistics.contribution_too_large", rows=safe_repr(bounding.rows))
        l1, l2_squared = self.l1, self.l2_squared
        if bounding.adjacency is not AddRemove:
            l1, l2_squared = self.replace_l1, self.replace_l2_squared
            if bounding.cells > 1:
                l1, l2_squared = max(l1, 2 * self.l1), max(l2_squared, 2 * self.l2_squared)
        return Sensitivity(
            l1=bounding.groups * bounding.rows * l1, l2_squared=bounding.groups * bounding.rows**2 * l2_squared
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Laplace, Gaussian or K-norm noise for a summary of ``cells`` times ``width`` integers.

    With another number of cells (``dataclasses.replace``) every coordinate still gets the same noise.

    >>> noise = Noise.laplace(1, Sensitivity(l1=120, l2_squared=14400), 32, 2, ContributionBounds(cells=32))
    >>> noise.event
    LaplaceEvent(scale=120, sensitivity=120, dimension=64)
    """

    mechanism: Laplace | Gaussian | KNorm
    cells: int
    width: int

    def __post_init__(self) -> None:
        size = self.cells * self.width
        if isinstance(self.mechanism, KNorm):
            if self.cells not in (0, self.mechanism.blocks):
                object.__setattr__(self, "mechanism", replace(self.mechanism, blocks=self.cells))
        elif size not in (0, self.mechanism.dimension):  # fewer cells are shown than were planned for
            object.__setattr__(self, "mechanism", _resize(self.mechanism, size))

    @classmethod
    def laplace(
        cls, epsilon: Exact, sensitivity: Sensitivity, cells: int, width: int, bounding: ContributionBounds
    ) -> "Noise":
        """Return Laplace noise that makes the whole summary epsilon-private.

        >>> Noise.laplace("0.5", Sensitivity(l1=1, l2_squared=1), 1, 1, ContributionBounds()).guarantee
        PureDP(epsilon=0.5)
        """
        mechanism = Laplace(
            epsilon=epsilon,
            sensitivity=sensitivity.l1,
            dimension=_check_size(cells, width),
            adjacency=bounding.adjacency,
            unit=bounding.unit,
        )
        return cls(mechanism=mechanism, cells=cells, width=width)

    @classmethod
    def k_norm(cls, epsilon: Exact, sensitivity: int, cells: int, width: int, bounding: ContributionBounds) -> "Noise":
        """Return noise that makes the summary epsilon-private if the largest changes of all cells add up to that much.

        >>> Noise.k_norm("0.5", 1000, 2, 3, ContributionBounds(cells=2)).event
        KNormEvent(scale=2000, sensitivity=1000, width=3, blocks=2)
        """
        mechanism = KNorm(
            epsilon=epsilon,
            sensitivity=sensitivity,
            width=width,
            blocks=cells,
            adjacency=bounding.adjacency,
            unit=bounding.unit,
        )
        return cls(mechanism=mechanism, cells=cells, width=width)

    @classmethod
    def gaussian(
        cls, rho: Exact, sensitivity: Sensitivity, cells: int, width: int, bounding: ContributionBounds
    ) -> "Noise":
        """Return Gaussian noise that makes the whole summary rho-zCDP.

        >>> Noise.gaussian("0.5", Sensitivity(l1=1, l2_squared=1), 2, 1, ContributionBounds(cells=2)).event
        GaussianEvent(variance=1, sensitivity_squared=1, dimension=2)
        """
        return cls._make_gaussian(cells, width, bounding, rho=rho, sensitivity_squared=sensitivity.l2_squared)

    @classmethod
    def approximate(
        cls,
        epsilon: Exact,
        delta: Exact,
        sensitivity: Sensitivity,
        cells: int,
        width: int,
        bounding: ContributionBounds,
    ) -> "Noise":
        """Return Gaussian noise that makes the whole summary (epsilon, delta)-private.

        >>> Noise.approximate(1, "1e-6", Sensitivity(l1=1, l2_squared=1), 1, 1, ContributionBounds()).guarantee
        ApproxDP(epsilon=1, delta='1e-06')
        """
        target = {"epsilon": epsilon, "delta": delta}
        return cls._make_gaussian(cells, width, bounding, **target, sensitivity_squared=sensitivity.l2_squared)

    @classmethod
    def _make_gaussian(cls, cells: int, width: int, bounding: ContributionBounds, **parameters: Any) -> "Noise":
        mechanism = Gaussian(
            **parameters, dimension=_check_size(cells, width), adjacency=bounding.adjacency, unit=bounding.unit
        )
        return cls(mechanism=mechanism, cells=cells, width=width)

    @property
    def kind(self) -> Literal["Laplace", "Gaussian", "K-norm"]:
        """The name of the mechanism.

        >>> Noise.laplace(1, Sensitivity(l1=1, l2_squared=1), 1, 1, ContributionBounds()).kind
        'Laplace'
        """
        if isinstance(self.mechanism, KNorm):
            return "K-norm"
        return "Laplace" if isinstance(self.mechanism, Laplace) else "Gaussian"

    @property
    def event(self) -> "LaplaceEvent | GaussianEvent | KNormEvent":
        """The event, known before any data are read.

        >>> Noise.laplace(1, Sensitivity(l1=1, l2_squared=1), 1, 1, ContributionBounds()).event
        LaplaceEvent(scale=1, sensitivity=1)
        """
        return self.mechanism.event

    @property
    def guarantee(self) -> "Guarantee":
        """The guarantee of the whole noisy summary.

        >>> Noise.gaussian(1, Sensitivity(l1=1, l2_squared=1), 1, 1, ContributionBounds()).guarantee
        ZCDP(rho=1)
        """
        return self.mechanism.guarantee

    @property
    def variance(self) -> float:
        """The variance of one coordinate's noise, in squared steps.

        >>> round(Noise.laplace(1, Sensitivity(l1=10, l2_squared=100), 1, 1, ContributionBounds()).variance, 2)
        199.83
        """
        if isinstance(self.mechanism, Gaussian):
            return float(self.mechanism.event.variance)  # a little above the true one
        if isinstance(self.mechanism, KNorm):  # of wide noise
            return (self.width + 1) * (self.width + 2) / 3 * float(self.mechanism.event.scale) ** 2
        return 0.5 / _sinh(0.5 / float(self.mechanism.event.scale)) ** 2

    def widen(self, spread: Exact) -> "Noise":
        """Return noise with so many times the variance, to interpret a sum of independent draws; it prices nothing.

        >>> noise = Noise.gaussian("0.5", Sensitivity(l1=1, l2_squared=1), 1, 1, ContributionBounds())
        >>> noise.widen(7).variance
        7.0
        """
        times = exact_positive(spread, name="spread")
        if isinstance(self.mechanism, Gaussian):
            return replace(self, mechanism=_remake(self.mechanism, variance=times * self.mechanism.event.variance))
        share = self.mechanism.epsilon / Fraction(math.sqrt(times))
        return replace(self, mechanism=replace(self.mechanism, epsilon=share))

    def release(self, summary: "NDArray[Any]", source: "Source | None" = None) -> "NDArray[np.int64]":
        """Return a summary with fresh noise in every cell and coordinate.

        >>> from celosia.noise import Seeded
        >>> noise = Noise.laplace(1, Sensitivity(l1=1, l2_squared=1), 2, 1, ContributionBounds(cells=2))
        >>> noise.release(np.array([[108], [51]]), Seeded(7)).tolist()
        [[112], [51]]
        """
        if summary.shape != (self.cells, self.width):
            raise InputError("statistics.wrong_summary_shape", cells=self.cells, width=self.width)
        if summary.dtype == object:  # Python's integers, where 64 bits could be too few
            summary = np.minimum(np.maximum(summary, -_MAX_SUM), _MAX_SUM).astype(np.int64)
        if summary.dtype.kind not in "iu":
            raise InputError("statistics.summary_not_integers", dtype=summary.dtype)
        noisy: NDArray[np.int64] = self.mechanism.release(summary, source=source).value
        return noisy

    def margin(self, level: Exact = 0.95) -> int:
        """Return a bound on the error of one coordinate, in steps, with probability ``level`` or more.

        >>> Noise.laplace(1, Sensitivity(l1=1, l2_squared=1), 1, 1, ContributionBounds()).margin(0.95)
        3
        """
        if isinstance(self.mechanism, KNorm):
            return math.floor(self.margin_of(np.ones(1), level))
        return int(self.mechanism.error(level))

    def margin_of(self, weights: "ArrayLike", level: Exact = 0.95) -> "NDArray[np.float64]":
        """Return a bound on the error of weighted sums of a cell's coordinates, with probability ``level`` or more.

        The last axis of ``weights`` runs over coordinates. Larger weights never give a smaller margin than the truth
        for smaller ones: for weights known up to a range, take the largest magnitudes.

        >>> noise = Noise.laplace(1, Sensitivity(l1=100, l2_squared=10000), 1, 2, ContributionBounds())
        >>> noise.margin_of([[1, 0], [0.5, 0.5]]).round().tolist()
        [300.0, 206.0]
        """
        failure = 1 - exact_level(level)
        sizes = np.abs(np.atleast_1d(np.asarray(weights, dtype=np.float64)))
        total = sizes.sum(axis=-1)
        if isinstance(self.mechanism, KNorm):
            # The half-width of the cube is below its Gamma law and the dimension; a step more is that of the points.
            scale, slack = float(self.mechanism.event.scale), self.width + 1
            wide: NDArray[np.float64] = scale * cube_margin(sizes, self.width, failure) + slack * total
            return wide
        # Each coordinate at its share of the failure: exact if only one counts, and good if most draws are 0.
        counted = np.count_nonzero(sizes, axis=-1)
        single = np.array([0.0] + [self.margin(1 - failure / count) for count in range(1, sizes.shape[-1] + 1)])
        if isinstance(self.mechanism, Gaussian):
            spread = normal_deviation(float(self.mechanism.event.variance)) * normal_margin(sizes, failure)
        else:
            spread = laplace_scale(float(self.mechanism.event.scale)) * laplace_margin(sizes, failure)
        margins: NDArray[np.float64] = np.minimum(spread + total / 2, single[counted] * total)
        return margins


def _resize(mechanism: Laplace | Gaussian, size: int) -> Laplace | Gaussian:
    """Return a mechanism that adds the same noise to another number of coordinates."""
    if isinstance(mechanism, Laplace):
        return replace(mechanism, dimension=size)
    return _remake(mechanism, dimension=size)


def _remake(mechanism: Gaussian, *, variance: Fraction | None = None, dimension: int | None = None) -> Gaussian:
    """Return the Gaussian mechanism with another variance or number of coordinates."""
    event = mechanism.event
    return Gaussian(
        rho=event.sensitivity_squared / (2 * (variance or event.variance)),
        sensitivity_squared=event.sensitivity_squared,
        dimension=dimension or event.dimension,
        adjacency=event.adjacency,
        unit=event.unit,
    )


def _check_size(cells: int, width: int) -> int:
    return exact_integer(cells, name="cells") * exact_integer(width, name="width")


def _sinh(x: float) -> float:
    return math.sinh(min(x, 300.0))  # beyond, the variance is nothing
