"""Reservations, requests and answers, found by id, by key and by fingerprint.

These tables only repeat the log (except the texts of the answers) and are written in the transaction of its lines.
"""

import hashlib
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import Row, Select, bindparam, insert, select, update

from celosia.core.errors import LedgerError
from celosia.core.events import Event
from celosia.ledger.budgets.release_kind import read_kind
from celosia.ledger.log.chain import canonical_json, parse_timestamp
from celosia.ledger.log.lines import StoredLine, parse_line
from celosia.ledger.reservations.reservation import Request, Reservation
from celosia.ledger.store.statements import Statement
from celosia.ledger.store.tables import ANSWERS, LOG, REQUESTS, RESERVATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_LINE: Final = (LOG.c.sequence, LOG.c.at, LOG.c.kind, LOG.c.body, LOG.c.previous, LOG.c.hash)
_ROWS: Final[Select[tuple[object, ...]]] = select(
    RESERVATIONS.c.id, RESERVATIONS.c.state, RESERVATIONS.c.fingerprint, RESERVATIONS.c.source, *_LINE
).join(LOG, LOG.c.sequence == RESERVATIONS.c.opened)
_BY_ID: Final = Statement(_ROWS.where(RESERVATIONS.c.id == bindparam("wanted")))
_BY_FINGERPRINT: Final = Statement(
    _ROWS.where(
        RESERVATIONS.c.dataset == bindparam("dataset_"),
        RESERVATIONS.c.fingerprint == bindparam("fingerprint_"),
        RESERVATIONS.c.state == "committed",
        RESERVATIONS.c.id.in_(select(ANSWERS.c.id)),
    ).order_by(RESERVATIONS.c.closed)
)
_PAID: Final = Statement(
    select(RESERVATIONS.c.id)
    .where(RESERVATIONS.c.analyst == bindparam("analyst_"), RESERVATIONS.c.source == bindparam("source_"))
    .limit(1)
)
_BY_KEY: Final = Statement(
    select(REQUESTS.c.digest, REQUESTS.c.reservation).where(
        REQUESTS.c.analyst == bindparam("analyst_"), REQUESTS.c.key == bindparam("key_")
    )
)
_ANSWER: Final = Statement(select(ANSWERS.c.digest, ANSWERS.c.text).where(ANSWERS.c.id == bindparam("wanted")))
_MAX_CACHED_EVENTS: Final = 1_024
_ADD_RESERVATION: Final = Statement(insert(RESERVATIONS))
_ADD_REQUEST: Final = Statement(insert(REQUESTS))
_ADD_ANSWER: Final = Statement(insert(ANSWERS))
_CLOSE: Final = Statement(update(RESERVATIONS).where(RESERVATIONS.c.id == bindparam("wanted")), "state", "closed")


class StoredReservation(NamedTuple):
    """A stored reservation with its fingerprint, and the reservation whose answer it repeats."""

    reservation: Reservation
    fingerprint: str | None
    source: str | None


def digest_answer(text: str) -> str:
    """Return the digest of an answer in the log."""
    return digest_bytes(_bytes(text))


def digest_bytes(stored: bytes) -> str:
    """Return the digest of the stored bytes of an answer."""
    return hashlib.sha256(stored).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def store_reservation(
    connection: "Connection",
    reservation: Reservation,
    *,
    opened: int,
    fingerprint: str | None,
    request: Request | None,
    source: str | None = None,
) -> None:
    """Store a reservation, and its request, in the transaction of its line; see ``Ledger.reserve``."""
    _ADD_RESERVATION.execute(
        connection,
        {
            "id": reservation.id,
            "dataset": reservation.dataset,
            "analyst": reservation.analyst,
            "opened": opened,
            "closed": None,
            "state": reservation.state,
            "fingerprint": fingerprint,
            "source": source,
        },
    )
    if request is not None:
        _ADD_REQUEST.execute(
            connection,
            {
                "analyst": reservation.analyst or "",
                "key": request.key,
                "digest": request.digest,
                "reservation": reservation.id,
            },
        )


