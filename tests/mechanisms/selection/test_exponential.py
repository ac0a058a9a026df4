"""The exponential mechanism: exactly its weights, exactly its price, on lists and on a line."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from celosia.core import ZCDP, ExponentialEvent, InputError, ParameterError, PureDP
from celosia.core.enclosure import exp_at_least, exp_at_most
from celosia.mechanisms import Exponential
from celosia.noise import Seeded

DRAWS = 1_500


def softmax(utilities: list[Fraction], rate: Fraction) -> list[float]:
    """Rational weights, enclosed in integers (no floating point until the end)."""
    best = max(utilities)
    weights = [(exp_at_most(rate * (u - best)) + exp_at_least(rate * (u - best))) / 2 for u in utilities]
    return [float(weight / sum(weights)) for weight in weights]


def draws(mechanism: Exponential, utilities: Any, count: int = DRAWS) -> list[int]:
    source = Seeded(9)
    return [mechanism.release(utilities, source=source).value for _ in range(count)]


def p_value(answers: list[int], probabilities: list[float]) -> float:
    observed = np.bincount(answers, minlength=len(probabilities))
    return float(stats.chisquare(observed, np.array(probabilities) * len(answers)).pvalue)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("utilities", [[0, 4], [3, 1, 4, 1, 5], [0.25, 2.75, 1.5]])
@pytest.mark.parametrize("sensitivity", [1, "1.5"])
@pytest.mark.sampled(3)
def test_choices_have_the_weights_of_mcsherry_and_talwar(utilities: Any, sensitivity: Any, *, monotone: bool) -> None:
    mechanism = Exponential(epsilon=1, sensitivity=sensitivity, monotone=monotone)
    exact = [Fraction(u) for u in utilities]
    rate = Fraction(1 if monotone else Fraction(1, 2)) / Fraction(sensitivity)
    answers = draws(mechanism, utilities, DRAWS if sensitivity == 1 else 2 * DRAWS)  # small rates are told apart later
    assert p_value(answers, softmax(exact, rate)) > 1e-6
    assert p_value(answers, softmax(exact, rate * 2)) < 1e-6  # the missing factor two
    assert p_value(answers, softmax(exact, rate / 2)) < 1e-6


def test_a_rate_that_is_ten_per_cent_off_would_show() -> None:
    # One candidate against 148 ten below it has about an even chance, and a small change of the rate moves it most.
    best = [
        int(answer > 0) for answer in draws(Exponential(epsilon=1, sensitivity=1), np.array([10] + [0] * 148), 3_000)
    ]

    def masses(rate: float) -> list[float]:
        others = 148 * math.exp(-10 * rate)
        return [1 / (1 + others), others / (1 + others)]

    assert p_value(best, masses(0.5)) > 1e-6
    assert p_value(best, masses(0.5 * 1.1)) < 1e-6
    assert p_value(best, masses(0.5 / 1.1)) < 1e-6


def test_the_table_is_the_rational_softmax() -> None:
    utilities = [3, 1, 4, 1, 5, 90, -200]
    masses = np.exp(Exponential(epsilon="0.7", sensitivity=2).log_masses(utilities, range(7)))
    assert masses == pytest.approx(softmax(list(map(Fraction, utilities)), Fraction(7, 40)), rel=1e-12)
    assert masses.sum() == pytest.approx(1, abs=1e-12)


def worst(mechanism: Exponential, here: list[int], there: list[int]) -> float:
    outputs = range(len(here))
    return float(np.abs(mechanism.log_masses(here, outputs) - mechanism.log_masses(there, outputs)).max())


def test_neighbours_are_within_epsilon() -> None:
    cases: list[list[int]] = [[0, 0, 0], [5, 3, 0], [40, 0, 0], [1, 1, 0]]
    for utilities in cases:
        mechanism = Exponential(epsilon=1, sensitivity=1)
        neighbours = [
            [u + d for u, d in zip(utilities, move, strict=True)] for move in itertools.product((-1, 0, 1), repeat=3)
        ]
        losses = [worst(mechanism, utilities, other) for other in neighbours]
        assert max(losses) <= 1 + 1e-12
        # A monotone rate on a utility that is not monotone, or a sensitivity that is not one, is caught.
        assert (
            max(worst(Exponential(epsilon=1, sensitivity=1, monotone=True), utilities, other) for other in neighbours)
            > 1.2
        )
        assert worst(mechanism, utilities, [u + 3 * (-1) ** i for i, u in enumerate(utilities)]) > 1


def test_monotone_neighbours_are_within_epsilon_and_use_it() -> None:
    cases: list[list[int]] = [[0, 0, 0], [5, 3, 0], [40, 0, 0]]
    for utilities in cases:
        mechanism = Exponential(epsilon=1, sensitivity=1, monotone=True)
        losses = [
            worst(mechanism, utilities, [u + sign * d for u, d in zip(utilities, move, strict=True)])
            for move in itertools.product((0, 1), repeat=3)
            for sign in (-1, 1)
        ]
        assert 0.6 < max(losses) <= 1 + 1e-12


def test_a_zcdp_target() -> None:
    mechanism = Exponential(rho="1/8", sensitivity=1)
    assert mechanism.guarantee == ZCDP(rho="1/8")
    assert mechanism.event == ExponentialEvent(epsilon=1)
    assert mechanism.epsilon**2 / 8 == Fraction(1, 8)
    odd = Exponential(rho="0.1", sensitivity=1)
    assert odd.epsilon**2 / 8 <= Fraction(1, 10)  # rounded to less, never to more
    assert float(odd.epsilon) == pytest.approx(math.sqrt(0.8), rel=1e-15)
    assert Exponential(epsilon=1, sensitivity=1).guarantee == PureDP(epsilon=1)


def test_the_renyi_divergence_is_within_rho() -> None:
    utilities_cases: list[list[int]] = [[0, 0], [5, 0], [2, 1, 0], [0, 0, 0]]
    rho_cases: list[str] = ["0.02", "1/8", "1"]
    for utilities in utilities_cases:
        for rho in rho_cases:
            # Cesar and Rogers 2021: a loss of range epsilon costs epsilon^2 / 8, at many orders, for all neighbours.
            mechanism = Exponential(rho=rho, sensitivity=1)
            outputs = range(len(utilities))
            here = mechanism.log_masses(utilities, outputs)
            reached = 0.0
            for move in itertools.product((-1, 0, 1), repeat=len(utilities)):
                there = mechanism.log_masses([u + d for u, d in zip(utilities, move, strict=True)], outputs)
                for order in (1.01, 1.5, 2.0, 4.0, 16.0, 64.0):
                    divergence = math.log(np.exp(order * here - (order - 1) * there).sum()) / (order - 1)
                    reached = max(reached, divergence / order)
            assert reached <= float(Fraction(rho)) * (1 + 1e-9)


def test_exactly_one_target() -> None:
    cases: list[Any] = [{}, {"epsilon": 1, "rho": 1}]
    for targets in cases:
        with pytest.raises(ParameterError, match="exactly one of epsilon and rho"):
            Exponential(sensitivity=1, **targets)


def test_a_rho_without_a_meaning_is_refused() -> None:
    cases: list[Any] = [math.nan, math.inf, 0, -1, 5e-324, 1e308, "1e-400", "x", True]
    for rho in cases:
        with pytest.raises(ParameterError):
            Exponential(rho=rho, sensitivity=1)


# ------------------------------------------------------------------------------------------------------------- a line


def points(
    mechanism: Exponential, edges: Any, utilities: Any, count: int = DRAWS
) -> np.ndarray[Any, np.dtype[np.float64]]:
    source = Seeded(3)
    return np.array([mechanism.release_on_line(edges, utilities, source=source).value for _ in range(count)])


def test_a_line_is_chosen_from_by_width_and_utility() -> None:
    mechanism = Exponential(epsilon=1, sensitivity=1)
    edges, utilities = [-3.0, -1.0, -0.5, 4.0, 10.0], [0, 3, 1, -2]
    found = points(mechanism, edges, utilities)
    weights = np.diff(edges) * np.exp(np.array(utilities) / 2)
    where = np.searchsorted(edges, found, side="right") - 1
    assert p_value(where.tolist(), (weights / weights.sum()).tolist()) > 1e-6
    wrong = np.diff(edges) * np.exp(np.array(utilities))  # the missing factor two
    assert p_value(where.tolist(), (wrong / wrong.sum()).tolist()) < 1e-6
    assert (
        p_value(where.tolist(), (np.exp(np.array(utilities) / 2) / np.exp(np.array(utilities) / 2).sum()).tolist())
        < 1e-6
    )
    for i in range(4):  # and uniform inside
        inside = (found[where == i] - edges[i]) / (edges[i + 1] - edges[i])
        assert stats.kstest(inside, "uniform").pvalue > 1e-6
        assert 0 <= inside.min() <= inside.max() < 1


def test_points_lie_on_a_grid_that_the_bounds_alone_determine() -> None:
    mechanism = Exponential(epsilon=1, sensitivity=1)
    for inner in ([], [0.1], [0.1, math.pi]):
        found = points(mechanism, [0, *inner, 10], [0] * (len(inner) + 1), 200)
        scaled = found * 2.0**37
        assert (scaled == np.rint(scaled)).all()
        assert (found >= 0).all()
        assert (found < 10).all()


def line_masses(mechanism: Exponential, edges: list[float], utilities: list[int]) -> dict[float, float]:
    """The exact log probability of every interval's points, by the mechanism's own grid, stated at its left edge."""
    rate, _ = mechanism._rate(integral=True)
    step = 2.0**-36  # of bounds 0 and 64
    counts = [math.ceil(b / step) - math.ceil(a / step) for a, b in itertools.pairwise(edges)]
    total = math.fsum(n * math.exp(float(rate) * u) for n, u in zip(counts, utilities, strict=True))
    return {
        a: float(rate) * u - math.log(total) for a, n, u in zip(edges[:-1], counts, utilities, strict=True) if n > 0
    }


def median_utilities(data: list[float]) -> tuple[list[float], list[int]]:
    """Edges and utilities -|2 rank - n| of the median of sorted data between 0 and 64: sensitivity 1, integers."""
    edges = [0.0, *sorted(data), 64.0]
    return edges, [-abs(2 * i - len(data)) for i in range(len(data) + 1)]


def density(masses: dict[float, float], point: float) -> float:
    return masses[max(edge for edge in masses if edge <= point)]


def test_neighbouring_lines_are_within_epsilon() -> None:
    data_cases: list[list[float]] = [[5.0, 9.0, 9.0, 30.0], [1.0, 1.0, 1.0], [0.1, 20.0, 63.9], [7.0]]
    added_cases: list[float] = [0.0, 0.1, 8.0, 9.0, 63.0]
    mechanism = Exponential(epsilon=1, sensitivity=1)
    for data in data_cases:
        here = line_masses(mechanism, *median_utilities(data))
        for added in added_cases:
            there = line_masses(mechanism, *median_utilities([*data, added]))
            losses = [abs(density(here, edge) - density(there, edge)) for edge in {*here, *there}]
            assert max(losses) <= 1 + 1e-9
        # The sampler agrees with these masses.
        edges, utilities = median_utilities(data)
        found = points(mechanism, edges, utilities, 600)
        kept = [a for a, b in itertools.pairwise(edges) if b > a]
        widths = [b - a for a, b in itertools.pairwise(edges) if b > a]
        expected = [width * 2.0**36 * math.exp(here[a]) for a, width in zip(kept, widths, strict=True)]
        where = np.searchsorted(kept, found, side="right") - 1
        assert p_value(where.tolist(), (np.array(expected) / sum(expected)).tolist()) > 1e-6


def test_many_equal_values_do_not_hold_it_up() -> None:
    # The best intervals are empty, all others far below: a rejection sampler would never come back.
    edges = [0.0, *[50.0] * 100_001, 100.0]
    utilities = -np.abs(np.arange(100_002) * 2 - 100_001)
    release = Exponential(epsilon=1, sensitivity=1).release_on_line(edges, utilities, source=Seeded(1))
    assert 0 <= release.value <= 100


def test_edges_that_are_no_line_are_refused() -> None:
    cases: list[tuple[Any, Any]] = [
        ([0, 1], [1, 2]),
        ([0, 1, 2], [1]),
        ([0], []),
        (3, [1]),
        ([0, 2, 1, 3], [1, 1, 1]),
        ([1, 1], [0]),
        ([2, 1], [0]),
        ([[0, 1]], [0]),
        ([0, math.nan, 2], [0, 0]),
        ([0, math.inf], [0]),
        (["0", "1"], [0]),
        ([0, 1], [None]),
        ([2.0**60 + 256, 2.0**60 + 512], [0]),
    ]
    for edges, utilities in cases:
        with pytest.raises(InputError):
            Exponential(epsilon=1, sensitivity=1).release_on_line(edges, utilities)


def test_an_error_about_edges_does_not_count_the_data() -> None:
    with pytest.raises(InputError) as caught:
        Exponential(epsilon=1, sensitivity=1).release_on_line([0, 1, 2], [0] * 4321)
    assert "4321" not in str(caught.value)


def test_lines_of_any_size() -> None:
    for low in (-1e308, -1e-300, 0.0, 1e15, 1e300):
        high = low + max(abs(low), 1e-290)
        release = Exponential(epsilon=1, sensitivity=1).release_on_line([low, high], [0], source=Seeded(2))
        assert low <= release.value < high
        assert release.guarantee == PureDP(epsilon=1)
        assert release.event == ExponentialEvent(epsilon=1)
        assert release.seeded is True


def test_a_line_is_reproducible() -> None:
    mechanism = Exponential(epsilon=1, sensitivity=1)
    source = Seeded(7)
    found = [mechanism.release_on_line([0, 1, 4], [0, 1], source=source).value for _ in range(3)]
    assert found == [2.9707582715782337, 1.79614611843499, 1.6134259333775844]
    counts = Counter(mechanism.release_on_line([0, 1, 4], [0, 1]).seeded for _ in range(3))
    assert counts == {False: 3}


def test_inner_edges_beyond_the_bounds_are_clipped_not_told() -> None:
    mechanism = Exponential(epsilon=1, sensitivity=1)
    for edges in ([0, 101, 100], [0, -7, 100], [0, 1e300, 100]):
        inside = [edges[0], min(max(edges[1], 0), 100), edges[2]]
        beyond = mechanism.release_on_line(edges, [0, 1], source=Seeded(3)).value
        assert beyond == mechanism.release_on_line(inside, [0, 1], source=Seeded(3)).value
