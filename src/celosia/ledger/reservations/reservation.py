"""Requests, and the reservations that pay for them.

A reservation is made before data are read and stays spent whatever happens then. ``committed`` has an answer and
``failed`` has none; ``reserved`` is in progress, or was left by a crash. ``repeated`` is an earlier answer from the
store, at no cost to the data set.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from celosia.core.events import Event
from celosia.core.exact import exact_text
from celosia.ledger.budgets.release_kind import ReleaseKind
from celosia.ledger.log.chain import JSON

ReservationState: TypeAlias = Literal["reserved", "committed", "failed", "repeated"]
"""The states of a reservation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The identity of a request, equal in every retry: a key drawn by its sender, and the digest of its content.

    ``approval`` is the id of its approval, if it has one.

    >>> Request(key="7f3a", digest="9f86d081")
    Request(key='7f3a', digest='9f86d081')
    """

    key: str
    digest: str
    approval: str | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", exact_text(self.key, name="key"))
        object.__setattr__(self, "digest", exact_text(self.digest, name="digest"))
        if self.approval is not None:
            object.__setattr__(self, "approval", exact_text(self.approval, name="approval"))

    def to_json(self) -> dict[str, JSON]:
        """Return the request as it is in the log.

        >>> Request(key="7f3a", digest="9f86d081").to_json()
        {'key': '7f3a', 'digest': '9f86d081'}
        """
        found: dict[str, JSON] = {"key": self.key, "digest": self.digest}
        return found if self.approval is None else found | {"approval": self.approval}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A spent cost, with the answer once there is one.

    ``fresh`` is False if nothing is left to do: the request was seen before, or its answer came from the store.
    ``kind`` says what left the house; it has no influence on the cost.

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
    kind: ReleaseKind = "query"
    at: datetime
    state: ReservationState = "reserved"
    answer: str | None = None
    fresh: bool = True

    def __repr__(self) -> str:
        # The answer may be long, and is for the analyst only.
        return f"<Reservation {self.id}: {self.state}, {type(self.event).__name__} on {self.dataset!r}>"