def close_reservation(connection: "Connection", wanted: str, *, state: str, closed: int) -> None:
    """Store the end of a reservation; see ``Ledger.commit``."""
    _CLOSE.execute(connection, {"wanted": wanted, "state": state, "closed": closed})


def store_answer(connection: "Connection", wanted: str, text: str) -> None:
    """Store the text of an answer; see ``Ledger.commit``."""
    _ADD_ANSWER.execute(connection, {"id": wanted, "digest": digest_answer(text), "text": _bytes(text)})


def find_reservation(connection: "Connection", wanted: str) -> StoredReservation | None:
    """Return a reservation by its id, with the answer if there is one."""
    row = _BY_ID.first(connection, {"wanted": wanted})
    return None if row is None else _load_answer(connection, row)


def find_request(connection: "Connection", analyst: str | None, key: str) -> tuple[Request, StoredReservation] | None:
    """Return the request that an analyst sent with a key, and the reservation that paid for it."""
    row = _BY_KEY.first(connection, {"analyst_": analyst or "", "key_": key})
    found = None if row is None else find_reservation(connection, row.reservation)
    return None if row is None or found is None else (Request(key=key, digest=row.digest), found)


def find_answers(
    connection: "Connection", dataset: str, fingerprint: str, analyst: str | None
) -> list[tuple[StoredReservation, bool]]:
    """Return the stored answers to a query, and whether the analyst has paid for each."""
    rows = _BY_FINGERPRINT.all(connection, {"dataset_": dataset, "fingerprint_": fingerprint})
    found = [_load_answer(connection, row) for row in rows]
    return [(one, _has_paid(connection, one.reservation, analyst)) for one in found]


def _has_paid(connection: "Connection", reservation: Reservation, analyst: str | None) -> bool:
    if analyst is None or reservation.analyst == analyst:  # the owner has no budget of their own to pay from
        return True
    return _PAID.first(connection, {"analyst_": analyst, "source_": reservation.id}) is not None


def list_reservations(
    connection: "Connection",
    *,
    dataset: str | None = None,
    analyst: str | None = None,
    unnamed: bool = False,
    state: str | None = None,
    most: int | None = None,
) -> tuple[Reservation, ...]:
    """Return the latest reservations, the earliest of them first, without their answers."""
    wanted = _ROWS
    if dataset is not None:
        wanted = wanted.where(RESERVATIONS.c.dataset == dataset)
    if analyst is not None or unnamed:
        wanted = wanted.where(RESERVATIONS.c.analyst == analyst)
    if state is not None:
        wanted = wanted.where(RESERVATIONS.c.state == state)
    rows: Sequence[Row[tuple[object, ...]]] = connection.execute(
        wanted.order_by(RESERVATIONS.c.opened.desc()).limit(most)
    ).all()
    return tuple(_parse_reservation(row) for row in reversed(rows))


def _load_answer(connection: "Connection", row: "Row[tuple[object, ...]]") -> StoredReservation:
    reservation, fingerprint, source = _parse_reservation(row), row.fingerprint, row.source
    stored = _ANSWER.first(connection, {"wanted": source or reservation.id})
    if stored is not None:
        if digest_bytes(bytes(stored.text)) != stored.digest:
            raise LedgerError("ledger.stored_answer_changed", reservation=reservation.id)
        reservation = replace(reservation, answer=bytes(stored.text).decode("utf-8", "surrogatepass"))
    return StoredReservation(reservation, fingerprint, source)


@lru_cache(_MAX_CACHED_EVENTS)
def _parse_event(text: str) -> Event:
    return Event.from_json(text)


def _parse_reservation(row: "Row[tuple[object, ...]]") -> Reservation:
    line = parse_line(StoredLine(row.sequence, row.at, row.kind, row.body, row.previous, row.hash))
    body = line.body
    analyst = body["analyst"]
    return Reservation(
        id=str(row.id),
        dataset=str(body["dataset"]),
        analyst=None if analyst is None else str(analyst),
        event=_parse_event(canonical_json(body["event"])),
        question=str(body["question"]),
        kind=read_kind(body.get("kind", "query")),
        at=parse_timestamp(row.at),
        state=row.state,
        fresh=False,
    )
