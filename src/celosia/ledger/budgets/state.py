"""The state of a log: its policies, and what every analyst has spent on every data set.

A state follows from the lines alone, in their order; each line is checked against the hash of the one before. The
process keeps it between queries and applies the lines that others wrote since, so that a query costs the same whatever
the length of the log. Equal events are counted, not listed.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

from celosia.core.errors import CelosiaError, FormatError, LedgerError
from celosia.core.events import Event
from celosia.core.strict_json import read_json
from celosia.ledger.budgets.policy import Policy
from celosia.ledger.budgets.policy_json import policy_from_json
from celosia.ledger.budgets.release_kind import RELEASE_KINDS, ReleaseKind, read_kind
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.budgets.spend_tracker import SpendTracker
from celosia.ledger.log.bodies import Body, read_body
from celosia.ledger.log.chain import GENESIS, JSON, format_timestamp, line_hash
from celosia.ledger.log.lines import StoredLine

FORMAT: Final = 1
"""The format version of the log's lines."""

_MAX_CACHED_EVENTS: Final = 4_096  # parsed events, by their JSON


class Charge(NamedTuple):
    """Who pays for a line: the data set and the analyst, or for a repeated answer the analyst alone.

    ``event`` is the event's canonical JSON: equal events are equal strings.
    """

    dataset: str
    analyst: str | None
    event: str
    charges_dataset: bool
    kind: ReleaseKind = "query"

    def applies_to(self, scope: Scope) -> bool:
        """Return whether a scope is charged."""
        if scope.analyst is None:
            return self.charges_dataset and scope.dataset == self.dataset
        return scope.analyst == self.analyst and scope.dataset in (None, self.dataset)


