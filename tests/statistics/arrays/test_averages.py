"""Sum and mean of arrays: exact sums, the noise of the textbook or better, errors as promised, privacy kept."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia
from celosia.core import (
    AddRemove,
    ApproxDP,
    ConformanceError,
    GaussianEvent,
    InputError,
    LaplaceEvent,
    ParameterError,
    PureDP,
    ReplaceOne,
)
from celosia.noise import Seeded
from celosia.statistics.arrays.averages import mean, sum  # noqa: A004 - the field's word
from celosia.testing import check_mechanism
from tests.statistics.coverage import believable
from tests.statistics.function_mechanism import FunctionMechanism

SURE = 50_000  # an epsilon at which the noise is hardly anything
AGES = np.random.default_rng(1).integers(0, 121, 1_000)


# -------------------------------------------------------------------------------------------------------------- answers


@given(st.lists(st.integers(-300, 300), min_size=1), st.sampled_from([AddRemove, ReplaceOne]))
def test_sums_and_means_of_clipped_values(values: list[int], adjacency: Any) -> None:
    array = np.array(values)
    clipped = np.clip(array, -50, 120)
    total = sum(array, bounds=(-50, 120), epsilon=SURE, adjacency=adjacency).value
    assert total == pytest.approx(clipped.sum(), abs=0.1)
    middle = mean(array, bounds=(-50, 120), epsilon=SURE, adjacency=adjacency).value
    assert middle == pytest.approx(clipped.mean(), abs=0.1)


def test_whole_numbers_stay_whole() -> None:
    release = sum(AGES, bounds=(0, 120), epsilon=1, source=Seeded(1))
    assert isinstance(release.value, int)
    assert release.event == LaplaceEvent(scale=120, sensitivity=120)
    assert isinstance(sum(AGES.astype(float), bounds=(0, 120), epsilon=1).value, float)
    assert isinstance(sum(AGES.astype(float), bounds=(0, 120), epsilon=1, grid=1).value, int)


def test_every_library_gives_the_same() -> None:
    values = AGES.tolist()
    expected = mean(AGES, (0, 120), 1, source=Seeded(2))
    for array in (pd.Series(values), pl.Series(values), pa.array(values)):
        assert mean(array, (0, 120), 1, source=Seeded(2)) == expected
    real = mean(AGES.astype(float), (0, 120), 1, source=Seeded(2))
    assert mean(values, (0, 120), 1, source=Seeded(2)) == real


def test_the_null_rule() -> None:
    array = [10, None, 30, math.nan, math.inf]
    assert mean(array, (0, 100), SURE).value == pytest.approx(20, abs=0.1)
    assert mean(array, (0, 100), SURE, null=100).value == pytest.approx(68, abs=0.1)
    assert sum(array, (0, 100), SURE).value == pytest.approx(40, abs=0.1)
    assert sum(array, (0, 100), SURE, null="0.5").value == pytest.approx(41.5, abs=0.1)


def test_nothing_has_the_middle_of_the_range_for_a_mean() -> None:
    for adjacency in (AddRemove, ReplaceOne):
        release = mean([], (10, 30), SURE, adjacency=adjacency)
        assert 10 <= release.value <= 30
        assert mean(np.array([], dtype=int), (10, 30), 1, adjacency=adjacency).confidence_interval(0.999) == (10, 30)
        assert sum([], (10, 30), SURE, adjacency=adjacency).value == pytest.approx(0, abs=0.1)


def test_reals_are_rounded_so_finely_that_nobody_notices() -> None:
    rng = np.random.default_rng(3)
    values = rng.uniform(-1, 1, 10_000)
    release = sum(values, (-1, 1), epsilon=SURE)
    assert release.value == pytest.approx(values.sum(), abs=2e-3)  # the noise: 1 / epsilon = 2e-5, and rounding
    event: Any = release.event
    assert event.scale * Fraction(1, 2**29) == pytest.approx(1 / SURE)  # the ideal scale and no more


def test_extreme_values_are_clipped() -> None:
    array = np.array([2**63 - 1, -(2**63), 5])
    assert sum(array, (0, 10), SURE).value == 15
    assert sum([10**400, -(10**400), 5], (0, 10), SURE).value == pytest.approx(15, abs=0.1)
    assert sum(np.array([1e308, -1e308, 5]), (0, 10), SURE).value == pytest.approx(15, abs=0.1)


# ---------------------------------------------------------------------------------------------------------------- noise


def test_the_price_of_each() -> None:
    assert mean(AGES, (0, 120), 1).event == LaplaceEvent(scale=120, sensitivity=120, dimension=2)
    assert sum(AGES, (-200, 120), 1).event == LaplaceEvent(scale=200, sensitivity=200)
    assert mean(AGES, (0, 120), 1, method="half-half").event == LaplaceEvent(scale=240, sensitivity=240, dimension=2)
    public = LaplaceEvent(scale=240, sensitivity=240, adjacency=ReplaceOne)  # half steps: the range is 120
    assert mean(AGES, (0, 120), 1, adjacency=ReplaceOne).event == public
    assert sum(AGES, (0, 120), 1, adjacency=ReplaceOne).event == public


def test_dropping_rows_makes_their_number_private_again() -> None:
    reals = AGES.astype(float)  # one of which could be NaN
    private = mean(reals, (0, 120), 1, adjacency=ReplaceOne, grid=1)
    assert private.event == LaplaceEvent(scale=240, sensitivity=240, dimension=2, adjacency=ReplaceOne)
    total = sum(reals, (50, 120), 1, adjacency=ReplaceOne, grid=1)
    assert total.event == LaplaceEvent(
        scale=120, sensitivity=120, adjacency=ReplaceOne
    )  # a row can go from 120 to none
    imputed = mean(reals, (0, 120), 1, adjacency=ReplaceOne, grid=1, null=60)
    assert imputed.event == LaplaceEvent(scale=240, sensitivity=240, adjacency=ReplaceOne)


def test_with_a_delta_gaussian_noise_where_it_is_better() -> None:
    release = mean(AGES, (0, 120), "0.2", delta="0.05", adjacency=ReplaceOne, source=Seeded(1))
    tried = mean(AGES, (0, 120), "0.2", adjacency=ReplaceOne, source=Seeded(1))
    assert isinstance(release.event, GaussianEvent | LaplaceEvent)
    widths = [high - low for low, high in (release.confidence_interval(), tried.confidence_interval())]
    assert widths[0] <= widths[1]
    large = sum(AGES, (0, 120), 8, delta="0.2")
    assert large.guarantee in (PureDP(epsilon=8), ApproxDP(epsilon=8, delta="0.2"))


@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne], ids=repr)
@pytest.mark.parametrize("method", ["joint", "half-half"])
def test_intervals_cover(method: Any, adjacency: Any) -> None:
    draws, level = 200, 0.8
    source = Seeded(4)
    truth, held = AGES.mean(), 0
    for _ in range(draws):
        release = mean(AGES, (0, 120), "0.5", method=method, adjacency=adjacency, source=source)
        low, high = release.confidence_interval(level)
        assert 0 <= low <= release.value <= high <= 120
        held += low <= truth <= high
    assert believable(held, draws, level)
    assert held < 0.92 * draws  # and not because they are wide


def test_the_mean_age_is_within_a_tenth_of_a_year() -> None:
    ages = celosia.data.deaths()["age"].to_numpy()[:100_000]
    source = Seeded(6)
    errors = [abs(mean(ages, bounds=(0, 120), epsilon=1, source=source).value - ages.mean()) for _ in range(100)]
    assert np.mean(np.array(errors) < 0.1) > 0.95
    assert max(errors) < 0.02  # far within: noise of 120 / epsilon over 100,000 rows


def test_the_textbooks_mean_is_worse() -> None:
    source = Seeded(7)
    joint = [mean(AGES, (0, 120), 1, source=source).value for _ in range(300)]
    worse = [mean(AGES, (0, 120), 1, method="half-half", source=source).value for _ in range(300)]
    assert np.var(worse) > 2 * np.var(joint)


# -------------------------------------------------------------------------------------------------------------- privacy


@settings(max_examples=50)
@given(st.lists(st.one_of(st.floats(), st.integers(), st.none(), st.text(max_size=3)), max_size=5))
def test_what_is_run_does_not_depend_on_the_data(items: list[Any]) -> None:
    for function in (sum, mean):
        assert function(items, (0, 10), 1).event == function([], (0, 10), 1).event


@pytest.mark.parametrize(
    ("function", "pair", "terms"),
    [
        (mean, (np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0])), {"grid": 1}),
        (mean, (np.array([0.0, 1.0]), np.array([0.0, np.nan])), {"grid": 1, "adjacency": ReplaceOne}),
        (mean, (np.array([0, 1]), np.array([0, 0])), {"adjacency": ReplaceOne}),
        (mean, (np.array([1.0, 1.0]), np.array([1.0])), {"grid": 1, "method": "half-half"}),
        (sum, (np.array([0, 1, 1]), np.array([0, 1])), {}),
    ],
)
@pytest.mark.sampled(2)
def test_the_guarantee_is_kept(function: Any, pair: Any, terms: Any) -> None:
    mechanism = FunctionMechanism(function, pair[0], bounds=(0, 1), epsilon=1, **terms)
    report = check_mechanism(mechanism, [pair], samples=1_000, processes=2)
    assert report.lower_bound <= 1


def test_a_sum_that_forgets_that_rows_are_replaced_is_caught() -> None:
    def forgetful(array: Any, *, source: Any = None) -> Any:
        release = sum(array, bounds=(-1, 1), epsilon=2, source=source)  # noised for an added row
        guarantee = PureDP(epsilon=2, adjacency=ReplaceOne)
        event = LaplaceEvent(scale="1/2", sensitivity=1, adjacency=ReplaceOne)
        return type(release)(value=release.value, event=event, guarantee=guarantee, seeded=release.seeded)

    pair = (np.array([0, 1]), np.array([0, -1]))
    with pytest.raises(ConformanceError, match="sampling"):
        check_mechanism(FunctionMechanism(forgetful, pair[0]), [pair], samples=1_000, processes=2)


# ------------------------------------------------------------------------------------------------------------ bad input


def test_parameters_without_a_meaning_are_refused() -> None:
    function_cases: list[Any] = [sum, mean]
    terms_cases: list[Any] = [
        {"bounds": (120, 0)},
        {"bounds": (0, math.inf)},
        {"bounds": 120},
        {"bounds": None},
        {"epsilon": 0},
        {"epsilon": math.nan},
        {"epsilon": "x"},
        {"delta": 2},
        {"grid": 0},
        {"grid": "1e-12"},
        {"null": 500},
        {"null": None},
        {"adjacency": "nearby"},
        {"unit": ""},
    ]
    for function in function_cases:
        for terms in terms_cases:
            with pytest.raises(ParameterError):
                function(AGES, **({"bounds": (0, 120), "epsilon": 1} | terms))


def test_the_method_is_one_of_two() -> None:
    cases: list[Any] = ["textbook", None, 1]
    for method in cases:
        with pytest.raises(ParameterError, match=r"^method must be "):
            mean(AGES, (0, 120), 1, method=method)


def test_what_is_no_column_is_refused_without_quoting_it() -> None:
    for array in ("987654", {987654}, np.array([[987654]]), np.array([987654j])):
        with pytest.raises(InputError) as caught:
            mean(array, (0, 120), 1)
        assert "987654" not in str(caught.value)


def test_bounds_are_required() -> None:
    with pytest.raises(TypeError, match="bounds"):
        mean(AGES, epsilon=1)  # type: ignore[call-arg]
