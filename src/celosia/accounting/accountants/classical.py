"""The classical accountants: sums of epsilon, the optimal composition of pure mechanisms, advanced composition.

The sum of epsilon holds for events chosen as one goes; the two theorems hold for a list that was declared beforehand.
Dwork, Rothblum and Vadhan 2010; Kairouz, Oh and Viswanath 2015.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from celosia.accounting.accountants.base import Accountant, AdaptiveAccountant, exact_bound, exact_delta, least_epsilon
from celosia.accounting.prices.basic import advanced_epsilon, basic, optimal_delta, pure
from celosia.core import ApproxDP, Event, Guarantee, NotPricedError, PureDP
from celosia.core.exact import Exact, double_at_least, double_at_most, short_at_least


class PureAccountant(AdaptiveAccountant):
    """Pure events: the sum of their epsilons, or with a delta the optimal composition of equal ones.

    With events of different epsilon, the optimal composition takes each of them for the largest.

    >>> from celosia.core import LaplaceEvent
    >>> spent = PureAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000)
    >>> spent.epsilon(), round(spent.epsilon(1e-5), 3)
    (100.0, 17.787)
    """

    name: ClassVar[str] = "pure"
    __slots__ = ("_epsilons",)

    def __init__(self) -> None:
        super().__init__()
        self._epsilons: dict[Event, Fraction] = {}

    def _price(self, event: Event) -> None:
        self._epsilons[event] = pure(event)

    def _total(self) -> PureDP:
        total = PureDP(epsilon=0)
        for event, times in self._counts.items():
            total += PureDP(epsilon=short_at_least(times * self._epsilons[event]))
        return total

    def _limit(self, budget: Guarantee) -> PureDP:
        match budget:
            case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon):
                return PureDP(epsilon=epsilon)
            case _:
                raise self._unlike(budget)

    def _left(self, limit: Guarantee) -> PureDP:
        assert isinstance(limit, PureDP)  # noqa: S101 - made by _limit
        return PureDP(epsilon=max(limit.epsilon - self._total().epsilon, Fraction(0)))

    def epsilon(self, delta: Exact = 0) -> float:
        """Return the sum of the epsilons or, with a ``delta``, the smaller epsilon of the optimal composition.

        >>> from celosia.core import LaplaceEvent
        >>> PureAccountant().spend(LaplaceEvent(scale=2, sensitivity=1)).epsilon()
        0.5
        """
        allowed = exact_delta(delta, positive=False)
        total = double_at_least(self._total().epsilon)
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
        return 0.0 if bound >= self._total().epsilon else self._optimal(double_at_most(bound))

    def _optimal(self, epsilon: float) -> float:
        spent = [(rate, times) for event, times in self._counts.items() if (rate := self._epsilons[event])]
        if not spent:
            return 0.0
        return optimal_delta(double_at_least(max(rate for rate, _ in spent)), sum(times for _, times in spent), epsilon)


class BasicAccountant(AdaptiveAccountant):
    """Events with an epsilon and perhaps a delta: both add up.

    >>> from celosia.core import GuaranteedEvent
    >>> event = GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6"))
    >>> BasicAccountant().spend(event, times=3).guarantee()
    ApproxDP(epsilon=3, delta='3e-06')
    """

    name: ClassVar[str] = "basic"
    __slots__ = ("_prices",)

    def __init__(self) -> None:
        super().__init__()
        self._prices: dict[Event, tuple[Fraction, Fraction]] = {}

    def _price(self, event: Event) -> None:
        self._prices[event] = basic(event)

    def _total(self) -> ApproxDP:
        return _sum(self._counts, self._prices)

    def _limit(self, budget: Guarantee) -> ApproxDP:
        match budget:
            case PureDP(epsilon=epsilon):
                return ApproxDP(epsilon=epsilon, delta=0)
            case ApproxDP(epsilon=epsilon, delta=delta):
                return ApproxDP(epsilon=epsilon, delta=delta)
            case _:
                raise self._unlike(budget)

    def _left(self, limit: Guarantee) -> ApproxDP:
        assert isinstance(limit, ApproxDP)  # noqa: S101 - made by _limit
        spent = self._total()
        return ApproxDP(
            epsilon=max(limit.epsilon - spent.epsilon, Fraction(0)), delta=max(limit.delta - spent.delta, Fraction(0))
        )

    def epsilon(self, delta: Exact) -> float:
        """Return the sum of the epsilons; ``delta`` must cover the sum of the deltas.

        >>> from celosia.core import LaplaceEvent
        >>> BasicAccountant().spend(LaplaceEvent(scale=2, sensitivity=1)).epsilon(0)
        0.5
        """
        total = _covered(self._total(), exact_delta(delta, positive=False))
        return double_at_least(total.epsilon)

    def delta(self, epsilon: Exact) -> float:
        """Return the sum of the deltas where ``epsilon`` covers the sum of the epsilons, else 1.

        >>> from celosia.core import LaplaceEvent
        >>> BasicAccountant().spend(LaplaceEvent(scale=2, sensitivity=1)).delta("0.4")
        1.0
        """
        total = self._total()
        return double_at_least(total.delta) if exact_bound(epsilon) >= total.epsilon else 1.0


def _sum(counts: Mapping[Event, int], prices: Mapping[Event, tuple[Fraction, Fraction]]) -> ApproxDP:
    total = ApproxDP(epsilon=0, delta=0)
    for event, times in counts.items():
        epsilon, delta = prices[event]
        most = min(short_at_least(times * delta), Fraction(1))
        total += ApproxDP(epsilon=short_at_least(times * epsilon), delta=most)
    return total


def _covered(total: ApproxDP, delta: Fraction) -> ApproxDP:
    if total.delta > delta:
        raise NotPricedError(f"delta must be at least {float(total.delta):g}, the sum of the events' own.")
    return total


class AdvancedAccountant(Accountant):
    """Events with an epsilon and perhaps a delta, by the theorem of advanced composition.

    The sum of the deltas is spent first; the theorem works with what is left. Where the plain sum of the epsilons is
    smaller, that is the answer.

    >>> from celosia.core import LaplaceEvent
    >>> spent = AdvancedAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000)
    >>> round(spent.epsilon(1e-5), 2)
    25.69
    """

    name: ClassVar[str] = "advanced"
    __slots__ = ("_prices",)

    def __init__(self) -> None:
        super().__init__()
        self._prices: dict[Event, tuple[Fraction, Fraction]] = {}

    def _price(self, event: Event) -> None:
        self._prices[event] = basic(event)

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
        total = _covered(_sum(self._counts, self._prices), allowed)
        plain = double_at_least(total.epsilon)
        slack = double_at_most(allowed - total.delta)
        return plain if slack <= 0 else min(plain, self._advanced(slack))

    def delta(self, epsilon: Exact) -> float:
        """Return the delta of the theorem at ``epsilon``; 1 where it says nothing.

        >>> from celosia.core import LaplaceEvent
        >>> spent = AdvancedAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000)
        >>> spent.delta(25.7) < 1e-5 < spent.delta(25.6)
        True
        """
        bound = exact_bound(epsilon)
        total = _sum(self._counts, self._prices)
        own = double_at_least(total.delta)
        if bound >= total.epsilon:
            return own
        rate = double_at_most(bound)
        low, high = -700.0, 0.0  # logarithms of the slack
        if self._advanced(1.0 - 1e-16) > rate:
            return 1.0
        while high - low > 1e-10:
            middle = (low + high) / 2
            low, high = (low, middle) if self._advanced(_exp(middle)) <= rate else (middle, high)
        return min(1.0, (own + _exp(high)) * (1 + 1e-12))

    def _advanced(self, slack: float) -> float:
        return advanced_epsilon(((self._prices[event][0], times) for event, times in self._counts.items()), slack)


def _exp(logarithm: float) -> float:
    return min(math.exp(logarithm), 1 - 1e-16)
