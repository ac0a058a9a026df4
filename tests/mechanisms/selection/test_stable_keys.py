"""Keys that enough people share: delta by exact tails, epsilon and delta by enumeration of neighbours, and mutants."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.accounting import basic
from celosia.core import (
    AddRemove,
    Adjacency,
    ApproxDP,
    ConformanceError,
    InputError,
    NoIntervalError,
    ParameterError,
    ReplaceOne,
)
from celosia.core.events import KeySelectionEvent
from celosia.mechanisms.selection.stable_keys import StableKeys
from celosia.noise import DiscreteLaplace, Seeded
from celosia.testing import check_distribution, check_mechanism

if TYPE_CHECKING:
    from collections.abc import Iterator

    Table = tuple[frozenset[str], ...]  # for every unit the keys that it is in

LEVEL = 1e-6
ADJACENCIES = [AddRemove, ReplaceOne]


# ---- threshold


@given(
    st.fractions(Fraction(1, 50), 5, max_denominator=50),
    st.integers(1, 30).map(lambda digits: Fraction(7, 10**digits + 1)),
    st.integers(1, 50),
    st.sampled_from(ADJACENCIES),
)
def test_the_threshold_is_the_smallest_that_keeps_delta(
    epsilon: Fraction, delta: Fraction, groups: int, adjacency: Adjacency
) -> None:
    keys = StableKeys(epsilon=epsilon, delta=delta, groups=groups, adjacency=adjacency)
    reached = groups if adjacency is AddRemove else 2 * groups
    with mpmath.workdps(80):
        share = mpmath.mpf(epsilon.numerator) / epsilon.denominator / reached
        chance = mpmath.mpf(delta.numerator) / delta.denominator / reached

        def tail(threshold: int) -> mpmath.mpf:
            return mpmath.exp(-share * (threshold - 1)) / (1 + mpmath.exp(-share))

        assert tail(keys.threshold) <= chance
        assert keys.threshold == 1 or tail(keys.threshold - 1) > chance * (1 - mpmath.mpf(2) ** -60)
    # What the accountant finds is what was asked for.
    price = basic(keys.event)
    assert price[0] == epsilon
    assert price[1] <= delta


def test_published_thresholds() -> None:
    # T = 1 + ln(1/(2 delta))/epsilon for real-valued noise (Korolova et al. 2009, theorem 1, with d = 1, up to the
    # rounding of T); on integers it is the next one above ln(1/(delta (1 + r)))/epsilon.
    assert StableKeys(epsilon=1, delta="1e-5").threshold == 1 + np.ceil(np.log(1e5 / (1 + np.exp(-1))))
    assert StableKeys(epsilon="0.1", delta="1e-5").threshold == 1 + np.ceil(10 * np.log(1e5 / (1 + np.exp(-0.1))))
    assert abs(StableKeys(epsilon="0.01", delta="1e-5").threshold - (1 + 100 * np.log(1e5 / 2))) < 2


# ---- draws


def check_a_lone_key_shows_with_probability_delta_at_most(groups: int, adjacency: Adjacency) -> None:
    keys = StableKeys(epsilon=groups if adjacency is AddRemove else 2 * groups, delta="0.01", groups=groups,
                      adjacency=adjacency)  # fmt: skip
    reached = keys.event.affected_keys
    draws = 100_000

    def bounds(count: int) -> tuple[float, float]:
        """Clopper and Pearson's interval for the probability that a key of so many units shows."""
        shown = int(keys.select(np.full(draws, count), source=Seeded(5)).mask.sum())
        low = stats.beta.ppf(LEVEL / 2, shown, draws - shown + 1)
        return float(low), float(stats.beta.ppf(1 - LEVEL / 2, shown + 1, draws - shown))

    exact = float(np.exp(-(keys.threshold - 1)) / (1 + np.exp(-1)))
    low, high = bounds(1)
    assert low <= exact <= high
    assert exact <= 0.01 / reached
    # The mutant with a threshold of one less shows a lone key as this one shows two people.
    assert bounds(2)[0] > 0.01 / reached


