"""The Hadamard count-mean sketch: its exact law is private, and drawn; noise is removed with epsilon, not its half."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.linalg import hadamard

from celosia.accounting import PLDAccountant, PureAccountant, shuffled_profile
from celosia.core import CelosiaError, PureDP, ReplaceOne
from celosia.local.base.protocol import Protocol
from celosia.local.frequency.hadamard_count_mean_sketch import HadamardCountMeanSketch
from celosia.noise import Seeded, flip_logistic, integer_below
from celosia.noise.keyed import Keyed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SMALL = HadamardCountMeanSketch(epsilon=1, hashes=3, width=8, seed=7)
VALUES = [0, 1, 2, 3, 4, 5, 6, 7]


def masses(protocol: HadamardCountMeanSketch, value: int) -> NDArray[np.float64]:
    outputs = protocol.outputs()
    assert outputs is not None
    return np.exp(protocol.log_masses(value, outputs))


def frequencies(protocol: HadamardCountMeanSketch, payload: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How often each of ``outputs`` occurs."""
    outputs = protocol.outputs()
    assert outputs is not None
    keys = outputs[:, 0].astype(np.int64)
    order = np.argsort(keys)
    return np.bincount(order[np.searchsorted(keys, payload[:, 0], sorter=order)], minlength=len(outputs))


def test_the_exact_law_is_private_and_no_better() -> None:
    epsilon_cases: list[str | int] = ["1/2", 1, 2, 4]
    hashes_cases: list[tuple[int, int]] = [(1, 2), (3, 8), (5, 64)]
    for epsilon in epsilon_cases:
        for hashes, width in hashes_cases:
            protocol = HadamardCountMeanSketch(epsilon=epsilon, hashes=hashes, width=width, seed=1)
            outputs = protocol.outputs()
            assert outputs is not None
            assert len(np.unique(outputs, axis=0)) == len(outputs) == 2 * hashes * width
            assert protocol.is_valid(outputs).all()
            logs = np.array([protocol.log_masses(value, outputs) for value in VALUES])
            assert np.exp(logs).sum(axis=1) == pytest.approx(1, abs=1e-12)
            worst = max(float(np.abs(one - two).max()) for one, two in itertools.combinations(logs, 2))
            assert worst == pytest.approx(float(protocol.epsilon), abs=1e-12)


def test_the_law_is_that_of_a_row_of_the_matrix() -> None:
    """The sign of coordinate l is the entry of SciPy's Hadamard matrix, at the column of the value."""
    outputs = SMALL.outputs()
    assert outputs is not None
    rows, coordinates, plus = SMALL._unpack(outputs)
    columns = SMALL.hash_family.table(SMALL.encode([5]))[:, 0]
    true = hadamard(8)[coordinates, columns[rows]]
    chance = np.where(true == 2 * plus - 1, np.e, 1) / (1 + np.e) / 24
    assert masses(SMALL, 5) == pytest.approx(chance)


def test_what_is_drawn_has_the_exact_law() -> None:
    for value in (3, 4):
        law = masses(SMALL, value)
        drawn = frequencies(SMALL, SMALL.privatize(np.full(400_000, value), source=Seeded(value)).payload)
        assert stats.chisquare(drawn, law * drawn.sum()).pvalue > 1e-7
        one_by_one = [SMALL.report(value, source=source)[4:] for source in [Seeded(9)] for _ in range(1_500)]
        told = frequencies(SMALL, np.frombuffer(b"".join(one_by_one), dtype=np.uint8).reshape(-1, 1))
        assert stats.chisquare(told, law * told.sum()).pvalue > 1e-7


def test_a_flip_probability_that_is_off_by_two_per_cent_is_seen() -> None:
    flips = 1 / (1 + np.e)
    wrong = HadamardCountMeanSketch(epsilon=np.log(1 / (1.02 * flips) - 1), hashes=3, width=8, seed=7)
    for off in (wrong, HadamardCountMeanSketch(epsilon=1, hashes=3, width=8, seed=8)):  # or other hash functions
        drawn = frequencies(SMALL, off.privatize(np.full(3_000_000, 3), source=Seeded(2)).payload)
        assert stats.chisquare(drawn, masses(SMALL, 3) * drawn.sum()).pvalue < 1e-7


