"""Questions that analysts save under a name, to look at their latest answers again.

A name refers to an answer of the analyst. Its latest answer is that of the latest reservation with the same question:
what was paid for is shown again, and nothing is asked.
"""

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.storage.tables import SAVED
from celosia.serving.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.ledger import Ledger, Reservation

MAX_SAVED: Final = 50
"""The most questions that an analyst can save."""

_MAX_NAME_LENGTH: Final = 100
_MAX_LOOKED_AT: Final = 1_000  # reservations among which a later answer is looked for
_ANSWERED: Final = ("committed", "repeated")


def save(ledger: "Ledger", analyst: str, name: object, reservation: str) -> None:
    """Save an answer under a name, in place of an earlier one of the same name."""
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME_LENGTH or not name.isprintable():
        raise ParameterError("guard.invalid_saved_name", most=_MAX_NAME_LENGTH, name=safe_repr(name))
    mine = SAVED.c.analyst == analyst
    with ledger.store.transaction() as connection:
        connection.execute(sa.delete(SAVED).where(mine, SAVED.c.name == name))
        if len(connection.execute(sa.select(SAVED.c.name).where(mine)).all()) >= MAX_SAVED:
            raise ParameterError("guard.too_many_saved", most=MAX_SAVED)
        connection.execute(sa.insert(SAVED).values(analyst=analyst, name=name, reservation=reservation))


def forget(ledger: "Ledger", analyst: str, name: str) -> None:
    """Remove a saved question; its answers stay."""
    with ledger.store.transaction() as connection:
        gone = connection.execute(sa.delete(SAVED).where(SAVED.c.analyst == analyst, SAVED.c.name == name))
    if not gone.rowcount:
        raise NotFoundError("guard.no_saved_question", name=name)


def find_latest(ledger: "Ledger", analyst: str) -> list[tuple[str, str]]:
    """Return the saved names of an analyst, each with the id of the latest answer to its question."""
    with ledger.store.reading() as connection:
        query = sa.select(SAVED.c.name, SAVED.c.reservation).where(SAVED.c.analyst == analyst).order_by(SAVED.c.name)
        saved = [(row.name, row.reservation) for row in connection.execute(query)]
    if not saved:
        return []
    recent = ledger.reservations(analyst=analyst, limit=_MAX_LOOKED_AT)
    return [(name, _find_latest(ledger, recent, reservation)) for name, reservation in saved]


def _find_latest(ledger: "Ledger", recent: "Sequence[Reservation]", saved: str) -> str:
    first = ledger.reservation(saved)
    if first is None:
        return saved
    same = [
        one.id
        for one in recent
        if (one.dataset, one.question) == (first.dataset, first.question) and one.state in _ANSWERED
    ]
    return same[-1] if same else saved
