"""Counts and histograms of arrays: what is counted, what it costs, and what is refused."""

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia
from celosia.core import ConformanceError, LaplaceEvent, ParameterError, PureDP, ReplaceOne
from celosia.noise import Seeded
from celosia.statistics.arrays.counting import count, count_distinct, histogram
from celosia.testing import check_mechanism
from tests.statistics.function_mechanism import FunctionMechanism

SURE = 50_000  # an epsilon at which the noise is nothing


def test_what_is_missing_does_not_count() -> None:
    for array in (
        [1, None, "a", math.nan, math.inf, 2.5],
        pd.Series([1.0, None, 2.0, np.nan, 3.0]),
        pl.Series([1, None, 2, 3]),
        pa.array(["a", None, "b", "c"]),
        np.array([1.0, np.nan, -np.inf, 2, 3]),
    ):
        assert count(array, epsilon=SURE).value == 3
    assert count(np.array([1, 2, 3]), SURE).value == 3
    assert count([], SURE).value == 0


def test_different_values_count_once() -> None:
    assert count_distinct(["U071", "E10", None, "U071"], SURE).value == 2
    assert count_distinct(np.array([3, 3, 1, 2]), SURE).value == 3
    assert count_distinct(np.array([0.0, -0.0, np.nan, np.nan]), SURE).value == 1
    assert count_distinct(pd.Series(["a", "b", "a"], dtype="category"), SURE).value == 2
    assert count_distinct([], SURE).value == 0


def test_one_row_costs_one_step() -> None:
    for function in (count, count_distinct):
        release = function([1, 2], epsilon="0.5", source=Seeded(1))
        assert release.event == LaplaceEvent(scale=2, sensitivity=1)
        assert release.guarantee == PureDP(epsilon="0.5")
        low, high = release.confidence_interval(0.95)
        assert high - low == 2 * 6
        assert release.value == (low + high) / 2
    replaced = count_distinct([1, 2], epsilon=1, adjacency=ReplaceOne)
    assert replaced.event == LaplaceEvent(scale=1, sensitivity=1, adjacency=ReplaceOne)


def test_the_textbooks_count() -> None:
    # 108 deaths of minors by diabetes, with noise of scale 1 / epsilon: within 3 in 95 of 100.
    values = [count(np.zeros(108), epsilon=1, source=Seeded(seed)).value for seed in range(400)]
    assert np.mean(np.abs(np.array(values) - 108) <= 3) > 0.93


@given(st.lists(st.floats(-50, 200, allow_nan=False)))
def test_bins_are_numpys_but_for_what_is_beyond(values: list[float]) -> None:
    edges = [0, 18, 65.5, 120]
    release = histogram(np.array(values), epsilon=SURE, edges=edges)
    assert release.value.tolist() == np.histogram(np.clip(values, 0, 120), edges)[0].tolist()


def test_bins_follow_the_null_rule() -> None:
    ages = [3, None, 34, math.nan, 71]
    assert histogram(ages, SURE, edges=[0, 18, 65, 120]).value.tolist() == [1, 1, 1]
    assert histogram(ages, SURE, edges=[0, 18, 65, 120], null=20).value.tolist() == [1, 3, 1]


def test_categories_follow_the_null_rule() -> None:
    codes = ["E10", "U071", None, "X", "U071"]
    assert histogram(codes, SURE, categories=["U071", "E10", "I21"]).value.tolist() == [2, 1, 0]
    assert histogram(codes, SURE, categories=["U071", "E10"], null="E10").value.tolist() == [2, 3]
    assert histogram(pl.Series([1, 2, 2]), SURE, categories=[2, 1]).value.tolist() == [2, 1]


