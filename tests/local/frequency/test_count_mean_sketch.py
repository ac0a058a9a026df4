"""The count-mean sketch: its exact law is private, and drawn; estimates are right on average, as far off as said."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.accounting import PLDAccountant, PureAccountant
from celosia.core import CelosiaError, PureDP, ReplaceOne
from celosia.local.base.protocol import Protocol
from celosia.local.frequency.count_mean_sketch import CountMeanSketch
from celosia.noise import Seeded, flip_logistic, integer_below
from celosia.noise.keyed import Keyed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SMALL = CountMeanSketch(epsilon=1, hashes=3, width=5, seed=7)
VALUES = [0, 1, 2, 3, 4, 5, 6, 7]


def masses(protocol: CountMeanSketch, value: int) -> NDArray[np.float64]:
    outputs = protocol.outputs()
    assert outputs is not None
    return np.exp(protocol.log_masses(value, outputs))


def frequencies(protocol: CountMeanSketch, payload: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How often each of ``outputs`` occurs."""
    outputs = protocol.outputs()
    assert outputs is not None
    weights = 256 ** np.arange(payload.shape[1])
    keys = outputs.astype(np.int64) @ weights
    order = np.argsort(keys)
    places = order[np.searchsorted(keys, payload.astype(np.int64) @ weights, sorter=order)]
    return np.bincount(places, minlength=len(outputs))


def test_the_exact_law_is_private_and_no_better() -> None:
    epsilon_cases: list[str | int] = ["1/2", 1, 2, 4]
    hashes_cases: list[tuple[int, int]] = [(1, 2), (3, 5), (2, 9)]
    for epsilon in epsilon_cases:
        for hashes, width in hashes_cases:
            protocol = CountMeanSketch(epsilon=epsilon, hashes=hashes, width=width, seed=1)
            outputs = protocol.outputs()
            assert outputs is not None
            assert len(np.unique(outputs, axis=0)) == len(outputs) == hashes * 2**width
            assert protocol.is_valid(outputs).all()
            logs = np.array([protocol.log_masses(value, outputs) for value in VALUES])
            assert np.exp(logs).sum(axis=1) == pytest.approx(1, abs=1e-12)
            worst = max(float(np.abs(one - two).max()) for one, two in itertools.combinations(logs, 2))
            assert worst == pytest.approx(float(protocol.epsilon), abs=1e-12)


def test_what_is_drawn_has_the_exact_law() -> None:
    for value in (3, 4):
        law = masses(SMALL, value)
        payload = SMALL.privatize(np.full(200_000, value), source=Seeded(value)).payload
        drawn = frequencies(SMALL, payload)
        assert stats.chisquare(drawn, law * drawn.sum()).pvalue > 1e-7
        one_by_one = [SMALL.report(value, source=source)[4:] for source in [Seeded(9)] for _ in range(1_500)]
        told = frequencies(SMALL, np.frombuffer(b"".join(one_by_one), dtype=np.uint8).reshape(-1, 1))
        assert stats.chisquare(told, law * told.sum()).pvalue > 1e-7


def test_a_flip_probability_that_is_off_by_two_per_cent_is_seen() -> None:
    flips = 1 / (1 + np.exp(0.5))
    wrong = CountMeanSketch(epsilon=2 * np.log(1 / (1.02 * flips) - 1), hashes=3, width=5, seed=7)
    for off in (wrong, CountMeanSketch(epsilon=1, hashes=3, width=5, seed=8)):  # or other hash functions
        drawn = frequencies(SMALL, off.privatize(np.full(600_000, 3), source=Seeded(2)).payload)
        assert stats.chisquare(drawn, masses(SMALL, 3) * drawn.sum()).pvalue < 1e-7


@pytest.mark.parametrize("epsilon", ["1/2", 4])
def test_one_report_estimates_without_bias_over_its_exact_law(epsilon: str | int) -> None:
    """For fixed hash functions the mean is 1 for the value, and for another what their collisions make of it."""
    protocol = CountMeanSketch(epsilon=epsilon, hashes=3, width=4, seed=2)
    outputs = protocol.outputs()
    assert outputs is not None
    single = np.array(
        [protocol.aggregate().absorb([protocol.header + row.tobytes()]).estimate(VALUES).raw for row in outputs]
    )
    columns = protocol.hash_family.table(protocol.encode(VALUES))
    for place, value in enumerate(VALUES):
        collisions = (columns == columns[:, [place]]).mean(axis=0)
        assert masses(protocol, value) @ single == pytest.approx((collisions - 1 / 4) * 4 / 3, abs=1e-9)


