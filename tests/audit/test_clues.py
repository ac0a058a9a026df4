"""Clues are read off the draws and say in words what they mean."""

from __future__ import annotations

import numpy as np

from celosia.audit.clues import Clue, low_order_clues, ordinary_clues
from celosia.audit.draws import Draws, gather


def named(clues: list[Clue], words: str) -> Clue:
    return next(clue for clue in clues if clue.words == words)


def count(clue: Clue, draws: Draws) -> int:
    return int(clue.holds(draws).sum())


def test_thresholds_equalities_and_parity_of_whole_numbers() -> None:
    first, second = gather([0, 0, 1]), gather([1, 2, 2])
    clues = ordinary_clues(first, second, 0, 1)
    assert count(named(clues, "output >= 1"), first) == 1
    assert count(named(clues, "output <= 1"), second) == 1
    assert count(named(clues, "output = 2"), second) == 2
    assert count(named(clues, "output mod 2 >= 1"), first) == 1


def test_conjunctions_hold_where_both_do() -> None:
    draws = gather([0, 1, 2, 3])
    clues = ordinary_clues(draws, draws, 0, 1)
    both = named(clues, "output >= 1").both(named(clues, "output <= 2"))
    assert both.holds(draws).tolist() == [False, True, True, False]
    assert both.words == "output >= 1 and output <= 2"


def test_the_coordinates_in_which_the_inputs_differ_are_looked_at() -> None:
    a, b = np.zeros(50), np.zeros(50)
    b[40] = 1
    first = gather(np.arange(100).reshape(2, 50))
    words = {clue.words.partition(" ")[0] for clue in ordinary_clues(first, first, a, b)}
    assert {"output[0]", "output[40]"} <= words
    assert "output[30]" not in words


def test_projection_counts_what_was_not_said_as_zero() -> None:
    draws = gather([np.array([True]), np.array([True, True])])
    clue = named(ordinary_clues(draws, draws, [0, 0], [1, -1]), "output along the neighbours' difference >= 1")
    assert clue.holds(draws).tolist() == [True, False]


def test_length_and_last_entry_of_sequences() -> None:
    draws = gather([np.array([5]), np.array([7, 3])])
    clues = ordinary_clues(draws, draws, [0, 0], [1, 1])
    assert named(clues, "length >= 2").holds(draws).tolist() == [False, True]
    assert named(clues, "last entry >= 5").holds(draws).tolist() == [True, False]


def test_labels_are_compared_by_equality_only() -> None:
    draws = gather(["yes", "no"])
    assert {clue.words for clue in ordinary_clues(draws, draws, "yes", "no")} >= {"output = 'yes'", "output = 'no'"}


def test_low_order_bits_of_floats() -> None:
    draws = gather([0.5, 0.1, 2.0**-60, 0.0, -(2.0**-53), 3.0])
    clues = low_order_clues(draws, draws, 0.0, 1.0)
    assert named(clues, "output a multiple of 2^-10").holds(draws).tolist() == [True, False, False, True, False, True]
    assert named(clues, "output not a multiple of 2^-53").holds(draws).tolist() == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]
    event = named(clues, "|output| < 1/4 and not a multiple of 2^-53")
    assert event.holds(draws).tolist() == [False, True, True, False, False, False]
    back = named(clues, "(output - 1.0) + 1.0 = output <= 0")
    assert back.holds(draws).tolist() == [False, True, True, False, True, False]


def test_whole_numbers_have_no_low_order_bits() -> None:
    assert low_order_clues(gather([1, 2]), gather([1, 2]), 0, 1) == []


def test_infinities_and_missing_coordinates_do_no_harm() -> None:
    draws = gather([np.array([np.inf, -np.inf]), np.array([np.nan]), np.array([1.5, 2.5])])
    for clue in ordinary_clues(draws, draws, [0, 0], [1, 1]) + low_order_clues(draws, draws, [0, 0], [1, 1]):
        assert clue.holds(draws).shape == (3,)
