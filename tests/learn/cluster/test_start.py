"""Where clustering starts: from the middle of the box, by splitting; all of it from public or noisy numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.learn.cluster.start import (
    PATTERNS,
    box_middle,
    build_patterns,
    choose_directions,
    plan_sizes,
    split_largest,
    swap_centres,
)


@given(st.integers(1, 300), st.integers(1, 5))
def test_centres_at_most_double_until_there_are_enough(clusters: int, refining: int) -> None:
    numbers = plan_sizes(clusters, refining)
    assert numbers[0] == 1
    assert all(a <= b <= 2 * a for a, b in itertools.pairwise(numbers))
    assert numbers.count(clusters) == refining
    assert numbers[-1] == clusters


def test_the_middle_does_not_overflow() -> None:
    assert box_middle(np.array([-1e30]), np.array([1e30])).tolist() == [[0.0]]


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_patterns_have_length_one_and_follow_the_box(half: list[float]) -> None:
    found = build_patterns(np.array(half))
    assert found.shape == (len(half), PATTERNS)
    np.testing.assert_allclose((found**2).sum(axis=0), 1.0)
    np.testing.assert_allclose(np.abs(found), np.abs(found[:, :1]).repeat(PATTERNS, axis=1))


def test_patterns_of_eight_equal_features_are_orthogonal() -> None:
    found = build_patterns(np.ones(8))
    np.testing.assert_allclose(found.T @ found, np.eye(PATTERNS), atol=1e-12)


def test_few_votes_leave_the_first_pattern_and_many_win() -> None:
    half = np.array([1.0, 1.0])
    votes = np.zeros((2, PATTERNS + 2))
    votes[:, 1] = [2.0, 50.0]
    found = choose_directions(votes, 1.0, half)
    assert (found[0] > 0).all()
    assert found[1][0] * found[1][1] < 0


def test_a_short_axis_needs_more_votes_than_a_long_one() -> None:
    votes = np.zeros((1, PATTERNS + 2))
    votes[0, PATTERNS + 1] = 4.5
    assert choose_directions(votes, 1.0, np.array([1.0, 1.0])).tolist() == [[0.0, 1.0]]
    assert choose_directions(votes, 1.0, np.array([1.0, 1e-3])).tolist() != [[0.0, 1.0]]


def test_directions_that_are_sure_are_turned_a_little_all_to_the_same_side() -> None:
    votes = np.zeros((2, PATTERNS + 3))
    votes[0, PATTERNS], votes[1, PATTERNS + 2] = 8.0, 8.0
    half = np.array([1.0, 3.0, 2.0])
    first, last = choose_directions(votes, 1.0, half)
    assert first[0] > first[1] * half[0] / half[1] > 0.2
    assert last.tolist() == [0.0, 0.0, 1.0]  # alone, without a second feature to turn to
    assert np.linalg.norm(first) == pytest.approx(1)


def test_the_largest_are_split() -> None:
    centres = np.array([[0.0], [1.0], [2.0]])
    found = split_largest(centres, np.array([5.0, -1.0, 9.0]), 5, np.full((3, 1), 0.25))
    assert found.tolist() == [[-0.25], [1.0], [1.75], [2.25], [0.25]]
    assert centres.tolist() == [[0.0], [1.0], [2.0]]


def test_centres_are_swapped_only_for_a_clear_gain() -> None:
    for gain, moves in ((0.0, False), (10.0, False), (1000.0, True)):
        centres = np.array([[0.0], [1.0], [5.0], [9.0]])
        found = swap_centres(centres, np.full(4, 20.0), np.array([0.0, 0.0, 0.0, gain]), np.full((4, 1), 0.5))
        assert (found.tolist() != centres.tolist()) is moves
        if moves:
            assert found.tolist() == [[0.5], [9.5], [5.0], [8.5]]


def test_negative_counts_do_no_harm() -> None:
    centres = np.array([[0.0], [1.0], [5.0]])
    found = swap_centres(centres, np.array([-30.0, -2.0, 60.0]), np.array([0.0, 0.0, 500.0]), np.full((3, 1), 0.5))
    assert np.isfinite(found).all()
