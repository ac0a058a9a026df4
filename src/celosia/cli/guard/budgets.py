"""``celosia guard budget``: set and show the budgets of data sets and analysts.

The budget of a data set bounds what all analysts together learn about the people in it. Budgets of analysts divide it.
A window is a smaller limit for a period of days, in addition to the total limit.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from celosia.cli.account.options import commands, spread
from celosia.cli.account.show import waiting
from celosia.cli.costs import cost, left, name_kind
from celosia.cli.guard.opening import ConfigOption, YesOption, confirm, open_guard, print_message, print_table
from celosia.cli.terminal import print_line
from celosia.core import ZCDP, ApproxDP, Guarantee, ParameterError, PureDP
from celosia.core.exact import exact_non_negative
from celosia.core.messages.message import Message, separate

if TYPE_CHECKING:
    from celosia.ledger import Policy, StatementLine

budget = commands("budget", "Set and show budgets.")
"""The sub-command."""

_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """Command-line options of a budget."""

    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="The total epsilon, such as 3.")] = None
    delta: Annotated[str | None, typer.Option(metavar="NUMBER", help="The total delta, such as 1e-6.")] = None
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="Zero-concentrated, instead of epsilon.")] = None
    window_days: Annotated[int | None, typer.Option(metavar="N", help="A smaller limit for each period of N days.")] = (
        None
    )
    window_epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="The epsilon of a window.")] = None
    window_delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The delta of a window; by default the total delta.")
    ] = None
    window_rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="The rho of a window.")] = None

    least_cost: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The least epsilon or rho of one query of an analyst; 0 for no rule."),
    ] = None
    analyst_share: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="The part of the budget of analysts without one, such as 0.1; 0 for no rule."
        ),
    ] = None
    approval_above: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="A query that costs more needs the approval of a curator; 0 for no rule."),
    ] = None

    def policy(self) -> "Policy":
        """Return the policy of the options, without its rules."""
        from celosia.ledger import Policy, Window

        limit = _limit(self.epsilon, self.delta, self.rho, prefix="")
        given = (self.window_epsilon, self.window_delta, self.window_rho)
        if self.window_days is None:
            if any(one is not None for one in given):
                raise ParameterError("cli.missing_window_days")
            return Policy(limit=limit)
        if self.window_days < 1:
            raise ParameterError("cli.window_days_too_small", window_days=self.window_days)
        delta = self.delta if self.window_delta is None and self.window_rho is None else self.window_delta
        inner = _limit(self.window_epsilon, delta, self.window_rho, prefix="window-")
        return Policy(limit=limit, window=Window(seconds=self.window_days * _DAY, limit=inner))

    def rules(self) -> dict[str, str | None]:
        """Return the rules that are given; those left out stay as they are."""
        given = {
            "least_cost": self.least_cost,
            "analyst_share": self.analyst_share,
            "approval_above": self.approval_above,
        }
        return {name: text for name, text in given.items() if text is not None}


def _limit(epsilon: str | None, delta: str | None, rho: str | None, *, prefix: str) -> Guarantee:
    if (epsilon is None) == (rho is None):
        raise ParameterError("cli.no_single_limit", prefix=prefix)
    if rho is not None:
        if delta is not None:
            raise ParameterError("cli.delta_with_rho_limit")
        return ZCDP(rho=rho)
    if delta is None or exact_non_negative(delta, name="delta") == 0:
        return PureDP(epsilon=epsilon or "")
    return ApproxDP(epsilon=epsilon or "", delta=delta)


@budget.command("set")
@spread
def _set(
    options: BudgetOptions,
    dataset: Annotated[str | None, typer.Option(metavar="NAME", help="For a data set.")] = None,
    analyst: Annotated[
        str | None, typer.Option(metavar="NAME", help="For an analyst: on the data set, or without one on all.")
    ] = None,
    yes: YesOption = False,
    config: ConfigOption = Path("guard.toml"),
) -> None:
    """Set the budget of a data set, of an analyst, or of an analyst on a data set.

    A rule for analysts that is left out stays as it is; 0 removes it.
    """
    from celosia.guard.auth.identity import Identity
    from celosia.guard.datasets.policies import change_rules
    from celosia.ledger import Scope

    if dataset is None and analyst is None:
        raise ParameterError("cli.budget_without_owner")
    policy = options.policy()
    with open_guard(config) as guard:
        before = guard.ledger.budgets.get(Scope(dataset=dataset, analyst=analyst))
        policy = change_rules(policy, before, options.rules())
        if before is not None and _takes_away(before, policy):
            act = Message("cli.act_change_budget", was=_describe(before), now=_describe(policy))
            confirm(act, yes=yes)
        guard.set_budget(Identity.local(), policy, dataset=dataset, analyst=analyst)
        lines = guard.budget(Identity.local(), dataset=dataset, analyst=analyst)
    _print(lines)
    if before is not None and before.window is not None and policy.window is None:
        print_message(Message("cli_guard.window_gone", days=before.window.seconds / _DAY))


def _takes_away(before: "Policy", policy: "Policy") -> bool:
    """Return whether a policy changes the limit, or changes or removes a rule, of the one before."""
    from celosia.ledger.budgets.policy import RULES

    if before.limit != _with_unit(policy.limit, before.limit):
        return True
    return any(getattr(before, name) not in (None, getattr(policy, name)) for name in RULES)


def _describe(policy: "Policy") -> str:
    from celosia.guard.log.sentences import describe_rules

    rules = describe_rules(policy)
    limit = cost(policy.limit)
    return Message("cli_guard.budget_with_rules", limit=limit, rules=separate(rules)) if rules else limit


def _with_unit(limit: Guarantee, other: Guarantee) -> Guarantee:
    return replace(limit, unit=other.unit, adjacency=other.adjacency)


@budget.command("show")
def _show(
    dataset: Annotated[str | None, typer.Option(metavar="NAME", help="Of this data set.")] = None,
    analyst: Annotated[str | None, typer.Option(metavar="NAME", help="Of this analyst.")] = None,
    config: ConfigOption = Path("guard.toml"),
) -> None:
    """Show budgets: limit, spent (also by kind of release) and remaining."""
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard, waiting("cli_guard.adding_up"):
        lines = guard.budget(Identity.local(), dataset=dataset, analyst=analyst)
    _print(lines)
    if not lines:
        print_message(Message("cli_guard.no_such_budget"))


def _print(lines: "tuple[StatementLine, ...]") -> None:
    from celosia.guard.log.sentences import describe_rules

    rows = []
    for line in lines:
        scope = [name or Message("cli_guard.all") for name in (line.scope.dataset, line.scope.analyst)]
        rows.append([*scope, cost(line.policy.limit), cost(line.spent), left(line.remaining), _window(line)])
        rows += [["", name_kind(total), "", cost(total.cost), "", ""] for total in line.kinds or ()]
    codes = ("cli_guard.data_set", "cli_guard.analyst", "cli_guard.budget", "cli_guard.spent", "cli_guard.left")
    print_table([Message(code) for code in (*codes, "cli_guard.window")], rows)
    for line in lines:
        if rules := describe_rules(line.policy):
            print_line(Message("cli_guard.rules_of", scope=line.scope.message, rules=separate(rules)))
    for note in {line.sum_note for line in lines if line.sum_note}:
        print_message(note)


def _window(line: "StatementLine") -> str:
    window = line.policy.window
    if window is None or line.window_remaining is None:
        return "–"
    fields = {"left": left(line.window_remaining), "limit": cost(window.limit), "days": window.seconds / _DAY}
    if line.renews is None:
        return Message("cli_guard.left_in_window", **fields)
    return Message("cli_guard.left_until", **fields, until=f"{line.renews:%Y-%m-%d}")