@pytest.mark.sampled(2)  # collisions that matter, and noise that does
@pytest.mark.parametrize(("hashes", "width"), [(1, 8), (4, 16), (64, 3)])
def test_variances_are_as_stated(hashes: int, width: int) -> None:
    """Over coins and hash functions, for a value that many have, one that few have, and one that nobody has."""
    counts = np.array([150, 30, 10, 10])
    values = np.repeat(np.arange(4), counts)
    protocols = [
        CountMeanSketch(epsilon=3, hashes=hashes, width=width, seed=seed)
        for seed in range(600 if hashes == 64 else 1_500)
    ]
    source = Seeded(3)
    estimates = [p.aggregate().absorb(p.privatize(values, source=source)).estimate([0, 1, 9]) for p in protocols]
    raw = np.array([estimate.raw for estimate in estimates])
    for place, count in enumerate((150, 30, 0)):
        squares = float((counts**2).sum() - count**2)
        variance = protocols[0].variance(200, count, squares=squares)
        errors = raw[:, place] - count
        assert abs(errors.mean()) < 5.5 * np.sqrt(variance / len(raw))
        spread = np.sqrt(((errors**2 - variance) ** 2).mean() / len(raw))
        assert abs((errors**2).mean() - variance) < 5.5 * spread
        assert 5.5 * spread < 0.35 * variance  # or the check would see nothing
        told = np.array([estimate.standard_errors[place] ** 2 for estimate in estimates]).mean()
        assert told == pytest.approx(variance, rel=0.15)
    null = np.array([estimate.null_errors[2] ** 2 for estimate in estimates]).mean()
    assert null == pytest.approx(protocols[0].variance(200, squares=float((counts**2).sum())), rel=0.15)


def test_errors_on_exponential_data_are_those_of_theory() -> None:
    """The published setting: 50,000 integers from an exponential law, epsilon 2, 1024 by 1024."""
    values = np.random.default_rng(0).exponential(2, 50_000).astype(np.int64)
    counts = np.bincount(values, minlength=250)[:250]
    errors, theory = [], []
    for seed in range(4):
        protocol = CountMeanSketch(epsilon=2, hashes=1024, width=1024, seed=seed)
        estimate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))).estimate(np.arange(250))
        errors.append(estimate.counts - counts)
        squares = float((counts.astype(float) ** 2).sum())
        theory += [protocol.variance(50_000, c, squares=squares - c**2) for c in counts.tolist()]
        inside = np.abs(estimate.raw - counts) <= 1.96 * estimate.standard_errors
        assert 0.9 < inside.mean() <= 1
    rmse = float(np.sqrt(np.mean(np.square(errors))))
    assert rmse == pytest.approx(np.sqrt(np.mean(theory)), rel=0.1)
    assert rmse == pytest.approx(213, rel=0.1)


def test_the_table_of_variances() -> None:
    """Per report, for a value that nobody has: the published 3.93, .924 and .182 to three digits."""
    told = [CountMeanSketch(epsilon=e, hashes=1024, width=1024).variance(1) for e in (1, 2, 4)]
    assert told == pytest.approx([3.93, 0.924, 0.182], rel=2e-3)


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(0, 60), st.sampled_from([2, 7, 8, 9, 64, 70]))
def test_aggregates_add_up_in_any_order(values: list[int], cut: int, width: int) -> None:
    protocol = CountMeanSketch(epsilon=1, hashes=5, width=width, seed=3)
    records = protocol.privatize(np.array(values, dtype=np.int64), source=Seeded(1)).records()
    whole = protocol.aggregate().absorb(records)
    one, two = protocol.aggregate().absorb(records[cut:]), protocol.aggregate().absorb(records[:cut][::-1])
    assert one.merge(two) == whole
    bits = [np.unpackbits(np.frombuffer(record[4:], dtype=np.uint8), bitorder="little") for record in records]
    rows = [int(vector[width : width + 3] @ [1, 2, 4]) for vector in bits]
    ones = np.zeros((5, width), dtype=np.int64)
    for row, vector in zip(rows, bits, strict=True):
        ones[row] += vector[:width]
    assert np.array_equal(whole.state["ones"], ones)
    assert whole.state["reports"].tolist() == [rows.count(row) for row in range(5)]
    assert whole.estimate([]).counts.size == 0


def test_a_device_draws_in_the_order_of_the_wire_format() -> None:
    protocol = CountMeanSketch(epsilon="1.5", hashes=6, width=11, seed=5)
    key = bytes(range(32))
    record = protocol.report("sun", source=Keyed(key))
    source = Keyed(key)
    row = integer_below(6, source)
    vector = sum((not flip_logistic("0.75", source=source)) << bit for bit in range(11))
    vector ^= 1 << int(protocol.hash_family.columns(protocol.encode(["sun"]), [row])[0])
    assert record == protocol.header + (vector | row << 11).to_bytes(2, "little")
    assert len(record) == 4 + protocol.bytes_per_report


