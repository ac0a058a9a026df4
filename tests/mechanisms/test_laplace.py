"""Laplace: the guarantee holds for every output, exactly, and the noise is not larger than it must be."""

import itertools
import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy import stats

import celosia
from celosia.core import LaplaceEvent, ParameterError, PureDP
from celosia.mechanisms import Laplace
from celosia.mechanisms.grid import to_steps
from celosia.noise import Seeded

PARAMETERS = [("1", 1), ("0.1", 1), ("0.5", 3), ("3", 2), ("1/3", 7)]


def oracle(event: LaplaceEvent) -> Any:
    """SciPy's discrete Laplace distribution (Inusah and Kozubowski 2006), which is not ours."""
    return stats.dlaplace(1 / float(event.scale))


def worst_ratio(mechanism: Laplace, a: Any, b: Any) -> float:
    """The largest absolute log ratio of the probabilities of one output, over all outputs."""
    outputs = list({*mechanism.outputs(a), *mechanism.outputs(b)})  # type: ignore[misc]
    return float(np.abs(mechanism.log_masses(a, outputs) - mechanism.log_masses(b, outputs)).max())


def test_numbers_and_arrays_are_released_with_the_guarantee() -> None:
    mechanism = celosia.mechanisms.Laplace(epsilon=1, sensitivity=1)
    assert isinstance(mechanism.release(108).value, int)
    assert mechanism.release(np.arange(6).reshape(2, 3)).value.shape == (2, 3)
    assert mechanism.guarantee == celosia.PureDP(epsilon=1)


# -------------------------------------------------------------------------------------------------------------- privacy


def test_integers_at_the_sensitivity_use_exactly_epsilon() -> None:
    for epsilon, sensitivity in PARAMETERS:
        mechanism = Laplace(epsilon=epsilon, sensitivity=sensitivity)
        for gap in range(sensitivity + 1):
            used = worst_ratio(mechanism, 100, 100 + gap)
            assert used == pytest.approx(float(Fraction(epsilon)) * gap / sensitivity, rel=1e-12)
        # Able to fail: one further, or a sensitivity of one where neighbours differ by two, breaks the guarantee.
        assert worst_ratio(mechanism, 100, 101 + sensitivity) > float(Fraction(epsilon)) * 1.05
        assert worst_ratio(Laplace(epsilon=epsilon, sensitivity=1), 100, 102) > float(Fraction(epsilon)) * 1.5


def test_reals_at_the_sensitivity_use_at_most_epsilon(*, thorough: bool) -> None:
    cases: list[tuple[str, float]] = [("0.1", 0.3), ("2.75", 1e6), ("1", 0.0), ("1/3", -0.49999)]
    for sensitivity, start in cases[: 4 if thorough else 2]:
        mechanism = Laplace(epsilon=1, sensitivity=sensitivity)
        grid = mechanism.release(0.5).event.grid  # type: ignore[attr-defined]
        largest = 0.0
        for shift in (Fraction(0), grid / 4, grid / 2, grid * 3 / 4):
            a = Fraction(start) + shift
            largest = max(largest, worst_ratio(mechanism, a, a + Fraction(sensitivity)))
        assert 0.998 <= largest <= 1 + 1e-9


def test_vectors_use_epsilon_in_any_direction() -> None:
    mechanism = Laplace(epsilon=1, sensitivity=2, dimension=2)
    logs = oracle(mechanism.event).logpmf(np.arange(-60, 61))
    outputs = np.arange(-50, 51)

    def loss(shift: tuple[int, int]) -> float:
        here = logs[outputs[:, None] + 60] + logs[outputs[None, :] + 60]
        there = logs[outputs[:, None] - shift[0] + 60] + logs[outputs[None, :] - shift[1] + 60]
        return float(np.abs(here - there).max())

    for shift in itertools.product(range(-2, 3), repeat=2):
        length = abs(shift[0]) + abs(shift[1])
        assert loss((shift[0], shift[1])) == pytest.approx(length / 2, abs=1e-9)
    assert loss((2, 1)) > 1.4  # beyond the L1 sensitivity


