"""Filters and odometers: how much may still be spent, and how much was, when events are chosen as one goes.

A filter has a limit that is fixed when it opens and refuses an event *before* the limit would be passed; whatever an
analyst chooses after seeing answers, the whole session keeps the budget. That is a theorem for sums: of epsilon and
delta (Rogers, Roth, Ullman and Vadhan 2016), of rho and of Rényi divergences at fixed orders (Feldman and Zrnic 2021;
Lécuyer 2021), of squares of mu (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023). No such theorem exists for
numerical composition or for the smallest of any bounds: a filter therefore takes an ``AdaptiveAccountant``, which
``PLDAccountant``, ``AdvancedAccountant`` and ``best`` are not. One pair of bounds can be used at once: the sum of
epsilons and Rényi divergences (``CombinedAccountant``, proofs/combined-filter.md).

With a budget (epsilon, delta) and several Rényi orders, each order gets an equal share of delta and the session goes on
while *one* order still has room. Partition a session's outcomes by the order that had room at its end; on each part
this order's filter would have allowed the session, so the shares of delta add up.
"""

import copy
import dataclasses
import os
from fractions import Fraction

from celosia.accounting.accountants.base import AdaptiveAccountant, exact_delta
from celosia.accounting.accountants.classical import BasicAccountant, PureAccountant
from celosia.core import (
    ApproxDP,
    BudgetExceededError,
    Event,
    ExhaustedError,
    Guarantee,
    GuaranteeMismatchError,
    ParameterError,
    PureDP,
)
from celosia.core.exact import Exact, exact_positive, refuse_same_changes, safe_repr
from celosia.core.messages.message import name_unit

_RUNGS = 80  # up to some forty million times the first epsilon
_STEP = Fraction(5, 4)  # from one rung to the next


def _copy_unspent(accountant: AdaptiveAccountant) -> AdaptiveAccountant:
    if not isinstance(accountant, AdaptiveAccountant):
        raise ParameterError("accounting.accountant_not_adaptive", accountant=safe_repr(accountant))
    if accountant.events:
        raise ParameterError("accounting.accountant_already_spent")
    return copy.copy(accountant)


