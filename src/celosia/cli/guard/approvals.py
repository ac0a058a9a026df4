"""``celosia guard approval``: list costly queries that wait for a curator, and decide about them."""

from pathlib import Path
from typing import Annotated, Final

import typer

from celosia.cli.account.options import commands
from celosia.cli.guard.opening import ConfigOption, open_guard, print_message, print_table
from celosia.core.messages.message import Message

approval = commands("approval", "List and decide approvals of costly queries.")
"""The sub-command."""

_STATES: Final = {
    "pending": "cli_guard.approval_pending",
    "granted": "cli_guard.approval_granted",
    "denied": "cli_guard.approval_denied",
    "answered": "cli_guard.approval_answered",
}


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
            Message(_STATES["answered" if one.answer else one.state]),
        ]
        for one in found
    ]
    codes = ("cli_guard.approval", "cli_guard.analyst", "cli_guard.data_set", "cli_guard.question", "cli_guard.cost")
    print_table([Message(code) for code in (*codes, "cli_guard.state")], rows)


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
    code = "cli_guard.approval_is_granted" if grant else "cli_guard.approval_is_denied"
    print_message(Message(code, id=decided.id, analyst=decided.analyst))
