"""What all means share: the bounds in the estimate, a worst case that scales with them, and no other questions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import ParameterError
from celosia.local.base.protocol import Protocol
from celosia.local.means.base import MeanProtocol
from celosia.local.means.duchi import Duchi
from celosia.local.means.hybrid import Hybrid
from celosia.local.means.local_laplace import LocalLaplace
from celosia.local.means.piecewise import Piecewise
from celosia.noise import Seeded

KINDS: list[Any] = [Duchi, Piecewise, Hybrid, LocalLaplace]


def test_the_worst_case_scales_with_the_bounds() -> None:
    for kind in KINDS:
        unit, wide = kind(low=-1, high=1, epsilon=1), kind(low="0.5", high="20.5", epsilon=1)
        assert wide.variance(7) == pytest.approx(unit.variance(1) * 100 / 7)
        assert isinstance(unit, MeanProtocol)
        assert Protocol.from_json(wide.to_json()) == wide


def test_moving_and_stretching_moves_and_stretches_the_estimate() -> None:
    for kind in KINDS:
        values = np.linspace(-1, 1, 2001)
        one, two = kind(low=-1, high=1, epsilon=2), kind(low=0, high=8, epsilon=2)
        here = one.aggregate().absorb(one.privatize(values, source=Seeded(5))).estimate()
        there = two.aggregate().absorb(two.privatize(4 * values + 4, source=Seeded(5))).estimate()
        assert there.mean == pytest.approx(4 * here.mean + 4)
        assert there.standard_error == pytest.approx(4 * here.standard_error)


def test_no_reports() -> None:
    for kind in KINDS:
        estimate = kind(low=2, high=4, epsilon=1).aggregate().estimate()
        assert (estimate.mean, estimate.reports, estimate.interval()) == (3.0, 0, (2.0, 4.0))


def test_other_questions_are_refused() -> None:
    for kind in KINDS:
        aggregate = kind(low=0, high=1, epsilon=1).aggregate()
        with pytest.raises(ParameterError, match="candidates"):
            aggregate.estimate([0])
        with pytest.raises(ParameterError, match="clip"):
            aggregate.estimate(postprocess="clip")
        with pytest.raises(ParameterError, match="reports"):
            kind(low=0, high=1, epsilon=1).variance(0)


@given(st.sampled_from(KINDS), st.lists(st.floats(0, 1), max_size=30), st.integers(0, 30))
def test_aggregates_merge(kind: Any, values: list[float], cut: int) -> None:
    protocol = kind(low=0, high=1, epsilon=3)
    reports = protocol.privatize(values, source=Seeded(1))
    parts = [protocol.aggregate().absorb(reports.records()[side]) for side in (slice(cut), slice(cut, None))]
    assert parts[0].merge(parts[1]) == protocol.aggregate().absorb(reports)