def test_reports_that_no_client_sends_are_dropped() -> None:
    protocol = CountMeanSketch(epsilon=1, hashes=5, width=6, seed=3)  # six bits, three of the row, seven unused
    good = protocol.report(1)
    bad = [
        protocol.header + (5 << 6).to_bytes(2, "little"),
        protocol.header + (7 << 6).to_bytes(2, "little"),
        protocol.header + (1 << 9).to_bytes(2, "little"),
        protocol.header + b"\xff\xff",
        good[:-1],
        good + b"\0",
        b"",
    ]
    aggregate = protocol.aggregate().absorb([*bad, good])
    assert (aggregate.reports, aggregate.rejected) == (1, 7)
    assert aggregate.state["ones"].sum() <= 6
    other = CountMeanSketch(epsilon=1, hashes=5, width=6, seed=4)
    assert aggregate.absorb(other.privatize([1, 2])).rejected == 9


def test_what_it_promises_and_what_accountants_make_of_it() -> None:
    protocol = CountMeanSketch(epsilon=2, hashes=4, width=8)
    assert protocol.guarantee == PureDP(epsilon=2, adjacency=ReplaceOne, unit="person")
    pure, numerical = PureAccountant(), PLDAccountant()
    pure.spend(protocol.lifetime(30))
    assert pure.guarantee() == PureDP(epsilon=60, adjacency=ReplaceOne, unit="person")
    numerical.spend(protocol.lifetime(30))
    assert numerical.epsilon("1e-6") < 56  # half of epsilon twice is less than epsilon once
    shuffled = PLDAccountant()
    shuffled.spend(protocol.shuffled_event(100_000))
    assert shuffled.epsilon("1e-6") < 0.1


def test_the_event_dominates_the_exact_law() -> None:
    """The hockey-stick divergence of two values is at most that of two randomized responses, at every order."""
    for epsilon in (1, 4):
        protocol = CountMeanSketch(epsilon=epsilon, hashes=2, width=6, seed=1)
        truth = 1 / (1 + np.exp(-epsilon / 2))
        p, q = (np.outer(one, one).ravel() for one in ([truth, 1 - truth], [1 - truth, truth]))
        laws = [masses(protocol, value) for value in VALUES]
        for order in np.exp(np.linspace(-epsilon, epsilon, 21)):
            bound = np.maximum(p - order * q, 0).sum()
            for one, two in itertools.permutations(laws, 2):
                assert np.maximum(one - order * two, 0).sum() <= bound + 1e-12


def test_the_smallest_and_the_largest_epsilon_are_counted_too() -> None:
    cases: list[str | int] = ["1e-300", "1e-160", 1500, 3000, 65536]
    for epsilon in cases:
        protocol = CountMeanSketch(epsilon=epsilon, hashes=4, width=64)
        estimate = protocol.aggregate().absorb(protocol.privatize([5] * 50, source=Seeded(1))).estimate([5])
        low, high = estimate.interval()
        assert low[0] <= 50 <= high[0]
        assert (high[0] - low[0] > 40) == isinstance(epsilon, str)
        assert protocol.variance(0) == 0
        assert not np.isnan(protocol.variance(10, 5))
        assert protocol.aggregate().estimate([5]).standard_errors.tolist() == [0.0]


def test_values_of_all_kinds_and_round_trips() -> None:
    protocol = CountMeanSketch(epsilon=8, hashes=16, width=64, seed=9)
    assert Protocol.from_json(protocol.to_json()) == protocol
    assert protocol.bytes_per_report == 9
    assert protocol.memory == 8 * 16 * 65
    for values in (["sun"] * 500, np.array([b"sun"] * 500, dtype=object), [5] * 500):
        aggregate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(1)))
        assert aggregate.estimate(values[:1]).counts[0] == pytest.approx(500, abs=60)
    assert CountMeanSketch(epsilon=1, hashes=1024, width=1024).outputs() is None


def test_what_makes_no_sense_is_refused() -> None:
    cases: list[Callable[[], object]] = [
        lambda: CountMeanSketch(epsilon=0, hashes=4, width=8),
        lambda: CountMeanSketch(epsilon=float("nan"), hashes=4, width=8),
        lambda: CountMeanSketch(epsilon=1, hashes=0, width=8),
        lambda: CountMeanSketch(epsilon=1, hashes=4, width=1),
        lambda: CountMeanSketch(epsilon=1, hashes=4.0, width=8),  # type: ignore[arg-type]
        lambda: CountMeanSketch(epsilon=1, hashes=2**24, width=2**20),
        lambda: CountMeanSketch(epsilon=1, hashes=4, width=8, seed=-1),
        lambda: CountMeanSketch(epsilon=1, hashes=4, width=8, seed=2**64),
        lambda: SMALL.privatize([1.5]),
        lambda: SMALL.privatize([None]),
        lambda: SMALL.privatize("sun"),
        lambda: SMALL.report(None),
        lambda: SMALL.aggregate().estimate(),
        lambda: SMALL.aggregate().estimate([1.5]),
        lambda: SMALL.aggregate().estimate([1], postprocess="wish"),
        lambda: SMALL.aggregate().merge(CountMeanSketch(epsilon=1, hashes=3, width=5, seed=8).aggregate()),
    ]
    for ask in cases:
        with pytest.raises(CelosiaError):
            ask()
