"""The price of a certified event: for sums of epsilon and delta its certificate, for everybody else what is inside.

A certificate is checked before it is believed: the concentrated privacy of the event must imply it (Bun and Steinke
2016, in the sharper conversion of Canonne, Kamath and Steinke 2020), or its Rényi curve. So a ledger that was tampered
with, or a certificate written for other noise, is refused instead of being added up.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from celosia.accounting.basic import basic
from celosia.accounting.concentrated import rho
from celosia.accounting.discretise import Pair
from celosia.accounting.dominating import dominating
from celosia.accounting.gaussian import concentrated_delta
from celosia.accounting.gdp import mu
from celosia.accounting.renyi import ORDERS, renyi, renyi_delta
from celosia.accounting.simplify import simplified
from celosia.core import CertifiedEvent, Event, NotPriced
from celosia.core.exact import double_at_least, double_at_most

__all__ = ["certificate_holds"]


@lru_cache(maxsize=1024)  # a curve takes a tenth of a second, and an account asks again at every charge
def certificate_holds(event: CertifiedEvent) -> bool:
    """Tell whether the concentrated privacy of the event, or its Rényi curve, implies the certificate.

    >>> from celosia.core import GaussianEvent
    >>> noise = GaussianEvent(variance=25, sensitivity_squared=1)
    >>> certificate_holds(CertifiedEvent(event=noise, epsilon=1, delta="1e-6"))
    True
    >>> certificate_holds(CertifiedEvent(event=noise, epsilon=1, delta="1e-9"))
    False
    """
    inside = simplified(event.event)
    epsilon, delta = double_at_most(event.epsilon), double_at_most(event.delta)
    if _rho_implies(inside, epsilon, delta):
        return True
    # Of searches, and of runs whose order or stop is secret, the curve says far more than the rho.
    return renyi_delta(ORDERS, renyi(inside, ORDERS), epsilon) <= delta


def _rho_implies(event: Event, epsilon: float, delta: float) -> bool:
    try:
        spent = rho(event)
    except NotPriced:
        return False
    return spent == 0 or concentrated_delta(double_at_least(spent), epsilon) <= delta


@basic.register
def _(event: CertifiedEvent) -> tuple[Fraction, Fraction]:
    if not certificate_holds(event):
        message = "A CertifiedEvent cannot be priced: the noise inside is not enough for its epsilon and delta."
        raise NotPriced(message)
    return event.epsilon, event.delta


@rho.register
def _(event: CertifiedEvent) -> Fraction:
    return rho(simplified(event.event))


@renyi.register
def _(event: CertifiedEvent, orders: NDArray[np.float64]) -> NDArray[np.float64]:
    return renyi(simplified(event.event), orders)


@mu.register
def _(event: CertifiedEvent) -> float:
    return mu(simplified(event.event))


@dominating.register
def _(event: CertifiedEvent) -> Pair:
    return dominating(simplified(event.event))
