"""The guard's own tables, in the same database as the ledger: users, keys, visits, data sets.

They live beside the log so that a change and the line that tells of it are one transaction. Moments are texts in UTC
of one length, which compare as they follow each other, on every database alike.
"""

import datetime as dt
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from celosia.ledger import Ledger

_METADATA = sa.MetaData()

USERS = sa.Table(
    "celosia_users",
    _METADATA,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("created", sa.String(32), nullable=False),
)
"""Who has been added. A user stays for ever: budgets are counted by the name."""

KEYS = sa.Table(
    "celosia_keys",
    _METADATA,
    sa.Column("id", sa.String(12), primary_key=True),
    sa.Column("user", sa.ForeignKey(USERS.c.name), nullable=False, index=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("created", sa.String(32), nullable=False),
    sa.Column("expires", sa.String(32)),
    sa.Column("revoked", sa.String(32)),
)
"""Keys by their public part, with the SHA-256 of the whole."""

WEB_SESSIONS = sa.Table(
    "celosia_visits",
    _METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("name", sa.String(256), nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("key_id", sa.String(12)),
    sa.Column("until", sa.String(32), nullable=False),
)
"""Who is signed in on the pages, by the SHA-256 of the cookie's secret."""

DATASETS = sa.Table(
    "celosia_datasets",
    _METADATA,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("relation", sa.Text),
    sa.Column("schema", sa.Text, nullable=False),
    sa.Column("public", sa.Text, nullable=False),
    sa.Column("analysts", sa.Text),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("created", sa.String(32), nullable=False),
)
"""Where data are and what was declared of them. ``revision`` grows with every change of the row."""


def create_tables(ledger: "Ledger") -> None:
    """Make the tables that are not there yet."""
    with ledger.store.transaction() as connection:  # one process at a time: another may be doing the same
        _METADATA.create_all(connection)


def format_time(at: dt.datetime) -> str:
    """Return a moment as it is stored."""
    return at.astimezone(dt.UTC).isoformat(timespec="microseconds")


def parse_time(text: str | None) -> dt.datetime | None:
    """Return a stored moment."""
    return None if text is None else dt.datetime.fromisoformat(text)
