"""dBitFlip: its law, its assignments, answers that stay, and the errors that are published."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from celosia.accounting.prices.basic import basic
from celosia.core import CelosiaError, InputError, ParameterError, PureDP, ReplaceOne
from celosia.local.base.protocol import Protocol
from celosia.local.longitudinal.d_bit_flip import PERMUTATIONS, DBitFlip
from celosia.noise import Seeded
from celosia.sketches.hashing.digest import digest_bytes
from tests.local import laws

EPSILONS: list[int | str] = ["0.5", 1, 2, 4]


def own(protocol: DBitFlip, assignment: int) -> list[int]:
    """The buckets of an assignment, by its definition."""
    if protocol.d == protocol.size:
        return list(range(protocol.size))
    order, start = divmod(assignment, protocol.size)
    keys = [
        digest_bytes(order.to_bytes(8, "little") + bucket.to_bytes(8, "little"), seed=protocol.seed)
        for bucket in range(protocol.size)
    ]
    ring = sorted(range(protocol.size), key=lambda bucket: keys[bucket])
    return [ring[(start + i) % protocol.size] for i in range(protocol.d)]


def mass(protocol: DBitFlip, value: int, answers: tuple[int, ...], assignment: int) -> float:
    odds = math.exp(float(protocol.epsilon) / 2)
    chance = 1 / protocol.assignments
    for bucket, answer in zip(own(protocol, assignment), answers, strict=True):
        chance *= (odds if (bucket == value) == bool(answer) else 1) / (odds + 1)
    return chance


def test_the_law_uses_epsilon_and_no_more() -> None:
    for epsilon, (size, d) in product(EPSILONS, ((3, 2), (5, 3), (5, 5), (12, 12))):
        laws.check_law(DBitFlip(buckets=size, d=d, epsilon=epsilon, seed=7), list(range(size)))


def test_one_bucket_uses_half_of_epsilon() -> None:
    protocol = DBitFlip(buckets=4, d=1, epsilon=2)
    logs = laws.table(protocol, [0, 1, 2, 3])
    assert np.ptp(logs, axis=0).max() == pytest.approx(1)
    assert protocol.guarantee == PureDP(epsilon=1, adjacency=ReplaceOne, unit="person")
    assert basic(protocol.event) == (Fraction(1), Fraction(0))


def test_the_law_is_that_of_the_paper() -> None:
    for size, d in ((3, 2), (4, 4)):
        protocol = DBitFlip(buckets=size, d=d, epsilon="1.5", seed=3)
        every = itertools.product(itertools.product((0, 1), repeat=d), range(protocol.assignments))
        rows = [(sum(bit << i for i, bit in enumerate(bits)) | a << d, bits, a) for bits, a in every]
        payload = np.frombuffer(
            b"".join(number.to_bytes(protocol.bytes_per_report, "little") for number, _, _ in rows), dtype=np.uint8
        ).reshape(len(rows), -1)
        for value in range(size):
            expected = [mass(protocol, value, bits, assignment) for _, bits, assignment in rows]
            # Exactly the stated coins: a flip that is 2 % off would show in the third digit.
            assert np.exp(protocol.log_masses(value, payload)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_draws_follow_the_law(epsilon: Any) -> None:
    laws.check_draws(DBitFlip(buckets=4, d=4, epsilon=epsilon), 2)


def test_draws_with_assignments_follow_the_law() -> None:
    laws.check_draws(DBitFlip(buckets=3, d=2, epsilon=2, seed=1), 1, many=600_000, few=4000)


def test_a_coin_that_is_two_percent_off_is_seen_in_three_million_answers() -> None:
    protocol = DBitFlip(buckets=30, d=30, epsilon=2)
    aggregate = protocol.aggregate().absorb(protocol.privatize(np.zeros(100_000, dtype=np.int64), source=Seeded(1)))
    lies = int(aggregate.state["ones"][1:].sum())
    chance, n = 1 / (math.e + 1), 2_900_000
    deviation = math.sqrt(n * chance * (1 - chance))
    assert abs(lies - n * chance) < 5 * deviation
    assert abs(lies - n * chance * 1.02) > 10 * deviation


def test_every_bucket_is_in_d_of_k_assignments() -> None:
    protocol = DBitFlip(buckets=7, d=3, epsilon=1, seed=9)
    asked = np.bincount([b for a in range(protocol.assignments) for b in own(protocol, a)])
    assert asked.tolist() == [3 * PERMUTATIONS] * 7
    assert len({frozenset(own(protocol, a)) for a in range(protocol.assignments)}) == math.comb(7, 3)
    every = np.arange(protocol.assignments)
    payload = protocol._pack(np.zeros((every.size, 1), dtype=np.uint64), every)
    state = protocol.aggregate().state
    protocol.accumulate(state, payload)
    assert state["asked"].tolist() == [3 * PERMUTATIONS] * 7


def test_estimates_are_right_on_average() -> None:
    values = np.repeat(np.arange(12), [1500, 750, 150, *[0] * 9])
    laws.check_moments(DBitFlip(buckets=12, d=9, epsilon=2), values, 12)
    laws.check_moments(DBitFlip(buckets=12, d=12, epsilon=1), values, 12)


@pytest.mark.parametrize(("size", "d", "epsilon"), [(50, 50, 14), (50, 1, 10), (50, 4, 4)])
def test_few_chance_hits_raise_no_alarms(size: int, d: int, epsilon: int) -> None:
    protocol, alarms = DBitFlip(buckets=size, d=d, epsilon=epsilon), 0
    for seed in range(200):
        estimate = protocol.aggregate().absorb(protocol.privatize([0] * 200, source=Seeded(seed))).estimate()
        alarms += bool(estimate.significant()[1:].any())
    assert alarms <= 20  # 10 are allowed on average; by the normal law there would be 30 to 150


def test_a_value_whose_holders_were_not_asked_may_still_have_many() -> None:
    protocol = DBitFlip(buckets=4002, d=16, epsilon=9)
    absorbed = protocol.aggregate().absorb(protocol.privatize([0] * 3000, source=Seeded(7)))
    _, high = absorbed.estimate([1]).interval(0.95)
    # Of f holders none is asked with probability about (1 - d/k)^f: at 95 %, up to ln 40 * k/d of them.
    assert high[0] > math.log(40) * 4002 / 16 * 0.95


def test_a_huge_epsilon_is_certain() -> None:
    protocol = DBitFlip(buckets=3, d=3, epsilon=65_536)
    assert protocol.variance(100) == 0.0
    estimate = protocol.aggregate().absorb(protocol.privatize([0, 2, 2])).estimate()
    assert estimate.counts.tolist() == [1.0, 0.0, 2.0]


def test_the_variances_are_those_of_the_table() -> None:
    for size, told in ((100, ("97.9", "23", "4.53")), (1000, ("979", "230", "45.3"))):
        for epsilon, variance in zip((1, 2, 4), told, strict=True):
            assert f"{DBitFlip(buckets=size, d=4, epsilon=epsilon).variance(1):.3g}" == variance
    for epsilon, variance in zip((1, 2, 4), ("3.92", "0.921", "0.181"), strict=True):
        assert f"{DBitFlip(buckets=100, d=100, epsilon=epsilon).variance(1):.3g}" == variance


@pytest.mark.parametrize(("d", "epsilon", "expected"), [(4, 1, 3600), (24, 2, 700)])
def test_the_error_on_exponential_counters(d: int, epsilon: int, expected: float) -> None:
    rng, squares = np.random.default_rng(1), []
    protocol = DBitFlip(buckets=26, d=d, epsilon=epsilon, seed=7)
    for seed in range(6):
        values = np.minimum(rng.exponential(2, 500_000).astype(np.int64), 25)
        truth = np.bincount(values, minlength=26)
        estimate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))).estimate()
        squares.append(np.mean((estimate.counts - truth) ** 2))
    theory = math.sqrt(np.mean([protocol.variance(500_000, count) for count in truth]))
    assert theory == pytest.approx(expected, rel=0.1)
    assert math.sqrt(np.mean(squares)) == pytest.approx(theory, rel=0.25)  # 26 buckets, 6 times: 8 % each way


def test_what_stays_is_one_answer_for_each_pattern_of_truths() -> None:
    protocol = DBitFlip(buckets=10, d=4, epsilon=1, seed=2)
    for client in range(20):
        secret = client.to_bytes(32, "little")
        records = [protocol.report(value, secret=secret) for value in range(10)]
        assignment = int.from_bytes(records[0][4:], "little") >> 4
        assert len({int.from_bytes(record[4:], "little") >> 4 for record in records}) == 1
        outside = [records[value] for value in range(10) if value not in own(protocol, assignment)]
        assert len(set(outside)) == 1
        assert len(set(records)) <= 5


def test_over_all_secrets_what_stays_follows_the_law() -> None:
    protocol = DBitFlip(buckets=3, d=3, epsilon=2)
    rows = np.random.default_rng(3).integers(0, 256, (60_000, 32), dtype=np.uint8)
    payload = protocol.privatize([1] * 60_000, secrets=rows).payload
    assert laws.fit(protocol, payload, np.exp(protocol.log_masses(1, protocol.outputs()))) > 1e-5  # type: ignore[arg-type] # listed
    assigned = DBitFlip(buckets=3, d=2, epsilon=2)
    payload = assigned.privatize([1] * 60_000, secrets=rows).payload
    assert laws.fit(assigned, payload, np.exp(assigned.log_masses(1, assigned.outputs()))) > 1e-5  # type: ignore[arg-type] # listed


def test_a_life_costs_a_report_for_each_pattern() -> None:
    protocol = DBitFlip(buckets=5, d=2, epsilon=1)
    answers = list(itertools.product((0, 1), repeat=2))
    truths = [(1, 0), (0, 1), (0, 0)]

    def told(truth: tuple[int, ...], answer: tuple[int, ...]) -> float:
        odds = math.exp(0.5)
        return math.prod((odds if one == other else 1) / (odds + 1) for one, other in zip(truth, answer, strict=True))

    def loss(first: tuple[int, ...], second: tuple[int, ...]) -> float:
        """The largest log ratio between histories that go through different patterns, each replayed for ever."""
        joint = itertools.product(answers, repeat=len(first))
        return max(
            math.log(
                math.prod(told(truths[a], answer) for a, answer in zip(first, seen, strict=True))
                / math.prod(told(truths[b], answer) for b, answer in zip(second, seen, strict=True))
            )
            for seen in joint
        )

    for count in (1, 2, 3):
        worst = max(
            loss(first, second)
            for first in itertools.permutations(range(3), count)
            for second in itertools.permutations(range(3), count)
        )
        spent = float(protocol.lifetime_epsilon(100, count))
        assert worst <= spent + 1e-9
        assert spent == count
    assert max(loss((0, 1), (1, 0)), 0) == pytest.approx(2)
    assert protocol.lifetime_epsilon(100, 50) == 3
    assert DBitFlip(buckets=5, d=5, epsilon=1).lifetime_epsilon(100, 50) == 5


def test_what_is_promised() -> None:
    protocol = DBitFlip(buckets=26, d=4, epsilon=1, seed=7)
    assert basic(protocol.event) == (Fraction(1), Fraction(0))
    assert protocol.guarantee == PureDP(epsilon=1, adjacency=ReplaceOne, unit="person")
    assert Protocol.from_json(protocol.to_json()) == protocol
    assert repr(protocol) == "DBitFlip(epsilon=1, buckets=26, d=4, seed=7)"
    labelled = DBitFlip(buckets=["low", "middle", "high"], d=2, epsilon=1)
    assert labelled.aggregate().absorb(labelled.privatize(["low"])).estimate().candidates == ["low", "middle", "high"]


def test_reports_that_no_client_makes_are_dropped() -> None:
    protocol = DBitFlip(buckets=26, d=4, epsilon=1)
    good = protocol.report(3)
    most = protocol.assignments << 4
    outside = protocol.header + most.to_bytes(2, "little")
    padded = protocol.header + (1 << 15).to_bytes(2, "little")
    aggregate = protocol.aggregate().absorb([good, outside, padded, good[:-1], b"", protocol.header + bytes(3)])
    assert (aggregate.reports, aggregate.rejected) == (1, 5)


def test_many_words_of_answers() -> None:
    protocol = DBitFlip(buckets=200, d=150, epsilon=8, seed=4)
    values = np.repeat([0, 199], 3000)
    rows = np.random.default_rng(1).integers(0, 256, (6000, 32), dtype=np.uint8)
    for reports in (protocol.privatize(values, source=Seeded(1)), protocol.privatize(values, secrets=rows)):
        estimate = protocol.aggregate().absorb(reports).estimate()
        errors = np.abs(estimate.raw - np.bincount(values, minlength=200)) / estimate.standard_errors
        assert errors.max() < 5
    assert protocol.privatize([7], secrets=rows[:1]).records() == [protocol.report(7, secret=bytes(rows[0]))]


def test_parameters_that_make_no_sense_are_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"d": 0},
        {"d": 11},
        {"d": 2.0},
        {"d": True},
        {"epsilon": 0},
        {"epsilon": "nan"},
        {"buckets": 1},
        {"buckets": [1, 1]},
        {"seed": -1},
        {"seed": 2**64},
    ]
    for arguments in cases:
        with pytest.raises(ParameterError):
            DBitFlip(**({"buckets": 10, "d": 4, "epsilon": 1} | arguments))


def test_values_outside_are_refused_without_being_told() -> None:
    protocol = DBitFlip(buckets=10, d=4, epsilon=1)
    for values in ([10], [-1], [0.5], ["sun"], [None]):
        with pytest.raises(InputError):
            protocol.privatize(values)


def test_work_that_a_server_may_ask_for_is_bounded() -> None:
    DBitFlip(buckets=65_536, d=4, epsilon=1)
    DBitFlip(buckets=2**20, d=2**20, epsilon=1)  # nothing is put in order
    for buckets in (65_537, 2**20, 2**24):
        with pytest.raises(ParameterError, match="buckets must be at most 65536 unless d is their number") as caught:
            DBitFlip(buckets=buckets, d=4, epsilon=1)
        assert str(buckets) in str(caught.value)
    with pytest.raises(ParameterError, match="d must be at most 1048576"):
        DBitFlip(buckets=2**24, d=2**24, epsilon=1)
    text = DBitFlip(buckets=10, d=4, epsilon=1).to_json().replace('"buckets": 10', '"buckets": 16777216')
    with pytest.raises(CelosiaError, match="buckets must be at most 65536"):
        Protocol.from_json(text)
