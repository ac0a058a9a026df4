"""Distances and moments, worked by hand and against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.utility import compare_eigenvalues, compare_moments, compute_moments, measure_il1s


def read(columns: dict[str, list[float | None]], weights: list[float] | None = None) -> Microdata:
    size = len(next(iter(columns.values())))
    frame = pa.table({**columns, "w": weights or [1.0] * size})
    return read_microdata(frame, roles=Roles(sensitive=list(columns), weight="w"))


def test_il1s_is_the_mean_distance_in_deviations_times_the_root_of_2() -> None:
    data = read({"x": [0, 1, 2, 3], "flat": [5, 5, 5, 5], "y": [10, 10, 30, None]})
    masked = data.replace_columns({"x": pa.array([1, 1, 2, 5]), "y": pa.array([10, None, 20, 7])})
    s_x, s_y = math.sqrt(5 / 3), math.sqrt(400 / 3)
    expected = ((1 + 0 + 0 + 2) / (math.sqrt(2) * s_x) + (0 + 10) / (math.sqrt(2) * s_y)) / 6
    assert measure_il1s(data, masked) == pytest.approx(expected)
    kept = masked.keep_rows(np.array([3, 0]))
    assert measure_il1s(data, kept) == pytest.approx((3 / s_x / math.sqrt(2) + 0) / 3)
    assert math.isnan(measure_il1s(data, data, ["flat"]))


@given(st.integers(0, 2**32 - 1))
def test_moments_without_weights_are_those_of_numpy(seed: int) -> None:
    lot = np.random.default_rng(seed)
    numbers = lot.normal(size=(8, 3))
    found = compute_moments(read(dict(zip("abc", numbers.T.tolist(), strict=True))), ["a", "b", "c"])
    assert np.allclose(found.means, numbers.mean(axis=0))
    assert np.allclose(found.variances, numbers.var(axis=0, ddof=1))
    assert np.allclose(found.correlations, np.corrcoef(numbers.T))


def test_weights_of_records_count_as_so_many_records_in_means() -> None:
    found = compute_moments(read({"x": [1, 4, None]}, [2, 1, 9]), ["x"])
    assert found.means[0] == 2
    # sum w (x - m)^2 = 2 + 4; freedom = 3 - 5 / 3
    assert found.variances[0] == pytest.approx(6 / (3 - 5 / 3))


def test_equal_files_have_no_difference_and_halved_columns_a_known_one() -> None:
    data = read({"x": [0, 2, 4, 6], "y": [1, 0, 0, 1]})
    assert compare_eigenvalues(data, data) == pytest.approx(0)
    assert compare_moments(data, data) == {"means": 0, "variances": 0, "correlations": 0}
    half = data.replace_columns({"x": pa.array([0.0, 1, 2, 3]), "y": pa.array([0.5, 0, 0, 0.5])})
    # Uncorrelated columns: both eigenvalues fall to a quarter, as do the variances.
    assert compare_eigenvalues(data, half) == pytest.approx(0.75)
    found = compare_moments(data, half)
    assert found["variances"] == pytest.approx(0.75)
    assert found["correlations"] == pytest.approx(0)
    assert found["means"] == pytest.approx((1.5 / math.sqrt(20 / 3) + 0.25 / math.sqrt(1 / 3)) / 2)


def test_a_constant_column_divides_by_nothing() -> None:
    data = read({"x": [1, 2, 3], "c": [1, 1, 1]})
    assert math.isnan(compare_eigenvalues(data, data))
    assert compare_moments(data, data)["means"] == 0
    flat = data.replace_columns({"x": pa.array([2, 2, 2])})
    assert compare_moments(data, flat)["variances"] == 1
