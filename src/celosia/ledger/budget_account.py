"""Protocol of anything that holds a privacy budget.

An ``InMemoryBudget`` holds it in memory, for one session; an ``Account`` holds it in a ledger, for all analysts of a
data set. Code that reads data takes an account and follows its order: reserve, read, commit or fail. Nothing is
refunded.
"""

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee
    from celosia.core.release import Release
    from celosia.ledger.reservations.reservation import Request, Reservation


@runtime_checkable
class BudgetAccount(Protocol):
    """Protocol of a privacy budget, such as ``InMemoryBudget`` or a ledger's ``Account``.

    >>> import celosia as cl
    >>> ledger = cl.open_ledger("memory://")
    >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    >>> isinstance(ledger.account("deaths"), BudgetAccount)
    True
    """

    @property
    def budget(self) -> "Guarantee":
        """The guarantee of all queries together."""

    @property
    def limit(self) -> "Guarantee":
        """The budget in the accountant's own kind of guarantee, the kind of the targets of single queries."""

    @property
    def spent(self) -> "Guarantee":
        """The total paid so far, in the accountant's own kind."""

    @property
    def remaining(self) -> "Guarantee":
        """The remaining budget, in the accountant's own kind."""

    @property
    def history(self) -> "tuple[Reservation, ...]":
        """The reservations of this account, the earliest first."""

    @property
    def allows_seeded(self) -> bool:
        """Whether noise may come from a repeatable stream; never where others rely on it."""

    @property
    def allows_real(self) -> bool:
        """Whether noise may come from real arithmetic (``arithmetic="real"``)."""

    @property
    def caches(self) -> bool:
        """Whether answers are stored and returned again."""

    def admits(self, event: "Event") -> bool:
        """Return whether an event fits into the remaining budget. Nothing is spent."""

    def cost(self, event: "Event") -> "Guarantee":
        """Return the guarantee of an event on its own, in the accountant's own kind."""

    def charge(self, event: "Event") -> "Guarantee":
        """Return what an event would take from the remaining budget: at most its cost."""

    def reserve(
        self, event: "Event", *, question: str, fingerprint: str | None = None, request: "Request | None" = None
    ) -> "Reservation":
        """Pay for an event before data are read, or raise ``BudgetExceededError`` and pay nothing."""

    def commit(self, reservation: "Reservation", release: "Release[Any]", *, text: str | None = None) -> None:
        """Record the answer, before it is returned to the analyst."""

    def fail(self, reservation: "Reservation") -> None:
        """Mark a reservation as failed. Its cost stays spent."""


def as_account(budget: object) -> BudgetAccount:
    """Return the account of an object that holds a budget: the object itself, or a session's account.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> as_account(cl.Session(deaths, budget=cl.PureDP(epsilon=1)))
    <InMemoryBudget: PureDP(epsilon=1) of PureDP(epsilon=1) left>
    """
    for account in (budget, getattr(budget, "account", None)):
        if isinstance(account, BudgetAccount):
            return account
    raise ParameterError("ledger.not_a_budget_account", budget=safe_repr(budget))
