"""The one account through which a cost is paid: what a session needs to know of whoever keeps its budget.

A ``InMemoryBudget`` keeps it in memory, for one session; an ``Account`` keeps it in a ledger, for all who ask about a
data set.
Rooms that read data take a account and follow its order: reserve, read, commit or fail. Nothing is ever given back.
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
    """What ``InMemoryBudget`` and ``Account`` have in common.

    >>> import celosia as cl
    >>> ledger = cl.open_ledger("memory://")
    >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    >>> isinstance(ledger.account("deaths"), BudgetAccount)
    True
    """

    @property
    def budget(self) -> "Guarantee":
        """What is promised in all, whatever is asked."""

    @property
    def limit(self) -> "Guarantee":
        """The same in the accountant's own kind of guarantee: what the targets of single questions are made of."""

    @property
    def spent(self) -> "Guarantee":
        """What was paid so far, in the accountant's own kind."""

    @property
    def remaining(self) -> "Guarantee":
        """What may still be paid, in the accountant's own kind."""

    @property
    def history(self) -> "tuple[Reservation, ...]":
        """What was reserved through this account, the earliest first."""

    @property
    def allows_seeded(self) -> bool:
        """Whether noise may come from a stream that can be repeated; never where others rely on it."""

    @property
    def allows_real(self) -> bool:
        """Whether noise may come from real arithmetic (``arithmetic="real"``)."""

    @property
    def caches(self) -> bool:
        """Whether answers are stored, to be given again."""

    def admits(self, event: "Event") -> bool:
        """Tell whether an event fits into what is left. Nothing is spent."""

    def cost(self, event: "Event") -> "Guarantee":
        """Return what an event promises on its own, in the accountant's own kind."""

    def charge(self, event: "Event") -> "Guarantee":
        """Return what an event would take of what is left: at most its cost."""

    def reserve(
        self, event: "Event", *, question: str, fingerprint: str | None = None, request: "Request | None" = None
    ) -> "Reservation":
        """Pay for an event before data are read, or raise ``BudgetExceededError`` and pay nothing."""

    def commit(self, reservation: "Reservation", release: "Release[Any]", *, text: str | None = None) -> None:
        """Tell that the answer is there, before it is handed out."""

    def fail(self, reservation: "Reservation") -> None:
        """Tell that there will be no answer. What was reserved stays spent."""


def as_account(budget: object) -> BudgetAccount:
    """Return the account of whoever keeps a budget: itself, or the one that a session pays through.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> as_account(cl.Session(deaths, budget=cl.PureDP(epsilon=1)))
    <InMemoryBudget: PureDP(epsilon=1) of PureDP(epsilon=1) left>
    """
    for keeper in (budget, getattr(budget, "account", None)):
        if isinstance(keeper, BudgetAccount):
            return keeper
    raise ParameterError(
        "budget must be a Session, a ledger's account, ledger.account('data'), or a InMemoryBudget, not "
        f"{safe_repr(budget)}."
    )
