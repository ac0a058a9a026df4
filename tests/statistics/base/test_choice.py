"""What choices share: how a budget is divided, what is said to have been run, and which counts are taken."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import basic, rho
from celosia.core import (
    AddRemove,
    ExponentialEvent,
    InputError,
    ParameterError,
    PermuteAndFlipEvent,
    PureDP,
    RepeatedEvent,
    ReplaceOne,
)
from celosia.data.schema.axis import Axis
from celosia.noise import Seeded
from celosia.statistics import Choice, ContributionBounds, Mode, Quantiles, TopK
from celosia.statistics.base.choice import (
    choose_largest,
    count_rate,
    gap_at_most,
    make_guarantee,
    selection_epsilon,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHOICES: list[Choice] = [
    Mode(candidates=4),
    TopK(candidates=4, k=3),
    Quantiles(axis=Axis(0, 3, Fraction(1)), quantiles=("1/4", "1/2", "3/4", "1")),
]
BOUNDINGS = [
    ContributionBounds(),
    ContributionBounds(groups=3, rows=2, cells=7, unit="person"),
    ContributionBounds(groups=2, rows=5, cells=2, adjacency=ReplaceOne),
]


def test_what_is_run_costs_exactly_the_epsilon_that_was_given() -> None:
    pure_cases: list[bool] = [True, False]
    for pure in pure_cases:
        for bounding in BOUNDINGS:
            for choice in CHOICES:
                event = choice.event("0.7", bounding, pure=pure)
                assert (event.adjacency, event.unit) == (bounding.adjacency, bounding.unit)
                assert basic(event) == (Fraction(7, 10), Fraction(0))
                assert make_guarantee("0.7", None, bounding) == PureDP(
                    epsilon="0.7", adjacency=bounding.adjacency, unit=bounding.unit
                )
                once = event.event if isinstance(event, RepeatedEvent) else event
                times = event.times if isinstance(event, RepeatedEvent) else 1
                assert times == bounding.groups * choice.parts(bounding, pure=pure)
                flips = pure and not isinstance(choice, Quantiles)
                assert type(once) is (PermuteAndFlipEvent if flips else ExponentialEvent)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_what_is_run_costs_no_more_than_the_rho_that_was_given(choice: Choice, bounding: ContributionBounds) -> None:
    assert Fraction("0.0299999") < rho(choice.event(None, bounding, rho="0.03")) <= Fraction("0.03")


@given(times=st.integers(1, 100), budget=st.fractions(min_value=Fraction(1, 1000), max_value=10))
def test_selections_share_a_budget(times: int, budget: Fraction) -> None:
    each = selection_epsilon(None, budget, times)
    assert budget * Fraction(999_999, 1_000_000) < times * each**2 / 8 <= budget
    assert selection_epsilon(budget, None, times) == budget / times


def test_a_budget_is_said_once() -> None:
    cases: list[tuple[int | None, int | None]] = [(None, None), (1, 1)]
    for one, other in cases:
        with pytest.raises(ParameterError, match="exactly one of epsilon and rho"):
            selection_epsilon(one, other, 1)
        with pytest.raises(ParameterError, match="exactly one of epsilon and rho"):
            make_guarantee(one, other, ContributionBounds())


def test_an_epsilon_that_makes_no_sense_is_refused() -> None:
    wrong_cases: list[Any] = [0, -1, math.nan, "much", True, 2**17]
    for wrong in wrong_cases:
        for choice in CHOICES:
            counts = np.ones((1, 4), dtype=np.int64)
            with pytest.raises(ParameterError, match="epsilon must be"):
                choice.event(wrong, ContributionBounds())
            with pytest.raises(ParameterError, match="epsilon must be"):
                choice.release(counts, wrong, ContributionBounds())
            if wrong != 2**17:
                with pytest.raises(ParameterError, match="rho must be"):
                    choice.event(None, ContributionBounds(), rho=wrong)


def test_a_row_counts_fully_only_where_counts_move_together() -> None:
    assert count_rate(Fraction(1), ContributionBounds(rows=3, adjacency=AddRemove)) == Fraction(1, 3)
    assert count_rate(Fraction(1), ContributionBounds(rows=3, adjacency=ReplaceOne)) == Fraction(1, 6)


def test_the_gap_is_mcsherry_and_talwars() -> None:
    assert gap_at_most(10, 0.05, Fraction(1, 2)) == pytest.approx(2 * math.log(200))
    assert math.isfinite(gap_at_most(10, 0.05, Fraction(1, 2**1020)))


def test_counts_must_be_a_table_of_whole_numbers() -> None:
    counts_cases: list[NDArray[np.int64]] = [
        np.array([[1, 2, 3]]),
        np.array([1, 2, 3, 4]),
        np.array([[1.0, 2.0, 3.0, 4.0]]),
        np.array([["a", "b", "c", "d"]]),
    ]
    for choice in CHOICES:
        for counts in counts_cases:
            with pytest.raises(InputError, match="a table of integers with 4 columns"):
                choice.release(counts, 1, ContributionBounds())


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("dtype", [np.int32, np.uint64, object])
def test_counts_may_be_whole_numbers_of_any_type(choice: Choice, dtype: type) -> None:
    counts = np.array([[3, 50, 20, 9]], dtype=np.int64)
    expected = choice.release(counts, 1, ContributionBounds(), source=Seeded(1)).value.tolist()
    assert choice.release(counts.astype(dtype), 1, ContributionBounds(), source=Seeded(1)).value.tolist() == expected


def test_counts_beyond_all_words_are_clipped() -> None:
    counts = np.array([[3, 2**70, 1, 0]], dtype=object)
    assert Mode(candidates=4).release(counts, 1, ContributionBounds()).value.tolist() == [1]
    assert Mode(candidates=2).release(
        np.array([[2**64 - 1, 0]], dtype=np.uint64), 1, ContributionBounds()
    ).value.tolist() == [0]


@pytest.mark.parametrize("choice", CHOICES)
def test_choices_have_no_interval_and_are_repeatable(choice: Choice) -> None:
    counts = np.array([[3, 5, 2, 9]] * 20)
    first, second = (choice.release(counts, "0.1", ContributionBounds(cells=20), source=Seeded(2)) for _ in range(2))
    assert first.interval is None
    assert first.value.tolist() == second.value.tolist()
    assert (
        choice.release(counts, "0.1", ContributionBounds(cells=20), source=Seeded(3)).value.tolist()
        != first.value.tolist()
    )


def test_the_largest_is_chosen_by_either_mechanism() -> None:
    counts = np.array([[10, 500, 20]])
    for flips in (True, False):
        assert choose_largest(counts, Fraction(1), flips=flips, source=Seeded(1)).tolist() == [1]
