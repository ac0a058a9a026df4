"""An analyst's account on a data set, kept by a ledger.

The guarantee of the account is that of the data set's own budget, which protects the people in the data. The remainder
is the least that any scope has left, so that the account never offers a cost that it would refuse.
"""

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from celosia.core.exact import exact_text
from celosia.core.guarantees import Guarantee
from celosia.ledger.budgets.scope import Scope, list_scopes
from celosia.ledger.non_copyable import NonCopyable
from celosia.ledger.reservations.records import list_reservations
from celosia.ledger.reservations.reserving import get_policy, has_room, price_under

if TYPE_CHECKING:
    from celosia.core.events import Event
    from celosia.core.release import Release
    from celosia.ledger.budgets.policy import Policy
    from celosia.ledger.budgets.release_kind import ReleaseKind
    from celosia.ledger.ledger import Ledger
    from celosia.ledger.reservations.reservation import Request, Reservation


class Account(NonCopyable):
    """A ``BudgetAccount`` in a ledger; ``ledger.account(dataset, analyst)`` opens one.

    >>> import celosia as cl
    >>> ledger = cl.open_ledger("memory://")
    >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    >>> account = ledger.account("deaths", "ana")
    >>> event = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event
    >>> account.admits(event), account.cost(event)
    (True, PureDP(epsilon='0.1'))
    >>> reservation = account.reserve(event, question="How many?")
    >>> account
    <Account of 'ana' on 'deaths': PureDP(epsilon='0.9') of PureDP(epsilon=1) left>
    """

    def __init__(self, ledger: "Ledger", dataset: str, analyst: str | None = None) -> None:
        self._ledger = ledger
        self._dataset = exact_text(dataset, name="dataset")
        self._analyst = None if analyst is None else exact_text(analyst, name="analyst")
        self._scope = Scope(dataset=self._dataset)

    def for_analyst(self, analyst: str | None) -> "Account":
        """Return the account of another analyst on the same data set.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> ledger.account("deaths").for_analyst("ana").analyst
        'ana'
        """
        return Account(self._ledger, self._dataset, analyst)

    def _policy(self) -> "Policy":
        with self._ledger.state.reading() as snapshot:
            return get_policy(snapshot, self._dataset)

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self._dataset

    @property
    def analyst(self) -> str | None:
        """The analyst's name; None is the owner."""
        return self._analyst

    @property
    def budget(self) -> Guarantee:
        """The guarantee of the data set's budget, for all queries of all analysts together."""
        return self._policy().limit

    @property
    def limit(self) -> Guarantee:
        """The budget in the accountant's own kind of guarantee."""
        with self._ledger.state.reading() as snapshot:
            return snapshot.state.tracker(self._scope).limit

    @property
    def spent(self) -> Guarantee:
        """The total spent on the data set, by all analysts."""
        with self._ledger.state.reading() as snapshot:
            return snapshot.state.tracker(self._scope).spent

    @property
    def remaining(self) -> Guarantee:
        """The remaining budget of this analyst: the least that the scopes and their windows have left.

        A scope with another kind of guarantee cannot be compared and is left out; ``admits`` checks it.
        """
        with self._ledger.state.reading() as snapshot:
            left = snapshot.state.tracker(self._scope).remaining
            for scope in list_scopes(self._dataset, self._analyst):
                if snapshot.state.policy(scope) is not None:
                    window = snapshot.window(scope)
                    left = _least(left, snapshot.state.tracker(scope).remaining)
                    left = left if window is None else _least(left, window.remaining)
            return left

    @property
    def history(self) -> "tuple[Reservation, ...]":
        """The reservations of this analyst on the data set, the earliest first, without the answers."""
        with self._ledger.store.reading() as connection:
            return list_reservations(
                connection, dataset=self._dataset, analyst=self._analyst, unnamed=self._analyst is None
            )

    @property
    def allows_seeded(self) -> bool:
        """False: others rely on the noise."""
        return False

    @property
    def allows_real(self) -> bool:
        """Whether the policy of the data set allows noise from real arithmetic."""
        return self._policy().allow_real

    @property
    def caches(self) -> bool:
        """True: stored answers are returned again."""
        return True

    def admits(self, event: "Event") -> bool:
        """Return whether every scope has room for an event now. Nothing is spent.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> ledger.account("deaths").admits(cl.mechanisms.Laplace(epsilon=2, sensitivity=1).event)
        False
        """
        with self._ledger.state.reading() as snapshot:
            return all(has_room(snapshot, scope, event) for scope in list_scopes(self._dataset, self._analyst))

    def cost(self, event: "Event") -> Guarantee:
        """Return the guarantee of an event on its own, in the kind of the data set's accountant.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.ZCDP(rho=1), dataset="deaths")
        >>> ledger.account("deaths").cost(cl.core.GaussianEvent(variance=4, sensitivity_squared=1))
        ZCDP(rho=0.125)
        """
        return price_under(self._policy(), event)

    def charge(self, event: "Event") -> Guarantee:
        """Return what an event would take from the remaining budget of the data set: at most its cost.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> ledger.account("deaths").charge(cl.mechanisms.Laplace(epsilon="0.4", sensitivity=1).event)
        PureDP(epsilon='0.4')
        """
        with self._ledger.state.reading() as snapshot:
            return snapshot.state.tracker(self._scope).charge(event)

    def reserve(
        self,
        event: "Event",
        *,
        question: str,
        fingerprint: str | None = None,
        request: "Request | None" = None,
        kind: "ReleaseKind" = "query",
    ) -> "Reservation":
        """Pay for an event before data are read; see ``Ledger.reserve``.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> event = cl.mechanisms.Laplace(epsilon=1, sensitivity=1).event
        >>> ledger.account("deaths", "ana").reserve(event, question="How many?").analyst
        'ana'
        """
        return self._ledger.reserve(
            event,
            dataset=self._dataset,
            analyst=self._analyst,
            question=question,
            fingerprint=fingerprint,
            request=request,
            kind=kind,
        )

    def commit(self, reservation: "Reservation", release: "Release[Any]", *, text: str | None = None) -> None:
        """Store the answer; see ``Ledger.commit``.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> count = cl.mechanisms.Laplace(epsilon=1, sensitivity=1)
        >>> account = ledger.account("deaths")
        >>> account.commit(account.reserve(count.event, question="How many?"), count.release(108))
        >>> account.history[0].state
        'committed'
        """
        self._ledger.commit(reservation, release, text=text)

    def fail(self, reservation: "Reservation") -> None:
        """Mark a reservation as failed; see ``Ledger.fail``.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> account = ledger.account("deaths")
        >>> account.fail(account.reserve(cl.mechanisms.Laplace(epsilon=1, sensitivity=1).event, question="How many?"))
        >>> account.history[0].state
        'failed'
        """
        self._ledger.fail(reservation)

    def __repr__(self) -> str:
        who = "the owner" if self._analyst is None else repr(self._analyst)
        return f"<Account of {who} on {self._dataset!r}: {self.remaining!r} of {self.budget!r} left>"


def _least(one: Guarantee, other: Guarantee) -> Guarantee:
    """Return the smaller of two guarantees, number by number; one that cannot be compared is left out."""
    if type(one) is not type(other) or getattr(one, "orders", None) != getattr(other, "orders", None):
        return one
    numbers = {
        field.name: min(getattr(one, field.name), getattr(other, field.name))
        for field in dataclasses.fields(one)
        if isinstance(getattr(one, field.name), Fraction)
    }
    if hasattr(one, "epsilons"):
        numbers["epsilons"] = tuple(map(min, one.epsilons, getattr(other, "epsilons")))  # noqa: B009 - of one kind
    return dataclasses.replace(one, **numbers)
