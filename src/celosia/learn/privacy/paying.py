"""Paying for a fit: the cost is reserved before records are read, and settled with what was learned.

The order is that of every room: validate, reserve, read, noise, commit. Whatever fails after the reservation stays
paid for, because a failure may itself have told something.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import CelosiaError, EngineError, FormatError, NotPricedError, ParameterError
from celosia.core.exact import safe_repr
from celosia.core.guarantees import ApproxDP, PureDP
from celosia.core.release import Release
from celosia.ledger.budget_account import BudgetAccount, as_account
from celosia.ledger.budgets.policy import Policy
from celosia.ledger.reservations.reserving import price_under
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee

_ROUNDING: Final = Fraction(101, 100)  # noise is rounded up, and a search stops close below what it may spend


@dataclass(slots=True, kw_only=True)
class Payment:
    """What was paid for, and the source of the noise; ``deliver`` what was learned before the block ends."""

    source: "Source"
    value: Any = field(default=None, repr=False)

    def deliver(self, value: object) -> None:
        """Say what was learned: only noisy numbers."""
        self.value = value


@contextlib.contextmanager
def paid(
    budget: object, source: "Source | None", event: "Event", guarantee: "Guarantee", *, question: str
) -> Iterator[Payment]:
    """Reserve an event with whoever keeps the budget, run the block, and commit; without a budget only draw."""
    drawn = source_or_system(source)
    payment = Payment(source=drawn)
    if budget is None:
        yield payment
        return
    account = as_account(budget)
    if drawn.seeded and not account.allows_seeded:
        raise ParameterError("A ledger takes no models whose noise can be repeated: leave source= out.")
    reservation = _reserved(account, event, guarantee, question)
    failed = False
    try:
        yield payment
    except CelosiaError:
        _fail(account, reservation)
        raise
    except Exception:  # noqa: BLE001 - it could quote the data: what is raised below does not show it
        failed = True
    if failed:
        _fail(account, reservation)
        raise EngineError(
            "The model could not be fitted. It stays paid for, because data may have been read."
        ) from None
    release = Release(value=payment.value, event=event, guarantee=guarantee, seeded=drawn.seeded)
    account.commit(reservation, release)


def price_event(event: "Event", guarantee: "Guarantee") -> "Guarantee":
    """Return what an event promises by itself, in the kind of a guarantee that is stated for it.

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
        raise FormatError(
            f"The file states {safe_repr(guarantee)}, and its event "
            f"{'has no price of that kind' if price is None else f'costs {price}'}: they contradict each other."
        )


def _numbers(price: "Guarantee", guarantee: "Guarantee") -> list[tuple[str, Any, Any]]:
    """The numbers of two guarantees of one kind, beside each other."""
    names = [field.name for field in dataclasses.fields(guarantee) if field.name not in ("adjacency", "unit")]
    pairs = [(name, getattr(price, name), getattr(guarantee, name)) for name in names]
    return [
        (name, *both)
        for name, spent, stated in pairs
        for both in (zip(spent, stated, strict=True) if isinstance(stated, tuple) else [(spent, stated)])
    ]


def _reserved(account: BudgetAccount, event: "Event", guarantee: "Guarantee", question: str) -> Any:
    """Reserve; say in the caller's words what a budget of another kind cannot pay for."""
    try:
        return account.reserve(event, question=question)
    except NotPricedError:
        if not (isinstance(account.budget, PureDP) and isinstance(guarantee, ApproxDP)):
            raise
    raise ParameterError(
        "The budget is a PureDP, which has no delta to pay with: leave delta= out, or keep the budget as an "
        "ApproxDP(epsilon=..., delta=...)."
    )


def _fail(account: BudgetAccount, reservation: Any) -> None:
    with contextlib.suppress(CelosiaError):  # then it stays reserved, which is as spent
        account.fail(reservation)
