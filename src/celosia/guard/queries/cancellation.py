"""Cancel a query in whichever process it runs: a row of the store, which that process looks for while it reads."""

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from celosia.guard.auth.directory import now
from celosia.guard.storage.tables import CANCELLATIONS, format_time

if TYPE_CHECKING:
    from celosia.ledger import Ledger

INTERRUPTED: Final = ("query.time_limit_reached", "query.question_cancelled")
"""The codes of errors after which the engine is still usable."""


def cancel(ledger: "Ledger", reservation: str, *, by: str) -> None:
    """Mark a query as cancelled, and record it in the log, once."""
    with ledger.store.transaction() as connection:
        if not _is_marked(connection, reservation):
            connection.execute(sa.insert(CANCELLATIONS).values(id=reservation, at=format_time(now())))
            ledger.record("query cancelled", {"id": reservation, "by": by}, connection=connection)


def is_cancelled(ledger: "Ledger", reservation: str) -> bool:
    """Return whether a query is cancelled."""
    with ledger.store.reading() as connection:
        return _is_marked(connection, reservation)


def _is_marked(connection: sa.Connection, reservation: str) -> bool:
    query = sa.select(CANCELLATIONS.c.id).where(CANCELLATIONS.c.id == reservation)
    return connection.execute(query).first() is not None
