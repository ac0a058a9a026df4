"""What the mechanisms that choose share: utilities in, an index out, targets, records, and how far from the best."""

import copy
import dataclasses
import math
import pickle
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from celosia.core import AddRemove, Event, InputError, Mechanism, NoIntervalError, ParameterError, PureDP, ReplaceOne
from celosia.mechanisms import Exponential, NoisyMax, PermuteAndFlip
from celosia.mechanisms.grid import FINENESS, to_steps
from celosia.mechanisms.selection.base import Selection
from celosia.noise import Seeded, System

KINDS: list[Any] = [Exponential, PermuteAndFlip, NoisyMax]
ALL = pytest.mark.parametrize("kind", KINDS)


def test_utilities_of_any_type_give_an_index() -> None:
    utilities_cases: list[Any] = [
        [1, 500, 3],
        (1, 500, 3),
        np.array([1, 500, 3], dtype=np.int16),
        np.array([1, 500, 3], dtype=np.uint64),
        [0.5, 500.25, 3],
        np.array([0.5, 500, 3], dtype=np.float32),
        [-(10**30), 10**30, 0],
        [-1.7e308, 1.7e308, 0.0],
        [False, True, False],
        [2**63, 2**64, -5],
    ]
    for kind, utilities in product(KINDS, utilities_cases):
        release = kind(epsilon=50, sensitivity=1).release(utilities, source=Seeded(1))
        assert type(release.value) is int
        assert release.value in range(3)
        if max(map(abs, map(float, utilities))) == 500:
            assert release.value == 1


def test_other_utilities_are_refused() -> None:
    utilities_cases: list[Any] = [
        None,
        3,
        0.5,
        "abc",
        [],
        [[1, 2], [3, 4]],
        [1, None],
        [1, math.nan],
        [1, math.inf],
        ["1"],
        [1j],
        np.array(3),
        {},
    ]
    for kind, utilities in product(KINDS, utilities_cases):
        with pytest.raises(InputError):
            kind(epsilon=1, sensitivity=1).release(utilities)


def test_parameters_without_a_meaning_are_refused() -> None:
    value_cases: list[Any] = [math.nan, math.inf, 0, -1, 5e-324, 1e308, "1e-400", "x", True, None]
    for kind, name, value in product(KINDS, ("epsilon", "sensitivity"), value_cases):
        with pytest.raises(ParameterError):
            kind(**{"epsilon": 1, "sensitivity": 1} | {name: value})


def test_monotone_needs_add_remove() -> None:
    for kind in KINDS:
        kind(epsilon=1, sensitivity=1, monotone=True)
        kind(epsilon=1, sensitivity=1, adjacency=ReplaceOne)
        with pytest.raises(ParameterError, match="AddRemove"):
            kind(epsilon=1, sensitivity=1, monotone=True, adjacency=ReplaceOne)
        with pytest.raises(ParameterError):
            kind(epsilon=1, sensitivity=1, adjacency="other")


def test_the_rate_is_epsilon_over_twice_the_sensitivity() -> None:
    for kind in KINDS:
        assert kind(epsilon="0.1", sensitivity=1)._rate(integral=True) == (Fraction(1, 20), 1)
        assert kind(epsilon="0.1", sensitivity=3)._rate(integral=True) == (Fraction(1, 60), 1)
        assert kind(epsilon="0.1", sensitivity=1, monotone=True)._rate(integral=True) == (Fraction(1, 10), 1)


def test_real_utilities_pay_for_their_rounding() -> None:
    for kind, sensitivity, monotone in product(KINDS, ("1", "0.1", "1/3", "1024", "2047", "1e-90"), (False, True)):
        mechanism = kind(epsilon=1, sensitivity=sensitivity, monotone=monotone)
        rate, step = mechanism._rate(integral=False)
        exact = Fraction(sensitivity)
        factor = 1 if monotone else 2
        apart = 0
        for start in (Fraction(0), step / 4, step / 2, step * 3 / 4):
            pair = [to_steps(value, step) for value in (start, start + exact)]
            apart = max(apart, abs(int(pair[1]) - int(pair[0])))
        if sensitivity not in ("1024", "1"):  # half to even keeps a distance that is even
            assert apart == math.floor(exact / step) + 1  # rounding does move them further apart …
        assert rate * factor * apart <= 1  # … and epsilon is not exceeded
        assert step * FINENESS <= exact
        assert rate / step * factor * exact >= Fraction(999, 1000)  # for less than a thousandth


def test_only_gaps_count() -> None:
    for kind in KINDS:
        mechanism = kind(epsilon=1, sensitivity=1)
        answers = [
            mechanism.release(np.array([0, 1, 2, 3]) + move, source=Seeded(3)).value for move in (0, 10**6, -(10**6))
        ]
        assert len(set(answers)) == 1


MECHANISMS = [
    Exponential(epsilon=1, sensitivity=1),
    Exponential(rho="0.1", sensitivity=2),
    Exponential(epsilon="1/3", sensitivity="0.1", monotone=True, unit="person"),
    PermuteAndFlip(epsilon=1, sensitivity=1, adjacency=ReplaceOne),
    NoisyMax(epsilon="0.1", sensitivity=1),
    NoisyMax(epsilon=1, sensitivity=1, noise="laplace", monotone=True),
]


