"""1BitMean: its law, means that are right on average, and bits that stay."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from celosia.core import InputError, ParameterError
from celosia.local.base.protocol import Protocol
from celosia.local.longitudinal.one_bit_mean import OneBitMean
from celosia.noise import Seeded
from tests.local import laws

EPSILONS: list[int | str] = ["0.5", 1, 2, 4]


def test_the_law_is_that_of_the_paper_and_uses_epsilon() -> None:
    for epsilon in EPSILONS:
        protocol = OneBitMean(low=0, high=8, epsilon=epsilon)
        values = [0, 1, 2.5, 4, 8]
        laws.check_law(protocol, values)
        power = math.exp(float(protocol.epsilon))
        ones = np.exp(laws.table(protocol, values))[:, 1]
        expected = [1 / (power + 1) + value / 8 * (power - 1) / (power + 1) for value in values]
        # Ding, Kulkarni and Yekhanin 2017, equation 1: a coin that is 2 % off would show in the second digit.
        assert ones == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_draws_follow_the_law(epsilon: Any) -> None:
    protocol = OneBitMean(low=0, high=8, epsilon=epsilon)
    laws.check_draws(protocol, 0)
    masses = np.exp(protocol.log_masses(3.3, protocol.outputs()))  # type: ignore[arg-type] # listed
    assert laws.fit(protocol, protocol.privatize(np.full(100_000, 3.3), source=Seeded(1)).payload, masses) > 1e-5
    assert laws.fit(protocol, laws.one_by_one(protocol, 3.3, 500, 2), masses) > 1e-5


def test_a_coin_that_is_two_percent_off_is_seen_in_three_million_draws() -> None:
    protocol, n = OneBitMean(low=0, high=1, epsilon=1), 3_000_000
    ones = int(protocol.privatize(np.zeros(n), source=Seeded(3)).payload.sum())
    chance = 1 / (math.e + 1)
    deviation = math.sqrt(n * chance * (1 - chance))
    assert abs(ones - n * chance) < 5 * deviation
    assert abs(ones - n * chance * 1.02) > 10 * deviation


def test_means_are_right_on_average_and_so_are_their_errors() -> None:
    protocol, source = OneBitMean(low=-10, high=30, epsilon=1), Seeded(1)
    values = np.linspace(-10, 30, 400) ** 2 / 900 * 40 - 10
    estimates = [protocol.aggregate().absorb(protocol.privatize(values, source=source)).estimate() for _ in range(2000)]
    means = np.array([estimate.mean for estimate in estimates])
    errors = np.array([estimate.standard_error for estimate in estimates])
    ones = np.exp(laws.table(protocol, values.tolist()))[:, 1]
    factor = 40 * (math.e + 1) / (math.e - 1)
    exact = factor * math.sqrt((ones * (1 - ones)).mean() / 400)
    assert abs(means.mean() - values.mean()) < 5 * exact / math.sqrt(2000)
    assert means.std() == pytest.approx(exact, rel=0.07)  # 4.5 standard deviations of a standard deviation
    assert means.std() != pytest.approx(exact * 1.15, rel=0.07)
    assert exact <= errors.mean() <= 1.1 * exact  # people are not all alike, which the bits cannot tell
    assert errors.max() <= math.sqrt(protocol.variance(400)) * (1 + 1e-12)
    covered = [low <= values.mean() <= high for low, high in (one.interval(0.95) for one in estimates)]
    assert np.mean(covered) > 0.94


def test_few_bits_that_agree_by_chance_are_not_certain() -> None:
    for reports, epsilon, number in ((5, 8, 0.97), (3, 4, 0.5), (50, 8, 0.97), (10, 1, 1.0)):
        protocol = OneBitMean(low=0, high=1, epsilon=epsilon)
        shown = float(np.exp(protocol.log_masses(number, protocol.outputs()))[1])  # type: ignore[arg-type] # listed
        covered = 0.0
        for high in range(reports + 1):
            aggregate = protocol.aggregate().absorb([protocol.header + bytes([i < high]) for i in range(reports)])
            low, top = aggregate.estimate().interval(0.95)
            covered += float(stats.binom.pmf(high, reports, shown)) * (low - 1e-12 <= number <= top + 1e-12)
        assert covered > 0.9  # without what is added to the variance 0.12 in the first case, and 0.75 in the second


def test_a_huge_epsilon_has_a_law_without_warnings() -> None:
    protocol = OneBitMean(low=0, high=1, epsilon=800)
    assert protocol.log_masses(0, protocol.outputs()).tolist() == [0.0, -800.0]  # type: ignore[arg-type] # listed


def test_the_worst_case_is_that_of_the_table() -> None:
    told = [f"{OneBitMean(low=-1, high=1, epsilon=epsilon).variance(1):.3g}" for epsilon in (1, 2, 4)]
    assert told == ["4.68", "1.72", "1.08"]


def test_a_number_that_stays_on_one_side_of_the_threshold_gives_one_bit() -> None:
    protocol = OneBitMean(low=0, high=100, epsilon=1)
    for client in range(50):
        secret = client.to_bytes(32, "big")
        bits = [protocol.report(value, secret=secret)[-1] for value in range(0, 101, 5)]
        changes = sum(one != other for one, other in itertools.pairwise(bits))
        assert changes <= 1


def test_over_all_secrets_what_stays_follows_the_law() -> None:
    protocol = OneBitMean(low=0, high=100, epsilon=2)
    rows = np.random.default_rng(4).integers(0, 256, (40_000, 32), dtype=np.uint8)
    for value in (0, 40, 100):
        payload = protocol.privatize([value] * len(rows), secrets=rows).payload
        assert laws.fit(protocol, payload, np.exp(protocol.log_masses(value, protocol.outputs()))) > 1e-5  # type: ignore[arg-type] # listed


def test_a_life_costs_two_reports_at_most() -> None:
    protocol = OneBitMean(low=0, high=100, epsilon=1)
    truth, lie = math.e / (math.e + 1), 1 / (math.e + 1)

    def told(high: bool, said: int) -> float:  # noqa: FBT001 - the side of the threshold
        return truth if said == int(high) else lie

    def loss(first: tuple[bool, ...], second: tuple[bool, ...]) -> float:
        return max(
            math.log(
                math.prod(told(side, bit) for side, bit in zip(first, seen, strict=True))
                / math.prod(told(side, bit) for side, bit in zip(second, seen, strict=True))
            )
            for seen in itertools.product((0, 1), repeat=len(first))
        )

    assert loss((True,), (False,)) == pytest.approx(float(protocol.lifetime_epsilon(10**6, 1)))
    assert loss((True, False), (False, True)) == pytest.approx(float(protocol.lifetime_epsilon(10**6, 2)))
    assert protocol.lifetime_epsilon(10**6, 50) == 2


def test_what_is_promised_and_refused() -> None:
    protocol = OneBitMean(low=0, high=24, epsilon=1)
    assert Protocol.from_json(protocol.to_json()) == protocol
    assert protocol.aggregate().estimate().interval() == (0, 24)
    aggregate = protocol.aggregate().absorb([protocol.report(3), protocol.header + b"\x02", protocol.header])
    assert (aggregate.reports, aggregate.rejected) == (1, 2)
    for values in ([25], [-0.1], [math.nan], ["sun"], [None], [True], 3):
        with pytest.raises(InputError):
            protocol.privatize(values)
    for asked in ({"candidates": [1]}, {"postprocess": "clip"}):
        with pytest.raises(ParameterError, match="without"):
            protocol.aggregate().estimate(**asked)
    for low, high, epsilon in ((1, 1, 1), (2, 1, 1), (0, "inf", 1), (0, 1, 0), (0, 1, -1), (True, 2, 1)):
        with pytest.raises(ParameterError):
            OneBitMean(low=low, high=high, epsilon=epsilon)
