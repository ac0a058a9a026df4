"""Verify a ledger: every line, every hash, and every table derived from them.

Edits, deletions, insertions and swaps break the chain; a cut-off tail disagrees with the head; a chain rewritten as a
whole no longer contains the head stored elsewhere. Reservations, requests and answers are compared with the log.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Table, select

from celosia.core.errors import CelosiaError, LedgerError, ParameterError
from celosia.core.exact import safe_repr
from celosia.ledger.budgets.release_kind import read_kind
from celosia.ledger.budgets.state import LogState
from celosia.ledger.log.bodies import Body
from celosia.ledger.log.chain import LogHead, Verification, parse_timestamp
from celosia.ledger.log.lines import StoredLine, read_head, read_line_body, read_lines_after
from celosia.ledger.reservations.records import digest_bytes
from celosia.ledger.store.tables import ANSWERS, REQUESTS, RESERVATIONS

if TYPE_CHECKING:
    from sqlalchemy import Connection

_HASH_LENGTH: Final = 64
_PAGE_SIZE: Final = 1_000


def expected_head(head: LogHead | str | None) -> LogHead | str | None:
    """Parse a head that was stored elsewhere, as a string or a value; or its hash alone."""
    if head is None or isinstance(head, LogHead):
        return head
    if not isinstance(head, str):
        raise ParameterError("ledger.not_a_log_head", head=safe_repr(head))
    if len(head.strip()) == _HASH_LENGTH and ":" not in head:
        return LogHead.parse(f"0:{head.strip()}").hash
    return LogHead.parse(head)


def verify(connection: "Connection", expected: LogHead | str | None) -> Verification:
    """Verify a ledger within one read transaction; see ``Ledger.verify``."""
    replay = _Replay()
    problem = _first_problem(lambda: _walk(connection, replay, expected), lambda: _compare(connection, replay))
    head = LogHead(sequence=replay.state.sequence, hash=replay.state.hash) if replay.state.sequence else None
    return Verification(ok=problem is None, lines=replay.state.sequence, head=head, problem=problem)


def _first_problem(*steps: Callable[[], None]) -> str | None:
    try:
        for step in steps:
            step()
    except LedgerError as error:
        return error.message
    return None


def _walk(connection: "Connection", replay: "_Replay", expected: LogHead | str | None) -> None:
    head, at = read_head(connection)
    wanted = expected.hash if isinstance(expected, LogHead) else expected
    met = wanted is None
    for line, opened in replay.state.follow(read_lines_after(connection, 0)):
        replay.check(line, opened)
        if line.hash == wanted and (not isinstance(expected, LogHead) or line.sequence == expected.sequence):
            met = True
    state = replay.state
    if (state.sequence, state.hash, state.at) != (head.sequence, head.hash, at):
        raise LedgerError("ledger.log_ends_early", found=state.sequence, wanted=head.sequence)
    if not met and isinstance(expected, LogHead) and expected.sequence > state.sequence:
        raise LedgerError("ledger.log_is_older", found=state.sequence, wanted=expected.sequence)
    if not met:
        raise LedgerError("ledger.log_is_another")


class _Row(NamedTuple):
    """A row of the table of reservations."""

    id: str
    dataset: str
    analyst: str | None
    opened: int
    closed: int | None
    state: str
    fingerprint: str | None
    source: str | None


class _Replay:
    """The contents that the derived tables must have, replayed from the log."""

    def __init__(self) -> None:
        self.state = LogState()
        self.reservations: dict[str, _Row] = {}
        self.requests: dict[tuple[str, str], tuple[str, str]] = {}
        self.answers: dict[str, str] = {}
        self._paid: set[tuple[str | None, str]] = set()

    def check(self, line: StoredLine, opened: Body | None) -> None:
        """Check a line that the state has applied; ``opened`` is the body of a reservation."""
        body, is_canonical = read_line_body(line) if opened is None else opened
        parse_timestamp(line.at)
        if not is_canonical:
            raise LedgerError("ledger.line_not_canonical", line=line.sequence)
        try:
            if opened is not None:
                self._open_reservation(line, body)
            elif line.kind in ("committed", "failed"):
                self._close_reservation(line, body)
        except (LookupError, TypeError, CelosiaError):
            raise LedgerError("ledger.line_disagrees", line=line.sequence) from None

    def _open_reservation(self, line: StoredLine, body: dict[str, Any]) -> None:
        identity, request, source = body["id"], body["request"], body.get("answer")
        row = _Row(
            identity, body["dataset"], body["analyst"], line.sequence, None, line.kind, body["fingerprint"], source
        )
        self._check(identity not in self.reservations)
        self.state.event(body["event"])
        read_kind(body.get("kind", "query"))
        if line.kind == "repeated":
            self._repeat(row, body["charged"])
        if request is not None:
            key = (row.analyst or "", request["key"])
            self._check(key not in self.requests)
            self.requests[key] = (request["digest"], identity)
        self.reservations[identity] = row

    def _repeat(self, row: _Row, charged: object) -> None:
        known = self.reservations[str(row.source)]
        self._check(known.dataset == row.dataset and known.fingerprint == row.fingerprint)
        self._check(known.id in self.answers and row.fingerprint is not None)
        paid = row.analyst is None or known.analyst == row.analyst or (row.analyst, known.id) in self._paid
        self._check(charged is (not paid))
        self._paid.add((row.analyst, known.id))

    def _close_reservation(self, line: StoredLine, body: dict[str, Any]) -> None:
        known = self.reservations[body["id"]]
        self._check(known.state == "reserved")
        self.reservations[known.id] = known._replace(state=line.kind, closed=line.sequence)
        if line.kind == "committed" and body["answer"] is not None:
            self.answers[known.id] = body["answer"]

    @staticmethod
    def _check(holds: bool) -> None:  # noqa: FBT001 - what holds
        if not holds:
            raise LookupError


def _compare(connection: "Connection", replay: _Replay) -> None:
    _compare_table(
        ("ledger.reservation_differs", "ledger.reservation_missing"),
        ((row[0], row) for row in _read_table(connection, RESERVATIONS, _Row._fields)),
        replay.reservations,
    )
    requests = _read_table(connection, REQUESTS, ("analyst", "key", "digest", "reservation"))
    _compare_table(
        ("ledger.request_differs", "ledger.request_missing"), ((row[:2], row[2:]) for row in requests), replay.requests
    )
    answers = _read_table(connection, ANSWERS, ("id", "digest", "text"))
    _compare_table(
        ("ledger.answer_differs", "ledger.answer_missing"),
        ((identity, _check_digest(text, digest)) for identity, digest, text in answers),
        replay.answers,
    )


def _read_table(connection: "Connection", table: Table, columns: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    statement = select(*(table.c[name] for name in columns)).execution_options(yield_per=_PAGE_SIZE)
    return map(tuple, connection.execute(statement))


def _check_digest(text: object, digest: str) -> str | None:
    return digest if isinstance(text, bytes) and digest_bytes(text) == digest else None


def _compare_table(codes: tuple[str, str], found: Iterable[tuple[Any, Any]], expected: dict[Any, Any]) -> None:
    number = 0
    for key, value in found:
        number += 1
        if key not in expected or expected[key] != value:
            raise LedgerError(codes[0])
    if number != len(expected):
        raise LedgerError(codes[1], wanted=len(expected), found=number)
