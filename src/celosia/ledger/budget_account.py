"""Budget accounts: their protocol, the order of a payment, and the account in memory.

An ``InMemoryBudget`` holds a budget in memory, for one session; an ``Account`` holds it in a ledger, for all analysts
of a data set. Code that reads data reserves its cost from an account, and then reads within ``settle``, which commits
or fails. Nothing is refunded.
"""

import contextlib
import dataclasses
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

from celosia.core.errors import BudgetExceededError, CelosiaError, EngineError, LedgerError, ParameterError
from celosia.core.exact import safe_repr
from celosia.core.guarantees import Guarantee
from celosia.core.messages.message import Message
from celosia.ledger.budgets.advice import describe_refusal
from celosia.ledger.budgets.policy import Policy
from celosia.ledger.budgets.release_kind import RELEASE_KINDS, ReleaseKind, exact_kind
from celosia.ledger.non_copyable import NonCopyable
from celosia.ledger.reservations.reservation import Request, Reservation, ReservationState
from celosia.noise.source import SYSTEM

if TYPE_CHECKING:
    from celosia.core.events import Event
    from celosia.core.release import Release


@runtime_checkable
class BudgetAccount(Protocol):
    """Protocol of a privacy budget, such as ``InMemoryBudget`` or a ledger's ``Account``.

    >>> import celosia as cl
    >>> ledger = cl.open_ledger("memory://")
    >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    >>> isinstance(ledger.account("deaths"), BudgetAccount)
    True
    """

    @property
    def budget(self) -> Guarantee:
        """The guarantee of all queries together."""

    @property
    def limit(self) -> Guarantee:
        """The budget in the accountant's own kind of guarantee, the kind of the targets of single queries."""

    @property
    def spent(self) -> Guarantee:
        """The total paid so far, in the accountant's own kind."""

    @property
    def remaining(self) -> Guarantee:
        """The remaining budget, in the accountant's own kind."""

    @property
    def history(self) -> tuple[Reservation, ...]:
        """The reservations of this account, the earliest first."""

    @property
    def allows_seeded(self) -> bool:
        """Whether noise may come from a repeatable stream; never where others rely on it."""

    @property
    def allows_real(self) -> bool:
        """Whether noise may come from real arithmetic (``arithmetic="real"``)."""

    @property
    def caches(self) -> bool:
        """Whether answers are stored and returned again."""

    def admits(self, event: "Event") -> bool:
        """Return whether an event fits into the remaining budget. Nothing is spent."""

    def cost(self, event: "Event") -> Guarantee:
        """Return the guarantee of an event on its own, in the accountant's own kind."""

    def charge(self, event: "Event") -> Guarantee:
        """Return what an event would take from the remaining budget: at most its cost."""

    def reserve(
        self,
        event: "Event",
        *,
        question: str,
        fingerprint: str | None = None,
        request: Request | None = None,
        kind: ReleaseKind = "query",
    ) -> Reservation:
        """Pay for an event before data are read, or raise ``BudgetExceededError`` and pay nothing."""

    def commit(self, reservation: Reservation, release: "Release[Any]", *, text: str | None = None) -> None:
        """Record the answer, before it is returned to the analyst."""

    def fail(self, reservation: Reservation) -> None:
        """Mark a reservation as failed. Its cost stays spent."""


def as_account(budget: object) -> BudgetAccount:
    """Return the account of an object that holds a budget: the object itself, or a session's account.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> as_account(cl.Session(deaths, budget=cl.PureDP(epsilon=1)))
    <InMemoryBudget: PureDP(epsilon=1) of PureDP(epsilon=1) left>
    """
    for account in (budget, getattr(budget, "account", None)):
        if isinstance(account, BudgetAccount):
            return account
    raise ParameterError("ledger.not_a_budget_account", budget=safe_repr(budget))


@dataclasses.dataclass(slots=True)
class Payment:
    """The result of a paid block, which ``settle`` commits: ``deliver`` it before the block ends."""

    release: "Release[Any] | None" = None
    text: str | None = None

    def deliver(self, release: "Release[Any]", text: str | None = None) -> None:
        """Set the release, and its text if the account stores answers."""
        self.release, self.text = release, text


@contextlib.contextmanager
def settle(account: BudgetAccount, reservation: Reservation, *, failure: str) -> Iterator[Payment]:
    """Run a block that reads data for a reservation, and commit what it delivers. The cost stays spent in every case.

    If the block raises an ``Exception``, the reservation is marked as failed, because a failure can reveal something. A
    ``CelosiaError`` is raised as it is. Any other could quote the data: ``EngineError(failure)`` replaces it. What ends
    the process, such as ``KeyboardInterrupt``, leaves the reservation open, as a crash does.

    >>> import celosia as cl
    >>> account, laplace = InMemoryBudget(cl.PureDP(epsilon=1)), cl.mechanisms.Laplace(epsilon="0.4", sensitivity=1)
    >>> reservation = account.reserve(laplace.event, question="How many?")
    >>> with settle(account, reservation, failure="query.query_failed_but_paid") as payment:
    ...     payment.deliver(laplace.release(108))
    >>> account.history[0].state
    'committed'
    """
    payment = Payment()
    try:
        yield payment
    except Exception as error:
        with contextlib.suppress(CelosiaError):  # otherwise it stays reserved, which counts as spent
            account.fail(reservation)
        if isinstance(error, CelosiaError):
            error.__context__ = None  # what failed inside may quote the data
            raise
        _raise_alone(EngineError(failure))
    assert payment.release is not None  # noqa: S101 - for the type checker: a block that ends delivers
    account.commit(reservation, payment.release, text=payment.text)


def _raise_alone(error: CelosiaError) -> NoReturn:
    """Raise an error without the one that is being handled, which could quote the data."""
    try:
        raise error
    except CelosiaError:
        error.__context__ = None
        raise


class InMemoryBudget(NonCopyable):
    """A ``BudgetAccount`` in memory, for one session without a ledger.

    A lock protects the filter that holds the budget, so that two threads never spend the same part twice. The budget
    ends with the session, no answer is stored, and noise may come from a repeatable stream, for tests. A forked process
    inherits a copy without the lock. The copy can be read but refuses to pay: otherwise each of several workers would
    spend the whole budget.

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
        kind: ReleaseKind = "query",
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
        if kind not in RELEASE_KINDS:
            kind = exact_kind(kind)  # raises
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
                id=identifier, dataset=self._name, event=event, question=question, kind=kind, at=datetime.now(tz=UTC)
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
