"""Errors on the shapes of data that protocols were compared on: exponential and normal integers.

The root mean square error is over values that occur and values that do not, and over several crowds of coins; theory is
the root of the mean of the protocol's own variances. Five hundred errors have a relative standard error of 3 per cent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from celosia import data, local
from celosia.noise import Seeded

RUNS = 8

CASES: list[tuple[str, local.Protocol[Any], int]] = [
    ("exp_distrib_50k", local.CountMeanSketch(epsilon=2, hashes=1024, width=1024, seed=7), 64),
    ("norm_distrib_200k", local.CountMeanSketch(epsilon=4, hashes=1024, width=256, seed=7), 64),
    ("exp_distrib_50k", local.HadamardCountMeanSketch(epsilon=2, hashes=1024, width=1024, seed=7), 64),
    ("norm_distrib_200k", local.HadamardCountMeanSketch(epsilon=4, hashes=1024, width=256, seed=7), 64),
    ("exp_distrib_50k", local.DBitFlip(buckets=64, d=4, epsilon=1, seed=7), 64),
    ("norm_distrib_200k", local.DBitFlip(buckets=64, d=16, epsilon=2, seed=7), 64),
]


def variance(protocol: Any, reports: int, count: float, squares: float) -> float:
    """Return the stated variance; sketches take the others' squared counts too, for collisions."""
    known = {} if isinstance(protocol, local.DBitFlip) else {"squares": squares}
    return float(protocol.variance(reports, count, **known))


def measure_error(name: str, protocol: local.Protocol[Any], size: int) -> float:
    """Return the root mean square error over several runs."""
    values = data.generate(name)["value"].to_numpy()
    true = np.bincount(values, minlength=size)[:size].astype(np.float64)
    found = [
        protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(run))).estimate(np.arange(size)).counts
        for run in range(RUNS)
    ]
    return float(np.sqrt(np.mean((np.array(found) - true) ** 2)))


def expect_error(name: str, protocol: local.Protocol[Any], size: int) -> float:
    """Return the root mean square error that theory says."""
    values = data.generate(name)["value"].to_numpy()
    true = np.bincount(values, minlength=size)[:size].astype(np.float64)
    others = float((true**2).sum())
    theory = [variance(protocol, len(values), count, others - count**2) for count in true.tolist()]
    return float(np.sqrt(np.mean(theory)))


@pytest.mark.parametrize(("name", "protocol", "size"), CASES, ids=lambda case: getattr(type(case), "__name__", ""))
@pytest.mark.sampled(2)
def test_errors_are_those_of_the_theory(name: str, protocol: local.Protocol[Any], size: int) -> None:
    assert measure_error(name, protocol, size) == pytest.approx(expect_error(name, protocol, size), rel=0.1)


def test_a_client_with_another_epsilon_has_other_errors() -> None:
    name, protocol, size = CASES[0]
    seen = measure_error(name, local.CountMeanSketch(epsilon="1.6", hashes=1024, width=1024, seed=7), size)
    assert seen != pytest.approx(expect_error(name, protocol, size), rel=0.1)
