"""The strict JSON form of a policy in the log."""

import json
from typing import cast

from celosia.core.errors import FormatError
from celosia.core.exact import exact
from celosia.core.guarantees import Guarantee
from celosia.ledger.budgets.policy import RULES, Policy, Window
from celosia.ledger.log.chain import JSON, canonical_json

_FIELDS = {"accountant", "allow_real", "limit", "window"}


def policy_to_json(policy: Policy) -> dict[str, JSON]:
    """Return a policy as JSON, with exact numbers."""
    window = policy.window
    rules = {name: str(getattr(policy, name)) for name in RULES if getattr(policy, name) is not None}
    return rules | {
        "accountant": policy.accountant,
        "allow_real": policy.allow_real,
        "limit": json.loads(policy.limit.to_json()),
        "window": None if window is None else {"seconds": window.seconds, "limit": json.loads(window.limit.to_json())},
    }


def policy_from_json(value: JSON) -> Policy:
    """Parse a policy."""
    if not isinstance(value, dict) or set(value) - set(RULES) != _FIELDS or not isinstance(value["allow_real"], bool):
        raise FormatError("ledger.wrong_policy_fields")
    accountant, window = value["accountant"], value["window"]
    rules = {name: value[name] for name in RULES if name in value}
    if (
        not isinstance(accountant, str)
        or not (window is None or _is_window(window))
        or not all(isinstance(rule, str) for rule in rules.values())
    ):
        raise FormatError("ledger.wrong_policy_types")
    return Policy(
        limit=Guarantee.from_json(canonical_json(value["limit"])),
        accountant=accountant,
        window=None if window is None else _parse_window(cast("dict[str, JSON]", window)),
        allow_real=value["allow_real"],
        **{name: exact(cast("str", rule), name=name) for name, rule in rules.items()},
    )


def _is_window(value: JSON) -> bool:
    return isinstance(value, dict) and set(value) == {"limit", "seconds"} and type(value["seconds"]) is int


def _parse_window(value: dict[str, JSON]) -> Window:
    return Window(seconds=cast("int", value["seconds"]), limit=Guarantee.from_json(canonical_json(value["limit"])))
