"""``celosia guard approval``: list costly queries that wait for a curator, and decide about them."""

import json
from pathlib import Path
from typing import Annotated, Final, TypeAlias

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

    with open_guard(config) as guard:
        found = guard.approvals(Identity.local(), state=state)
    rows = [
        [
            one.id,
            one.analyst,
            one.dataset,
            one.question,
            cost(Guarantee.from_json(json.dumps(dict(one.cost)))),
            Message(_STATES["answered" if one.answer else one.state]),
        ]
        for one in found
    ]
    codes = ("cli_guard.approval", "cli_guard.analyst", "cli_guard.data_set", "cli_guard.question", "cli_guard.cost")
    print_table([Message(code) for code in (*codes, "cli_guard.state")], rows)


_ApprovalId: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="The id of an approval.")]
_Reason: TypeAlias = Annotated[str, typer.Option(metavar="TEXT", help="The reason, which the analyst sees.")]


@approval.command("grant")
def _grant(id: _ApprovalId, reason: _Reason = "", config: ConfigOption = Path("guard.toml")) -> None:  # noqa: A002 - its name everywhere
    """Grant an approval, so that its analyst can ask; this can be changed until the query is answered."""
    _decide(id, "cli_guard.approval_is_granted", granted=True, reason=reason, config=config)


@approval.command("deny")
def _deny(id: _ApprovalId, reason: _Reason = "", config: ConfigOption = Path("guard.toml")) -> None:  # noqa: A002 - its name everywhere
    """Deny an approval; this can be changed until the query is answered."""
    _decide(id, "cli_guard.approval_is_denied", granted=False, reason=reason, config=config)


def _decide(number: str, code: str, *, granted: bool, reason: str, config: Path) -> None:
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        decided = guard.decide_approval(Identity.local(), number, granted=granted, reason=reason)
    print_message(Message(code, id=decided.id, analyst=decided.analyst))
