"""Features and targets on the scale that gradient descent is analysed on: rows no longer than 1, targets from -1 to 1.

A feature is clipped to its bounds and centred between them, so that it lies between -1 and 1; with a constant 1 for the
intercept a row is no longer than the root of its number of entries, by which it is divided. All of that is public.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.learn.privacy.parameters import axis_of, ends_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from celosia.data.schema.columns import Kind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitRows:
    """How rows are scaled, and how weights are scaled back.

    ``norm`` is what centred rows are divided by; longer ones are then still longer than 1, and shortened.
    """

    middles: "NDArray[np.float64]"
    halves: "NDArray[np.float64]"
    intercept: bool
    norm: float

    @classmethod
    def of(cls, kinds: "Sequence[Kind]", *, intercept: bool, norm: float | None = None) -> "UnitRows":
        """Return the scaling for columns of these kinds."""
        ends = np.array([interval_of(kind) for kind in kinds], dtype=np.float64).reshape(-1, 2)
        size = len(ends) + intercept
        return cls(
            middles=ends[:, 0] / 2 + ends[:, 1] / 2,
            halves=ends[:, 1] / 2 - ends[:, 0] / 2,
            intercept=intercept,
            norm=math.sqrt(size) if norm is None else norm,
        )

    @property
    def dimension(self) -> int:
        """How many weights there are."""
        return len(self.middles) + self.intercept

    def rows(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return clipped, centred and scaled rows, with a last entry for the intercept."""
        # Clipped before they are centred too: differences of large numbers would overflow.
        clipped = np.clip(values, self.middles - self.halves, self.middles + self.halves)
        centred = np.clip((clipped - self.middles) / self.halves, -1.0, 1.0)
        if self.intercept:
            centred = np.column_stack([centred, np.ones(len(centred))])
        return centred / self.norm

    def coefficients(self, weights: "NDArray[np.float64]") -> "tuple[NDArray[np.float64], float]":
        """Return the coefficients and the intercept, for features in the caller's units."""
        size = len(self.middles)
        coefficients = weights[:size] / (self.norm * self.halves)
        constant = weights[size] / self.norm if self.intercept else 0.0
        return coefficients, float(constant - coefficients @ self.middles)


def shorten_rows(rows: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return rows scaled down to a length that doubles cannot round above 1."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    scaled = rows / np.maximum(largest, 1.0)[:, None]  # squares of large numbers would overflow
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled)) * np.maximum(largest, 1.0)
    limit = 1.0 - 2.0**-40
    return np.ascontiguousarray(rows * np.minimum(1.0, limit / np.maximum(lengths, limit))[:, None])


def interval_of(kind: "Kind") -> tuple[float, float]:
    """Return the two ends of what a column can be."""
    axis_of(kind)  # which refuses what is no number
    return ends_of(kind)
