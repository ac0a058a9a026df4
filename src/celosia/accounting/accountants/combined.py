"""The accountant of (epsilon, delta) budgets: an event is admitted by the sum of epsilons or by Rényi divergences.

For few events the sum is smaller, for many the divergences are. A filter may use both: it goes on while one of them has
room. Sessions that end within the sum lose at most epsilon, apart from their own deltas. All others were within the
limit of one Rényi order at every step. Three parts of delta pay for that: ``OWN`` and ``LATE`` cover deltas of the
events themselves, the rest the conversion of divergences. If the first event alone needs more delta than ``OWN``, the
session is bounded by the sum only. See ``proofs/combined-filter.md``.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final, Self

import numpy as np

from celosia.accounting.accountants.base import AdaptiveAccountant, exact_bound, exact_delta
from celosia.accounting.checks import Array
from celosia.accounting.prices import closed_forms
from celosia.accounting.prices.basic import basic
from celosia.accounting.prices.renyi import largest_divergences, renyi, renyi_delta, renyi_epsilon
from celosia.accounting.prices.simplify import leaves
from celosia.core import ApproxDP, CertifiedEvent, Event, Guarantee, NotPricedError, ParameterError
from celosia.core.exact import Exact, double_at_least, double_at_most, short_at_least

OWN: Final = Fraction(1, 5)
"""The part of delta for the deltas of events, while the sum of epsilons has room."""

LATE: Final = Fraction(1, 20)
"""The part of delta for deltas that no divergence can replace, once the sum of epsilons has no room."""

_BEST_SHARE: Final = Fraction(3, 4)  # of the conversion's delta, for the order that suits the budget best

# Never change these: a filter's orders are fixed while it is open, and ledgers stay open for years.
_ORDERS: Final = np.array(
    [1.25, 1.5, 1.75, 2, 2.25, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 256, 512]
)
_ORDERS.flags.writeable = False
_ROUNDING: Final = 2.0**-52  # of one addition, twice
_RESOLUTION: Final = 10**9  # the remaining epsilon is rounded down to multiples of its inverse
_MAX_ROOM: Final = 1e200


class CombinedAccountant(AdaptiveAccountant):
    """Sums of epsilon and delta, and Rényi divergences at fixed orders: whichever has room.

    Most of delta goes to the order that suits a budget best: that of the filter, or ``suited`` where the budget may be
    changed later. Which order that is must not change while something is being spent.

    >>> from celosia.accounting import Filter
    >>> from celosia.core import LaplaceEvent
    >>> watch = Filter(CombinedAccountant(), ApproxDP(epsilon=3, delta="1e-6"))
    >>> count = LaplaceEvent(scale=10, sensitivity=1)
    >>> watch.admits(LaplaceEvent(scale=1, sensitivity=3)), watch.admits(count, times=39)
    (True, True)
    """

    name: ClassVar[str] = "combined"
    __slots__ = ("_additions", "_best", "_curve", "_delta", "_epsilon", "_first_delta", "_late", "_opened")

    def __init__(self, suited: ApproxDP | None = None) -> None:
        super().__init__()
        self._best = None if suited is None else _best_order(suited.epsilon, suited.delta)
        self._opened = None if suited is None else suited.delta
        self._epsilon: Fraction | None = Fraction(0)  # None: no sum is finite
        self._delta = self._late = Fraction(0)
        self._curve: Array = np.zeros(_ORDERS.size)
        self._additions = 0
        self._first_delta: Fraction | None = None  # the sum of the deltas of the first event

    def price(self, event: Event) -> "_Price":
        """Return the event's epsilon, deltas and divergences."""
        return _Price(event)

    def spend(self, event: Event, times: int = 1) -> Self:
        """Add an event, ``times`` times, and return the accountant, or raise ``NotPricedError``.

        >>> from celosia.core import LaplaceEvent
        >>> CombinedAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=5).guarantee()
        ApproxDP(epsilon=0.5, delta=0)
        """
        super().spend(event, times)
        if self._first_delta is None:
            first = [(self._prices[leaf], number) for leaf, number in leaves(event)]
            summed = all(price.epsilon is not None for price, _ in first)
            self._first_delta = sum((number * price.delta for price, number in first if summed), Fraction(0))
        for leaf, number in leaves(event):
            price, count = self._prices[leaf], number * int(times)
            if self._epsilon is not None:
                known = price.epsilon
                self._epsilon = None if known is None else short_at_least(self._epsilon + count * known)
            self._delta = min(short_at_least(self._delta + count * price.delta), Fraction(1))
            self._late = min(short_at_least(self._late + count * price.late), Fraction(1))
            self._curve = self._curve + count * price.curve
            self._additions += 2
        return self

    def _divergences(self) -> Array:
        """Return the sums at all orders, rounded up."""
        return self._curve * (1 + self._additions * _ROUNDING)

    def total(self) -> ApproxDP:
        """Return the sums of the epsilons and of the deltas."""
        if self._epsilon is None:
            raise ParameterError("accounting.no_sum_of_epsilons")
        return ApproxDP(epsilon=self._epsilon, delta=self._delta)

    def limit(self, budget: Guarantee) -> ApproxDP:
        """Return the budget's epsilon, with the part ``OWN`` of its delta."""
        match budget:
            case ApproxDP(epsilon=epsilon, delta=delta) if epsilon > 0 and 0 < delta < 1:
                return ApproxDP(epsilon=epsilon, delta=delta * OWN)
            case _:
                raise self.budget_error(budget)

    def is_within(self, limit: Guarantee, budget: Guarantee) -> bool:  # noqa: ARG002 - the limit determines it
        """Return whether the sum or a Rényi order is within the limit, and the deltas too."""
        assert isinstance(limit, ApproxDP)  # noqa: S101 - made by limit
        return any(allowed and spent <= limit.epsilon for spent, allowed in self._bounds(limit))

    def _bounds(self, limit: ApproxDP) -> list[tuple[Fraction, bool]]:
        """Return the spent epsilon by the sum and by divergences, each with whether the deltas allow it."""
        found, within, budget = [], self._delta <= self._event_delta(limit), limit.delta / OWN
        if self._epsilon is not None:
            found.append((self._epsilon, within))
        if self._is_sum_alone(limit):
            return found
        best = _best_order(limit.epsilon, budget) if self._best is None else self._best
        room = float((_limits(limit.epsilon, budget, best) - self._divergences()).max())
        if math.isfinite(room):
            left = Fraction(math.floor(min(room, _MAX_ROOM) * _RESOLUTION), _RESOLUTION)
            found.append((max(limit.epsilon - left, Fraction(0)), within or self._late <= budget * LATE))
        return found

    def _is_sum_alone(self, limit: ApproxDP) -> bool:
        """Return whether the first event, which is chosen before any answer, needs more of delta than ``OWN``."""
        own = limit.delta if self._opened is None else self._opened * OWN
        return self._first_delta is not None and self._first_delta > own

    def _event_delta(self, limit: ApproxDP) -> Fraction:
        """Return the part of delta for the deltas of events."""
        return limit.delta / OWN if self._is_sum_alone(limit) else limit.delta

    def remaining(self, limit: Guarantee) -> ApproxDP:
        """Return the larger epsilon that either bound leaves, and the delta left for events."""
        assert isinstance(limit, ApproxDP)  # noqa: S101 - made by limit
        left = [limit.epsilon - spent for spent, allowed in self._bounds(limit) if allowed and spent <= limit.epsilon]
        own = self._event_delta(limit) - self._delta
        return ApproxDP(epsilon=max(left, default=Fraction(0)), delta=max(own, Fraction(0)))

    def spent(self, limit: Guarantee) -> ApproxDP:
        """Return the smaller epsilon of the two bounds, and the deltas of the events."""
        assert isinstance(limit, ApproxDP)  # noqa: S101 - made by limit
        bounds = self._bounds(limit)
        known = [spent for spent, allowed in bounds if allowed] or [spent for spent, _ in bounds]
        # Deltas beyond this part are paid from another part of delta.
        delta = min(self._delta, self._event_delta(limit))
        return ApproxDP(epsilon=short_at_least(min(known, default=limit.epsilon)), delta=delta)

    def cost(self, limit: Guarantee) -> ApproxDP:
        """Return the sums, or the converted divergences where no sum is finite."""
        assert isinstance(limit, ApproxDP)  # noqa: S101 - made by limit
        if self._epsilon is not None:
            return self.total()
        converted = limit.delta / OWN * (1 - OWN - LATE)
        return ApproxDP(epsilon=self.spent(limit).epsilon, delta=min(self._late + converted, Fraction(1)))

    def forget(self) -> bool:
        """Drop the events and their prices; the sums are kept."""
        self._counts, self._prices = {}, {}
        return True

    def epsilon(self, delta: Exact) -> float:
        """Return the smaller of two epsilons at ``delta``: of the sum, and of the best order.

        >>> from celosia.core import LaplaceEvent
        >>> spent = CombinedAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000)
        >>> round(spent.epsilon(1e-5), 1)
        19.0
        """
        allowed = exact_delta(delta)
        found = math.inf
        if self._epsilon is not None and self._delta <= allowed:
            found = double_at_least(self._epsilon)
        if self._late < allowed:
            found = min(found, renyi_epsilon(_ORDERS, self._divergences(), double_at_most(allowed - self._late)))
        if math.isinf(found):
            raise NotPricedError("accounting.delta_not_above_sum", least=float(self._late))
        return found

    def delta(self, epsilon: Exact) -> float:
        """Return the smaller of two deltas at ``epsilon``: of the sum, and of the best order.

        >>> from celosia.core import LaplaceEvent
        >>> CombinedAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=10).delta(1)
        0.0
        """
        bound = exact_bound(epsilon)
        found = 1.0
        if self._epsilon is not None and bound >= self._epsilon:
            found = double_at_least(self._delta)
        converted = renyi_delta(_ORDERS, self._divergences(), double_at_most(bound))
        return min(found, (double_at_least(self._late) + converted) * (1 + _ROUNDING), 1.0)


