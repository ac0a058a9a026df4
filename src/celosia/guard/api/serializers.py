"""JSON of replies: lines of the log, verifications, users."""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celosia.guard.auth.directory import UserCard
    from celosia.ledger import LogLine, Verification


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
