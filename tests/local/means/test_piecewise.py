"""The piecewise mechanism: it passes the kit, estimates what it says, and refuses what no client sends."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core.errors import InputError, ParameterError
from celosia.local.base.packing import pack
from celosia.local.base.reports import Reports
from celosia.local.means.piecewise import Piecewise
from celosia.noise import Seeded
from celosia.testing.protocols.check import check_protocol

if TYPE_CHECKING:
    from celosia.local.means.window import Width

NUMBERS = [-1.0, -0.3, 0.0, 1.0]


@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 4])
@pytest.mark.parametrize("width", ["published", "least", 1])
def test_it_passes_the_conformance_kit(epsilon: str | int, width: Width) -> None:
    protocol = Piecewise(low=-1, high=1, epsilon=epsilon, grid=8, width=width)
    assert check_protocol(protocol, NUMBERS, samples=1_500).lower_bound == pytest.approx(float(Fraction(epsilon)))


def test_the_variance_is_the_published_one() -> None:
    for epsilon, published in ((1, 5.22), (2, 1.23), (4, 0.241)):
        assert Piecewise(low=-1, high=1, epsilon=epsilon).variance(1) == pytest.approx(published, rel=5e-3)
        assert Piecewise(low=0, high=10, epsilon=epsilon).variance(100) == pytest.approx(published / 4, rel=5e-3)


@pytest.mark.parametrize("epsilon", [1, 4])
def test_standard_errors_are_those_of_the_numbers_and_not_of_the_worst_ones(epsilon: int) -> None:
    protocol = Piecewise(low=0, high=100, epsilon=epsilon)
    values = np.random.default_rng(1).uniform(40, 60, 3_000)
    runs = [protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(i))).estimate() for i in range(300)]
    errors = np.array([(run.mean - values.mean()) / run.standard_error for run in runs])
    assert abs(errors.mean()) < 4 / math.sqrt(300)
    assert 0.85 < errors.std() < 1.15
    assert runs[0].standard_error < math.sqrt(0.9 * protocol.variance(3_000))


def test_reports_that_no_client_sends_are_dropped() -> None:
    protocol = Piecewise(low=0, high=1, epsilon=2, grid=8)
    size = protocol.window.size
    payload = pack([(np.arange(16), 4)])
    aggregate = protocol.aggregate().absorb(Reports(protocol=protocol, payload=payload))
    assert (aggregate.reports, aggregate.rejected) == (size, 16 - size)


def test_a_grid_of_one_step_is_duchi() -> None:
    protocol = Piecewise(low=-1, high=1, epsilon=2, grid=1, width=1)
    assert protocol.bits == 1
    assert protocol.variance(1) == pytest.approx(1 / math.tanh(1) ** 2)


def test_bad_parameters() -> None:
    cases: list[dict[str, Any]] = [
        {"grid": 0},
        {"grid": 8, "width": 9},
        {"width": 0},
        {"width": 1.5},
        {"low": 2},
        {"epsilon": -1},
    ]
    for given_ in cases:
        with pytest.raises(ParameterError):
            Piecewise(**{"low": 0, "high": 1, "epsilon": 1, **given_})
        with pytest.raises(InputError, match=r"0.0 to 1.0"):
            Piecewise(low=0, high=1, epsilon=1).privatize([-0.1])
