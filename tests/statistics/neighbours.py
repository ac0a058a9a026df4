"""What one person adds to a summary, computed as slowly and plainly as the definition reads, in Python's integers.

Rows of a person are bounded as engines do it: at most so many cells, and in each cell the sums of more rows than
allowed are averaged down, in doubles, and rounded towards zero.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from celosia.core import AddRemove, ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.statistics.base.measure import Measure
from celosia.statistics.base.noise import ContributionBounds, Noise, Sensitivity
from celosia.statistics.moments.bernstein import FirstMoments, SecondMoments
from celosia.statistics.moments.cross_moments import CrossMoments
from celosia.statistics.moments.half_half import HalfHalfMean
from celosia.statistics.moments.measures import RowCount, Total

Row = tuple[int, ...]
Person = Mapping[int, Sequence[Row]]

_CLAMPED = 2**62


def part_of_cell(measure: Measure, rows: Sequence[Row], most: int) -> list[int]:
    """What the rows of one person add to one cell."""
    found = [measure.features(*row) for row in rows]
    sums = [sum(feature[i] for feature in found) for i in range(measure.width)]
    if len(rows) <= most:
        return sums
    averages = [averaged(total, len(rows), most) for total in sums]
    assert all(low * most <= each <= high * most for each, (low, high) in zip(averages, measure.reach, strict=True))
    return averages


def averaged(total: int, count: int, most: int) -> int:
    """A sum over ``count`` rows as that of ``most``: never further from zero than it truly is."""
    size = float(min(abs(total), _CLAMPED)) * most
    share = size / count if size < 2.0**53 else size / count * (1 - 2.0**-50)
    return math.floor(share) * (1 if total >= 0 else -1)


def part_of(measure: Measure, person: Person, bounding: ContributionBounds) -> list[int]:
    """What a person adds to the whole summary, cell after cell."""
    chosen = sorted(cell for cell, rows in person.items() if rows)[: bounding.groups]
    flat: list[int] = []
    for cell in range(bounding.cells):
        rows = person.get(cell, ()) if cell in chosen else ()
        flat += part_of_cell(measure, rows, bounding.rows)
    return flat


def distance(measure: Measure, one: Person, other: Person, bounding: ContributionBounds) -> Sensitivity:
    """How far apart the summaries are of which one has the first person and the other the second, or nobody."""
    gaps = [a - b for a, b in zip(part_of(measure, one, bounding), part_of(measure, other, bounding), strict=True)]
    return Sensitivity(l1=sum(map(abs, gaps)), l2_squared=sum(gap * gap for gap in gaps))


def within(found: Sensitivity, claimed: Sensitivity) -> bool:
    return found.l1 <= claimed.l1 and found.l2_squared <= claimed.l2_squared


axes = st.builds(lambda lowest, steps: Axis(lowest, lowest + steps, Fraction(1)), st.integers(-4, 4), st.integers(1, 4))


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    """Any measure whose summary is a sum over rows, also in parts."""
    kind = draw(st.sampled_from([RowCount, Total, FirstMoments, SecondMoments, HalfHalfMean, CrossMoments]))
    if kind is RowCount:
        return RowCount()
    if kind is CrossMoments:
        return CrossMoments(draw(axes), draw(axes), degree=draw(st.integers(1, 2)), parts=draw(st.sampled_from([1, 7])))
    if kind is HalfHalfMean:
        return HalfHalfMean(draw(axes))
    made: Measure = kind(draw(axes), draw(st.sampled_from([1, 5])))
    return made


@st.composite
def boundings(draw: st.DrawFn) -> ContributionBounds:
    cells = draw(st.integers(1, 4))
    return ContributionBounds(
        groups=draw(st.integers(1, min(cells, 2))),
        rows=draw(st.integers(1, 3)),
        cells=cells,
        adjacency=draw(st.sampled_from([AddRemove, ReplaceOne])),
        unit="person",
    )


@st.composite
def persons(draw: st.DrawFn, measure: Measure, bounding: ContributionBounds) -> Person:
    row = st.tuples(*(st.integers(0, axis.steps) for axis in measure.axes))
    rows = st.lists(row, max_size=5)
    return draw(st.dictionaries(st.integers(0, bounding.cells - 1), rows, max_size=bounding.cells))


TINY = [Axis(0, 3, Fraction(1)), Axis(-2, 1, Fraction(1)), Axis(2, 4, Fraction(1)), Axis(-4, -1, Fraction(1))]


def tiny_measures() -> list[Measure]:
    of_one = [kind(axis) for kind in (Total, FirstMoments, SecondMoments, HalfHalfMean) for axis in TINY]
    of_two = [CrossMoments(TINY[0], TINY[1], degree=degree) for degree in (1, 2)]
    return [RowCount(), *of_one, *of_two]


def noise_of(measure: Measure, cells: int = 3, epsilon: Any = 1, **bounds: Any) -> Noise:
    bounding = ContributionBounds(cells=cells, **bounds)
    return Noise.laplace(epsilon, measure.sensitivity(bounding), cells, measure.width, bounding)
