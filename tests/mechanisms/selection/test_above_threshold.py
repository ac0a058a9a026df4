"""The sparse vector: every transcript's exact probability, the broken variants that fail, and how a session behaves."""

import copy
import dataclasses
import itertools
import math
import os
import pickle
import threading
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from celosia.core import (
    AboveThresholdEvent,
    Event,
    ExhaustedError,
    InputError,
    Mechanism,
    ParameterError,
    PureDP,
    ReplaceOne,
)
from celosia.mechanisms import AboveThreshold
from celosia.noise import Seeded, System

Transcript = tuple[bool, ...]


def at_least(k: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """P(X >= k) for discrete Laplace noise."""
    r = math.exp(-1 / scale)
    tail: NDArray[np.float64] = np.where(k >= 1, np.exp(-np.maximum(k, 1) / scale), 0.0) / (1 + r)
    low: NDArray[np.float64] = 1 - np.exp((np.minimum(k, 0) - 1) / scale) / (1 + r)
    return np.where(k >= 1, tail, low)


def transcripts(
    values: tuple[int, ...], scales: tuple[float, float], answers: int, threshold: int = 0
) -> dict[Transcript, float]:
    """The exact probability of every transcript: a sum over the threshold's noise, a product over the values."""
    reach = math.ceil(45 * max(scales)) + 4 * max(map(abs, values))
    rho = np.arange(-reach, reach + 1, dtype=np.float64) if scales[0] else np.zeros(1)
    pmf = np.exp(-np.abs(rho) / scales[0]) * math.tanh(0.5 / scales[0]) if scales[0] else np.ones(1)
    above = [at_least(threshold + rho - value, scales[1]) for value in values]
    found: dict[Transcript, float] = {}

    def follow(told: Transcript, weight: NDArray[np.float64]) -> None:
        if len(told) == len(values) or sum(told) == answers:
            found[told] = float(weight.sum())
            return
        chance = above[len(told)]
        follow((*told, True), weight * chance)
        # 1 - P would lose its digits where P is nearly one: by symmetry P(X < k) = P(X >= 1 - k).
        below = at_least(1 - (threshold + rho - values[len(told)]), scales[1])
        follow((*told, False), weight * below)

    follow((), pmf)
    return found


def scales_of(mechanism: AboveThreshold) -> tuple[float, float]:
    _, at_threshold, at_values = mechanism._noises(integral=True)
    return float(at_threshold.scale), float(at_values.scale)


def worst(values: tuple[int, ...], scales: tuple[float, float], answers: int, *, monotone: bool) -> float:
    """The largest privacy loss of any transcript, for all neighbours of a list of values."""
    signs: list[tuple[int, ...]] = [(0, 1), (-1, 0)] if monotone else [(-1, 0, 1)]
    moves = {move for sign in signs for move in itertools.product(sign, repeat=len(values))}
    here = transcripts(values, scales, answers)
    assert math.fsum(here.values()) == pytest.approx(1, abs=1e-9)
    largest = 0.0
    for move in moves:
        there = transcripts(tuple(v + d for v, d in zip(values, move, strict=True)), scales, answers)
        largest = max(largest, *(abs(math.log(here[told] / there[told])) for told in here))
    return largest


VALUES = [(0,), (0, 0), (5, -5), (0, 3, -2), (20, 20, 20), (-20, -20, 20), (30, 30, 30, -30), (0, 1, -1, 0)]


def test_no_transcript_tells_more_than_epsilon() -> None:
    for values, answers, monotone in product(VALUES, (1, 2), (False, True)):
        mechanism = AboveThreshold(epsilon=2, sensitivity=1, threshold=0, answers=answers, monotone=monotone)
        assert worst(values, scales_of(mechanism), answers, monotone=monotone) <= 2 * (1 + 1e-9)


def test_epsilon_is_used() -> None:
    for answers, monotone in itertools.product((1, 2), (False, True)):
        mechanism = AboveThreshold(epsilon=2, sensitivity=1, threshold=0, answers=answers, monotone=monotone)
        scales = scales_of(mechanism)
        assert max(worst(values, scales, answers, monotone=monotone) for values in VALUES) > 1.3


def test_the_broken_variants_tell_more() -> None:
    # Lyu, Su and Li 2017. The threshold's and the values' noise are those of one answer …
    threshold, value = scales_of(AboveThreshold(epsilon=2, sensitivity=1, threshold=0))
    # … with which more answers are given (no scaling with their number) …
    assert max(worst(values, (threshold, value), 4, monotone=False) for values in VALUES) > 2.2
    # … without noise on the threshold …
    assert worst((30, 30, 30, -30), (0.0, value), 1, monotone=False) > 2.2
    # … with the noise of monotone values for others, and with ten per cent less noise.
    monotone = scales_of(AboveThreshold(epsilon=2, sensitivity=1, threshold=0, monotone=True))
    assert max(worst(values, monotone, 1, monotone=False) for values in VALUES) > 2.2
    less = (monotone[0] / 1.1, monotone[1] / 1.1)
    assert max(worst(values, less, 1, monotone=True) for values in VALUES) > 2.15


def check_the_noises_share_epsilon(answers: int, sensitivity: str, *, monotone: bool, integral: bool) -> None:
    mechanism = AboveThreshold(epsilon=1, sensitivity=sensitivity, threshold=0, answers=answers, monotone=monotone)
    session = mechanism.start(integral=integral)
    integral = integral and Fraction(sensitivity).denominator == 1
    step, at_threshold, at_values = mechanism._noises(integral=integral)
    assert session._step == step
    assert session._noise == at_values
    # How far two rounded neighbours can be apart (1025 steps of one are odd: half to even then does move them).
    steps = math.floor(Fraction(sensitivity) / step) + (0 if integral else 1)
    moved = answers if monotone else 2 * answers
    assert steps / at_threshold.scale + moved * steps / at_values.scale == 1
    assert integral or step * 1024 <= Fraction(sensitivity)


def test_the_noises_share_epsilon() -> None:
    for answers, monotone, sensitivity, integral in product(
        (1, 2, 5), (False, True), ("1", "3", "0.1", "1025"), (True, False)
    ):
        check_the_noises_share_epsilon(answers, sensitivity, monotone=monotone, integral=integral)


def test_real_values_are_paid_for_where_the_step_is_one() -> None:
    # At a sensitivity of 1025 the fine step is 1, as for integers; but the values are rounded.
    session = AboveThreshold(epsilon=1, sensitivity=1025, threshold=0).start(integral=False)
    whole = AboveThreshold(epsilon=1, sensitivity=1025, threshold=0).start()
    assert session._step == whole._step == 1
    assert session._noise.scale == whole._noise.scale * Fraction(1026, 1025)
    assert session.ask(0.5) in (True, False)


# ---------------------------------------------------------------------------------------------------- what is released


@pytest.mark.parametrize("values", [(0, 0), (2, -2, 1), (-1, 4, 0)])
@pytest.mark.parametrize("answers", [1, 2])
@pytest.mark.parametrize("way", ["ask", "ask_all", "release", "real"])
@pytest.mark.sampled(4)
def test_transcripts_have_their_exact_probabilities(values: tuple[int, ...], answers: int, way: str) -> None:
    mechanism = AboveThreshold(epsilon=2, sensitivity=1, threshold=3, answers=answers)
    source = Seeded(4)
    told: Counter[Transcript] = Counter()
    count = 2_000
    shifted = [value + 3 for value in values]
    for _ in range(count):
        if way == "ask":
            session = mechanism.start(source=source)
            answer: list[bool] = []
            for value in shifted:
                answer.append(session.ask(value))
                if not session.remaining:
                    break
        elif way == "ask_all":
            answer = mechanism.start(source=source).ask_all(np.array(shifted)).tolist()
        else:
            floats = [float(value) for value in shifted]
            answer = mechanism.release(floats if way == "real" else shifted, source=source).value.tolist()
        told[tuple(answer)] += 1

    def p_value(scales: tuple[float, float]) -> float:
        exact = transcripts(values, scales, answers)
        assert set(told) <= set(exact)
        observed = np.array([told[key] for key in exact])
        return float(stats.chisquare(observed, np.array(list(exact.values())) * count).pvalue)

    scales = scales_of(mechanism)
    if way == "real":  # on a fine grid: nearly continuous noise, within this sample's sight of another scale
        step, at_threshold, at_values = mechanism._noises(integral=False)
        fine = float(at_threshold.scale), float(at_values.scale)
        per_unit = int(1 / step)
        exact = transcripts(tuple(value * per_unit for value in values), fine, answers)
        observed = np.array([told[key] for key in exact])
        assert stats.chisquare(observed, np.array(list(exact.values())) * count).pvalue > 1e-6
        return
    assert p_value(scales) > 1e-6
    if max(map(abs, values)) > 1:  # the missing factor two
        assert p_value((scales[0] / 2, scales[1] / 2)) < 1e-6


def test_far_values_are_told_apart() -> None:
    mechanism = AboveThreshold(epsilon=5, sensitivity=1, threshold=100, answers=2)
    release = mechanism.release([3, 7, 500, 9, 10**30, 5], source=Seeded(1))
    assert release.value.tolist() == [False, False, True, False, True]
    assert release.value.dtype == np.bool_
    assert release.event == mechanism.event
    assert release.guarantee == mechanism.guarantee
    assert release.seeded is True
    assert mechanism.release([1, 2]).value.tolist() == [False, False]


def test_thresholds_of_any_size() -> None:
    cases: list[Any] = [2**62, -(2**62), 10**30, -(10**30), "1e300"]
    for threshold in cases:
        mechanism = AboveThreshold(epsilon=5, sensitivity=1, threshold=threshold)
        expected = Fraction(threshold) < 0
        assert mechanism.start().ask(0) is expected
        assert mechanism.release([0, 0]).value[0] == expected
        assert mechanism.release([0.5]).value[0] == expected
        assert mechanism.start().ask(int(Fraction(threshold)) * 2) is not expected


def test_a_fractional_threshold_makes_values_real() -> None:
    for threshold in ("0.5", "1/3", "-2.5"):
        session = AboveThreshold(epsilon=50, sensitivity=1, threshold=threshold).start()
        assert session.ask(0.25 - 40) is False
        assert session.ask(40) is True


# ------------------------------------------------------------------------------------------------------------- sessions


def test_a_session_ends_with_its_last_positive_answer() -> None:
    session = AboveThreshold(epsilon=20, sensitivity=1, threshold=100, answers=2).start()
    assert session.remaining == 2
    assert session.ask(500) is True
    assert session.remaining == 1
    assert session.ask(-500) is False
    assert session.remaining == 1
    assert session.ask_all([1, 500, 2]).tolist() == [False, True]
    assert session.remaining == 0
    for _ in range(2):
        with pytest.raises(ExhaustedError, match="2 positive answers") as caught:
            session.ask(7654321)
        assert "7654321" not in str(caught.value)
        with pytest.raises(ExhaustedError):
            session.ask_all([1])
    assert isinstance(caught.value, PermissionError)


def test_a_session_shows_nothing_of_its_noise() -> None:
    session = AboveThreshold(epsilon=1, sensitivity=1, threshold=100, answers=3).start(source=Seeded(3))
    shown = "ThresholdSession(AboveThreshold(epsilon=1, sensitivity=1, threshold=100, answers=3), remaining=3)"
    assert repr(session) == shown
    assert session.seeded is True
    assert AboveThreshold(epsilon=1, sensitivity=1, threshold=100).start(source=System()).seeded is False


def test_a_session_for_integers_refuses_reals() -> None:
    cases: list[Any] = [0.5, Fraction(1, 2), np.float32(1)]
    for value in cases:
        # Their rounding would not be paid for.
        session = AboveThreshold(epsilon=1, sensitivity=1, threshold=0).start()
        with pytest.raises(InputError, match="integers"):
            session.ask(value)
        with pytest.raises(InputError, match="integers"):
            session.ask_all(np.array([float(value)]))
        assert session.remaining == 1
        real = AboveThreshold(epsilon=1, sensitivity=1, threshold=0).start(integral=False)
        assert real.ask(value) in (True, False)


def test_a_question_is_one_number() -> None:
    cases: list[Any] = [None, "x", math.nan, math.inf, 1j, [1], np.array(1), []]
    for value in cases:
        with pytest.raises(InputError):
            AboveThreshold(epsilon=1, sensitivity=1, threshold=0).start(integral=False).ask(value)


def test_a_list_is_a_list_of_numbers() -> None:
    cases: list[Any] = [None, 3, "x", [], [[1]], [1, None], [1, math.nan], np.array([math.inf])]
    for values in cases:
        mechanism = AboveThreshold(epsilon=1, sensitivity=1, threshold=0)
        with pytest.raises(InputError):
            mechanism.release(values)
        with pytest.raises(InputError):
            mechanism.start(integral=False).ask_all(values)


# --------------------------------------------------------------------------------------------------------- parameters


def test_parameters_without_a_meaning_are_refused() -> None:
    name_cases: list[str] = ["epsilon", "sensitivity"]
    value_cases: list[Any] = [math.nan, math.inf, 0, -1, 5e-324, 1e308, "1e-400", "x", True, None]
    for name in name_cases:
        for value in value_cases:
            with pytest.raises(ParameterError):
                AboveThreshold(**{"epsilon": 1, "sensitivity": 1, "threshold": 0} | {name: value})


def test_other_parameters_are_checked() -> None:
    cases: list[Any] = [
        {"threshold": math.nan},
        {"threshold": "x"},
        {"threshold": None},
        {"answers": 0},
        {"answers": 1.5},
        {"answers": True},
        {"monotone": True, "adjacency": ReplaceOne},
        {"adjacency": "x"},
        {"unit": ""},
    ]
    for wrong in cases:
        with pytest.raises(ParameterError):
            AboveThreshold(**{"epsilon": 1, "sensitivity": 1, "threshold": 0} | wrong)


def test_it_is_a_frozen_value() -> None:
    mechanism = AboveThreshold(epsilon="0.1", sensitivity=2, threshold="-1/3", answers=4, monotone=True, unit="person")
    assert isinstance(mechanism, Mechanism)
    again = eval(repr(mechanism), {"AboveThreshold": AboveThreshold})
    for other in (again, copy.deepcopy(mechanism), pickle.loads(pickle.dumps(mechanism))):
        assert other == mechanism
        assert hash(other) == hash(mechanism)
    assert mechanism != AboveThreshold(epsilon="0.1", sensitivity=2, threshold="-1/3", answers=4, unit="person")
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.answers = 5  # type: ignore[misc]
    assert mechanism.event == AboveThresholdEvent(epsilon="0.1", answers=4, unit="person")
    assert Event.from_json(mechanism.event.to_json()) == mechanism.event
    assert mechanism.guarantee == PureDP(epsilon="0.1", unit="person")


def test_seed_seven_gives_these_answers_everywhere() -> None:
    mechanism = AboveThreshold(epsilon=1, sensitivity=1, threshold=0, answers=3)
    release = mechanism.release([0] * 12, source=Seeded(7))
    assert release.value.tolist() == [
        False,
        False,
        False,
        False,
        False,
        False,
        False,
        False,
        False,
        False,
        False,
        False,
    ]
    session = mechanism.start(source=Seeded(7))
    assert [session.ask(-5) for _ in range(8)] == [False, False, True, False, False, False, False, False]


# --------------------------------------------------------------------------------------------------------- error bars


def test_beyond_the_error_all_answers_are_right() -> None:
    for level, queries in product((0.5, 0.9, 0.99), (1, 20)):
        mechanism = AboveThreshold(epsilon=1, sensitivity=1, threshold=0, answers=1)
        far = math.ceil(mechanism.error(level, queries=queries)) + 1
        # Below by that much, all of them must be told below; the exact probability, not a sample.
        exact = transcripts((-far,) * queries, scales_of(mechanism), 1)
        assert exact[(False,) * queries] >= level
        assert transcripts((far,), scales_of(mechanism), 1)[(True,)] >= level


def test_an_error_needs_a_level_and_a_number_of_queries() -> None:
    mechanism = AboveThreshold(epsilon=1, sensitivity="0.5", threshold=0)
    assert 0 < mechanism.error(0.95, queries=10) < mechanism.error(0.95, queries=100) < 40
    for level in (0, 1, math.nan):
        with pytest.raises(ParameterError, match="level"):
            mechanism.error(level, queries=1)
    with pytest.raises(ParameterError, match="queries"):
        mechanism.error(queries=0)


def test_the_error_of_very_many_queries_is_finite() -> None:
    error = AboveThreshold(epsilon=1, sensitivity=1, threshold=0).error(0.95, queries=10**30)
    assert 100 < error < 500


def test_threads_share_the_last_answer() -> None:
    session = AboveThreshold(epsilon=60, sensitivity=1, threshold=0, answers=50).start()
    given = []

    def ask() -> None:
        try:
            while True:
                given.append(session.ask(10**6))
        except ExhaustedError:
            pass

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert given == [True] * 50


def test_the_answers_that_are_left_cannot_be_raised() -> None:
    session: Any = AboveThreshold(epsilon=1, sensitivity=1, threshold=0).start()
    with pytest.raises(AttributeError):
        session.remaining = 100


def test_a_session_cannot_be_copied() -> None:
    cases: list[Any] = [copy.copy, copy.deepcopy, pickle.dumps]
    for copying in cases:
        session = AboveThreshold(epsilon=1, sensitivity=1, threshold=0).start()
        with pytest.raises(ExhaustedError, match="cannot be copied"):
            copying(session)


def test_a_forked_session_gives_nothing() -> None:
    session = AboveThreshold(epsilon=1, sensitivity=1, threshold=0).start()
    child = os.fork()
    if child == 0:
        try:
            session.ask(100)
        except ExhaustedError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert session.remaining == 1
    assert session.event == session._mechanism.event
    assert session.guarantee == PureDP(epsilon=1)
