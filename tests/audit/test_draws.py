"""Outputs of every shape become numbers, lengths and keys."""

from __future__ import annotations

import numpy as np
import pytest

from celosia.audit import gather, repeat
from celosia.core import ParameterError
from celosia.noise import Seeded


def test_equal_outputs_have_equal_keys_and_no_others() -> None:
    cases: list[object] = [
        [3, 1, 3],
        [0.5, -0.0, 0.5],
        [True, False, True],
        ["yes", "no", "yes"],
        [2**80, 1, 2**80],
        [np.int64(3), np.int64(1), np.int64(3)],
        np.array([3, 1, 3]),
        np.array([[1.5, 2.0], [0.0, 1.0], [1.5, 2.0]]),
        np.array(["yes", "no", "yes"]),
        [np.array([1, 2]), np.array([3, 4]), np.array([1, 2])],
        [np.array([True]), np.array([False, True]), np.array([True])],
        [(None, 4), (None, None), (None, 4)],
        [["a", "b"], ["b", "a"], ["a", "b"]],
        [np.zeros(0), np.ones(2), np.zeros(0)],
    ]
    for outputs in cases:
        keys = gather(outputs).keys
        assert len(keys) == 3
        assert keys[0] == keys[2] != keys[1]


def test_numbers_are_padded_where_a_sequence_stopped() -> None:
    draws = gather([np.array([True]), np.array([False, True])])
    assert draws.lengths.tolist() == [1, 2]
    assert np.array_equal(draws.numbers, np.array([[1.0, np.nan], [0.0, 1.0]]), equal_nan=True)


def test_a_stop_is_not_a_zero() -> None:
    first, second = gather([np.array([0]), np.array([0, 0])]).keys
    assert first != second


def test_the_same_output_has_the_same_key_in_an_array_and_in_a_list() -> None:
    assert np.array_equal(gather([4, 5]).keys, gather(np.array([4, 5])).keys)
    assert np.array_equal(gather([np.array([True, False])]).keys, gather(np.array([[True, False]])).keys)


def test_whole_numbers_and_floats_are_told_apart() -> None:
    assert gather([4]).keys[0] != gather([4.0]).keys[0]
    assert gather([0.0]).keys[0] != gather([-0.0]).keys[0]
    assert len(set(gather([4, 4.0]).keys.tolist())) == 2


def test_large_integers_keep_their_last_bit() -> None:
    first, second = gather([2**62, 2**62 + 1]).keys
    assert first != second


def test_keys_do_not_collide() -> None:
    grid = np.indices((300, 300)).reshape(2, -1).T
    assert np.unique(gather(grid).keys).size == 90_000


def test_parts_and_texts() -> None:
    draws = gather(np.arange(10)).part(4, 7)
    assert len(draws) == 3
    assert draws.show(0) == "4"
    assert len(gather(np.arange(200).reshape(1, -1)).show(0)) == 60


def test_what_holds_no_outputs_is_refused() -> None:
    cases: list[object] = [[], 5, None]
    for outputs in cases:
        with pytest.raises(ParameterError, match="outputs"):
            gather(outputs)


def test_functions_are_repeated_with_the_source() -> None:
    words = repeat(lambda value, source: (value, source.word()))(5, 3, Seeded(0))
    again = Seeded(0)
    assert words == [(5, again.word()) for _ in range(3)]