class _Price:
    """The price of one event: epsilon and delta, or divergences and the delta that they cannot replace."""

    __slots__ = ("curve", "delta", "epsilon", "late")

    def __init__(self, event: Event) -> None:
        self.epsilon: Fraction | None = None
        self.delta = self.late = Fraction(0)
        reason: NotPricedError | None = None
        try:
            self.epsilon, self.delta = basic(event)
        except NotPricedError as error:
            if isinstance(event, CertifiedEvent):  # its certificate is wrong
                raise
            reason = error
        try:
            self.curve: Array = renyi(event, _ORDERS)
        except NotPricedError:
            self.curve = np.full(_ORDERS.size, math.inf)
        if np.isfinite(self.curve).any():
            return
        if self.epsilon is None:
            raise reason or NotPricedError("accounting.no_epsilon_nor_renyi", type=type(event).__name__)
        # All but a part of delta of its outcomes are as private as randomized response (Kairouz, Oh, Viswanath 2015).
        self.curve, self.late = closed_forms.pure(self.epsilon, _ORDERS), self.delta


@lru_cache(maxsize=256)
def _best_order(epsilon: Fraction, delta: Fraction) -> int:
    """Return the index of the order that admits the most small events, whose divergences grow like the order."""
    share = double_at_most(delta * (1 - OWN - LATE) * _BEST_SHARE)
    return int(np.argmax(largest_divergences(_ORDERS, double_at_most(epsilon), share) / _ORDERS))


@lru_cache(maxsize=256)
def _limits(epsilon: Fraction, delta: Fraction, best: int) -> Array:
    """Return the largest divergence of each order; the best one has most of the conversion's delta."""
    converted = delta * (1 - OWN - LATE)
    shares = np.full(_ORDERS.size, double_at_most(converted * (1 - _BEST_SHARE) / (_ORDERS.size - 1)))
    shares[best] = double_at_most(converted * _BEST_SHARE)
    return largest_divergences(_ORDERS, double_at_most(epsilon), shares)
