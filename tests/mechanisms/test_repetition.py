"""The number of runs of a search: its law, by chi-square against the definition, and what is refused."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from celosia.core import LaplaceEvent, ParameterError
from celosia.mechanisms.repetition import Repetitions, coin_split, one_of
from celosia.noise import Seeded

_DRAWS = 1_500


def law(search: Repetitions, most: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return P(K = k) for k from 0 to ``most``, from the definition (Papernot and Steinke 2022, definition 1)."""
    runs = np.arange(most + 1)
    if search.gamma is None:
        return np.asarray(stats.poisson.pmf(runs, float(search.mean)))
    eta, gamma = float(search.eta), float(search.gamma)
    logs = runs[1:] * math.log(1 - gamma)
    if eta == 0:
        return np.append(0.0, np.exp(logs) / (runs[1:] * -math.log(gamma)))
    product = np.cumprod((runs[1:] - 1 + eta) / runs[1:])
    return np.append(0.0, np.exp(logs) * product / (gamma**-eta - 1))


def p_value(search: Repetitions, drawn: list[int]) -> float:
    most = max(drawn) + 200
    masses = law(search, most)
    counts = np.bincount(drawn, minlength=most + 1).astype(np.float64)
    expected = masses * len(drawn)
    # Cells of at least eight expected draws, the rest together.
    edges, total = [0], 0.0
    for place, value in enumerate(expected):
        total += value
        if total >= 8 and expected[place + 1 :].sum() >= 8:
            edges.append(place + 1)
            total = 0.0
    seen, thought = np.add.reduceat(counts, edges), np.add.reduceat(expected, edges)
    return float(stats.chisquare(seen, thought * seen.sum() / thought.sum()).pvalue)


SEARCHES = [
    Repetitions(mean=10),
    Repetitions(mean=5, eta=0),
    Repetitions(mean=4, eta="-1/2"),
    Repetitions(mean=4, eta="1/2"),
    Repetitions(mean=6, eta=3),
    Repetitions(mean=6, eta="5/2"),
    Repetitions(mean="1.4", eta=4),
    Repetitions(mean="0.4", distribution="poisson"),
    Repetitions(mean=1, distribution="poisson"),
    Repetitions(mean="7.3", distribution="poisson"),
]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.sampled(3)
def test_runs_follow_the_law_that_is_priced(search: Repetitions) -> None:
    source = Seeded(11)
    drawn = [search.draw(source) for _ in range(_DRAWS)]
    assert p_value(search, drawn) > 1e-3
    assert np.mean(drawn) == pytest.approx(float(search.mean), abs=6 * float(np.std(drawn)) / math.sqrt(_DRAWS))


def test_another_law_is_told_apart() -> None:
    source = Seeded(12)
    drawn = [Repetitions(mean=6, eta=3).draw(source) for _ in range(_DRAWS)]
    assert p_value(Repetitions(mean=6, eta=2), drawn) < 1e-3
    assert p_value(Repetitions(mean="7.2", eta=3), drawn) < 1e-3


@settings(max_examples=30, deadline=None)
@given(st.fractions("1.5", 50, max_denominator=100), st.sampled_from([Fraction(-1, 2), Fraction(0), Fraction(5, 2)]))
def test_gamma_has_the_mean(mean: Fraction, eta: Fraction) -> None:
    search = Repetitions(mean=mean, eta=eta)
    masses = law(search, 5_000)
    if masses[-1] < 1e-12:
        assert masses @ np.arange(masses.size) == pytest.approx(float(mean), rel=1e-6)


def test_the_event_holds_the_law() -> None:
    base = LaplaceEvent(scale=1, sensitivity=1)
    event = Repetitions(mean=4).event(base)
    assert event.event == base
    assert (event.eta, event.gamma) == (Fraction(1), Fraction(1, 4))
    assert Repetitions(mean=4, distribution="poisson").event(base).mean == 4


def test_candidates_and_coins_are_uniform() -> None:
    source = Seeded(3)
    seen = np.bincount([one_of(5, source) for _ in range(2_000)], minlength=5)
    assert stats.chisquare(seen).pvalue > 1e-3
    coins = coin_split("0.3", 20_000, source)
    assert stats.binomtest(int(coins.sum()), coins.size, 0.3).pvalue > 1e-3


def test_what_is_no_law_is_refused() -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("mean", {"mean": 1}),
        ("mean", {"mean": 0}),
        ("mean", {"mean": math.nan}),
        ("mean", {"mean": True}),
        ("mean", {"mean": 10**6}),
        ("mean", {"mean": 5_000, "eta": "-0.999"}),
        ("eta", {"eta": -1}),
        ("eta", {"eta": 10**6}),
        ("eta", {"eta": None}),
        ("distribution", {"distribution": "fixed"}),
    ]
    for name, changes in cases:
        plain: dict[str, Any] = {"mean": 10}
        with pytest.raises(ParameterError, match=name):
            Repetitions(**(plain | changes))
        with pytest.raises(ParameterError):
            coin_split("1.5", 10)
        with pytest.raises(ParameterError):
            one_of(0)


def test_a_mean_of_hardly_more_than_one_run_is_drawn_at_once() -> None:
    cases: list[float] = [-1 / 2, 0, 1, 2, 1000]
    for eta in cases:
        search = Repetitions(mean="1.000000001", eta=eta)
        assert [search.draw(Seeded(seed)) for seed in range(3)] == [1, 1, 1]
