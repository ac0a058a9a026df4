"""The accountants whose total is a sum: of rho, of Rényi divergences at each order, of squares of mu.

Bun and Steinke 2016; Mironov 2017; Dong, Roth and Su 2022. The conversion to epsilon and delta is that of Canonne,
Kamath and Steinke 2020 for the first two and exact for the third; all are rounded up.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from celosia.accounting.accountants.base import AdaptiveAccountant, add_up, exact_bound, exact_delta
from celosia.accounting.checks import Array
from celosia.accounting.prices.concentrated import rho
from celosia.accounting.prices.gaussian import concentrated_delta, largest_rho
from celosia.accounting.prices.gdp import mu
from celosia.accounting.prices.renyi import (
    ORDERS,
    epsilons_by_order,
    largest_divergences,
    renyi,
    renyi_delta,
    renyi_epsilon,
)
from celosia.accounting.prices.trade_off import gaussian_epsilon, gaussian_mu_for, gaussian_profile
from celosia.core import ZCDP, ApproxDP, Event, GaussianDP, Guarantee, NotPricedError, ParameterError, RenyiDP
from celosia.core.enclosure import root_at_most
from celosia.core.exact import Exact, double_at_least, double_at_most, exact, safe_repr

_REFINED = 41  # orders that are tried around the best one
_ZOOMS = 5  # each narrows the search twentyfold
_UNDERFLOW = 1e-300  # more than what underflow takes away


class ZCDPAccountant(AdaptiveAccountant):
    """Zero-concentrated privacy: rho adds up.

    >>> from celosia.core import LaplaceEvent
    >>> spent = ZCDPAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000)
    >>> round(spent.epsilon(1e-5), 2)
    19.04
    """

    name: ClassVar[str] = "zcdp"
    __slots__ = ()

    def price(self, event: Event) -> Fraction:
        """Return the event's rho."""
        return rho(event)

    def total(self) -> ZCDP:
        """Return the sum of the rhos."""
        return ZCDP(rho=add_up(self.prices))

    def limit(self, budget: Guarantee) -> ZCDP:
        """Return the budget's rho, or the largest rho that implies its epsilon and delta."""
        match budget:
            case ZCDP(rho=limit):
                return ZCDP(rho=limit)
            case ApproxDP(epsilon=epsilon, delta=delta) if epsilon > 0 and 0 < delta < 1:
                return ZCDP(rho=largest_rho(epsilon, delta))
            case _:
                raise self.budget_error(budget)

    def remaining(self, limit: Guarantee) -> ZCDP:
        """Return the rho between the sum and the limit."""
        assert isinstance(limit, ZCDP)  # noqa: S101 - made by limit
        return ZCDP(rho=max(limit.rho - self.total().rho, Fraction(0)))

    def epsilon(self, delta: Exact) -> float:
        """Return the epsilon that the sum of the rhos implies at ``delta``.

        >>> from celosia.core import GaussianEvent
        >>> round(ZCDPAccountant().spend(GaussianEvent(variance=1, sensitivity_squared=1)).epsilon(1e-5), 3)
        4.728
        """
        allowed = double_at_most(exact_delta(delta))
        total = double_at_least(self.total().rho)
        if total == 0:
            return 0.0
        low, high = -20.0, min(20.0 - math.log(min(total, 1.0)), 700.0)  # logarithms of orders less 1
        for _ in range(_ZOOMS):  # any order gives a bound, so that a search in floating point is enough
            logs = np.linspace(low, high, _REFINED)
            orders = 1 + np.exp(logs)
            values = epsilons_by_order(orders, orders * total, allowed)
            best = int(np.argmin(values))
            low, high = logs[max(best - 1, 0)], logs[min(best + 1, _REFINED - 1)]
        return float(values[best])

    def delta(self, epsilon: Exact) -> float:
        """Return the delta that the sum of the rhos implies at ``epsilon``.

        >>> from celosia.core import GaussianEvent
        >>> ZCDPAccountant().spend(GaussianEvent(variance=1, sensitivity_squared=1)).delta(4.73) < 1e-5
        True
        """
        return self._delta(double_at_most(exact_bound(epsilon)))

    def _delta(self, epsilon: float) -> float:
        total = double_at_least(self.total().rho)
        return max(concentrated_delta(total, epsilon), _UNDERFLOW) if total else 0.0  # it may underflow, but is never 0


