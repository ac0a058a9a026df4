"""Columns that share one measurement: what one person can move, what the sums answer, and how much is won."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from celosia.core import KNormEvent, ParameterError, ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds, FirstMoments, Noise, SharedMoments
from tests.statistics.neighbours import Person, distance, part_of, within

AXES = (Axis(0, 3, Fraction(1)), Axis(-2, 5, Fraction(1, 2)))
KINDS = [((False, False), True), ((True, False), True), ((True, True), True), ((True, True), False)]
rows = st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(0, 7)), max_size=4)
persons = st.dictionaries(st.integers(0, 2), rows)


def known(measure: SharedMoments, found: list[tuple[int | None, int | None]]) -> list[tuple[int, ...]]:
    """Rows as a measure takes them: steps, 0 where there is none, and whether there is one."""
    filled = [
        tuple(1 if value is None and not null else value for value, null in zip(row, measure.nullable, strict=True))
        for row in found
    ]
    steps = [tuple(value or 0 for value in row) for row in filled]
    there = [tuple(int(value is not None) for value in row) for row in filled]
    return [(*a, *b) if measure.counts_missing else a for a, b in zip(steps, there, strict=True)]


def largest(measure: SharedMoments, one: Person, other: Person, bounding: ContributionBounds) -> int:
    """How far the largest number of each cell moves, summed over cells."""
    flat = [abs(a - b) for a, b in zip(part_of(measure, one, bounding), part_of(measure, other, bounding), strict=True)]
    return sum(max(flat[start : start + measure.width]) for start in range(0, len(flat), measure.width))


@given(persons, persons, st.integers(1, 2), st.integers(1, 3), st.sampled_from(KINDS))
def test_one_person_moves_the_sums_no_further_than_is_paid_for(
    one: dict[int, list[tuple[int | None, int | None]]],
    other: dict[int, list[tuple[int | None, int | None]]],
    groups: int,
    most: int,
    kind: tuple[tuple[bool, bool], bool],
) -> None:
    measure = SharedMoments(AXES, *kind)
    first, second = ({cell: known(measure, found) for cell, found in each.items()} for each in (one, other))
    for bounding, there in (
        (ContributionBounds(groups=groups, rows=most, cells=3), {}),
        (ContributionBounds(groups=groups, rows=most, cells=3, adjacency=ReplaceOne), second),
    ):
        event = measure.pure_noise(1, 3, bounding).event
        assert isinstance(event, KNormEvent)
        assert largest(measure, first, there, bounding) <= event.sensitivity
        assert within(distance(measure, first, there, bounding), measure.sensitivity(bounding))


def test_all_that_is_paid_for_can_be_moved() -> None:
    for nullable, with_rows in KINDS:
        measure = SharedMoments(AXES, nullable, with_rows)
        low, high = ({0: known(measure, [row] * 2)} for row in ((0, 0), (3, 7)))
        for adjacency, times in ((ReplaceOne, 2), (ContributionBounds().adjacency, 1)):
            bounding = ContributionBounds(rows=2, adjacency=adjacency)
            event, other = measure.pure_noise(1, 1, bounding).event, low if times == 2 else {}
            assert isinstance(event, KNormEvent)
            assert largest(measure, high, other, bounding) > 0.98 * event.sensitivity
            # Half of it would be too little.
            assert not largest(measure, high, other, bounding) <= event.sensitivity / 2


@given(rows, st.sampled_from(KINDS))
def test_exact_sums_give_counts_sums_and_means(
    found: list[tuple[int | None, int | None]], kind: tuple[tuple[bool, bool], bool]
) -> None:
    measure = SharedMoments(AXES, *kind)
    noise = measure.pure_noise(1, 1, ContributionBounds())
    taken = known(measure, found)
    sums = np.sum([measure.features(*row) for row in taken] or [(0,) * measure.width], axis=0)[None, :]
    if measure.with_rows:
        assert measure.answer("rows", sums, noise).value[0] == len(found)
    for place, axis in enumerate(AXES):
        there = [row[place] for row in taken if not measure.counts_missing or row[2 + place]]
        values = [float(axis.low + step * axis.grid) for step in there]
        assert measure.answer(f"count {place}", sums, noise).value[0] == len(values)
        assert measure.answer(f"sum {place}", sums, noise).value[0] == pytest.approx(sum(values), abs=1e-6)
        middle = float(axis.low + axis.high) / 2
        mean = np.mean(values) if values else middle
        assert measure.answer(f"mean {place}", sums, noise).value[0] == pytest.approx(mean, abs=1e-6)


def exact(measure: SharedMoments, size: int, seed: int) -> tuple[NDArray[np.int64], dict[str, float]]:
    """The sums of made-up rows, and what they should answer."""
    draw = np.random.default_rng(seed)
    steps = [draw.integers(0, axis.steps + 1, size) * (draw.random(size) < 0.3) for axis in measure.columns]
    there = [(draw.random(size) < 0.8) | (not null) for null in measure.nullable]
    columns = [step * present for step, present in zip(steps, there, strict=True)]
    features = measure.features(*columns, *(map(np.int64, there) if measure.counts_missing else ()))
    truth = {"rows": float(size)}
    for place, (axis, present) in enumerate(zip(measure.columns, there, strict=True)):
        values = float(axis.low) + columns[place][present] * float(axis.grid)
        truth |= {f"count {place}": len(values), f"sum {place}": values.sum(), f"mean {place}": values.mean()}
    return np.array([np.broadcast_to(feature, size).sum() for feature in features]), truth


def test_intervals_cover_what_they_say(*, thorough: bool) -> None:
    cells = 20_000 if thorough else 4_000
    for (nullable, with_rows), size in product(KINDS, (4, 300)):
        measure = SharedMoments(AXES, nullable, with_rows)
        sums, truth = exact(measure, size, 1)
        bounding = ContributionBounds(cells=cells)
        for noise in (
            measure.pure_noise(1, cells, bounding),
            Noise.gaussian("0.3", measure.sensitivity(bounding), cells, measure.width, bounding),
        ):
            noisy = noise.release(np.tile(sums, (cells, 1)), Seeded(size))
            for quantity in measure.quantities:
                estimate = measure.answer(quantity, noisy, noise)
                assert estimate.interval is not None
                low, high = estimate.interval(0.9)
                covered = np.mean((low <= truth[quantity] + 1e-9) & (high >= truth[quantity] - 1e-9))
                assert covered > 0.9 - 5.5 * np.sqrt(0.09 / cells), (quantity, noise.kind, nullable)
                if size == 300 and not quantity.startswith("mean") and noise.kind == "K-norm":
                    assert covered < 0.93  # not wider than needed, either


def test_sharing_has_less_noise_than_measuring_each_column() -> None:
    age = Axis(0, 120, Fraction(1))
    for columns, pure, gaussian in ((2, 0.66, 0.88), (4, 0.48, 0.8)):
        shared, alone = SharedMoments((age,) * columns, (False,) * columns), FirstMoments(age)
        bounding = ContributionBounds()
        pairs = (
            (
                shared.pure_noise(1, 1, bounding),
                alone.pure_noise(Fraction(1, columns), 1, bounding),
                pure,
            ),
            (
                Noise.gaussian(1, shared.sensitivity(bounding), 1, shared.width, bounding),
                Noise.gaussian(Fraction(1, columns), alone.sensitivity(bounding), 1, 2, bounding),
                gaussian,
            ),
        )
        for joint, apart, share in pairs:
            for quantity in ("mean", "count", "sum"):
                here = shared.spread(f"{quantity} 1", joint, rows=10_000)
                there = alone.spread(quantity, apart, rows=10_000)
                assert here is not None
                assert there is not None
                assert here < (share if quantity == "count" else 1) * there
            # The error of a mean in the middle of its range: preview errors are for the worst of columns.
            half = (joint.variance / shared.row**2 / 4, apart.variance / alone.row**2 / 2)
            assert half[0] ** 0.5 < share * half[1] ** 0.5


def test_intervals_allow_for_values_that_are_rounded_to_coarser_steps() -> None:
    fine = Axis(0, 2**30, Fraction(1))
    measure = SharedMoments((fine, AXES[0]), (False, False))
    noise = measure.pure_noise(2**16, 1, ContributionBounds())
    value = 2**29 + 31  # 31 above a step of 64
    sums = np.array([measure.features(value // 64, 1)]) * 100_000
    for quantity, truth in (("mean 0", value), ("sum 0", 100_000 * value)):
        estimate = measure.answer(quantity, sums, noise)
        assert estimate.interval is not None
        low, high = estimate.interval(0.9)
        assert low[0] <= truth <= high[0]
        assert high[0] - low[0] < 100 * truth / value
    assert measure.rounding(1) == 0


def test_bad_measures_are_refused() -> None:
    age = Axis(0, 120, Fraction(1))
    for columns, nullable, with_rows in (((), (), True), ((age,) * 8, (True,) * 8, True), ((age,), (False,), False)):
        with pytest.raises(ParameterError):
            SharedMoments(columns, nullable, with_rows)
    with pytest.raises(ParameterError, match="not 'mean 7'"):
        SharedMoments((age,), (True,)).spread(
            "mean 7", SharedMoments((age,), (True,)).pure_noise(1, 1, ContributionBounds()), rows=1
        )
