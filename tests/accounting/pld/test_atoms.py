"""The pairs of the mechanisms, against Google's privacy losses, closed forms and noise summed by brute force."""

import itertools
import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism
from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting.pld.atoms import (
    approximate,
    bounded_range,
    coins,
    discrete_gaussian,
    discrete_laplace,
    randomized_response,
)
from celosia.accounting.pld.loss_atoms import Atoms
from celosia.accounting.prices.gaussian import discrete_gaussian_delta
from celosia.core import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

EPSILONS = np.concatenate([np.linspace(-2, 2, 41), [-30.0, 3.3, 8.0, 30.0]])
ORDERS = np.array([1.01, 1.5, 2.0, 8.0, 100.0, 1e4])


# ----------------------------------------------------------------------------------------------------------- responses


def test_randomized_response_has_the_textbook_divergence() -> None:
    for categories, epsilon in product((2, 3, 17), (0.01, 1.0, 6.0)):
        truth = math.exp(epsilon) / (math.exp(epsilon) + categories - 1)
        lie = (1 - truth) / (categories - 1)
        orders = ORDERS[ORDERS < 200]
        powers = truth**orders * lie ** (1 - orders) + lie**orders * truth ** (1 - orders) + (categories - 2) * lie
        expected = np.log(powers) / (orders - 1)
        assert randomized_response(epsilon, categories).renyi(orders) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@given(st.fractions(0, 1), st.fractions(0, 1))
def test_coins_cover_both_orders(yes: Fraction, no: Fraction) -> None:
    pair = coins(yes, no)
    p, q = (np.array([float(chance), float(1 - chance)]) for chance in (yes, no))
    for epsilon, height in zip(EPSILONS, pair.profile(EPSILONS), strict=True):
        both = [np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p))]
        assert height == pytest.approx(max(both), rel=1e-9, abs=1e-12)


def test_equal_coins_tell_nothing() -> None:
    assert coins(0.3, 0.3).profile([0.0]).tolist() == [0.0]
    assert coins(1.0, 1.0).renyi([2.0]).tolist() == [0.0]


def test_the_approximate_pair_is_tight() -> None:
    for epsilon, delta in ((1.0, 1e-5), (0.0, 0.2), (3.0, 0.0), (1.0, 1.0)):
        pair = approximate(epsilon, delta)
        height = pair.profile([epsilon * (1 + 1e-12), epsilon + 5])
        assert height == pytest.approx(delta, rel=1e-11, abs=1e-12)
        expected = delta + (1 - delta) * math.tanh(epsilon / 2)  # total variation
        assert pair.profile([0.0]) == pytest.approx(expected, rel=1e-11)


# -------------------------------------------------------------------------------------------------------- bounded range


def test_bounded_range_is_above_every_two_point_pair_and_close() -> None:
    for epsilon in (1e-3, 0.5, 2.0, 10.0):
        pair = bounded_range(epsilon)
        grid = np.linspace(-epsilon, epsilon, 101)
        exact = (1 - np.exp((grid - epsilon) / 2)) ** 2 / -math.expm1(-epsilon)
        height = pair.profile(grid)
        assert np.all(height >= exact * (1 - 1e-9))
        assert height == pytest.approx(exact, rel=2e-3, abs=2e-6)
        for top in np.linspace(0.01, 0.99, 9) * epsilon:  # losses top and top - epsilon: Dong, Durfee and Rogers 2020
            chance = -math.expm1(top - epsilon) / -math.expm1(-epsilon)
            two = Atoms(losses=np.array([top - epsilon, top]), masses=np.array([1 - chance, chance]))
            assert np.all(two.profile(grid) <= height * (1 + 1e-9))


def test_bounded_range_is_an_eighth_of_the_square_in_concentrated_privacy() -> None:
    # Cesar and Rogers 2021: the exponential mechanism is epsilon^2 / 8 zCDP; the pair for all losses at once is above.
    assert bounded_range(0.1).renyi([2.0])[0] == pytest.approx(2 * 0.01 / 6, rel=1e-2)
    assert bounded_range(0.1).renyi([2.0])[0] > 2 * 0.01 / 8


# -------------------------------------------------------------------------------------------------------------- Laplace


