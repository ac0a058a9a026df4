"""The base classes of accountants: a list of events with a common price.

``spend`` adds an event; ``epsilon(delta)``, ``delta(epsilon)`` and ``guarantee`` price all events together. An event
that cannot be priced, or that is about other neighbours or units, is refused and changes nothing.

A new accountant implements ``price``, ``epsilon`` and ``delta``; an adaptive one also ``total``, ``limit`` and
``remaining``. ``celosia.testing.check_accountant`` tests it.

Two kinds must not be confused. A sum (of epsilon, rho, Rényi divergences, squares of mu) stays a bound when events are
chosen after seeing answers, as long as a *filter* with a limit fixed beforehand stops the spending; these accountants
are ``AdaptiveAccountant``. A numerical composition is a bound for a list that was declared beforehand: the decision to
go on because the bound still looks small is itself information about the data (Rogers, Roth, Ullman and Vadhan 2016).
Filters take only the first kind.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, ClassVar, Self

from celosia.accounting.prices.simplify import leaves
from celosia.core import (
    AddRemove,
    Adjacency,
    ApproxDP,
    Event,
    Guarantee,
    GuaranteeMismatchError,
    NotPricedError,
    ParameterError,
)
from celosia.core.exact import (
    Exact,
    exact,
    exact_integer,
    exact_non_negative,
    field_names,
    format_exact,
    refuse_same_changes,
    safe_repr,
    short_at_least,
)
from celosia.core.record import Record

_MAX_EPSILON = 1e18  # where the search for an epsilon ends
_MIN_PARAMETER, _MAX_PARAMETER = Fraction(2) ** -500, Fraction(2) ** 200  # squares and quotients stay doubles
_MAX_TIMES = 2**62  # of one event


class Accountant(ABC):
    """A list of events and their common price; see ``ZCDPAccountant`` and its siblings.

    >>> from celosia.accounting import PureAccountant
    >>> from celosia.core import LaplaceEvent
    >>> PureAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=5).epsilon()
    0.5
    """

    name: ClassVar[str]
    """The name in messages; the table of ``best`` uses names of theorems instead."""

    __slots__ = ("_adjacency", "_counts", "_prices", "_unit")

    def __init__(self) -> None:
        self._counts: dict[Event, int] = {}
        self._prices: dict[Event, Any] = {}
        self._adjacency: Adjacency | None = None
        self._unit: str | None = None

    def spend(self, event: Event, times: int = 1) -> Self:
        """Add an event, ``times`` times, and return the accountant, or raise ``NotPricedError``.

        >>> from celosia.accounting import ZCDPAccountant
        >>> from celosia.core import GaussianEvent
        >>> ZCDPAccountant().spend(GaussianEvent(variance=1, sensitivity_squared=1), times=2).guarantee()
        ZCDP(rho=1)
        """
        if not isinstance(event, Event):
            raise ParameterError("core.not_a_mechanism_event", value=safe_repr(event))
        times = exact_integer(times, name="times")
        self._check_scope(event)
        added = {leaf: self._counts.get(leaf, 0) + number * times for leaf, number in leaves(event)}
        if (most := max(added.values())) > _MAX_TIMES:
            raise ParameterError("accounting.too_many_times", found=most)
        for leaf in added:
            if leaf not in self._prices:
                _check_sizes(leaf)
                self._prices[leaf] = self.price(leaf)
        self._counts.update(added)
        self._adjacency, self._unit = event.adjacency, event.unit
        return self

    def _check_scope(self, event: Event) -> None:
        refuse_same_changes(event.adjacency, "accounting.same_changes_spent")
        if self._adjacency is not None and event.adjacency is not self._adjacency:
            raise GuaranteeMismatchError(
                "accounting.event_adjacency_differs",
                adjacency=repr(self._adjacency),
                event_adjacency=repr(event.adjacency),
            )
        if self._unit is not None and event.unit != self._unit:
            raise GuaranteeMismatchError(
                "accounting.event_unit_differs", unit=repr(self._unit), event_unit=repr(event.unit)
            )

    @property
    def events(self) -> tuple[tuple[Event, int], ...]:
        """The simplified events, each with its count."""
        return tuple(self._counts.items())

    @property
    def prices(self) -> tuple[tuple[Any, int], ...]:
        """The price of each event, with the event's count."""
        return tuple((self._prices[event], times) for event, times in self._counts.items())

    @abstractmethod
    def price(self, event: Event) -> Any:
        """Return the price of one event, or raise ``NotPricedError``; called once per event."""

    @abstractmethod
    def epsilon(self, delta: Exact) -> float:
        """Return the smallest epsilon, rounded up, that holds with ``delta``."""

    @abstractmethod
    def delta(self, epsilon: Exact) -> float:
        """Return the smallest delta, rounded up, that holds with ``epsilon``."""

    def guarantee(self, *, delta: Exact | None = None, epsilon: Exact | None = None) -> Guarantee:
        """Return the guarantee of all events together at a given ``delta``, or at a given ``epsilon``.

        >>> from celosia.accounting import PLDAccountant
        >>> from celosia.core import LaplaceEvent
        >>> PLDAccountant().spend(LaplaceEvent(scale=1, sensitivity=1)).guarantee(epsilon=1).epsilon
        Fraction(1, 1)
        """
        if (delta is None) == (epsilon is None):
            raise ParameterError("accounting.not_one_of_delta_epsilon", name=self.name)
        if delta is not None:
            return self.with_scope(ApproxDP(epsilon=self.epsilon(delta), delta=delta))
        return self.with_scope(ApproxDP(epsilon=exact_bound(epsilon), delta=self.delta(exact_bound(epsilon))))

    def with_scope(self, guarantee: Guarantee) -> Guarantee:
        """Return the guarantee with the adjacency and the unit of the events."""
        return dataclasses.replace(guarantee, adjacency=self._adjacency or AddRemove, unit=self._unit or "row")

    def __copy__(self) -> Self:
        """Return an independent accountant with the same events."""
        twin = object.__new__(type(self))
        for kind in type(self).__mro__:
            for slot in getattr(kind, "__slots__", ()):
                setattr(twin, slot, getattr(self, slot))
        twin._counts, twin._prices = dict(self._counts), dict(self._prices)
        return twin

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {sum(self._counts.values())} events>"


