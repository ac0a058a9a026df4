"""A line of a statement: what a scope may spend, has spent and has left."""

from dataclasses import dataclass
from datetime import datetime

from celosia.core.guarantees import Guarantee
from celosia.ledger.budgets.policy import Policy
from celosia.ledger.budgets.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One budget. The last three are None where the policy has no window.

    >>> import celosia as cl
    >>> ledger = cl.open_ledger("memory://")
    >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    >>> [line] = ledger.statement()
    >>> line.scope.dataset, line.remaining
    ('deaths', PureDP(epsilon=1))
    """

    scope: Scope
    policy: Policy
    spent: Guarantee
    remaining: Guarantee
    window_spent: Guarantee | None = None
    window_remaining: Guarantee | None = None
    renews: datetime | None = None
