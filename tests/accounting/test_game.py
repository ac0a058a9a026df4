"""The decision game: its bounds by derivation, and played against the mechanisms.

The notes that the game comes from print the posterior as 1 / (1 + Pr(R|D) / Pr(R|D)'); the quotient must be the other
way round, Pr(R|D') / Pr(R|D). Their bounds, 1 / (1 + e^epsilon) and 1 / (1 + e^-epsilon), are right.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from celosia.accounting.game import Game, game
from celosia.accounting.prices import closed_forms
from celosia.accounting.prices.trade_off import gaussian_profile
from celosia.core import GuaranteeMismatchError, ParameterError
from celosia.mechanisms import Gaussian, Laplace, RandomizedResponse
from celosia.noise import DiscreteGaussian, DiscreteLaplace, Seeded

ROUNDS = 200_000
ERRORS = np.linspace(0, 1, 21)


@dataclass
class Composed:
    """Something like an accountant, of Gaussian privacy."""

    mu: float

    def delta(self, epsilon: float) -> float:
        return float(gaussian_profile(self.mu, [epsilon])[0])


def renyi(mu: float) -> RenyiDP:
    orders = [1.01, 1.1, 1.5, *range(2, 65), 128, 512]
    return RenyiDP(orders=orders, epsilons=[order * mu * mu / 2 for order in orders])


ALL = [
    PureDP(epsilon=1),
    PureDP(epsilon=0),
    ApproxDP(epsilon=1, delta="1e-3"),
    ZCDP(rho="0.5"),
    ZCDP(rho=0),
    renyi(1.0),
    GaussianDP(mu=1),
    Composed(1.0),
]


def test_the_posterior_of_the_notes() -> None:
    low, high = game(PureDP(epsilon=2)).posterior()
    assert low == pytest.approx(1 / (1 + math.exp(2)), rel=1e-12)
    assert high == pytest.approx(1 / (1 + math.exp(-2)), rel=1e-12)
    assert low <= 1 / (1 + math.exp(2))
    assert high >= 1 / (1 + math.exp(-2))


@given(st.floats(1e-9, 700), st.floats(1e-9, 1 - 1e-9))
def test_the_posterior_moves_the_odds_by_the_factor(epsilon: float, prior: float) -> None:
    low, high = game(PureDP(epsilon=epsilon)).posterior(prior)
    assert low <= prior <= high
    odds = math.log(prior) - math.log1p(-prior)
    assert math.log(low) - math.log1p(-low) == pytest.approx(odds - epsilon, rel=1e-6, abs=1e-6)
    mirrored = game(PureDP(epsilon=epsilon)).posterior(1 - prior)
    assert mirrored == pytest.approx((1 - high, 1 - low), rel=1e-6, abs=1e-12)


def test_who_is_certain_stays_so() -> None:
    certain = game(PureDP(epsilon=60_000))
    assert certain.posterior(0) == (0, 0)
    assert certain.posterior(1) == pytest.approx((1, 1))
    assert certain.posterior("0.3") == (0, 1)


def test_only_pure_privacy_bounds_beliefs() -> None:
    cases: list[object] = [g for g in ALL if not isinstance(g, PureDP)]
    for guarantee in cases:
        with pytest.raises(GuaranteeMismatchError, match=r"success and trade_off"):
            game(guarantee).posterior()


def test_success_in_closed_form() -> None:
    e = math.e
    assert game(PureDP(epsilon=1)).success == pytest.approx(e / (1 + e), rel=1e-11)
    assert game(ApproxDP(epsilon=1, delta="0.01")).success == pytest.approx((e + 0.01) / (1 + e), rel=1e-11)
    assert game(GaussianDP(mu=3)).success == pytest.approx(stats.norm.cdf(1.5), rel=1e-11)
    assert game(PureDP(epsilon=0)).success == pytest.approx(0.5, rel=1e-14)
    assert game(ApproxDP(epsilon=0, delta=1)).success == 1
    assert game(PureDP(epsilon="1e-9")).advantage == pytest.approx(5e-10, rel=1e-11)


def test_all_kinds_agree_on_gaussian_noise() -> None:
    exact = game(GaussianDP(mu="0.1"))
    composed, concentrated, curve = game(Composed(0.1)), game(ZCDP(rho="0.005")), game(renyi(0.1))
    assert composed.success == pytest.approx(exact.success, rel=1e-9)
    # Pinsker's inequality is all that zCDP and Rényi privacy have here: sqrt(rho / 2) against 2 Phi(0.05) - 1.
    assert exact.advantage < concentrated.advantage <= 0.05 * (1 + 1e-9)
    assert exact.advantage < curve.advantage <= 0.0503
    for other in (composed, concentrated, curve):
        assert (other.trade_off(ERRORS) <= exact.trade_off(ERRORS) + 1e-12).all()
    assert composed.trade_off(ERRORS) == pytest.approx(exact.trade_off(ERRORS), abs=1e-3)


def test_the_parts_of_a_game_agree() -> None:
    for guarantee in ALL:
        played = game(guarantee)
        success, advantage = played.success, played.advantage
        assert 0.5 <= success <= 1
        assert advantage == pytest.approx(2 * success - 1, abs=1e-11)
        misses = played.trade_off(ERRORS)
        assert (np.diff(misses) <= 1e-12).all()
        assert (misses <= 1 - ERRORS + 1e-12).all()
        # The best guess makes the two errors together as small as they can be.
        fine = np.linspace(0, 1, 1001)
        assert (fine + played.trade_off(fine)).min() == pytest.approx(1 - advantage, abs=2e-3)
        false_alarms, curve = played.curve(21)
        assert false_alarms == pytest.approx(ERRORS)
        assert curve == pytest.approx(misses)


@given(st.floats(0.01, 5), st.floats(0, 0.5))
def test_total_variation_of_the_worst_pair(epsilon: float, delta: float) -> None:
    """Kairouz, Oh and Viswanath 2015: with delta all is revealed, else randomized response."""
    delta = max(delta, 1e-200)
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    p = np.array([delta, (1 - delta) * truth, (1 - delta) * (1 - truth), 0])
    assert game(ApproxDP(epsilon=epsilon, delta=delta)).advantage == pytest.approx(abs(p - p[::-1]).sum() / 2, rel=1e-9)


def wins(bits: np.ndarray, guesses: np.ndarray) -> int:
    return int(np.sum(bits == guesses))


def assert_within(won: int, success: float) -> None:
    assert stats.binom.sf(won - 1, ROUNDS, min(success, 1.0)) > 1e-6


def assert_reached(won: int, success: float) -> None:
    assert stats.binom.cdf(won, ROUNDS, success) > 1e-6


@pytest.fixture
def bits() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, ROUNDS).astype(bool)


def test_played_against_randomized_response(bits: np.ndarray) -> None:
    mechanism = RandomizedResponse(epsilon="0.5")
    answers = mechanism.release(bits, source=Seeded(3)).value
    won = wins(bits, answers)  # the answer is the best guess
    success = game(mechanism.guarantee).success
    assert_within(won, success)
    assert_reached(won, success)
    with pytest.raises(AssertionError):  # a guarantee that is a tenth too good
        assert_within(won, game(PureDP(epsilon="0.45")).success)


@pytest.mark.parametrize("sensitivity", [1, 5])
def test_played_against_laplace_noise(bits: np.ndarray, sensitivity: int) -> None:
    mechanism = Laplace(epsilon="0.5", sensitivity=sensitivity)
    noise = DiscreteLaplace(mechanism.event.scale)
    outputs = noise.sample(ROUNDS, Seeded(4)) + bits * sensitivity
    guesses = noise.log_mass(outputs - sensitivity) > noise.log_mass(outputs)
    won = wins(bits, guesses)
    success = game(mechanism.guarantee).success
    assert_within(won, success)
    if sensitivity == 1:  # then the noise is randomized response
        assert_reached(won, success)


@pytest.mark.parametrize("kind", ["approximate", "concentrated"])
def test_played_against_gaussian_noise(bits: np.ndarray, kind: str) -> None:
    if kind == "approximate":
        mechanism = Gaussian(epsilon=1, delta="1e-3", sensitivity=1)
    else:
        mechanism = Gaussian(rho="0.1", sensitivity=1)
    noise = DiscreteGaussian(mechanism.event.variance)
    outputs = noise.sample(ROUNDS, Seeded(5)) + bits
    won = wins(bits, noise.log_mass(outputs - 1) > noise.log_mass(outputs))
    assert_within(won, game(mechanism.guarantee).success)
    assert_within(won, game(GaussianDP(mu=1.01 / mechanism.sigma)).success)
    assert_reached(won, game(GaussianDP(mu=0.95 / mechanism.sigma)).success)


def test_a_curve_of_pure_privacy_is_weaker_than_pure_privacy() -> None:
    orders = np.array([1.5, 2, 4, 8, 16, 64, 1024])
    curve = RenyiDP(orders=orders.tolist(), epsilons=closed_forms.pure(1, orders).tolist())
    assert game(PureDP(epsilon=1)).success <= game(curve).success <= 0.81


def test_an_order_that_is_no_double_keeps_its_bound() -> None:
    near = RenyiDP(orders=["1.0000000000000000000001"], epsilons=["0.02"])
    assert game(near).advantage == pytest.approx(0.1, rel=1e-9)


def test_bad_input() -> None:
    for thing in (1.0, "epsilon", None, object()):
        with pytest.raises(ParameterError, match="guarantee"):
            game(thing)
    for prior in (-0.1, 1.1, math.nan, "half"):
        with pytest.raises(ParameterError, match="prior"):
            game(PureDP(epsilon=1)).posterior(prior)
    with pytest.raises(ParameterError, match="false_alarms"):
        game(PureDP(epsilon=1)).trade_off([2])
    with pytest.raises(ParameterError, match="points"):
        game(PureDP(epsilon=1)).curve(1)
    assert Game(guarantee=PureDP(epsilon=1)) == game(PureDP(epsilon=1))
