"""Ranges and quantiles: standard errors that are the true ones, and distribution functions that rise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core.errors import CelosiaError, InputError, ParameterError
from celosia.local.ranges.hierarchical_histogram import HierarchicalHistogram
from celosia.noise import Seeded

if TYPE_CHECKING:
    from celosia.local.ranges.estimate import RangeEstimate

RUNS = 120


def runs(protocol: HierarchicalHistogram, values: Any, count: int = RUNS) -> list[RangeEstimate]:
    return [
        protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))).estimate() for seed in range(count)
    ]


@pytest.mark.parametrize("oracle", ["unary", "hadamard"])
@pytest.mark.parametrize(("domain", "fanout", "epsilon"), [(64, None, 1), (20, 3, 4), (4, 4, 2)])
@pytest.mark.sampled(2)
def test_standard_errors_are_the_true_ones(oracle: Any, domain: int, fanout: int | None, epsilon: int) -> None:
    protocol = HierarchicalHistogram(domain=domain, epsilon=epsilon, fanout=fanout, oracle=oracle)
    values = (np.random.default_rng(5).beta(1, 4, 4_000) * domain).astype(np.int64)
    true = np.bincount(values, minlength=domain)
    found = runs(protocol, values)
    for low, high in ((0, domain // 4), (domain // 3, domain // 2), (1, domain - 2)):
        ranges = [estimate.range(low, high) for estimate in found]
        errors = np.array([(r.count - true[low : high + 1].sum()) / r.standard_error for r in ranges])
        assert abs(errors.mean()) < 4.5 / math.sqrt(RUNS)
        assert 0.75 < errors.std() < 1.3
    leaves = np.array([(estimate.counts - true) / estimate.standard_errors for estimate in found])
    assert math.sqrt(float((leaves**2).mean())) == pytest.approx(1, abs=0.1)


def test_long_ranges_are_better_than_sums_of_buckets() -> None:
    protocol = HierarchicalHistogram(domain=1000, epsilon=1)
    estimate = runs(protocol, np.arange(5_000) % 1000, 1)[0]
    alone = math.sqrt(float((estimate.standard_errors[100:900] ** 2).sum()))
    assert estimate.range(100, 899).standard_error < alone / 4
    everyone = estimate.range(0, 999)
    assert everyone.count == pytest.approx(5000)
    assert everyone.standard_error == pytest.approx(0, abs=1e-3)
    assert estimate.counts.sum() == pytest.approx(5000)


@pytest.mark.parametrize("oracle", ["unary", "hadamard"])
def test_quantiles_are_between_their_bounds(oracle: Any) -> None:
    protocol = HierarchicalHistogram(domain=200, epsilon=2, oracle=oracle)
    values = np.random.default_rng(2).normal(100, 20, 8_000).clip(0, 199).astype(np.int64)
    found = runs(protocol, values, 40)
    for share in (0.1, 0.5, 0.9):
        true = int(np.quantile(values, share, method="inverted_cdf"))
        assert abs(float(np.mean([estimate.quantile(share) for estimate in found])) - true) < 5
        bounds = [estimate.quantile_interval(share, 0.95) for estimate in found]
        assert sum(low <= true <= high for low, high in bounds) >= 32
        assert all(low <= high for low, high in bounds)


def test_the_distribution_function_rises_to_one() -> None:
    estimate = runs(HierarchicalHistogram(domain=50, epsilon="0.2"), np.arange(300) % 50, 1)[0]
    rising = estimate.cdf()
    assert (np.diff(rising) >= 0).all()
    assert 0 <= rising[0] <= rising[-1] == 1.0
    assert estimate.quantile(1) in range(50)
    assert estimate.quantile(0) == 0


def test_labels_are_ranges_too() -> None:
    protocol = HierarchicalHistogram(domain=["S", "M", "L", "XL"], epsilon=30, oracle="hadamard")
    estimate = runs(protocol, ["S", "M", "M", "L"] * 2000, 1)[0]
    assert estimate.range("M", "L").count == pytest.approx(6000, abs=5 * estimate.range("M", "L").standard_error)
    assert estimate.quantile("0.6") == "M"
    assert estimate.quantile_interval("0.6") == ("M", "M")
    low, high = estimate.range("S", "M").interval(0.99)
    assert 0 <= low < high <= 8000


def test_no_reports() -> None:
    estimate = HierarchicalHistogram(domain=50, epsilon=1).aggregate().estimate()
    assert estimate.counts.tolist() == [0.0] * 50
    assert estimate.range(3, 4).interval() == (0.0, 0.0)
    assert estimate.quantile(0.5) in range(50)


def test_bad_questions() -> None:
    cases: list[tuple[Any, type[CelosiaError]]] = [
        (lambda e: e.range(4, 3), ParameterError),
        (lambda e: e.range(0, 50), InputError),
        (lambda e: e.range(None, 3), InputError),
        (lambda e: e.range(0.5, 3), InputError),
        (lambda e: e.quantile(1.5), ParameterError),
        (lambda e: e.quantile(float("nan")), ParameterError),
        (lambda e: e.quantile_interval(0.5, 2), ParameterError),
        (lambda e: e.range(0, 3).interval(0), ParameterError),
    ]
    for call, error in cases:
        with pytest.raises(error):
            call(HierarchicalHistogram(domain=50, epsilon=1).aggregate().estimate())