def test_a_mechanism_is_a_frozen_value() -> None:
    for mechanism in MECHANISMS:
        assert isinstance(mechanism, Selection)
        assert isinstance(mechanism, Mechanism)
        names = {kind.__name__: kind for kind in KINDS} | {"ReplaceOne": ReplaceOne}
        again = eval(repr(mechanism), names)
        for other in (again, copy.copy(mechanism), copy.deepcopy(mechanism), pickle.loads(pickle.dumps(mechanism))):
            assert other == mechanism
            assert hash(other) == hash(mechanism)
            assert repr(other) == repr(mechanism)
            assert other.guarantee == mechanism.guarantee
            assert other.release([1, 2, 3], source=Seeded(2)) == mechanism.release([1, 2, 3], source=Seeded(2))
        with pytest.raises(dataclasses.FrozenInstanceError):
            again.epsilon = 2
        assert [other == mechanism for other in MECHANISMS].count(True) == 1
        assert Event.from_json(mechanism.event.to_json()) == mechanism.event
        assert again.event.epsilon == mechanism.epsilon
        assert mechanism.event.adjacency is mechanism.adjacency
        assert mechanism.event.unit == mechanism.unit


def test_the_guarantee_is_the_target() -> None:
    for kind in KINDS:
        assert kind(epsilon=1, sensitivity=1).guarantee == PureDP(epsilon=1)
        assert kind(epsilon=1, sensitivity=5, monotone=True).guarantee == PureDP(epsilon=1)
        assert kind(epsilon=1, sensitivity=1, adjacency=ReplaceOne, unit="x").guarantee == PureDP(
            epsilon=1, adjacency=ReplaceOne, unit="x"
        )
        assert kind(epsilon=1, sensitivity=1).guarantee.adjacency is AddRemove


def test_a_choice_says_whether_it_was_seeded_and_has_no_interval() -> None:
    for kind in KINDS:
        mechanism = kind(epsilon=1, sensitivity=1)
        release = mechanism.release([1, 2, 3], source=Seeded(7))
        assert release.seeded is True
        assert release == mechanism.release([1, 2, 3], source=Seeded(7))
        assert mechanism.release([1, 2, 3]).seeded is False
        assert mechanism.release([1, 2, 3], source=System()).seeded is False
        with pytest.raises(NoIntervalError):
            release.confidence_interval()


def test_seed_seven_gives_these_answers_everywhere() -> None:
    cases: list[tuple[Any, list[int]]] = [
        (Exponential(epsilon=1, sensitivity=1), [3, 4, 4, 2, 3, 2, 3, 3, 4, 4, 2, 4]),
        (PermuteAndFlip(epsilon=1, sensitivity=1), [2, 4, 3, 4, 3, 4, 2, 2, 4, 3, 4, 3]),
        (NoisyMax(epsilon=1, sensitivity=1), [4, 4, 3, 3, 4, 1, 2, 3, 1, 4, 0, 3]),
        (NoisyMax(epsilon=1, sensitivity=1, noise="laplace"), [4, 3, 4, 4, 3, 4, 1, 3, 4, 4, 1, 0]),
    ]
    for mechanism, expected in cases:
        source = Seeded(7)
        assert [mechanism.release([0, 1, 2, 3, 4], source=source).value for _ in range(12)] == expected


@ALL
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("utilities", [[0, 0, 0, 0], [9, 5, 4, 1], [30, 0, 0, 0], list(range(40))])
@pytest.mark.sampled(4)
def test_the_error_is_a_bound_for_the_gap(kind: Any, level: float, utilities: list[int]) -> None:
    mechanism = kind(epsilon=1, sensitivity=1)
    bound = mechanism.error(level, candidates=len(utilities))
    source = Seeded(5)
    gaps = [max(utilities) - utilities[mechanism.release(utilities, source=source).value] for _ in range(400)]
    within = sum(gap <= bound for gap in gaps)
    assert within >= 400 * level - 5 * math.sqrt(400 * level * (1 - level))


def test_the_error_is_of_mcsherry_and_talwar() -> None:
    for kind in KINDS:
        for sensitivity, monotone, bound in ((1, False, 2), (3, False, 6), (1, True, 1), ("0.5", False, 1)):
            error = kind(epsilon=1, sensitivity=sensitivity, monotone=monotone).error(0.95, candidates=10)
            # Real utilities are rounded, and the rate pays for it: a little more than the formula, never less.
            assert bound * math.log(200) < error < bound * math.log(200) * 1.002


def test_an_error_needs_a_level_and_a_number_of_candidates() -> None:
    for kind in KINDS:
        mechanism = kind(epsilon=1, sensitivity=1)
        for level in (0, 1, math.nan, -1):
            with pytest.raises(ParameterError, match="level"):
                mechanism.error(level, candidates=3)
        for candidates in (0, 1.5, True):
            with pytest.raises(ParameterError, match="candidates"):
                mechanism.error(candidates=candidates)


def test_monotone_is_true_or_false() -> None:
    monotone_cases: list[Any] = ["no", 1, None]
    for kind, monotone in product(KINDS, monotone_cases):
        with pytest.raises(ParameterError, match="monotone must be True or False"):
            kind(epsilon=1, sensitivity=1, monotone=monotone)
