"""The price of an event in the kind of a stated guarantee, and whether the two agree."""

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import CelosiaError, FormatError
from celosia.core.exact import safe_repr
from celosia.ledger.budgets.policy import Policy
from celosia.ledger.reservations.reserving import price_under

if TYPE_CHECKING:
    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee

_ROUNDING: Final = Fraction(101, 100)  # noise is rounded up, and a search stops close below its target


def price_event(event: "Event", guarantee: "Guarantee") -> "Guarantee":
    """Return the price of an event, in the kind of a guarantee that is stated for it.

    An event that has no price of this kind, or is for other neighbours or another unit, is refused.
    """
    policy = Policy(limit=guarantee)
    policy.open().count(event)  # refuses other neighbours, and another unit
    return price_under(policy, event)


def check_price(event: "Event", guarantee: "Guarantee") -> None:
    """Refuse a guarantee that is not what the event costs: rounding aside, neither less nor more."""
    try:
        price = price_event(event, guarantee)
    except CelosiaError:
        price = None
    if price is None or not all(
        spent <= stated <= spent * _ROUNDING or (name == "delta" and spent <= stated)
        for name, spent, stated in _numbers(price, guarantee)
    ):
        if price is None:
            raise FormatError("learn.file_event_without_price", guarantee=safe_repr(guarantee))
        raise FormatError("learn.file_event_of_other_price", guarantee=safe_repr(guarantee), price=price)


def _numbers(price: "Guarantee", guarantee: "Guarantee") -> list[tuple[str, Any, Any]]:
    """The numbers of two guarantees of one kind, beside each other."""
    names = [field.name for field in dataclasses.fields(guarantee) if field.name not in ("adjacency", "unit")]
    pairs = [(name, getattr(price, name), getattr(guarantee, name)) for name in names]
    return [
        (name, *both)
        for name, spent, stated in pairs
        for both in (zip(spent, stated, strict=True) if isinstance(stated, tuple) else [(spent, stated)])
    ]
