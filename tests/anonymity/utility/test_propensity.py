"""The propensity score: nothing for equal files, its largest value for files without overlap, and its expectation."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.utility import measure_propensity


def read(numbers: np.ndarray, names: list[str | None] | None = None) -> Microdata:
    frame = pa.table({"x": numbers, "name": names or ["a"] * len(numbers)})
    return read_microdata(frame, roles=Roles(sensitive=["x", "name"]))


def test_a_binary_column_is_worked_by_hand() -> None:
    # One indicator fits the shares exactly: of the 3 records with b, 1 is original; of the 5 with a, 3 are.
    data = read(np.zeros(4), ["a", "a", "a", "b"])
    masked = data.replace_columns({"name": pa.array(["a", "a", "b", "b"])})
    found = measure_propensity(data, masked)
    expected = (5 * (2 / 5 - 1 / 2) ** 2 + 3 * (2 / 3 - 1 / 2) ** 2) / 8
    assert found.pmse == pytest.approx(expected, rel=1e-3)
    assert found.parameters == 2
    assert found.expected == pytest.approx(1 * (1 / 2) ** 3 / 8)
    assert found.ratio == pytest.approx(expected * 64, rel=1e-3)


def test_equal_files_and_files_apart_have_the_extreme_values() -> None:
    data = read(np.arange(20.0))
    assert measure_propensity(data, data).pmse < 1e-9
    apart = data.replace_columns({"x": pa.array(np.arange(20.0) + 1000)})
    assert measure_propensity(data, apart).pmse == pytest.approx(0.25, abs=1e-3)
    flat = read(np.zeros(3))
    assert measure_propensity(flat, flat).parameters == 1


def test_nulls_and_generalized_columns_are_noticed() -> None:
    data = read(np.arange(20.0), [None, "b"] * 10)
    emptied = data.replace_columns({"name": pa.array(["a", "b"] * 10)})
    assert measure_propensity(data, emptied, ["name"]).pmse > 0.05
    text = data.replace_columns({"x": pa.array(["0-19"] * 20)})
    assert measure_propensity(data, text, ["x"]).pmse > 0.2


def test_independent_samples_have_twice_the_value_that_synthetic_ones_have() -> None:
    """The score statistic is chi-squared: pMSE is (p - 1) c (1 - c) / N on average, which for c = 1/2 is twice that."""
    lot = np.random.default_rng(11)
    ratios = []
    for _ in range(150):
        one, two = lot.normal(size=(2, 400, 4))
        roles = Roles(sensitive=list("abcd"))
        first = read_microdata(pa.table(dict(zip("abcd", one.T, strict=True))), roles=roles)
        second = read_microdata(pa.table(dict(zip("abcd", two.T, strict=True))), roles=roles)
        ratios.append(measure_propensity(first, second).ratio)
    assert abs(np.mean(ratios) - 2) < 5 * np.std(ratios) / np.sqrt(len(ratios))