def test_a_lone_key_shows_with_probability_delta_at_most() -> None:
    for groups, adjacency in product((1, 2), ADJACENCIES):
        check_a_lone_key_shows_with_probability_delta_at_most(groups, adjacency)


def test_noisy_numbers_have_the_noise_of_the_event() -> None:
    keys = StableKeys(epsilon=1, delta="1e-3", groups=3)
    chosen = keys.select(np.full(100_000, 10**6), source=Seeded(3))
    assert chosen.mask.all()
    assert check_distribution(chosen.counts - 10**6, DiscreteLaplace(3).log_mass, failure=LEVEL) > LEVEL
    with pytest.raises(ConformanceError):
        check_distribution(chosen.counts - 10**6, DiscreteLaplace("2.7").log_mass, failure=LEVEL)


# ---- neighbours, by enumeration

UNIVERSE = "abcd"


def tables(groups: int, units: int) -> Iterator[Table]:
    people = [frozenset(some) for size in range(1, groups + 1) for some in itertools.combinations(UNIVERSE, size)]
    for number in range(units + 1):
        yield from itertools.combinations_with_replacement(people, number)


def neighbours(table: Table, groups: int, adjacency: Adjacency) -> Iterator[Table]:
    [*people] = [some for [some] in (one for one in tables(groups, 1) if one)]
    if adjacency is AddRemove:
        yield from ((*table, person) for person in people)
    else:
        yield from ((*table[:place], person, *table[place + 1 :]) for place in range(len(table)) for person in people)


def counts(table: Table) -> Counter[str]:
    return Counter(key for person in table for key in person)


@cache
def law(count: int, ratio: float, threshold: int, most: int) -> tuple[float, ...]:
    """The probabilities that a key is hidden, shown with threshold, ..., shown with ``most`` or more."""
    if count == 0:
        return (1.0, *[0.0] * (most - threshold + 1))

    def above(value: int) -> float:  # P(count + noise >= value)
        step = value - count
        return ratio**step / (1 + ratio) if step >= 0 else 1 - ratio ** (1 - step) / (1 + ratio)

    middle = [above(value) - above(value + 1) for value in range(threshold, most)]
    return (1 - above(threshold), *middle, above(most))


def divergence(here: Table, there: Table, *, scale: float, threshold: int, epsilon: float) -> float:
    """The delta that two tables need at ``epsilon``, over all that can be shown of all keys."""
    one, other = counts(here), counts(there)
    most = max([threshold, *one.values(), *other.values()])  # beyond, all outputs have the same ratio
    ratio = float(np.exp(-1 / scale))
    p, q = np.ones(1), np.ones(1)
    for key in UNIVERSE:
        if one[key] != other[key]:  # the others tell nothing
            p = np.outer(p, law(one[key], ratio, threshold, most)).ravel()
            q = np.outer(q, law(other[key], ratio, threshold, most)).ravel()
    growth = np.exp(epsilon)
    return float(max(np.maximum(p - growth * q, 0).sum(), np.maximum(q - growth * p, 0).sum()))


def worst(keys: StableKeys, *, scale: Fraction | None = None, threshold: int | None = None) -> float:
    event = keys.event
    return max(
        divergence(
            here,
            there,
            scale=float(scale or event.scale),
            threshold=threshold or event.threshold,
            epsilon=float(keys.epsilon),
        )
        for here in tables(keys.groups, 2)
        for there in neighbours(here, keys.groups, keys.adjacency)
    )


CASES = [
    StableKeys(epsilon=2, delta="0.12"),
    StableKeys(epsilon=4, delta="0.25", groups=2),
    StableKeys(epsilon=4, delta="0.25", adjacency=ReplaceOne),
    StableKeys(epsilon=8, delta="0.5", groups=2, adjacency=ReplaceOne),
    StableKeys(epsilon=1, delta="0.1"),
    StableKeys(epsilon=1, delta="0.3", groups=2, unit="person"),
    StableKeys(epsilon=1, delta="0.3", adjacency=ReplaceOne),
]


