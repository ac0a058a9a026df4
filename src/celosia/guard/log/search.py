"""Find lines of the log by kind, data set, user, time and text, page by page.

The lines that close a reservation name only its number; they belong to the data set and the analyst of its question.
The body of a line is canonical JSON. In it a quotation mark inside a string is escaped, so that ``"dataset":"deaths"``
is found where a field has this value, and in no question that quotes it. A text is found in the body, and in the
sentence that readers see; no database knows the sentence, so the lines are read and said page by page.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.log.sentences import say_lines
from celosia.ledger.log.chain import canonical_json, format_timestamp
from celosia.ledger.log.lines import StoredLine, parse_line
from celosia.ledger.store.tables import LOG, RESERVATIONS

if TYPE_CHECKING:
    from celosia.ledger import Ledger, LogLine

_COLUMNS: Final = (LOG.c.sequence, LOG.c.at, LOG.c.kind, LOG.c.body, LOG.c.previous, LOG.c.hash)
_MAX_LENGTH: Final = 200
_PAGE_SIZE: Final = 1_000
_USER_FIELDS: Final = ("analyst", "by", "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Which lines are wanted: all that is given must hold.

    ``user`` is the analyst who asked, the user who made a change, or the one it was about. ``since`` and ``until`` are
    days, both included, or times, from the first until before the second; without a zone they are UTC. ``text`` is in
    the sentence of the line or in its body, in capitals or not.
    """

    kind: str | None = None
    dataset: str | None = None
    user: str | None = None
    since: str | None = None
    until: str | None = None
    text: str | None = None

    @classmethod
    def parse(cls, given: Mapping[str, str | None]) -> "LogFilter":
        """Return the filter of the fields of a form or an address; empty fields are left out."""
        return cls(**{field.name: given.get(field.name) or None for field in fields(cls)})

    def __post_init__(self) -> None:
        if self.text is not None:  # sentences are copied from pages, where these blanks keep a number on its line
            object.__setattr__(self, "text", self.text.replace("\N{NO-BREAK SPACE}", " "))
        for name, value in self.given.items():
            if not value.isprintable() or not 0 < len(value) <= _MAX_LENGTH:
                raise ParameterError("guard.invalid_text", name=name, most=_MAX_LENGTH)
        self.conditions()  # refuses what is no time

    @property
    def given(self) -> dict[str, str]:
        """The fields that are given."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def is_empty(self) -> bool:
        """Whether all lines are wanted."""
        return not self.given

    def conditions(self) -> list["sa.ColumnElement[bool]"]:
        """Return the conditions on the lines of the log, all but the text."""
        found: list[sa.ColumnElement[bool]] = []
        if self.kind is not None:
            found.append(LOG.c.kind == self.kind)
        if self.dataset is not None:
            found.append(_concerns(RESERVATIONS.c.dataset, self.dataset, "dataset"))
        if self.user is not None:
            found.append(_concerns(RESERVATIONS.c.analyst, self.user, *_USER_FIELDS))
        if self.since is not None:
            found.append(LOG.c.at >= _parse_time(self.since, "since", days=0))
        if self.until is not None:
            found.append(LOG.c.at < _parse_time(self.until, "until", days=1))
        return found

    def select(self, ledger: "Ledger", lines: "Sequence[LogLine]", language: str) -> "tuple[LogLine, ...]":
        """Return the lines that have the text, in their bodies or in their sentences in a language."""
        if self.text is None:
            return tuple(lines)
        text = self.text.casefold()
        quoted = canonical_json(self.text)[1:-1].casefold()
        return tuple(
            said.line
            for said in say_lines(ledger, lines)
            if quoted in canonical_json(said.line.body).casefold() or text in said.write(language).casefold()
        )


def _concerns(column: Any, value: str, *names: str) -> "sa.ColumnElement[bool]":
    """Return the condition that a line names a value, or closes a reservation that does."""
    closed = sa.select(RESERVATIONS.c.closed).where(column == value, RESERVATIONS.c.closed.is_not(None))
    named = [_contains(f'"{name}":{canonical_json(value)}') for name in names]
    return sa.or_(*named, LOG.c.sequence.in_(closed))


def _contains(text: str) -> "sa.ColumnElement[bool]":
    # LIKE ignores case in SQLite; replacing does not, in any database.
    return sa.func.replace(LOG.c.body, text, "") != LOG.c.body


def _parse_time(text: str, name: str, *, days: int) -> str:
    """Return a time as the log writes it; of a day its beginning, ``days`` later."""
    try:
        at = dt.datetime.fromisoformat(text)
        at = at if len(text) > len("2026-01-31") else at + dt.timedelta(days=days)
        return format_timestamp(at if at.tzinfo is not None else at.replace(tzinfo=dt.UTC))
    except (ValueError, OverflowError):
        raise ParameterError("guard.not_a_time", name=name, value=safe_repr(text)) from None


def find_pages(
    ledger: "Ledger",
    wanted: LogFilter,
    *,
    after: int = 0,
    before: int | None = None,
    limit: int | None = None,
    language: str = "en",
) -> "Iterator[tuple[LogLine, ...]]":
    """Yield the wanted lines after a number, oldest first; or with ``before`` those below it, newest first.

    At most ``limit`` lines; one page is in memory at a time, and no connection is held between pages. A text is looked
    for in the sentences of the ``language``.
    """
    left = limit
    while left is None or left > 0:
        size = _PAGE_SIZE if left is None or wanted.text is not None else min(left, _PAGE_SIZE)
        query = sa.select(*_COLUMNS).where(*wanted.conditions(), LOG.c.sequence > after).limit(size)
        if before is None:
            query = query.order_by(LOG.c.sequence)
        else:
            query = query.where(LOG.c.sequence < before).order_by(LOG.c.sequence.desc())
        with ledger.store.reading() as connection:
            read = tuple(parse_line(StoredLine._make(row)) for row in connection.execute(query))
        page = wanted.select(ledger, read, language)[:left]
        if page:
            yield page
        if len(read) < size:
            return
        after, before = (read[-1].sequence, None) if before is None else (after, read[-1].sequence)
        left = None if left is None else left - len(page)
