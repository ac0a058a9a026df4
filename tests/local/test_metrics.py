"""Errors of counts: against SciPy and NumPy, whatever the order of the keys."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.core.errors import CelosiaError, InputError
from celosia.local.metrics import compare

COUNTS = st.dictionaries(st.integers(0, 30), st.integers(0, 10_000), min_size=3, max_size=30)


@given(COUNTS, st.randoms(use_true_random=False))
def test_errors_are_those_of_other_libraries(true: dict[int, int], random: Any) -> None:
    keys = list(true)
    random.shuffle(keys)
    estimated = {key: true[key] + random.uniform(-50, 50) for key in keys}
    found = compare(true, estimated)
    counts, guesses = [float(true[key]) for key in true], [estimated[key] for key in true]
    assert found.mse == pytest.approx(np.linalg.norm(np.subtract(counts, guesses)) ** 2 / len(true))
    assert found.mean_error == pytest.approx(np.linalg.norm(np.subtract(counts, guesses), ord=1) / len(true))
    assert found.rmse == pytest.approx(math.sqrt(found.mse))
    assert found.total_error == pytest.approx(found.mean_error * len(true))
    assert found.people == sum(true.values())
    assert found.percent_error == pytest.approx(100 * found.mean_error / max(found.people, 1))
    span = max(counts) - min(counts)
    if span:
        assert found.normalized_rmse == pytest.approx(found.rmse / span)
        assert found.root_normalized_mse == pytest.approx(math.sqrt(found.mse / span))
        assert found.normalized_mse == pytest.approx(found.mse / span)
        assert found.pearson == pytest.approx(stats.pearsonr(counts, guesses).statistic, abs=1e-9)


def test_keys_are_aligned_and_not_places() -> None:
    # Sorted by frequency on either side, the two would agree; by key they do not.
    found = compare({"a": 100, "b": 50, "c": 0}, {"b": 100.0, "c": 50.0, "a": 0.0})
    assert found.mean_error == pytest.approx(200 / 3)
    assert found.pearson == pytest.approx(-0.5)


def test_missing_keys_count_as_nothing() -> None:
    found = compare({"a": 5}, {"b": 7})
    assert (found.keys, found.total_error, found.people) == (2, 12.0, 5)
    assert compare({"a": 5}, {"a": 5}, people=50).people == 50


def test_what_has_no_value_is_none() -> None:
    found = compare({"a": 5, "b": 5}, {"a": 5, "b": 6})
    assert found.pearson is found.normalized_rmse is found.root_normalized_mse is found.normalized_mse is None
    json.dumps(found.to_dict(), allow_nan=False)


@given(COUNTS)
def test_groups_hold_every_key_once_and_the_most_frequent_first(true: dict[int, int]) -> None:
    found = compare(true, dict.fromkeys(true, 0))
    assert sum(group.keys for group in found.groups) == len(true)
    assert len(found.groups) == min(10, len(true))
    means = [group.mean_count for group in found.groups]
    assert means == sorted(means, reverse=True)
    whole = sum(group.keys * group.mean_error for group in found.groups)
    assert whole == pytest.approx(found.total_error)
    assert all((group.relative_error is None) == (group.mean_count == 0) for group in found.groups)


def test_a_tenth_of_many_keys_is_a_tenth() -> None:
    true = {key: 1000 - key for key in range(1000)}
    groups = compare(true, {key: count + 1 for key, count in true.items()}).groups
    assert [group.keys for group in groups] == [100] * 10
    assert groups[0].mean_count == np.mean(range(901, 1001))
    assert groups[0].mean_error == 1.0


def test_bad_input() -> None:
    cases: list[tuple[Any, Any]] = [
        ({}, {}),
        ({"a": math.nan}, {}),
        ({"a": 1}, {"a": math.inf}),
        ({"a": 1}, {"a": 1e200}),
    ]
    for true, estimated in cases:
        with pytest.raises(InputError):
            compare(true, estimated)
        with pytest.raises(CelosiaError):
            compare({"a": 1}, {"a": 1}, people=-1)
