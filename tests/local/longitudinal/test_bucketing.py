"""Buckets of real counters, and bounds for a whole histogram: that they hold, and how loose they are."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import InputError, ParameterError
from celosia.core.record import Record
from celosia.local.longitudinal.bucketing import Bucketing, published_error, uniform_error
from celosia.local.longitudinal.d_bit_flip import DBitFlip
from celosia.noise import Seeded


@given(
    st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=3, max_size=9, unique=True).map(sorted),
    st.lists(st.floats(-200, 200), max_size=20),
)
def test_buckets_are_numpys(edges: list[float], values: list[float]) -> None:
    buckets = Bucketing(edges=edges)
    clipped = np.clip(values, edges[0], edges[-1])
    expected, _ = np.histogram(clipped, bins=edges)
    assert np.bincount(buckets.codes(values, clip=True), minlength=len(buckets)).tolist() == expected.tolist()
    inside = [value for value in values if edges[0] <= value <= edges[-1]]
    assert buckets.codes(inside).tolist() == buckets.codes(inside, clip=True).tolist()


def test_equal_buckets_have_exact_edges_and_a_record() -> None:
    buckets = Bucketing.equal(0, 1, 10)
    assert buckets.edges[3] == Fraction(3, 10)
    assert Record.from_json(buckets.to_json()) == buckets
    assert len(buckets) == 10
    assert buckets.labels[-1] == "[0.9, 1]"
    protocol = DBitFlip(buckets=len(buckets), d=4, epsilon=1)
    assert len(protocol.privatize(buckets.codes([0.0, 0.95, 1]))) == 3


def test_edges_that_make_no_sense_are_refused() -> None:
    cases: list[Any] = [
        [],
        [1],
        [0, 1],
        [0, 1, 1],
        [0, 2, 1],
        "012",
        5,
        [0, 1, math.inf],
        [0, 1, math.nan],
        [0, "a", 2],
        None,
    ]
    for edges in cases:
        with pytest.raises(ParameterError):
            Bucketing(edges=edges)


def test_values_outside_are_refused_without_being_told() -> None:
    buckets = Bucketing.equal(0, 10, 5)
    for values in ([10.5], [-1234], [math.nan], ["sun"], [None]):
        with pytest.raises(InputError) as caught:
            buckets.codes(values)
        assert "1234" not in str(caught.value)
    with pytest.raises(ParameterError):
        Bucketing.equal(0, 10, 1)
    with pytest.raises(ParameterError):
        Bucketing.equal(0, 10, 2**21)


def worst(protocol: DBitFlip, reports: int, times: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The largest error of a share, in many collections."""
    rng, source, found = np.random.default_rng(1), Seeded(1), []
    for _ in range(times):
        values = np.minimum(rng.exponential(2, reports).astype(np.int64), protocol.size - 1)
        estimate = protocol.aggregate().absorb(protocol.privatize(values, source=source)).estimate()
        found.append(np.abs(estimate.frequencies - np.bincount(values, minlength=protocol.size) / reports).max())
    return np.array(found)


@pytest.mark.parametrize(
    ("size", "d", "epsilon", "reports"),
    [(26, 4, 1, 20_000), (26, 1, 1, 20_000), (100, 4, 2, 20_000), (10, 10, 0.5, 5000)],
)
def test_the_bounds_hold_and_the_published_one_is_four_times_too_long(
    size: int, d: int, epsilon: float, reports: int
) -> None:
    protocol = DBitFlip(buckets=size, d=d, epsilon=epsilon, seed=7)
    seen = worst(protocol, reports, 60)
    published, sharp = published_error(protocol, reports), uniform_error(protocol, reports)
    assert (seen > sharp).sum() <= 8  # 3 are expected of a bound that is met with equality
    assert np.quantile(seen, 0.95) < sharp < 2.5 * np.quantile(seen, 0.95)
    assert 3 * np.quantile(seen, 0.95) < published < 6 * np.quantile(seen, 0.95)
    # As printed, for the shares.
    odds = math.exp(epsilon / 2)
    printed = math.sqrt(5 * size / (reports * d)) * (odds + 1) / (odds - 1) * math.sqrt(math.log(6 * size / 0.05))
    assert published == pytest.approx(printed)


def test_the_published_bound_fails_for_too_few_reports_and_is_refused() -> None:
    protocol = DBitFlip(buckets=1000, d=1, epsilon=1, seed=7)
    with pytest.raises(ParameterError, match="at least"):
        published_error(protocol, 1)
    printed = math.sqrt(5 * 1000) / math.tanh(0.25) * math.sqrt(math.log(6000 / 0.05))
    assert (worst(protocol, 1, 20) > printed).all()  # one report: the bucket that was asked is far off
    assert (worst(protocol, 1, 20) < uniform_error(protocol, 1)).all()
    least = math.ceil(250 * math.log(6000 / 0.05))
    with pytest.raises(ParameterError, match=f"at least {least}"):
        published_error(protocol, least - 1)
    assert published_error(protocol, least) > uniform_error(protocol, least)


@given(st.integers(2, 2000), st.floats(0, 1), st.floats(0.01, 20), st.floats(0.001, 0.5), st.integers(0, 40))
def test_where_it_is_not_refused_the_published_bound_follows_from_bernsteins(
    size: int, part: float, epsilon: float, failure: float, more: int
) -> None:
    protocol = DBitFlip(buckets=size, d=max(1, round(part * size)), epsilon=epsilon)
    least = math.ceil(size / protocol.d / 4 * math.log(6 * size / failure) + 1e-9)
    reports = least * 2**more
    assert uniform_error(protocol, reports, failure) <= published_error(protocol, reports, failure) * (1 + 1e-9)


def test_bounds_refuse_what_makes_no_sense() -> None:
    cases: list[Any] = [published_error, uniform_error]
    for bound in cases:
        protocol = DBitFlip(buckets=10, d=4, epsilon=1)
        for reports, failure in ((0, 0.05), (2.5, 0.05), (1000, 0), (1000, 1), (1000, "nan")):
            with pytest.raises(ParameterError):
                bound(protocol, reports, failure)
