"""The overlap of confidence intervals, against intervals of scipy."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.utility import measure_overlap


def read(x: np.ndarray, y: np.ndarray) -> Microdata:
    return read_microdata(pa.table({"x": x, "y": y}), roles=Roles(sensitive=["x", "y"]))


def test_overlap_is_the_mean_of_the_two_parts() -> None:
    lot = np.random.default_rng(3)
    x = lot.normal(size=30)
    y = 2 * x + lot.normal(size=30)
    z = y + 0.5 * lot.normal(size=30)
    ends = []
    for target in (y, z):
        line = stats.linregress(x, target)
        reach = stats.t.ppf(0.975, 28) * line.stderr
        ends.append((line.slope - reach, line.slope + reach))
    (a, b), (c, d) = ends
    shared = min(b, d) - max(a, c)
    found = measure_overlap(read(x, y), read(x, z), target="y", features=["x"])
    assert found["x"] == pytest.approx((shared / (b - a) + shared / (d - c)) / 2)


def test_intervals_apart_are_negative_and_impossible_ones_are_not_numbers() -> None:
    x = np.arange(10.0)
    y = x + np.array([0.1, -0.1] * 5)
    assert measure_overlap(read(x, y), read(x, -y), target="y", features=["x"])["x"] < 0
    flat = measure_overlap(read(x, y), read(np.ones(10), y), target="y", features=["x"])
    assert all(map(math.isnan, flat.values()))
