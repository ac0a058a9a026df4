"""``celosia guard user``: add and list users, add and revoke keys.

A key is printed once, alone on standard output. Revoking is immediate and permanent; a user stays, because budgets are
counted by name.
"""

import datetime as dt
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from celosia.cli.account.options import commands
from celosia.cli.completion import offer, roles
from celosia.cli.guard.opening import ConfigOption, YesOption, confirm, open_guard, print_message, print_table
from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message

user = commands("user", "Add and list users, give and revoke keys.")
"""The sub-command."""

_STATES = {"valid": "cli_guard.valid", "expired": "cli_guard.expired", "revoked": "cli_guard.revoked_key"}
_ROLES = {
    "owner": "cli_guard.owner",
    "curator": "cli_guard.curator",
    "analyst": "cli_guard.analyst_role",
    "auditor": "cli_guard.auditor",
}

DaysOption: TypeAlias = Annotated[
    int | None, typer.Option("--days", metavar="N", help="The key expires after N days; by default never.")
]


@user.command("add")
def _add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the user, such as ana.")],
    role: Annotated[
        str, typer.Option(metavar="ROLE", help="owner, curator, analyst or auditor.", autocompletion=offer(roles))
    ],
    days: DaysOption = None,
    config: ConfigOption = Path("guard.toml"),
) -> None:
    """Add a user and print the key, once."""
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        key = guard.add_user(Identity.local(), name, role, _expires(days))
    print_message(Message("cli_guard.key_follows", name=name, role=_name_role(role), shown=_shown_once(days)))
    print_key(key)


@user.command("key")
def _key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A user that exists.")],
    days: DaysOption = None,
    config: ConfigOption = Path("guard.toml"),
) -> None:
    """Add a key to a user; revoke the earlier one when it is no longer used."""
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        key = guard.add_key(Identity.local(), name, _expires(days))
    print_message(Message("cli_guard.another_key_follows", name=name, shown=_shown_once(days)))
    print_key(key)


@user.command("list")
def _list(config: ConfigOption = Path("guard.toml")) -> None:
    """List users and their keys."""
    from celosia.guard.auth.directory import now
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        users = guard.users(Identity.local())
    at = now()
    rows = [
        [
            *(one.name, _name_role(one.role.value), key.id),
            *(Message(_STATES[key.state(at)]), _day(key.created), _day(key.expires)),
        ]
        for one in users
        for key in one.keys
    ]
    codes = ("cli_guard.user", "cli_guard.role", "cli_guard.key", "cli_guard.state", "cli_guard.since")
    print_table([Message(code) for code in (*codes, "cli_guard.until")], rows)


@user.command("revoke")
def _revoke(
    name: Annotated[str, typer.Argument(metavar="NAME|KEY", help="A user, for all keys, or the id of one key.")],
    yes: YesOption = False,
    config: ConfigOption = Path("guard.toml"),
) -> None:
    """Revoke all keys of a user, or one key, immediately and permanently."""
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        confirm(Message("cli.act_revoke", name=name), yes=yes)
        ended = guard.revoke(Identity.local(), name)
    print_message(
        Message("cli_guard.revoked", keys=", ".join(ended)) if ended else Message("cli_guard.nothing_to_revoke")
    )


def print_key(key: str) -> None:
    """Print a key alone on standard output."""
    print(key)  # noqa: T201 - so that it can be piped into a vault


def _expires(days: int | None) -> dt.datetime | None:
    from celosia.guard.auth.directory import now

    if days is None:
        return None
    if not 1 <= days <= 36_525:
        raise ParameterError("cli.days_out_of_range", days=days)
    return now() + dt.timedelta(days=days)


def _shown_once(days: int | None) -> Message:
    if days is None:
        return Message("cli_guard.shown_once")
    return Message("cli_guard.ends_after_one_day") if days == 1 else Message("cli_guard.ends_after_days", days=days)


def _name_role(role: str) -> str:
    return Message(_ROLES[role]) if role in _ROLES else role


def _day(at: dt.datetime | None) -> str:
    return "–" if at is None else f"{at:%Y-%m-%d}"