def test_google_finds_the_same_delta_of_laplace_noise() -> None:
    scale_cases: list[float] = [0.3, 2.0, 40.0]
    shift_cases: list[int] = [1, 2, 7]
    share_cases: list[float] = [1.0, 0.2]
    direction_cases: list[int] = [0, 1]
    for scale in scale_cases:
        for shift in shift_cases:
            for share in share_cases:
                for direction in direction_cases:
                    theirs = privacy_loss_mechanism.DiscreteLaplacePrivacyLoss(
                        1 / scale,
                        sensitivity=shift,
                        sampling_prob=share,
                        adjacency_type=(AdjacencyType.REMOVE, AdjacencyType.ADD)[direction],
                    )
                    ours = discrete_laplace(scale, shift).poisson(share)[direction]
                    expected = [theirs.get_delta_for_epsilon(epsilon) for epsilon in EPSILONS]
                    assert ours.profile(EPSILONS) == pytest.approx(np.array(expected), rel=1e-9, abs=1e-12)


def test_fine_grids_approach_the_continuous_laplace_divergence() -> None:
    for rate in (0.1, 1.0, 5.0):
        continuous = np.logaddexp(
            np.log(ORDERS / (2 * ORDERS - 1)) + (ORDERS - 1) * rate,
            np.log((ORDERS - 1) / (2 * ORDERS - 1)) - ORDERS * rate,
        ) / (ORDERS - 1)  # Mironov 2017, proposition 6
        for steps in (4_000, 1_000_000, 10**12):
            ours = discrete_laplace(steps / rate, steps).renyi(ORDERS)
            assert np.all(ours >= continuous * (1 - 1e-9))
            assert ours == pytest.approx(continuous, rel=1e-3 if steps < 10**6 else 2e-6)


def test_one_step_is_randomized_response() -> None:
    ours, theirs = discrete_laplace(10.0, 1), randomized_response(0.1)
    assert ours.renyi(ORDERS) == pytest.approx(theirs.renyi(ORDERS), rel=1e-11)


