"""LOLOHA: the two steps together, answers that stay, what a life costs, and estimates from shared functions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import InputError, ParameterError, RandomizedResponseEvent
from celosia.local.base.protocol import Protocol
from celosia.local.longitudinal.loloha import LOLOHA, second_epsilon
from celosia.noise import Seeded
from tests.local import laws


def respond(g: int, epsilon: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Randomized response over g cells, as a matrix."""
    matrix = np.ones((g, g)) + (math.exp(epsilon) - 1) * np.eye(g)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def test_the_law_uses_epsilon_and_no_more() -> None:
    cases: list[tuple[Any, Any, int]] = [("0.5", 1, 2), (1, 2, 2), (1, 2, 4), (2, "2.5", 8), (4, 8, 55)]
    for epsilon, infinity, g in cases:
        protocol = LOLOHA(domain=20, epsilon=epsilon, epsilon_infinity=infinity, g=g, functions=50, seed=3)
        laws.check_law(protocol, list(range(20)))


def test_the_law_is_that_of_two_randomized_responses() -> None:
    for g in (2, 3, 5):
        protocol = LOLOHA(domain=20, epsilon=1, epsilon_infinity=2, g=g, functions=8, seed=3)
        second = float(second_epsilon(Fraction(1), Fraction(2), g))
        both = respond(g, 2) @ respond(g, second)
        assert both[0, 0] / both[0, 1] == pytest.approx(math.e, rel=1e-12)
        for value in range(5):
            cells = protocol._cells(np.full(8, value), np.arange(8))
            expected = (both[cells] / 8).reshape(-1)
            assert np.exp(protocol.log_masses(value, protocol.outputs())) == pytest.approx(expected, rel=1e-12)  # type: ignore[arg-type] # listed


@given(st.fractions(Fraction(1, 100), 10), st.fractions(Fraction(1, 100), 10), st.integers(2, 500))
def test_the_second_step_never_spends_more_and_hardly_less(first: Fraction, more: Fraction, g: int) -> None:
    total = first + more
    second = float(second_epsilon(first, total, g))
    large, small = math.exp(float(total)), math.exp(second)
    ratio = (large * small + g - 1) / (large + small + g - 2)
    assert math.log(ratio) == pytest.approx(float(first), rel=1e-9)
    if g == 2:  # Arcolezi et al. 2023, algorithm 1
        one = math.exp(float(first))
        assert second == pytest.approx(math.log((large * one - 1) / (large - one)), rel=1e-7)


def test_the_papers_second_step_wastes_budget_for_more_than_two_cells() -> None:
    infinity, first, g = 4.0, 2.0, 8
    paper = math.log((math.exp(infinity + first) - 1) / (math.exp(infinity) - math.exp(first)))
    theirs, ours = (
        respond(g, infinity) @ respond(g, second)
        for second in (paper, float(second_epsilon(Fraction(2), Fraction(4), g)))
    )
    assert math.log(theirs[0, 0] / theirs[0, 1]) < 0.97 * first
    assert math.log(ours[0, 0] / ours[0, 1]) == pytest.approx(first)


@pytest.mark.parametrize("epsilon", ["0.5", 1, 2, 4])
@pytest.mark.sampled(2)
def test_draws_follow_the_law(epsilon: Any) -> None:
    laws.check_draws(LOLOHA(domain=9, epsilon=epsilon, epsilon_infinity=6, functions=3, seed=1), 4, many=400_000)


def test_a_step_that_is_two_percent_off_is_seen_in_three_million_draws() -> None:
    protocol, n = LOLOHA(domain=9, epsilon=1, epsilon_infinity=2, g=2, functions=1), 3_000_000
    said = int(protocol.privatize(np.full(n, 4), source=Seeded(3)).payload.sum())
    ones = n - said if int(protocol._cells(np.array([4]), np.array([0]))[0]) == 0 else said
    chance = math.e / (math.e + 1)
    deviation = math.sqrt(n * chance * (1 - chance))
    assert abs(ones - n * chance) < 5 * deviation
    assert abs(ones - n * chance * 1.02) > 10 * deviation


def test_estimates_are_right_on_average() -> None:
    values = np.repeat(np.arange(12), [120, 60, 20, *[0] * 9])
    laws.check_moments(LOLOHA(domain=12, epsilon=2, epsilon_infinity=3, functions=1 << 12), values, 12)


