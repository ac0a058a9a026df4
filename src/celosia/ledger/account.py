"""An analyst's account to a data set, kept by a ledger.

What the account promises is what the data set's own budget promises, because that is what protects the people in it;
what remains is the least that any scope has left, so that nobody is offered what they would be refused.
"""

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from celosia.core.guarantees import Guarantee
from celosia.core.record import exact_text
from celosia.ledger.budgets.scope import Scope, scopes_of
from celosia.ledger.non_copyable import NonCopyable
from celosia.ledger.reservations.records import listing
from celosia.ledger.reservations.reserving import cost_under, has_room, policy_of

if TYPE_CHECKING:
    from celosia.core.events import Event
    from celosia.core.release import Release
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
        with ledger.book.reading() as page:
            policy_of(page, self._dataset)  # refuses a data set without a budget

    @property
    def dataset(self) -> str:
        """The data set that is asked about."""
        return self._dataset

    @property
    def analyst(self) -> str | None:
        """Who asks; None is the owner, who has no name."""
        return self._analyst

    @property
    def budget(self) -> Guarantee:
        """What the data set's budget promises in all, whatever is asked by whomever."""
        with self._ledger.book.reading() as page:
            return policy_of(page, self._dataset).limit

    @property
    def limit(self) -> Guarantee:
        """The same in the accountant's own kind of guarantee."""
        with self._ledger.book.reading() as page:
            return page.state.meter(self._scope).limit

    @property
    def spent(self) -> Guarantee:
        """What was spent on the data set, by everybody."""
        with self._ledger.book.reading() as page:
            return page.state.meter(self._scope).spent

    @property
    def remaining(self) -> Guarantee:
        """What this analyst may still spend: the least of what the scopes and their windows have left.

        A scope that is watched in another kind of guarantee cannot be compared, and is left out; ``admits`` asks it.
        """
        with self._ledger.book.reading() as page:
            left = page.state.meter(self._scope).remaining
            for scope in scopes_of(self._dataset, self._analyst):
                if scope in page.state.policies:
                    window = page.window(scope)
                    left = _least(left, page.state.meter(scope).remaining)
                    left = left if window is None else _least(left, window.remaining)
            return left

    @property
    def history(self) -> "tuple[Reservation, ...]":
        """What this analyst has reserved on the data set, the earliest first, without the answers."""
        with self._ledger.store.reading() as connection:
            return listing(connection, dataset=self._dataset, analyst=self._analyst, unnamed=self._analyst is None)

    @property
    def allows_seeded(self) -> bool:
        """False: others rely on the noise."""
        return False

    @property
    def allows_real(self) -> bool:
        """Whether the policy of the data set allows noise from real arithmetic."""
        with self._ledger.book.reading() as page:
            return policy_of(page, self._dataset).allow_real

    @property
    def caches(self) -> bool:
        """True: an answer that was given is given again."""
        return True

    def admits(self, event: "Event") -> bool:
        """Tell whether every scope has room for an event now. Nothing is spent.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> ledger.account("deaths").admits(cl.mechanisms.Laplace(epsilon=2, sensitivity=1).event)
        False
        """
        with self._ledger.book.reading() as page:
            return all(has_room(page, scope, event) for scope in scopes_of(self._dataset, self._analyst))

    def cost(self, event: "Event") -> Guarantee:
        """Return what an event promises on its own, in the kind of the data set's accountant.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.ZCDP(rho=1), dataset="deaths")
        >>> ledger.account("deaths").cost(cl.core.GaussianEvent(variance=4, sensitivity_squared=1))
        ZCDP(rho=0.125)
        """
        with self._ledger.book.reading() as page:
            return cost_under(policy_of(page, self._dataset), event)

    def charge(self, event: "Event") -> Guarantee:
        """Return what an event would take of what the data set has left: at most its cost.

        >>> import celosia as cl
        >>> ledger = cl.open_ledger("memory://")
        >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        >>> ledger.account("deaths").charge(cl.mechanisms.Laplace(epsilon="0.4", sensitivity=1).event)
        PureDP(epsilon='0.4')
        """
        with self._ledger.book.reading() as page:
            return page.state.meter(self._scope).charge(event)

    def reserve(
        self, event: "Event", *, question: str, fingerprint: str | None = None, request: "Request | None" = None
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
        """Tell that there will be no answer; see ``Ledger.fail``.

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
