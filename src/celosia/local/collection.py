"""Collections that are paid for from a budget, beside queries and models.

Every report is private by itself, and still spends what its sender was told: a ledger adds it to all else that it
records about the same persons. The cost is that of one person, however many take part.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.release import Release
from celosia.ledger.budget_account import as_account, settle
from celosia.local.base.protocol import Protocol

if TYPE_CHECKING:
    from celosia.core.events import Event
    from celosia.local.base.aggregate import Aggregate

E = TypeVar("E")


@contextlib.contextmanager
def collect(
    protocol: Protocol[E], *, budget: object, event: "Event | None" = None, question: str | None = None
) -> Iterator["Aggregate[E]"]:
    """Pay for a collection, and yield the aggregate that absorbs its reports.

    The cost is reserved before the first report is absorbed, and stays spent if the block fails. Statements and the
    guard's budget page list it as a local collection.

    Parameters
    ----------
    protocol
        The protocol of the reports.
    budget
        An account such as ``ledger.account("phones")``. Its budget is for persons under replace-one.
    event
        All reports of one person; by default one report, ``protocol.event``. For more: ``protocol.lifetime(30)``, or
        ``protocol.plain_lifetime(365, values=2)`` of a client that memoises.
    question
        The text in the log; the protocol's name by default.

    Examples
    --------
    >>> import celosia as cl
    >>> from celosia.local import DirectEncoding
    >>> ledger = cl.open_ledger("memory://")
    >>> ledger.set_budget(cl.PureDP(epsilon=3, adjacency=cl.ReplaceOne, unit="person"), dataset="phones")
    >>> protocol = DirectEncoding(domain=4, epsilon=1)
    >>> with collect(protocol, budget=ledger.account("phones")) as aggregate:
    ...     _ = aggregate.absorb(protocol.privatize([0, 3, 3]))
    >>> [(total.kind, total.releases) for total in ledger.statement("phones")[0].kinds]
    [('local', 1)]
    >>> ledger.account("phones").remaining
    PureDP(epsilon=2, adjacency=ReplaceOne, unit='person')
    """
    if not isinstance(protocol, Protocol):
        raise ParameterError("local.not_a_protocol", value=safe_repr(protocol))
    account, paid = as_account(budget), protocol.event if event is None else event
    text = type(protocol).__name__ if question is None else question
    reservation = account.reserve(paid, question=text, kind="local")
    with settle(account, reservation, failure="local.collection_failed") as payment:
        aggregate = protocol.aggregate()
        yield aggregate
        payment.deliver(Release(value=aggregate, event=paid, guarantee=account.cost(paid)))