def test_the_variance_is_that_of_optimized_local_hashing() -> None:
    for epsilon, expected in zip((1, 2, 4), ("3.7", "0.73", "0.076"), strict=True):
        protocol = LOLOHA(domain=10**6, epsilon=epsilon, epsilon_infinity=2 * epsilon)
        assert protocol.variance(1) == pytest.approx(float(expected), rel=0.02)
        best = min(LOLOHA(domain=9, epsilon=epsilon, epsilon_infinity=8, g=g).variance(1) for g in range(2, 99))
        assert protocol.variance(1) == pytest.approx(best, rel=1e-3)
    # Arcolezi et al. 2023, equation 5, with q1 = 1/g: written with both steps' probabilities.
    protocol = LOLOHA(domain=9, epsilon=1, epsilon_infinity=2, g=3)
    first, second = respond(3, 2), respond(3, float(second_epsilon(Fraction(1), Fraction(2), 3)))
    p1, p2, q2 = first[0, 0], second[0, 0], second[0, 1]
    shown = (p2 - q2) / 3 + q2
    assert protocol.variance(1) == pytest.approx(shown * (1 - shown) / ((p1 - 1 / 3) * (p2 - q2)) ** 2)


def test_shared_functions_are_in_the_standard_errors() -> None:
    # Over hash functions (seeds), with so few of them that collisions are most of the error.
    rng, scores, told = np.random.default_rng(1), [], []
    values = rng.choice(5, 20_000, p=[0.5, 0.3, 0.2, 0, 0])
    truth = np.bincount(values, minlength=5)
    for seed in range(150):
        protocol = LOLOHA(domain=5, epsilon=2, epsilon_infinity=4, g=2, functions=64, seed=seed)
        estimate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))).estimate()
        scores.append((estimate.raw[3:] - truth[3:]) / estimate.standard_errors[3:])
        told.append(estimate.standard_errors[3] ** 2)
    assert np.mean(told) > 5 * protocol.variance(20_000)  # what a client's coins alone would give
    assert np.mean(told) == pytest.approx(protocol.variance(20_000) + float((truth**2).sum()) / 64, rel=0.2)
    assert 0.85 < np.std(scores) < 1.15
    assert abs(np.mean(scores)) < 0.3


def test_a_frequent_value_does_not_collide_with_itself() -> None:
    values, errors, told = [0] * 5000, [], []
    for seed in range(150):
        protocol = LOLOHA(domain=5, epsilon=2, epsilon_infinity=4, g=2, functions=64, seed=seed)
        estimate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))).estimate([0])
        errors.append(float(estimate.raw[0]) - 5000)
        told.append(float(estimate.standard_errors[0]))
    assert np.mean(told) < 2 * np.std(errors)
    assert np.std(errors) < 1.2 * np.mean(told)


def test_few_chance_hits_raise_no_alarms() -> None:
    alarms = 0
    for seed in range(100):
        protocol = LOLOHA(domain=50, epsilon=6, epsilon_infinity=12, functions=256, seed=seed)
        estimate = protocol.aggregate().absorb(protocol.privatize([0] * 200, source=Seeded(seed))).estimate()
        first, *others = estimate.significant().tolist()
        assert first
        alarms += any(others)
    assert alarms <= 14  # 5 are allowed on average; by the normal law there would be 30 and more


def test_what_stays_is_one_answer_for_each_cell() -> None:
    protocol = LOLOHA(domain=30, epsilon=1, epsilon_infinity=2, g=3, functions=50, seed=1)
    rows = np.random.default_rng(1).integers(0, 256, (200, 32), dtype=np.uint8)
    for row in rows[:20]:
        kept = [protocol._draw_kept(value, protocol.open_memo(bytes(row))) for value in range(30)]
        assert len({function for _, function in kept}) == 1
        cells = protocol._cells(np.arange(30), np.full(30, kept[0][1]))
        assert len({(int(cell), answer) for cell, (answer, _) in zip(cells, kept, strict=True)}) == len(
            set(cells.tolist())
        )


def test_all_at_once_keeps_the_answers_that_one_by_one_keeps() -> None:
    # The fresh step tells the truth here but once in e^40: the reports are the answers that stay.
    protocol = LOLOHA(domain=30, epsilon="1.9999999999999999999", epsilon_infinity=2, g=3, functions=50, seed=1)
    assert float(second_epsilon(protocol.epsilon, protocol.epsilon_infinity, 3)) > 40
    rows = np.random.default_rng(1).integers(0, 256, (300, 32), dtype=np.uint8)
    values = np.arange(300) % 30
    records = protocol.privatize(values, secrets=rows, source=Seeded(1)).records()
    assert records == [
        protocol.report(value, secret=bytes(row)) for value, row in zip(values.tolist(), rows, strict=True)
    ]
    assert records == protocol.privatize(values, secrets=rows, source=Seeded(2)).records()


def test_over_all_secrets_reports_follow_the_law() -> None:
    protocol = LOLOHA(domain=30, epsilon=1, epsilon_infinity=2, g=3, functions=5, seed=1)
    rows = np.random.default_rng(1).integers(0, 256, (60_000, 32), dtype=np.uint8)
    payload = protocol.privatize([7] * 60_000, secrets=rows, source=Seeded(1)).payload
    assert laws.fit(protocol, payload, np.exp(protocol.log_masses(7, protocol.outputs()))) > 1e-5  # type: ignore[arg-type] # listed


