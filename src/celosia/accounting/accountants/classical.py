"""The classical accountants: sums of epsilon, the optimal composition of pure mechanisms, advanced composition.

The sum of epsilon also holds for events chosen adaptively; the two theorems hold for a list declared beforehand.
Dwork, Rothblum and Vadhan 2010; Kairouz, Oh and Viswanath 2015.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from celosia.accounting.accountants.base import (
    Accountant,
    AdaptiveAccountant,
    add_up,
    exact_bound,
    exact_delta,
    least_epsilon,
)
from celosia.accounting.prices.basic import advanced_epsilon, basic, optimal_delta, pure
from celosia.core import ApproxDP, Event, Guarantee, NotPricedError, PureDP
from celosia.core.exact import Exact, double_at_least, double_at_most


class PureAccountant(AdaptiveAccountant):
    """Pure events: the sum of their epsilons, or with a delta the optimal composition of equal ones.

    With events of different epsilon, the optimal composition takes each of them for the largest.

    >>> from celosia.core import LaplaceEvent
    >>> spent = PureAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000)
    >>> spent.epsilon(), round(spent.epsilon(1e-5), 3)
    (100.0, 17.787)
    """

    name: ClassVar[str] = "pure"
    __slots__ = ()

    def price(self, event: Event) -> Fraction:
        """Return the event's epsilon."""
        return pure(event)

    def total(self) -> PureDP:
        """Return the sum of the epsilons."""
        return PureDP(epsilon=add_up(self.prices))

    def limit(self, budget: Guarantee) -> PureDP:
        """Return the budget's epsilon."""
        match budget:
            case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon):
                return PureDP(epsilon=epsilon)
            case _:
                raise self.budget_error(budget)

    def remaining(self, limit: Guarantee) -> PureDP:
        """Return the epsilon between the sum and the limit."""
        assert isinstance(limit, PureDP)  # noqa: S101 - made by limit
        return PureDP(epsilon=max(limit.epsilon - self.total().epsilon, Fraction(0)))

    def epsilon(self, delta: Exact = 0) -> float:
        """Return the sum of the epsilons or, with a ``delta``, the smaller epsilon of the optimal composition.

        >>> from celosia.core import LaplaceEvent
        >>> PureAccountant().spend(LaplaceEvent(scale=2, sensitivity=1)).epsilon()
        0.5
        """
        allowed = exact_delta(delta, positive=False)
        total = double_at_least(self.total().epsilon)
        if allowed == 0 or total == 0:
            return total
        return min(total, least_epsilon(self._optimal, double_at_most(allowed)))

    def delta(self, epsilon: Exact) -> float:
        """Return 0 where ``epsilon`` covers the sum, else the delta of the optimal composition.

        >>> from celosia.core import LaplaceEvent
        >>> PureAccountant().spend(LaplaceEvent(scale=2, sensitivity=1)).delta("0.5")
        0.0
        """
        bound = exact_bound(epsilon)
        return 0.0 if bound >= self.total().epsilon else self._optimal(double_at_most(bound))

    def _optimal(self, epsilon: float) -> float:
        spent = [(rate, times) for rate, times in self.prices if rate]
        if not spent:
            return 0.0
        return optimal_delta(double_at_least(max(rate for rate, _ in spent)), sum(times for _, times in spent), epsilon)


