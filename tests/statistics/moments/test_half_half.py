"""The textbook's mean: its scales, its intervals, and how much worse it is."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.statistics.base.noise import ContributionBounds
from celosia.statistics.moments.bernstein import FirstMoments
from celosia.statistics.moments.half_half import HalfHalfMean
from tests.statistics.coverage import believable, covered_exactly, drawn, gaussian, holds, laplace, summary
from tests.statistics.neighbours import averaged

AGES = Axis(0, 120, Fraction(1))
LEVELS = (0.5, 0.95)


def test_scales_are_the_textbooks() -> None:
    # Half of epsilon on the sum: 120 / (epsilon / 2); half on the count, which is in units of 120.
    measure = HalfHalfMean(AGES)
    assert measure.features(34) == (34, 120)
    event = laplace(measure, 1).event
    assert event.scale == 240  # type: ignore[union-attr]
    assert HalfHalfMean(Axis(-200, 120, Fraction(1))).features(0) == (-200, 200)


@pytest.mark.parametrize("lowest", [0, -1, -2, 3])
@pytest.mark.parametrize("steps", [[0], [2, 2], [0, 1, 2], [2] * 40 + [0] * 3], ids=len)
def test_intervals_cover_exactly(steps: list[int], lowest: int) -> None:
    measure = HalfHalfMean(Axis(lowest, lowest + 2, Fraction(1, 2)))
    exact = summary(measure, [np.array(steps)])
    truth = (float(np.mean(steps)) + lowest) / 2
    for noise, reach in ((laplace(measure, 3), 50), (gaussian(measure, 1), 40)):
        found = covered_exactly(measure, "mean", exact, truth, noise, reach, LEVELS)
        for level, (held, missing) in zip(LEVELS, found, strict=True):
            assert held + missing >= level - 1e-9
            assert missing < 1e-4


def test_intervals_cover_and_the_joint_mean_is_better() -> None:
    draws, level, rows = 5_000, 0.9, 5_000
    k = np.random.default_rng(3).integers(40, 100, rows)
    variances = []
    for measure in (HalfHalfMean(AGES), FirstMoments(AGES)):
        values, low, high = drawn(measure, "mean", summary(measure, [k]), laplace(measure, 1), draws, level)
        assert believable(int(holds(low, float(k.mean()), high).sum()), draws, level)
        assert np.mean(high - low) / 2 <= 1.08 * np.quantile(np.abs(values - k.mean()), level)
        variances.append(np.var(values))
    assert variances[0] > 2 * variances[1]


@settings(max_examples=300)
@given(st.data())
def test_averages_of_very_many_rows_stay_within_the_sensitivity(data: st.DataObject) -> None:
    low, high = data.draw(st.integers(-(2**29), 0)), data.draw(st.integers(1, 2**29))
    measure, most = HalfHalfMean(Axis(low, high, Fraction(1))), data.draw(st.sampled_from([1, 3, 2**10]))
    (least, largest), (_, unit) = measure.reach
    parts = []
    for _ in range(2):
        count = data.draw(st.integers(most + 1, 2**30))
        total = data.draw(st.sampled_from([least, largest, 0]) | st.integers(least, largest)) * count
        near = total + data.draw(st.integers(-3, 3))
        total = near if least * count <= near <= largest * count else total
        parts.append((averaged(total, count, most), averaged(unit * count, count, most)))
    claimed = measure.sensitivity(ContributionBounds(rows=most, adjacency=ReplaceOne))
    gaps = [a - b for a, b in zip(*parts, strict=True)]
    assert sum(map(abs, gaps)) <= claimed.l1
    assert sum(gap * gap for gap in gaps) <= claimed.l2_squared
    added = measure.sensitivity(ContributionBounds(rows=most))
    assert sum(map(abs, parts[0])) <= added.l1
    assert sum(part * part for part in parts[0]) <= added.l2_squared


def test_without_rows_the_middle() -> None:
    measure = HalfHalfMean(Axis(10, 30, Fraction(1)))
    estimate = measure.answer("mean", np.array([[5, -1], [5, 0]]), laplace(measure, 1))
    assert estimate.value.tolist() == [20, 20]
    assert estimate.interval is not None
    assert [end.tolist() for end in estimate.interval(0.9)] == [[10, 10], [30, 30]]


def test_previews() -> None:
    measure = HalfHalfMean(AGES)
    noise = laplace(measure, 1)
    assert measure.spread("mean", noise, rows=None) is None
    assert measure.spread("mean", noise, rows=0.001) == 120
    assert measure.sensitivity(ContributionBounds()).l1 == 240
    joint = FirstMoments(AGES).spread("mean", laplace(FirstMoments(AGES), 1), rows=1000)
    worse = measure.spread("mean", noise, rows=1000)
    assert joint is not None
    assert worse is not None
    assert worse > 2 * joint
