"""Distances along the line are those of the definition, and the weight of a bin is covered."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from celosia.statistics.selection.splitting import Line
from celosia.statistics.selection.stretch import Stretch

Table = NDArray[np.int64]


def part(counts: Table, points: int, start: int, end: int, share: Fraction, rank: int = 3) -> Stretch:
    line = Line(counts[None], points=points)
    found = Stretch(line._counts, line._edges, points, np.array([start]), np.array([end]))
    found.aim(share, rank)
    return found


places = st.integers(0, 5 * 8).filter(lambda place: place % 2 or place in (0, 40))
tables = st.lists(st.integers(0, 30), min_size=5, max_size=5).map(lambda rows: np.array(rows, dtype=np.int64))
shares = st.fractions(min_value=0, max_value=1, max_denominator=12)


@given(tables, places, places, shares, st.integers(0, 20))
def test_distances_are_those_of_the_definition(counts: Table, one: int, other: int, share: Fraction, rank: int) -> None:
    start, end = min(one, other), max(one, other)
    if start == end and start % 2 == 0:
        return
    found = part(counts, 4, start, end, share, rank)
    at = [Fraction(sum(int(c) * min(max(p - 8 * b, 0), 8) for b, c in enumerate(counts)), 8) for p in range(41)]
    near = min(Fraction(rank), (at[end] - at[start]) / 2)
    target = at[start] + share * (at[end] - at[start])
    if share in (0, 1):
        target = at[start] + near if share == 0 else at[end] - near

    def distance(first: int, last: int) -> Fraction:
        low, high = at[max(first, start)], at[min(last, end)]
        return max(Fraction(0), low - target, target - high)

    scale = 8 * found.scale
    bins = [b for b in range(5) if 8 * b + 8 > start and 8 * b < end]
    assert [b + found.first for b in np.flatnonzero(found.present()[0]).tolist()] == bins
    gaps = found.gaps()[0]
    assert [Fraction(int(gaps[b - found.first]), scale) for b in bins] == [distance(8 * b, 8 * b + 8) for b in bins]
    for b in bins:
        inside = found.inside(np.array([0]), np.array([b - found.first]))[0].tolist()
        firsts = [8 * b + 2 * i for i in range(4)]
        present = [first + 2 > start and first < end for first in firsts]
        expected = [
            distance(first, first + 2) * scale if there else -1 for first, there in zip(firsts, present, strict=True)
        ]
        assert inside == expected
        assert min(gap for gap in inside if gap >= 0) == gaps[b - found.first]


@given(tables, places, places, shares, st.floats(1e-3, 30))
def test_the_weight_of_a_bin_is_covered(counts: Table, one: int, other: int, share: Fraction, rate: float) -> None:
    start, end = min(one, other), max(one, other)
    if start == end and start % 2 == 0:
        return
    found = part(counts, 4, start, end, share)
    step = rate / (8 * found.scale)
    crowds = found.crowds(step)[0]
    for b in np.flatnonzero(found.present()[0]).tolist():
        inside = found.inside(np.array([0]), np.array([b]))[0]
        inside = inside[inside >= 0]
        assert np.exp(-step * (inside - inside.min())).sum() <= crowds[b] * (1 + 2.0**-40)
    assert not crowds[~found.present()[0]].any()


@given(tables, places, places, shares, st.integers(0, 20), st.floats(1e-3, 30))
def test_a_lower_end_has_its_shift_between_the_first_point_and_the_others(
    counts: Table, one: int, other: int, share: Fraction, shift: int, rate: float
) -> None:
    start, end = (2 * (min(max(place, 0), 38) // 2) for place in (min(one, other), max(one, other)))
    line = Line(counts[None], points=4)
    found = Stretch(line._counts, line._edges, 4, np.array([start]), np.array([end]))
    found.aim_below(share, shift)
    at = [Fraction(sum(int(c) * min(max(p - 8 * b, 0), 8) for b, c in enumerate(counts)), 8) for p in range(41)]
    target, step = at[start] + share * (at[end] - at[start]), rate / (8 * found.scale)
    crowds = found.crowds(step)[0]
    best = []
    for b in np.flatnonzero(found.present()[0]).tolist():
        inside = found.inside(np.array([0]), np.array([b]))[0].tolist()
        for point, gap in enumerate(inside):
            place = 8 * (b + found.first) + 2 * point
            if gap < 0:
                assert not start <= place < max(end, start + 1)
                continue
            low = at[place] + (shift if place > start else 0)
            high = at[max(min(place + 2, end), start)] + shift
            assert Fraction(gap, 8 * found.scale) == max(Fraction(0), low - target, target - high)
            best.append(gap)
        gaps = np.array([gap for gap in inside if gap >= 0])
        assert gaps.min() == found.gaps()[0, b]
        assert np.exp(-step * (gaps - gaps.min())).sum() <= crowds[b] * (1 + 2.0**-39)
    assert min(best) == 0  # the target is never out of reach