class BasicAccountant(AdaptiveAccountant):
    """Events with an epsilon and possibly a delta: both add up.

    >>> from celosia.core import GuaranteedEvent
    >>> event = GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6"))
    >>> BasicAccountant().spend(event, times=3).guarantee()
    ApproxDP(epsilon=3, delta='3e-06')
    """

    name: ClassVar[str] = "basic"
    __slots__ = ()

    def price(self, event: Event) -> tuple[Fraction, Fraction]:
        """Return the event's epsilon and delta."""
        return basic(event)

    def total(self) -> ApproxDP:
        """Return the sums of the epsilons and of the deltas."""
        return _sum(self.prices)

    def limit(self, budget: Guarantee) -> ApproxDP:
        """Return the budget's epsilon and delta."""
        match budget:
            case PureDP(epsilon=epsilon):
                return ApproxDP(epsilon=epsilon, delta=0)
            case ApproxDP(epsilon=epsilon, delta=delta):
                return ApproxDP(epsilon=epsilon, delta=delta)
            case _:
                raise self.budget_error(budget)

    def remaining(self, limit: Guarantee) -> ApproxDP:
        """Return the epsilon and the delta between the sums and the limit."""
        assert isinstance(limit, ApproxDP)  # noqa: S101 - made by limit
        spent = self.total()
        return ApproxDP(
            epsilon=max(limit.epsilon - spent.epsilon, Fraction(0)), delta=max(limit.delta - spent.delta, Fraction(0))
        )

    def epsilon(self, delta: Exact) -> float:
        """Return the sum of the epsilons; ``delta`` must cover the sum of the deltas.

        >>> from celosia.core import LaplaceEvent
        >>> BasicAccountant().spend(LaplaceEvent(scale=2, sensitivity=1)).epsilon(0)
        0.5
        """
        total = _check_delta(self.total(), exact_delta(delta, positive=False))
        return double_at_least(total.epsilon)

    def delta(self, epsilon: Exact) -> float:
        """Return the sum of the deltas where ``epsilon`` covers the sum of the epsilons, else 1.

        >>> from celosia.core import LaplaceEvent
        >>> BasicAccountant().spend(LaplaceEvent(scale=2, sensitivity=1)).delta("0.4")
        1.0
        """
        total = self.total()
        return double_at_least(total.delta) if exact_bound(epsilon) >= total.epsilon else 1.0


def _sum(prices: Sequence[tuple[tuple[Fraction, Fraction], int]]) -> ApproxDP:
    delta = add_up((delta, times) for (_, delta), times in prices)
    return ApproxDP(epsilon=add_up((epsilon, times) for (epsilon, _), times in prices), delta=min(delta, Fraction(1)))


def _check_delta(total: ApproxDP, delta: Fraction) -> ApproxDP:
    if total.delta > delta:
        raise NotPricedError("accounting.delta_below_sum", least=float(total.delta))
    return total


class AdvancedAccountant(Accountant):
    """Events with an epsilon and possibly a delta, by the theorem of advanced composition.

    The sum of the deltas is spent first; the theorem uses the rest. The answer is the plain sum of the epsilons where
    that is smaller.

    >>> from celosia.core import LaplaceEvent
    >>> spent = AdvancedAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000)
    >>> round(spent.epsilon(1e-5), 2)
    25.69
    """

    name: ClassVar[str] = "advanced"
    __slots__ = ()

    def price(self, event: Event) -> tuple[Fraction, Fraction]:
        """Return the event's epsilon and delta."""
        return basic(event)

    def epsilon(self, delta: Exact) -> float:
        """Return the smaller of the theorem's epsilon and the plain sum; ``delta`` must cover the events' own.

        >>> from celosia.core import ApproxDP, GuaranteedEvent
        >>> spent = AdvancedAccountant().spend(GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6")))
        >>> spent.epsilon("1e-7")
        Traceback (most recent call last):
        ...
        celosia.core.errors.NotPricedError: delta must be at least 1e-06, the sum of the events' own.
        """
        allowed = exact_delta(delta)
        total = _check_delta(_sum(self.prices), allowed)
        plain = double_at_least(total.epsilon)
        slack = double_at_most(allowed - total.delta)
        return plain if slack <= 0 else min(plain, self._advanced_epsilon(slack))

    def delta(self, epsilon: Exact) -> float:
        """Return the delta of the theorem at ``epsilon``; 1 where it gives no bound.

        >>> from celosia.core import LaplaceEvent
        >>> spent = AdvancedAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000)
        >>> spent.delta(25.7) < 1e-5 < spent.delta(25.6)
        True
        """
        bound = exact_bound(epsilon)
        total = _sum(self.prices)
        own = double_at_least(total.delta)
        if bound >= total.epsilon:
            return own
        rate = double_at_most(bound)
        low, high = -700.0, 0.0  # logarithms of the slack
        if self._advanced_epsilon(1.0 - 1e-16) > rate:
            return 1.0
        while high - low > 1e-10:
            middle = (low + high) / 2
            low, high = (low, middle) if self._advanced_epsilon(_exp(middle)) <= rate else (middle, high)
        return min(1.0, (own + _exp(high)) * (1 + 1e-12))

    def _advanced_epsilon(self, slack: float) -> float:
        return advanced_epsilon(((epsilon, times) for (epsilon, _), times in self.prices), slack)


def _exp(logarithm: float) -> float:
    return min(math.exp(logarithm), 1 - 1e-16)
