"""What a reservation means to whoever asked: an answer with its state, its cost and its release.

The answer of a repeated request is read from the store and is the same text, whatever has changed since. One that came
from somebody else's question, or from an earlier one of the same analyst, says so: the data set did not pay again.
"""

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from celosia.core.errors import CelosiaError
from celosia.guard.queries.requests import Answer

if TYPE_CHECKING:
    from celosia.ledger import Ledger, Reservation


def answer_of(
    reservation: "Reservation",
    ledger: "Ledger",
    *,
    whole: bool = True,
    since: dt.datetime | None = None,
) -> Answer:
    """Return what is told of a reservation; the release itself only if ``whole``.

    One that was made before ``since`` and has no answer yet is told as failed: whatever worked on it is most likely
    dead. Should there be an answer after all, it is told from then on.
    """
    release = json.loads(reservation.answer) if whole and reservation.answer is not None else None
    repeated = reservation.state == "repeated"
    interrupted = since is not None and reservation.state == "reserved" and reservation.at < since
    return Answer(
        id=reservation.id,
        state="committed" if repeated else "failed" if interrupted else reservation.state,
        dataset=reservation.dataset,
        question=reservation.question,
        at=reservation.at,
        cost=_cost(reservation, ledger) if release is None else release["guarantee"],
        release=release,
        repeated=repeated,
        text=None if release is None else reservation.answer,
    )


def _cost(reservation: "Reservation", ledger: "Ledger") -> Any:
    try:
        cost = ledger.account(reservation.dataset, reservation.analyst).cost(reservation.event)
    except CelosiaError:  # a budget of another kind since: it cannot say what this cost
        return None
    return json.loads(cost.to_json())
