"""The guard's tables in the ledger's database: users, keys, web sessions, data sets.

They are in the database of the log, so that a change and its line are one transaction. Timestamps are UTC strings of
one length, whose order is that of time in every database.
"""

import datetime as dt
from typing import TYPE_CHECKING

import sqlalchemy as sa

from celosia.ledger.store.tables import RESERVATIONS

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
"""Users. They are never removed: budgets are counted by name."""

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
"""Keys by their public part, with the SHA-256 of the key."""

WEB_SESSIONS = sa.Table(
    "celosia_visits",
    _METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("name", sa.String(256), nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("key_id", sa.String(12)),
    sa.Column("until", sa.String(32), nullable=False),
)
"""Web sessions, by the SHA-256 of the cookie's secret."""

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
    sa.Column("former", sa.Text),
    sa.Column("retired", sa.Boolean),
)
"""Data sets with their sources and declarations. ``revision`` grows with every change of the row.

Stores of version 0.1 lack ``former`` and ``retired``; opening adds them.
"""

APPROVALS = sa.Table(
    "celosia_approvals",
    _METADATA,
    sa.Column("id", sa.String(12), primary_key=True),
    sa.Column("analyst", sa.String(256), nullable=False),
    sa.Column("key", sa.String(256), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("dataset", sa.String(64), nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("cost", sa.Text, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("at", sa.String(32), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("by", sa.String(256)),
    sa.Column("reason", sa.Text),
    sa.UniqueConstraint("analyst", "key"),
)
"""Approvals of queries, by analyst and idempotency key."""

CANCELLATIONS = sa.Table(
    "celosia_cancellations",
    _METADATA,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("at", sa.String(32), nullable=False),
)
"""Reservations whose query is cancelled. The log has a line for each; a row alone can only end a query."""

SAVED = sa.Table(
    "celosia_saved",
    _METADATA,
    sa.Column("analyst", sa.String(256), primary_key=True),
    sa.Column("name", sa.String(100), primary_key=True),
    sa.Column("reservation", sa.String(64), nullable=False),
)
"""Answers that analysts saved under a name of theirs. They are their own notes: the log has no line for them."""


_FORMER_INDEXES = ("celosia_reservations_fingerprint", "celosia_reservations_source")  # of 0.1.0: others took over


def create_tables(ledger: "Ledger") -> None:
    """Create the tables that do not exist, and bring the columns and indexes of an older store up to date."""
    with ledger.store.transaction() as connection:  # one process at a time
        _METADATA.create_all(connection)
        present = {column["name"] for column in sa.inspect(connection).get_columns(DATASETS.name)}
        for column in DATASETS.columns:
            if column.name not in present:
                kind = column.type.compile(connection.dialect)
                connection.execute(sa.text(f"ALTER TABLE {DATASETS.name} ADD COLUMN {column.name} {kind}"))
        for index in RESERVATIONS.indexes:
            index.create(connection, checkfirst=True)
        for former in _FORMER_INDEXES:
            connection.execute(sa.text(f"DROP INDEX IF EXISTS {former}"))


def format_time(at: dt.datetime) -> str:
    """Return a time as it is stored."""
    return at.astimezone(dt.UTC).isoformat(timespec="microseconds")


def parse_time(text: str | None) -> dt.datetime | None:
    """Return a stored time."""
    return None if text is None else dt.datetime.fromisoformat(text)
