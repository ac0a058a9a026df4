"""A privacy budget in memory, for one session without a ledger.

A lock protects the filter that holds the budget, so that two threads never spend the same part twice. The budget ends
with the session, no answer is stored, and noise may come from a repeatable stream, for tests.

A forked process inherits a copy of the budget without its lock. The copy can be read but refuses to pay: otherwise each
of several workers would spend the whole budget.
"""

import dataclasses
import os
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from celosia.core.errors import BudgetExceededError, LedgerError, ParameterError
from celosia.core.exact import safe_repr
from celosia.core.guarantees import Guarantee
from celosia.core.messages.message import Message
from celosia.ledger.budgets.advice import describe_refusal
from celosia.ledger.budgets.policy import Policy
from celosia.ledger.non_copyable import NonCopyable
from celosia.ledger.reservations.reservation import Request, Reservation, ReservationState
from celosia.noise.source import SYSTEM

if TYPE_CHECKING:
    from celosia.core.events import Event
    from celosia.core.release import Release


class InMemoryBudget(NonCopyable):
    """A ``BudgetAccount`` in memory.

    >>> import celosia as cl
    >>> account = InMemoryBudget(cl.PureDP(epsilon=1), name="deaths")
    >>> event = cl.mechanisms.Laplace(epsilon="0.4", sensitivity=1).event
    >>> reservation = account.reserve(event, question="How many?")
    >>> account.remaining, account.history[0].state
    (PureDP(epsilon='0.6'), 'reserved')
    >>> account.fail(reservation)
    >>> account.remaining, account.history[0].state
    (PureDP(epsilon='0.6'), 'failed')
    """

    def __init__(self, budget: Guarantee, *, name: str = "data") -> None:
        self._filter = Policy(limit=budget).open()
        self._name = name
        self._history: dict[str, Reservation] = {}
        self._lock, self._process = threading.RLock(), os.getpid()

    @property
    def budget(self) -> Guarantee:
        """The guarantee of all queries together."""
        return self._filter.budget

    @property
    def limit(self) -> Guarantee:
        """The budget in the accountant's own kind of guarantee."""
        return self._filter.limit

    @property
    def spent(self) -> Guarantee:
        """The total paid so far."""
        return self._filter.spent

    @property
    def remaining(self) -> Guarantee:
        """The remaining budget."""
        return self._filter.remaining

    @property
    def history(self) -> tuple[Reservation, ...]:
        """The reservations, the earliest first."""
        if self._process != os.getpid():  # the lock may be held by a thread that stayed in the parent
            return tuple(self._history.values())
        with self._lock:
            return tuple(self._history.values())

    @property
    def allows_seeded(self) -> bool:
        """True: no one else relies on this account."""
        return True

    @property
    def allows_real(self) -> bool:
        """True: the owner sees the arithmetic of the event, and no one else relies on it."""
        return True

    @property
    def caches(self) -> bool:
        """False: answers are not stored."""
        return False

    def admits(self, event: "Event") -> bool:
        """Return whether an event fits into the remaining budget. Nothing is spent.

        >>> import celosia as cl
        >>> InMemoryBudget(cl.PureDP(epsilon=1)).admits(cl.mechanisms.Laplace(epsilon=2, sensitivity=1).event)
        False
        """
        return self._filter.admits(event)

    def cost(self, event: "Event") -> Guarantee:
        """Return the guarantee of an event on its own.

        >>> import celosia as cl
        >>> InMemoryBudget(cl.PureDP(epsilon=1)).cost(cl.mechanisms.Laplace(epsilon="0.4", sensitivity=1).event)
        PureDP(epsilon='0.4')
        """
        return self._filter.cost(event)

    def charge(self, event: "Event") -> Guarantee:
        """Return what an event would take from the remaining budget: at most its cost.

        >>> import celosia as cl
        >>> InMemoryBudget(cl.PureDP(epsilon=1)).charge(cl.mechanisms.Laplace(epsilon="0.4", sensitivity=1).event)
        PureDP(epsilon='0.4')
        """
        return self._filter.charge(event)

    def reserve(
        self,
        event: "Event",
        *,
        question: str,
        fingerprint: str | None = None,  # noqa: ARG002 - no answer is stored
        request: Request | None = None,
    ) -> Reservation:
        """Pay for an event before data are read, or raise ``BudgetExceededError`` and pay nothing.

        >>> import celosia as cl
        >>> account = InMemoryBudget(cl.PureDP(epsilon=1))
        >>> account.reserve(cl.mechanisms.Laplace(epsilon=2, sensitivity=1).event, question="How many?")
        Traceback (most recent call last):
        ...
        celosia.core.errors.BudgetExceededError: The question costs PureDP(epsilon=2), and the budget has ...
        """
        if request is not None:
            raise ParameterError("ledger.request_without_ledger", request=safe_repr(request))
        self._check_process()
        with self._lock:
            if not self._filter.admits(event):
                cost, left = self.cost(event), self._filter.remaining
                raise BudgetExceededError(
                    describe_refusal(cost, left, Message("ledger.scope_budget"), self._filter.admits)
                )
            self._filter.spend(event)
            identifier = "".join(f"{word:016x}" for word in SYSTEM.words(2).tolist())
            reservation = Reservation(
                id=identifier, dataset=self._name, event=event, question=question, at=datetime.now(tz=UTC)
            )
            self._history[identifier] = reservation
        return reservation

    def commit(self, reservation: Reservation, release: "Release[Any]", *, text: str | None = None) -> None:  # noqa: ARG002 - no answer is stored
        """Mark a reservation as committed.

        >>> import celosia as cl
        >>> account, laplace = InMemoryBudget(cl.PureDP(epsilon=1)), cl.mechanisms.Laplace(epsilon="0.4", sensitivity=1)
        >>> account.commit(account.reserve(laplace.event, question="How many?"), laplace.release(108))
        >>> account.history[0].state
        'committed'
        """
        self._settle(reservation, "committed")

    def fail(self, reservation: Reservation) -> None:
        """Mark a reservation as failed. Its cost stays spent.

        >>> import celosia as cl
        >>> account = InMemoryBudget(cl.PureDP(epsilon=1))
        >>> account.fail(account.reserve(cl.mechanisms.Laplace(epsilon=1, sensitivity=1).event, question="How many?"))
        >>> account.remaining
        PureDP(epsilon=0)
        """
        self._settle(reservation, "failed")

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise LedgerError("ledger.budget_after_fork")

    def _settle(self, reservation: Reservation, state: ReservationState) -> None:
        self._check_process()
        with self._lock:
            known = self._history.get(reservation.id)
            if known is None or known.state != "reserved":
                raise ParameterError("ledger.reservation_not_open", reservation=safe_repr(reservation))
            self._history[known.id] = dataclasses.replace(known, state=state)

    def __repr__(self) -> str:
        return f"<InMemoryBudget: {self.remaining} of {self.budget} left>"
