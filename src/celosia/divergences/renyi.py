"""The Rényi divergence of every order from 0 to infinity, and the max divergence with its approximate form.

D_alpha(P || Q) = 1 / (alpha - 1) log of the sum of P^alpha Q^(1 - alpha), with the limits: order 0 is minus the log of
Q's mass on P's support, order 1 is Kullback-Leibler, order infinity is the largest log ratio (Rényi 1961; van Erven and
Harremoës 2014). Where P has mass that Q lacks, orders from 1 on are infinite: that is the mathematical answer. The
condition is P << Q (Estrada Franco 2025 prints it the other way round). Values are correct to rounding, not rounded
upwards; the accountants round up themselves.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.divergences.closed import renyi_laplace, renyi_multivariate, renyi_normal
from celosia.divergences.distributions.arguments import as_number, as_order
from celosia.divergences.distributions.families import Laplace, MultivariateNormal, Normal
from celosia.divergences.distributions.frozen import Countable
from celosia.divergences.distributions.pairs import Masses, Pair, pair_of
from celosia.divergences.distributions.samples import Samples, neighbour_renyi
from celosia.divergences.exponentials import exp_minus_linear
from celosia.divergences.hockey_stick import hockey_stick

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_ORDER = 1e12
_LEVEL = 1e-13
_NEAR_ONE = 1e-5  # closer to order 1 than this the quotient by (order - 1) loses too many digits
_NEAR_ONE_SUM = 0.1  # sums are cheap: there close distributions keep their digits farther out
_MAX_EXPONENT = 700.0  # e to this is still a double
_MAX_EPSILON = 1e15  # an epsilon beyond which no integral is computed


def renyi(p: object, q: object, order: float) -> float:
    """Return the Rényi divergence of ``p`` from ``q``, in nats.

    ``p`` and ``q`` are two aligned arrays of probabilities, two ``Discrete``, two of ``Bernoulli``, ``Normal``,
    ``MultivariateNormal`` or ``Laplace``, two frozen SciPy distributions, or two ``Samples`` (then it is an estimate,
    not a bound). Of SciPy distributions order infinity is found by search, and orders of thousands lose digits: use
    ``Normal`` or ``Laplace`` where there is a closed form. Example 3.1 of Estrada Franco 2025:

    >>> p, q = [0.1] * 10, [0.1] * 8 + [0.11, 0.09]
    >>> [round(renyi(p, q, order), 6) for order in (1, 2, 10, math.inf)]
    [0.001005, 0.002018, 0.010643, 0.105361]
    >>> renyi(Normal(0, 1), Normal(1, 1), 3)
    1.5
    """
    order = as_order(order)
    if _MAX_ORDER < order < math.inf:
        raise ParameterError("divergences.order_too_large", most=_MAX_ORDER, order=safe_repr(order))
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
    near = _NEAR_ONE_SUM if isinstance(pair, Masses) else _NEAR_ONE
    value = _near_one(pair, order) if abs(order - 1) < near else _power(pair, order)
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
        raise ParameterError("divergences.delta_out_of_range", delta=safe_repr(delta))
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
        if high > _MAX_EPSILON and not (isinstance(p, closed) and isinstance(q, closed)):
            return math.inf  # the mass that q lacks alone exceeds delta
    from scipy import optimize  # a fifth of a second to import, and seldom used

    return float(optimize.brentq(lambda epsilon: hockey_stick(p, q, epsilon) - delta, 0, high, xtol=1e-12))


def _approximate(p: "NDArray[np.float64]", q: "NDArray[np.float64]", delta: float) -> float:
    """Return the largest log of (P(S) - delta) / Q(S), attained where S takes the largest ratios first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = p > 0
        # In logarithms: a quotient that overflowed would stand on a level with what q lacks.
        order = np.argsort(np.where(kept, np.log(q) - np.log(p), math.inf), kind="stable")[: kept.sum()]
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
    """Return P log(P/Q) by sign: P alone decides how far to add, since Q may have a long tail."""

    def part(sign: int) -> float:
        def integrand(log_p: "NDArray[np.float64]", log_q: "NDArray[np.float64]") -> "NDArray[np.float64]":
            with np.errstate(invalid="ignore", divide="ignore"):
                value = log_p + np.log(np.maximum(sign * (log_p - log_q), 0.0))
            return np.where(log_p == -math.inf, -math.inf, value)

        return pair.log_integral(integrand)

    gain, loss = part(1), part(-1)
    return math.exp(gain) - math.exp(loss) if gain < 709 else math.inf


def _near_one(pair: Pair, order: float) -> float:
    """Kullback-Leibler, and orders close to 1, where the quotient by (order - 1) would lose its digits.

    With d = order - 1 the power sum is 1 + d S, where S adds P (L + e^-L - 1) + P (e^(d L) - 1 - d L) / d over the log
    ratios L: nothing cancels there, and S is the Kullback-Leibler divergence at d = 0.
    """
    if isinstance(pair, Countable):
        return _near_one_countable(pair, order)
    over = order - 1

    def integrand(log_p: "NDArray[np.float64]", log_q: "NDArray[np.float64]") -> "NDArray[np.float64]":
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            loss = np.where(log_p == -math.inf, -math.inf, log_p - log_q)
            value = log_p + np.log(_bent(loss, over))
            value = np.where(over * loss > _MAX_EXPONENT, log_p + over * loss - math.log(abs(over) or 1.0), value)
            value = np.where(loss < -_MAX_EXPONENT, log_q, value)  # there P is nothing beside Q
        gap = math.inf if over >= 0 else log_p + math.log(order / -over)
        return np.where(log_p == -math.inf, log_q, np.where(loss == math.inf, gap, value))

    log_sum = pair.log_integral(integrand)
    total = math.exp(log_sum) if log_sum < 709 else math.inf
    if over == 0 or total == math.inf:
        return total
    return math.log1p(over * total) / over if over * total > -0.5 else _power(pair, order)


def _bent(loss: "NDArray[np.float64]", over: float) -> "NDArray[np.float64]":
    """Return L + e^-L - 1 + (e^(d L) - 1 - d L) / d for d = ``over``: its second part vanishes with d."""
    if over == 0:
        return exp_minus_linear(-loss)
    near = exp_minus_linear(-loss) + exp_minus_linear(over * loss) / over
    # Farther out the linear parts would swallow the rest; without them nothing cancels there.
    return np.where(np.abs(over * loss) < 0.5, near, np.expm1(over * loss) / over + np.expm1(-loss))


def _near_one_countable(pair: Countable, order: float) -> float:
    """Kullback-Leibler, or the chord from there to an order at which the quotient has its digits."""
    value = _signed_kl(pair)
    end = math.copysign(_NEAR_ONE / max(1.0, value), order - 1)  # the larger, the sooner the curve bends
    if order == 1:
        return value
    if value == math.inf or abs(order - 1) >= abs(end):
        return _power(pair, order)
    return value + (_power(pair, 1 + end) - value) * (order - 1) / end
