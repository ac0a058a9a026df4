"""Distinct counts: what a report gives away, what the bounds promise, and what is not promised."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from celosia.core import InputError, ParameterError, PureDP, ReplaceOne
from celosia.local.base.aggregate import Aggregate
from celosia.local.base.protocol import Protocol
from celosia.local.discovery.distinct_count import DistinctCount, _most, _without_collisions
from celosia.noise import Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray

TINY = DistinctCount(epsilon=1, buckets=8, hashes=3, seed=2)
WORDS = ["sun", "rain", "snow", "fog", "hail", "sleet"]
USUAL = DistinctCount(epsilon=2, buckets=512, hashes=1024, seed=1)


def frequencies(protocol: DistinctCount, payload: NDArray[np.uint8]) -> NDArray[np.int64]:
    outputs = protocol.outputs()
    assert outputs is not None
    weights = 256 ** np.arange(payload.shape[1])
    keys = outputs.astype(np.int64) @ weights
    order = np.argsort(keys)
    return np.bincount(
        order[np.searchsorted(keys, payload.astype(np.int64) @ weights, sorter=order)], minlength=keys.size
    )


def test_the_exact_law_is_private_and_no_better() -> None:
    cases: list[str | int] = ["1/2", 1, 2, 4]
    for epsilon in cases:
        protocol = DistinctCount(epsilon=epsilon, buckets=8, hashes=3, seed=2)
        outputs = protocol.outputs()
        assert outputs is not None
        logs = np.array([protocol.log_masses(word, outputs) for word in WORDS])
        assert np.exp(logs).sum(axis=1) == pytest.approx(1, abs=1e-12)
        worst = max(float(np.abs(one - two).max()) for one, two in itertools.combinations(logs, 2))
        assert worst == pytest.approx(float(protocol.epsilon), abs=1e-12)
        assert protocol.guarantee == PureDP(epsilon=epsilon, adjacency=ReplaceOne, unit="person")


def test_what_is_drawn_has_the_exact_law_and_what_is_off_is_seen() -> None:
    outputs = TINY.outputs()
    assert outputs is not None
    law = np.exp(TINY.log_masses("sun", outputs))
    drawn = frequencies(TINY, TINY.privatize(["sun"] * 150_000, source=Seeded(5)).payload)
    assert stats.chisquare(drawn, law * drawn.sum()).pvalue > 1e-7
    source = Seeded(6)
    one_by_one = b"".join(TINY.report("sun", source=source)[4:] for _ in range(1_000))
    told = frequencies(TINY, np.frombuffer(one_by_one, dtype=np.uint8).reshape(1_000, -1))
    assert stats.chisquare(told, law * told.sum()).pvalue > 1e-7
    wrong = DistinctCount(epsilon="1.1", buckets=8, hashes=3, seed=2)
    drawn = frequencies(TINY, wrong.privatize(["sun"] * 150_000, source=Seeded(5)).payload)
    assert stats.chisquare(drawn, law * drawn.sum()).pvalue < 1e-7


def occupied_at_most(values: int, buckets: int, occupied: int) -> Fraction:
    """P(at most so many occupied), by counting the maps onto each number of buckets (inclusion and exclusion)."""
    total = 0
    for exactly in range(occupied + 1):
        onto = sum((-1) ** j * math.comb(exactly, j) * (exactly - j) ** values for j in range(exactly + 1))
        total += math.comb(buckets, exactly) * onto
    return Fraction(total, buckets**values)


def test_the_upper_bound_is_the_largest_that_is_not_excluded() -> None:
    occupied_cases: list[tuple[int, int]] = [(0, 5), (1, 5), (3, 5), (4, 6), (7, 40), (12, 16)]
    failure_cases: list[float] = [0.3, 0.05, 0.001]
    for occupied, buckets in occupied_cases:
        for failure in failure_cases:
            most = _most(occupied, buckets, failure)
            assert occupied_at_most(int(most), buckets, occupied) > Fraction(failure)
            assert occupied_at_most(int(most) + 1, buckets, occupied) <= Fraction(failure)


def test_the_upper_bound_of_many_buckets_is_that_of_the_normal_law() -> None:
    """Half of very many buckets are occupied: the mean and the variance of an occupancy law are known."""
    buckets, failure = 2**17, 0.01
    most = _most(buckets // 2, buckets, failure)
    empty = math.exp(-most / buckets)
    spread = math.sqrt(buckets * empty * (1 - (1 + most / buckets) * empty))
    assert (buckets * (1 - empty) - buckets / 2) / spread == pytest.approx(stats.norm.isf(failure), abs=0.02)


def test_where_all_buckets_are_occupied_any_number_is_possible() -> None:
    assert _most(8, 8, 0.05) == math.inf
    assert _most(2**20, 2**20, 0.05) == math.inf
    assert _without_collisions(8, 8) == math.inf


def test_linear_counting_inverts_the_mean() -> None:
    for values in (0, 1, 7, 300):
        mean = 100 * (1 - (1 - 1 / 100) ** values)
        assert -100 * math.expm1(_without_collisions(int(mean), 100) * math.log1p(-0.01)) == pytest.approx(int(mean))


@pytest.mark.parametrize("shape", ["equal", "skewed", "grey"])
def test_bounds_hold_together(shape: str) -> None:
    """Fifty runs at a failure of one in twenty, with values that are seen, hardly seen, and not seen."""
    sizes = {
        "equal": [600] * 40,
        "skewed": [int(12_000 / rank) for rank in range(1, 60)],
        "grey": list(range(40, 640, 15)),
    }[shape]
    values = np.repeat(np.arange(len(sizes)), sizes)
    values = np.concatenate([values, 10_000 + np.arange(2_000)])  # who are all alone
    held = np.array([*sizes, *([1] * 2_000)])
    failed = 0
    for seed in range(50):
        protocol = DistinctCount(epsilon=4, buckets=512, hashes=512, seed=seed)
        found = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))).estimate()
        failed += not (found.low <= held.size and (held >= found.least).sum() <= found.high)
        assert found.interval == (found.low, found.high)
    assert failed <= 6  # of a binomial with 2.5 on average, 98.8 % are


def test_what_enough_people_hold_is_counted() -> None:
    off = []
    for seed in range(30):
        protocol = DistinctCount(epsilon=4, buckets=128, hashes=1024, seed=seed)
        values = np.repeat(np.arange(60) * 7919, 500)
        found = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))).estimate()
        assert found.least < 500
        off.append(found.estimate - 60)
        assert found.low < 60  # several share a bucket, which the estimate corrects for
    # Linear counting's own spread is sqrt(m (e^t - t - 1)) = 4.5 for 60 values in 128 buckets.
    assert abs(np.mean(off)) < 4 * 4.5 / math.sqrt(30)
    assert np.std(off) < 8


def test_what_too_few_people_hold_is_not_counted() -> None:
    found = USUAL.aggregate().absorb(USUAL.privatize(np.arange(20_000), source=Seeded(3))).estimate()
    assert found.occupied == 0
    assert found.statement.startswith("The number of values that stand out is about 0: all that")
    assert "What too few hold is not counted" in found.statement
    few = USUAL.aggregate().absorb(USUAL.privatize(["sun"] * 20, source=Seeded(3))).estimate()
    assert few.least == 21
    assert "nothing can be seen" in few.statement


def test_half_of_what_is_stated_would_not_be_enough() -> None:
    """The stated least number is no larger than it must be: of values that half as many hold, some are missed."""
    base = USUAL.aggregate().absorb(USUAL.privatize([0] * 20_000, source=Seeded(1))).estimate()
    values = np.concatenate([np.repeat(np.arange(1, 13), base.least // 2), np.zeros(20_000, dtype=np.int64)])
    found = USUAL.aggregate().absorb(USUAL.privatize(values, source=Seeded(2))).estimate()
    assert found.occupied < 13


def test_less_failure_means_wider_bounds() -> None:
    values = np.repeat(np.arange(20), 1_500)
    aggregate = USUAL.aggregate().absorb(USUAL.privatize(values, source=Seeded(3)))
    strict, loose = (USUAL.count(aggregate, failure=failure) for failure in ("1e-6", 0.1))
    assert strict.least > loose.least
    assert strict.low <= loose.low
    assert strict.high >= loose.high


def test_aggregates_merge_travel_and_reject() -> None:
    reports = USUAL.privatize(WORDS * 50, source=Seeded(2))
    whole = USUAL.aggregate().absorb(reports)
    records = reports.records()
    halves = [USUAL.aggregate().absorb(part) for part in (records[:70], records[70:])]
    assert halves[1].merge(halves[0]) == whole
    assert Aggregate.from_arrow(whole.to_arrow()) == whole
    assert Protocol.from_json(USUAL.to_json()) == USUAL
    assert USUAL.aggregate().absorb([records[0][:-1], b"x", records[0]]).rejected == 2


def test_what_cannot_be_digested_is_refused() -> None:
    cases: list[object] = [[1.5], [None], "sun", ["sun", 1]]
    for values in cases:
        with pytest.raises(InputError):
            USUAL.privatize(values)


def test_parameters_without_meaning_are_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"epsilon": -1},
        {"epsilon": float("inf")},
        {"epsilon": 1, "buckets": 1},
        {"epsilon": 1, "buckets": 2**21},
        {"epsilon": 1, "hashes": 0},
        {"epsilon": 1, "hashes": 1.5},
        {"epsilon": 1, "seed": -1},
    ]
    for given in cases:
        with pytest.raises(ParameterError):
            DistinctCount(**given)


def test_no_value_can_be_asked_about_by_name() -> None:
    with pytest.raises(ParameterError, match="no candidates"):
        USUAL.aggregate().estimate(["sun"])
    with pytest.raises(ParameterError, match="no candidates"):
        USUAL.aggregate().estimate(postprocess="clip")
    with pytest.raises(ParameterError, match="another protocol"):
        USUAL.count(TINY.aggregate())
    with pytest.raises(ParameterError, match="must be"):
        USUAL.count(USUAL.aggregate(), failure=1)


def test_the_smallest_epsilon_is_counted_too() -> None:
    cases: list[str | int] = ["1e-300", "1e-160", "1e-9", 8]
    for epsilon in cases:
        protocol = DistinctCount(epsilon=epsilon, buckets=64, hashes=512)
        found = protocol.aggregate().absorb(protocol.privatize([5] * 500, source=Seeded(1))).estimate()
        assert (found.occupied, found.least <= 500) == ((1, True) if epsilon == 8 else (0, False))
        assert ("nothing can be seen" in found.statement) == (epsilon != 8)
