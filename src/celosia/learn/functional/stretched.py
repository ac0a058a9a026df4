"""Columns between their bounds as integers from 0 to about 2^18, made of centred steps that an engine has summed.

The functional mechanism is stated for features between 0 and 1. Engines sum centred steps; a column that counts from
its lower bound is such a step, moved and stretched, so its products are integer combinations of the sums.
All columns reach nearly as far, so that one noise fits all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Kind
from celosia.learn.privacy.parameters import axis_of
from celosia.statistics.base.products import Monomial, Products

Affine: TypeAlias = Mapping[Monomial, int]
"""A sum of products of centred columns, with integers before them."""

_MAX_COLUMNS = 350
_WIDE = 64  # columns beyond which they are stretched less, so that their noise can still be drawn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretched:
    """Columns as integers from 0 to their reach, all of nearly the same: centred steps, moved and stretched.

    ``unit`` is what no reach exceeds, and what an intercept is. Without an intercept the line goes through the caller's
    origin, and if that is not where all bounds begin, sums with a one are needed all the same.
    """

    axes: tuple[Axis, ...]
    unit: int
    centres: tuple[int, ...]
    factors: tuple[int, ...]
    ones: bool

    @classmethod
    def of(cls, kinds: Sequence[Kind], *, fit_intercept: bool) -> "Stretched":
        """Return how columns of these kinds are counted."""
        if len(kinds) > _MAX_COLUMNS:
            raise ParameterError("learn.too_many_columns", most=_MAX_COLUMNS, found=len(kinds))
        measure = Products(tuple(axis_of(kind) for kind in kinds), ())
        unit = 2**18 if len(kinds) <= _WIDE else 2**17
        return cls(
            axes=measure.axes,
            unit=unit,
            centres=measure.reaches,
            factors=tuple(unit // (2 * reach) for reach in measure.reaches),
            ones=fit_intercept or any(axis.lowest != 0 for axis in measure.axes),
        )

    @property
    def reaches(self) -> tuple[int, ...]:
        """The largest of each column."""
        return tuple(2 * factor * centre for factor, centre in zip(self.factors, self.centres, strict=True))

    @property
    def sizes(self) -> NDArray[np.float64]:
        """The reaches, that of the intercept before them."""
        return np.array([*([self.unit] if self.ones else []), *self.reaches], dtype=np.float64)

    @property
    def affine(self) -> list[Affine]:
        """Each column by the centred steps that are summed, the intercept before them."""
        found: list[Affine] = [
            {(place,): factor, (): factor * centre}
            for place, (factor, centre) in enumerate(zip(self.factors, self.centres, strict=True))
        ]
        return [{(): self.unit}, *found] if self.ones else found

    @property
    def lows(self) -> NDArray[np.float64]:
        """The lower ends of the columns, in the caller's units."""
        return np.array([float(axis.low) for axis in self.axes])

    @property
    def widths(self) -> NDArray[np.float64]:
        """How long the columns are, in the caller's units."""
        return np.array([float(axis.high - axis.low) for axis in self.axes])

    @property
    def shifts(self) -> NDArray[np.float64]:
        """How far the caller's 0 is from the lower bounds, in widths."""
        return self.lows / self.widths

    def through_origin(
        self, matrix: NDArray[np.float64], vector: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return matrix and vector for columns that count from the caller's 0, without the intercept."""
        features = len(matrix) - 1
        moved = np.column_stack([self.shifts[:features], np.eye(features)])
        return moved @ matrix @ moved.T, moved @ vector

    def swollen(self, scale: float, *, fit_intercept: bool) -> float:
        """Return the deviation of the noise of an entry, larger where columns were moved to the caller's origin."""
        if fit_intercept or not self.ones:
            return scale
        return scale * (1 + float(np.abs(self.shifts).max())) ** 2


def times(a: Affine, b: Affine) -> dict[Monomial, int]:
    """Return the product of two sums of products of columns."""
    found: dict[Monomial, int] = {}
    for first, factor in a.items():
        for second, number in b.items():
            both = tuple(sorted(first + second))
            found[both] = found.get(both, 0) + factor * number
    return found
