"""The decision game: an adversary knows two neighbouring data sets, sees the release, and guesses which one it was.

Pure privacy bounds the adversary's *belief* after any release: the odds change by a factor of exp(epsilon) at most. All
other guarantees leave a small probability of releases that reveal everything, so they exclude no belief; they bound how
often the guess is right, and the trade-off between false alarms and misses (Wasserman and Zhou 2010; Kairouz, Oh and
Viswanath 2015; Dong, Roth and Su 2022). All bounds are rounded in the adversary's favour.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Protocol, TypeAlias, cast

import numpy as np
import scipy
from numpy.typing import ArrayLike

from celosia.accounting.checks import Array
from celosia.accounting.prices.gaussian import concentrated_delta
from celosia.accounting.prices.trade_off import (
    approximate_trade_off,
    check_errors,
    gaussian_trade_off,
    profile_points,
    trade_off,
)
from celosia.core.errors import GuaranteeMismatchError, ParameterError
from celosia.core.exact import Exact, double_at_least, double_at_most, exact_integer, exact_probability, safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP

Profile: TypeAlias = Callable[[Array], Array]

_SAFE = 1 + 1e-12  # far above the rounding of a few operations


class _HasDelta(Protocol):
    def delta(self, epsilon: float) -> float: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Game:
    """Bounds on an adversary's success against a guarantee.

    Parameters
    ----------
    guarantee
        A guarantee, or an accountant: anything with a method ``delta(epsilon)``.

    Examples
    --------
    >>> from celosia import ApproxDP
    >>> round(Game(guarantee=ApproxDP(epsilon=1, delta="1e-6")).success, 6)
    0.731059
    """

    guarantee: object

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, _KINDS) and not callable(getattr(self.guarantee, "delta", None)):
            raise ParameterError("accounting.not_a_guarantee", guarantee=safe_repr(self.guarantee))

    def posterior(self, prior: Exact = "1/2") -> tuple[float, float]:
        """Return the least and the largest posterior probability of one data set, after a release.

        >>> from celosia import PureDP
        >>> low, high = Game(guarantee=PureDP(epsilon=1)).posterior()
        >>> round(low, 6), round(high, 6)
        (0.268941, 0.731059)
        """
        belief = exact_probability(prior, name="prior")
        if not isinstance(self.guarantee, PureDP):
            if isinstance(self.guarantee, _KINDS):
                raise GuaranteeMismatchError("accounting.belief_not_bounded", guarantee=str(self.guarantee))
            raise GuaranteeMismatchError("accounting.belief_not_bounded_by_type", type=type(self.guarantee).__name__)
        rate = double_at_least(self.guarantee.epsilon)
        return _shift_belief(belief, -rate) * (1 - 1e-14), min(1.0, _shift_belief(belief, rate) * (1 + 1e-14))

    @property
    def advantage(self) -> float:
        """The advantage of the best guess over a coin: twice the success, less 1 (the total variation).

        >>> from celosia import GaussianDP
        >>> round(Game(guarantee=GaussianDP(mu=1)).advantage, 6)
        0.382925
        """
        return min(1.0, _advantage(self.guarantee) * _SAFE)

    @property
    def success(self) -> float:
        """The largest probability of guessing which of two equally likely neighbours it was.

        >>> from celosia import PureDP
        >>> round(Game(guarantee=PureDP(epsilon=1)).success, 6)
        0.731059
        """
        return min(1.0, (1 + self.advantage) / 2 * (1 + 1e-15))

    def trade_off(self, false_alarms: ArrayLike) -> Array:
        """Return the least probability of a miss for each probability of a false alarm.

        >>> from celosia import GaussianDP
        >>> Game(guarantee=GaussianDP(mu=1)).trade_off([0.05, 0.5]).round(4)
        array([0.7405, 0.1587])
        """
        return _trade_off(self.guarantee, check_errors(false_alarms, "false_alarms"))

    def curve(self, points: int = 101) -> tuple[Array, Array]:
        """Return false alarms from 0 to 1 and their misses, as points of a chart.

        >>> from celosia import PureDP
        >>> false_alarms, misses = Game(guarantee=PureDP(epsilon=1)).curve(3)
        >>> false_alarms, misses.round(6)
        (array([0. , 0.5, 1. ]), array([1.     , 0.18394, 0.     ]))
        """
        false_alarms = np.linspace(0.0, 1.0, exact_integer(points, name="points", least=2))
        return false_alarms, self.trade_off(false_alarms)


def game(guarantee: object) -> Game:
    """Return the decision game against a guarantee or an accountant.

    >>> from celosia import ZCDP
    >>> round(game(ZCDP(rho="0.005")).success, 4)
    0.525
    """
    return Game(guarantee=guarantee)


_KINDS = (PureDP, ApproxDP, ZCDP, RenyiDP, GaussianDP)


def _shift_belief(belief: Fraction, rate: float) -> float:
    """Return the probability whose odds are exp(rate) times those of ``belief``."""
    favour = float(belief) * math.exp(min(rate, 0.0))
    against = float(1 - belief) * math.exp(min(-rate, 0.0))
    return favour / (favour + against) if favour + against > 0 else float(belief)


@singledispatch
def _advantage(guarantee: object) -> float:
    """Bound the total variation: (epsilon, delta) gives (exp(epsilon) - 1 + 2 delta) / (exp(epsilon) + 1)."""
    profile = _profile(guarantee)
    epsilon = profile_points(profile)
    return float(np.min(np.tanh(epsilon / 2) + 2 * profile(epsilon) * scipy.special.expit(-epsilon)))


@_advantage.register
def _(guarantee: PureDP) -> float:
    return math.tanh(double_at_least(guarantee.epsilon) / 2)


@_advantage.register
def _(guarantee: ApproxDP) -> float:
    rate = double_at_least(guarantee.epsilon)
    return math.tanh(rate / 2) + 2 * double_at_least(guarantee.delta) * float(scipy.special.expit(-rate))


@_advantage.register
def _(guarantee: GaussianDP) -> float:
    return math.erf(double_at_least(guarantee.mu) / math.sqrt(8))


@singledispatch
def _trade_off(guarantee: object, errors: ArrayLike) -> Array:
    return trade_off(_profile(guarantee), errors)


@_trade_off.register
def _(guarantee: PureDP, errors: ArrayLike) -> Array:
    return approximate_trade_off(guarantee.epsilon, 0, errors)


@_trade_off.register
def _(guarantee: ApproxDP, errors: ArrayLike) -> Array:
    return approximate_trade_off(guarantee.epsilon, guarantee.delta, errors)


@_trade_off.register
def _(guarantee: GaussianDP, errors: ArrayLike) -> Array:
    return gaussian_trade_off(guarantee.mu, errors)


@singledispatch
def _profile(guarantee: object) -> Profile:
    delta = cast("_HasDelta", guarantee).delta  # checked by Game

    def profile(epsilons: Array) -> Array:
        return np.array([min(float(delta(float(epsilon))), 1.0) for epsilon in epsilons])

    return profile


@_profile.register
def _(guarantee: ZCDP) -> Profile:
    rho = double_at_least(guarantee.rho)

    def profile(epsilons: Array) -> Array:
        if rho == 0:
            return np.zeros_like(epsilons)
        return np.array([min(concentrated_delta(rho, float(epsilon)), _pinsker(rho)) for epsilon in epsilons])

    return profile


@_profile.register
def _(guarantee: RenyiDP) -> Profile:
    # A divergence grows with its order: an order rounded down to a double keeps its bound.
    order = np.array([double_at_most(order) for order in guarantee.orders])[:, None]
    curve = np.array([double_at_least(epsilon) for epsilon in guarantee.epsilons])[:, None]
    over = np.maximum(order - 1, 1e-300)

    def profile(epsilons: Array) -> Array:
        """Canonne, Kamath and Steinke 2020, proposition 12, by the best order."""
        with np.errstate(under="ignore", over="ignore"):
            logs = over * (curve - epsilons) - np.log(over) - order * np.log1p(1 / over)
            best = np.exp(np.minimum(np.min(logs, axis=0), 0.0)) * (1 + 1e-9)
        bound: Array = np.minimum(best, _pinsker(float(curve.min())))
        return bound

    return profile


def _pinsker(divergence: float) -> float:
    """Bound the total variation, which is delta at epsilon 0, by a bound on the Kullback-Leibler divergence."""
    return min(1.0, math.sqrt(divergence / 2) * _SAFE)
