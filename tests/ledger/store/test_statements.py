"""Statements run by the driver give what SQLAlchemy gives, on SQLite and PostgreSQL, and fail as SQLAlchemy does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from celosia.core import LedgerError
from celosia.ledger import open_ledger
from celosia.ledger.store.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.ledger import Ledger

NOTES = sa.Table(
    "notes",
    sa.MetaData(),
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("words", sa.String, nullable=True),
    sa.Column("content", sa.LargeBinary, nullable=True),
)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "words": "it's 100% %s %(words)s :words ?", "content": b"\x00'\xff"},
    {"id": 2, "words": None, "content": None},
    {"id": 2**62, "words": "ñ \N{SNOWMAN}", "content": b""},
]
ADD = Statement(sa.insert(NOTES))
CHANGE = Statement(sa.update(NOTES).where(NOTES.c.id == sa.bindparam("wanted")), "words")
BY_WORDS = sa.select(NOTES.c.id, NOTES.c.words).where(NOTES.c.words == sa.bindparam("wanted"), NOTES.c.id > 0)
AFTER = sa.select(NOTES).where(NOTES.c.id > sa.bindparam("after")).order_by(NOTES.c.id).limit(sa.bindparam("most"))


@pytest.fixture
def opened(shared: str) -> Iterator[Ledger]:
    """A ledger with a table of notes."""
    with open_ledger(shared) as found:
        with found.store.transaction() as connection:
            NOTES.drop(connection, checkfirst=True)
            NOTES.create(connection)
            for row in ROWS:
                ADD.execute(connection, row)
        yield found


def test_rows_are_those_of_sqlalchemy(opened: Ledger) -> None:
    cases = [(BY_WORDS, {"wanted": row["words"]}) for row in ROWS] + [
        (AFTER, {"after": after, "most": most}) for after in (0, 1, 2**62 - 1, 2**62) for most in (0, 1, 5)
    ]
    with opened.store.reading() as connection:
        for clause, values in cases:
            wanted = [tuple(row) for row in connection.execute(clause, values)]
            statement = Statement(clause)
            for _ in range(2):  # compiled, and found compiled
                assert statement.all(connection, values) == wanted
                assert list(statement.fetch(connection, values)) == wanted
                assert statement.first(connection, values) == (wanted[0] if wanted else None)
        found = Statement(AFTER).first(connection, {"after": 0, "most": 1})
        assert (found.id, found.words, bytes(found.content)) == tuple(ROWS[0].values())


def test_only_the_named_columns_change(opened: Ledger) -> None:
    with opened.store.transaction() as connection:
        CHANGE.execute(connection, {"wanted": 1, "words": "other"})
        rows = connection.execute(sa.select(NOTES).order_by(NOTES.c.id)).all()
    assert [row.words for row in rows] == ["other", None, ROWS[2]["words"]]
    assert [row.content for row in rows] == [row["content"] for row in ROWS]


def test_a_failed_statement_undoes_the_transaction_and_quotes_no_value(opened: Ledger) -> None:
    def add_twice() -> None:
        with opened.store.transaction() as connection:
            CHANGE.execute(connection, {"wanted": 2, "words": "lost"})
            ADD.execute(connection, {"id": 1, "words": "secret", "content": None})

    with pytest.raises(LedgerError) as caught:
        add_twice()
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__
    with opened.store.reading() as connection:
        assert Statement(BY_WORDS).first(connection, {"wanted": "lost"}) is None


def test_a_missing_value_is_an_error(opened: Ledger) -> None:
    with pytest.raises((LedgerError, KeyError)), opened.store.transaction() as connection:
        ADD.execute(connection, {"id": 9, "words": "no content"})
    with opened.store.reading() as connection:
        assert len(Statement(AFTER).fetch(connection, {"after": 0, "most": 9})) == len(ROWS)