def test_the_scale_is_sensitivity_over_epsilon_whatever_the_size() -> None:
    for size, real in product((1, 3, 50), (False, True)):
        mechanism = Laplace(epsilon="0.1", sensitivity=2)
        event: Any = mechanism.release(np.zeros(size, dtype=np.float64 if real else np.int64)).event
        scale = event.scale * event.grid
        assert event.scale == event.sensitivity * 10
        assert 20 <= scale <= (20 * Fraction(1001, 1000) if real else 20)  # not size times as much


def test_google_prices_the_event_alike() -> None:
    for epsilon, sensitivity in (("1", 1), ("0.5", 3), ("2", 2)):
        event = Laplace(epsilon=epsilon, sensitivity=sensitivity).event
        priced = privacy_loss_distribution.from_discrete_laplace_mechanism(
            1 / float(event.scale), sensitivity=sensitivity, value_discretization_interval=1e-3
        )
        assert priced.get_epsilon_for_delta(0.0) == pytest.approx(float(Fraction(epsilon)), abs=2e-3)


# ------------------------------------------------------------------------------------------------------ the real noise


def test_the_table_is_scipys_distribution() -> None:
    value_cases: list[int] = [0, 108, -7]
    for epsilon, sensitivity in PARAMETERS:
        for value in value_cases:
            mechanism = Laplace(epsilon=epsilon, sensitivity=sensitivity)
            outputs = mechanism.outputs(value)
            assert outputs is not None
            expected = oracle(mechanism.event).logpmf(np.asarray(outputs) - value)
            assert mechanism.log_masses(value, outputs) == pytest.approx(expected, rel=1e-9)


def p_value(noise: Any, scale: float) -> float:
    """Chi-square of integer noise against SciPy's discrete Laplace of a scale, tails pooled."""
    reach = int(8 * scale)
    edges = np.unique(np.linspace(-reach, reach, min(2 * reach, 60)).astype(int))
    cumulative = np.concatenate([[0], stats.dlaplace(1 / scale).cdf(edges), [1]])
    observed = np.bincount(np.searchsorted(edges, noise, side="left"), minlength=edges.size + 1)
    expected = np.diff(cumulative) * noise.size
    kept = expected > 5
    pooled = [np.append(counts[kept], counts[~kept].sum()) for counts in (observed, expected)]
    keep = pooled[1] > 0
    return float(stats.chisquare(pooled[0][keep], pooled[1][keep] * pooled[0].sum() / pooled[1][keep].sum()).pvalue)


def test_what_is_released_has_the_distribution_of_the_event() -> None:
    kind_cases: list[str] = ["array", "real array", "numbers"]
    for epsilon, sensitivity in PARAMETERS:
        for kind in kind_cases:
            mechanism = Laplace(epsilon=epsilon, sensitivity=sensitivity)
            if kind == "numbers":
                source = Seeded(4)
                release = mechanism.release(9, source=source)
                noise = np.array([mechanism.release(9, source=source).value for _ in range(25_000)]) - 9
            else:
                true = np.full(40_000, 9, dtype=np.int64 if kind == "array" else np.float64)
                release = mechanism.release(true, source=Seeded(4))
                noise = np.rint((release.value - true) / float(release.event.grid)).astype(np.int64)  # type: ignore[attr-defined]
            scale = float(release.event.scale)  # type: ignore[attr-defined]
            assert p_value(noise, scale) > 1e-6
            # The mutants: noise that is ten per cent off, and the missing factor two.
            assert p_value(noise, 1.1 * scale) < 1e-6
            assert p_value(noise, scale / 1.1) < 1e-6
            assert p_value(noise, 2 * scale) < 1e-6


