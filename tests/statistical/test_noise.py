"""A million draws of every sampler against exact probabilities, and against samplers that are a little wrong.

The seeds are fixed, so that the p-values are: each is above 1e-6 for the sampler and below it for its mutants.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import special, stats

from celosia.core import ConformanceError
from celosia.noise import (
    BoundedDiscreteLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Seeded,
    bernoulli,
    bernoulli_exp,
    bernoulli_logistic,
    categorical,
    cells,
    coins_exp,
    exponential_choice,
    flip,
    flip_exp,
    flip_logistic,
    permutation,
    permute_and_flip,
    subset,
    uniform_below,
)
from celosia.noise.cells import cells_for
from celosia.testing import check_distribution, chi_square

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Draws = NDArray[np.int64]
    Noise = DiscreteLaplace | DiscreteGaussian | Geometric

MILLION = 1_000_000
LEVEL = 1e-6


def gaussian(scale: Fraction) -> DiscreteGaussian:
    return DiscreteGaussian(scale**2)


def below(noise: Noise, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of all integers below each edge; for wide distributions, to 12 digits."""
    if isinstance(noise, DiscreteGaussian):
        # The sum of a wide Gaussian's weights is its integral, half a step further, to one part in sigma^2.
        return special.ndtr((edges - 0.5) / math.sqrt(noise.variance))
    scale = float(noise.scale)
    if isinstance(noise, Geometric):
        return -np.expm1(-np.maximum(edges, 0) / scale)
    ratio = math.exp(-1 / scale)
    left = np.exp(-(1 - np.minimum(edges, 0)) / scale) / (1 + ratio)
    return np.where(edges <= 0, left, 1 - np.exp(-np.maximum(edges, 0) / scale) / (1 + ratio))


def p_value(draws: Draws, noise: Noise) -> float:
    """Return the p-value of draws: number by number, or in bins of a wide distribution."""
    scale = math.sqrt(noise.variance) if isinstance(noise, DiscreteGaussian) else float(noise.scale)
    if scale <= 1000:
        try:
            return check_distribution(draws, noise.log_mass, failure=LEVEL)
        except ConformanceError:
            return 0.0
    edges = np.unique(np.rint(scale * np.linspace(-11, 11, 1500)))
    edges = edges[edges >= 0] if isinstance(noise, Geometric) else edges
    places = np.searchsorted(edges, draws, side="right") - 1  # a bin holds its left edge
    observed = np.bincount(places[(places >= 0) & (places < edges.size - 1)], minlength=edges.size - 1)
    return chi_square(observed, np.diff(below(noise, edges)), outside=int(draws.size - observed.sum()))


@pytest.mark.parametrize("kind", [DiscreteLaplace, gaussian, Geometric])
@pytest.mark.parametrize("scale", ["0.3", "1", "7/3", "10", "1000000", str(2**29), str(2**45)])
def test_a_million_draws_follow_the_distribution_and_mutants_do_not(
    kind: Callable[[Fraction], Noise], scale: str
) -> None:
    exact = Fraction(scale)
    noise = kind(exact)
    assert p_value(noise.sample(MILLION, Seeded(1)), noise) > LEVEL
    for wrong in (exact * Fraction(11, 10), exact / Fraction(11, 10)):  # larger mistakes are easier to find
        assert p_value(kind(wrong).sample(MILLION, Seeded(1)), noise) < LEVEL


@pytest.mark.parametrize("kind", [DiscreteLaplace, gaussian, Geometric])
@pytest.mark.parametrize("scale", ["0.3", "10", "1000000", str(2**45)])
@pytest.mark.sampled(2)
def test_single_draws_too(kind: Callable[[Fraction], Noise], scale: str) -> None:
    noise = kind(Fraction(scale))
    source = Seeded(2)
    draws = np.array([noise.draw(source) for _ in range(40_000)])
    assert p_value(draws, noise) > LEVEL


def test_draws_wider_than_a_machine_word() -> None:
    source, noise = Seeded(3), DiscreteLaplace(2**100)
    narrow = np.array([noise.draw(source) >> 60 for _ in range(40_000)])
    assert p_value(narrow, DiscreteLaplace(2**40)) > LEVEL
    assert p_value(narrow, DiscreteLaplace(2**40 * Fraction(11, 10))) < LEVEL


