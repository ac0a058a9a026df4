"""History of a session: one entry for each query, in SQL, with its cost.

An entry is made of a reservation, the record of a query in a budget account.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from celosia.core import Event
    from celosia.core.guarantees import Guarantee
    from celosia.ledger.reservations.reservation import Reservation
    from celosia.query.planning.strategy import Strategy
    from celosia.query.release import TableRelease

_STATE_NAMES: Final = {"committed": "answered"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a session's history: the query, its cost, and its state.

    ``state`` is ``"answered"``, ``"failed"`` if the data could not be read, or ``"reserved"`` before either (also after
    a crash); the cost stays spent in every case. ``"repeated"`` is a stored answer of a ledger, at no cost to the data
    set.

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
    """Result of a query: the reservation that paid for it, and the answer.

    ``release`` is None if an earlier request with the same key has no answer: it is still running, or it failed.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    >>> result = session.ask(session.query().count().plan, epsilon="0.1")
    >>> result.reservation.state, result.release.guarantee
    ('committed', PureDP(epsilon='0.1'))
    """

    reservation: "Reservation"
    release: "TableRelease | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedQuery:
    """A query that was analyzed and priced, which ``Session.ask_prepared`` answers.

    ``fingerprint`` finds a stored answer; it is None if there can be none.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    >>> session.prepare(session.query().count().plan, epsilon="0.1").question
    'SELECT COUNT(*) FROM deaths'
    """

    strategy: "Strategy"
    guarantee: "Guarantee"
    fingerprint: str | None
    question: str


def make_entry(reservation: "Reservation", cost: "Guarantee") -> Entry:
    """Return the history entry of a reservation."""
    return Entry(
        question=reservation.question,
        event=reservation.event,
        cost=cost,
        state=_STATE_NAMES.get(reservation.state, reservation.state),
    )
