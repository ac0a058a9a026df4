"""The conformance kit for accountants: the laws of composition, and soundness of the bounds.

The laws need no theory: order does not matter, ``times=3`` is three calls, more never costs less, a refused event
changes nothing. The bounds are compared with mechanisms given as tables (``witnesses``), whose compositions are
multiplied out. A pass is evidence, never a proof: another event, or a longer composition, could still be priced
wrongly.
"""

import contextlib
import copy
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from celosia.accounting import Accountant
from celosia.core import (
    AddRemove,
    ComposedEvent,
    ConformanceError,
    Event,
    GroupEvent,
    GuaranteeMismatchError,
    NotPricedError,
    ParallelEvent,
    ParameterError,
    PostProcessedEvent,
    RepeatedEvent,
    ReplaceOne,
)
from celosia.core.exact import safe_repr
from celosia.testing.mechanism import Check
from celosia.testing.witnesses import Witness, divergence, witnesses

_DELTAS = (0.1, 1e-3, 1e-6, 1e-9)
_EPSILONS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_TIMES = 3
_ROUNDING = 1e-12  # of the multiplied tables, relative and absolute
_MIN_DELTA, _MAX_DELTA = 1e-250, 0.99  # deltas beyond are not inverted: rounding dominates there
_BAD_DELTAS = (-0.1, 1, 2, math.nan, math.inf, "x", True, None)
_BAD_EPSILONS = (-1, math.nan, math.inf, "x", True)
_BAD_TIMES = (0, -1, 1.5, "2", True, None)
_BAD_EVENTS = (None, 1, "LaplaceEvent")


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class _UnknownEvent(Event):
    """An event without any price."""

    def __init__(self) -> None:
        self._set_scope(AddRemove, "row", "integer")


def check_accountant(
    make: Callable[[], Accountant],
    *,
    events: Sequence[Event] | None = None,
    tables: Sequence[Witness] | None = None,
    tolerance: float = 1e-6,
) -> tuple[Check, ...]:
    """Return the checks that an accountant passed, or raise ``ConformanceError`` naming the one that it failed.

    Parameters
    ----------
    make
        Makes a new accountant that has spent nothing, such as the class itself.
    events
        The events for the laws; those of the tables when left out. Events that the accountant refuses with
        ``NotPricedError`` are left aside, but it must price one.
    tables
        The tables that its answers must cover: see ``Witness``. The kit's own when left out.
    tolerance
        The relative difference allowed between two answers that should be equal. An answer below the truth always
        fails.

    Examples
    --------
    >>> from celosia.accounting import ZCDPAccountant
    >>> [check.name for check in check_accountant(ZCDPAccountant, tables=witnesses()[:6])]
    ['new', 'bad input', 'refusals', 'repetition', 'order', 'growth', 'inverses', 'structures', 'soundness']
    """
    known = witnesses() if tables is None else tuple(tables)
    tried = [witness.event for witness in known] if events is None else list(events)
    kit = _Kit(make, tolerance)
    priced = kit.select_priced(tried)
    if not priced:
        raise ParameterError("testing.no_priced_events")
    return (
        Check(name="new", found=kit.check_new(priced[0])),
        Check(name="bad input", found=kit.check_bad_input(priced[0])),
        Check(name="refusals", found=kit.check_refusals(priced[0])),
        Check(name="repetition", found=kit.check_repetition(priced)),
        Check(name="order", found=kit.check_order(priced)),
        Check(name="growth", found=kit.check_growth(priced)),
        Check(name="inverses", found=kit.check_inverses(priced)),
        Check(name="structures", found=kit.check_structures(priced)),
        Check(name="soundness", found=kit.check_soundness(known)),
    )


def _fail(check: str, finding: str) -> None:
    raise ConformanceError("testing.accountant_check_failed", check=check, finding=finding)


