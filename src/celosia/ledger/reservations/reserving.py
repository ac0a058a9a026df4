"""Reserve a cost: one decision, in one write transaction.

The order is: a request that was seen before is answered as before. A query whose answer is stored costs the data set
nothing; an analyst who has not paid for that answer pays from their own budget. Otherwise every scope of the query must
have room for its event, in its limit and in its window of time; then the event is written into the log, and is spent
from then on.
"""

import dataclasses
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core.errors import ApprovalRequiredError, BudgetExceededError, ParameterError, RequestConflictError
from celosia.core.events import Event
from celosia.core.exact import exact_text, safe_repr
from celosia.core.guarantees import Guarantee
from celosia.core.record import Record
from celosia.ledger.budgets.advice import describe_refusal
from celosia.ledger.budgets.release_kind import ReleaseKind, exact_kind
from celosia.ledger.budgets.scope import Scope, list_scopes
from celosia.ledger.log.chain import JSON, format_timestamp
from celosia.ledger.reservations.records import StoredReservation, find_answers, find_request, store_reservation
from celosia.ledger.reservations.reservation import Request, Reservation, ReservationState
from celosia.noise.source import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from celosia.core.messages.message import Message
    from celosia.ledger.budgets.policy import Policy
    from celosia.ledger.state_reader import Snapshot

_MAX_QUESTION_LENGTH: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendRequest:
    """A request to spend an event on a data set."""

    event: Event
    dataset: str
    analyst: str | None = None
    text: str = ""
    fingerprint: str | None = None
    request: Request | None = None
    kind: ReleaseKind = "query"

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event):
            raise ParameterError("core.not_a_mechanism_event", value=safe_repr(self.event))
        words: object = self.text
        if not isinstance(words, str) or len(words) > _MAX_QUESTION_LENGTH:
            raise ParameterError("ledger.question_too_long", most=_MAX_QUESTION_LENGTH)
        if self.request is not None and not isinstance(self.request, Request):
            raise ParameterError("ledger.not_a_request", request=safe_repr(self.request))
        object.__setattr__(self, "dataset", exact_text(self.dataset, name="dataset"))
        object.__setattr__(self, "kind", exact_kind(self.kind))
        for name in ("analyst", "fingerprint"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, exact_text(getattr(self, name), name=name))

    def body(self, reservation: str) -> dict[str, JSON]:
        """Return the body of the log line. A query has no kind there, as in ledgers before there were kinds."""
        body: dict[str, JSON] = {
            "id": reservation,
            "dataset": self.dataset,
            "analyst": self.analyst,
            "event": json.loads(self.event.to_json()),
            "question": self.text,
            "fingerprint": self.fingerprint,
            "request": None if self.request is None else self.request.to_json(),
        }
        return body if self.kind == "query" else body | {"kind": self.kind}


def reserve(snapshot: "Snapshot", question: SpendRequest) -> Reservation:
    """Decide on a spend request within a write transaction; see ``Ledger.reserve``."""
    if question.request is not None:
        known = find_request(snapshot.connection, question.analyst, question.request.key)
        if known is not None:
            return _check_same_request(question.request, *known)
    _check_policy(snapshot, question)
    answer = _find_answer(snapshot, question)
    if answer is not None:
        return _repeat(snapshot, question, *answer)
    _check_rules(snapshot, question)
    _check_room(snapshot, list_scopes(question.dataset, question.analyst), question.event)
    return _write(snapshot, question)


def _check_same_request(request: Request, before: Request, found: StoredReservation) -> Reservation:
    if before.digest != request.digest:
        raise RequestConflictError("ledger.request_key_reused", key=safe_repr(request.key))
    return found.reservation


def get_policy(snapshot: "Snapshot", dataset: str) -> "Policy":
    """Return the policy of a data set, which must have one."""
    policy = snapshot.state.policies.get(Scope(dataset=dataset))
    if policy is None:
        name = safe_repr(dataset)
        raise ParameterError("ledger.no_budget_for_dataset", name=name)
    return policy


def _check_policy(snapshot: "Snapshot", question: SpendRequest) -> None:
    policy = get_policy(snapshot, question.dataset)
    if not policy.allow_real and _is_real(question.event):
        raise ParameterError("ledger.inexact_noise_not_allowed", dataset=safe_repr(question.dataset))


def _check_rules(snapshot: "Snapshot", question: SpendRequest) -> None:
    """Refuse a query of an analyst that costs too little, or that needs an approval.

    What exceeds a limit is refused at once, because no approval could help. In a window there will be room again.
    """
    policy = get_policy(snapshot, question.dataset)
    if question.analyst is None or (policy.least_cost is None and policy.approval_above is None):
        return
    cost = price_under(policy, question.event)
    if policy.least_cost is not None and first_number(cost) < policy.least_cost:
        raise ParameterError("ledger.cost_below_least", cost=cost, least=float(policy.least_cost))
    approved = question.request is not None and question.request.approval is not None
    if policy.approval_above is not None and first_number(cost) > policy.approval_above and not approved:
        _check_room(snapshot, list_scopes(question.dataset, question.analyst), question.event, windows=False)
        error = ApprovalRequiredError("ledger.approval_required", cost=cost, most=float(policy.approval_above))
        error.question = question.text
        raise error