class RenyiAccountant(AdaptiveAccountant):
    """Rényi privacy at many orders: divergences of one order add up.

    With the default orders, the answer is refined around the best of them. Given orders are used as they are: a filter
    needs orders that are fixed before anything is spent.

    >>> from celosia.core import GaussianEvent, PoissonSampledEvent
    >>> step = PoissonSampledEvent(
    ...     event=GaussianEvent(variance=10**12, sensitivity_squared=10**12), probability="0.01"
    ... )
    >>> RenyiAccountant().spend(step, times=10_000).epsilon(1e-5) < 6.7128
    True
    """

    name: ClassVar[str] = "renyi"
    __slots__ = ("_orders", "_refine")

    def __init__(self, orders: Sequence[Exact] | None = None) -> None:
        super().__init__()
        self._refine = orders is None
        self._orders = ORDERS if orders is None else exact_orders(orders)

    @property
    def orders(self) -> Array:
        """The orders at which divergences are added up."""
        return self._orders

    def price(self, event: Event) -> Array:
        """Return the event's divergences at the accountant's orders."""
        curve = renyi(event, self._orders)
        if not np.isfinite(curve).any():
            raise NotPricedError("accounting.no_finite_renyi", type=type(event).__name__)
        return curve

    def _curve(self, orders: Array | None = None) -> Array:
        total = np.zeros(self._orders.size if orders is None else orders.size)
        for event, times in self._counts.items():
            total += times * (self._prices[event] if orders is None else renyi(event, orders))
        return total * (1 + 1e-12)

    def total(self) -> RenyiDP:
        """Return the sums at the orders where they are finite."""
        curve = self._curve()
        finite = np.isfinite(curve)
        return RenyiDP(orders=self._orders[finite].tolist(), epsilons=curve[finite].tolist())

    def limit(self, budget: Guarantee) -> RenyiDP:
        """Return the budget's curve, or at each order the largest divergence that implies its epsilon and delta."""
        if self._refine:
            raise ParameterError("accounting.filter_without_fixed_orders")
        match budget:
            case RenyiDP() if [double_at_least(order) for order in budget.orders] == self._orders.tolist():
                return RenyiDP(orders=budget.orders, epsilons=budget.epsilons)
            case ApproxDP(epsilon=epsilon, delta=delta) if epsilon > 0 and 0 < delta < 1:
                share = double_at_most(delta / self._orders.size)
                limits = largest_divergences(self._orders, double_at_most(epsilon), share)
                return RenyiDP(orders=self._orders.tolist(), epsilons=np.maximum(limits, 0.0).tolist())
            case _:
                raise self.budget_error(budget)

    def is_within(self, limit: Guarantee, budget: Guarantee) -> bool:
        """Return whether the limit holds at every order of a curve, or at one order for (epsilon, delta)."""
        assert isinstance(limit, RenyiDP)  # noqa: S101 - made by limit
        kept = self._curve() <= np.array([double_at_most(epsilon) for epsilon in limit.epsilons])
        return bool(kept.any() if isinstance(budget, ApproxDP) else kept.all())

    def remaining(self, limit: Guarantee) -> RenyiDP:
        """Return at each order the divergence between the sum and the limit."""
        assert isinstance(limit, RenyiDP)  # noqa: S101 - made by limit
        left = np.array([double_at_most(epsilon) for epsilon in limit.epsilons]) - self._curve()
        return RenyiDP(orders=limit.orders, epsilons=np.maximum(left, 0.0).tolist())

    def epsilon(self, delta: Exact) -> float:
        """Return the epsilon that the curve implies at ``delta``, by the best order.

        >>> from celosia.core import LaplaceEvent
        >>> round(RenyiAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000).epsilon(1e-5), 2)
        18.96
        """
        allowed = double_at_most(exact_delta(delta))
        if not self._counts:
            return 0.0
        values = [renyi_epsilon(order, curve, allowed) for order, curve in self._near(allowed)]
        return min(values)

    def delta(self, epsilon: Exact) -> float:
        """Return the delta that the curve implies at ``epsilon``, by the best order.

        >>> from celosia.core import LaplaceEvent
        >>> RenyiAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000).delta(18.97) < 1e-5
        True
        """
        bound = double_at_most(exact_bound(epsilon))
        if not self._counts:
            return 0.0
        best = renyi_delta(self._orders, self._curve(), bound)
        if not self._refine or not 0 < best < 1:
            return best
        return min(renyi_delta(order, curve, bound) for order, curve in self._near(best))

    def _near(self, delta: float) -> list[tuple[Array, Array]]:
        """Return the curve at all orders and, for the default orders, also at orders around the best."""
        coarse = (self._orders, self._curve())
        if not self._refine:
            return [coarse]
        best = int(np.nanargmin(epsilons_by_order(*coarse, delta)))
        low, high = coarse[0][max(0, best - 1)], coarse[0][min(coarse[0].size - 1, best + 1)]
        fine = np.linspace(low, high, _REFINED)
        return [coarse, (fine, self._curve(fine))]


