"""How a cost is reserved: one decision, in one write transaction.

In this order. A request that was seen before is answered as before. A question whose answer is in the store costs the
data set nothing; an analyst who has not paid for that answer pays for it from the own budget. Otherwise every scope
that the question falls into must have room for its event, for good and in its window of time; then the event is written
into the log, and from that moment it is spent.
"""

import dataclasses
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core.errors import BudgetExceededError, ParameterError, RequestConflictError
from celosia.core.events import Event
from celosia.core.exact import safe_repr
from celosia.core.guarantees import Guarantee
from celosia.core.record import Record, exact_text
from celosia.ledger.budgets.advice import describe_refusal
from celosia.ledger.budgets.scope import Scope, scopes_of
from celosia.ledger.log.chain import JSON, moment
from celosia.ledger.reservations.records import Found, find_answers, find_request, remember
from celosia.ledger.reservations.reservation import Request, Reservation
from celosia.noise.source import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from celosia.ledger.budgets.policy import Policy
    from celosia.ledger.state_reader import Snapshot

_LONGEST_QUESTION: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendRequest:
    """What somebody wants to pay for."""

    event: Event
    dataset: str
    analyst: str | None = None
    text: str = ""
    fingerprint: str | None = None
    request: Request | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event):
            raise ParameterError(f"event must be an event, such as a mechanism's .event, not {safe_repr(self.event)}.")
        words: object = self.text
        if not isinstance(words, str) or len(words) > _LONGEST_QUESTION:
            raise ParameterError(f"question must be a text of at most {_LONGEST_QUESTION} characters.")
        if self.request is not None and not isinstance(self.request, Request):
            raise ParameterError(f"request must be a Request(key=…, digest=…), not {safe_repr(self.request)}.")
        object.__setattr__(self, "dataset", exact_text(self.dataset, name="dataset"))
        for name in ("analyst", "fingerprint"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, exact_text(getattr(self, name), name=name))

    def body(self, reservation: str) -> dict[str, JSON]:
        """Return what the log says of the question."""
        return {
            "id": reservation,
            "dataset": self.dataset,
            "analyst": self.analyst,
            "event": json.loads(self.event.to_json()),
            "question": self.text,
            "fingerprint": self.fingerprint,
            "request": None if self.request is None else {"key": self.request.key, "digest": self.request.digest},
        }


def reserve(page: "Snapshot", question: SpendRequest) -> Reservation:
    """Decide on a question within a write transaction; see ``Ledger.reserve``."""
    if question.request is not None:
        known = find_request(page.connection, question.analyst, question.request.key)
        if known is not None:
            return _seen(question.request, *known)
    _check_policy(page, question)
    answered = _answered(page, question)
    if answered is not None:
        return _repeat(page, question, *answered)
    _check_room(page, scopes_of(question.dataset, question.analyst), question.event)
    return _write(page, question)


def _seen(request: Request, before: Request, found: Found) -> Reservation:
    if before.digest != request.digest:
        raise RequestConflictError(
            f"The key {safe_repr(request.key)} was used before for another request: draw a new one."
        )
    return found.reservation


def policy_of(page: "Snapshot", dataset: str) -> "Policy":
    """Return the policy of a data set, which must have one."""
    policy = page.state.policies.get(Scope(dataset=dataset))
    if policy is None:
        name = safe_repr(dataset)
        raise ParameterError(
            f"The ledger has no budget for data set {name}: open one with set_budget(limit, dataset={name})."
        )
    return policy


def _check_policy(page: "Snapshot", question: SpendRequest) -> None:
    policy = policy_of(page, question.dataset)
    if not policy.allow_real and _is_real(question.event):
        raise ParameterError(
            f"The noise of this question would be in floating point, and data set {safe_repr(question.dataset)} takes "
            "exact noise only: choose a method with exact noise, or ask the owner of the data to allow it, with "
            "Policy(…, allow_real=True)."
        )


def _is_real(value: object) -> bool:
    """Tell whether an event, or any event inside it, has noise from real arithmetic."""
    if isinstance(value, tuple):
        return any(map(_is_real, value))
    if not isinstance(value, Record):
        return False
    if isinstance(value, Event) and value.arithmetic != "integer":
        return True
    return any(_is_real(getattr(value, field.name)) for field in dataclasses.fields(value))


