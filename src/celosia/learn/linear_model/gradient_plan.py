"""The plan of noisy gradient descent: its measurements, their sensitivities, their noise and the event.

The plan is public and fixed before a record is read: one measurement of moments, one of curvature, then equal gradient
steps. Each is a vector of integers whose norm is bounded for every record: the L1 norm for a pure target, which takes
Laplace noise, else the L2 norm, for Gaussian noise. The bounds are proved in ``proofs/noisy-gradient.md``.
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
"""Half the range of a feature, in the integer steps of the moments."""

ROW_UNIT = 2**13
"""The norm of a typical row, in the integer steps of rows. Scaled rows have a norm of about 1."""

MAX_GRADIENT_NORM = 2**24
"""The largest norm of one record's gradient, in integer steps."""

_MAX_CURVATURE_FEATURES = 500  # beyond, the noise of the products outweighs their use
_MAX_STEPS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientPlan:
    """The measurements of one fit: ``features`` columns, ``classes`` labels, ``steps`` gradients."""

    target: Target
    features: int
    classes: int
    steps: int
    intercept: bool = True

    @classmethod
    def of(
        cls, target: Target, *, features: int, classes: int, steps: int | None = None, intercept: bool = True
    ) -> "GradientPlan":
        """Return the plan for a target. By default a pure target takes few steps, because their epsilons add up."""
        if steps is None:
            steps = 50 if target.kind != "pure" else min(max(5, int(target.epsilon)), 50)
        steps = exact_integer(steps, name="steps")
        if steps > _MAX_STEPS:
            raise ParameterError("learn.too_many_steps", most=_MAX_STEPS, value=safe_repr(steps))
        return cls(target=target, features=features, classes=classes, steps=steps, intercept=intercept)

    # ---------------------------------------------------------------------------------------------------- shapes

    @property
    def uses_l1_norm(self) -> bool:
        """Whether records are bounded in the L1 norm (Laplace noise) instead of the L2 norm (Gaussian noise)."""
        return self.target.kind == "pure"

    @property
    def weight(self) -> int:
        """The weight of a record's class and of its mean square in the moments, where a feature has weight 1."""
        return self.features if self.uses_l1_norm else max(1, math.isqrt(self.features) // 2)

    @property
    def max_row_norm(self) -> int:
        """The largest norm of a row without its intercept, in steps: 1.5 times the typical norm."""
        return ROW_UNIT * 3 // 2

    @property
    def intercept_entry(self) -> int:
        """The constant entry of every row for the intercept, in steps."""
        if not self.intercept:
            return 0
        return ROW_UNIT // 5 if self.uses_l1_norm else ROW_UNIT // 2

    @property
    def width(self) -> int:
        """The number of entries of a row."""
        return self.features + int(self.intercept)

    @property
    def pairs(self) -> int:
        """The number of products of two entries of a row, each counted once."""
        return self.width * (self.width + 1) // 2

    @property
    def outputs(self) -> int:
        """The number of weight vectors: one for two classes, else one for each class."""
        return 1 if self.classes == 2 else self.classes

    @property
    def has_curvature(self) -> bool:
        """Whether the products of the columns are measured, from which the curvature of the loss follows."""
        return self.features <= _MAX_CURVATURE_FEATURES

    @property
    def has_calibration(self) -> bool:
        """Whether a slope and an intercept along the learned direction are fitted last: a help under Laplace noise."""
        return self.uses_l1_norm and self.intercept and self.classes == 2

    @property
    def calibrations(self) -> int:
        """The number of steps of the calibration."""
        return 4 if self.has_calibration else 0

    # --------------------------------------------------------------------------------------------- sensitivities

    @property
    def bound(self) -> int:
        """The bound of a row with its intercept: of its L1 norm, or of its squared L2 norm."""
        return (
            self.max_row_norm + self.intercept_entry
            if self.uses_l1_norm
            else self.max_row_norm**2 + self.intercept_entry**2
        )

    @property
    def product_weights(self) -> tuple[int, int]:
        """The factors of squares and of products of two columns, with which the upper triangle has the matrix's bound.

        The symmetric matrix holds each product twice: a factor of 2 in the L1 norm, and of sqrt(2), rounded down to
        7/5, in the L2 norm.
        """
        return (1, 2) if self.uses_l1_norm else (5, 7)

    def moments_sensitivity(self) -> Sensitivity:
        """Return how far one record moves the counts, the sums of the columns and the sum of squares."""
        w, d = self.weight * GRID, self.features  # the letters of the proof: w is w g there
        if self.target.adjacency is AddRemove:
            return Sensitivity(l1=2 * w + d * GRID, l2_squared=2 * w**2 + d * GRID**2)
        return Sensitivity(l1=3 * w + 2 * d * GRID, l2_squared=3 * w**2 + 4 * d * GRID**2)

    def curvature_sensitivity(self) -> Sensitivity:
        """Return how far one record moves the products of columns."""
        records = 1 if self.target.adjacency is AddRemove else 2
        if self.uses_l1_norm:
            return _from_l1_norm(records * self.bound**2)
        squares, _ = self.product_weights
        return _from_l2_norm(records * (squares * self.bound) ** 2, self.pairs)

    def step_sensitivity(self) -> Sensitivity:
        """Return how far one record moves a gradient."""
        norm = MAX_GRADIENT_NORM if self.target.adjacency is AddRemove else 2 * MAX_GRADIENT_NORM
        return _from_l1_norm(norm) if self.uses_l1_norm else _from_l2_norm(norm**2, self.outputs * self.width)

    # ----------------------------------------------------------------------------------------------------- noise

    @property
    def shares(self) -> dict[str, Fraction]:
        """The parts of the target for moments, curvature, all steps, and all of the calibration."""
        moments = Fraction(3, 20) if self.uses_l1_norm else Fraction(1, 10)
        curvature = moments if self.has_curvature else Fraction(0)
        calibration = Fraction(1, 10) if self.has_calibration else Fraction(0)
        steps = 1 - moments - curvature - calibration
        return {"moments": moments, "curvature": curvature, "steps": steps, "calibration": calibration}

    def moments_noise(self) -> Noise:
        """Return the noise of the moments: one number for each class, one for each feature, one for the squares."""
        width = self.classes + self.features + 1
        return self.target.noise(self.moments_sensitivity(), width, self.shares["moments"])

    def curvature_noise(self) -> Noise:
        """Return the noise of the products: each pair of columns once."""
        return self.target.noise(self.curvature_sensitivity(), self.pairs, self.shares["curvature"])

    def step_noise(self) -> Noise:
        """Return the noise of one gradient."""
        share = self.shares["steps"] / self.steps
        return self.target.noise(self.step_sensitivity(), self.outputs * self.width, share)

    def calibration_noise(self) -> Noise:
        """Return the noise of one step of the calibration."""
        return self.target.noise(self.step_sensitivity(), 2, self.shares["calibration"] / self.calibrations)

    def _list_noises(self) -> Iterator[tuple[Noise, int]]:
        yield self.moments_noise(), 1
        if self.has_curvature:
            yield self.curvature_noise(), 1
        yield self.step_noise(), self.steps
        if self.has_calibration:
            yield self.calibration_noise(), self.calibrations

    @property
    def event(self) -> Event:
        """The event of the whole fit."""
        return self.target.event(
            *(
                noise.event if times == 1 else RepeatedEvent(event=noise.event, times=times)
                for noise, times in self._list_noises()
            )
        )

    def check(self) -> None:
        """Raise an error if the noise cannot be drawn, which depends on its scale alone: draw it for zeros."""
        for noise, _ in self._list_noises():
            noise.release(np.zeros((1, noise.width), dtype=np.int64), Seeded(0))


def _from_l1_norm(l1: int) -> Sensitivity:
    """Return the sensitivity that follows from a bound of the L1 norm."""
    return Sensitivity(l1=l1, l2_squared=l1**2)


def _from_l2_norm(l2_squared: int, width: int) -> Sensitivity:
    """Return the sensitivity that follows from a bound of the squared L2 norm, by the Cauchy-Schwarz inequality."""
    return Sensitivity(l1=math.isqrt(width * l2_squared), l2_squared=l2_squared)
