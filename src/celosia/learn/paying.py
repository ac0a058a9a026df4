"""Paying for a fit: the cost is reserved before records are read, and settled with what was learned.

The order is that of every room: validate, reserve, read, noise, commit. Whatever fails after the reservation stays
paid for, because a failure may itself have told something.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from celosia.core.errors import CelosiaError, EngineError, NotPriced, ParameterError
from celosia.core.guarantees import ApproxDP, PureDP
from celosia.core.release import Release
from celosia.ledger.door import Door, door_of
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee

__all__ = ["Payment", "paid"]


@dataclass(slots=True, kw_only=True)
class Payment:
    """What was paid for, and the source of the noise; ``deliver`` what was learned before the block ends.

    >>> from celosia.noise import Seeded
    >>> Payment(source=Seeded(7)).source.seeded
    True
    """

    source: "Source"
    value: Any = field(default=None, repr=False)

    def deliver(self, value: object) -> None:
        """Say what was learned: only noisy numbers."""
        self.value = value


@contextlib.contextmanager
def paid(
    budget: object, source: "Source | None", event: "Event", guarantee: "Guarantee", *, question: str
) -> Iterator[Payment]:
    """Reserve an event with whoever keeps the budget, run the block, and commit; without a budget only draw.

    >>> import celosia as cl
    >>> from celosia.ledger import Purse
    >>> purse = Purse(cl.PureDP(epsilon=1))
    >>> laplace = cl.mechanisms.Laplace(epsilon="0.4", sensitivity=1)
    >>> with paid(purse, None, laplace.event, laplace.guarantee, question="A mean") as payment:
    ...     payment.deliver(laplace.release(108, source=payment.source).value)
    >>> purse.remaining, purse.history[0].state
    (PureDP(epsilon='0.6'), 'committed')
    """
    drawn = source_or_system(source)
    payment = Payment(source=drawn)
    if budget is None:
        yield payment
        return
    door = door_of(budget)
    if drawn.seeded and not door.allows_seeded:
        message = "A ledger takes no models whose noise can be repeated: leave source= out."
        raise ParameterError(message)
    reservation = _reserved(door, event, guarantee, question)
    failed = False
    try:
        yield payment
    except CelosiaError:
        _fail(door, reservation)
        raise
    except Exception:  # noqa: BLE001 - it could quote the data: what is raised below does not show it
        failed = True
    if failed:
        _fail(door, reservation)
        message = "The model could not be fitted. It stays paid for, because data may have been read."
        raise EngineError(message) from None
    release = Release(value=payment.value, event=event, guarantee=guarantee, seeded=drawn.seeded)
    door.commit(reservation, release)


def _reserved(door: Door, event: "Event", guarantee: "Guarantee", question: str) -> Any:  # noqa: ANN401 - a reservation
    """Reserve; say in the caller's words what a budget of another kind cannot pay for."""
    try:
        return door.reserve(event, question=question)
    except NotPriced:
        if not (isinstance(door.budget, PureDP) and isinstance(guarantee, ApproxDP)):
            raise
    message = (
        "The budget is a PureDP, which has no delta to pay with: leave delta= out, or keep the budget as an "
        "ApproxDP(epsilon=..., delta=...)."
    )
    raise ParameterError(message)


def _fail(door: Door, reservation: Any) -> None:  # noqa: ANN401 - a reservation
    with contextlib.suppress(CelosiaError):  # then it stays reserved, which is as spent
        door.fail(reservation)
