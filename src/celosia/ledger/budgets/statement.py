"""A line of a statement: the limit, spending and remainder of a scope, and the spending by kind of release."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from celosia.core.guarantees import Guarantee
from celosia.core.messages.message import Message
from celosia.ledger.budgets.policy import RULES, Policy
from celosia.ledger.budgets.release_kind import ReleaseKind
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.budgets.spend_tracker import EXACT_SUMS

_KIND_CODES: Final[Mapping[ReleaseKind, str]] = {
    "query": "ledger.kind_query",
    "model": "ledger.kind_model",
    "local": "ledger.kind_local",
    "federated": "ledger.kind_federated",
    "other": "ledger.kind_other",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTotal:
    """What one kind of release cost in a scope: their number, and their cost as if there were no others.

    Every paid reservation counts as a release, also one that failed or is open.

    >>> import celosia as cl
    >>> ledger = cl.open_ledger("memory://")
    >>> ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    >>> event = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event
    >>> reservations = [ledger.reserve(event, dataset="deaths", kind=kind) for kind in ("query", "model", "query")]
    >>> [(total.kind, total.releases, total.cost) for total in ledger.statement()[0].kinds]
    [('query', 2, PureDP(epsilon='0.2')), ('model', 1, PureDP(epsilon='0.1'))]
    """

    kind: ReleaseKind
    releases: int
    cost: Guarantee

    @property
    def message(self) -> Message:
        """The kind for a reader."""
        return Message(_KIND_CODES[self.kind])

    def to_json(self) -> dict[str, Any]:
        """Return the total as a JSON object, with exact numbers."""
        return {"kind": self.kind, "releases": self.releases, "cost": _record(self.cost)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLine:
    """One budget. The fields of the window are None if the policy has none, ``kinds`` if the reader may not see them.

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
    kinds: tuple[KindTotal, ...] | None = None

    @property
    def sum_note(self) -> Message | None:
        """A sentence where the costs of the kinds need not add up, for they are composed otherwise than by a sum."""
        if len(self.kinds or ()) <= 1 or self.policy.accountant in EXACT_SUMS:
            return None
        return Message("ledger.kinds_need_not_add_up")

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
            "kinds": None if self.kinds is None else [total.to_json() for total in self.kinds],
        }


def _record(guarantee: Guarantee | None) -> Any:
    return None if guarantee is None else json.loads(guarantee.to_json())