def test_one_report_estimates_without_bias_over_its_exact_law() -> None:
    """For fixed hash functions the mean is 1 for the value: with half of epsilon it would be 1.65 at epsilon 2."""
    cases: list[str | int] = ["1/2", 2, 4]
    for epsilon in cases:
        protocol = HadamardCountMeanSketch(epsilon=epsilon, hashes=3, width=4, seed=2)
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
@pytest.mark.parametrize(("hashes", "width"), [(1, 8), (4, 16), (64, 2)])
def test_variances_are_as_stated(hashes: int, width: int) -> None:
    """Over coins and hash functions, for a value that many have, one that few have, and one that nobody has."""
    counts = np.array([150, 30, 10, 10])
    values = np.repeat(np.arange(4), counts)
    protocols = [
        HadamardCountMeanSketch(epsilon=3, hashes=hashes, width=width, seed=seed)
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
        protocol = HadamardCountMeanSketch(epsilon=2, hashes=1024, width=1024, seed=seed)
        estimate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))).estimate(np.arange(250))
        errors.append(estimate.counts - counts)
        squares = float((counts.astype(float) ** 2).sum())
        theory += [protocol.variance(50_000, c, squares=squares - c**2) for c in counts.tolist()]
        inside = np.abs(estimate.raw - counts) <= 1.96 * estimate.standard_errors
        assert 0.9 < inside.mean() <= 1
    rmse = float(np.sqrt(np.mean(np.square(errors))))
    assert rmse == pytest.approx(np.sqrt(np.mean(theory)), rel=0.1)
    assert rmse == pytest.approx(297, rel=0.1)


def test_the_table_of_variances() -> None:
    """Per report, for a value that nobody has: the published 4.69, 1.73 and 1.08."""
    told = [HadamardCountMeanSketch(epsilon=e, hashes=1024, width=1024).variance(1) for e in (1, 2, 4)]
    assert told == pytest.approx([4.69, 1.73, 1.08], rel=3e-3)


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(0, 60), st.sampled_from([2, 16, 1024]))
def test_aggregates_add_up_in_any_order(values: list[int], cut: int, width: int) -> None:
    protocol = HadamardCountMeanSketch(epsilon=1, hashes=5, width=width, seed=3)
    reports = protocol.privatize(np.array(values, dtype=np.int64), source=Seeded(1))
    records = reports.records()
    whole = protocol.aggregate().absorb(reports)
    one, two = protocol.aggregate().absorb(records[cut:]), protocol.aggregate().absorb(records[:cut][::-1])
    assert one.merge(two) == whole
    signs, places = np.zeros((5, width), dtype=np.int64), protocol._widths()[1]
    for record in records:
        number = int.from_bytes(record[4:], "little")
        signs[number & 7, number >> 3 & (width - 1)] += 2 * (number >> (3 + places)) - 1
    assert np.array_equal(whole.state["signs"], signs)
    assert whole.state["reports"].sum() == len(values)
    assert whole.estimate([]).counts.size == 0


def test_estimates_read_the_transformed_table() -> None:
    protocol = HadamardCountMeanSketch(epsilon=2, hashes=4, width=16, seed=3)
    aggregate = protocol.aggregate().absorb(protocol.privatize(np.arange(500) % 7, source=Seeded(1)))
    before = aggregate.state["signs"].copy()
    table = 4 * np.tanh(1) ** -1 * aggregate.state["signs"] @ hadamard(16)
    columns = protocol.hash_family.table(protocol.encode([3]))[:, 0]
    wanted = 16 / 15 * (table[np.arange(4), columns].mean() - 500 / 16)
    assert aggregate.estimate([3]).raw[0] == pytest.approx(wanted)
    assert np.array_equal(aggregate.state["signs"], before)


def test_a_device_draws_in_the_order_of_the_wire_format() -> None:
    protocol = HadamardCountMeanSketch(epsilon="1.5", hashes=6, width=16, seed=5)
    key = bytes(range(32))
    record = protocol.report("sun", source=Keyed(key))
    source = Keyed(key)
    row, coordinate = integer_below(6, source), integer_below(16, source)
    column = int(protocol.hash_family.columns(protocol.encode(["sun"]), [row])[0])
    plus = (hadamard(16)[coordinate, column] == 1) == flip_logistic("1.5", source=source)
    assert record == protocol.header + bytes([row | (coordinate & 31) << 3 | plus << 7])


def test_reports_that_no_client_sends_are_dropped() -> None:
    protocol = HadamardCountMeanSketch(epsilon=1, hashes=5, width=4, seed=3)  # three bits, two, one, and two unused
    good = protocol.report(1)
    bad = [bytes([5]), bytes([7]), bytes([64]), bytes([128 + 1]), b"", b"\0\0"]
    aggregate = protocol.aggregate().absorb([*(protocol.header + payload for payload in bad), good])
    assert (aggregate.reports, aggregate.rejected) == (1, 6)
    assert np.abs(aggregate.state["signs"]).sum() == 1


