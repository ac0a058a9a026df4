"""Moments: the answers of the exact sums are NumPy's, and the intervals cover what they say and little more."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.statistics.base.measure import Measure
from celosia.statistics.base.noise import ContributionBounds, Noise, Sensitivity
from celosia.statistics.moments.bernstein import FirstMoments, Moments, SecondMoments, bernstein, simplex
from celosia.statistics.moments.measures import Total
from tests.statistics.coverage import believable, covered_exactly, drawn, gaussian, holds, laplace, summary

AGES = Axis(0, 120, Fraction(1))
LEVELS = (0.5, 0.95)


def test_the_joint_sensitivity_is_the_range_and_no_more() -> None:
    # The two sums of the mean together cost what the sum from the lower bound alone would.
    assert FirstMoments(AGES).sensitivity(ContributionBounds()) == Sensitivity(l1=120, l2_squared=120**2)
    assert FirstMoments(AGES).sensitivity(ContributionBounds()) == Total(AGES).sensitivity(ContributionBounds())
    assert FirstMoments(AGES).sensitivity(ContributionBounds(adjacency=ReplaceOne)) == Sensitivity(
        l1=240, l2_squared=2 * 120**2
    )


@given(st.integers(1, 2**30), st.floats(0, 1), st.integers(1, 2))
def test_bernstein_polynomials_sum_to_one_thing(steps: int, share: float, degree: int) -> None:
    features = bernstein(int(share * steps), steps, degree)
    assert sum(features) == steps**degree
    assert min(features) >= 0


@given(st.integers(1, 1000), st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=2, max_size=2))
def test_a_simplex_is_no_wider_than_it_says(total: int, points: list[list[float]]) -> None:
    found = simplex(total)
    one, two = (np.array(point) / max(sum(point), 1e-300) * total for point in points)
    assert np.abs(one).sum() <= found.l1 * (1 + 1e-9)
    assert (one**2).sum() <= found.l2_squared * (1 + 1e-9)
    assert np.abs(one - two).sum() <= found.replace_l1 * (1 + 1e-9)
    assert ((one - two) ** 2).sum() <= found.replace_l2_squared * (1 + 1e-9)


@given(st.lists(st.integers(-30, 90), min_size=1, max_size=40), st.sampled_from([1, 3]))
def test_exact_sums_give_numpys_answers(steps: list[int], parts: int) -> None:
    axis = Axis(-30, 90, Fraction(1, 4))
    values = np.array(steps) / 4
    k = np.array(steps) + 30
    for measure in (FirstMoments(axis, parts), SecondMoments(axis, parts)):
        noise = laplace(measure, 1)
        sums = summary(measure, [k])[None, :]
        answers = {quantity: measure.answer(quantity, sums, noise).value[0] for quantity in measure.quantities}
        assert answers["count"] == len(values)
        assert answers["sum"] == pytest.approx(values.sum(), abs=1e-9)
        assert answers["mean"] == pytest.approx(values.mean(), abs=1e-9)
        if isinstance(measure, SecondMoments):
            assert answers["variance"] == pytest.approx(values.var(), abs=1e-9)
            assert answers["std"] == pytest.approx(values.std(), abs=1e-4)


def test_without_rows_the_middle_and_the_whole_range() -> None:
    noisy = np.array([[-5, 3, -9], [0, 0, 0], [-(2**62), 1, 1]])
    measure = SecondMoments(Axis(10, 30, Fraction(1)))
    noise = Noise.laplace(1, measure.sensitivity(ContributionBounds()), 3, 3, ContributionBounds(cells=3))
    expected = {"mean": (20, 10, 30), "variance": (50, 0, 100), "std": (50**0.5, 0, 10)}
    for quantity, (value, low, high) in expected.items():
        estimate = measure.answer(quantity, noisy, noise)
        assert estimate.value == pytest.approx([value] * 3)
        assert estimate.interval is not None
        found = estimate.interval(0.5)
        assert found[0].tolist() == [low] * 3
        assert found[1].tolist() == [high] * 3
    assert measure.answer("count", noisy, noise).value.tolist() == [0, 0, -(2**62 - 2) // 400]


# ------------------------------------------------------------------------------------------------------------ coverage


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
@pytest.mark.parametrize("steps", [[], [0], [2, 2], [0, 1, 2], [0] * 12 + [1] * 8, [2] * 60 + [0] * 3], ids=len)
def test_intervals_of_means_cover_exactly(steps: list[int], epsilon: float) -> None:
    measure = FirstMoments(Axis(0, 2, Fraction(1)))
    exact = summary(measure, [np.array(steps, dtype=np.int64)])
    for noise, reach in ((laplace(measure, epsilon), int(34 / epsilon)), (gaussian(measure, epsilon), 13)):
        truths: dict[str, float] = {"count": len(steps), "sum": sum(steps)}
        if steps:
            truths["mean"] = float(np.mean(steps))
        for quantity, truth in truths.items():
            found = covered_exactly(measure, quantity, exact, truth, noise, reach, LEVELS)
            for level, (held, missing) in zip(LEVELS, found, strict=True):
                assert held + missing >= level - 1e-9, (noise.kind, quantity)
                assert missing < 1e-6


@pytest.mark.parametrize("steps", [[0], [2, 2], [0, 2], [0, 1, 1, 2, 2], [0] * 9 + [2] * 11, [1] * 30], ids=str)
def test_intervals_of_variances_cover_exactly(steps: list[int]) -> None:
    measure = SecondMoments(Axis(0, 2, Fraction(1)))
    exact = summary(measure, [np.array(steps)])
    for noise, reach in ((laplace(measure, 5), 10), (gaussian(measure, 2), 8)):
        truths = {"mean": np.mean(steps), "variance": np.var(steps), "std": np.std(steps), "sum": np.sum(steps)}
        for quantity, truth in truths.items():
            found = covered_exactly(measure, quantity, exact, float(truth), noise, reach, LEVELS)
            for level, (held, missing) in zip(LEVELS, found, strict=True):
                assert held + missing >= level - 1e-9, (noise.kind, quantity)
                assert missing < 1e-4


@pytest.mark.parametrize(
    ("measure", "quantity"),
    [
        (FirstMoments(AGES), "count"),
        (FirstMoments(AGES), "sum"),
        (FirstMoments(AGES), "mean"),
        (SecondMoments(AGES), "mean"),
        (SecondMoments(AGES), "variance"),
        (SecondMoments(AGES), "std"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("rows", [30, 20_000])
def test_intervals_cover_and_are_not_needlessly_wide(measure: Moments, quantity: str, kind: str, rows: int) -> None:
    draws, level = 5_000, 0.9
    k = np.random.default_rng(3).integers(0, 121, rows)
    truth = {"count": rows, "sum": k.sum(), "mean": k.mean(), "variance": k.var(), "std": k.std()}[quantity]
    noise = laplace(measure, 1) if kind == "laplace" else gaussian(measure, 0.5)
    values, low, high = drawn(measure, quantity, summary(measure, [k]), noise, draws, level)
    held = int(holds(low, float(truth), high).sum())
    assert believable(held, draws, level)
    if rows > 1000:
        ideal = np.quantile(np.abs(values - truth), level)
        assert np.mean(high - low) / 2 <= 1.08 * ideal + (quantity == "count")
        # Able to fail: intervals of four fifths of the width would not do.
        centre, half = (low + high) / 2, 0.8 * (high - low) / 2
        assert not believable(int(holds(centre - half, float(truth), centre + half).sum()), draws, level)


def test_the_mean_has_half_the_variance_of_separate_sums() -> None:
    # Sum and count noised with half of epsilon each, centred at the mid-range: the scales are 2 (R/2) and 2.
    measure = FirstMoments(AGES)
    rows = 10_000
    for share in (0.5, 0.9):
        exact = np.array([round(share * 120 * rows), round((1 - share) * 120 * rows)])
        values, _, _ = drawn(measure, "mean", exact, laplace(measure, 1), 4_000, 0.9)
        centred = share - 0.5
        separate = 2 * (120**2) * (1 + (2 * centred) ** 2) / rows**2
        assert np.var(values) == pytest.approx(separate / 2, rel=0.15)


# ------------------------------------------------------------------------------------------------------------ previews


@pytest.mark.parametrize("measure", [FirstMoments(AGES), SecondMoments(AGES)], ids=repr)
def test_previews_need_a_guess_for_ratios_only(measure: Measure) -> None:
    noise = laplace(measure, 1)
    for quantity in measure.quantities:
        without = measure.spread(quantity, noise, rows=None)
        assert (without is None) == (quantity not in ("count", "sum"))
        assert measure.spread(quantity, noise, rows=0) == without
        few, many = (measure.spread(quantity, noise, rows=rows) for rows in (100, 10_000))
        assert few is not None
        assert many is not None
        assert few >= many if without is None else few == many


def test_no_preview_is_beyond_the_range() -> None:
    measure = SecondMoments(AGES)
    noise = laplace(measure, 0.001)
    largest = {"mean": 120, "variance": 3600, "std": 60}
    for quantity, most in largest.items():
        assert measure.spread(quantity, noise, rows=1) == most


def test_intervals_hold_values_that_were_rounded_to_coarser_steps() -> None:
    """With so many rows the noise is nothing to speak of, and rounding is all that is wrong."""
    fine = Axis(0, 2**30, Fraction(1))
    moments = SecondMoments(axis=fine)
    coarse = moments.axes[0]
    assert coarse.grid == 2**14
    values = np.array([7, 8_000, 8_191, 100_000, 24_000], dtype=np.int64)
    steps = (values + 2**13) // 2**14
    summed = np.array([[int(sum(feature)) for feature in zip(*map(moments.features, steps.tolist()), strict=True)]])
    summed *= 10**6
    noise = Noise.laplace(1, moments.sensitivity(ContributionBounds()), 1, 3, ContributionBounds())
    truth = {"sum": 10**6 * values.sum(), "mean": values.mean(), "variance": values.var(), "std": values.std()}
    for quantity, value in truth.items():
        low, high = moments.answer(quantity, summed, noise).ends(0.95)
        assert low[0] <= value <= high[0]
    for quantity in ("sum", "mean"):  # which the same sums, of values on the coarse steps, do not hold
        low, high = SecondMoments(axis=coarse).answer(quantity, summed, noise).ends(0.95)
        assert not low[0] <= truth[quantity] <= high[0]
