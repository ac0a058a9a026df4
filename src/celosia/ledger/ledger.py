"""A ledger: budgets, what was spent from them, and the stored answers.

It is two-phase (Gray 1978, for money): ``reserve`` is durable before data are read, ``commit`` stores the answer before
it is returned, and nothing is refunded. A reservation that a crash leaves open counts as spent, and is listed. All
decisions are in one hash-chained log.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TextIO

from celosia.core.closing import Closing
from celosia.core.errors import LedgerError, ParameterError
from celosia.core.exact import exact_integer, exact_text, safe_repr
from celosia.core.release import Release
from celosia.ledger.account import Account
from celosia.ledger.budgets.opening import applies_to_query, make_statement_line, open_policy, set_policy
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.log.chain import JSON, LogHead, LogLine, Verification
from celosia.ledger.log.lines import append, parse_line, read_head, read_lines_after
from celosia.ledger.non_copyable import NonCopyable
from celosia.ledger.reservations.records import (
    close_reservation,
    digest_answer,
    find_request,
    find_reservation,
    list_reservations,
    store_answer,
)
from celosia.ledger.reservations.reserving import SpendRequest, reserve
from celosia.ledger.verification import expected_head, verify

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee
    from celosia.ledger.budgets.policy import Policy
    from celosia.ledger.budgets.release_kind import ReleaseKind
    from celosia.ledger.budgets.statement import StatementLine
    from celosia.ledger.reservations.reservation import Request, Reservation
    from celosia.ledger.state_reader import LedgerState
    from celosia.ledger.store.store import Store

_OWN_KINDS: Final = ("budget", "committed", "failed", "opened", "repeated", "reserved")
_PAGE_SIZE: Final = 1_000
_CLOSED: Final = {
    "committed": "ledger.reservation_already_committed",
    "failed": "ledger.reservation_already_failed",
    "repeated": "ledger.reservation_already_repeated",
}


class Ledger(Closing, NonCopyable):
    """Budgets and a log of every release; ``celosia.open_ledger(url)`` opens one.

    >>> import celosia as cl
    >>> from celosia.mechanisms import Laplace
    >>> ledger = cl.open_ledger("memory://")
    >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    >>> count = Laplace(epsilon="0.1", sensitivity=1)
    >>> reservation = ledger.reserve(count.event, dataset="deaths", question="How many?")
    >>> release = count.release(108)                       # only now are data read
    >>> ledger.commit(reservation, release, text=str(release.value))
    >>> ledger.account("deaths").remaining
    PureDP(epsilon='0.9')
    """

    def __init__(self, state: "LedgerState") -> None:
        self.state = state

    @property
    def store(self) -> "Store":
        """The database; other tables in it are changed in ``store.transaction()``."""
        return self.state.store

    def set_budget(
        self,
        limit: "Guarantee | Policy",
        *,
        dataset: str | None = None,
        analyst: str | None = None,
        by: str = "owner",
    ) -> None:
        """Open or change the budget of a data set, of an analyst, or of an analyst on a data set.

        The accountant cannot change after the first spending. A limit below the total spent is allowed: nothing is
        left.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.ApproxDP(epsilon=3, delta="1e-6"), dataset="deaths")
        >>> ledger.set_budget(cl.ApproxDP(epsilon=1, delta="1e-7"), dataset="deaths", analyst="ana")
        >>> len(ledger.budgets)
        2
        """
        scope = Scope(dataset=dataset, analyst=analyst)
        with self.state.writing() as snapshot:
            set_policy(snapshot, scope, limit, by)

    def open_budget(self, limit: "Guarantee | Policy", *, dataset: str, by: str = "owner") -> "Policy":
        """Open the budget of a data set if it has none, and return the policy in force.

        The check and the change are one transaction of the store. Of several processes that open a data set at once,
        one sets its budget and all return the same policy.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.open_budget(cl.PureDP(epsilon=1), dataset="deaths").limit
        PureDP(epsilon=1)
        >>> ledger.open_budget(cl.PureDP(epsilon=100), dataset="deaths").limit
        PureDP(epsilon=1)
        """
        scope = Scope(dataset=dataset)
        with self.state.writing() as snapshot:
            return open_policy(snapshot, scope, limit, by)

    @property
    def budgets(self) -> "Mapping[Scope, Policy]":
        """The policies in force, by scope."""
        with self.state.reading() as snapshot:
            return MappingProxyType(dict(snapshot.state.policies))

    def account(self, dataset: str, analyst: str | None = None) -> Account:
        """Return the account of an analyst on a data set.

        >>> import celosia as cl
        >>> cl.open_ledger("memory://").account("deaths")
        Traceback (most recent call last):
        ...
        celosia.core.errors.ParameterError: The ledger has no budget for data set 'deaths': open one with ...
        """
        account = Account(self, dataset, analyst)
        _ = account.budget  # refuses a data set without one
        return account

    def statement(self, dataset: str | None = None, analyst: str | None = None) -> "tuple[StatementLine, ...]":
        """Return every budget that applies to an analyst's queries on a data set; left out, either means any.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> [str(line.scope) for line in ledger.statement()]
        ["data set 'deaths'"]
        """
        with self.state.reading() as snapshot:
            scopes = {scope for scope in snapshot.state.policies if applies_to_query(scope, dataset, analyst)}
            if analyst is not None:  # shares of data sets
                shared = {Scope(dataset=scope.dataset, analyst=analyst) for scope in scopes if scope.dataset}
                scopes |= {scope for scope in shared if snapshot.state.policy(scope) is not None}
            found = sorted(scopes, key=lambda scope: (scope.dataset or "", scope.analyst or ""))
            return tuple(make_statement_line(snapshot, scope) for scope in found)

    def reserve(
        self,
        event: "Event",
        *,
        dataset: str,
        analyst: str | None = None,
        question: str = "",
        fingerprint: str | None = None,
        request: "Request | None" = None,
        kind: "ReleaseKind" = "query",
    ) -> "Reservation":
        """Spend an event before data are read, or raise ``BudgetExceededError`` and spend nothing.

        A ``request`` that was seen before returns its reservation and spends nothing. With a ``fingerprint`` (of the
        query, the data and the parameters) of a stored answer, that answer is returned: it costs the data set nothing,
        and the analyst only if they have not paid for it. ``kind`` says what is released (``"query"``, ``"model"``,
        ``"local"``, ``"federated"`` or ``"other"``): statements list it, and the cost does not depend on it.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon="0.15"), dataset="deaths")
        >>> event = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event
        >>> ledger.reserve(event, dataset="deaths").state
        'reserved'
        >>> ledger.reserve(event, dataset="deaths")
        Traceback (most recent call last):
        ...
        celosia.core.errors.BudgetExceededError: The question costs PureDP(epsilon='0.1'), and data set 'deaths' has ...
        """
        spend = SpendRequest(
            event=event,
            dataset=dataset,
            analyst=analyst,
            text=question,
            fingerprint=fingerprint,
            request=request,
            kind=kind,
        )
        with self.state.writing() as snapshot:
            return reserve(snapshot, spend)

    def commit(self, reservation: "Reservation", release: Release[Any], *, text: str | None = None) -> None:
        """Store the answer to a reservation, before it is returned. Repeating it with the same answer does nothing.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> count = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1)
        >>> reservation = ledger.reserve(count.event, dataset="deaths")
        >>> ledger.commit(reservation, count.release(108, source=cl.noise.Seeded(7)))
        Traceback (most recent call last):
        ...
        celosia.core.errors.ParameterError: release: its noise came from a seeded source, which protects nobody; ...
        """
        _check_release(release, text)
        digest = None if text is None else digest_answer(text)
        with self.store.transaction() as connection:
            known = self._find_reservation(connection, reservation)
            if known.event != release.event:
                raise ParameterError("ledger.release_of_other_event")
            if known.state == "committed" and (known.answer is None) == (text is None) and known.answer == text:
                return
            self._open(known)
            line = append(connection, "committed", {"id": known.id, "answer": digest}, self.state.clock)
            close_reservation(connection, known.id, state="committed", closed=line.sequence)
            if text is not None:
                store_answer(connection, known.id, text)

    def fail(self, reservation: "Reservation") -> None:
        """Mark a reservation as failed: it has no answer. Its cost stays spent.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> event = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event
        >>> ledger.fail(ledger.reserve(event, dataset="deaths"))
        >>> ledger.account("deaths").spent
        PureDP(epsilon='0.1')
        """
        with self.store.transaction() as connection:
            known = self._find_reservation(connection, reservation)
            if known.state == "failed":
                return
            self._open(known)
            line = append(connection, "failed", {"id": known.id}, self.state.clock)
            close_reservation(connection, known.id, state="failed", closed=line.sequence)

    @staticmethod
    def _find_reservation(connection: "Connection", reservation: "Reservation") -> "Reservation":
        found = find_reservation(connection, str(getattr(reservation, "id", "")))
        if found is None:
            raise LedgerError("ledger.unknown_reservation")
        return found.reservation

    @staticmethod
    def _open(reservation: "Reservation") -> None:
        if reservation.state != "reserved":
            raise LedgerError(_CLOSED[reservation.state])

    def reservation(self, id: str) -> "Reservation | None":  # noqa: A002 - the name that it has everywhere else
        """Return a reservation, with its answer if there is one.

        >>> import celosia as cl
        >>> cl.open_ledger("memory://").reservation("00") is None
        True
        """
        wanted: object = id
        with self.store.reading() as connection:
            found = find_reservation(connection, wanted) if isinstance(wanted, str) and wanted.isprintable() else None
            return None if found is None else found.reservation

    def request(self, analyst: str | None, key: str) -> "tuple[Request, Reservation] | None":
        """Return the request that an analyst sent with a key, and the reservation that paid for it.

        >>> import celosia as cl
        >>> cl.open_ledger("memory://").request("ana", "7f3a") is None
        True
        """
        with self.store.reading() as connection:
            known = find_request(connection, analyst, exact_text(key, name="key"))
            return None if known is None else (known[0], known[1].reservation)

    def open_reservations(self) -> "tuple[Reservation, ...]":
        """Return the reservations in progress or left by a crash; they count as spent.

        >>> import celosia as cl
        >>> cl.open_ledger("memory://").open_reservations()
        ()
        """
        with self.store.reading() as connection:
            return list_reservations(connection, state="reserved")

    def reservations(
        self, *, dataset: str | None = None, analyst: str | None = None, limit: int | None = None
    ) -> "tuple[Reservation, ...]":
        """Return the latest reservations, the earliest of them first, without their answers.

        >>> import celosia as cl
        >>> cl.open_ledger("memory://").reservations(analyst="ana", limit=10)
        ()
        """
        most = None if limit is None else exact_integer(limit, name="limit")
        with self.store.reading() as connection:
            return list_reservations(connection, dataset=dataset, analyst=analyst, most=most)

    def record(self, kind: str, body: Mapping[str, JSON], *, connection: "Connection | None" = None) -> None:
        """Write a line that costs nothing, such as a new key or a changed bound.

        With a ``connection`` of ``store.transaction()`` the line is part of that transaction.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.record("user", {"name": "ana", "role": "analyst"})
        >>> [line.kind for line in ledger.entries()]
        ['opened', 'user']
        """
        name = exact_text(kind, name="kind")
        if name in _OWN_KINDS or not isinstance(body, Mapping):
            raise ParameterError("ledger.invalid_line", reserved=", ".join(_OWN_KINDS), kind=safe_repr(kind))
        if connection is not None:
            append(connection, name, dict(body), self.state.clock)
            return
        with self.store.transaction() as own:
            append(own, name, dict(body), self.state.clock)

    def entries(self, after: int = 0, limit: int | None = None) -> Iterator[LogLine]:
        """Return the lines of the log after a number, at most ``limit`` of them.

        >>> import celosia as cl
        >>> next(cl.open_ledger("memory://").entries()).sequence
        1
        """
        after = exact_integer(after, name="after", least=0)
        left = None if limit is None else exact_integer(limit, name="limit")
        return self._entries(after, left)

    def _entries(self, after: int, left: int | None) -> Iterator[LogLine]:
        while left is None or left > 0:
            most = _PAGE_SIZE if left is None else min(left, _PAGE_SIZE)
            with self.store.reading() as connection:  # lines never change, so reading by pages misses none
                lines = [parse_line(raw) for raw in read_lines_after(connection, after, most)]
            yield from lines
            if len(lines) < most:
                return
            after, left = lines[-1].sequence, None if left is None else left - most

    @property
    def head(self) -> LogHead:
        """The last line's number and hash. A copy stored elsewhere proves later that nothing was rewritten."""
        with self.store.reading() as connection:
            return read_head(connection)[0]

    def verify(self, head: LogHead | str | None = None) -> Verification:
        """Verify the whole ledger; with a ``head`` stored elsewhere, also detect a rewritten log.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.verify(ledger.head).ok, ledger.verify("0" * 64).ok
        (True, False)
        """
        expected = expected_head(head)
        with self.store.reading() as connection:
            return verify(connection, expected)

    def export(self, stream: TextIO) -> int:
        """Write the log as JSON lines, and return their number.

        >>> import io
        >>> import celosia as cl
        >>> cl.open_ledger("memory://").export(io.StringIO())
        1
        """
        number = 0
        for line in self.entries():
            stream.write(line.to_json() + "\n")
            number += 1
        return number

    def close(self) -> None:
        """Close the database. A ledger in memory is lost.

        >>> import celosia as cl
        >>> cl.open_ledger("memory://").close()
        """
        self.store.close()

    def __repr__(self) -> str:
        return f"<Ledger in {self.store.name}>"


def _check_release(release: object, text: object) -> None:
    if not isinstance(release, Release):
        raise ParameterError("ledger.not_a_release", type=safe_repr(type(release)))
    if release.seeded:
        raise ParameterError("ledger.seeded_noise")
    if text is not None and not isinstance(text, str):
        raise ParameterError("ledger.answer_not_text", type=safe_repr(type(text)))