def test_what_it_promises_and_what_accountants_make_of_it() -> None:
    protocol = HadamardCountMeanSketch(epsilon=2, hashes=4, width=8)
    assert protocol.guarantee == PureDP(epsilon=2, adjacency=ReplaceOne, unit="person")
    pure, shuffled = PureAccountant(), PLDAccountant()
    pure.spend(protocol.lifetime(10))
    assert pure.guarantee() == PureDP(epsilon=20, adjacency=ReplaceOne, unit="person")
    shuffled.spend(protocol.shuffled_event(100_000))
    assert shuffled.epsilon("1e-6") < 0.1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("local", "reports"), [(1.0, 30), (2.0, 60), (4.0, 120)])
def test_shuffled_reports_are_no_worse_than_shuffled_answers(share: float, local: float, reports: int) -> None:
    """A coordinate tells two values apart in a share of cases, where the others are like one of them; elsewhere unlike.

    The number of reports among those cases, how many of them say plus, and how many of the rest do, are all that
    matters. Their exact divergence is at most what randomized response without an index is charged.
    """
    truth = 1 / (1 + np.exp(-local))
    crowd = stats.binom.pmf(np.arange(reports), reports - 1, share)
    for of_others in (truth, 1 - truth):
        laws = [np.zeros((reports + 1, reports + 1, reports + 1)) for _ in range(2)]
        for law, said in zip(laws, (truth, 1 - truth), strict=True):
            for among in range(reports):
                rest = reports - 1 - among
                plus = stats.binom.pmf(np.arange(among + 1), among, of_others)
                others = stats.binom.pmf(np.arange(rest + 1), rest, 1 - of_others)
                told, kept = np.convolve(plus, [1 - said, said]), np.convolve(others, [1 - truth, truth])
                law[among + 1, : among + 2, : rest + 1] += share * crowd[among] * np.outer(told, others)
                law[among, : among + 1, : rest + 2] += (1 - share) * crowd[among] * np.outer(plus, kept)
        orders = np.linspace(0, local, 9)[:-1]
        charged = shuffled_profile(local, reports, orders, categories=2)
        for order, bound in zip(orders, charged, strict=True):
            for one, two in (laws, laws[::-1]):
                assert np.maximum(one - np.exp(order) * two, 0).sum() <= bound * (1 + 1e-9) + 1e-14


def test_the_smallest_and_the_largest_epsilon_are_counted_too() -> None:
    cases: list[str | int] = ["1e-300", "1e-160", 1500, 3000, 65536]
    for epsilon in cases:
        protocol = HadamardCountMeanSketch(epsilon=epsilon, hashes=4, width=64)
        estimate = protocol.aggregate().absorb(protocol.privatize([5] * 50, source=Seeded(1))).estimate([5])
        low, high = estimate.interval()
        assert low[0] <= 50 <= high[0]
        assert (high[0] - low[0] > 40) == isinstance(epsilon, str)
        assert protocol.variance(0) == 0
        assert not np.isnan(protocol.variance(10, 5))
        assert protocol.aggregate().estimate([5]).standard_errors.tolist() == [0.0]


def test_values_of_all_kinds_and_round_trips() -> None:
    protocol = HadamardCountMeanSketch(epsilon=8, hashes=16, width=1024, seed=9)
    assert Protocol.from_json(protocol.to_json()) == protocol
    assert protocol.bytes_per_report == 2
    assert protocol.memory == 8 * 16 * 1025
    for values in (["sun"] * 2000, np.array([b"sun"] * 2000, dtype=object), [5] * 2000):
        aggregate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(1)))
        assert aggregate.estimate(values[:1]).counts[0] == pytest.approx(2000, abs=30)
    assert HadamardCountMeanSketch(epsilon=1, hashes=1024, width=1024).outputs() is None


def test_what_makes_no_sense_is_refused() -> None:
    cases: list[Callable[[], object]] = [
        lambda: HadamardCountMeanSketch(epsilon=0, hashes=4, width=8),
        lambda: HadamardCountMeanSketch(epsilon=float("inf"), hashes=4, width=8),
        lambda: HadamardCountMeanSketch(epsilon=1, hashes=0, width=8),
        lambda: HadamardCountMeanSketch(epsilon=1, hashes=4, width=1),
        lambda: HadamardCountMeanSketch(epsilon=1, hashes=4, width=12),
        lambda: HadamardCountMeanSketch(epsilon=1, hashes=4, width=8, seed="7"),  # type: ignore[arg-type]
        lambda: SMALL.privatize([1.5]),
        lambda: SMALL.privatize([None]),
        lambda: SMALL.report([1]),
        lambda: SMALL.aggregate().estimate(),
        lambda: SMALL.aggregate().estimate([1], postprocess="wish"),
        lambda: SMALL.aggregate().merge(HadamardCountMeanSketch(epsilon=1, hashes=3, width=8, seed=8).aggregate()),
    ]
    for ask in cases:
        with pytest.raises(CelosiaError):
            ask()