def _answered(page: "Snapshot", question: SpendRequest) -> tuple[Found, bool] | None:
    """Return the stored answer to a question, one that the analyst has paid for if there is such a one."""
    if question.fingerprint is None:
        return None
    found = find_answers(page.connection, question.dataset, question.fingerprint, question.analyst)
    same = [(one, paid) for one, paid in found if one.reservation.event == question.event]
    return min(same, key=lambda pair: not pair[1], default=None)


def _repeat(page: "Snapshot", question: SpendRequest, found: Found, paid: bool) -> Reservation:  # noqa: FBT001 - as found
    scopes = [scope for scope in scopes_of(question.dataset, question.analyst) if scope.analyst is not None]
    if not paid:
        _check_room(page, scopes, question.event)
    reservation = _reservation(page, question, state="repeated", answer=found.reservation.answer)
    source = found.reservation.id
    line = page.append("repeated", question.body(reservation.id) | {"answer": source, "charged": not paid})
    remember(
        page.connection,
        reservation,
        opened=line.sequence,
        fingerprint=question.fingerprint,
        request=question.request,
        source=source,
    )
    return reservation


def _write(page: "Snapshot", question: SpendRequest) -> Reservation:
    reservation = _reservation(page, question, state="reserved")
    line = page.append("reserved", question.body(reservation.id))
    remember(
        page.connection, reservation, opened=line.sequence, fingerprint=question.fingerprint, request=question.request
    )
    return reservation


def _reservation(page: "Snapshot", question: SpendRequest, *, state: str, answer: str | None = None) -> Reservation:
    return Reservation(
        id=drawn_id(),
        dataset=question.dataset,
        analyst=question.analyst,
        event=question.event,
        question=question.text,
        at=page.at,
        state="reserved" if state == "reserved" else "repeated",
        answer=answer,
        fresh=state == "reserved",
    )


def drawn_id() -> str:
    """Return 128 random bits as text."""
    return "".join(f"{int(word):016x}" for word in SYSTEM.words(2))


def has_room(page: "Snapshot", scope: Scope, event: Event) -> bool:
    """Tell whether a scope has room for an event, for good and in its window; one without a policy always has."""
    if scope not in page.state.policies:
        return True
    window = page.window(scope)
    return page.state.meter(scope).admits(event) and (window is None or window.admits(event))


def _check_room(page: "Snapshot", scopes: "Iterable[Scope]", event: Event) -> None:
    """Refuse an event that does not fit into every scope, and name the tightest: what fits there fits everywhere."""
    refusals = [refusal for scope in scopes for refusal in _refusals(page, scope, event)]
    if refusals:
        # Guarantees of different kinds cannot be compared: among those of the first kind the least counts.
        alike = [one for one in refusals if type(one[0]) is type(refusals[0][0])]
        raise BudgetExceededError(min(alike, key=lambda one: _number(one[0]))[1])


def _refusals(page: "Snapshot", scope: Scope, event: Event) -> "Iterator[tuple[Guarantee, str]]":
    """Yield what a scope, and its window, have left if the event does not fit there, and how that is said."""
    policy = page.state.policies.get(scope)
    if policy is None:
        return
    meter = page.state.meter(scope)
    if not meter.admits(event):
        cost, left = cost_under(policy, event), meter.remaining
        yield left, describe_refusal(cost, left, str(scope), meter.admits)
    window = page.window(scope)
    if window is not None and policy.window is not None and not window.admits(event):
        renews = moment(policy.window.end(page.at))[:16].replace("T", " ")
        cost, left = cost_under(policy, event), window.remaining
        yield left, describe_refusal(cost, left, str(scope), window.admits, until=f"{renews} UTC")


def _number(left: Guarantee) -> Fraction:
    return next((getattr(left, name) for name in ("rho", "mu", "epsilon") if hasattr(left, name)), Fraction(0))


def cost_under(policy: "Policy", event: Event) -> Guarantee:
    """Return what an event promises on its own, in the kind of a policy's accountant."""
    return policy.open().cost(event)