@pytest.mark.parametrize("rate", [0.05, 1.0, 30.0])
def test_cells_dominate_single_losses(rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for shift in (5, 50, 1000):
        single = discrete_laplace(shift / rate, shift)
        monkeypatch.setattr("celosia.accounting.pld.atoms._MAX_LOSSES", 7)
        cells = discrete_laplace(shift / rate, shift)
        monkeypatch.undo()
        assert cells.losses.size <= 8
        grid = np.linspace(-rate, rate, 200)
        assert np.all(cells.profile(grid) >= single.profile(grid) * (1 - 1e-11))
        assert np.all(cells.renyi(ORDERS) >= single.renyi(ORDERS) * (1 - 1e-10))
        assert cells.profile(cells.losses) == pytest.approx(single.profile(cells.losses), rel=1e-6, abs=1e-12)


def split_heights(scale: float, shifts: tuple[int, ...], epsilons: "np.typing.NDArray[np.float64]") -> list[float]:
    """The hockey-stick divergences of several coordinates, from the products of their losses."""
    pairs = [discrete_laplace(scale, shift) for shift in shifts]
    losses = np.array([sum(parts) for parts in itertools.product(*(pair.losses for pair in pairs))])
    masses = np.array([math.prod(parts) for parts in itertools.product(*(pair.masses for pair in pairs))])
    return [float((masses * np.maximum(-np.expm1(epsilon - losses), 0)).sum()) for epsilon in epsilons]


def test_one_coordinate_with_the_whole_shift_is_the_worst() -> None:
    scale_cases: list[float] = [0.4, 1.0, 5.0, 60.0]
    shifts_cases: list[tuple[int, ...]] = [(1, 1), (2, 1), (3, 3), (5, 1), (1, 1, 1), (2, 2, 1), (1, 1, 1, 1)]
    for scale in scale_cases:
        for shifts in shifts_cases:
            whole = discrete_laplace(scale, sum(shifts))
            top = sum(shifts) / scale
            epsilons = np.linspace(-top, top, 160)
            split = np.array(split_heights(scale, shifts, epsilons))
            assert np.all(split <= whole.profile(epsilons) * (1 + 1e-9) + 1e-12)
            assert np.max(whole.profile(epsilons) - split) > 1e-6  # and it is not the same


def check_the_steps_of_the_proof_about_coordinates(first: int, second: int) -> None:
    # Laurent polynomials in E, a shift of the loss by 1 / scale, as arrays around the middle.
    r, size = 0.6, 12

    def u(n: int) -> "np.typing.NDArray[np.float64]":
        out = np.zeros(2 * size + 1)
        out[[size + k for k in range(-(n - 1), n, 2)]] = 1.0
        return out

    def nu(n: int) -> "np.typing.NDArray[np.float64]":
        return (u(n + 1) - r * u(n - 1)) / (1 + r)

    def times(
        a: "np.typing.NDArray[np.float64]", b: "np.typing.NDArray[np.float64]"
    ) -> "np.typing.NDArray[np.float64]":
        return np.convolve(a, b)[size : 3 * size + 1]

    operator = np.zeros(2 * size + 1)
    operator[[size - 2, size, size + 2]] = r, -(1 + r * r), r
    difference = nu(first + second) - times(nu(first), nu(second))
    expected = times(operator, times(u(first), u(second))) / (1 + r) ** 2
    assert difference == pytest.approx(expected, abs=1e-14)
    # nu_n, times r^(n/2), is the distribution of the losses, tilted by e^(-loss/2).
    pair = discrete_laplace(-1 / math.log(r), first)
    tilted = pair.masses * np.exp(-pair.losses / 2)
    assert tilted == pytest.approx((nu(first) * r ** (first / 2))[size - first : size + first + 1 : 2], rel=1e-12)


def test_the_steps_of_the_proof_about_coordinates() -> None:
    for first, second in ((1, 1), (2, 1), (4, 3)):
        check_the_steps_of_the_proof_about_coordinates(first, second)


# ------------------------------------------------------------------------------------------------------------- Gaussian


def test_the_gaussian_pair_has_the_profile_that_is_summed_elsewhere() -> None:
    variance_cases: list[float] = [0.04, 0.3, 1.0, 17.9, 1e4]
    shift_cases: list[int] = [1, 2, 5]
    for variance in variance_cases:
        for shift in shift_cases:
            pair = discrete_gaussian(variance, shift)
            epsilons = [0.01, 0.5, 1.0, 4.0, 20.0]
            expected = [discrete_gaussian_delta(variance, shift, epsilon) for epsilon in epsilons]
            assert pair.profile(epsilons) == pytest.approx(expected, rel=1e-8, abs=1e-290)


def test_google_finds_the_same_delta_of_sampled_gaussian_noise() -> None:
    for direction in (0, 1):
        theirs = privacy_loss_mechanism.DiscreteGaussianPrivacyLoss(
            2.0, sensitivity=3, sampling_prob=0.3, adjacency_type=(AdjacencyType.REMOVE, AdjacencyType.ADD)[direction]
        )
        ours = discrete_gaussian(4.0, 3).poisson(0.3)[direction]
        epsilons = np.linspace(-0.3, 1.5, 19)
        expected = np.array([theirs.get_delta_for_epsilon(epsilon) for epsilon in epsilons])
        assert ours.profile(epsilons) == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_gaussian_tails_are_at_infinity() -> None:
    assert np.all(np.isinf(discrete_gaussian(1.0, 1).renyi([2.0])))
    assert discrete_gaussian(1.0, 1000).profile([100.0]).tolist() == [1.0]


# ------------------------------------------------------------------------------------------------------------ bad input


def test_epsilon_is_named() -> None:
    cases: list[Any] = [-1.0, math.nan, math.inf, True, "1"]
    for epsilon in cases:
        for family in (randomized_response, bounded_range):
            with pytest.raises(ParameterError, match="epsilon must be"):
                family(epsilon)


def test_bad_arguments_are_named() -> None:
    cases: list[tuple[Callable[..., Atoms], tuple[float, ...], str]] = [
        (randomized_response, (1.0, 1), "categories"),
        (approximate, (1.0, 1.5), "delta"),
        (approximate, (1.0, math.nan), "delta"),
        (coins, (0.5, 1.5), "coins"),
        (coins, (True, 0.5), "coins"),
        (discrete_laplace, (0.0, 1), "scale"),
        (discrete_laplace, (1.0, -1), "shift"),
        (discrete_gaussian, (math.nan, 1), "variance"),
        (discrete_gaussian, (1e7, 1), "variance"),
        (discrete_gaussian, (1.0, 1.5), "shift"),
    ]
    for family, arguments, name in cases:
        with pytest.raises(ParameterError, match=name):
            family(*arguments)


def test_no_shift_no_loss() -> None:
    for pair in (discrete_laplace(1.0, 0), discrete_gaussian(1.0, 0), randomized_response(0.0), bounded_range(0)):
        assert pair.profile([0.0]).tolist() == [0.0]
        assert pair.renyi([2.0]).tolist() == [0.0]


def test_a_mutant_scale_is_caught() -> None:
    wrong = discrete_laplace(2.2, 3)
    right = np.array(split_heights(2.0, (3,), EPSILONS))
    assert np.any(wrong.profile(EPSILONS) < right - 1e-3)
