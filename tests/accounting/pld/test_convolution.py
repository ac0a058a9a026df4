"""Convolutions bound every upper tail of the exact composition, also far below the rounding of a transform."""

import itertools
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from celosia.accounting.pld.convolution import convolve
from celosia.accounting.pld.discretise import Cells

Exact = dict[int, float]


def cells_of(masses: list[float], first: int = -2, infinity: float = 0.0) -> Cells:
    array = np.array(masses)
    return Cells(interval=0.1, first=first, masses=array / array.sum() * (1 - infinity), infinity=infinity)


def enumerated(parts: list[tuple[Cells, int]]) -> Exact:
    """Every combination of outcomes, one by one."""
    steps = [cells for cells, times in parts for _ in range(times)]
    found: Exact = {}
    for combination in itertools.product(*(range(len(cells.masses)) for cells in steps)):
        place = sum(cells.first + index for cells, index in zip(steps, combination, strict=True))
        mass = math.prod(float(cells.masses[index]) for cells, index in zip(steps, combination, strict=True))
        found[place] = found.get(place, 0.0) + mass
    return found


def tails(cells: Cells, places: list[int]) -> np.ndarray:
    index = cells.first + np.arange(len(cells.masses))
    return np.array([cells.infinity + cells.masses[index >= place].sum() for place in places])


masses = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=3).filter(lambda some: sum(some) > 0.1)


@settings(deadline=None, max_examples=25)
@given(masses, masses, st.integers(1, 3), st.integers(1, 3), st.floats(0.0, 8.0), st.sampled_from([0.0, 0.01, 0.5]))
def test_every_upper_tail_bounds_the_enumerated_one(
    one: list[float], other: list[float], times: int, again: int, tilt: float, infinity: float
) -> None:
    parts = [(cells_of(one, infinity=infinity), times), (cells_of(other, first=0), again)]
    exact = enumerated(parts)
    places = sorted(exact)
    lost = 1 - (1 - infinity) ** times
    expected = np.array([lost + sum(mass for place, mass in exact.items() if place >= least) for least in places])
    found = tails(convolve(parts, tilt), places)
    assert np.all(found >= expected * (1 - 1e-14))
    assert found == pytest.approx(expected, abs=1e-7)


def test_coins_agree_with_the_binomial_distribution() -> None:
    for times, deviations in product((50, 1000, 20_000), (0.0, 3.5, 6.0)):
        chance = 0.525
        coin = Cells(interval=1.0, first=0, masses=np.array([1 - chance, chance]), infinity=0.0)
        spread = math.sqrt(times * chance * (1 - chance))
        found = convolve([(coin, times)], deviations / spread)
        places = [int(times * chance + z * spread) for z in (-1, 0, 1, 2, 3, 4, 5)]
        exact = stats.binom.sf(np.array(places) - 1, times, chance)
        ratio = tails(found, places) / exact
        assert np.all(ratio >= 1 - 1e-9)  # SciPy's own error
        if deviations == 3.5:
            assert np.all(ratio[1:] <= 1 + 1e-6)


def test_one_repetition_too_few_is_noticed() -> None:
    coin = Cells(interval=1.0, first=0, masses=np.array([0.5, 0.5]), infinity=0.0)
    exact = stats.binom.sf(59, 100, 0.5)
    assert tails(convolve([(coin, 99)], 0.5), [60])[0] < exact * 0.95


def test_without_a_tilt_the_bound_of_the_error_drowns_far_tails() -> None:
    coin = Cells(interval=1.0, first=0, masses=np.array([0.5, 0.5]), infinity=0.0)
    exact = stats.binom.sf(5399, 10_000, 0.5)  # eight deviations: 6e-16
    tilted, plain = (tails(convolve([(coin, 10_000)], tilt), [5400])[0] for tilt in (3.5 / 50, 0.0))
    assert exact <= tilted <= exact * 1.01
    assert plain > exact * 2


def test_the_whole_mass_is_one() -> None:
    found = convolve([(cells_of([0.2, 0.3, 0.5], infinity=1e-6), 500)], 0.4)
    assert found.masses.sum() + found.infinity == pytest.approx(1.0, abs=1e-12)
    assert found.infinity >= -math.expm1(500 * math.log1p(-1e-6))


def test_nothing_finite_stays_nothing_finite() -> None:
    lost = Cells(interval=0.1, first=0, masses=np.zeros(1), infinity=1.0)
    assert convolve([(lost, 3), (cells_of([0.5, 0.5]), 2)], 0.0).infinity == 1


def test_masses_that_a_tilt_makes_vanish_are_not_forgotten() -> None:
    # The lower outcome has 0.4 of the mass and, tilted, exp(-1000) of it.
    wide = Cells(interval=1.0, first=-1000, masses=np.append(np.append(0.4, np.zeros(1999)), 0.6), infinity=0.0)
    assert convolve([(wide, 1)], 1.0).masses.sum() == pytest.approx(1.0)
    assert tails(convolve([(wide, 2)], 1.0), [2000])[0] == pytest.approx(1.0)  # it moved up: looser, and sound


def test_many_kinds_keep_their_window_small() -> None:
    parts = [(cells_of([0.25 + 0.001 * k, 0.5, 0.25], first=-1), 100) for k in range(30)]
    found = convolve(parts, 0.3)
    assert len(found.masses) < 30 * 201
    variance = sum(100 * float(np.square([-1, 0, 1]) @ cells.masses) for cells, _ in parts)
    index = found.first + np.arange(len(found.masses))
    mean = float(index @ found.masses)
    assert float(np.square(index - mean) @ found.masses) == pytest.approx(variance, rel=0.01)


def test_losses_whose_factor_is_beyond_the_doubles_move_up() -> None:
    tilt_cases: list[float] = [0.5, 1.0, 5.0, 20.0]
    far_cases: list[int] = [100, 1_000, 5_000]
    for tilt in tilt_cases:
        for far in far_cases:
            masses = np.zeros(far + 1)
            masses[[0, far // 2, far]] = [0.25, 0.25, 0.5]
            whole = Cells(interval=1.0, first=-far // 2, masses=masses, infinity=0.0)
            found = convolve([(whole, 1)], tilt=tilt)
            assert np.isfinite(found.masses).all()
            for place in (-far // 2, 0, far // 2):
                exact = masses[place - whole.first :].sum()
                above = found.masses[max(0, place - found.first) :].sum() + found.infinity
                assert above >= exact * (1 - 1e-12)