class LogState:
    """The state of the log up to a line."""

    def __init__(self) -> None:
        self.sequence = 0
        self.hash = GENESIS
        self.at = ""
        self.policies: dict[Scope, Policy] = {}
        self._first: dict[Scope, Policy] = {}  # the policies of the first spending
        self._spent: dict[tuple[str, str | None, bool, ReleaseKind], dict[str, int]] = {}
        self._trackers: dict[tuple[Scope, ReleaseKind | None], SpendTracker] = {}  # None: of all kinds
        self._windows: dict[Scope, tuple[datetime, SpendTracker]] = {}
        self._events: dict[str, Event] = {}

    def apply(self, lines: Iterable[StoredLine]) -> None:
        """Apply the next lines; refuse a line that does not follow."""
        deque(self.follow(lines), maxlen=0)

    def follow(self, lines: Iterable[StoredLine]) -> Iterator[tuple[StoredLine, Body | None]]:
        """Apply the next lines, and yield each with the body of a reservation; refuse a line that does not follow."""
        for line in lines:
            sequence, at, kind, text, previous, digest = line
            if (
                type(at) is not str  # SQLite keeps a value of any type in a column of strings
                or type(kind) is not str
                or sequence != self.sequence + 1
                or previous != self.hash
                or at < self.at
                or digest != line_hash(sequence=sequence, at=at, kind=kind, body=text, previous=previous)
                or (kind == "opened") != (sequence == 1)
            ):
                code = "ledger.line_changed" if sequence <= self.sequence + 1 else "ledger.line_missing"
                raise LedgerError(code, line=self.sequence + 1)
            body = None
            try:
                if kind in ("reserved", "repeated"):
                    body = read_body(kind, text)
                    self._count(_make_charge(kind, body[0]), at)
                elif kind in ("budget", "opened"):
                    self._set(kind, read_json(text))
            except LedgerError:
                raise
            except (CelosiaError, ValueError, TypeError, LookupError, RecursionError) as error:
                raise LedgerError("ledger.line_not_understood", sequence=sequence) from error
            self.sequence, self.hash, self.at = sequence, digest, at
            yield line, body

    def event(self, text: str) -> Event:
        """Parse an event of the log; an unknown event cannot be priced."""
        event = self._events.get(text)
        if event is None:
            if len(self._events) >= _MAX_CACHED_EVENTS:
                self._events.clear()
            try:
                event = self._events[text] = Event.from_json(text)
            except FormatError as error:
                raise LedgerError("ledger.event_not_understood") from error
        return event

    def _set(self, kind: str, body: dict[str, JSON]) -> None:
        if kind == "budget":
            self._set_policy(body)
        elif body["format"] != FORMAT:
            raise LedgerError("ledger.newer_ledger_format")

    def _set_policy(self, body: dict[str, JSON]) -> None:
        dataset, analyst = body["dataset"], body["analyst"]
        scope = Scope(
            dataset=None if dataset is None else str(dataset), analyst=None if analyst is None else str(analyst)
        )
        policy = policy_from_json(body["policy"])
        self._first[scope] = self._first_policy(scope, policy)
        self.policies[scope] = policy
        for tracked in [one for one in self._trackers if one[0].dataset == scope.dataset]:  # shares of it as well
            del self._trackers[tracked]
        self._windows.pop(scope, None)

    def _first_policy(self, scope: Scope, policy: Policy) -> Policy:
        if scope not in self.policies and self.policy(scope) == policy:
            # A share has no line of its own. Before its first spending, the data set's first policy is settled as well.
            return self._first[Scope(dataset=scope.dataset)]
        first = self._first.get(scope)
        return policy if first is None or first.accountant != policy.accountant or not self.charges(scope) else first

    def _count(self, charge: Charge | None, at: str) -> None:
        if charge is None:
            return
        spent = self._spent.setdefault((charge.dataset, charge.analyst, charge.charges_dataset, charge.kind), {})
        spent[charge.event] = spent.get(charge.event, 0) + 1
        for (scope, kind), tracker in self._trackers.items():
            if kind in (None, charge.kind) and charge.applies_to(scope):
                tracker.count(self.event(charge.event))
        for scope, (start, tracker) in list(self._windows.items()):
            window = self.policies[scope].window
            if window is None or at >= format_timestamp(window.end(start)):
                del self._windows[scope]
            elif charge.applies_to(scope):
                tracker.count(self.event(charge.event))

    def policy(self, scope: Scope) -> Policy | None:
        """Return the policy of a scope: its own, or an analyst's share of a data set; None if there is neither."""
        own = self.policies.get(scope)
        if own is not None or scope.dataset is None or scope.analyst is None:
            return own
        whole = self.policies.get(Scope(dataset=scope.dataset))
        return None if whole is None else whole.share_among_analysts()

    def charges(self, scope: Scope, kind: ReleaseKind | None = None) -> Mapping[str, int]:
        """Return the events that a scope was charged with, of one kind or all, as JSON, each with its number."""
        counted: dict[str, int] = {}
        for charged, spent in self._spending(scope):
            if kind in (None, charged):
                for event, times in spent.items():
                    counted[event] = counted.get(event, 0) + times
        return counted

    def _spending(self, scope: Scope) -> Iterator[tuple[ReleaseKind, Mapping[str, int]]]:
        for (dataset, analyst, charges_dataset, kind), spent in self._spent.items():
            if Charge(dataset, analyst, "", charges_dataset, kind).applies_to(scope):
                yield kind, spent

    def tracker(self, scope: Scope, kind: ReleaseKind | None = None) -> SpendTracker:
        """Return the tracker of the permanent limit of a scope that has a policy, for one kind of release or all."""
        if (scope, kind) not in self._trackers:
            policy = self.policy(scope)
            if policy is None:
                raise KeyError(scope)
            self._trackers[scope, kind] = self.new_tracker(scope, policy, kind)
        return self._trackers[scope, kind]

    def trackers_by_kind(self, scope: Scope) -> dict[ReleaseKind, SpendTracker]:
        """Return the trackers of the kinds that a scope was charged with; a single kind has the tracker of all."""
        charged = {kind for kind, _ in self._spending(scope)}
        found = [kind for kind in RELEASE_KINDS if kind in charged]
        return {kind: self.tracker(scope, kind if len(found) > 1 else None) for kind in found}

    def new_tracker(self, scope: Scope, policy: Policy, kind: ReleaseKind | None = None) -> SpendTracker:
        """Return a new tracker of a scope's spending, under a policy that it may get."""
        # A limit may change later; orders chosen again by the new limit would use parts of delta twice.
        tracker = SpendTracker(partial(policy.open, self._first_policy(scope, policy).limit), str(policy.accountant))
        for event, times in self.charges(scope, kind).items():
            tracker.count(self.event(event), times)
        return tracker

    def window(
        self, scope: Scope, at: datetime, since: Callable[[datetime], Iterator[StoredLine]]
    ) -> SpendTracker | None:
        """Return the tracker of the window that contains a time; ``since`` returns the lines from a time on."""
        policy = self.policies.get(scope)
        if policy is None or policy.window is None:
            return None
        start = policy.window.start(at)
        known = self._windows.get(scope)
        if known is not None and known[0] == start:
            return known[1]
        tracker = SpendTracker(policy.open_window, str(policy.accountant))
        for line in since(start):
            charge = parse_charge(line)
            if charge is not None and line.sequence <= self.sequence and charge.applies_to(scope):
                tracker.count(self.event(charge.event))
        self._windows[scope] = (start, tracker)
        return tracker


def parse_charge(line: StoredLine) -> Charge | None:
    """Parse the charge of a line, if it has one."""
    if line.kind not in ("reserved", "repeated"):
        return None
    return _make_charge(line.kind, read_body(line.kind, line.body)[0])


def _make_charge(kind: str, body: dict[str, Any]) -> Charge | None:
    if kind == "repeated" and not body["charged"]:
        return None
    released = read_kind(body.get("kind", "query"))
    return Charge(body["dataset"], body["analyst"], body["event"], kind == "reserved", released)
