"""A line of a statement: the limit, spending and remainder of a scope."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from celosia.core.guarantees import Guarantee
from celosia.ledger.budgets.policy import RULES, Policy
from celosia.ledger.budgets.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLine:
    """One budget. The last three fields are None if the policy has no window.

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

    def to_json(self) -> dict[str, Any]:
        """Return the line as a JSON object, with exact numbers."""
        window = self.policy.window
        return {
            "dataset": self.scope.dataset,
            "analyst": self.scope.analyst,
            "accountant": self.policy.accountant,
            "allow_real": self.policy.allow_real,
            **{name: None if (rule := getattr(self.policy, name)) is None else str(rule) for name in RULES},
            "limit": _record(self.policy.limit),
            "spent": _record(self.spent),
            "remaining": _record(self.remaining),
            "window": window
            and {
                "seconds": window.seconds,
                "limit": _record(window.limit),
                "spent": _record(self.window_spent),
                "remaining": _record(self.window_remaining),
                "renews": self.renews and self.renews.isoformat(),
            },
        }


def _record(guarantee: Guarantee | None) -> Any:
    return None if guarantee is None else json.loads(guarantee.to_json())