def _is_real(value: object) -> bool:
    """Return whether an event, or any event inside it, has noise from real arithmetic."""
    if isinstance(value, tuple):
        return any(map(_is_real, value))
    if not isinstance(value, Record):
        return False
    if isinstance(value, Event) and value.arithmetic != "integer":
        return True
    return any(_is_real(getattr(value, field.name)) for field in dataclasses.fields(value))


def _find_answer(snapshot: "Snapshot", question: SpendRequest) -> tuple[StoredReservation, bool] | None:
    """Return the stored answer to a query, preferably one that the analyst has paid for."""
    if question.fingerprint is None:
        return None
    found = find_answers(snapshot.connection, question.dataset, question.fingerprint, question.analyst)
    same = [(one, paid) for one, paid in found if one.reservation.event == question.event]
    return min(same, key=lambda pair: not pair[1], default=None)


def _repeat(snapshot: "Snapshot", question: SpendRequest, found: StoredReservation, paid: bool) -> Reservation:  # noqa: FBT001 - as found
    scopes = [scope for scope in list_scopes(question.dataset, question.analyst) if scope.analyst is not None]
    if not paid:
        _check_room(snapshot, scopes, question.event)
    source = found.reservation
    return _write(snapshot, question, source=source, answer=source.id, charged=not paid)


def _write(
    snapshot: "Snapshot", question: SpendRequest, *, source: Reservation | None = None, **extra: JSON
) -> Reservation:
    """Write a reservation into the log and its tables; ``source`` is the one whose answer it repeats."""
    state: ReservationState = "reserved" if source is None else "repeated"
    reservation = Reservation(
        id=draw_id(),
        dataset=question.dataset,
        analyst=question.analyst,
        event=question.event,
        question=question.text,
        kind=question.kind,
        at=snapshot.at,
        state=state,
        answer=None if source is None else source.answer,
        fresh=source is None,
    )
    line = snapshot.append(state, question.body(reservation.id) | extra)
    store_reservation(
        snapshot.connection,
        reservation,
        opened=line.sequence,
        fingerprint=question.fingerprint,
        request=question.request,
        source=None if source is None else source.id,
    )
    return reservation


def draw_id() -> str:
    """Return 128 random bits in hexadecimal."""
    return "".join(f"{int(word):016x}" for word in SYSTEM.words(2))


def has_room(snapshot: "Snapshot", scope: Scope, event: Event) -> bool:
    """Return whether a scope has room for an event, in its limit and its window; True without a policy."""
    if snapshot.state.policy(scope) is None:
        return True
    window = snapshot.window(scope)
    return snapshot.state.tracker(scope).admits(event) and (window is None or window.admits(event))


def _check_room(snapshot: "Snapshot", scopes: "Iterable[Scope]", event: Event, *, windows: bool = True) -> None:
    """Refuse an event that does not fit into every scope, also without ``windows``, and name the tightest scope."""
    refusals = [refusal for scope in scopes for refusal in _refusals(snapshot, scope, event, windows=windows)]
    if refusals:
        # Guarantees of different kinds cannot be compared: take the least of the first kind.
        alike = [one for one in refusals if type(one[0]) is type(refusals[0][0])]
        raise BudgetExceededError(min(alike, key=lambda one: first_number(one[0]))[1])


def _refusals(
    snapshot: "Snapshot", scope: Scope, event: Event, *, windows: bool
) -> "Iterator[tuple[Guarantee, Message]]":
    """Yield the remainder of a scope if the event does not fit there, with the message; then also of its window."""
    policy = snapshot.state.policy(scope)
    if policy is None:
        return
    tracker = snapshot.state.tracker(scope)
    if not tracker.admits(event):
        cost, left = price_under(policy, event), tracker.remaining
        yield left, describe_refusal(cost, left, scope.message, tracker.admits)
    window = snapshot.window(scope) if windows else None
    if window is not None and policy.window is not None and not window.admits(event):
        renews = format_timestamp(policy.window.end(snapshot.at))[:16].replace("T", " ")
        cost, left = price_under(policy, event), window.remaining
        yield left, describe_refusal(cost, left, scope.message, window.admits, until=f"{renews} UTC")


def first_number(left: Guarantee) -> Fraction:
    """Return the number that rules compare: rho, mu or epsilon; 0 for a guarantee of several."""
    return next((getattr(left, name) for name in ("rho", "mu", "epsilon") if hasattr(left, name)), Fraction(0))


def price_under(policy: "Policy", event: Event) -> Guarantee:
    """Return the guarantee of an event on its own, in the kind of a policy's accountant."""
    return policy.open().cost(event)
