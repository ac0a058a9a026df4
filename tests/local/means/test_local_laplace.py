"""Laplace noise on the device: the event it states, a fixed size, a law with its cut ends, both samplers alike."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from celosia.core.errors import ParameterError
from celosia.local.base.packing import pack
from celosia.local.base.reports import Reports
from celosia.local.means.local_laplace import LocalLaplace, _noise
from celosia.noise import DiscreteLaplace, Seeded
from celosia.testing.protocols.check import check_protocol

NUMBERS = [-1.0, -0.3, 1.0]


@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 4])
def test_it_passes_the_conformance_kit(epsilon: str | int) -> None:
    protocol = LocalLaplace(low=-1, high=1, epsilon=epsilon, grid=3)
    assert check_protocol(protocol, NUMBERS, samples=800).lower_bound == pytest.approx(float(Fraction(epsilon)))


def test_the_variance_is_the_published_one() -> None:
    for epsilon, published in ((1, 8), (2, 2), (4, 0.5)):
        assert LocalLaplace(low=-1, high=1, epsilon=epsilon).variance(1) == pytest.approx(published, rel=1e-6)


@pytest.mark.parametrize("scale", ["1/3", "2", "7/2"])
def test_the_portable_noise_has_the_law_of_the_fast_one(scale: str) -> None:
    source = Seeded(4)
    drawn = np.array([_noise(Fraction(scale), source) for _ in range(3000)])
    reach = max(2, math.ceil(4 * Fraction(scale)))
    inside = np.abs(drawn) <= reach
    masses = np.exp(DiscreteLaplace(scale).log_mass(np.arange(-reach, reach + 1)))
    counts = [*np.bincount(drawn[inside] + reach, minlength=2 * reach + 1).tolist(), int((~inside).sum())]
    assert stats.chisquare(counts, 3000 * np.array([*masses, 1 - masses.sum()])).pvalue > 1e-4


def test_the_ends_hold_what_was_cut() -> None:
    # On the shortest reach that the law allows: what lies beyond is in the last report, not lost.
    protocol = LocalLaplace(low=0, high=1, epsilon=4, grid=1)
    outputs = protocol.outputs()
    assert outputs is not None
    logs = protocol.log_masses(1, outputs)
    tail = DiscreteLaplace(protocol.scale).log_mass(np.arange(protocol.reach, protocol.reach + 60))
    assert logs[-1] == pytest.approx(float(np.logaddexp.reduce(tail)))
    assert math.exp(logs[0] + logs[-1]) < 2**-64
    assert float(np.exp(logs).sum()) == pytest.approx(1, abs=1e-12)


def test_the_estimate_and_its_interval() -> None:
    values = np.random.default_rng(1).uniform(0, 100, 2_000)
    protocol = LocalLaplace(low=0, high=100, epsilon=1)
    runs = [protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(i))).estimate() for i in range(200)]
    errors = np.array([(run.mean - values.mean()) / run.standard_error for run in runs])
    assert abs(errors.mean()) < 4 / math.sqrt(200)
    assert 0.8 < errors.std() < 1.2


def test_sums_of_the_largest_reports_do_not_overflow() -> None:
    protocol = LocalLaplace(low=0, high=1, epsilon="1e-6", grid=1 << 30)
    assert 55 < protocol.bits <= 62
    largest = pack([(np.full(5, protocol._size - 1), protocol.bits)])
    aggregate = protocol.aggregate().absorb(Reports(protocol=protocol, payload=largest))
    for _ in range(12):
        aggregate.merge(aggregate)
    low, high = aggregate.state["halves"].tolist()
    assert low + (high << 32) == aggregate.reports * (protocol._size - 1)
    assert high < 2**31 * aggregate.reports


def test_bad_parameters() -> None:
    cases: list[dict[str, Any]] = [{"grid": 0}, {"low": 2}, {"epsilon": -1}, {"epsilon": "1e-12", "grid": 1 << 30}]
    for given_ in cases:
        with pytest.raises(ParameterError):
            LocalLaplace(**{"low": 0, "high": 1, "epsilon": 1, **given_})


def test_reports_that_no_client_sends_are_dropped() -> None:
    protocol = LocalLaplace(low=0, high=1, epsilon=2, grid=8)
    payload = pack([(np.arange(512), 9)])
    aggregate = protocol.aggregate().absorb(Reports(protocol=protocol, payload=payload))
    assert (aggregate.reports, aggregate.rejected) == (369, 512 - 369)