def test_no_neighbours_need_more_than_delta() -> None:
    for keys in CASES:
        found = worst(keys)
        event = keys.event
        lone = float(basic(dataclasses.replace(event, groups=1, adjacency=AddRemove))[1])
        # The worst neighbours have a unit that is alone in all its keys. When it is replaced, the keys that it enters
        # hide as well as the noise hides a step: the price is then twice what is needed.
        assert found == pytest.approx(1 - (1 - lone) ** event.groups, rel=1e-12)
        assert found <= float(basic(event)[1]) <= float(keys.delta)


def test_mutants_need_more() -> None:
    for keys in CASES:
        event = keys.event
        share = float(keys.delta * event.groups / event.affected_keys)
        assert worst(keys, threshold=event.threshold - 1) > share
        assert worst(keys, scale=event.scale * 2, threshold=event.threshold) > share
        if keys.event.affected_keys > 1:
            # Noise as for one key, or as if a replaced unit only left: epsilon is spent once more.
            thin = event.scale / 2
            enough = StableKeys(epsilon=1 / thin, delta=keys.delta / event.affected_keys).threshold
            above = [(frozenset("ab"[: keys.groups]),) * (enough + 1), (frozenset("cd"[: keys.groups]),) * enough]
            here = above[0] + above[1]
            there = (
                above[0][1:] + above[1] + ((frozenset("cd"[: keys.groups]),) if keys.adjacency is ReplaceOne else ())
            )
            measured = divergence(here, there, scale=float(thin), threshold=enough, epsilon=float(keys.epsilon))
            assert measured > float(keys.delta)
            right = divergence(here, there, scale=float(event.scale), threshold=enough, epsilon=float(keys.epsilon))
            assert right < 1e-12


def test_the_kit_finds_nothing_and_catches_a_mutant() -> None:
    pairs = [({"a": 1, "b": 5}, {"b": 5}), ({"a": 4, "b": 5}, {"a": 3, "b": 5})]
    keys = StableKeys(epsilon=1, delta="0.05")
    check_mechanism(keys, pairs, samples=600, processes=2)

    class Low(StableKeys):
        """Forgets that a threshold is needed."""

        @property
        def threshold(self) -> int:
            return 1

    with pytest.raises(ConformanceError):
        check_mechanism(Low(epsilon=1, delta="0.05"), pairs, samples=600, processes=2)


# ---- conduct


def test_what_it_says_of_itself() -> None:
    keys = StableKeys(epsilon="0.5", delta="1e-6", groups=2, adjacency=ReplaceOne, unit="person")
    assert repr(keys) == "StableKeys(epsilon=0.5, delta='1e-06', groups=2, adjacency=ReplaceOne, unit='person')"
    assert eval(repr(keys)) == keys
    assert keys.event == KeySelectionEvent(
        scale=8, threshold=keys.threshold, groups=2, adjacency=ReplaceOne, unit="person"
    )
    assert keys.guarantee == ApproxDP(epsilon="0.5", delta="1e-6", adjacency=ReplaceOne, unit="person")
    released = keys.release({"a": 1000})
    assert released.event == keys.event
    assert released.guarantee == keys.guarantee
    assert not released.seeded
    with pytest.raises(NoIntervalError):
        released.confidence_interval()


def test_keys_come_sorted_whatever_the_order_of_the_table() -> None:
    keys = StableKeys(epsilon=5, delta="1e-6")
    names = ["b", "a", "rare", "d", "c"]
    for order in itertools.permutations(names):
        shown = keys.release({name: 1 if name == "rare" else 1000 for name in order}, source=Seeded(1)).value
        assert list(shown) == ["a", "b", "c", "d"]
    mixed: dict[object, int] = {("x", 1): 1000, "x": 1000, None: 1000, 3: 1000}
    orders = {tuple(keys.release(dict(some)).value) for some in itertools.permutations(mixed.items())}
    assert len(orders) == 1


