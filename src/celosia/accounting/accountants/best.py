"""The smallest epsilon that any accountant can prove, for a list of events that is declared beforehand.

Each accountant's answer is a bound, so the smallest one is. This holds for a batch or a training run whose events are
known before the first answer; it must not decide whether to go on (see ``filters``): choosing the accountant afterwards
and stopping by its answer would let the data choose. Central-limit values are not bounds and are not used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from celosia.accounting.accountants.base import Accountant, exact_delta
from celosia.accounting.accountants.classical import AdvancedAccountant, BasicAccountant, PureAccountant
from celosia.accounting.accountants.numerical import PLDAccountant
from celosia.accounting.accountants.sums import GDPAccountant, RenyiAccountant, ZCDPAccountant
from celosia.core import ApproxDP, ComposedEvent, Event, NotPricedError, ParameterError
from celosia.core.exact import Exact, safe_repr

ACCOUNTANTS: Mapping[str, type[Accountant]] = {
    "basic": BasicAccountant,
    "optimal": PureAccountant,
    "advanced": AdvancedAccountant,
    "zcdp": ZCDPAccountant,
    "renyi": RenyiAccountant,
    "gdp": GDPAccountant,
    "pld": PLDAccountant,
}
"""The accountants that ``best`` tries, in the order of display."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The smallest epsilon at ``delta``, its accountant, and the epsilon of every accountant (or None).

    >>> from celosia.core import LaplaceEvent, RepeatedEvent
    >>> answer = best(RepeatedEvent(event=LaplaceEvent(scale=10, sensitivity=1), times=10), delta="1e-6")
    >>> answer.epsilons["basic"], answer.epsilon <= 1
    (1.0, True)
    """

    epsilon: float
    delta: Fraction
    accountant: str
    epsilons: dict[str, float | None]
    event: Event = field(repr=False)

    @property
    def guarantee(self) -> ApproxDP:
        """The smallest epsilon as a guarantee, for the neighbours and the unit of the events."""
        return ApproxDP(epsilon=self.epsilon, delta=self.delta, adjacency=self.event.adjacency, unit=self.event.unit)


def best(events: Event | Sequence[Event], delta: Exact) -> Best:
    """Price events with every accountant and return the smallest epsilon at ``delta``.

    >>> from celosia.core import GaussianEvent
    >>> best(GaussianEvent(variance=16, sensitivity_squared=1), delta="1e-6").accountant
    'pld'
    """
    event = _one(events)
    allowed = exact_delta(delta)
    epsilons: dict[str, float | None] = {}
    for name, kind in ACCOUNTANTS.items():
        try:
            epsilons[name] = kind().spend(event).epsilon(allowed)
        except NotPricedError:
            epsilons[name] = None
    known = {name: epsilon for name, epsilon in epsilons.items() if epsilon is not None}
    if not known:
        raise NotPricedError("accounting.no_accountant_prices_event", type=type(event).__name__, delta=safe_repr(delta))
    # The simplest accountant wins a tie: its proof is the shortest.
    winner = min(known, key=lambda name: known[name])
    return Best(epsilon=known[winner], delta=allowed, accountant=winner, epsilons=epsilons, event=event)


def _one(events: Event | Sequence[Event]) -> Event:
    if isinstance(events, Event):
        return events
    if not isinstance(events, list | tuple) or not events:
        raise ParameterError("accounting.not_events", events=safe_repr(events))
    return events[0] if len(events) == 1 else ComposedEvent(events=events)
