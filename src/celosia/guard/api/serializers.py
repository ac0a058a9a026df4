"""JSON of replies: budgets, lines of the log, verifications, users.

Guarantees are written as the ledger's records, with exact numbers.
"""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celosia.core import Guarantee
    from celosia.guard.auth.directory import UserCard
    from celosia.ledger import Line, LogLine, Verification


def _record(guarantee: "Guarantee | None") -> Any:
    return None if guarantee is None else json.loads(guarantee.to_json())


def budget_line(line: "Line") -> dict[str, Any]:
    """Return a line of a statement as JSON."""
    window = line.policy.window
    return {
        "dataset": line.scope.dataset,
        "analyst": line.scope.analyst,
        "accountant": line.policy.accountant,
        "allow_real": line.policy.allow_real,
        "limit": _record(line.policy.limit),
        "spent": _record(line.spent),
        "remaining": _record(line.remaining),
        "window": window
        and {
            "seconds": window.seconds,
            "limit": _record(window.limit),
            "spent": _record(line.window_spent),
            "remaining": _record(line.window_remaining),
            "renews": line.renews and line.renews.isoformat(),
        },
    }


def log_line(line: "LogLine") -> dict[str, Any]:
    """Return a line of the log as JSON."""
    written: dict[str, Any] = json.loads(line.to_json())
    return written


def verification(found: "Verification") -> dict[str, Any]:
    """Return the result of a verification as JSON."""
    head = None if found.head is None else str(found.head)
    return {"ok": found.ok, "lines": found.lines, "head": head, "problem": found.problem}


def user(card: "UserCard") -> dict[str, Any]:
    """Return a user as JSON."""
    keys = [
        {
            "id": key.id,
            "created": key.created.isoformat(),
            "expires": key.expires and key.expires.isoformat(),
            "revoked": key.revoked and key.revoked.isoformat(),
        }
        for key in card.keys
    ]
    return {"name": card.name, "role": card.role.value, "keys": keys}
