"""Append and read the lines of the log; lines never change.

A line's time is never before that of the line above it, whatever the clock says: windows of time only go forward.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import bindparam, insert, select, update

from celosia.core.errors import CelosiaError, LedgerError
from celosia.ledger.log.bodies import Body, read_body
from celosia.ledger.log.chain import (
    GENESIS,
    JSON,
    LogHead,
    LogLine,
    canonical_json,
    format_timestamp,
    line_hash,
    parse_timestamp,
)
from celosia.ledger.store.statements import Statement
from celosia.ledger.store.tables import HEAD, LOG

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PAGE_SIZE: Final = 2_000

_COLUMNS: Final = (LOG.c.sequence, LOG.c.at, LOG.c.kind, LOG.c.body, LOG.c.previous, LOG.c.hash)
_AFTER: Final = Statement(
    select(*_COLUMNS).where(LOG.c.sequence > bindparam("after")).order_by(LOG.c.sequence).limit(bindparam("most"))
)
_SINCE: Final = select(LOG.c.sequence).where(LOG.c.at >= bindparam("at")).order_by(LOG.c.sequence).limit(1)
_ONE: Final = select(*_COLUMNS).where(LOG.c.sequence == bindparam("number"))
_HEAD: Final = Statement(select(HEAD.c.sequence, HEAD.c.at, HEAD.c.hash).where(HEAD.c.id == 1))
_ADD: Final = Statement(insert(LOG))
_MOVE: Final = Statement(update(HEAD).where(HEAD.c.id == 1), "sequence", "at", "hash")


class StoredLine(NamedTuple):
    """A line as the database stores it."""

    sequence: int
    at: str
    kind: str
    body: str
    previous: str
    hash: str

    @property
    def is_intact(self) -> bool:
        """Whether the hash matches the line."""
        return self.hash == line_hash(
            sequence=self.sequence, at=self.at, kind=self.kind, body=self.body, previous=self.previous
        )


def system_clock() -> datetime:
    """Return the time of the system's clock."""
    return datetime.now(UTC)


def begin(connection: "Connection", body: dict[str, JSON], clock: Callable[[], datetime]) -> None:
    """Write the first line and the head."""
    at, text = format_timestamp(clock()), canonical_json(body)
    first = StoredLine(
        1, at, "opened", text, GENESIS, line_hash(sequence=1, at=at, kind="opened", body=text, previous=GENESIS)
    )
    _ADD.execute(connection, first._asdict())
    connection.execute(insert(HEAD), {"id": 1, "sequence": 1, "at": at, "hash": first.hash})


def read_head(connection: "Connection") -> tuple[LogHead, str]:
    """Return the last line's number and hash, and its time."""
    row = _HEAD.first(connection, {})
    if row is None:
        raise LedgerError("ledger.head_lost")
    return LogHead(sequence=row.sequence, hash=row.hash), row.at


def append(connection: "Connection", kind: str, body: dict[str, JSON], clock: Callable[[], datetime]) -> StoredLine:
    """Add a line, within a write transaction."""
    head, last = read_head(connection)
    at, text = max(format_timestamp(clock()), last), canonical_json(body)
    sequence = head.sequence + 1
    digest = line_hash(sequence=sequence, at=at, kind=kind, body=text, previous=head.hash)
    line = StoredLine(sequence, at, kind, text, head.hash, digest)
    _ADD.execute(connection, line._asdict())
    _MOVE.execute(connection, {"sequence": sequence, "at": at, "hash": digest})
    return line


def read_lines_after(connection: "Connection", after: int, most: int | None = None) -> Iterator[StoredLine]:
    """Yield the lines after a number, reading page by page."""
    while most is None or most > 0:
        size = _PAGE_SIZE if most is None else min(most, _PAGE_SIZE)
        rows = _AFTER.fetch(connection, {"after": after, "most": size})
        yield from map(StoredLine._make, rows)
        if len(rows) < size:
            return
        after = rows[-1][0]
        most = None if most is None else most - size


def read_lines_since(connection: "Connection", at: datetime) -> Iterator[StoredLine]:
    """Return the lines from a time on."""
    first = connection.execute(_SINCE, {"at": format_timestamp(at)}).scalar()
    return iter(()) if first is None else read_lines_after(connection, first - 1)


def read_line_at(connection: "Connection", number: int) -> StoredLine | None:
    """Return one line."""
    row = connection.execute(_ONE, {"number": number}).first()
    return None if row is None else StoredLine._make(row)


def read_line_body(raw: StoredLine) -> Body:
    """Read the body of a stored line."""
    try:
        return read_body(raw.kind, raw.body)
    except (CelosiaError, ValueError, TypeError, RecursionError):
        raise LedgerError("ledger.unreadable_line", sequence=raw.sequence) from None


def parse_line(raw: StoredLine) -> LogLine:
    """Parse a stored line."""
    try:
        body = json.loads(raw.body)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise LedgerError("ledger.unreadable_line", sequence=raw.sequence)
    return LogLine(
        sequence=raw.sequence,
        at=parse_timestamp(raw.at),
        kind=raw.kind,
        body=body,
        previous=raw.previous,
        hash=raw.hash,
    )
