"""The claims of a guarantee, in forms that a table or a sample can contradict.

``claims`` states a guarantee as pairs (epsilon, delta) that it implies, for black-box audits; ``excess`` is the factor
by which two tabulated output distributions break it. Both are safe: they never strengthen a claim, so a correct
mechanism never fails. The conversions are the accountants' own, which are rounded up.
"""

import math
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray
from scipy import special

from celosia.accounting.prices.renyi import renyi_epsilon
from celosia.accounting.prices.trade_off import gaussian_epsilon, gaussian_profile
from celosia.core import ZCDP, ApproxDP, GaussianDP, Guarantee, ParameterError, PureDP, RenyiDP

Logs = NDArray[np.float64]

_DELTAS = (1e-2, 1e-4)  # deltas that a hundred thousand samples can contradict
_ORDERS = 1 + 10 ** (np.arange(-40, 61) / 20)
_EPSILONS = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0])


@singledispatch
def claims(guarantee: Guarantee) -> tuple[tuple[float, float], ...]:
    """Return pairs (epsilon, delta) that the guarantee implies.

    A third party's kind of guarantee registers its own: ``claims.register(Kind)``.

    >>> claims(PureDP(epsilon=1))
    ((1.0, 0.0),)
    >>> [(round(epsilon, 2), delta) for epsilon, delta in claims(ZCDP(rho="0.5"))]
    [(2.75, 0.01), (4.18, 0.0001)]
    """
    raise ParameterError("testing.no_claims_registered", type=type(guarantee).__name__)


@claims.register
def _(guarantee: PureDP) -> tuple[tuple[float, float], ...]:
    return ((float(guarantee.epsilon), 0.0),)


@claims.register
def _(guarantee: ApproxDP) -> tuple[tuple[float, float], ...]:
    return ((float(guarantee.epsilon), float(guarantee.delta)),)


@claims.register
def _(guarantee: ZCDP) -> tuple[tuple[float, float], ...]:
    return tuple((renyi_epsilon(_ORDERS, _ORDERS * float(guarantee.rho), delta), delta) for delta in _DELTAS)


@claims.register
def _(guarantee: RenyiDP) -> tuple[tuple[float, float], ...]:
    orders, curve = (np.array([float(x) for x in values]) for values in (guarantee.orders, guarantee.epsilons))
    return tuple((renyi_epsilon(orders, curve, delta), delta) for delta in _DELTAS)


@claims.register
def _(guarantee: GaussianDP) -> tuple[tuple[float, float], ...]:
    return tuple((gaussian_epsilon(guarantee.mu, delta), delta) for delta in _DELTAS)


@singledispatch
def excess(guarantee: Guarantee, here: Logs, there: Logs) -> float:  # noqa: ARG001 - what registered ones take
    """Return how much of a guarantee the log probabilities of two neighbours use, as a multiple of the allowed loss.

    Above 1 the guarantee is broken; infinity means that an output is possible on one side only. Both directions count.

    >>> import numpy as np
    >>> half, most = np.log([0.5, 0.5]), np.log([0.75, 0.25])
    >>> round(excess(PureDP(epsilon="0.5"), half, most), 3)
    1.386
    """
    raise ParameterError("testing.no_excess_registered", type=type(guarantee).__name__)


@excess.register
def _(guarantee: PureDP, here: Logs, there: Logs) -> float:
    possible = ~(np.isneginf(here) & np.isneginf(there))
    return _ratio(float(np.abs(here[possible] - there[possible]).max(initial=0.0)), float(guarantee.epsilon))


@excess.register
def _(guarantee: ApproxDP, here: Logs, there: Logs) -> float:
    return _ratio(_hockey_stick(here, there, float(guarantee.epsilon)), float(guarantee.delta))


@excess.register
def _(guarantee: ZCDP, here: Logs, there: Logs) -> float:
    return max(_ratio(_renyi(here, there, order), float(guarantee.rho) * order) for order in _ORDERS.tolist())


@excess.register
def _(guarantee: RenyiDP, here: Logs, there: Logs) -> float:
    curve = zip(guarantee.orders, guarantee.epsilons, strict=True)
    return max(_ratio(_renyi(here, there, float(order)), float(epsilon)) for order, epsilon in curve)


@excess.register
def _(guarantee: GaussianDP, here: Logs, there: Logs) -> float:
    allowed = zip(_EPSILONS.tolist(), gaussian_profile(guarantee.mu, _EPSILONS).tolist(), strict=True)
    return max(_ratio(_hockey_stick(here, there, epsilon), delta) for epsilon, delta in allowed)


def _ratio(reached: float, allowed: float) -> float:
    # Sums of some ten thousand doubles are right to about 1e-12; below that nothing was reached.
    if reached <= max(allowed, 1e-12):
        return min(reached / allowed, 1.0) if allowed > 0 else 0.0
    return reached / allowed if allowed > 0 else math.inf


def _hockey_stick(here: Logs, there: Logs, epsilon: float) -> float:
    def one_way(first: Logs, second: Logs) -> float:
        return float(np.maximum(np.exp(first) - np.exp(epsilon + second), 0.0).sum())

    return max(one_way(here, there), one_way(there, here))


def _renyi(here: Logs, there: Logs, order: float) -> float:
    def one_way(first: Logs, second: Logs) -> float:
        seen = ~np.isneginf(first)
        if np.isneginf(second[seen]).any():
            return math.inf
        return float(special.logsumexp(order * first[seen] + (1 - order) * second[seen])) / (order - 1)

    return max(one_way(here, there), one_way(there, here))
