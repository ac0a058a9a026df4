"""What noisy gradient descent will ask of the data, how far one record moves each answer, and what all of it costs.

Everything here is public and decided before a record is read: one question about moments, one about curvature, then
equal steps, each with whole-number answers of a bounded norm. Euclidean norms go with Gaussian noise, sums of
magnitudes with Laplace noise. The bounds are argued in ``proofs/noisy-gradient.md``.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from celosia.core.adjacency import AddRemove
from celosia.core.errors import ParameterError
from celosia.core.events import Event
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.structure import RepeatedEvent
from celosia.noise.source import Seeded
from celosia.statistics.base.noise import Noise, Sensitivity
from celosia.statistics.base.target import Target

GRID = 2**10
"""Steps from the middle of a feature's range to its end, where moments are taken."""

ROW_UNIT = 2**13
"""Steps of a row whose norm is 1, the typical one."""

LARGEST_STEP = 2**24
"""The norm of one record's gradient, in steps."""

_MOST_CURVED = 500  # features beyond which the matrix of products would be more noise than help
_MOST_STEPS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientPlan:
    """The questions of one fit: ``features`` columns, ``classes`` labels, ``steps`` gradients."""

    target: Target
    features: int
    classes: int
    steps: int
    intercept: bool = True

    @classmethod
    def of(
        cls, target: Target, *, features: int, classes: int, steps: int | None = None, intercept: bool = True
    ) -> "GradientPlan":
        """Return the plan for a target; a pure one affords few steps, as its epsilons add up."""
        if steps is None:
            steps = 50 if target.kind != "pure" else min(max(5, int(target.epsilon)), 50)
        steps = exact_integer(steps, name="steps")
        if steps > _MOST_STEPS:
            raise ParameterError("learn.too_many_steps", most=_MOST_STEPS, value=safe_repr(steps))
        return cls(target=target, features=features, classes=classes, steps=steps, intercept=intercept)

    # ---------------------------------------------------------------------------------------------------- shapes

    @property
    def manhattan(self) -> bool:
        """Whether norms are sums of magnitudes: under Laplace noise."""
        return self.target.kind == "pure"

    @property
    def weight(self) -> int:
        """How much a record's class and its square weigh beside its features, in whole ranges."""
        return self.features if self.manhattan else max(1, math.isqrt(self.features) // 2)

    @property
    def reach(self) -> int:
        """The largest norm of a row without its intercept, in steps: one and a half times the typical one."""
        return ROW_UNIT * 3 // 2

    @property
    def ones(self) -> int:
        """The intercept's entry of every row, in steps."""
        if not self.intercept:
            return 0
        return ROW_UNIT // 5 if self.manhattan else ROW_UNIT // 2

    @property
    def width(self) -> int:
        """The entries of a row."""
        return self.features + int(self.intercept)

    @property
    def pairs(self) -> int:
        """The products of two entries of a row, each once."""
        return self.width * (self.width + 1) // 2

    @property
    def outputs(self) -> int:
        """The rows of the weights: one for two classes, else one for each."""
        return 1 if self.classes == 2 else self.classes

    @property
    def has_curvature(self) -> bool:
        """Whether products of the columns are measured."""
        return self.features <= _MOST_CURVED

    @property
    def has_calibration(self) -> bool:
        """Whether a slope and an intercept along the direction found are learned at the end: pays off under Laplace."""
        return self.manhattan and self.intercept and self.classes == 2

    @property
    def calibrations(self) -> int:
        """How many steps that takes."""
        return 4 if self.has_calibration else 0

    # --------------------------------------------------------------------------------------------- sensitivities

    @property
    def bound(self) -> int:
        """The largest norm of a row with its intercept: its square, for Euclidean norms."""
        return self.reach + self.ones if self.manhattan else self.reach**2 + self.ones**2

    @property
    def product_weights(self) -> tuple[int, int]:
        """What squares and products of two columns are multiplied with, so that the bound is that of the whole matrix.

        A product stands twice in the matrix: twice, for sums of magnitudes; 7 to 5 is a little less than the root of 2.
        """
        return (1, 2) if self.manhattan else (5, 7)

    def moments_sensitivity(self) -> Sensitivity:
        """How far one record moves the counts, the columns and the square."""
        w, d = self.weight * GRID, self.features
        if self.target.adjacency is AddRemove:
            return Sensitivity(l1=2 * w + d * GRID, l2_squared=2 * w**2 + d * GRID**2)
        return Sensitivity(l1=3 * w + 2 * d * GRID, l2_squared=3 * w**2 + 4 * d * GRID**2)

    def curvature_sensitivity(self) -> Sensitivity:
        """How far one record moves the products of columns."""
        two = 1 if self.target.adjacency is AddRemove else 2
        if self.manhattan:
            return _manhattan(two * self.bound**2)
        squares, _ = self.product_weights
        return _euclidean(two * (squares * self.bound) ** 2, self.pairs)

    def step_sensitivity(self) -> Sensitivity:
        """How far one record moves a gradient."""
        norm = LARGEST_STEP if self.target.adjacency is AddRemove else 2 * LARGEST_STEP
        return _manhattan(norm) if self.manhattan else _euclidean(norm**2, self.outputs * self.width)

    # ----------------------------------------------------------------------------------------------------- noise

    @property
    def shares(self) -> dict[str, Fraction]:
        """The parts of the target for moments, curvature, all steps, and all of the calibration."""
        moments = Fraction(3, 20) if self.manhattan else Fraction(1, 10)
        curvature = moments if self.has_curvature else Fraction(0)
        calibration = Fraction(1, 10) if self.has_calibration else Fraction(0)
        steps = 1 - moments - curvature - calibration
        return {"moments": moments, "curvature": curvature, "steps": steps, "calibration": calibration}

    def moments_noise(self) -> Noise:
        """The noise of the moments: for each class, for each feature, and for the square."""
        width = self.classes + self.features + 1
        return self.target.noise(self.moments_sensitivity(), width, self.shares["moments"])

    def curvature_noise(self) -> Noise:
        """The noise of the products: each pair of columns once."""
        return self.target.noise(self.curvature_sensitivity(), self.pairs, self.shares["curvature"])

    def step_noise(self) -> Noise:
        """The noise of one gradient."""
        share = self.shares["steps"] / self.steps
        return self.target.noise(self.step_sensitivity(), self.outputs * self.width, share)

    def calibration_noise(self) -> Noise:
        """The noise of one step of the calibration."""
        return self.target.noise(self.step_sensitivity(), 2, self.shares["calibration"] / self.calibrations)

    def _noises(self) -> Iterator[tuple[Noise, int]]:
        yield self.moments_noise(), 1
        if self.has_curvature:
            yield self.curvature_noise(), 1
        yield self.step_noise(), self.steps
        if self.has_calibration:
            yield self.calibration_noise(), self.calibrations

    @property
    def event(self) -> Event:
        """All that is run, as one event."""
        return self.target.event(
            *(
                noise.event if times == 1 else RepeatedEvent(event=noise.event, times=times)
                for noise, times in self._noises()
            )
        )

    def check(self) -> None:
        """Raise if the noise cannot be drawn; that follows from its scale, so zeros are tried."""
        for noise, _ in self._noises():
            noise.release(np.zeros((1, noise.width), dtype=np.int64), Seeded(0))


def _manhattan(l1: int) -> Sensitivity:
    """A sum of magnitudes that is bounded, and what follows for the squares."""
    return Sensitivity(l1=l1, l2_squared=l1**2)


def _euclidean(l2_squared: int, width: int) -> Sensitivity:
    """A sum of squares that is bounded, and what follows for the magnitudes of the numbers (Cauchy and Schwarz)."""
    return Sensitivity(l1=math.isqrt(width * l2_squared), l2_squared=l2_squared)