def test_the_noise_is_added_to_the_value() -> None:
    mechanism = Laplace(epsilon=1, sensitivity=1)
    zero = mechanism.release(np.zeros(1000, dtype=np.int64), source=Seeded(3)).value
    true = np.arange(1000) * 17 - 5000
    assert (mechanism.release(true, source=Seeded(3)).value - true == zero).all()
    reals = mechanism.release(np.zeros(1000), source=Seeded(3)).value
    grid: Any = mechanism.release(np.zeros(1000)).event
    rounded = np.asarray(to_steps(true / 7, grid.grid)) * float(grid.grid)
    assert (mechanism.release(true / 7, source=Seeded(3)).value - rounded == reals).all()


# --------------------------------------------------------------------------------------------------------- parameters


def test_parameters_are_exact() -> None:
    assert Laplace(epsilon="0.1", sensitivity=1).event == LaplaceEvent(scale=10, sensitivity=1)
    assert Laplace(epsilon=0.1, sensitivity=1).event.scale == 1 / Fraction(0.1)
    assert Laplace(epsilon="0.1", sensitivity=2).scale == 20.0
    assert Laplace(scale=10, sensitivity=1) == Laplace(epsilon="0.1", sensitivity=1)
    assert Laplace(scale="0.1", sensitivity=3).guarantee == PureDP(epsilon=30)
    assert repr(Laplace(scale=10, sensitivity=1)) == "Laplace(epsilon='0.1', sensitivity=1)"


def test_exactly_one_target() -> None:
    cases: list[Any] = [{}, {"epsilon": 1, "scale": 1}]
    for targets in cases:
        with pytest.raises(ParameterError, match="exactly one of epsilon and scale"):
            Laplace(sensitivity=1, **targets)


def test_a_scale_without_a_meaning_is_refused() -> None:
    cases: list[Any] = [math.nan, math.inf, 0, -1, 5e-324, 1e308, "1e-400", "x", True]
    for scale in cases:
        with pytest.raises(ParameterError):
            Laplace(scale=scale, sensitivity=1)


def test_a_grid_is_used_and_paid_for() -> None:
    mechanism = Laplace(epsilon=1, sensitivity="0.75", grid="1/4")
    event: Any = mechanism.release(0.3).event
    assert (event.grid, event.sensitivity, event.scale) == (Fraction(1, 4), 4, 4)
    coarse: Any = Laplace(epsilon=1, sensitivity=1, grid=8).release([1, 2, 3]).event
    assert (coarse.grid, coarse.sensitivity) == (8, 3)


# --------------------------------------------------------------------------------------------------------- error bars


def check_intervals_cover_at_least_the_level_and_no_narrower_one_does(
    epsilon: str, sensitivity: int, level: float
) -> None:
    mechanism = Laplace(epsilon=epsilon, sensitivity=sensitivity)
    margin = mechanism.error(level)
    noise = oracle(mechanism.event)

    def covered(k: int) -> float:
        return 1 - 2 * float(noise.sf(k)) if k >= 0 else 0.0

    assert covered(margin) >= level - 1e-9
    assert covered(margin - 1) < level
    low, high = mechanism.release(5, source=Seeded(1)).confidence_interval(level)
    assert high - low == 2 * margin


def test_intervals_cover_at_least_the_level_and_no_narrower_one_does() -> None:
    cases: list[tuple[str, int]] = [*PARAMETERS, ("1e-4", 1), ("20", 1)]
    level_cases: list[float] = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-9]
    for (epsilon, sensitivity), level in product(cases, level_cases):
        check_intervals_cover_at_least_the_level_and_no_narrower_one_does(epsilon, sensitivity, level)


def test_published_values() -> None:
    # Ghosh, Roughgarden and Sundararajan 2009: P(0) = (1 - r) / (1 + r) with r = exp(-epsilon).
    masses = np.exp(Laplace(epsilon=1, sensitivity=1).log_masses(0, [0, 1, -1]))
    assert masses == pytest.approx([0.46211715726000976, 0.1700034015685, 0.1700034015685], rel=1e-10)
    # Warner's ln 3 in another dress: at epsilon = ln 3 half of the answers are the truth.
    assert np.exp(Laplace(epsilon=math.log(3), sensitivity=1).log_masses(4, [4]))[0] == pytest.approx(0.5)