class Filter:
    """A budget that cannot be exceeded, for events that are chosen adaptively.

    A copy in another process (forked or unpickled) can be read but not spent from.

    >>> from celosia.accounting import ZCDPAccountant
    >>> from celosia.core import ZCDP, GaussianEvent
    >>> watch = Filter(ZCDPAccountant(), ZCDP(rho="0.1"))
    >>> answer = GaussianEvent(variance=25, sensitivity_squared=2)
    >>> watch.spend(answer).spend(answer).remaining
    ZCDP(rho='0.02')
    >>> watch.admits(answer)
    False
    """

    __slots__ = ("_accountant", "_budget", "_limit", "_process", "_unspent")

    def __init__(self, accountant: AdaptiveAccountant, budget: Guarantee) -> None:
        if not isinstance(budget, Guarantee):
            raise ParameterError("accounting.budget_not_a_guarantee", budget=safe_repr(budget))
        refuse_same_changes(budget.adjacency, "core.same_changes_budget")
        self._accountant = self._unspent = _copy_unspent(accountant)
        self._budget = budget
        self._process = os.getpid()
        self._limit = self._accountant.limit(budget)

    @property
    def budget(self) -> Guarantee:
        """The guarantee of the whole session, whatever is spent."""
        return self._budget

    @property
    def limit(self) -> Guarantee:
        """The budget in the accountant's own kind of guarantee; the sum is compared with it."""
        return self._with_scope(self._limit)

    @property
    def events(self) -> tuple[tuple[Event, int], ...]:
        """The simplified events, each with its count."""
        return self._accountant.events

    def admits(self, event: Event, times: int = 1) -> bool:
        """Return whether an event fits into the remaining budget. Nothing is spent.

        >>> from celosia.accounting import PureAccountant
        >>> from celosia.core import LaplaceEvent
        >>> Filter(PureAccountant(), PureDP(epsilon=1)).admits(LaplaceEvent(scale=1, sensitivity=1))
        True
        """
        return self._fits(self._after(event, times))

    def spend(self, event: Event, times: int = 1) -> "Filter":
        """Spend an event, or raise ``BudgetExceededError`` and spend nothing.

        >>> from celosia.accounting import PureAccountant
        >>> from celosia.core import LaplaceEvent
        >>> Filter(PureAccountant(), PureDP(epsilon=1)).spend(LaplaceEvent(scale=1, sensitivity=2))
        Traceback (most recent call last):
        ...
        celosia.core.errors.BudgetExceededError: A LaplaceEvent does not fit into the remaining PureDP(epsilon=1).
        """
        if self._process != os.getpid():
            raise ExhaustedError("accounting.filter_in_another_process")
        after = self._after(event, times)
        if not self._fits(after):
            raise BudgetExceededError(
                "accounting.event_exceeds_budget", type=type(event).__name__, remaining=self.remaining
            )
        self._accountant = after
        return self

    def count(self, event: Event, times: int = 1) -> "Filter":
        """Count an event that has already happened, even if it does not fit; then nothing else fits.

        A ledger reads its history with this; its limit may have been lowered since.

        >>> from celosia.accounting import PureAccountant
        >>> from celosia.core import LaplaceEvent
        >>> watch = Filter(PureAccountant(), PureDP(epsilon=1)).count(LaplaceEvent(scale=1, sensitivity=2))
        >>> watch.spent, watch.remaining
        (PureDP(epsilon=2), PureDP(epsilon=0))
        """
        self._accountant = self._after(event, times)
        return self

    def cost(self, event: Event) -> Guarantee:
        """Return the cost of an event as the first of a session.

        >>> from celosia.accounting import PureAccountant
        >>> from celosia.core import LaplaceEvent
        >>> Filter(PureAccountant(), PureDP(epsilon=1)).cost(LaplaceEvent(scale=1, sensitivity=2))
        PureDP(epsilon=2)
        """
        return self._with_scope(copy.copy(self._unspent).spend(event).cost(self._limit))

    def charge(self, event: Event) -> Guarantee:
        """Return how much an event reduces the remaining budget: less than its cost where small events compose well.

        >>> from celosia.accounting import CombinedAccountant
        >>> from celosia.core import LaplaceEvent
        >>> watch = Filter(CombinedAccountant(), ApproxDP(epsilon=3, delta="1e-6"))
        >>> count = LaplaceEvent(scale=10, sensitivity=1)
        >>> [round(float(watch.spend(count, times).charge(count).epsilon), 3) for times in (1, 34)]
        [0.1, 0.04]
        """
        before, after = self.spent, self._with_scope(self._after(event, 1).spent(self._limit))
        if not isinstance(before, ApproxDP) or not isinstance(after, ApproxDP):
            return self.cost(event)
        return dataclasses.replace(after, epsilon=after.epsilon - before.epsilon, delta=after.delta - before.delta)

    def forget(self) -> bool:
        """Drop the list of events if the accountant keeps their sums without it; return whether it does.

        >>> from celosia.accounting import PureAccountant
        >>> Filter(PureAccountant(), PureDP(epsilon=1)).forget()
        False
        """
        self._accountant = copy.copy(self._accountant)
        return self._accountant.forget()

    def _after(self, event: Event, times: int) -> AdaptiveAccountant:
        after = copy.copy(self._accountant).spend(event, times)
        if event.adjacency is not self._budget.adjacency or event.unit != self._budget.unit:
            raise GuaranteeMismatchError(
                "accounting.budget_scope_differs",
                adjacency=repr(self._budget.adjacency),
                unit=name_unit(self._budget.unit),
                event_adjacency=repr(event.adjacency),
                event_unit=name_unit(event.unit),
            )
        return after

    def _fits(self, accountant: AdaptiveAccountant) -> bool:
        return accountant.is_within(self._limit, self._budget)

    @property
    def spent(self) -> Guarantee:
        """The sum so far, in the accountant's own kind of guarantee."""
        return self._with_scope(self._accountant.spent(self._limit))

    @property
    def remaining(self) -> Guarantee:
        """The remaining budget, in the accountant's own kind of guarantee."""
        return self._with_scope(self._accountant.remaining(self._limit))

    def _with_scope(self, guarantee: Guarantee) -> Guarantee:
        return dataclasses.replace(guarantee, adjacency=self._budget.adjacency, unit=self._budget.unit)

    def __repr__(self) -> str:
        return f"<Filter by {self._accountant.name}: {self.remaining} of {self._budget} left>"


