"""The lower bound is Clopper and Pearson's, finds what is there, and claims nothing that is not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.audit import distinguish, gather, lower_bound
from celosia.audit.distinguish import compare
from celosia.core import ParameterError, Source
from celosia.noise import DiscreteLaplace, Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray


def laplace(value: Any, count: int, source: Source) -> NDArray[np.int64]:
    shape = (count, *np.shape(value))
    noise = DiscreteLaplace(1).sample(math.prod(shape), source).reshape(shape)
    return np.asarray(value + noise)


def limits(hits: int, trials: int, failure: float) -> tuple[float, float]:
    """SciPy's own exact one-sided limits."""
    test = stats.binomtest(hits, trials)
    return test.proportion_ci(1 - failure).low, test.proportion_ci(1 - failure).high


@given(
    st.integers(1, 2_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.integers(1, 2_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
)
def test_bound_agrees_with_scipy(one: tuple[int, int], other: tuple[int, int]) -> None:
    failure = 0.02  # each of the two bounds is then one end of a two-sided interval of level 1 - 0.02
    low, high = limits(*one, failure)[0], limits(*other, failure)[1]
    expected = max(0.0, math.log(low / high)) if low > 0 else 0.0
    assert lower_bound(*one, *other, failure=failure) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_published_interval() -> None:
    # Clopper and Pearson 1934, and every table since: 5 of 10 at 95 % two-sided lies between 0.1871 and 0.8129.
    assert math.exp(lower_bound(5, 10, 0, 10**9, failure=0.05)) == pytest.approx(
        0.1871 / -math.expm1(math.log(0.025) / 10**9), rel=1e-3
    )
    # Nothing seen in n trials: the upper limit is 1 - failure^(1/n), about 3/n at 5 % ("rule of three").
    assert lower_bound(10**6, 10**6, 0, 100, failure=0.1) == pytest.approx(
        -math.log(-math.expm1(math.log(0.05) / 100)), rel=1e-4
    )


def test_bound_is_finite_never_negative_and_pays_for_delta() -> None:
    assert 0 < lower_bound(100, 100, 0, 100) < math.inf
    assert lower_bound(0, 100, 100, 100) == 0
    assert lower_bound(900, 1_000, 10, 1_000, delta=0.5) < lower_bound(900, 1_000, 10, 1_000)
    assert lower_bound(300, 1_000, 0, 1_000, delta=0.5) == 0


def test_counts_and_probabilities_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[tuple[int, int, int, int], dict[str, Any]]] = [
        ((5, 4, 0, 4), {}),
        ((-1, 4, 0, 4), {}),
        ((1, 0, 0, 4), {}),
        ((1, 4, 0, 4), {"delta": 1.0}),
        ((1, 4, 0, 4), {"failure": 0.0}),
        ((1, 4, 0, 4), {"failure": math.nan}),
    ]
    for arguments, options in cases:
        with pytest.raises(ParameterError):
            lower_bound(*arguments, **options)


def test_the_bound_approaches_epsilon_from_below() -> None:
    found = distinguish(laplace, 0, 1, samples=400_000)
    assert 0.97 < found.epsilon <= 1


def test_coordinates_that_move_together_are_found() -> None:
    found = distinguish(laplace, np.zeros(3, dtype=int), np.ones(3, dtype=int), samples=100_000)
    assert 2 < found.epsilon <= 3


def test_delta_lowers_the_bound() -> None:
    assert distinguish(laplace, 0, 1, samples=50_000, delta=0.3).epsilon < 0.7


def test_one_distribution_is_not_told_from_itself() -> None:
    source = Seeded(1)
    false_alarms = sum(
        distinguish(laplace, 0, 0, samples=4_000, failure=0.05, source=source).epsilon > 0 for _ in range(40)
    )
    assert false_alarms <= 7  # binomial(40, 0.05) exceeds 7 with probability 4e-4; the seed is fixed


def test_the_direction_is_said() -> None:
    def run(value: int, count: int, _source: Source) -> NDArray[np.int64]:
        return np.arange(count) % (2 if value == 0 else 4)

    found = distinguish(run, 0, 1, samples=4_000)
    # Outputs 2 and 3 never happen on the first input: the event belongs to the second.
    assert found.swapped
    assert found.epsilon > 3
    assert found.hits_neighbour == 0


def test_a_conjunction_is_found_where_single_conditions_say_nothing() -> None:
    def run(value: int, count: int, source: Source) -> NDArray[np.int64]:
        bits = (source.words(count) & np.uint64(1)).astype(np.int64)
        spread = (source.words(count) >> np.uint64(20)).astype(np.int64)
        return np.stack([bits, bits ^ value, spread], axis=1)

    found = distinguish(run, 0, 1, samples=20_000)
    assert found.epsilon > 4
    assert " and " in found.event


def test_mechanisms_and_functions_alike() -> None:
    def one(value: int, source: Source) -> int:
        return value + DiscreteLaplace(1).draw(source)

    from celosia.audit import repeat

    assert 0 < distinguish(repeat(one), 0, 1, samples=4_000).epsilon <= 1


def test_events_of_the_caller_replace_the_search() -> None:
    found = distinguish(laplace, 0, 1, samples=20_000, events={"positive": lambda outputs: outputs > 0})
    assert found.event == "positive"
    assert found.swapped
    nothing = distinguish(laplace, 0, 1, samples=2_000, events={"never": lambda outputs: outputs > 10**6})
    assert nothing.epsilon == 0
    assert str(nothing).startswith("epsilon >= 0 ")


def test_the_same_call_gives_the_same_answer() -> None:
    assert distinguish(laplace, 0, 1, samples=2_000) == distinguish(laplace, 0, 1, samples=2_000)
    assert distinguish(laplace, 0, 1, samples=2_000, source=Seeded(5)) != distinguish(laplace, 0, 1, samples=2_000)


def test_the_event_is_tested_on_fresh_draws_only() -> None:
    # Every output is new: chosen on what was seen, any of them would look impossible for the neighbour.
    first, second = gather(np.arange(2_000)), gather(np.arange(2_000) + 0)
    assert compare(first, second, 0, 0).epsilon == 0


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ParameterError, match="samples"):
        distinguish(laplace, 0, 1, samples=3)
