"""What was asked, and how it ended: a request, and the reservation that paid for it.

A reservation is made before data are read and stays spent whatever happens then. ``committed`` means that an answer was
given, ``failed`` that none was; one that is still ``reserved`` is being answered, or was left by a crash. ``repeated``
is an answer that was given before, from the store, at no cost to the data set.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from celosia.core.events import Event
from celosia.core.record import exact_text

State: TypeAlias = Literal["reserved", "committed", "failed", "repeated"]
"""How far a reservation came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What makes a retry the same request: a key that its sender drew, and the digest of what was sent with it.

    >>> Request(key="7f3a", digest="9f86d081")
    Request(key='7f3a', digest='9f86d081')
    """

    key: str
    digest: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", exact_text(self.key, name="key"))
        object.__setattr__(self, "digest", exact_text(self.digest, name="digest"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A cost that is spent, with the answer once there is one.

    ``fresh`` is False where nothing is left to do: the request was seen before, or its answer came from the store.

    >>> import celosia as cl
    >>> with cl.open_ledger("memory://") as ledger:
    ...     ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    ...     event = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event
    ...     reservation = ledger.reserve(event, dataset="deaths", question="How many?")
    >>> reservation.state, reservation.fresh, reservation.question
    ('reserved', True, 'How many?')
    """

    id: str
    dataset: str
    analyst: str | None = None
    event: Event
    question: str = ""
    at: datetime
    state: State = "reserved"
    answer: str | None = None
    fresh: bool = True

    def __repr__(self) -> str:
        # The answer may be long, and belongs to whoever asked.
        return f"<Reservation {self.id}: {self.state}, {type(self.event).__name__} on {self.dataset!r}>"
