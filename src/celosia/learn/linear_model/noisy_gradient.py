"""Logistic regression by full-batch gradient descent on noisy integer gradients.

First the noisy moments of the features centre and scale them, then their noisy products tell how the loss curves, then
every step adds noise to a gradient of which each record's part has a bounded norm: the gradient of a record is its
residual times its features, so that norms are known without computing gradients one by one (Song, Chaudhuri and
Sarwate 2013; Abadi and others 2016). Everything but the sums is worked out from noisy numbers: how far to shrink,
where to cut, how long the steps are (a fixed upper bound of the curvature, Böhning 1992, raised by its noise), and the
mean of the later weights. Sums of integers have no rounding, and the bounds are checked on integers: see
``proofs/noisy-gradient.md``.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from celosia.core.mechanism import Source
from celosia.learn.linear_model.gradient_kernels import (
    add_gradient,
    add_moments,
    add_softmax_gradient,
    write_rows,
    write_scores,
)
from celosia.learn.linear_model.gradient_plan import GRID, MAX_GRADIENT_NORM, ROW_UNIT, GradientPlan
from celosia.statistics.base.noise import Noise

_BLOCK = 2**14
_MIN_ROWS = 20.0  # rows below which a noisy count is not believed
_SPREAD = 0.06  # the variance that a feature from -1 to 1 is taken to have while the noise hides it
_LOOSE = 0.5  # how far, squared, centres are taken to lie from the middle of the bounds
_CUT = 0.5  # of a typical row: a gradient's largest norm; larger where there are many records
_RIDGE = 0.3  # penalty for each standard deviation of the noise of the mean gradient
_RAISED = (0.5, 0.35)  # times the noise of a square and the root of the width: Gaussian, Laplace (products have less)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaling:
    """The public bounds: middles and half ranges of the features. Without an intercept the middle is 0."""

    table: NDArray[np.float64]

    @classmethod
    def of(cls, low: NDArray[np.float64], high: NDArray[np.float64], *, intercept: bool) -> "Scaling":
        """Return the scaling to [-1, 1] between bounds."""
        if not intercept:
            return cls(table=np.stack([np.zeros_like(low), np.maximum(np.abs(low), np.abs(high))]))
        return cls(table=np.stack([low / 2 + high / 2, high / 2 - low / 2]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """What noisy moments tell: how many records, the shares of the classes, where features lie and how far they reach.

    Centres are shrunk to the middle of the bounds, and the typical norm to a guess, according to the noise.
    """

    count: float
    shares: NDArray[np.float64]
    centre: NDArray[np.float64]
    norm: float

    @classmethod
    def read(cls, noisy: NDArray[np.int64], plan: GradientPlan, noise: Noise, records: int | None) -> "Moments":
        """Read noisy sums; ``records`` is their number where it is public."""
        width = plan.features
        counts = np.maximum(noisy[: plan.classes] / (plan.weight * GRID), 0.0)
        count = max(float(counts.sum()) if records is None else float(records), _MIN_ROWS)
        shares = np.clip(counts / count, 0.05, 0.95)
        error = math.sqrt(noise.variance) / GRID / count
        centre = np.clip(noisy[plan.classes : -1] / GRID / count, -1, 1) * _LOOSE / (_LOOSE + error**2)
        if not plan.intercept:
            centre = np.zeros(width)
        away = float(np.linalg.norm(centre))
        square = float(noisy[-1]) * width / (plan.weight * GRID * count) - away**2
        certainty, guess = (error * width / plan.weight + 2 * away * error) ** -2, _SPREAD * width
        square = (min(max(square, 0.0), width) * certainty + 1 / guess) / (certainty + guess**-2)
        norm = math.sqrt(max(square, width / 100))
        if plan.uses_l1_norm:
            norm *= 0.85 * math.sqrt(width)  # between normal (0.80) and uniform (0.87) features
        return cls(count=count, shares=shares / shares.sum(), centre=centre, norm=norm)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Records as integers of a bounded norm, their classes, and the sizes of their norms."""

    steps: NDArray[np.int16]
    sizes: NDArray[np.int64]
    codes: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        values: NDArray[np.float64],
        codes: NDArray[np.int64],
        plan: GradientPlan,
        scaling: Scaling,
        moments: Moments,
    ) -> "Rows":
        """Centre, scale, cut and round records."""
        steps = np.empty((len(values), plan.width), dtype=np.int16)
        sizes = np.empty(len(values), dtype=np.int64)
        table, unit = np.vstack([scaling.table, moments.centre]), ROW_UNIT / moments.norm
        for block in _blocks(len(values)):
            part = np.require(values[block], requirements=["C", "W"])
            write_rows(
                part,
                table,
                unit,
                plan.max_row_norm,
                plan.intercept_entry,
                plan.uses_l1_norm,
                steps[block],
                sizes[block],
            )
        return cls(steps=steps, sizes=sizes, codes=codes)

    def scores(self, weights: NDArray[np.float64], unit: float) -> "Rows":
        """Return rows of two: the score along a direction in ``unit``, up to 2 of them, and an intercept."""
        steps = np.empty((len(self.steps), 2), dtype=np.int16)
        sizes = np.empty(len(steps), dtype=np.int64)
        write_scores(self.steps, weights / unit, 2 * ROW_UNIT, ROW_UNIT, steps, sizes)
        return Rows(steps=steps, sizes=sizes, codes=self.codes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """Noisy weights of features in the caller's units, a row for each output, their intercepts, and the noise's size.

    ``noise_scale`` is the standard deviation of the noise of one gradient, in parts of a record's largest gradient.
    """

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    noise_scale: float


def moments_sum(
    values: NDArray[np.float64], codes: NDArray[np.int64], plan: GradientPlan, scaling: Scaling
) -> NDArray[np.int64]:
    """Return the exact moments: classes, columns and the square, in steps."""
    sums = np.zeros(plan.classes + plan.features + 1, dtype=np.int64)
    for block in _blocks(len(values)):
        part = np.require(values[block], requirements=["C", "W"])
        add_moments(part, codes[block], scaling.table, GRID, plan.weight, plan.classes, sums)
    return sums


def product_sum(rows: Rows, plan: GradientPlan) -> NDArray[np.int64]:
    """Return the exact products of columns, each pair once and weighted: integers, in doubles without rounding."""
    matrix = np.zeros((plan.width, plan.width), dtype=np.int64)
    for block in _blocks(len(rows.steps)):
        part = rows.steps[block].astype(np.float64)
        matrix += (part.T @ part).astype(np.int64)  # sums below 2^14 * 2^28: exact in any order
    first, second = np.triu_indices(plan.width)
    squares, others = plan.product_weights
    weighted: NDArray[np.int64] = matrix[first, second] * np.where(first == second, squares, others)
    return weighted


def gradient_sum(rows: Rows, weights: NDArray[np.float64], cut: float, *, uses_l1_norm: bool) -> NDArray[np.int64]:
    """Return the exact gradient at weights of steps: each record's part has a norm of at most ``MAX_GRADIENT_NORM``.

    That norm stands for a gradient of ``cut`` times ``ROW_UNIT``.
    """
    gradient = np.zeros(weights.shape, dtype=np.int64)
    unit, sizes = MAX_GRADIENT_NORM / (cut * ROW_UNIT), np.maximum(rows.sizes, 1)
    limits = MAX_GRADIENT_NORM // sizes if uses_l1_norm else MAX_GRADIENT_NORM**2 // sizes
    if len(weights) == 1:
        if not uses_l1_norm:
            limits = np.sqrt(limits).astype(np.int64)  # at most 2^48: the root of a double is exact enough to floor
        add_gradient(rows.steps, limits, rows.codes, weights, unit, gradient)
    else:
        add_softmax_gradient(rows.steps, limits, rows.codes, weights, unit, uses_l1_norm, gradient)
    return gradient


def descend(
    values: NDArray[np.float64],
    codes: NDArray[np.int64],
    plan: GradientPlan,
    scaling: Scaling,
    source: Source,
    *,
    records: int | None = None,
    penalty: float = 0.0,
) -> Weights:
    """Ask all that is planned, and return the weights; ``records`` is their number where it is public.

    ``penalty`` is half of what the squared weights cost, for features from -1 to 1, beside that for the noise.
    """
    noise = plan.moments_noise()
    noisy = noise.release(moments_sum(values, codes, plan, scaling)[None], source)[0]
    moments = Moments.read(noisy, plan, noise, records)
    rows = Rows.of(values, codes, plan, scaling, moments)
    cut = _cut(plan, moments.count)
    weights, scale = _steps(rows, plan, moments, cut, penalty, source)
    if plan.has_calibration:
        weights = _calibrate(rows, weights, plan, moments, source)
    coef = weights[:, : plan.features] / (moments.norm * scaling.table[1])
    intercept = np.zeros(plan.outputs)
    if plan.intercept:
        intercept = weights[:, -1] * (plan.intercept_entry / ROW_UNIT) - coef @ (
            scaling.table[0] + moments.centre * scaling.table[1]
        )
    return Weights(coef=coef, intercept=intercept, noise_scale=scale)


def _cut(plan: GradientPlan, records: float) -> float:
    """Where a record's gradient is cut: the more there is to hear above the noise, the farther out."""
    target = plan.target
    if plan.uses_l1_norm:
        heard = records * float(target.epsilon) / plan.width
        most = plan.bound / ROW_UNIT
    else:
        heard = records * math.sqrt(2 * float(target.total_rho) / plan.width)
        most = math.sqrt(plan.bound) / ROW_UNIT
    return min(_CUT * math.sqrt(max(1.0, heard / 100)), most)


def _steps(
    rows: Rows, plan: GradientPlan, moments: Moments, cut: float, penalty: float, source: Source
) -> tuple[NDArray[np.float64], float]:
    noise = plan.step_noise()
    scale = math.sqrt(noise.variance) / MAX_GRADIENT_NORM
    ridges = np.full(plan.width, _ridge(plan, cut) + penalty / moments.norm**2)
    weights = np.zeros((plan.outputs, plan.width))
    if plan.intercept:
        ridges[-1] = 0.0
        start = np.log(moments.shares) / 2  # half way to what classes alone would tell: their shares are noisy
        weights[:, -1] = (start[1] - start[0] if plan.outputs == 1 else start) / (plan.intercept_entry / ROW_UNIT)
    curved = _curvature(rows, plan, moments, source) / (4 if plan.outputs == 1 else 2)
    inverse = np.linalg.inv(curved + np.diag(ridges))
    total, kept = np.zeros_like(weights), 0
    for step in range(plan.steps):
        exact = gradient_sum(rows, weights / ROW_UNIT, cut, uses_l1_norm=plan.uses_l1_norm)
        noisy = noise.release(exact.reshape(1, -1), source).reshape(weights.shape)
        weights = weights - (noisy * (cut / MAX_GRADIENT_NORM) + ridges * weights) @ inverse
        if 2 * step >= plan.steps or step == plan.steps - 1:
            total, kept = total + weights, kept + 1
    return total / kept, scale


def _ridge(plan: GradientPlan, cut: float) -> float:
    """The penalty for the noise of the mean gradient."""
    noise = math.sqrt(plan.step_noise().variance / plan.steps) * cut / MAX_GRADIENT_NORM
    return _RIDGE * noise / (math.sqrt(plan.width) if plan.uses_l1_norm else 1.0)


def _curvature(rows: Rows, plan: GradientPlan, moments: Moments, source: Source) -> NDArray[np.float64]:
    """Return the noisy products of columns, raised by their noise: four times what the loss curves at most."""
    typical = moments.count * (2 / plan.features**2 if plan.uses_l1_norm else 1 / 3)
    guess = np.full(plan.width, typical)
    if plan.intercept:
        guess[-1] = moments.count * (plan.intercept_entry / ROW_UNIT) ** 2
    if not plan.has_curvature:
        return np.diag(guess)
    noise = plan.curvature_noise()
    noisy = noise.release(product_sum(rows, plan)[None], source)[0]
    first, second = np.triu_indices(plan.width)
    squares, others = plan.product_weights
    matrix = np.zeros((plan.width, plan.width))
    matrix[first, second] = noisy / np.where(first == second, squares, others) / ROW_UNIT**2
    matrix += np.triu(matrix, 1).T
    values, vectors = np.linalg.eigh(matrix)
    raised = _RAISED[plan.uses_l1_norm] * math.sqrt(noise.variance * plan.width) / squares / ROW_UNIT**2
    found: NDArray[np.float64] = (vectors * (np.maximum(values, 0.0) + raised)) @ vectors.T
    if not plan.uses_l1_norm:
        return found
    trust = 1 / (1 + (raised * plan.features / moments.count) ** 2)  # Laplace noise can drown the products
    return trust * found + (1 - trust) * np.diag(guess)


def _calibrate(
    rows: Rows, weights: NDArray[np.float64], plan: GradientPlan, moments: Moments, source: Source
) -> NDArray[np.float64]:
    """Learn a slope and an intercept along the direction found: two numbers have less noise than all."""
    direction = weights[0].copy()
    direction[-1] = 0.0
    unit = float(np.linalg.norm(direction)) / (2 * math.sqrt(plan.features)) + 1e-9
    line = np.array([[unit, weights[0, -1] * plan.intercept_entry / ROW_UNIT]])
    scores, noise = rows.scores(direction, unit), plan.calibration_noise()
    size = 0.25 * moments.count + 0.7 * math.sqrt(noise.variance) / MAX_GRADIENT_NORM
    for _ in range(plan.calibrations):
        exact = gradient_sum(scores, line / ROW_UNIT, 1.0, uses_l1_norm=True)
        noisy = noise.release(exact, source) / MAX_GRADIENT_NORM
        line = line - noisy / size * np.array([0.6, 1.0])
    found = weights * max(float(line[0, 0]), 0.05) / unit
    found[0, -1] = line[0, 1] * ROW_UNIT / plan.intercept_entry
    return found


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK, count)) for start in range(0, count, _BLOCK))
