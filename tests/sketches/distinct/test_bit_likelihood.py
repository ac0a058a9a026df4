"""The likeliest number of values: the maximum that SciPy finds, and right on average, flipped or not."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from celosia.sketches.distinct.bit_likelihood import BitLikelihood
from tests.sketches.streams_of_values import believable

CHANCES = np.exp2(-np.arange(1.0, 25)) / 64


def drawn(values: int, rng: np.random.Generator, if_set: float = 1.0, if_clear: float = 0.0) -> BitLikelihood:
    """What 64 bitmaps of 24 levels read after so many values."""
    table = rng.random((64, CHANCES.size)) < -np.expm1(-values * CHANCES)
    reads = np.where(table, rng.random(table.shape) < if_set, rng.random(table.shape) < if_clear)
    return BitLikelihood(ones=reads.sum(axis=0), bits=64, chances=CHANCES, if_set=if_set, if_clear=if_clear)


@given(st.integers(0, 2**32), st.integers(0, 10**6), st.sampled_from([(1.0, 0.0), (0.88, 0.12), (0.5, 0.1)]))
@settings(max_examples=40)
def test_no_number_is_likelier(seed: int, values: int, coins: tuple[float, float]) -> None:
    bits = drawn(values, np.random.default_rng(seed), *coins)
    top = bits.maximum()
    best = float(bits.log(np.array([top]))[0])
    around = math.log(values + 1)
    with np.errstate(all="ignore"):  # far away the likelihood is 0
        found = optimize.minimize_scalar(
            lambda x: -float(bits.log(np.array([math.exp(x)]))[0]), bounds=(around - 3, around + 3), method="bounded"
        )
    assert best >= -found.fun - 1e-7 * abs(found.fun)
    low, high = bits.within(2.0)
    assert low <= top <= high
    if low > 0:
        assert float(bits.log(np.array([low]))[0]) == pytest.approx(best - 2, abs=1e-5)
    if high < math.inf:
        assert float(bits.log(np.array([high]))[0]) == pytest.approx(best - 2, abs=1e-5)


@pytest.mark.parametrize("coins", [(1.0, 0.0), (0.88, 0.12), (0.5, 0.05)])
def test_it_is_right_on_average_and_covers(coins: tuple[float, float], *, thorough: bool) -> None:
    rng, values, trials = np.random.default_rng(5), 5_000, 150 if thorough else 75
    errors, outside = np.empty(trials), 0
    for trial in range(trials):
        bits = drawn(values, rng, *coins)
        errors[trial] = bits.maximum() / values - 1
        low, high = bits.within(1.920729)  # half of the 95th percentile of chi-square with one degree of freedom
        outside += not low <= values <= high
    deviation = 0.65 / 8 if coins == (1.0, 0.0) else float(errors.std())
    assert believable(errors, deviation, bias=0.02)
    assert outside / trials < 0.05 + 4 * math.sqrt(0.05 * 0.95 / trials)


def test_nothing_and_everything() -> None:
    nothing = BitLikelihood(ones=np.zeros(24, dtype=np.int64), bits=64, chances=CHANCES)
    assert nothing.maximum() == 0
    assert nothing.within(2.0)[0] == 0
    everything = BitLikelihood(ones=np.full(24, 64), bits=64, chances=CHANCES)
    assert everything.maximum() > 2**32
    assert everything.within(2.0)[1] == math.inf
