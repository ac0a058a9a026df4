"""Learners that only add up, to see what an engine hands to one; and the same sums by hand, in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.data.schema.columns import Boolean, Category
from celosia.statistics import (
    Bins,
    ContributionBounds,
    Noise,
    Part,
    Products,
    Provenance,
    RowSensitivity,
    SummaryRequest,
    moments_up_to,
    unit_sensitivity,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from celosia.data.schema.axis import Axis
    from celosia.data.schema.columns import Kind


@dataclass
class Adding:
    """Learns moments up to a degree of its numbers, and the counts of its categories, by class if it is to."""

    degree: int = 2
    by_class: bool = False
    epsilon: Any = 1
    rho: Any = None
    combined: bool = False
    quiet: Fraction = Fraction(1)
    axes: tuple[Axis, ...] | None = None
    budget: object = None
    source: object = None
    adjacency: object = None
    noisy: NDArray[np.int64] | None = None
    provenance: Provenance | None = None
    asked: list[tuple[ContributionBounds, bool]] = field(default_factory=list)

    def plan_fit(
        self,
        features: Mapping[str, Kind],
        target: Kind | None = None,
        *,
        bounding: ContributionBounds | None = None,
        droppable: bool = False,
        exact: bool = True,  # noqa: ARG002 - it has an epsilon or a rho
    ) -> SummaryRequest:
        bounding = bounding or ContributionBounds()
        self.asked.append((bounding, droppable))
        kinds = [*features.values(), *([] if target is None or self.by_class else [target])]
        numbers = tuple(place for place, kind in enumerate(kinds) if not isinstance(kind, Category))
        axes = self.axes or tuple(kinds[place].axis for place in numbers)  # type: ignore[misc] # numbers have one
        parts = []
        if numbers:
            products = Products(axes, moments_up_to(self.degree, len(numbers)))
            parts.append(Part(measure=products, columns=numbers, by_class=self.by_class))
        for place, kind in enumerate(kinds):
            if isinstance(kind, Category):
                parts.append(Part(measure=Bins(len(kind.values)), columns=(place,), by_class=self.by_class))
        classes = None if not self.by_class or target is None else target.domain()
        row_sensitivity = together([part.measure.row_sensitivity for part in parts], moved=classes is not None)
        combination = None
        if self.combined:
            wide = sum(part.measure.width * (len(classes) if classes and part.by_class else 1) for part in parts)
            combination = np.tril(np.ones((wide, wide), dtype=np.int64))
            times = wide * wide
            row_sensitivity = RowSensitivity(
                l1=row_sensitivity.l1 * wide,
                l2_squared=row_sensitivity.l2_squared * times,
                replace_l1=row_sensitivity.replace_l1 * wide,
                replace_l2_squared=row_sensitivity.replace_l2_squared * times,
            )
        needed = unit_sensitivity(row_sensitivity, bounding, droppable=droppable)
        width = sum(part.measure.width * (len(classes) if classes and part.by_class else 1) for part in parts)
        told = ContributionBounds(adjacency=bounding.adjacency, unit=bounding.unit)
        if self.rho is not None:
            less = type(needed)(l1=needed.l1, l2_squared=math.ceil(needed.l2_squared * self.quiet**2))
            noise = Noise.gaussian(self.rho, less, 1, width, told)
        else:
            less = type(needed)(l1=math.ceil(needed.l1 * self.quiet), l2_squared=needed.l2_squared)
            noise = Noise.laplace(self.epsilon, less, 1, width, told)
        return SummaryRequest(
            parts=tuple(parts),
            row_sensitivity=row_sensitivity,
            bounding=bounding,
            noise=noise,
            event=noise.event,
            guarantee=noise.guarantee,
            classes=classes,
            combination=combination,
        )

    def finish_fit(self, noisy: NDArray[np.int64], request: SummaryRequest, provenance: Provenance) -> Adding:
        assert noisy.dtype == np.int64
        assert noisy.shape == (request.width,)
        self.noisy, self.provenance = noisy, provenance
        return self


def together(row_sensitivities: Sequence[RowSensitivity], *, moved: bool) -> RowSensitivity:
    """Return the row sensitivity of several sums of the same rows; ``moved`` rows change their class."""
    l1, l2 = sum(f.l1 for f in row_sensitivities), sum(f.l2_squared for f in row_sensitivities)
    across, across2 = sum(f.replace_l1 for f in row_sensitivities), sum(f.replace_l2_squared for f in row_sensitivities)
    return RowSensitivity(
        l1=l1,
        l2_squared=l2,
        replace_l1=max(across, 2 * l1) if moved else across,
        replace_l2_squared=max(across2, 2 * l2) if moved else across2,
    )


def by_hand(
    request: SummaryRequest,
    rows: Sequence[Sequence[object]],
    kinds: Sequence[Kind],
    labels: Sequence[object] | None = None,
) -> list[int]:
    """The numbers of a request over rows of values (None is no value), row by row, in fractions and integers."""
    cells = request.cells
    sums = [[[0] * part.measure.width for _ in range(cells if part.by_class else 1)] for part in request.parts]
    for number, row in enumerate(rows):
        clean = [cleaned(value, kind) for value, kind in zip(row, kinds, strict=True)]
        if any(value is None for value in clean):
            continue
        cell = 0 if labels is None else _place(labels[number], request.classes or ())
        if cell is None:
            continue
        for part, found in zip(request.parts, sums, strict=True):
            if isinstance(part.measure, Bins):
                domain = kinds[part.columns[0]].domain()
                assert domain is not None
                steps = [domain.index(clean[part.columns[0]])]
            else:
                pairs = zip(part.columns, part.measure.axes, strict=True)
                steps = [_step(clean[place], kinds[place], axis) for place, axis in pairs]
            at = found[cell if part.by_class else 0]
            for place, feature in enumerate(part.measure.features(*steps)):
                at[place] += feature
    flat = [number for part in sums for row in part for number in row]
    if request.combination is None:
        return flat
    return [sum(int(a) * b for a, b in zip(line, flat, strict=True)) for line in request.combination]


def cleaned(value: Any, kind: Kind) -> Any:
    """A value as the schema says: what is none is dropped or replaced, what is outside is clipped."""
    missing = value is None or (isinstance(value, float) and not math.isfinite(value))
    if isinstance(kind, Category) and value not in kind.values:
        missing = True
    if missing:
        return None if kind.nullable else kind.null
    if isinstance(kind, Category):
        return value
    if isinstance(kind, Boolean):
        return bool(value)
    return min(max(Fraction(value), Fraction(kind.low)), Fraction(kind.high))  # type: ignore[attr-defined] # a number


def _step(value: Any, kind: Kind, axis: Axis) -> int:
    fine = kind.axis
    assert fine is not None
    half = Fraction(1, 2)
    step = min(max(math.floor(Fraction(value) / fine.grid + half), fine.lowest), fine.highest)
    return math.floor(step / (axis.grid / fine.grid) + half) - axis.lowest


def _place(label: object, classes: Sequence[object]) -> int | None:
    return next((place for place, known in enumerate(classes) if known == label and label is not None), None)
