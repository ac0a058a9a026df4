"""Duchi's bit: private, unbiased, of the published variance; one bit on the wire."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.core.errors import InputError, ParameterError
from celosia.local.means.duchi import Duchi, TrueBit
from celosia.noise import Seeded
from celosia.testing.protocols.check import check_protocol

EPSILONS = ["1/2", 1, 2, 4]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_it_passes_the_conformance_kit(epsilon: str | int) -> None:
    report = check_protocol(Duchi(low=-1, high=1, epsilon=epsilon), [-1.0, -0.3, 0.0, 1.0], samples=2_000)
    assert report.lower_bound == pytest.approx(float(Fraction(epsilon)))


def test_the_variance_is_the_published_one() -> None:
    for epsilon, published in ((1, 4.68), (2, 1.72), (4, 1.08)):
        assert Duchi(low=-1, high=1, epsilon=epsilon).variance(1) == pytest.approx(published, abs=0.005)
        assert Duchi(low=0, high=10, epsilon=epsilon).variance(100) == pytest.approx(published / 4, rel=5e-3)


@given(st.floats(0, 1), st.sampled_from(EPSILONS))
def test_the_probability_is_the_one_of_the_paper(place: float, epsilon: str | int) -> None:
    # Duchi, Jordan and Wainwright 2018: P(high) = 1/2 + t (e^epsilon - 1)/(2 (e^epsilon + 1)), t between -1 and 1
    protocol = Duchi(low=-3, high=5, epsilon=epsilon)
    outputs = protocol.outputs()
    assert outputs is not None
    masses = np.exp(protocol.log_masses(min(-3 + 8 * place, 5.0), outputs))
    growth = math.exp(float(Fraction(epsilon)))
    assert masses[1] == pytest.approx(0.5 + (2 * place - 1) * (growth - 1) / (2 * (growth + 1)))
    assert masses.sum() == pytest.approx(1)


def test_the_estimate_and_its_interval() -> None:
    values = np.random.default_rng(1).uniform(20, 60, 5_000)
    protocol = Duchi(low=0, high=100, epsilon=1)
    runs = [protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(i))).estimate() for i in range(300)]
    errors = np.array([(run.mean - values.mean()) / run.standard_error for run in runs])
    assert abs(errors.mean()) < 4 / math.sqrt(300)
    assert 0.85 < errors.std() < 1.15
    inside = sum(run.interval(0.9)[0] <= values.mean() <= run.interval(0.9)[1] for run in runs)
    assert stats.binomtest(inside, 300, 0.9).pvalue > 1e-4


def test_few_bits_that_agree_by_chance_are_not_certain() -> None:
    for reports, epsilon, number in ((5, 8, 0.97), (1, 4, 0.5), (50, 8, 0.97)):
        protocol = Duchi(low=0, high=1, epsilon=epsilon)
        shown = float(np.exp(protocol.log_masses(number, protocol.outputs()))[1])  # type: ignore[arg-type] # listed
        covered = 0.0
        for high in range(reports + 1):
            aggregate = protocol.aggregate().absorb([protocol.header + bytes([i < high]) for i in range(reports)])
            low, top = aggregate.estimate().interval(0.95)
            covered += float(stats.binom.pmf(high, reports, shown)) * (low <= number <= top)
        assert covered > 0.9


def test_a_factor_that_is_off_is_biased() -> None:
    bit = TrueBit(epsilon=Fraction(1), parts=1 << 20)
    shown = np.exp(bit.log_masses(1 << 20, np.arange(2)))
    assert (shown[1] - shown[0]) * bit.factor == pytest.approx(1)
    assert (shown[1] - shown[0]) * TrueBit(epsilon=Fraction("1.1"), parts=1 << 20).factor != pytest.approx(1, rel=0.05)


def test_no_reports_say_nothing_but_the_bounds() -> None:
    estimate = Duchi(low=2, high=4, epsilon=1).aggregate().estimate()
    assert estimate.mean == 3
    assert math.isinf(estimate.standard_error)
    assert estimate.interval() == (2.0, 4.0)


def test_a_mean_is_not_asked_about_candidates() -> None:
    aggregate = Duchi(low=0, high=1, epsilon=1).aggregate()
    with pytest.raises(ParameterError, match="candidates"):
        aggregate.estimate([1])
    with pytest.raises(ParameterError, match="norm-sub"):
        aggregate.estimate(postprocess="norm-sub")


def test_the_bounds_are_told_apart_at_a_large_epsilon() -> None:
    protocol = Duchi(low=0, high=1, epsilon=60_000)
    assert protocol.privatize([0, 1, 0.0, 1.0]).payload.ravel().tolist() == [0, 1, 0, 1]
    outputs = protocol.outputs()
    assert outputs is not None
    assert protocol.log_masses(1, outputs).tolist() == [-60_000.0, 0.0]


def test_bad_parameters() -> None:
    cases: list[dict[str, Any]] = [{"low": 1, "high": 0}, {"epsilon": 0}, {"epsilon": "x"}, {"low": None}]
    for given_ in cases:
        with pytest.raises(ParameterError):
            Duchi(**{"low": 0, "high": 1, "epsilon": 1, **given_})
        with pytest.raises(InputError, match=r"0.0 to 1.0"):
            Duchi(low=0, high=1, epsilon=1).privatize([2])
