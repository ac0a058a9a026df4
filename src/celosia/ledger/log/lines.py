"""The log itself: lines are appended and read, never changed.

A line's time is never before that of the line above it, whatever the clock says: windows of time only go forward.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import bindparam, insert, select, update

from celosia.core.errors import LedgerError
from celosia.ledger.log.chain import GENESIS, JSON, Head, LogLine, canonical, line_hash, moment, read_moment
from celosia.ledger.store.tables import HEAD, LOG

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PAGE: Final = 2_000

_COLUMNS: Final = (LOG.c.sequence, LOG.c.at, LOG.c.kind, LOG.c.body, LOG.c.previous, LOG.c.hash)
_AFTER: Final = (
    select(*_COLUMNS).where(LOG.c.sequence > bindparam("after")).order_by(LOG.c.sequence).limit(bindparam("most"))
)
_SINCE: Final = select(LOG.c.sequence).where(LOG.c.at >= bindparam("at")).order_by(LOG.c.sequence).limit(1)
_ONE: Final = select(*_COLUMNS).where(LOG.c.sequence == bindparam("number"))
_HEAD: Final = select(HEAD.c.sequence, HEAD.c.at, HEAD.c.hash).where(HEAD.c.id == 1)
_ADD: Final = insert(LOG)
_MOVE: Final = update(HEAD).where(HEAD.c.id == 1)


class Raw(NamedTuple):
    """A line as the database has it."""

    sequence: int
    at: str
    kind: str
    body: str
    previous: str
    hash: str

    @property
    def holds(self) -> bool:
        """Whether the hash is that of the line."""
        return self.hash == line_hash(
            sequence=self.sequence, at=self.at, kind=self.kind, body=self.body, previous=self.previous
        )


def system_clock() -> datetime:
    """Return the time of the system's clock."""
    return datetime.now(UTC)


def begin(connection: "Connection", body: dict[str, JSON], clock: Callable[[], datetime]) -> None:
    """Write the first line and the head. The example is that of ``append``."""
    at, text = moment(clock()), canonical(body)
    first = Raw(
        1, at, "opened", text, GENESIS, line_hash(sequence=1, at=at, kind="opened", body=text, previous=GENESIS)
    )
    connection.execute(_ADD, first._asdict())
    connection.execute(insert(HEAD), {"id": 1, "sequence": 1, "at": at, "hash": first.hash})


def head_of(connection: "Connection") -> tuple[Head, str]:
    """Return the last line's number and hash, and its time."""
    row = connection.execute(_HEAD).first()
    if row is None:
        raise LedgerError("The ledger has lost its head: the table celosia_head is empty.")
    return Head(sequence=row.sequence, hash=row.hash), row.at


def append(connection: "Connection", kind: str, body: dict[str, JSON], clock: Callable[[], datetime]) -> Raw:
    """Add a line, within a write transaction."""
    head, last = head_of(connection)
    at, text = max(moment(clock()), last), canonical(body)
    sequence = head.sequence + 1
    digest = line_hash(sequence=sequence, at=at, kind=kind, body=text, previous=head.hash)
    line = Raw(sequence, at, kind, text, head.hash, digest)
    connection.execute(_ADD, line._asdict())
    connection.execute(_MOVE, {"sequence": sequence, "at": at, "hash": digest})
    return line


def lines_after(connection: "Connection", after: int, most: int | None = None) -> Iterator[Raw]:
    """Return the lines behind a number, page by page."""
    while most is None or most > 0:
        page = _PAGE if most is None else min(most, _PAGE)
        rows = connection.execute(_AFTER, {"after": after, "most": page}).all()
        yield from (Raw._make(row) for row in rows)
        if len(rows) < page:
            return
        after = rows[-1].sequence
        most = None if most is None else most - page


def lines_since(connection: "Connection", at: datetime) -> Iterator[Raw]:
    """Return the lines from a moment on."""
    first = connection.execute(_SINCE, {"at": moment(at)}).scalar()
    return iter(()) if first is None else lines_after(connection, first - 1)


def line_at(connection: "Connection", number: int) -> Raw | None:
    """Return one line."""
    row = connection.execute(_ONE, {"number": number}).first()
    return None if row is None else Raw._make(row)


def read_line(raw: Raw) -> LogLine:
    """Read a line as a value."""
    try:
        body = json.loads(raw.body)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise LedgerError(f"Line {raw.sequence} of the log cannot be read.")
    return LogLine(
        sequence=raw.sequence,
        at=read_moment(raw.at),
        kind=raw.kind,
        body=body,
        previous=raw.previous,
        hash=raw.hash,
    )
