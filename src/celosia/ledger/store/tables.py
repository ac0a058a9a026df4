"""The tables of a ledger: the log and its head, and tables derived from the log for quick lookup.

The log alone decides the remaining budget. Reservations and requests repeat the log, by id and by key; answers hold the
texts, of which the log has the digests. ``verify`` compares them all.
"""

from typing import Final

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text

METADATA: Final = MetaData()
"""The tables of a ledger; other tables in the same database have their own metadata."""

_NUMBER: Final = BigInteger().with_variant(Integer, "sqlite")

LOG: Final = Table(
    "celosia_log",
    METADATA,
    Column("sequence", _NUMBER, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Index("celosia_log_at", "at"),
)
"""The log: one row for each line, never changed."""

HEAD: Final = Table(
    "celosia_head",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("sequence", _NUMBER, nullable=False),
    Column("at", Text, nullable=False),
    Column("hash", Text, nullable=False),
)
"""One row, the last line of the log: it reveals a cut-off tail, and writers lock it."""

RESERVATIONS: Final = Table(
    "celosia_reservations",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("analyst", Text),
    Column("opened", _NUMBER, nullable=False, unique=True),
    Column("closed", _NUMBER),
    Column("state", Text, nullable=False),
    Column("fingerprint", Text),
    Column("source", Text),
    Index("celosia_reservations_answer", "dataset", "fingerprint", "state"),  # of many repeats, one has the answer
    Index("celosia_reservations_analyst", "analyst", "dataset", "opened"),
    Index("celosia_reservations_paid", "source", "analyst"),
    Index("celosia_reservations_state", "state"),
)
"""Reservations by id: which lines of the log opened and closed them, and whose answer was repeated."""

REQUESTS: Final = Table(
    "celosia_requests",
    METADATA,
    Column("analyst", Text, primary_key=True),  # empty for the owner, who has no name
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("reservation", Text, nullable=False),
)
"""Requests by their sender and key."""

ANSWERS: Final = Table(
    "celosia_answers",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("text", LargeBinary, nullable=False),
)
"""Answers by the id of the reservation that paid for them."""