class Odometer:
    """The spent (epsilon, delta), readable at any time, for events that are chosen adaptively.

    A plain sum of epsilons and deltas is its own reading. Otherwise an odometer is a ladder of filters with growing
    epsilon, each with its own share of delta (the shares add up to ``delta``). It shows the lowest rung into which all
    events so far fit. The analyst may stop at any time, chosen from the answers and the odometer: the outcomes with a
    reading are as private as that reading.

    >>> from celosia.accounting import ZCDPAccountant
    >>> from celosia.core import GaussianEvent
    >>> meter = Odometer(ZCDPAccountant(), delta="1e-6")
    >>> for _ in range(3):
    ...     reading = meter.spend(GaussianEvent(variance=400, sensitivity_squared=1)).reading()
    >>> round(float(reading.epsilon), 2), reading.delta
    (0.48, Fraction(1, 1000000))
    """

    __slots__ = ("_accountant", "_delta", "_first")

    def __init__(self, accountant: AdaptiveAccountant, *, delta: Exact, first: Exact = "0.1") -> None:
        self._accountant = _copy_unspent(accountant)
        self._delta = exact_delta(delta)
        self._first = exact_positive(first, name="first")
        self._accountant.limit(ApproxDP(epsilon=self._first, delta=self._delta))  # refuses other kinds

    def spend(self, event: Event, times: int = 1) -> "Odometer":
        """Count an event.

        >>> from celosia.accounting import BasicAccountant
        >>> from celosia.core import LaplaceEvent
        >>> meter = Odometer(BasicAccountant(), delta="1e-6")
        >>> meter.spend(LaplaceEvent(scale=10, sensitivity=1)).reading().epsilon
        Fraction(1, 10)
        """
        self._accountant = copy.copy(self._accountant).spend(event, times)
        return self

    def reading(self) -> ApproxDP:
        """Return the lowest rung into which all events so far fit.

        >>> from celosia.accounting import BasicAccountant
        >>> Odometer(BasicAccountant(), delta="1e-6").reading().epsilon
        Fraction(0, 1)
        """
        scope = self._accountant.with_scope(ApproxDP(epsilon=0, delta=0))
        plain = self._accountant.guarantee() if isinstance(self._accountant, PureAccountant | BasicAccountant) else None
        if isinstance(plain, PureDP | ApproxDP):
            own = plain.delta if isinstance(plain, ApproxDP) else Fraction(0)
            return ApproxDP(epsilon=plain.epsilon, delta=own, adjacency=scope.adjacency, unit=scope.unit)
        for rung in range(1, _RUNGS + 1):
            epsilon = self._first * _STEP ** (rung - 1)
            # The sum of 1 / (r (r + 1)) over all rungs is 1.
            budget = ApproxDP(epsilon=epsilon, delta=self._delta / (rung * (rung + 1)))
            limit = self._accountant.limit(budget)
            if self._accountant.is_within(limit, budget):
                return ApproxDP(epsilon=epsilon, delta=self._delta, adjacency=scope.adjacency, unit=scope.unit)
        raise BudgetExceededError("accounting.odometer_exceeded")
