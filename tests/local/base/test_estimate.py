"""Estimates: intervals that cover, one by one and together; filters that stay quiet; projections that are nearest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import optimize, stats

from celosia.core import ParameterError
from celosia.local import CountMeanSketch, DirectEncoding, Estimate, MeanEstimate, SubsetSelection
from celosia.local.base.estimate import build_estimate, norm_sub
from celosia.local.frequency.optimized_unary import OptimizedUnary
from celosia.noise import Seeded

counts_ = hnp.arrays(np.float64, st.integers(1, 8), elements=st.floats(-1000, 1000, width=32))


@given(counts_, st.floats(0, 3000, width=32))
def test_norm_sub_is_the_nearest_point_of_the_simplex(counts: Any, total: float) -> None:
    projected = norm_sub(counts, total)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(total, abs=1e-6 * (1 + np.abs(counts).sum()))
    # The conditions of Karush, Kuhn and Tucker: all that stay move alike, all that vanish would have moved further.
    kept = projected > 0
    if kept.any():
        shift = (counts - projected)[kept]
        assert np.ptp(shift) <= 1e-6
        assert (counts[~kept] <= shift.max() + 1e-6).all()


def test_norm_sub_against_a_general_solver() -> None:
    random = np.random.default_rng(1)
    for _ in range(10):
        counts = random.normal(50, 100, 6)
        # As a problem of non-negative least squares, whose last equation, the total, weighs a million times more.
        matrix, target = np.vstack([np.eye(6), np.full(6, 1e6)]), np.append(counts, 300e6)
        assert norm_sub(counts, 300.0) == pytest.approx(optimize.nnls(matrix, target)[0], abs=1e-3)


def test_norm_sub_of_nothing() -> None:
    assert norm_sub(np.empty(0), 5.0).size == 0
    assert norm_sub(np.array([3.0, -2.0]), 0.0).tolist() == [0.0, 0.0]


def _estimate(raw: Any, error: float = 10.0, postprocess: str | None = None, reports: int = 1000) -> Estimate:
    raw = np.asarray(raw, dtype=np.float64)
    same = np.full(raw.shape, error**2)
    return build_estimate(
        list(range(raw.size)), raw, variances=same, null_variances=same, reports=reports, postprocess=postprocess
    )


def test_clipping_and_what_it_costs() -> None:
    assert _estimate([-5, 3], postprocess="clip").counts.tolist() == [0, 3]
    random = np.random.default_rng(2)
    clipped = _estimate(random.normal(0, 10, 200_000), postprocess="clip")
    assert clipped.counts.mean() == pytest.approx(10 / math.sqrt(2 * math.pi), rel=0.01)  # 0.4 standard errors
    assert clipped.bias.startswith("upwards")
    assert clipped.raw.min() < 0


def test_postprocessing_of_an_aggregate() -> None:
    protocol = DirectEncoding(domain=5, epsilon=1)
    aggregate = protocol.aggregate().absorb(protocol.privatize([0] * 90 + [1] * 10, source=Seeded(1)))
    raw, clip, norm = (aggregate.estimate(postprocess=name) for name in (None, "clip", "norm-sub"))
    assert raw.raw.tolist() == clip.raw.tolist() == norm.raw.tolist() == raw.counts.tolist()
    assert (clip.counts == np.maximum(raw.raw, 0)).all()
    assert norm.counts.sum() == pytest.approx(100)
    assert norm.frequencies.sum() == pytest.approx(1)
    assert raw.counts.sum() == pytest.approx(100)  # of direct encoding all reports say something
    for bad in ("norm_sub", "", 0, "CLIP"):
        with pytest.raises(ParameterError, match="postprocess"):
            aggregate.estimate(postprocess=bad)  # type: ignore[arg-type]


def test_intervals_cover() -> None:
    """Of 2,000 collections: one by one 95 % of the time, together at least that; 90 % told as 95 % would be seen."""
    protocol = OptimizedUnary(domain=8, epsilon=1)
    values, truth = np.repeat(np.arange(8), [200, 100, 50, 50, 0, 0, 0, 0]), np.array([200, 100, 50, 50, 0, 0, 0, 0])
    source, each, together = Seeded(4), [], []
    for _ in range(2000):
        estimate = protocol.aggregate().absorb(protocol.privatize(values, source=source)).estimate()
        low, high = estimate.interval(0.95)
        each.append((low <= truth) & (truth <= high))
        low, high = estimate.interval(0.95, simultaneous=True)
        together.append(bool(((low <= truth) & (truth <= high)).all()))
    covered = int(np.array(each)[:, :4].sum())
    assert 0.94 < covered / 8_000 < 0.96
    assert stats.binomtest(covered, 8_000, 0.90).pvalue < 1e-9
    assert 0.97 < np.array(each)[:, 4:].mean() < 0.98  # a count of nobody is missed on one side only
    assert stats.binomtest(sum(together), 2000, 0.95, alternative="less").pvalue > 1e-4


@given(
    raw=st.floats(-50, 1000),
    error=st.floats(0.1, 100),
    null=st.floats(0.1, 300),
    level=st.sampled_from([0.5, 0.9, 0.99]),
)
def test_the_lower_bound_is_the_least_count_that_is_not_excluded(
    raw: float, error: float, null: float, level: float
) -> None:
    """Against a look at all counts, with the standard error that each of them would have."""
    low = Estimate(
        candidates=["a"],
        counts=np.array([raw]),
        raw=np.array([raw]),
        standard_errors=np.array([error]),
        null_errors=np.array([null]),
        reports=1000,
    ).interval(level)[0][0]
    times = stats.norm.ppf((1 + level) / 2)
    counts = np.linspace(0, max(raw, 0), 20_001)
    share = (counts / raw) ** 2 if raw > 0 else np.ones(1)
    errors = np.sqrt(max(null, error) ** 2 * (1 - share) + error**2 * share)
    least = counts[raw - counts <= times * errors * (1 + 1e-12)].min(initial=np.inf)
    assert low == pytest.approx(min(least, max(raw, 0)), abs=0.11)


def test_intervals_cover_where_a_value_that_nobody_has_collides() -> None:
    """One hash function into two columns: in half of the cases nobody's value is taken for everybody's."""
    covered = []
    for seed in range(60):
        protocol = CountMeanSketch(epsilon=8, hashes=1, width=2, seed=seed)
        aggregate = protocol.aggregate().absorb(protocol.privatize([7] * 500, source=Seeded(seed)))
        low, high = aggregate.estimate([7, 9]).interval(0.95)
        covered.append((low <= [500, 0]) & (high >= [500, 0]))
    assert (np.mean(covered, axis=0) >= 0.9).all()


def test_the_filter_is_seldom_wrong_and_finds_what_is_there() -> None:
    """Any false name in at most 5 % of collections (one by one it would be in 92 %), and no miss at ten errors."""
    protocol = OptimizedUnary(domain=50, epsilon=1)
    values = np.zeros(2000, dtype=np.int64)
    source, alarms, unguarded = Seeded(6), 0, 0
    for _ in range(600):
        estimate = protocol.aggregate().absorb(protocol.privatize(values, source=source)).estimate()
        shown = estimate.significant(0.05)
        assert shown[0]
        alarms += bool(shown[1:].any())
        unguarded += bool((estimate.raw[1:] > 1.645 * estimate.null_errors[1:]).any())
    assert stats.binomtest(alarms, 600, 0.05, alternative="greater").pvalue > 1e-4
    assert unguarded > 400


def test_bounds_stay_within_what_is_possible() -> None:
    low, high = _estimate([-500, 500, 1500], error=100).interval(0.99)
    assert low.tolist() == [0, pytest.approx(500 - 257.583, abs=0.01), 1000]
    assert high.tolist() == [0, pytest.approx(500 + 257.583, abs=0.01), 1000]


def test_an_empty_estimate() -> None:
    estimate = _estimate([], reports=0)
    assert estimate.interval(0.9, simultaneous=True)[0].size == 0
    assert estimate.significant().size == 0
    assert estimate.frequencies.size == 0
    assert estimate.to_arrow().num_rows == 0


def test_a_table_of_what_is_told() -> None:
    table = _estimate([100, 200]).to_arrow(0.9)
    assert table.to_pydict() == {
        "candidate": [0, 1],
        "count": [100, 200],
        "standard_error": [10, 10],
        "low": [pytest.approx(83.551, abs=1e-3), pytest.approx(183.551, abs=1e-3)],
        "high": [pytest.approx(116.449, abs=1e-3), pytest.approx(216.449, abs=1e-3)],
    }


def test_long_estimates_are_cut() -> None:
    assert repr(_estimate(range(8))) == (
        "Estimate(0: 0 ± 10, 1: 1 ± 10, 2: 2 ± 10, 3: 3 ± 10, 4: 4 ± 10, 5: 5 ± 10, …; reports=1000)"
    )


def test_a_bad_level_is_refused() -> None:
    cases: list[Any] = [0, 1, -0.5, 95, math.nan, True, None, "high"]
    for bad in cases:
        estimate = _estimate([1, 2])
        mean = MeanEstimate(mean=0.5, standard_error=0.1, reports=100)
        for ask in (estimate.interval, estimate.to_arrow, mean.interval):
            with pytest.raises(ParameterError, match="level"):
                ask(bad)


def test_a_bad_failure_is_refused() -> None:
    cases: list[Any] = [0, 1, -0.5, 5, math.nan, True, None, "low"]
    for bad in cases:
        with pytest.raises(ParameterError, match="failure"):
            _estimate([1, 2]).significant(bad)


def test_a_mean_has_bounds() -> None:
    mean = MeanEstimate(mean=0.95, standard_error=0.1, reports=100, bounds=(-1.0, 1.0))
    low, high = mean.interval(0.95)
    assert low == pytest.approx(0.95 - 0.196, abs=1e-3)
    assert high == 1.0
    assert repr(mean) == "MeanEstimate(0.95 ± 0.1, reports=100)"


@pytest.mark.parametrize("kind", [DirectEncoding, SubsetSelection])
def test_intervals_hold_where_chance_hits_are_few(kind: type[DirectEncoding | SubsetSelection]) -> None:
    protocol = kind(domain=60, epsilon=8)
    values = np.repeat(np.arange(40), 10)
    true = np.bincount(values, minlength=60)
    held = np.zeros(60)
    for seed in range(60):
        found = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))).estimate()
        assert found.hits < 1
        low, high = found.interval(0.95)
        held += ((low <= true + 1e-9) & (true <= high + 1e-9)) / 60
    assert held[:40].mean() > 0.93  # ten people each
    assert held[40:].mean() > 0.95  # nobody: one hit in eight runs