def check_a_life_costs_what_the_likeliest_reports_tell(g: int) -> None:
    protocol = LOLOHA(domain=30, epsilon=1, epsilon_infinity=2, g=g)
    first = respond(g, 2)
    second = respond(g, float(second_epsilon(protocol.epsilon, protocol.epsilon_infinity, g)))

    def seen(times: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """For each true cell the probabilities of all sequences of reports about it."""
        sequences = list(itertools.product(range(g), repeat=times))
        given_answer = np.array([[math.prod(second[a, said] for said in one) for one in sequences] for a in range(g)])
        return np.asarray(first @ given_answer)

    for times in range(1, 7):
        law = np.log(seen(times))
        worst = (law.max(axis=0) - law.min(axis=0)).max()
        assert float(protocol.lifetime_epsilon(times, 1)) == pytest.approx(worst, rel=1e-9)
        assert worst <= 2
    # Two cells, three reports: one is told twice. Histories that change at the same times.
    one, two = np.log(seen(1)), np.log(seen(2))
    loss = (one.max(axis=0) - one.min(axis=0)).max() + (two.max(axis=0) - two.min(axis=0)).max()
    assert loss <= float(protocol.lifetime_epsilon(3, 2)) + 1e-9
    assert protocol.lifetime_epsilon(10**9, 10**9) == 2 * g
    assert protocol.lifetime_epsilon(10**9, 1) == 2


def test_a_life_costs_what_the_likeliest_reports_tell() -> None:
    for g in (2, 3):
        check_a_life_costs_what_the_likeliest_reports_tell(g)


@pytest.mark.parametrize(("epsilon", "infinity", "g"), [(1, 2, 2), (1, 4, 50), (0.5, 6, 10)])
def test_a_life_costs_no_less_than_any_history_with_fewer_values(epsilon: float, infinity: int, g: int) -> None:
    # Values may stay away, or collide: what two answers cost that are told once is not what one costs told twice.
    protocol = LOLOHA(domain=100, epsilon=epsilon, epsilon_infinity=infinity, g=g)
    for reports in range(1, 7):
        for values in range(1, 7):
            shares = itertools.product(range(reports + 1), repeat=min(values, 4))
            histories = [share for share in shares if sum(share) == reports and np.count_nonzero(share) <= g]
            worst = max(sum(protocol.lifetime_epsilon(times, 1) for times in share if times) for share in histories)
            assert protocol.lifetime_epsilon(reports, values) >= worst
            assert protocol.lifetime_epsilon(reports, values + 1) >= protocol.lifetime_epsilon(reports, values)


def test_for_three_cells_two_reports_can_cost_more_than_twice_one() -> None:
    # A sum of epsilons would not be sound: the kept answer ties the reports together.
    protocol = LOLOHA(domain=30, epsilon="0.01", epsilon_infinity=4, g=50)
    assert protocol.lifetime_epsilon(2, 1) > 2 * protocol.epsilon
    two = LOLOHA(domain=30, epsilon="0.01", epsilon_infinity=4, g=2)
    assert two.lifetime_epsilon(2, 1) <= 2 * two.epsilon


def test_what_is_promised() -> None:
    protocol = LOLOHA(domain=["red", "green", "blue"], epsilon=1, epsilon_infinity=2, seed=5)
    assert protocol.g == 4
    assert protocol.event == RandomizedResponseEvent(epsilon=1, categories=4, unit="person")
    assert Protocol.from_json(protocol.to_json()) == protocol
    estimate = protocol.aggregate().absorb(protocol.privatize(["red"] * 50)).estimate()
    assert estimate.candidates == ["red", "green", "blue"]


def test_reports_that_no_client_makes_are_dropped() -> None:
    protocol = LOLOHA(domain=10, epsilon=1, epsilon_infinity=2, g=3, functions=5)
    numbers = [0, 2 | 4 << 2, 3, 5 << 2, 1 << 5]
    aggregate = protocol.aggregate().absorb([protocol.header + bytes([number]) for number in numbers])
    assert (aggregate.reports, aggregate.rejected) == (2, 3)
    assert int(aggregate.state["said"].sum()) == 2


def test_parameters_that_make_no_sense_are_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"g": 1},
        {"g": 2.0},
        {"g": 2**13},
        {"epsilon": 2},
        {"epsilon": 0},
        {"epsilon_infinity": "nan"},
        {"epsilon_infinity": 65},
        {"functions": 0},
        {"functions": 2**21},
        {"domain": 1},
        {"seed": -1},
    ]
    for arguments in cases:
        with pytest.raises(ParameterError):
            LOLOHA(**({"domain": 10, "epsilon": 1, "epsilon_infinity": 2} | arguments))


def test_values_outside_are_refused() -> None:
    protocol = LOLOHA(domain=10, epsilon=1, epsilon_infinity=2)
    for values in ([10], [-1], [0.5], ["sun"], [None]):
        with pytest.raises(InputError):
            protocol.privatize(values)