def _check_sizes(value: object) -> None:
    """Refuse numbers so large or small that computations in doubles would overflow."""
    if isinstance(value, Record):
        for name in field_names(type(value)):
            _check_sizes(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            _check_sizes(item)
    elif isinstance(value, Fraction | int) and value != 0 and not _is_moderate(value):
        shown = safe_repr(format_exact(Fraction(value)))
        raise NotPricedError("accounting.parameter_too_extreme", value=shown)


def _is_moderate(value: Fraction | int) -> bool:
    bits = (
        value.numerator.bit_length() - value.denominator.bit_length()
    )  # the size is within 2**(bits-1) and 2**(bits+1)
    return -499 <= bits <= 199 or _MIN_PARAMETER <= abs(Fraction(value)) <= _MAX_PARAMETER


class AdaptiveAccountant(Accountant):
    """An accountant whose total is a sum: a filter may use it while events are still being chosen.

    >>> from celosia.accounting import GDPAccountant, PLDAccountant
    >>> issubclass(GDPAccountant, AdaptiveAccountant), issubclass(PLDAccountant, AdaptiveAccountant)
    (True, False)
    """

    __slots__ = ()

    @abstractmethod
    def total(self) -> Guarantee:
        """Return the sum in the accountant's own kind of guarantee."""

    @abstractmethod
    def limit(self, budget: Guarantee) -> Guarantee:
        """Return the largest sum that a budget allows, or raise ``GuaranteeMismatchError``. Filters call it once."""

    @abstractmethod
    def remaining(self, limit: Guarantee) -> Guarantee:
        """Return the difference between a limit and the sum, at least 0."""

    def spent(self, limit: Guarantee) -> Guarantee:  # noqa: ARG002 - for accountants of several sums
        """Return the spent part of a limit, in the accountant's own kind of guarantee."""
        return self.total()

    def cost(self, limit: Guarantee) -> Guarantee:  # noqa: ARG002 - likewise
        """Return the cost of the events as the first ones under a limit."""
        return self.total()

    def forget(self) -> bool:
        """Drop the list of events and return True, or return False if the sums need it."""
        return False

    def is_within(self, limit: Guarantee, budget: Guarantee) -> bool:  # noqa: ARG002 - for several orders
        """Return whether the sum is within a limit that was made from a budget."""
        return self.total() <= limit

    def budget_error(self, budget: Guarantee) -> GuaranteeMismatchError:
        """Return the error of a budget for which the accountant has no limit."""
        return GuaranteeMismatchError("accounting.no_limit_for_budget", name=self.name, budget=repr(budget))

    def guarantee(self, *, delta: Exact | None = None, epsilon: Exact | None = None) -> Guarantee:
        """Return the sum itself, or the epsilon and delta that it implies.

        >>> from celosia.accounting import ZCDPAccountant
        >>> from celosia.core import GaussianEvent
        >>> spent = ZCDPAccountant().spend(GaussianEvent(variance=50, sensitivity_squared=1))
        >>> spent.guarantee(), float(spent.guarantee(delta="1e-6").epsilon) < 0.7
        (ZCDP(rho='0.01'), True)
        """
        if delta is None and epsilon is None:
            return self.with_scope(self.total())
        return super().guarantee(delta=delta, epsilon=epsilon)


def exact_delta(delta: Exact, *, positive: bool = True) -> Fraction:
    """Return a valid delta as a fraction: less than 1, and above 0 if ``positive``."""
    value = exact(delta, name="delta")
    if not (0 < value < 1 or (value == 0 and not positive)):
        code = "accounting.delta_not_positive" if positive else "accounting.delta_out_of_range"
        raise ParameterError(code, delta=safe_repr(delta))
    return value


def exact_bound(epsilon: Exact | None) -> Fraction:
    """Return a valid epsilon as a fraction: 0 or greater."""
    if epsilon is None:
        raise ParameterError("accounting.epsilon_missing")
    return exact_non_negative(epsilon, name="epsilon")


def add_up(prices: Iterable[tuple[Fraction, int]]) -> Fraction:
    """Return the sum of prices, each times its number, rounded up where it is too long to store."""
    total = Fraction(0)
    for price, times in prices:
        total = short_at_least(total + short_at_least(times * price))
    return total


def least_epsilon(delta_at: Callable[[float], float], delta: float) -> float:
    """Return nearly the least epsilon whose delta is at most ``delta``, for a delta that falls with epsilon."""
    if delta_at(0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_at(high) > delta:
        high *= 2
        if high > _MAX_EPSILON:
            raise NotPricedError("accounting.delta_out_of_reach", delta=delta)
    low = high / 2 if high > 1 else 0.0
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high
