"""The guarantee of a run of projected noisy gradient descent, and the least noise for a target.

Where a record's place is secret, the Rényi curve of the mixture over places is far tighter than the rho of the worst
place; elsewhere the rho is all there is. A noise that is returned was itself tried against the target.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import double_at_least, double_at_most, exact_integer
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, RenyiDP
from celosia.core.iterations import PNSGDEvent
from celosia.core.structure import CertifiedEvent

if TYPE_CHECKING:
    from celosia.core.events import Event

_MIN_EPSILON: Final = 2.0**-40


def rho_of(event: "Event") -> ZCDP:
    """Return the rho of a run: of the record that fares worst, wherever it stands."""
    from celosia.accounting.prices.concentrated import rho

    return ZCDP(rho=rho(event), adjacency=event.adjacency, unit=event.unit)


def record_guarantee(event: "Event", position: int) -> ZCDP:
    """Return the guarantee of the record at a place of its order, the first being 1 (theorem 5.4)."""
    from celosia.accounting.iteration.pnsgd import record_rhos

    inside = event.event if isinstance(event, CertifiedEvent) else event
    if not isinstance(inside, PNSGDEvent):  # every step is priced: no place is better than another
        return rho_of(inside)
    if _is_secret(inside):
        raise ParameterError("learn.record_place_unknown")
    price = record_rhos(inside, [exact_integer(position, name="position")])[0]
    return ZCDP(rho=float(price), adjacency=inside.adjacency, unit=inside.unit)


def keeps(event: "Event", target: Guarantee) -> bool:
    """Return whether a run meets a target: an (epsilon, delta), a rho or a Rényi curve."""
    from celosia.accounting.prices.certified import certificate_holds
    from celosia.accounting.prices.renyi import renyi

    if isinstance(target, RenyiDP):
        orders = [double_at_least(order) for order in target.orders]  # divergences grow with the order
        curve = renyi(event, np.array(orders))
        return all(Fraction(ours) <= wanted for ours, wanted in zip(curve.tolist(), target.epsilons, strict=True))
    if not isinstance(target, ApproxDP):
        return rho_of(event) <= target
    return certificate_holds(CertifiedEvent(event=event, epsilon=target.epsilon, delta=target.delta))


def epsilon_of(event: "Event", delta: Fraction) -> Fraction:
    """Return the epsilon, rounded up until accountants certify it, of a run at a delta."""
    from celosia.accounting.accountants.sums import ZCDPAccountant
    from celosia.accounting.prices.certified import certificate_holds
    from celosia.accounting.prices.renyi import ORDERS, renyi, renyi_epsilon

    if _is_secret(event):
        least = renyi_epsilon(ORDERS, renyi(event, ORDERS), double_at_most(delta))
    else:
        least = ZCDPAccountant().spend(event).epsilon(delta)
    epsilon, more = Fraction(max(least, _MIN_EPSILON)), Fraction(1, 10**9)
    while not certificate_holds(CertifiedEvent(event=event, epsilon=epsilon, delta=delta)):
        epsilon, more = epsilon * (1 + more), more * 4  # the two directions of a conversion are rounded differently
    return epsilon


def least_noise(event: Callable[[float], "Event"], target: Guarantee, most: float) -> float:
    """Return the least noise whose event keeps a target: to a thousandth, or a millionth where that is quick."""
    low, high = 0.5, 1.0
    while not keeps(event(high), target):
        low, high = high, 2 * high
        if high > most:
            raise ParameterError("learn.target_unreachable")
    while low < 1.0 and keeps(event(low), target):
        low, high = low / 2, low
        if high < _MIN_EPSILON:
            raise ParameterError("learn.target_nearly_noiseless")
    slow = _is_secret(event(high)) and not isinstance(target, ZCDP)  # a curve takes a twentieth of a second
    tolerance = 1e-3 if slow else 1e-6
    while high > low * (1 + tolerance):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if keeps(event(middle), target) else (middle, high)
    return high


def _is_secret(event: "Event") -> bool:
    return isinstance(event, PNSGDEvent) and (event.order != "fixed" or event.stop != "fixed")
