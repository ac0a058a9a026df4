"""What a session has been asked: one line for each question, in the words of SQL, with what it cost.

A line is made of a reservation, which is what a account or a ledger remembers of a question.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from celosia.core import Event
    from celosia.core.guarantees import Guarantee
    from celosia.ledger.reservations.reservation import Reservation
    from celosia.query.release import TableRelease

_WORDS: Final = {"committed": "answered"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a session's history: the question, what was paid, and whether it was answered.

    ``state`` is ``"answered"``, ``"failed"`` if the data could not be read, ``"reserved"`` while that is not yet known
    (or never will be, after a crash): the price stays paid in every case. ``"repeated"`` is an answer that a ledger had
    in store, at no cost to the data set.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    >>> release = session.sql("SELECT COUNT(*) FROM deaths WHERE age < 18", epsilon="0.1")
    >>> session.history[0].question, session.history[0].cost, session.history[0].state
    ('SELECT COUNT(*) FROM deaths WHERE age < 18', PureDP(epsilon='0.1'), 'answered')
    """

    question: str
    event: "Event"
    cost: "Guarantee"
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """What became of a question: the reservation that paid for it, and the answer.

    ``release`` is None where a request that was made before has no answer: it is still being computed, or it failed.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    >>> asked = session.ask(session.query().count().plan, epsilon="0.1")
    >>> asked.reservation.state, asked.release.guarantee
    ('committed', PureDP(epsilon='0.1'))
    """

    reservation: "Reservation"
    release: "TableRelease | None"


def entry_of(reservation: "Reservation", cost: "Guarantee") -> Entry:
    """Return the line of a history that a reservation makes."""
    return Entry(
        question=reservation.question,
        event=reservation.event,
        cost=cost,
        state=_WORDS.get(reservation.state, reservation.state),
    )
