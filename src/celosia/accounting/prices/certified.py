"""The price of a certified event: its certificate in sums of epsilon and delta, else the price of the inner event.

A certificate is checked before it is used: the concentrated privacy of the event must imply it (Bun and Steinke 2016,
in the sharper conversion of Canonne, Kamath and Steinke 2020), or its Gaussian privacy (Dong, Roth and Su 2022, which
is exact for Gaussian noise), or its Rényi curve. So a certificate that was tampered with, or written for other noise,
is refused.
"""

import contextlib
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from celosia.accounting.pld.discretise import Pair
from celosia.accounting.prices.basic import basic
from celosia.accounting.prices.concentrated import rho
from celosia.accounting.prices.dominating import dominating
from celosia.accounting.prices.gaussian import concentrated_delta, largest_rho
from celosia.accounting.prices.gdp import mu
from celosia.accounting.prices.renyi import ORDERS, renyi, renyi_delta
from celosia.accounting.prices.simplify import simplify
from celosia.accounting.prices.trade_off import gaussian_mu_for, gaussian_profile
from celosia.core import CertifiedEvent, Event, GaussianEvent, NotPricedError, ParameterError
from celosia.core.exact import double_at_least, double_at_most

_MARGIN = 1 - 1e-9  # for the rounding of sums of squares
_PARTS = (Fraction(9999, 10000), Fraction(997, 1000), Fraction(98, 100), Fraction(95, 100))


@lru_cache(maxsize=1024)  # a curve takes a tenth of a second and is needed at every charge
def certificate_holds(event: CertifiedEvent) -> bool:
    """Return whether the concentrated privacy of the event, or its Rényi curve, implies the certificate.

    >>> from celosia.core import GaussianEvent
    >>> noise = GaussianEvent(variance=25, sensitivity_squared=1)
    >>> certificate_holds(CertifiedEvent(event=noise, epsilon=1, delta="1e-6"))
    True
    >>> certificate_holds(CertifiedEvent(event=noise, epsilon=1, delta="1e-9"))
    False
    """
    inside = simplify(event.event)
    epsilon, delta = double_at_most(event.epsilon), double_at_most(event.delta)
    if _rho_implies(inside, epsilon, delta) or _mu_implies(inside, epsilon, delta):
        return True
    # For searches, and for runs whose order or stop is secret, the curve is far tighter than the rho.
    return renyi_delta(ORDERS, renyi(inside, ORDERS), epsilon) <= delta


def _rho_implies(event: Event, epsilon: float, delta: float) -> bool:
    try:
        spent = rho(event)
    except NotPricedError:
        return False
    return spent == 0 or concentrated_delta(double_at_least(spent), epsilon) <= delta


def _mu_implies(event: Event, epsilon: float, delta: float) -> bool:
    try:
        spent = mu(event)
    except NotPricedError:
        return False
    return float(gaussian_profile(spent, [epsilon])[0]) <= delta


def certified_rhos(epsilon: Fraction, delta: Fraction) -> Iterator[Fraction]:
    """Yield rhos that Gaussian noise may divide among numbers under one certificate, the largest first.

    The first is exactly the rho that real noise may spend. Noise on a grid spends slightly more, so some smaller ones
    follow. The last is implied by concentrated privacy and always holds.
    """
    least, square = largest_rho(epsilon, delta), _largest_square(epsilon, delta)
    if square is not None:
        yield from (found for part in _PARTS if (found := Fraction(square / 2) * part) > least)
    yield least


@lru_cache(maxsize=1024)
def _largest_square(epsilon: Fraction, delta: Fraction) -> float | None:
    """Return the largest square of mu that implies (epsilon, delta); None where delta is beyond the doubles."""
    with contextlib.suppress(ParameterError):
        return gaussian_mu_for(epsilon, delta) ** 2
    return None


@lru_cache(maxsize=1024)
def certified_rho(
    epsilon: Fraction, delta: Fraction, sensitivity_squared: Fraction, size: int, share: Fraction = Fraction(1)
) -> Fraction:
    """Return the rho of which Gaussian noise for ``size`` integers may spend a share under one certificate.

    Noises whose shares add up to one are certified together, each given the answers before: squares of mu add up (Dong,
    Roth and Su 2022, theorem 4), and each keeps to its share of the largest.
    """
    square, found = _largest_square(epsilon, delta), largest_rho(epsilon, delta)
    if square is None:
        return found  # of all shares, and concentrated privacy implies it
    most = square * double_at_most(share) * _MARGIN
    for tried in certified_rhos(epsilon, delta):
        if _mu_squared(tried * share, sensitivity_squared, size) <= most:
            return tried
    while share < 1 and _mu_squared(found * share, sensitivity_squared, size) > most:
        found /= 2  # noise that is hardly a step wide has no mu yet
    return found


def _mu_squared(spent: Fraction, sensitivity_squared: Fraction, size: int) -> float:
    """Return the square of the mu of Gaussian noise on the grid, or infinity where none is known."""
    noise = GaussianEvent(
        variance=sensitivity_squared / (2 * spent), sensitivity_squared=sensitivity_squared, dimension=size
    )
    try:
        return mu(noise) ** 2
    except NotPricedError:
        return math.inf


@basic.register
def _(event: CertifiedEvent) -> tuple[Fraction, Fraction]:
    if not certificate_holds(event):
        raise NotPricedError("accounting.certified_noise_too_small")
    return event.epsilon, event.delta


@rho.register
def _(event: CertifiedEvent) -> Fraction:
    return rho(simplify(event.event))


@renyi.register
def _(event: CertifiedEvent, orders: NDArray[np.float64]) -> NDArray[np.float64]:
    return renyi(simplify(event.event), orders)


@mu.register
def _(event: CertifiedEvent) -> float:
    return mu(simplify(event.event))


@dominating.register
def _(event: CertifiedEvent) -> Pair:
    return dominating(simplify(event.event))
