from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from celosia.core import ApproxDP, CelosiaError, PureDP, ReplaceOne
from celosia.ledger import Policy, Window
from celosia.ledger.budgets.policy_json import policy_from_json, policy_to_json

POLICY = Policy(
    limit=ApproxDP(epsilon="1/3", delta="1e-6", adjacency=ReplaceOne, unit="person"),
    accountant="zcdp",
    window=Window(seconds=60, limit=ApproxDP(epsilon="0.1", delta="1e-7", adjacency=ReplaceOne, unit="person")),
    allow_real=True,
)


@pytest.mark.parametrize("policy", [POLICY, Policy(limit=PureDP(epsilon=0.1))])
def test_a_policy_comes_back_as_it_was(policy: Policy) -> None:
    assert policy_from_json(json.loads(json.dumps(policy_to_json(policy)))) == policy


def test_what_is_not_exactly_a_policy_is_refused() -> None:
    good: Any = policy_to_json(POLICY)
    for name, wrong in [
        ("accountant", None),
        ("accountant", "pld"),
        ("allow_real", 1),
        ("allow_real", "yes"),
        ("limit", None),
        ("limit", {"kind": "LaplaceEvent"}),
        ("window", 60),
        ("window", {"seconds": 60}),
        ("window", {"seconds": True, "limit": good["limit"]}),
        ("window", {"seconds": "60", "limit": good["limit"]}),
        ("more", 1),
    ]:
        bad = copy.deepcopy(good)
        bad[name] = wrong
        with pytest.raises(CelosiaError):
            policy_from_json(bad)
    others: list[Any] = [None, [], "policy", {}]
    for other in others:
        with pytest.raises(CelosiaError):
            policy_from_json(other)
