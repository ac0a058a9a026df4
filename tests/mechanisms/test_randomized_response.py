"""Randomized response: the coins, the price, and estimates that are right on average and intervals that cover."""

import copy
import dataclasses
import math
import pickle
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from celosia.core import Event, InputError, Mechanism, NoIntervalError, ParameterError, PureDP, ReplaceOne
from celosia.core.enclosure import log_at_least, log_at_most
from celosia.mechanisms import Proportions, RandomizedResponse
from celosia.noise import Seeded

MECHANISMS = [
    RandomizedResponse(epsilon=1),
    RandomizedResponse(epsilon="0.1", categories=5, unit="person"),
    RandomizedResponse(truth="3/4"),
    RandomizedResponse(truth="1/5"),
    RandomizedResponse(truth="2/3", categories=4),
    RandomizedResponse(truth="0.1", categories=3),
    RandomizedResponse.two_coins(),
    RandomizedResponse.two_coins("1/3", "0.9"),
    RandomizedResponse(coins=("0.1", "0.7")),
]
ALL = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)


def table(mechanism: RandomizedResponse) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Row: the truth; column: what is said."""
    k = mechanism.categories
    return np.exp([mechanism.log_masses(truth, range(k)) for truth in range(k)])


# ----------------------------------------------------------------------------------------------------------- the price


def test_the_table_uses_epsilon_and_no_more() -> None:
    for mechanism in MECHANISMS:
        masses = table(mechanism)
        assert masses.sum(axis=1) == pytest.approx(np.ones(mechanism.categories), abs=1e-12)
        loss = np.log(masses.max(axis=0) / masses.min(axis=0)).max()
        assert loss == pytest.approx(float(mechanism.epsilon), rel=1e-9)
        assert mechanism.guarantee == PureDP(epsilon=mechanism.epsilon, adjacency=ReplaceOne, unit=mechanism.unit)


def test_the_textbooks_numbers() -> None:
    two = RandomizedResponse.two_coins()
    assert two.coins == (Fraction(3, 4), Fraction(1, 4))
    assert float(two.epsilon) == pytest.approx(math.log(3), rel=1e-14)
    assert two.epsilon == RandomizedResponse(truth="3/4").epsilon
    for said in range(101):  # 2 s - 1/2
        estimate = two.estimate([True] * said + [False] * (100 - said))
        assert estimate.proportion == pytest.approx(2 * said / 100 - 0.5, abs=1e-12)
    # Warner 1965: (p - 1 + s) / (2p - 1).
    warner = RandomizedResponse(truth="0.8").estimate([True] * 30 + [False] * 70)
    assert warner.proportion == pytest.approx((0.8 - 1 + 0.3) / 0.6)
    # Kairouz, Bonawitz and Ramage 2016: e^epsilon / (e^epsilon + k - 1).
    masses = table(RandomizedResponse(epsilon=2, categories=5))
    assert np.diag(masses) == pytest.approx([math.exp(2) / (math.exp(2) + 4)] * 5)
    assert masses[0, 1] == pytest.approx(1 / (math.exp(2) + 4))


def check_epsilon_is_rounded_up_never_down(truth: str, categories: int) -> None:
    mechanism = (
        RandomizedResponse(truth=truth, categories=categories) if Fraction(truth) != Fraction(1, categories) else None
    )
    if mechanism is None:
        with pytest.raises(ParameterError):
            RandomizedResponse(truth=truth, categories=categories)
        return
    kept = Fraction(truth)
    other = (1 - kept) / (categories - 1)
    ratio = max(kept / other, other / kept)
    assert mechanism.epsilon >= log_at_most(ratio)
    assert mechanism.epsilon - log_at_least(ratio) <= Fraction(1, 2**47)
    assert (mechanism.epsilon.denominator & (mechanism.epsilon.denominator - 1)) == 0


def test_epsilon_is_rounded_up_never_down() -> None:
    for truth, categories in product(("3/4", "0.9", "1/3", "0.51", "2/7", "0.999999"), (2, 3, 10)):
        check_epsilon_is_rounded_up_never_down(truth, categories)


def test_a_large_epsilon_has_a_table_too() -> None:
    for epsilon in (40, 700, 10_000):
        logs = RandomizedResponse(epsilon=epsilon, categories=3).log_masses(1, [0, 1, 2])
        assert logs == pytest.approx([-epsilon, 0, -epsilon], abs=1e-9)
        assert RandomizedResponse(epsilon=epsilon).release([True, False]).value.tolist() == [True, False]


# ---------------------------------------------------------------------------------------------------------- the answers


def test_answers_have_the_probabilities_of_the_table() -> None:
    for mechanism in MECHANISMS:
        masses, count = table(mechanism), 40_000
        for truth in range(mechanism.categories):
            said = mechanism.release(np.full(count, truth), source=Seeded(truth)).value
            observed = np.bincount(said, minlength=mechanism.categories)
            assert stats.chisquare(observed, masses[truth] * count).pvalue > 1e-6
        # Able to fail: a truth probability a tenth off.
        off = masses[0] * np.where(np.arange(mechanism.categories) == 0, 1.1, 1)
        said = mechanism.release(np.zeros(400_000, dtype=np.int8), source=Seeded(1)).value
        observed = np.bincount(said, minlength=mechanism.categories)
        assert stats.chisquare(observed, off / off.sum() * 400_000).pvalue < 1e-6


def test_answers_keep_their_type_and_shape() -> None:
    cases: list[tuple[Any, Any, Any]] = [
        (True, bool, None),
        (np.True_, bool, None),
        (1, int, None),
        (np.int8(0), int, None),
        ([True, False, True], np.bool_, (3,)),
        (np.zeros((2, 3), dtype=np.bool_), np.bool_, (2, 3)),
        ([0, 1], np.int64, (2,)),
        (np.zeros((2, 2), dtype=np.uint8), np.int64, (2, 2)),
        (np.array(1), np.int64, ()),
        (np.array(True), np.bool_, ()),  # noqa: FBT003 - a value, not a switch
    ]
    for answers, kind, shape in cases:
        release = RandomizedResponse(epsilon=1).release(answers)
        if shape is None:
            assert type(release.value) is kind
        else:
            assert release.value.dtype == kind
            assert release.value.shape == shape
        assert release.seeded is False
        with pytest.raises(NoIntervalError):
            release.confidence_interval()


WRONG: list[Any] = [
    2,
    -1,
    0.5,
    1.0,
    "yes",
    None,
    [0, 2],
    [0.0, 1.0],
    [[1], [1, 0]],
    [],
    [1, None],
    10**30,
    [2**70],
    math.nan,
]


def test_other_answers_are_refused() -> None:
    for answers in WRONG:
        with pytest.raises(InputError):
            RandomizedResponse(epsilon=1).release(answers)
        with pytest.raises(InputError):
            RandomizedResponse(epsilon=1).estimate(answers)


def test_an_error_does_not_quote_the_answer() -> None:
    with pytest.raises(InputError) as caught:
        RandomizedResponse(epsilon=1, categories=10).release([3, 7654321])
    assert "7654321" not in str(caught.value)
    assert "from 0 to 9" in str(caught.value)


def test_seed_seven_gives_these_answers_everywhere() -> None:
    answers = [0, 1] * 8
    expected = {
        RandomizedResponse(epsilon=1): [0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0, 0, 1],
        RandomizedResponse.two_coins(): [0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1],
        RandomizedResponse(truth="1/2", categories=4): [3, 2, 1, 1, 0, 1, 3, 1, 1, 1, 1, 2, 3, 0, 3, 1],
    }
    for mechanism, said in expected.items():
        release = mechanism.release(answers, source=Seeded(7))
        assert release.value.tolist() == said
        assert release.seeded is True


# --------------------------------------------------------------------------------------------------------- the estimate


def test_estimates_are_unbiased() -> None:
    """The exact expectation: estimates are linear, so that the expected counts decide."""
    for mechanism, yes in product(MECHANISMS, (0, 3, 10)):
        k, n = mechanism.categories, 10
        truths = np.array([1] * yes + [0] * (n - yes))
        expected = table(mechanism)[truths].sum(axis=0)
        proportions = mechanism.estimate([0, 1])
        estimate = dataclasses.replace(proportions, counts=expected)
        shares = np.bincount(truths, minlength=k) / n
        assert estimate.values == pytest.approx(shares, abs=1e-9)
        if k == 2:
            assert estimate.proportion == pytest.approx(yes / n, abs=1e-9)
            assert estimate.values[1] == estimate.proportion
        else:
            with pytest.raises(InputError, match="two answers"):
                _ = estimate.proportion


def said_yes(mechanism: RandomizedResponse, yes: int, n: int, category: int = 1) -> Any:
    """The exact distribution of how often a category is said when ``yes`` of ``n`` truths are it: two binomials."""
    masses = table(mechanism)
    other = 0 if category == 1 else 1
    return np.convolve(
        stats.binom(yes, masses[category, category]).pmf(np.arange(yes + 1)),
        stats.binom(n - yes, masses[other, category]).pmf(np.arange(n - yes + 1)),
    )


@ALL
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_intervals_cover_with_their_level(mechanism: RandomizedResponse, level: float) -> None:
    n = 60
    ends = []
    for said in range(n + 1):
        responses = [1] * said + [0] * (n - said)
        low, high = mechanism.estimate(responses).confidence_interval(level)
        ends.append((low, high) if mechanism.categories == 2 else (float(low[1]), float(high[1])))
    assert all(0 <= low <= high <= 1 for low, high in ends)
    coverages = []
    for yes in range(0, n + 1, 4):
        covered = np.array([low - 1e-12 <= yes / n <= high + 1e-12 for low, high in ends])
        coverages.append(float(said_yes(mechanism, yes, n)[covered].sum()))
    assert min(coverages) >= level - 1e-9


def test_intervals_are_not_much_wider_than_needed() -> None:
    # With many answers the interval is nearly the normal one: the truth is fixed, so only the coins spread.
    mechanism = RandomizedResponse.two_coins()
    low, high = mechanism.estimate([True] * 50_000 + [False] * 50_000).confidence_interval(0.95)
    normal = 2 * 1.96 * math.sqrt(0.75 * 0.25 / 100_000)
    assert (high - low) / 2 == pytest.approx(normal, rel=0.01)
    assert low < 0.5 < high


def test_intervals_of_a_lying_coin_are_not_upside_down() -> None:
    # The truth told less often than each lie turns every interval around, also where the first is cut at both ends.
    counts = [700, 200, 60]
    responses = np.repeat([0, 1, 2], counts)
    low, high = RandomizedResponse(truth="1/5", categories=3).estimate(responses).confidence_interval(0.95)
    assert (low <= high).all()
    low, high = RandomizedResponse(truth="1/4").estimate([True] * 40 + [False] * 60).confidence_interval(0.9)
    assert low < 0.7 < high


def test_each_share_has_its_interval() -> None:
    low, high = (
        RandomizedResponse(epsilon=2, categories=4)
        .estimate(np.repeat(range(4), [40, 30, 20, 10]))
        .confidence_interval()
    )
    assert low.shape == high.shape == (4,)
    assert (low < high).all()


def test_a_level_is_between_zero_and_one() -> None:
    cases: list[float] = [0, 1, -1, math.nan]
    for level in cases:
        estimate = RandomizedResponse(epsilon=1).estimate([0, 1])
        assert isinstance(estimate, Proportions)
        with pytest.raises(ParameterError, match="level"):
            estimate.confidence_interval(level)


# --------------------------------------------------------------------------------------------------------- parameters


def test_parameters_without_a_meaning_are_refused() -> None:
    cases: list[Any] = [
        {},
        {"epsilon": 1, "truth": "3/4"},
        {"epsilon": 1, "coins": ("3/4", "1/4")},
        {"truth": "3/4", "coins": ("3/4", "1/4")},
        {"truth": "1/2"},
        {"truth": 0},
        {"truth": 1},
        {"truth": "1/3", "categories": 3},
        {"truth": 1.5},
        {"truth": -0.5},
        {"truth": math.nan},
        {"coins": ("1/2", "1/2")},
        {"coins": ("1", "1/2")},
        {"coins": ("1/2", "0")},
        {"coins": ("3/4", "1/4"), "categories": 3},
        {"epsilon": 1, "categories": 1},
        {"epsilon": 1, "categories": 2.0},
        {"epsilon": 1, "unit": ""},
        *({"epsilon": value} for value in (math.nan, math.inf, 0, -1, 5e-324, 1e308, "1e-400", "x", True)),
    ]
    for wrong in cases:
        with pytest.raises(ParameterError):
            RandomizedResponse(**wrong)


def test_one_answer_takes_the_coin_of_its_truth() -> None:
    mechanism, source = RandomizedResponse(coins=("0.99", "0.02")), Seeded(7)
    yes, no = (sum(mechanism.release(truth, source=source).value for _ in range(50)) for truth in (True, False))
    assert yes > 40
    assert no < 10


def test_two_coins_that_tell_all_or_nothing_are_refused() -> None:
    cases: list[tuple[Any, Any]] = [(0, "1/2"), (1, "1/2"), ("1/2", 0), ("1/2", 1), (2, "1/2"), ("1/2", -1)]
    for heads, yes in cases:
        with pytest.raises(ParameterError):
            RandomizedResponse.two_coins(heads, yes)


def test_it_is_a_frozen_value() -> None:
    for mechanism in MECHANISMS:
        assert isinstance(mechanism, Mechanism)
        again = eval(repr(mechanism), {"RandomizedResponse": RandomizedResponse})
        for other in (again, copy.copy(mechanism), copy.deepcopy(mechanism), pickle.loads(pickle.dumps(mechanism))):
            assert other == mechanism
            assert hash(other) == hash(mechanism)
            assert repr(other) == repr(mechanism)
            assert other.event == mechanism.event
        with pytest.raises(dataclasses.FrozenInstanceError):
            mechanism.epsilon = Fraction(2)  # type: ignore[misc]
        assert [other == mechanism for other in MECHANISMS].count(True) == 1
        assert Event.from_json(mechanism.event.to_json()) == mechanism.event
        assert mechanism.event.adjacency is ReplaceOne
        assert mechanism.release(1).guarantee == mechanism.guarantee
        assert mechanism.release(1).event == mechanism.event
        assert list(mechanism.outputs(1) or []) == list(range(mechanism.categories))
        assert mechanism.outputs([1, 0]) is None


def test_a_part_can_be_replaced() -> None:
    cases: list[RandomizedResponse] = [
        RandomizedResponse(truth="3/4"),
        RandomizedResponse.two_coins(),
        RandomizedResponse(epsilon=1),
    ]
    for mechanism in cases:
        other = dataclasses.replace(mechanism, unit="person")
        assert other.unit == "person"
        assert other.epsilon == mechanism.epsilon
        with pytest.raises(ParameterError):
            RandomizedResponse(truth="3/4", epsilon=1)


@pytest.mark.parametrize(
    "mechanism",
    [RandomizedResponse(epsilon="0.5"), RandomizedResponse(truth="1/5"), RandomizedResponse.two_coins("1/3")],
)
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_the_error_told_beforehand_holds_for_every_truth(mechanism: RandomizedResponse, level: float) -> None:
    n = 200
    error = mechanism.error(level, answers=n)
    shares = [mechanism.estimate([1] * said + [0] * (n - said)).proportion for said in range(n + 1)]
    missed = [
        float(said_yes(mechanism, t, n)[np.abs(np.array(shares) - t / n) > error].sum()) for t in range(0, n + 1, 20)
    ]
    assert max(missed) <= 1 - level
    # A bound for every coin is loose for some; a third of it would be missed too often by each.
    third = [
        float(said_yes(mechanism, t, n)[np.abs(np.array(shares) - t / n) > error / 3].sum()) for t in range(0, n, 20)
    ]
    assert max(third) > 1 - level


def test_an_error_needs_a_number_of_answers() -> None:
    with pytest.raises(ParameterError, match="answers"):
        RandomizedResponse(epsilon=1).error(answers=0)
    with pytest.raises(ParameterError, match="level"):
        RandomizedResponse(epsilon=1).error(1, answers=10)


def test_a_release_is_estimated_as_its_answers_are() -> None:
    mechanism = RandomizedResponse(epsilon=1, categories=3)
    release = mechanism.release(np.arange(300) % 3, source=Seeded(3))
    assert mechanism.estimate(release).counts.tolist() == mechanism.estimate(release.value).counts.tolist()
    with pytest.raises(InputError, match="was not made by"):
        RandomizedResponse(epsilon=2, categories=3).estimate(release)
    with pytest.raises(InputError, match="was not made by"):
        mechanism.estimate(RandomizedResponse.two_coins().release([True, False]))