def test_a_histogram_costs_what_a_count_does() -> None:
    release = histogram([1, 2], epsilon=1, edges=range(11))
    assert release.event == LaplaceEvent(scale=1, sensitivity=1, dimension=10)
    replaced = histogram([1, 2], epsilon=1, edges=range(11), adjacency=ReplaceOne)
    assert replaced.event == LaplaceEvent(scale=2, sensitivity=2, dimension=10, adjacency=ReplaceOne)


def test_the_histogram_of_the_bundled_ages() -> None:
    ages = celosia.data.deaths()["age"]
    edges = [0, 18, 40, 65, 120]
    release = histogram(ages, epsilon=1, edges=edges, source=Seeded(5))
    truth = np.histogram(ages.to_numpy(), edges)[0]
    low, high = release.confidence_interval(0.9999)
    assert ((low <= truth) & (truth <= high)).all()
    assert (np.abs(release.value - truth) < 20).all()


# -------------------------------------------------------------------------------------------------------------- privacy


@pytest.mark.parametrize(
    ("function", "pair", "terms"),
    [
        (count, (np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0])), {}),
        (count_distinct, (np.array([1.0, 2.0]), np.array([1.0, 1.0])), {"adjacency": ReplaceOne}),
        (histogram, (np.array([1.0, 5.0]), np.array([1.0])), {"edges": [0, 2, 4, 6]}),
        (histogram, (np.array([1.0, 5.0]), np.array([1.0, 1.0])), {"edges": [0, 4, 6], "adjacency": ReplaceOne}),
    ],
)
def test_the_guarantee_is_kept(function: Any, pair: Any, terms: Any) -> None:
    mechanism = FunctionMechanism(function, pair[0], epsilon=1, **terms)
    report = check_mechanism(mechanism, [pair], samples=1_000, processes=2)
    assert report.lower_bound <= 1


def test_a_histogram_that_forgets_the_second_bin_is_caught() -> None:
    def forgetful(array: Any, *, source: Any = None) -> Any:
        release = histogram(array, epsilon=2, edges=[0, 4, 6], source=source)  # noised for an added row
        guarantee = PureDP(epsilon=2, adjacency=ReplaceOne)
        event = LaplaceEvent(scale="1/2", sensitivity=1, dimension=2, adjacency=ReplaceOne)
        return type(release)(value=release.value, event=event, guarantee=guarantee, seeded=release.seeded)

    pair = (np.array([1.0, 5.0]), np.array([1.0, 1.0]))
    with pytest.raises(ConformanceError, match="sampling"):
        check_mechanism(FunctionMechanism(forgetful, pair[0]), [pair], samples=1_000, processes=2)


# ------------------------------------------------------------------------------------------------------------ bad input


def test_edges_are_numbers_in_increasing_order() -> None:
    cases: list[Any] = [
        [],
        [1],
        [1, 1],
        [2, 1],
        [0, math.nan],
        [0, math.inf],
        "012",
        5,
        [0, None],
        [0, True],
        [0, 1e-400, 1],
        ["a", "b"],
    ]
    for edges in cases:
        with pytest.raises(ParameterError):
            histogram([1, 2], epsilon=1, edges=edges)


def test_categories_are_texts_or_whole_numbers() -> None:
    cases: list[Any] = [[], ["a", "a"], ["a", 1], [1.5], [None]]
    for categories in cases:
        with pytest.raises(ParameterError):
            histogram(["a"], epsilon=1, categories=categories)


def test_bins_or_categories() -> None:
    cases: list[Any] = [{}, {"edges": [0, 1], "categories": ["a"]}]
    for how in cases:
        with pytest.raises(ParameterError, match=r"^Give either edges"):
            histogram([1], epsilon=1, **how)


def test_a_null_rule_has_a_meaning() -> None:
    cases: list[Any] = [math.nan, "many", None, True]
    for null in cases:
        with pytest.raises(ParameterError, match="null"):
            histogram([1], epsilon=1, edges=[0, 1], null=null)
        with pytest.raises(ParameterError, match="null"):
            histogram(["a"], epsilon=1, categories=["a"], null=null)
