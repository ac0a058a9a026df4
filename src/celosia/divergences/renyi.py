"""The Rényi divergence of every order from 0 to infinity, and the max divergence with its approximate form.

D_alpha(P || Q) = 1 / (alpha - 1) log of the sum of P^alpha Q^(1 - alpha), with the limits: order 0 is minus the log of
Q's mass on P's support, order 1 is Kullback-Leibler, order infinity is the largest log ratio (Rényi 1961; van Erven
and Harremoës 2014). Where P has mass that Q has not, orders from 1 on are infinite: that is the mathematical answer.
The condition is P << Q (seed 001 prints it the other way round). Values are correct to rounding, not rounded upwards:
the accountants, which promise, see to that themselves.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import quote
from celosia.divergences.arguments import as_number, as_order
from celosia.divergences.closed import renyi_laplace, renyi_multivariate, renyi_normal
from celosia.divergences.families import Laplace, MultivariateNormal, Normal
from celosia.divergences.frozen import Countable
from celosia.divergences.hockey_stick import hockey_stick
from celosia.divergences.pairs import Masses, Pair, pair_of
from celosia.divergences.samples import Samples, neighbour_renyi

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["kl", "max_divergence", "renyi"]

_LARGEST = 1e12
_LEVEL = 1e-13
_NEAR_ONE = 1e-5  # closer to order 1 than this the quotient by (order - 1) would lose more digits than a chord does


def renyi(p: object, q: object, order: float) -> float:
    """Return the Rényi divergence of ``p`` from ``q``, in nats.

    ``p`` and ``q`` are two aligned arrays of probabilities, two ``Discrete``, two of ``Bernoulli``, ``Normal``,
    ``MultivariateNormal`` or ``Laplace``, two frozen SciPy distributions, or two ``Samples`` (then it is an estimate,
    not a bound). Of SciPy distributions order infinity is found by search, and orders of thousands lose digits: where
    there is a closed form, ask for it by ``Normal`` or ``Laplace``. Example 3.1 of seed 001:

    >>> p, q = [0.1] * 10, [0.1] * 8 + [0.11, 0.09]
    >>> [round(renyi(p, q, order), 6) for order in (1, 2, 10, math.inf)]
    [0.001005, 0.002018, 0.010643, 0.105361]
    >>> renyi(Normal(0, 1), Normal(1, 1), 3)
    1.5
    """
    order = as_order(order)
    if _LARGEST < order < math.inf:
        message = f"order must be at most {_LARGEST:g} or infinite, not {quote(order)}: doubles go no further."
        raise ParameterError(message)
    if isinstance(p, Normal) and isinstance(q, Normal):
        return renyi_normal(p, q, order)
    if isinstance(p, Laplace) and isinstance(q, Laplace):
        return renyi_laplace(p, q, order)
    if isinstance(p, MultivariateNormal) and isinstance(q, MultivariateNormal):
        return renyi_multivariate(p, q, order)
    if isinstance(p, Samples) and isinstance(q, Samples) and p.neighbours is not None:
        return neighbour_renyi(p, q, order)
    pair = pair_of(p, q)
    if order == math.inf:
        return max(0.0, pair.log_supremum())
    value = _near_one(pair, order) if abs(order - 1) < _NEAR_ONE else _power(pair, order)
    return max(0.0, value)


def kl(p: object, q: object) -> float:
    """Return the Kullback-Leibler divergence of ``p`` from ``q``, in nats; see `renyi` for what they may be.

    >>> round(kl([0.5, 0.5], [0.25, 0.75]), 6), kl([0.5, 0.5], [1.0, 0.0])
    (0.143841, inf)
    """
    return renyi(p, q, 1)


def max_divergence(p: object, q: object, delta: float = 0.0) -> float:
    """Return the smallest epsilon of at least 0 for which P(S) <= e^epsilon Q(S) + delta for every event S.

    >>> round(max_divergence([0.75, 0.25], [0.25, 0.75]), 6), round(max_divergence([0.75, 0.25], [0.25, 0.75], 0.25), 6)
    (1.098612, 0.693147)
    >>> round(max_divergence(Normal(0, 1), Normal(1, 1), 1e-5), 4)
    4.3772
    """
    delta = as_number(delta, name="delta", least=0)
    if delta >= 1:
        message = f"delta must be at least 0 and less than 1, not {quote(delta)}."
        raise ParameterError(message)
    if delta == 0:
        return max(0.0, renyi(p, q, math.inf))
    closed = (Normal, Laplace, MultivariateNormal)
    if not (isinstance(p, closed) and isinstance(q, closed)):
        pair = pair_of(p, q)
        if isinstance(pair, Masses):
            return _approximate(pair.p, pair.q, delta)
    if hockey_stick(p, q, 0) <= delta:
        return 0.0
    high = 1.0
    while hockey_stick(p, q, high) > delta:
        high *= 2
        if high > 1e6:  # the mass that q lacks alone exceeds delta
            return math.inf
    from scipy import optimize  # a fifth of a second to import, and seldom used

    return float(optimize.brentq(lambda epsilon: hockey_stick(p, q, epsilon) - delta, 0, high, xtol=1e-12))


def _approximate(p: "NDArray[np.float64]", q: "NDArray[np.float64]", delta: float) -> float:
    """The largest log of (P(S) - delta) / Q(S): attained where S takes the largest ratios first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = p > 0
        order = np.argsort(-np.where(kept, p / q, -1.0), kind="stable")[: kept.sum()]
        above, below = np.cumsum(p[order]) - delta, np.cumsum(q[order])
        logs = np.where(above > 0, np.log(np.maximum(above, 0)) - np.log(below), -math.inf)
    return max(0.0, float(logs.max()))


