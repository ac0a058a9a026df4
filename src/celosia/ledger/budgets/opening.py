"""Open and change budgets, and list them in statements.

A limit may be raised or lowered at any time; below the total spent, nothing is left. Spending is final: a scope is
charged with everything in the log that applies to it, also from before it had a budget of its own.
"""

from typing import TYPE_CHECKING

from celosia.accounting.accountants.sums import RenyiAccountant
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_text
from celosia.core.guarantees import Guarantee, RenyiDP
from celosia.core.messages.message import join_names
from celosia.ledger.budgets.policy import RULES, Policy
from celosia.ledger.budgets.policy_json import policy_to_json
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.budgets.statement import KindTotal, StatementLine

if TYPE_CHECKING:
    from celosia.ledger.state_reader import Snapshot


def set_policy(snapshot: "Snapshot", scope: Scope, limit: Guarantee | Policy, by: str) -> None:
    """Write a policy into the log, unless it is in force already; see ``Ledger.set_budget``."""
    policy = limit if isinstance(limit, Policy) else Policy(limit=limit)
    author = exact_text(by, name="by")
    if scope.analyst is not None and any(getattr(policy, rule) is not None for rule in RULES):
        raise ParameterError("ledger.rules_are_for_datasets", names=join_names(RULES))
    before = snapshot.state.policies.get(scope)
    if before == policy:
        return
    if before is not None and snapshot.state.charges(scope) and not _has_same_accountant(before, policy):
        raise ParameterError("ledger.accountant_already_used", accountant=repr(before.accountant))
    snapshot.state.new_tracker(scope, policy)  # refuses a limit that cannot price the past spending
    snapshot.append(
        "budget",
        {"dataset": scope.dataset, "analyst": scope.analyst, "by": author, "policy": policy_to_json(policy)},
    )


def open_policy(snapshot: "Snapshot", scope: Scope, limit: Guarantee | Policy, by: str) -> Policy:
    """Write a policy if a scope has none, and return the one in force; see ``Ledger.open_budget``.

    A writable snapshot holds the lock of the whole ledger: no other budget can be opened between the two steps.
    """
    policy = limit if isinstance(limit, Policy) else Policy(limit=limit)
    if scope in snapshot.state.policies:
        return snapshot.state.policies[scope]
    set_policy(snapshot, scope, policy, by)
    return policy


def _has_same_accountant(one: Policy, other: Policy) -> bool:
    first, second = one.make_accountant(), other.make_accountant()
    if isinstance(first, RenyiAccountant) and isinstance(second, RenyiAccountant):
        same_kind = isinstance(one.limit, RenyiDP) == isinstance(other.limit, RenyiDP)
        return same_kind and first.orders.tolist() == second.orders.tolist()
    return type(first) is type(second)


def applies_to_query(scope: Scope, dataset: str | None, analyst: str | None) -> bool:
    """Return whether a scope applies to an analyst's queries on a data set; None stands for any."""
    return (dataset is None or scope.dataset in (None, dataset)) and (
        analyst is None or scope.analyst in (None, analyst)
    )


def make_statement_line(snapshot: "Snapshot", scope: Scope) -> StatementLine:
    """Return the line of a scope in a statement."""
    policy, tracker, window = snapshot.state.policy(scope), snapshot.state.tracker(scope), snapshot.window(scope)
    assert policy is not None  # noqa: S101 - for the type checker: a tracker has one
    return StatementLine(
        scope=scope,
        policy=policy,
        spent=tracker.spent,
        remaining=tracker.remaining,
        window_spent=None if window is None else window.spent,
        window_remaining=None if window is None else window.remaining,
        renews=None if policy.window is None else policy.window.end(snapshot.at),
        kinds=tuple(
            KindTotal(kind=kind, releases=one.number, cost=one.spent)
            for kind, one in snapshot.state.trackers_by_kind(scope).items()
        ),
    )
