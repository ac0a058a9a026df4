"""Compiled passes over records for noisy gradient descent: moments, rows of integers, gradients of the loss.

A record's part is integers, and a function of that record and of public numbers alone, computed in one fixed order
whatever stands next to it. A row is scaled to its bounded norm and rounded towards zero, and the bound is checked on
the integers themselves; a gradient is a whole residual times the row, with the residual cut to what the row's norm
leaves. So sums are exact and the bounds hold as they stand, whatever doubles do (``proofs/noisy-gradient.md``).
"""

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
Steps = NDArray[np.int16]

_BELOW = 1.0 - 2.0**-40  # so that rounding to doubles almost never lifts a scaled row above its bound


@nb.njit("f8(f8, f8, f8)", cache=True, inline="always")
def _scale(value: float, middle: float, half: float) -> float:
    """Where a value lies between its bounds, from -1 to 1."""
    return min(max((value - middle) / half, -1.0), 1.0)


@nb.njit("void(f8[:, ::1], i8[::1], f8[:, ::1], i8, i8, i8, i8[::1])", cache=True, nogil=True)
def add_moments(
    values: Numbers, codes: Integers, scaling: Numbers, grid: int, weight: int, classes: int, sums: Integers
) -> None:
    """Add, for each record, ``weight * grid`` to its class, its columns in steps, and its square, cut to that weight.

    ``scaling`` has two rows, the middles and the half ranges of the columns.
    """
    width = values.shape[1]
    for i in range(values.shape[0]):
        sums[codes[i]] += weight * grid
        square = np.int64(0)
        for j in range(width):
            step = np.int64(np.rint(_scale(values[i, j], scaling[0, j], scaling[1, j]) * grid))
            sums[classes + j] += step
            square += step * step
        sums[classes + width] += weight * square // (width * grid)


@nb.njit("void(f8[:, ::1], f8[:, ::1], f8, i8, i8, b1, i2[:, ::1], i8[::1])", cache=True, nogil=True)
def write_rows(
    values: Numbers,
    scaling: Numbers,
    unit: float,
    max_norm: int,
    intercept_entry: int,
    uses_l1_norm: bool,  # noqa: FBT001 - likewise
    rows: Steps,
    sizes: Integers,
) -> None:
    """Write records as integers, centred and in steps, cut to ``max_norm``; ``intercept_entry`` goes last, if not 0.

    ``scaling`` has three rows, the middles, the half ranges and the centres between -1 and 1; a feature has ``unit``
    steps. ``sizes`` gets the L1 norm of each row, if ``uses_l1_norm``, and the squared L2 norm otherwise.
    """
    width = values.shape[1]
    bound = max_norm if uses_l1_norm else max_norm * max_norm
    for i in range(values.shape[0]):
        norm = 0.0
        for j in range(width):
            place = (_scale(values[i, j], scaling[0, j], scaling[1, j]) - scaling[2, j]) * unit
            norm += abs(place) if uses_l1_norm else place * place
        if not uses_l1_norm:
            norm = math.sqrt(norm)
        factor = unit * min(1.0, max_norm * _BELOW / norm) if norm > 0.0 else unit
        size = np.int64(0)
        for j in range(width):
            step = np.int64((_scale(values[i, j], scaling[0, j], scaling[1, j]) - scaling[2, j]) * factor)
            rows[i, j] = step
            size += abs(step) if uses_l1_norm else step * step
        if size > bound:  # cannot be, as rounding is towards zero; but nothing is left to doubles
            rows[i, :width] = 0
            size = np.int64(0)
        if intercept_entry:
            rows[i, width] = intercept_entry
            size += intercept_entry if uses_l1_norm else intercept_entry * intercept_entry
        sizes[i] = size


@nb.njit("f8(i2[:, ::1], i8, f8[::1])", cache=True, inline="always")
def _score(rows: Steps, i: int, weights: Numbers) -> float:
    """The product of a row with the weights: four sums at a time, always in the same order."""
    width = rows.shape[1]
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    whole = width - width % 4
    for j in range(0, whole, 4):
        first += rows[i, j] * weights[j]
        second += rows[i, j + 1] * weights[j + 1]
        third += rows[i, j + 2] * weights[j + 2]
        fourth += rows[i, j + 3] * weights[j + 3]
    for j in range(whole, width):
        first += rows[i, j] * weights[j]
    return (first + second) + (third + fourth)


@nb.njit("void(i2[:, ::1], f8[::1], i8, i8, i2[:, ::1], i8[::1])", cache=True, nogil=True)
def write_scores(
    rows: Steps, weights: Numbers, max_norm: int, intercept_entry: int, out: Steps, sizes: Integers
) -> None:
    """Write rows of two: the product with the weights, cut to ``max_norm`` and rounded to zero, and a constant."""
    for i in range(rows.shape[0]):
        step = np.int64(min(max(_score(rows, i, weights), -float(max_norm)), float(max_norm)))
        if abs(step) > max_norm or step < -max_norm:  # no number
            step = np.int64(0)
        out[i, 0] = step
        out[i, 1] = intercept_entry
        sizes[i] = abs(step) + intercept_entry


@nb.njit("void(i2[:, ::1], i8[::1], i8[::1], f8[:, ::1], f8, i8[:, ::1])", cache=True, nogil=True)
def add_gradient(
    rows: Steps, limits: Integers, codes: Integers, weights: Numbers, unit: float, gradient: Integers
) -> None:
    """Add (chance - truth) times the row, for two classes; the residual is whole, and at most the row's limit."""
    width = rows.shape[1]
    for i in range(rows.shape[0]):
        score = min(max(_score(rows, i, weights[0]), -40.0), 40.0)
        residual = np.int64((1.0 / (1.0 + math.exp(-score)) - codes[i]) * unit)
        residual = min(max(residual, -limits[i]), limits[i])
        for j in range(width):
            gradient[0, j] += residual * rows[i, j]


@nb.njit("void(i2[:, ::1], i8[::1], i8[::1], f8[:, ::1], f8, b1, i8[:, ::1])", cache=True, nogil=True)
def add_softmax_gradient(
    rows: Steps,
    limits: Integers,
    codes: Integers,
    weights: Numbers,
    unit: float,
    uses_l1_norm: bool,  # noqa: FBT001 - likewise
    gradient: Integers,
) -> None:
    """Add (chances - truth) times the row, for several classes; limits are of squares unless ``uses_l1_norm``."""
    classes, width = gradient.shape
    chances = np.empty(classes)
    whole = np.empty(classes, dtype=np.int64)
    for i in range(rows.shape[0]):
        for c in range(classes):
            chances[c] = _score(rows, i, weights[c])
        chances -= chances.max()
        np.exp(chances, chances)
        chances /= chances.sum()
        chances[codes[i]] -= 1.0
        norm = np.abs(chances).sum() if uses_l1_norm else math.sqrt((chances * chances).sum())
        if not norm < 3.0:  # no number (a true norm is at most 2, and rounding): such a record adds nothing
            continue
        most = float(limits[i]) if uses_l1_norm else math.sqrt(limits[i])
        factor = min(unit, most * _BELOW / norm) if norm > 0.0 else unit
        size = 0
        for c in range(classes):
            whole[c] = np.int64(chances[c] * factor)
            size += abs(whole[c]) if uses_l1_norm else whole[c] * whole[c]
        if not size <= limits[i]:  # cannot be; but nothing is left to doubles
            continue
        for c in range(classes):
            for j in range(width):
                gradient[c, j] += whole[c] * rows[i, j]
