"""What the log means: policies, and what every analyst has spent on every data set.

A state is made of lines alone, in their order, and each line is checked against the hash of the one before. It is kept
between questions and fed with the lines that others wrote since, so that a question costs the same whatever the length
of the log. Equal events are counted, not listed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from celosia.core.errors import CelosiaError, FormatError, LedgerError
from celosia.core.events import Event
from celosia.ledger.budgets.policy import Policy
from celosia.ledger.budgets.policy_json import policy_from_json
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.budgets.spend_tracker import SpendTracker
from celosia.ledger.log.chain import GENESIS, JSON, canonical, moment
from celosia.ledger.log.lines import Raw

FORMAT: Final = 1
"""The version of the log's lines that is written here."""

_MOST_EVENTS: Final = 4_096  # different events whose JSON is kept in mind


@dataclass(frozen=True, slots=True)
class Charge:
    """Who pays for a line: the data set and the analyst, or for an answer that is repeated the analyst alone.

    ``event`` is the event's canonical JSON: equal events are equal texts.
    """

    dataset: str
    analyst: str | None
    event: str
    whole: bool

    def falls_into(self, scope: Scope) -> bool:
        """Tell whether a scope is charged."""
        if scope.analyst is None:
            return self.whole and scope.dataset == self.dataset
        return scope.analyst == self.analyst and scope.dataset in (None, self.dataset)


class State:
    """The log up to a line."""

    def __init__(self) -> None:
        self.sequence = 0
        self.hash = GENESIS
        self.at = ""
        self.policies: dict[Scope, Policy] = {}
        self._first: dict[Scope, Policy] = {}  # under which something was spent first
        self._spent: dict[tuple[str, str | None, bool], dict[str, int]] = {}
        self._meters: dict[Scope, SpendTracker] = {}
        self._windows: dict[Scope, tuple[datetime, SpendTracker]] = {}
        self._events: dict[str, Event] = {}

    def feed(self, lines: Iterable[Raw]) -> None:
        """Take in the lines that follow; one that does not follow is refused."""
        for line in lines:
            self._check(line)
            try:
                self._take(line)
            except LedgerError:
                raise
            except (CelosiaError, ValueError, TypeError, LookupError, RecursionError) as error:
                raise LedgerError(
                    f"Line {line.sequence} of the log cannot be understood; is it of a newer release?"
                ) from error
            self.sequence, self.hash, self.at = line.sequence, line.hash, line.at

    def _check(self, line: Raw) -> None:
        follows = line.sequence == self.sequence + 1 and line.previous == self.hash and line.at >= self.at
        if not follows or not line.holds or (line.kind == "opened") != (line.sequence == 1):
            raise LedgerError(
                f"Line {self.sequence + 1} of the log was changed, or does not follow from the one before."
                if line.sequence <= self.sequence + 1
                else f"Line {self.sequence + 1} of the log is missing."
            )

    def _take(self, line: Raw) -> None:
        if line.kind == "opened":
            if json.loads(line.body)["format"] != FORMAT:
                raise LedgerError("The ledger was written by a newer release of Celosía: install that one.")
        elif line.kind == "budget":
            self._set_policy(json.loads(line.body))
        elif (charge := charge_of(line)) is not None:
            self._count(charge, line.at)

    def event(self, text: str) -> Event:
        """Return the event that the log wrote down; one that is not understood cannot be priced."""
        event = self._events.get(text)
        if event is None:
            if len(self._events) >= _MOST_EVENTS:
                self._events.clear()
            try:
                event = self._events[text] = Event.from_json(text)
            except FormatError as error:
                raise LedgerError("The log holds an event that is not understood; is it of a newer release?") from error
        return event

    def _set_policy(self, body: dict[str, JSON]) -> None:
        dataset, analyst = body["dataset"], body["analyst"]
        scope = Scope(
            dataset=None if dataset is None else str(dataset), analyst=None if analyst is None else str(analyst)
        )
        policy = policy_from_json(body["policy"])
        self._first[scope] = self._first_policy(scope, policy)
        self.policies[scope] = policy
        self._meters.pop(scope, None)
        self._windows.pop(scope, None)

    def _first_policy(self, scope: Scope, policy: Policy) -> Policy:
        first = self._first.get(scope)
        return policy if first is None or first.accountant != policy.accountant or not self.charged(scope) else first

    def _count(self, charge: Charge, at: str) -> None:
        spent = self._spent.setdefault((charge.dataset, charge.analyst, charge.whole), {})
        spent[charge.event] = spent.get(charge.event, 0) + 1
        for scope, meter in self._meters.items():
            if charge.falls_into(scope):
                meter.count(self.event(charge.event))
        for scope, (start, meter) in list(self._windows.items()):
            window = self.policies[scope].window
            if window is None or at >= moment(window.end(start)):
                del self._windows[scope]
            elif charge.falls_into(scope):
                meter.count(self.event(charge.event))

    def charged(self, scope: Scope) -> Mapping[str, int]:
        """Return what a scope was charged with: events as JSON, each with its number."""
        counted: dict[str, int] = {}
        for (dataset, analyst, whole), spent in self._spent.items():
            if Charge(dataset, analyst, "", whole).falls_into(scope):
                for event, times in spent.items():
                    counted[event] = counted.get(event, 0) + times
        return counted

    def meter(self, scope: Scope) -> SpendTracker:
        """Return what a scope that has a policy spent for good."""
        if scope not in self._meters:
            self._meters[scope] = self.fresh_meter(scope, self.policies[scope])
        return self._meters[scope]

    def fresh_meter(self, scope: Scope, policy: Policy) -> SpendTracker:
        """Return what a scope has spent, under a policy that it may get."""
        # A limit may be changed later; orders that are chosen anew by a limit would use parts of delta twice.
        meter = SpendTracker(partial(policy.open, self._first_policy(scope, policy).limit), str(policy.accountant))
        for event, times in self.charged(scope).items():
            meter.count(self.event(event), times)
        return meter

    def window(self, scope: Scope, at: datetime, since: Callable[[datetime], Iterator[Raw]]) -> SpendTracker | None:
        """Return what a scope has spent in the window that holds a moment; ``since`` gives the lines from one on."""
        policy = self.policies[scope]
        if policy.window is None:
            return None
        start = policy.window.start(at)
        known = self._windows.get(scope)
        if known is not None and known[0] == start:
            return known[1]
        meter = SpendTracker(policy.open_window, str(policy.accountant))
        for line in since(start):
            charge = charge_of(line)
            if charge is not None and line.sequence <= self.sequence and charge.falls_into(scope):
                meter.count(self.event(charge.event))
        self._windows[scope] = (start, meter)
        return meter


def charge_of(line: Raw) -> Charge | None:
    """Return what a line charges, if anything."""
    if line.kind not in ("reserved", "repeated"):
        return None
    body = json.loads(line.body)
    if line.kind == "repeated" and not body["charged"]:
        return None
    return Charge(body["dataset"], body["analyst"], canonical(body["event"]), whole=line.kind == "reserved")
