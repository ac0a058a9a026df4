"""Make an answer from a reservation: its state, its cost and its release.

The answer to a repeated request is the stored text, even if the data set has changed since. An answer that repeats an
earlier query, of any analyst, is marked: the data set did not pay again.
"""

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from celosia.core.errors import CelosiaError
from celosia.guard.schema.replies import Answer

if TYPE_CHECKING:
    from celosia.ledger import Ledger, Reservation


def make_answer(
    reservation: "Reservation", ledger: "Ledger", *, whole: bool = True, since: dt.datetime | None = None
) -> Answer:
    """Return the answer of a reservation, with its release only if ``whole``.

    A reservation made before ``since`` without an answer is reported as failed: its process has most likely died. If an
    answer is stored later after all, it is reported from then on.
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
        # A model states the guarantee that was asked for, in its own kind; its cost is in that of the account.
        cost=_cost(reservation, ledger) if release is None or "model" in release else release["guarantee"],
        release=release,
        repeated=repeated,
        stored=None if release is None else reservation.answer,
    )


def _cost(reservation: "Reservation", ledger: "Ledger") -> Any:
    try:
        cost = ledger.account(reservation.dataset, reservation.analyst).cost(reservation.event)
    except CelosiaError:  # the budget is now of another kind and cannot price this event
        return None
    return json.loads(cost.to_json())
