"""Hierarchical histograms as a protocol: the kit, the choice of oracle and tree, and hostile reports."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from celosia.core.errors import InputError, ParameterError
from celosia.local.base.protocol import Protocol
from celosia.local.base.reports import Reports
from celosia.local.ranges.hierarchical_histogram import HierarchicalHistogram
from celosia.noise import Seeded
from celosia.testing.protocols.check import check_protocol


@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 4])
@pytest.mark.parametrize("oracle", ["unary", "hadamard"])
def test_it_passes_the_conformance_kit(epsilon: str | int, oracle: Any) -> None:
    protocol = HierarchicalHistogram(domain=4, epsilon=epsilon, oracle=oracle, fanout=4)
    report = check_protocol(protocol, samples=1_500)
    assert report.lower_bound == pytest.approx(float(Fraction(epsilon)))


@pytest.mark.parametrize("oracle", ["unary", "hadamard"])
def test_it_passes_the_conformance_kit_with_levels(oracle: Any) -> None:
    protocol = HierarchicalHistogram(domain=5, epsilon=2, oracle=oracle, fanout=2)
    assert protocol.tree.sizes == (2, 3, 5)
    assert check_protocol(protocol, samples=1_500).lower_bound == pytest.approx(2)


def test_the_report_is_short_where_buckets_are_many() -> None:
    short, exact = HierarchicalHistogram(domain=1 << 20, epsilon=1), HierarchicalHistogram(domain=1024, epsilon=1)
    assert (short.oracle, exact.oracle) == ("hadamard", "unary")
    assert short.bytes_per_report == 3
    assert exact.bytes_per_report == 129
    assert exact.variance(1) < HierarchicalHistogram(domain=1024, epsilon=1, oracle="hadamard").variance(1)


def test_json_and_estimates_of_candidates() -> None:
    protocol = HierarchicalHistogram(domain=["S", "M", "L"], epsilon="0.7", fanout=2)
    assert Protocol.from_json(protocol.to_json()) == protocol
    reports = protocol.privatize(["S", "M", "M"] * 500, source=Seeded(1))
    aggregate = protocol.aggregate().absorb(reports)
    everything, one = aggregate.estimate(), aggregate.estimate(["M"])
    assert one.candidates == ["M"]
    assert one.counts[0] == everything.counts[1]
    assert aggregate.estimate(postprocess="norm-sub").counts.min() >= 0


def test_only_listed_reports_are_absorbed() -> None:
    cases: list[Any] = ["unary", "hadamard"]
    for oracle in cases:
        protocol = HierarchicalHistogram(domain=5, epsilon=1, fanout=2, oracle=oracle)
        size = protocol.bytes_per_report
        numbers = np.arange(1 << 8 * size, dtype="<u4") if size <= 2 else None
        assert numbers is not None
        payload = np.ascontiguousarray(numbers.view(np.uint8).reshape(-1, 4)[:, :size])
        aggregate = protocol.aggregate().absorb(Reports(protocol=protocol, payload=payload))
        outputs = protocol.outputs()
        assert outputs is not None
        assert aggregate.reports == len(outputs)
        assert protocol.is_valid(outputs).all()


def test_a_level_that_nobody_reported_at_is_no_error() -> None:
    protocol = HierarchicalHistogram(domain=100, epsilon=1, fanout=3)
    estimate = protocol.aggregate().absorb(protocol.privatize([5], source=Seeded(1))).estimate()
    assert np.isfinite(estimate.counts).all()
    assert np.isfinite(estimate.standard_errors).all()
    assert np.isfinite(estimate.range(3, 40).standard_error)


def test_bad_parameters() -> None:
    cases: list[dict[str, Any]] = [
        {"domain": 1},
        {"domain": "abc"},
        {"fanout": 1},
        {"fanout": 2.5},
        {"oracle": "best"},
        {"epsilon": 0},
    ]
    for given_ in cases:
        with pytest.raises(ParameterError):
            HierarchicalHistogram(**{"domain": 8, "epsilon": 1, **given_})
        with pytest.raises(InputError):
            HierarchicalHistogram(domain=8, epsilon=1).privatize([8])


@pytest.mark.parametrize(("epsilon", "fanout"), [(4, 500), (7, 500), (7, 10)])
def test_one_frequent_bucket_among_many_empty_ones(epsilon: int, fanout: int) -> None:
    # Chance counts of the empty buckets must not pass for people, in the errors of the other or in alarms.
    protocol = HierarchicalHistogram(domain=500, epsilon=epsilon, fanout=fanout, oracle="unary")
    scores, alarms = [], 0
    for seed in range(120):
        estimate = protocol.aggregate().absorb(protocol.privatize([0] * 1000, source=Seeded(seed))).estimate()
        scores.append((estimate.raw[0] - 1000) / estimate.standard_errors[0])
        alarms += bool(estimate.significant()[1:].any())
        assert estimate.significant()[0]
    assert np.std(scores) < 1.2  # 1.4 and more, where shares are those of all positive counts
    assert alarms <= 14  # 6 are allowed on average; by the normal law there would be 20 to 40
