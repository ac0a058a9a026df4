from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from celosia.core import ParameterError
from celosia.local.discovery.base import Discovery, build_discovery, threshold_multiple


def discovery(
    raw: list[float], *, reports: int = 1000, failure: float = 0.001, error: float = 2.0, surfaces: float = 17.0
) -> Discovery:
    counts = np.array(raw)
    return build_discovery(
        [f"word {place}" for place in range(len(raw))],
        counts,
        variances=np.full(counts.size, 9.0),
        null_variance=error**2,
        reports=reports,
        postprocess=None,
        failure=failure,
        surfaces=surfaces,
    )


def test_the_multiple_shares_the_failure_among_all_tested() -> None:
    cases: list[tuple[float, int]] = [(0.05, 1), (0.001, 10**6)]
    for failure, tested in cases:
        assert threshold_multiple(failure, tested) == pytest.approx(stats.norm.isf(failure / tested))


def test_noise_alone_passes_as_rarely_as_is_said() -> None:
    noise = 2.0 * np.random.default_rng(7).standard_normal((2000, 50))
    shown = sum(bool(discovery(row.tolist(), failure=0.2).candidates) for row in noise)
    assert stats.binomtest(shown, 2000, 0.2).pvalue > 1e-4
    careless = sum(
        bool((row > 2.0 * stats.norm.isf(0.2 / 25)).any()) for row in noise
    )  # half of the candidates forgotten
    assert stats.binomtest(careless, 2000, 0.2).pvalue < 1e-4


def test_the_most_frequent_come_first_and_those_below_the_threshold_not_at_all() -> None:
    found = discovery([5.0, 30.0, -40.0, 20.0])
    assert found.candidates == ["word 1", "word 3"]
    assert found.counts.tolist() == [30.0, 20.0]
    assert found.standard_errors.tolist() == [3.0, 3.0]
    assert found.tested == 4
    assert found.threshold == pytest.approx(2.0 * stats.norm.isf(0.001 / 4))


def test_the_statement_says_what_may_be_missing() -> None:
    said = discovery([30.0]).statement
    assert "1 candidates were tested" in said
    assert "held by about 17 of 1000 people to surface, which is 8.5 standard errors" in said
    assert discovery([], reports=0).statement == "There are no reports yet."


def test_without_reports_nothing_is_found() -> None:
    assert discovery([0.0], reports=0, error=0.0).candidates == []


def test_a_failure_is_a_probability() -> None:
    cases: list[float] = [0, 1, -0.1, float("nan"), True]
    for failure in cases:
        with pytest.raises(ParameterError):
            threshold_multiple(failure, 5)