def _power(pair: Pair, order: float) -> float:
    def integrand(log_p: "NDArray[np.float64]", log_q: "NDArray[np.float64]") -> "NDArray[np.float64]":
        with np.errstate(invalid="ignore"):
            first, second = order * log_p, (1 - order) * log_q
            # Where the terms cancel to the last digits the difference is rounding: as good as level.
            value = log_q if order == 0 else np.where(np.abs(first + second) < _LEVEL * -first, 0.0, first + second)
        return np.where(log_p == -math.inf, -math.inf, value)  # P's null sets count for nothing, whatever Q is there

    return pair.log_integral(integrand) / (order - 1)


def _signed_kl(pair: Countable) -> float:
    """P log(P/Q) as it stands, by sign: P alone decides how far to add, where Q may have a long tail."""

    def part(sign: int) -> float:
        def integrand(log_p: "NDArray[np.float64]", log_q: "NDArray[np.float64]") -> "NDArray[np.float64]":
            with np.errstate(invalid="ignore", divide="ignore"):
                value = log_p + np.log(np.maximum(sign * (log_p - log_q), 0.0))
            return np.where(log_p == -math.inf, -math.inf, value)

        return pair.log_integral(integrand)

    gain, loss = part(1), part(-1)
    return math.exp(gain) - math.exp(loss) if gain < 709 else math.inf


def _near_one(pair: Pair, order: float) -> float:
    """Kullback-Leibler, or for orders close to 1 the chord from there: its error is of the size of the square."""

    def integrand(log_p: "NDArray[np.float64]", log_q: "NDArray[np.float64]") -> "NDArray[np.float64]":
        # P log(P/Q) - P + Q is nowhere negative and has the same integral, so that nothing cancels in the sum.
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            loss = np.where(log_p == -math.inf, -math.inf, log_p - log_q)
            small = np.abs(loss) < 1e-2
            series = loss**2 * (0.5 - loss / 6 + loss**2 / 24 - loss**3 / 120 + loss**4 / 720)
            direct = np.where(loss > 0, loss - 1 + np.exp(-loss), np.expm1(-loss) + loss)
            value = log_p + np.log(np.where(small, series, direct))
            value = np.where(loss < -700, log_q, value)  # there P is nothing beside Q
        return np.where(log_p == -math.inf, log_q, np.where(loss == math.inf, math.inf, value))

    if isinstance(pair, Countable):
        value = _signed_kl(pair)
    else:
        log_value = pair.log_integral(integrand)
        value = math.exp(log_value) if log_value < 709 else math.inf
    if order == 1:
        return value
    end = math.copysign(_NEAR_ONE, order - 1)
    far = _power(pair, 1 + end)
    return value + (far - value) * (order - 1) / end if far < math.inf else _power(pair, order)