def exact_orders(orders: Sequence[Exact]) -> Array:
    """Return orders as an increasing array, rounded up; all must be greater than 1."""
    if isinstance(orders, str) or not hasattr(orders, "__len__") or not len(orders):
        raise ParameterError("accounting.orders_not_a_list", orders=safe_repr(orders))
    plain = all(type(order) is float for order in orders)  # hundreds of them, in the usual case
    # A divergence grows with its order: a bound at the next double holds at the order itself.
    exactly = orders if plain else [double_at_least(exact(order, name="orders")) for order in orders]
    values = np.array(exactly, dtype=np.float64)
    if not np.isfinite(values).all() or values.min() <= 1:
        raise ParameterError("accounting.orders_not_above_one", orders=safe_repr(orders))
    return np.unique(values)


class GDPAccountant(AdaptiveAccountant):
    """Gaussian privacy: squares of mu add up. It makes no central-limit approximation.

    >>> from celosia.core import GaussianEvent
    >>> spent = GDPAccountant().spend(GaussianEvent(variance=10**12, sensitivity_squared=10**12), times=4)
    >>> round(spent.epsilon(1e-5), 3)
    9.997
    """

    name: ClassVar[str] = "gdp"
    __slots__ = ()

    def price(self, event: Event) -> float:
        """Return the event's mu."""
        return mu(event)

    def total_mu(self) -> float:
        """Return the root of the sum of the squares of mu, rounded up."""
        return math.sqrt(math.fsum(times * part**2 for part, times in self.prices)) * (1 + 1e-13)

    def total(self) -> GaussianDP:
        """Return the total mu as a guarantee."""
        return GaussianDP(mu=self.total_mu())

    def limit(self, budget: Guarantee) -> GaussianDP:
        """Return the budget's mu, or the largest mu that implies its epsilon and delta."""
        match budget:
            case GaussianDP(mu=limit):
                return GaussianDP(mu=limit)
            case ApproxDP(epsilon=epsilon, delta=delta) if epsilon > 0 and 0 < delta < 1:
                return GaussianDP(mu=gaussian_mu_for(double_at_most(epsilon), double_at_most(delta)))
            case _:
                raise self.budget_error(budget)

    def remaining(self, limit: Guarantee) -> GaussianDP:
        """Return the mu whose square is missing to the square of the limit."""
        assert isinstance(limit, GaussianDP)  # noqa: S101 - made by limit
        return GaussianDP(mu=root_at_most(max(limit.mu**2 - self.total().mu ** 2, Fraction(0))))

    def epsilon(self, delta: Exact) -> float:
        """Return the exact epsilon of Gaussian privacy at ``delta``.

        >>> from celosia.core import GaussianEvent
        >>> GDPAccountant().spend(GaussianEvent(variance=16, sensitivity_squared=1)).epsilon(1e-5) < 1.1
        True
        """
        allowed = double_at_most(exact_delta(delta))
        total = self.total_mu()
        if total == 0:
            return 0.0
        try:
            return gaussian_epsilon(total, allowed)
        except ParameterError as error:
            raise NotPricedError("accounting.delta_too_small", delta=safe_repr(delta)) from error

    def delta(self, epsilon: Exact) -> float:
        """Return the exact delta of Gaussian privacy at ``epsilon``.

        >>> from celosia.core import GaussianEvent
        >>> GDPAccountant().spend(GaussianEvent(variance=16, sensitivity_squared=1)).delta(1) < 2e-5
        True
        """
        bound = double_at_most(exact_bound(epsilon))
        total = self.total_mu()
        return float(gaussian_profile(total, np.array([bound]))[0]) if total else 0.0
