"""Any utility on an interval: exactly its weights, however it is given, and nothing that cannot be a utility."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from celosia.core import ZCDP, ExponentialEvent, InputError, ParameterError, PureDP, ReplaceOne
from celosia.noise import Seeded
from celosia.statistics import choose
from celosia.testing.distributions import chi_square

Floats = NDArray[np.float64]


def steps(x: Floats) -> Floats:
    """Three levels: 0 below 2, 3 below 3, 1 from there to 8."""
    return np.select([x < 2, x < 3], [0.0, 3.0], 1.0)


MASSES = np.array([2.0, math.exp(3 / 2), 5 * math.exp(1 / 2)])


def pieces(answers: list[float]) -> NDArray[np.int64]:
    return np.bincount(np.searchsorted([2, 3], answers, side="right"), minlength=3)


@pytest.mark.parametrize("utility", [steps, ([2, 3], [0, 3, 1]), ([2, 3], [0.0, 3.0, 1.0])])
def test_points_have_the_weights_of_their_utilities(
    utility: Callable[[Floats], Floats] | tuple[list[float], list[float]],
) -> None:
    source = Seeded(1)
    drawn = pieces(
        [choose(utility, 0, 8, sensitivity=1, epsilon=1, pieces=64, source=source).value for _ in range(1200)]
    )
    assert chi_square(drawn, MASSES / MASSES.sum()) > 1e-6
    for factor in (0.5, 2):
        wrong = np.array([2.0, math.exp(3 / 2 * factor), 5 * math.exp(factor / 2)])
        assert chi_square(drawn, wrong / wrong.sum()) < 1e-6


def test_a_monotone_utility_counts_twice() -> None:
    source = Seeded(2)
    answers = [
        choose(steps, 0, 8, sensitivity=2, epsilon=1, monotone=True, pieces=8, source=source).value for _ in range(1200)
    ]
    assert chi_square(pieces(answers), MASSES / MASSES.sum()) > 1e-6


def test_points_of_a_piece_are_equally_likely() -> None:
    source = Seeded(3)
    answers = [choose(([], [0]), -1, 1, sensitivity=1, epsilon=1, source=source).value for _ in range(1000)]
    drawn = np.histogram(answers, bins=np.linspace(-1, 1, 21))[0]
    assert chi_square(drawn, [1 / 20] * 20) > 1e-6


def test_the_median_of_a_users_own_utility_is_found() -> None:
    values = np.sort(np.random.default_rng(4).normal(50, 10, 5001))
    ranks = np.arange(5002)
    answer = choose((values, -np.abs(ranks - 2500.5)), 0, 100, sensitivity="1/2", epsilon=1).value
    assert abs(answer - float(np.median(values))) < 0.5


@settings(max_examples=50)
@given(
    edges=st.lists(st.floats(-1e300, 1e300) | st.sampled_from([math.inf, -math.inf]), max_size=20).map(sorted),
    low=st.fractions(-1000, 1000),
    length=st.fractions(Fraction(1, 1000), 1000),
)
def test_answers_stay_in_the_interval_wherever_edges_are(edges: list[float], low: Fraction, length: Fraction) -> None:
    utilities = [0] * (len(edges) + 1)
    answer = choose((edges, utilities), low, low + length, sensitivity=1, epsilon=1).value
    assert low <= Fraction(answer) <= low + length


def test_a_function_is_asked_once_for_the_middles_of_equal_pieces() -> None:
    asked: list[list[float]] = []

    def utility(points: Floats) -> Floats:
        asked.append(points.tolist())
        return points

    choose(utility, 0, 8, sensitivity=1, epsilon=1, pieces=4)
    assert asked == [[1.0, 3.0, 5.0, 7.0]]


def test_what_was_run_is_what_was_declared() -> None:
    release = choose(steps, 0, 8, sensitivity=1, epsilon="0.5", adjacency=ReplaceOne, unit="person", source=Seeded(5))
    assert release.event == ExponentialEvent(epsilon="0.5", adjacency=ReplaceOne, unit="person")
    assert release.guarantee == PureDP(epsilon="0.5", adjacency=ReplaceOne, unit="person")
    assert release.seeded
    assert choose(steps, 0, 8, sensitivity=1, rho="1/8").guarantee == ZCDP(rho="1/8")


def test_what_is_no_utility_is_refused() -> None:
    cases: list[Any] = [
        (lambda x: x[:-1], "one number for each of the 4096 points"),
        (lambda x: np.zeros((len(x), 2)), "one number for each of the 4096 points"),
        (lambda x: x * math.nan, "must be finite"),
        (([3, 2], [0, 1, 2]), "increasing order"),
        (([2], [0, 1, 2]), "one number more than utilities"),
        (([math.nan], [0, 1]), "without NaN"),
        (([[1, 2]], [0, 1]), "list of numbers"),
        ((["two"], [0, 1]), "must be numbers"),
    ]
    for utility, message in cases:
        with pytest.raises(InputError, match=message):
            choose(utility, 0, 8, sensitivity=1, epsilon=1)


def test_parameters_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"low": 8}, "low must be less than high, not 8 and 8"),
        ({"high": math.inf}, "high must be a finite number"),
        ({"sensitivity": 0}, "sensitivity must be greater than 0"),
        ({"epsilon": -1}, "epsilon must be greater than 0"),
        ({"epsilon": None}, "exactly one of epsilon and rho"),
        ({"pieces": 0}, "pieces must be at least 1"),
        ({"pieces": 2**23}, "pieces must be at most"),
        ({"utility": [0, 1]}, "utility must be a function"),
        ({"utility": None}, "utility must be a function"),
        ({"monotone": True, "adjacency": ReplaceOne}, "monotone=True needs AddRemove"),
    ]
    for changes, message in cases:
        arguments: dict[str, object] = {"utility": steps, "low": 0, "high": 8, "sensitivity": 1, "epsilon": 1} | changes
        with pytest.raises(ParameterError, match=message):
            choose(**arguments)  # type: ignore[arg-type]
