"""``celosia guard approval``: list costly queries that wait for a curator, and decide about them."""

from pathlib import Path
from typing import Annotated

import typer

from celosia.cli.account.options import commands
from celosia.cli.guard.opening import ConfigOption, open_guard, print_message, print_table

approval = commands("approval", "List and decide approvals of costly queries.")
"""The sub-command."""


@approval.command("list")
def _list(
    state: Annotated[str | None, typer.Option(metavar="STATE", help="pending, granted or denied.")] = None,
    config: ConfigOption = Path("guard.toml"),
) -> None:
    """List approvals, latest first."""
    from celosia.cli.costs import cost
    from celosia.core.guarantees import Guarantee
    from celosia.guard.auth.identity import Identity
    from celosia.query.serial.records import record_from_json

    with open_guard(config) as guard:
        found = guard.approvals(Identity.local(), state=state)
    rows = [
        [
            one.id,
            one.analyst,
            one.dataset,
            one.question,
            cost(record_from_json(Guarantee, dict(one.cost))),  # type: ignore[type-abstract] # one of its kinds
            "answered" if one.answer else one.state,
        ]
        for one in found
    ]
    print_table(["Approval", "Analyst", "Data set", "Question", "Cost", "State"], rows)


@approval.command("decide")
def _decide(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of an approval.")],  # noqa: A002 - its name everywhere
    grant: Annotated[bool, typer.Option("--grant/--deny", help="Grant or deny it.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The reason, which the analyst sees.")] = "",
    config: ConfigOption = Path("guard.toml"),
) -> None:
    """Grant or deny an approval; a decision can be changed until the query is answered."""
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        decided = guard.decide_approval(Identity.local(), id, granted=grant, reason=reason)
    print_message(f"Approval {decided.id} of {decided.analyst} is {decided.state}.")