@pytest.mark.parametrize("kind", [DiscreteLaplace, gaussian, Geometric])
@pytest.mark.parametrize("scale", [10**6, 2**29, 2**40])
def test_low_bits_and_signs_are_even(kind: Callable[[Fraction], Noise], scale: int) -> None:
    draws = kind(Fraction(scale)).sample(MILLION, Seeded(4))
    for values in (draws, draws >> 3):
        assert chi_square(np.bincount(values % 256, minlength=256), np.full(256, 1 / 256)) > LEVEL
    if draws.min() < 0:
        assert chi_square([int((draws > 0).sum()), int((draws < 0).sum())], [0.5, 0.5]) > LEVEL
    assert chi_square(np.bincount(draws // 2 * 2 % 256, minlength=256), np.full(256, 1 / 256)) < LEVEL


def test_the_tail_follows_the_distribution(monkeypatch: pytest.MonkeyPatch, *, thorough: bool) -> None:
    # Cells end at a weight of exp(-9) instead of exp(-42), so that the tail is seen; its code is the same.
    monkeypatch.setattr(cells, "_MAX_EXPONENT", 9.0)
    tables = cells_for.__wrapped__(Fraction(1, 10), Fraction(0), signed=True)
    start, noise = tables.starts[-1], DiscreteLaplace(10)
    draws = tables.sample((4 if thorough else 2) * MILLION, Seeded(5))
    far = np.abs(draws[np.abs(draws) >= start]) - start
    assert far.size > (300 if thorough else 150)
    assert p_value(draws, noise) > LEVEL
    assert p_value(far, Geometric(10)) > LEVEL  # the tail of a geometric distribution is one
    assert p_value(draws[np.abs(draws) < start], noise) < LEVEL  # the mutant without a tail
    assert p_value(np.clip(draws, -start, start), noise) < LEVEL  # the mutant that ends there
    assert p_value(np.where(np.abs(draws) >= start, draws + np.sign(draws) * 8, draws), noise) < LEVEL


def test_successive_draws_are_independent(*, thorough: bool) -> None:
    for count in (2, 3, 100):  # also at the seams of samples
        source = Seeded(6)
        noise = DiscreteLaplace(1)
        draws = np.concatenate([noise.sample(count, source) for _ in range((60_000 if thorough else 24_000) // count)])
        pairs = np.clip(draws[:-1], -2, 2) * 5 + np.clip(draws[1:], -2, 2) + 12
        one = np.exp(noise.log_mass(np.arange(-2, 3)))
        one[[0, 4]] = (1 - one[1:4].sum()) / 2
        # Pairs overlap: every second one is independent of the others.
        assert chi_square(np.bincount(pairs[::2], minlength=25), np.outer(one, one).ravel()) > LEVEL
        assert chi_square(np.bincount(pairs[1::2], minlength=25), np.outer(one, one).ravel()) > LEVEL


# --------------------------------------------------------------------------------------------------------------- coins


def heads(shown: NDArray[np.bool_], probability: float) -> float:
    count = int(shown.sum())
    return chi_square([shown.size - count, count], [1 - probability, probability])


@pytest.mark.parametrize("p", ["1/3", "1/256", "255/256", "0.5", "0.001", "0.999", "1/257", "1e-5"])
def test_coins(p: str) -> None:
    probability = float(Fraction(p))
    assert heads(bernoulli(p, MILLION, Seeded(1)), probability) > LEVEL
    # The mutant: the rarer side comes once more in seventeen, or twice as often where it is very rare.
    factor = Fraction(18, 17) if min(probability, 1 - probability) > 0.1 else Fraction(2)
    wrong = Fraction(p) * factor if probability <= 0.5 else 1 - (1 - Fraction(p)) * factor
    assert heads(bernoulli(wrong, 10 * MILLION, Seeded(1)), probability) < LEVEL


@pytest.mark.parametrize("x", ["0.001", "0.3", "1", "2.5", "7"])
def test_exponential_coins(x: str) -> None:
    number = float(Fraction(x))
    assert heads(bernoulli_exp(x, MILLION, Seeded(2)), math.exp(-number)) > LEVEL
    assert heads(bernoulli_exp(Fraction(x) * Fraction(12, 10), MILLION, Seeded(2)), math.exp(-number)) < LEVEL


@pytest.mark.parametrize(("epsilon", "categories"), [("0.1", 2), ("1", 2), ("1", 10), ("3", 20)])
def test_coins_of_randomized_response(epsilon: str, categories: int) -> None:
    odds = math.exp(float(Fraction(epsilon)))
    shown = bernoulli_logistic(epsilon, MILLION, categories=categories, source=Seeded(3))
    assert heads(shown, odds / (odds + categories - 1)) > LEVEL
    assert heads(shown, odds / (odds + categories)) < LEVEL  # one category too many
    twice = bernoulli_logistic(Fraction(epsilon) * 2, MILLION, categories=categories, source=Seeded(3))
    assert heads(twice, odds / (odds + categories - 1)) < LEVEL


def test_single_coins(*, thorough: bool) -> None:
    source, third = Seeded(4), Fraction(1, 3)
    many, few = (50_000, 20_000) if thorough else (30_000, 10_000)
    assert heads(np.array([flip(third, source) for _ in range(many)]), 1 / 3) > LEVEL
    assert heads(np.array([flip_exp(1, source) for _ in range(few)]), math.exp(-1)) > LEVEL
    assert heads(np.array([flip_logistic(1, 3, source) for _ in range(few)]), math.e / (math.e + 2)) > LEVEL


def test_coins_with_gaps_of_their_own() -> None:
    gaps = np.tile(np.arange(5), 200_000)
    shown = coins_exp("1/2", gaps, Seeded(5)).reshape(-1, 5)
    doubled = coins_exp(1, gaps, Seeded(5)).reshape(-1, 5)
    assert shown[:, 0].all()
    for gap in range(1, 5):
        assert heads(shown[:, gap], math.exp(-gap / 2)) > LEVEL
        assert heads(doubled[:, gap], math.exp(-gap / 2)) < LEVEL


# ------------------------------------------------------------------------------------------------------------- choices


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 7, 100, 255, 256, 257, 511, 1000, 65_535, 65_537])
def test_whole_numbers_below_a_bound(bound: int) -> None:
    draws = uniform_below(bound, MILLION, Seeded(1))
    assert chi_square(np.bincount(draws, minlength=bound), np.full(bound, 1 / bound)) > LEVEL


@pytest.mark.parametrize("bound", [10**6, 2**25 + 1, 2**40, 3 * 2**61, 2**63])
def test_whole_numbers_below_a_large_bound(bound: int) -> None:
    draws = uniform_below(bound, MILLION, Seeded(2))
    assert stats.kstest(draws / bound, "uniform").pvalue > LEVEL
    assert chi_square(np.bincount(draws % 2, minlength=2), [0.5, 0.5]) > LEVEL


def test_a_remainder_without_rejection_would_be_seen() -> None:
    draws = Seeded(3).words(MILLION // 8).view(np.uint8) % np.uint8(100)
    assert chi_square(np.bincount(draws, minlength=100), np.full(100, 0.01)) < LEVEL


def test_categories() -> None:
    weights = np.array([1, 0, 3, 10, 250, 7])
    draws = categorical(weights, MILLION, Seeded(4))
    assert chi_square(np.bincount(draws, minlength=6), weights / weights.sum()) > LEVEL
    wrong = weights + np.array([0, 0, 0, 1, 0, 0])
    assert chi_square(np.bincount(draws, minlength=6), wrong / wrong.sum()) < LEVEL


def test_orders_of_four() -> None:
    source = Seeded(5)
    orders = {order: index for index, order in enumerate(itertools.permutations(range(4)))}
    count = 10_000
    seen = [orders[tuple(permutation(4, source).tolist())] for _ in range(count)]
    assert chi_square(np.bincount(seen, minlength=24), np.full(24, 1 / 24)) > LEVEL
    # The classical mistake: exchange every place with any place. Its 256 ways do not spread evenly over 24 orders.
    picks = uniform_below(4, 4 * count, source).reshape(-1, 4)
    rows = np.tile(np.arange(4), (count, 1))
    every = np.arange(count)
    for place in range(4):
        other = picks[:, place]
        rows[every, place], rows[every, other] = rows[every, other].copy(), rows[every, place].copy()
    wrong = np.bincount([orders[tuple(row)] for row in rows.tolist()], minlength=24)
    assert chi_square(wrong, np.full(24, 1 / 24)) < LEVEL


@pytest.mark.parametrize(("size", "chosen"), [(6, 2), (6, 3), (6, 4), (7, 1)])
def test_subsets(size: int, chosen: int, *, thorough: bool) -> None:
    source = Seeded(6)
    subsets = {each: index for index, each in enumerate(itertools.combinations(range(size), chosen))}
    seen = [subsets[tuple(subset(size, chosen, source).tolist())] for _ in range(10_000 if thorough else 4_000)]
    assert chi_square(np.bincount(seen, minlength=len(subsets)), np.full(len(subsets), 1 / len(subsets))) > LEVEL


def exponential_masses(rate: float, gaps: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    weights = counts * np.exp(-rate * gaps)
    return np.asarray(weights / weights.sum())


def test_exponential_choices() -> None:
    source, half = Seeded(7), Fraction(1, 2)
    gaps, counts = np.array([3, 0, 2, 9, 1]), np.array([5, 1, 0, 40, 2])
    ones = np.ones(5, dtype=np.int64)
    plain = np.bincount([exponential_choice(half, gaps, source=source) for _ in range(4_000)], minlength=5)
    several = np.bincount(
        [exponential_choice(half, gaps, multiplicities=counts, source=source) for _ in range(3_000)], minlength=5
    )
    assert chi_square(plain, exponential_masses(0.5, gaps, ones)) > LEVEL
    assert chi_square(several, exponential_masses(0.5, gaps, counts)) > LEVEL
    assert chi_square(plain, exponential_masses(1.0, gaps, ones)) < LEVEL  # a missing factor of two
    assert chi_square(several, exponential_masses(0.5, gaps, ones)) < LEVEL


def test_an_exponential_rate_ten_per_cent_off_would_show() -> None:
    # One candidate against 148 ten steps away has about an even chance, and a small change of the rate moves it most.
    source, half = Seeded(7), Fraction(1, 2)
    gaps = np.array([0] + [10] * 148)
    best = sum(exponential_choice(half, gaps, source=source) == 0 for _ in range(3_000))

    def p_value(rate: float) -> float:
        chance = 1 / (1 + 148 * math.exp(-10 * rate))
        return chi_square([best, 3_000 - best], [chance, 1 - chance])

    assert p_value(0.5) > LEVEL
    assert p_value(0.5 * 1.1) < LEVEL
    assert p_value(0.5 / 1.1) < LEVEL


def permute_and_flip_masses(rate: float, gaps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Go through all orders, as McKenna and Sheldon 2020 state the mechanism: the first head of the order wins."""
    chances = np.exp(-rate * gaps)
    masses = np.zeros(gaps.size)
    for order in itertools.permutations(range(gaps.size)):
        still = 1.0
        for candidate in order:
            masses[candidate] += still * chances[candidate]
            still *= 1 - chances[candidate]
    return masses / math.factorial(gaps.size)


def test_permute_and_flip() -> None:
    source, half = Seeded(8), Fraction(1, 2)
    gaps = np.array([3, 0, 1, 0, 5])
    seen = np.bincount([permute_and_flip(half, gaps, source=source) for _ in range(10_000)], minlength=5)
    exact = permute_and_flip_masses(0.5, gaps)
    assert exact.sum() == pytest.approx(1)
    assert chi_square(seen, exact) > LEVEL
    assert chi_square(seen, permute_and_flip_masses(1.0, gaps)) < LEVEL
    assert chi_square(seen, exponential_masses(0.5, gaps, np.ones(5, dtype=np.int64))) < LEVEL


@pytest.mark.parametrize("place", [0, 20, 60])
def test_noise_that_stays_on_an_interval(place: int) -> None:
    noise, values = BoundedDiscreteLaplace(11, 60), np.arange(61)
    counts = np.bincount(noise.sample(np.full(MILLION, place), Seeded(21)), minlength=61)
    weights = np.exp(-np.abs(values - place) / 11)
    assert chi_square(counts, weights / weights.sum()) > LEVEL
    # One part in fifty of the scale, or noise that is clamped instead, would be seen.
    wider = np.exp(-np.abs(values - place) / 11.22)
    assert chi_square(counts, wider / wider.sum()) < LEVEL
    clamped = np.bincount(np.clip(place + DiscreteLaplace(11).sample(MILLION, Seeded(21)), 0, 60), minlength=61)
    assert chi_square(clamped, weights / weights.sum()) < LEVEL
