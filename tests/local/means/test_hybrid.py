"""The hybrid mechanism: flat variance, the published worst cases, and Duchi's alone where epsilon is small."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from celosia.core.errors import ParameterError
from celosia.local.base.packing import pack, unpack
from celosia.local.base.reports import Reports
from celosia.local.means.duchi import Duchi
from celosia.local.means.hybrid import Hybrid
from celosia.local.means.local_laplace import LocalLaplace
from celosia.local.means.piecewise import Piecewise
from celosia.noise import Seeded
from celosia.testing.protocols.check import check_protocol

NUMBERS = [-1.0, -0.3, 0.0, 1.0]


@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 4])
def test_it_passes_the_conformance_kit(epsilon: str | int) -> None:
    protocol = Hybrid(low=-1, high=1, epsilon=epsilon, grid=8)
    assert check_protocol(protocol, NUMBERS, samples=1_500).lower_bound == pytest.approx(float(Fraction(epsilon)))


def test_the_variance_is_the_published_one() -> None:
    for epsilon, published in ((1, 4.29), (2, 1.04), (4, 0.219)):
        assert Hybrid(low=-1, high=1, epsilon=epsilon).variance(1) == pytest.approx(published, rel=5e-3)


def test_no_other_mean_has_a_smaller_worst_case() -> None:
    cases: list[str | int] = ["0.1", "0.5", "0.61", "0.62", 1, 2, 4, 8]
    for epsilon in cases:
        others = [kind(low=0, high=7, epsilon=epsilon).variance(10) for kind in (Duchi, Piecewise, LocalLaplace)]
        assert Hybrid(low=0, high=7, epsilon=epsilon).variance(10) <= min(others) * (1 + 1e-5)


def test_the_variance_is_flat() -> None:
    protocol = Hybrid(low=-1, high=1, epsilon=3)
    ends = [protocol._variance_at(square) for square in (0.0, 0.5, 1.0)]
    assert ends == pytest.approx([ends[0]] * 3, rel=1e-4)


@pytest.mark.parametrize("epsilon", ["0.5", 1, 4])
def test_standard_errors_are_right(epsilon: str | int) -> None:
    protocol = Hybrid(low=0, high=100, epsilon=epsilon)
    values = np.random.default_rng(1).exponential(20, 3_000).clip(0, 100)
    runs = [protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(i))).estimate() for i in range(300)]
    errors = np.array([(run.mean - values.mean()) / run.standard_error for run in runs])
    assert abs(errors.mean()) < 4 / math.sqrt(300)
    assert 0.85 < errors.std() < 1.15


def test_the_coin_does_not_look_at_the_number() -> None:
    protocol = Hybrid(low=0, high=1, epsilon=2)
    width = protocol.bits - 1
    for value in (0.0, 1.0):
        _, flag = unpack(protocol.privatize(np.full(40_000, value), source=Seeded(3)).payload, [width, 1])
        assert abs(flag.mean() - protocol.share) < 5 * math.sqrt(0.25 / 40_000)
    assert protocol.share == pytest.approx(1 - math.exp(-1))
    assert Hybrid(low=0, high=1, epsilon="0.61").share == 0


def test_reports_that_no_client_sends_are_dropped() -> None:
    cases: list[str | int] = ["1/2", 2]
    for epsilon in cases:
        protocol = Hybrid(low=0, high=1, epsilon=epsilon, grid=8)
        width = protocol.bits - 1
        said, flag = np.meshgrid(np.arange(1 << width), np.arange(2))
        payload = pack([(said.ravel(), width), (flag.ravel(), 1)])
        aggregate = protocol.aggregate().absorb(Reports(protocol=protocol, payload=payload))
        outputs = protocol.outputs()
        assert outputs is not None
        assert aggregate.reports == len(outputs) == 2 + (protocol.window.size if protocol.share else 0)


def test_without_numbers_the_bits_are_enough() -> None:
    protocol = Hybrid(low=-1, high=1, epsilon=4, grid=8)
    bits = pack([(np.array([1, 1, 0, 1]), protocol.bits - 1), (np.zeros(4), 1)])
    estimate = protocol.aggregate().absorb(Reports(protocol=protocol, payload=bits)).estimate()
    assert estimate.mean == pytest.approx(0.5 * protocol.bit.factor)
    assert estimate.standard_error > 0


def test_bad_parameters() -> None:
    cases: list[dict[str, Any]] = [{"grid": 0}, {"grid": 8, "width": 9}, {"low": 2}, {"epsilon": -1}]
    for given_ in cases:
        with pytest.raises(ParameterError):
            Hybrid(**{"low": 0, "high": 1, "epsilon": 1, **given_})