def _pairs(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Yield each event with the next one for the same neighbours and the same unit."""
    scopes = dict.fromkeys((event.adjacency, event.unit) for event in events)
    for scope in scopes:
        yield from pairwise(event for event in events if (event.adjacency, event.unit) == scope)


class _Kit:
    """The checks, for one way of making accountants."""

    def __init__(self, make: Callable[[], Accountant], tolerance: float) -> None:
        self._make = make
        self._tolerance = tolerance
        self._known: dict[tuple[Event, ...], list[float]] = {}

    def select_priced(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that the accountant does not refuse."""
        kept = []
        for event in events:
            with contextlib.suppress(NotPricedError):
                self._make().spend(event)
                kept.append(event)
        return kept

    def _price(self, *events: Event) -> list[float]:
        """Return the answers of a new accountant that spends the events in this order; they are computed once."""
        if events not in self._known:
            accountant = self._make()
            for event in events:
                accountant.spend(event)
            self._known[events] = self._answers(accountant)
        return self._known[events]

    def _answers(self, accountant: Accountant) -> list[float]:
        """Return epsilons and deltas, infinity where there is none."""
        return [
            *(self._epsilon(accountant, delta) for delta in _DELTAS),
            *(accountant.delta(epsilon) for epsilon in _EPSILONS),
        ]

    @staticmethod
    def _epsilon(accountant: Accountant, delta: float) -> float:
        try:
            return accountant.epsilon(delta)
        except NotPricedError:
            return math.inf

    def _equal(self, check: str, what: str, one: list[float], other: list[float]) -> None:
        for a, b in zip(one, other, strict=True):
            if not math.isclose(a, b, rel_tol=self._tolerance, abs_tol=_ROUNDING):
                _fail(check, f"{what} cost {a!r} and {b!r}, which should be the same")

    def _at_most(self, check: str, what: str, less: list[float], more: list[float]) -> None:
        for a, b in zip(less, more, strict=True):
            if a > b * (1 + self._tolerance) + _ROUNDING:
                _fail(check, f"{what} cost {a!r}, which is more than {b!r}")

    def check_new(self, event: Event) -> str:
        """A new accountant costs nothing, and no two accountants share their events."""
        new, used = self._make(), self._make().spend(event)
        if new is used or new.events != () or self._make().events != ():
            _fail("new", "make must return an accountant that has spent nothing, a new one each time")
        if any(answer != 0 for answer in self._answers(new)):
            _fail("new", "an accountant that has spent nothing has a cost")
        twin = copy.copy(used)
        twin.spend(event)
        if twin.events == used.events:
            _fail("new", "spending by a copy changes the original")
        return "costs nothing"

    def check_bad_input(self, event: Event) -> str:
        """Invalid arguments are refused, and change nothing."""
        accountant = self._make().spend(event)
        before = accountant.events
        calls = (
            *((accountant.epsilon, (delta,)) for delta in _BAD_DELTAS),
            *((accountant.delta, (epsilon,)) for epsilon in _BAD_EPSILONS),
            *((accountant.spend, (event, times)) for times in _BAD_TIMES),
            *((accountant.spend, (value,)) for value in _BAD_EVENTS),
        )
        for call, arguments in calls:
            try:
                found = call(*arguments)  # type: ignore[operator]
            except ParameterError:
                continue
            _fail("bad input", f"{call.__name__}({', '.join(map(safe_repr, arguments))}) returned {found!r}")
        if accountant.events != before:
            _fail("bad input", "what was refused was spent all the same")
        return f"{len(calls)} calls refused"

    def check_refusals(self, event: Event) -> str:
        """Events without a price, or of another scope, are refused as a whole and change nothing."""
        accountant = self._make().spend(event)
        before = accountant.events, self._answers(accountant)
        refused: list[tuple[Event, type[Exception]]] = []
        if event.adjacency is AddRemove and event.unit == "row":
            unknown = _UnknownEvent()
            refused += [(unknown, NotPricedError), (ComposedEvent(events=(event, unknown)), NotPricedError)]
        # A structure has the scope of its parts, and cannot be given another one.
        with contextlib.suppress(TypeError, ParameterError, GuaranteeMismatchError):
            refused.append((dataclasses.replace(event, unit=f"{event.unit} of another kind"), GuaranteeMismatchError))
        with contextlib.suppress(TypeError, ParameterError, GuaranteeMismatchError):
            other = ReplaceOne if event.adjacency is AddRemove else AddRemove
            refused.append((dataclasses.replace(event, adjacency=other), GuaranteeMismatchError))
        for bad, kind in refused:
            try:
                accountant.spend(bad)
            except kind:
                continue
            _fail("refusals", f"{bad} was spent beside {event}, where {kind.__name__} was due")
        if (accountant.events, self._answers(accountant)) != before:
            _fail("refusals", "what was refused was spent all the same")
        return f"{len(refused)} events refused"

    def check_repetition(self, events: Sequence[Event]) -> str:
        """``times=n`` equals n calls, and one repeated event."""
        for event in events:
            at_once = self._answers(self._make().spend(event, times=_TIMES))
            one_by_one, as_one = self._price(*[event] * _TIMES), self._price(RepeatedEvent(event=event, times=_TIMES))
            self._equal("repetition", f"{event} {_TIMES} times at once and one by one", at_once, one_by_one)
            self._equal("repetition", f"{event} {_TIMES} times at once and as one event", at_once, as_one)
        return f"{len(events)} events"

    def check_order(self, events: Sequence[Event]) -> str:
        """The order of spending does not matter, nor whether a list is one event."""
        pairs = list(_pairs(events))
        for one, other in pairs:
            forth, back = self._price(one, other), self._price(other, one)
            self._equal("order", f"{one} and {other} in either order", forth, back)
            whole = self._price(ComposedEvent(events=(one, other)))
            self._equal("order", f"{one} and {other}, apart and as one event,", forth, whole)
        return f"{len(pairs)} pairs"

    def check_growth(self, events: Sequence[Event]) -> str:
        """Spending more never costs less; a larger delta or epsilon never makes the other one larger."""
        for one, other in _pairs(events):
            self._at_most("growth", f"{one} without {other}", self._price(one), self._price(one, other))
        for event in events:
            answers = self._price(event)
            epsilons, deltas = answers[: len(_DELTAS)], answers[len(_DELTAS) :]
            for less, more in (*pairwise(epsilons), *pairwise(reversed(deltas))):
                if less > more * (1 + self._tolerance) + _ROUNDING:
                    _fail("growth", f"for {event} a smaller delta or epsilon gives {more!r}, a larger one {less!r}")
            if not all(0 <= delta <= 1 for delta in deltas) or not all(epsilon >= 0 for epsilon in epsilons):
                _fail("growth", f"for {event} the answers {answers} are no epsilons and deltas")
        return f"{len(events)} events"

    def check_inverses(self, events: Sequence[Event]) -> str:
        """At the epsilon of a delta there is no larger delta, and the other way round."""
        for event in events:
            accountant = self._make().spend(event, times=_TIMES)
            for delta in _DELTAS:
                epsilon = self._epsilon(accountant, delta)
                # An error in epsilon is many times as large in delta: forgiven where it is made, in epsilon.
                if epsilon < math.inf and accountant.delta(epsilon * (1 + self._tolerance)) > delta * (1 + 1e-9):
                    _fail("inverses", f"{event} has epsilon {epsilon!r} at delta {delta!r}, but there a larger delta")
            for epsilon in _EPSILONS:
                delta = accountant.delta(epsilon)
                if (
                    _MIN_DELTA < delta < _MAX_DELTA
                    and self._epsilon(accountant, delta) > epsilon * (1 + self._tolerance) + 1e-9
                ):
                    _fail("inverses", f"{event} has delta {delta!r} at epsilon {epsilon!r}, but there a larger epsilon")
        return f"{len(events)} events"

    def check_structures(self, events: Sequence[Event]) -> str:
        """Post-processing is free, a group of one costs the same, parallel costs no more than sequential."""
        for event in events:
            plain, processed = self._price(event), self._price(PostProcessedEvent(event=event, by="rounding"))
            self._equal("structures", f"{event} and its answer rounded", plain, processed)
            alone = self._price(GroupEvent(event=event, size=1))
            self._equal("structures", f"{event} and its group of 1", plain, alone)
        # Compositions are left aside: a part of a partition has one price, where a list may be composed more tightly.
        # Parts are fixed: else a replaced unit changes two of them, which costs as much as one by one.
        single = [event for event in events if sum(times for _, times in self._make().spend(event).events) == 1]
        for one, other in _pairs(single):
            beside = self._price(ParallelEvent(events=(one, other), fixed=True))
            self._at_most("structures", f"{one} beside {other}", beside, self._price(one, other))
        return f"{len(events)} events"

    def check_soundness(self, tables: Sequence[Witness]) -> str:
        """No answer is below the truth of the multiplied tables."""
        known = [table for table in tables if self.select_priced([table.event])]
        chosen = [[table] for table in known] + [[table] * _TIMES for table in known]
        for one, other in pairwise(known):
            if (one.event.adjacency, one.event.unit) == (other.event.adjacency, other.event.unit):
                chosen.append([one, other])
        for parts in chosen:
            self._check_bound(parts)
        return f"{len(chosen)} compositions"

    def _check_bound(self, parts: list[Witness]) -> None:
        answers = self._price(*(part.event for part in parts))
        epsilons, deltas = answers[: len(_DELTAS)], answers[len(_DELTAS) :]
        bounds = [*zip(_EPSILONS, deltas, strict=True), *zip(epsilons, _DELTAS, strict=True)]
        for epsilon, delta in bounds:
            truth = divergence(parts, epsilon) if epsilon < math.inf else 0.0
            if truth > delta * (1 + _ROUNDING) + _ROUNDING:
                events = " and ".join(str(part.event) for part in parts)
                _fail(
                    "soundness", f"at epsilon {epsilon!r} delta is said to be {delta!r} but is {truth!r}, for {events}"
                )
