"""Verify a ledger: every line, every hash, and every table derived from them.

Edits, deletions, insertions and swaps break the chain; a cut-off tail disagrees with the head; a chain rewritten as a
whole no longer contains the head stored elsewhere. Reservations, requests and answers are compared with the log.
"""

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Table, select

from celosia.core.errors import CelosiaError, LedgerError, ParameterError
from celosia.core.exact import safe_repr
from celosia.ledger.budgets.state import LogState
from celosia.ledger.log.chain import LogHead, Verification, canonical_json
from celosia.ledger.log.lines import StoredLine, parse_line, read_head, read_lines_after
from celosia.ledger.reservations.records import digest_bytes
from celosia.ledger.store.tables import ANSWERS, REQUESTS, RESERVATIONS

if TYPE_CHECKING:
    from sqlalchemy import Connection

_HASH_LENGTH: Final = 64


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
    for line in read_lines_after(connection, 0):
        replay.take(line)
        if line.hash == wanted and (not isinstance(expected, LogHead) or line.sequence == expected.sequence):
            met = True
    state = replay.state
    if (state.sequence, state.hash, state.at) != (head.sequence, head.hash, at):
        raise LedgerError("ledger.log_ends_early", found=state.sequence, wanted=head.sequence)
    if not met and isinstance(expected, LogHead) and expected.sequence > state.sequence:
        raise LedgerError("ledger.log_is_older", found=state.sequence, wanted=expected.sequence)
    if not met:
        raise LedgerError("ledger.log_is_another")


class _Replay:
    """The contents that the derived tables must have, replayed from the log."""

    def __init__(self) -> None:
        self.state = LogState()
        self.reservations: dict[str, dict[str, Any]] = {}
        self.requests: dict[tuple[str, str], tuple[str, str]] = {}
        self.answers: dict[str, str] = {}
        self._paid: set[tuple[str | None, str]] = set()

    def take(self, line: StoredLine) -> None:
        self.state.apply([line])
        parse_line(line)
        body = json.loads(line.body)
        if canonical_json(body) != line.body:
            raise LedgerError("ledger.line_not_canonical", line=line.sequence)
        try:
            if line.kind in ("reserved", "repeated"):
                self._open_reservation(line, body)
            elif line.kind in ("committed", "failed"):
                self._close_reservation(line, body)
        except (LookupError, TypeError, CelosiaError):
            raise LedgerError("ledger.line_disagrees", line=line.sequence) from None

    def _open_reservation(self, line: StoredLine, body: dict[str, Any]) -> None:
        identity, request, analyst = body["id"], body["request"], body["analyst"]
        source: Any = body.get("answer")
        self._check(identity not in self.reservations)
        self.state.event(canonical_json(body["event"]))
        if line.kind == "repeated":
            known = self.reservations[source]
            self._check(known["dataset"] == body["dataset"] and known["fingerprint"] == body["fingerprint"])
            self._check(source in self.answers and body["fingerprint"] is not None)
            paid = analyst is None or known["analyst"] == analyst or (analyst, source) in self._paid
            self._check(body["charged"] is (not paid))
            self._paid.add((analyst, source))
        if request is not None:
            key = (analyst or "", request["key"])
            self._check(key not in self.requests)
            self.requests[key] = (request["digest"], identity)
        self.reservations[identity] = {
            "id": identity,
            "dataset": body["dataset"],
            "analyst": analyst,
            "opened": line.sequence,
            "closed": None,
            "state": line.kind,
            "fingerprint": body["fingerprint"],
            "source": source,
        }

    def _close_reservation(self, line: StoredLine, body: dict[str, Any]) -> None:
        known = self.reservations[body["id"]]
        self._check(known["state"] == "reserved")
        known["state"], known["closed"] = line.kind, line.sequence
        if line.kind == "committed" and body["answer"] is not None:
            self.answers[body["id"]] = body["answer"]

    @staticmethod
    def _check(holds: bool) -> None:  # noqa: FBT001 - what holds
        if not holds:
            raise LookupError


def _compare(connection: "Connection", replay: _Replay) -> None:
    _compare_table(
        ("ledger.reservation_differs", "ledger.reservation_missing"),
        ((row["id"], row) for row in _rows(connection, RESERVATIONS)),
        replay.reservations,
    )
    _compare_table(
        ("ledger.request_differs", "ledger.request_missing"),
        (((row["analyst"], row["key"]), (row["digest"], row["reservation"])) for row in _rows(connection, REQUESTS)),
        replay.requests,
    )
    _compare_table(
        ("ledger.answer_differs", "ledger.answer_missing"),
        ((row["id"], _digest(row)) for row in _rows(connection, ANSWERS)),
        replay.answers,
    )


def _rows(connection: "Connection", table: Table) -> Iterable[dict[str, Any]]:
    statement = select(table).execution_options(yield_per=1_000)
    return (dict(row) for row in connection.execute(statement).mappings())


def _digest(row: dict[str, Any]) -> str | None:
    digest = digest_bytes(bytes(row["text"]))
    return digest if digest == row["digest"] else None


def _compare_table(codes: tuple[str, str], found: Iterable[tuple[Any, Any]], expected: dict[Any, Any]) -> None:
    number = 0
    for key, value in found:
        number += 1
        if key not in expected or expected[key] != value:
            raise LedgerError(codes[0])
    if number != len(expected):
        raise LedgerError(codes[1], wanted=len(expected), found=number)
