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

__all__ = ["Raw", "append", "begin", "head_of", "line_at", "lines_after", "lines_since", "read_line", "system_clock"]

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
    """A line as the database has it.

    >>> Raw(1, "2026-01-01T00:00:00.000000Z", "note", "{}", GENESIS, "").kind
    'note'
    """

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
    """Return the time of the system's clock.

    >>> system_clock().tzinfo is UTC
    True
    """
    return datetime.now(UTC)


def begin(connection: "Connection", body: dict[str, JSON], clock: Callable[[], datetime]) -> None:
    """Write the first line and the head. The example is that of ``append``.

    >>> begin.__name__
    'begin'
    """
    at, text = moment(clock()), canonical(body)
    first = Raw(
        1, at, "opened", text, GENESIS, line_hash(sequence=1, at=at, kind="opened", body=text, previous=GENESIS)
    )
    connection.execute(_ADD, first._asdict())
    connection.execute(insert(HEAD), {"id": 1, "sequence": 1, "at": at, "hash": first.hash})


def head_of(connection: "Connection") -> tuple[Head, str]:
    """Return the last line's number and hash, and its time.

    >>> import celosia as cl
    >>> ledger = cl.ledger("memory://")
    >>> with ledger.store.reading() as connection:
    ...     head_of(connection)[0].sequence
    1
    """
    row = connection.execute(_HEAD).first()
    if row is None:
        raise LedgerError("The ledger has lost its head: the table celosia_head is empty.")
    return Head(sequence=row.sequence, hash=row.hash), row.at


def append(connection: "Connection", kind: str, body: dict[str, JSON], clock: Callable[[], datetime]) -> Raw:
    """Add a line, within a write transaction.

    >>> import celosia as cl
    >>> ledger = cl.ledger("memory://")
    >>> with ledger.store.transaction() as connection:
    ...     append(connection, "note", {"words": "moved"}, system_clock).sequence
    2
    """
    head, last = head_of(connection)
    at, text = max(moment(clock()), last), canonical(body)
    sequence = head.sequence + 1
    digest = line_hash(sequence=sequence, at=at, kind=kind, body=text, previous=head.hash)
    line = Raw(sequence, at, kind, text, head.hash, digest)
    connection.execute(_ADD, line._asdict())
    connection.execute(_MOVE, {"sequence": sequence, "at": at, "hash": digest})
    return line


def lines_after(connection: "Connection", after: int, most: int | None = None) -> Iterator[Raw]:
    """Return the lines behind a number, page by page.

    >>> import celosia as cl
    >>> with cl.ledger("memory://").store.reading() as connection:
    ...     [line.kind for line in lines_after(connection, 0)]
    ['opened']
    """
    while most is None or most > 0:
        page = _PAGE if most is None else min(most, _PAGE)
        rows = connection.execute(_AFTER, {"after": after, "most": page}).all()
        yield from (Raw._make(row) for row in rows)
        if len(rows) < page:
            return
        after = rows[-1].sequence
        most = None if most is None else most - page


def lines_since(connection: "Connection", at: datetime) -> Iterator[Raw]:
    """Return the lines from a moment on.

    >>> import celosia as cl
    >>> with cl.ledger("memory://").store.reading() as connection:
    ...     len(list(lines_since(connection, datetime(2020, 1, 1, tzinfo=UTC))))
    1
    """
    first = connection.execute(_SINCE, {"at": moment(at)}).scalar()
    return iter(()) if first is None else lines_after(connection, first - 1)


def line_at(connection: "Connection", number: int) -> Raw | None:
    """Return one line.

    >>> import celosia as cl
    >>> with cl.ledger("memory://").store.reading() as connection:
    ...     line_at(connection, 1).kind, line_at(connection, 2)
    ('opened', None)
    """
    row = connection.execute(_ONE, {"number": number}).first()
    return None if row is None else Raw._make(row)


def read_line(raw: Raw) -> LogLine:
    """Read a line as a value.

    >>> read_line(Raw(1, "2026-01-01T00:00:00.000000Z", "note", '{"words":"moved"}', GENESIS, "")).body
    {'words': 'moved'}
    """
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