def test_keys_without_anybody_are_never_shown() -> None:
    keys = StableKeys(epsilon=1, delta="0.9")
    assert keys.threshold == 1
    chosen = keys.select(np.array([0, -5] * 1000), source=Seeded(1))
    assert not chosen.mask.any()
    assert keys.select(np.ones(1000, dtype=np.int8), source=Seeded(1)).mask.any()
    assert keys.release({}).value == {}
    assert keys.select([]).counts.tolist() == []


def test_parts_of_a_table_may_come_one_by_one() -> None:
    keys = StableKeys(epsilon=1, delta="1e-3")
    source = Seeded(9)
    parts = [keys.select(np.arange(1, 40, dtype=kind), source=source) for kind in (np.int64, np.uint8, np.int32)]
    assert all(part.counts.dtype == np.int64 for part in parts)
    assert all(part.counts.size == part.mask.sum() and (part.counts >= keys.threshold).all() for part in parts)
    assert "39" not in repr(parts[0])


@given(st.fractions(Fraction(1, 20), 10, max_denominator=50), st.floats(0.01, 0.999))
def test_the_sure_count_is_the_smallest_that_shows(epsilon: Fraction, level: float) -> None:
    keys = StableKeys(epsilon=epsilon, delta="1e-6")
    ratio = float(np.exp(-float(epsilon)))

    def shown(count: int) -> float:
        step = keys.threshold - count
        return ratio**step / (1 + ratio) if step >= 0 else 1 - ratio ** (1 - step) / (1 + ratio)

    count = keys.sure_count(level)
    assert shown(count) >= level - 1e-8
    assert count == keys.threshold or shown(count - 1) < level


def test_the_error_is_that_of_the_noise() -> None:
    assert StableKeys(epsilon=1, delta="1e-6", groups=4).error("0.9") == DiscreteLaplace(4).margin(0.9)


def test_bad_parameters_are_refused_by_name() -> None:
    cases: list[tuple[str, Any]] = [
        ("epsilon", 0),
        ("epsilon", -1),
        ("epsilon", float("nan")),
        ("epsilon", True),
        ("epsilon", 10**6),
        ("delta", 0),
        ("delta", 1),
        ("delta", 2),
        ("delta", float("inf")),
        ("delta", None),
        ("delta", "x"),
        ("groups", 0),
        ("groups", 1.0),
        ("groups", True),
        ("groups", "1"),
        ("adjacency", "bounded"),
        ("unit", ""),
    ]
    for name, value in cases:
        given_values: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", name: value}
        with pytest.raises(ParameterError, match=rf"^{name} must be "):
            StableKeys(**given_values)


def test_noise_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ParameterError, match="64-bit"):
        StableKeys(epsilon="1e-9", delta="1e-6", groups=10**6)
    widest = StableKeys(epsilon=Fraction(1, 2**40), delta="1e-300")
    assert widest.threshold < 2**50
    assert not widest.select([5]).mask.any()


def test_what_is_no_list_of_numbers_is_refused() -> None:
    cases: list[Any] = [3, [[1, 2]], [1.0, 2.0], ["a"], [None], [True], None]
    for counts in cases:
        with pytest.raises(InputError, match="counts must be"):
            StableKeys(epsilon=1, delta="1e-6").select(counts)


def test_what_is_no_table_of_keys_is_refused() -> None:
    cases: list[Any] = [[1, 2], None, "abc", {"a": 1.5}, {"a": "x"}, {"a": None}, {"a": [1, 2]}]
    for counts in cases:
        with pytest.raises(InputError, match="counts must"):
            StableKeys(epsilon=1, delta="1e-6").release(counts)
