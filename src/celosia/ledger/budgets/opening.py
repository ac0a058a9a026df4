"""Budgets: how they are opened and changed, and what a statement says of them.

A limit may be raised or lowered at any time; lowered below what was spent, nothing is left. What was spent stays spent:
a scope is charged with everything in the log that falls into it, also from before it had a budget of its own.
"""

from typing import TYPE_CHECKING

from celosia.accounting.accountants.sums import RenyiAccountant
from celosia.core.errors import ParameterError
from celosia.core.guarantees import Guarantee, RenyiDP
from celosia.core.record import exact_text
from celosia.ledger.budgets.policy import Policy
from celosia.ledger.budgets.policy_json import policy_to_json
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.budgets.statement import Line

if TYPE_CHECKING:
    from celosia.ledger.state_reader import Snapshot


def set_policy(page: "Snapshot", scope: Scope, limit: Guarantee | Policy, by: str) -> None:
    """Write a policy into the log, unless it is the one that holds; see ``Ledger.set_budget``."""
    policy = limit if isinstance(limit, Policy) else Policy(limit=limit)
    author = exact_text(by, name="by")
    before = page.state.policies.get(scope)
    if before == policy:
        return
    if before is not None and page.state.charged(scope) and not _same_watcher(before, policy):
        raise ParameterError(
            f"accountant: something was spent under {before.accountant!r}, which therefore stays: choosing another one "
            "now would be choosing it by the answers."
        )
    page.state.fresh_meter(scope, policy)  # refuses a limit under which what was spent cannot be priced
    page.append(
        "budget",
        {"dataset": scope.dataset, "analyst": scope.analyst, "by": author, "policy": policy_to_json(policy)},
    )


def open_policy(page: "Snapshot", scope: Scope, limit: Guarantee | Policy, by: str) -> Policy:
    """Write a policy where a scope has none, and return the one that holds; see ``Ledger.open_budget``.

    A page that is written holds the lock of the whole ledger: no other budget can be opened between the two steps.
    """
    policy = limit if isinstance(limit, Policy) else Policy(limit=limit)
    if scope in page.state.policies:
        return page.state.policies[scope]
    set_policy(page, scope, policy, by)
    return policy


def _same_watcher(one: Policy, other: Policy) -> bool:
    first, second = one.watcher(), other.watcher()
    if isinstance(first, RenyiAccountant) and isinstance(second, RenyiAccountant):
        same_kind = isinstance(one.limit, RenyiDP) == isinstance(other.limit, RenyiDP)
        return same_kind and first.orders.tolist() == second.orders.tolist()
    return type(first) is type(second)


def bears_on(scope: Scope, dataset: str | None, analyst: str | None) -> bool:
    """Tell whether a scope has a say in what an analyst asks of a data set; None stands for any."""
    return (dataset is None or scope.dataset in (None, dataset)) and (
        analyst is None or scope.analyst in (None, analyst)
    )


def line_of(page: "Snapshot", scope: Scope) -> Line:
    """Return what a statement says of a scope."""
    policy, meter, window = page.state.policies[scope], page.state.meter(scope), page.window(scope)
    return Line(
        scope=scope,
        policy=policy,
        spent=meter.spent,
        remaining=meter.remaining,
        window_spent=None if window is None else window.spent,
        window_remaining=None if window is None else window.remaining,
        renews=None if policy.window is None else policy.window.end(page.at),
    )
