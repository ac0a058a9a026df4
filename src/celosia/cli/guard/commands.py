"""``celosia guard``: set up a privacy guard, serve it, and manage users, data sets and budgets.

These commands work on the store itself, as its owner: a user who can read the configuration and the store needs no key.
The log records their changes as done by ``local``. A new key is printed once, alone on standard output, and cannot be
shown again.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from celosia.cli.account.options import JsonOption, commands
from celosia.cli.account.show import waiting
from celosia.cli.costs import cost
from celosia.cli.guard.approvals import approval
from celosia.cli.guard.budgets import budget
from celosia.cli.guard.datasets import dataset
from celosia.cli.guard.opening import ConfigOption, open_guard, print_message
from celosia.cli.guard.users import print_key, user
from celosia.cli.language import say
from celosia.cli.terminal import print_file, printable
from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message

guard = commands("guard", "Stand between analysts and data: a server that answers with noise and keeps the budget.")
"""The sub-command."""

_FOR_MACHINES = ("digest", "fingerprint", "request")


@guard.command("init")
def _init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of guard.toml and the store.")] = Path(),
    store: Annotated[
        str, typer.Option(metavar="URL", help="The store: sqlite:///FILE, or postgresql://USER:${PASSWORD}@HOST/DB.")
    ] = "sqlite:///ledger.db",
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on; 0.0.0.0 for all.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="The port to listen on.")] = 8750,
    workers: Annotated[int, typer.Option(metavar="N", help="The number of worker processes.")] = 2,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy terminates TLS and forwards client addresses.")
    ] = False,
) -> None:
    """Write a configuration, create the store, and print the owner's key, once."""
    from celosia.guard.auth.identity import Identity
    from celosia.guard.config.settings import Config
    from celosia.guard.service import Guard

    config = Config(store=store, host=host, port=port, workers=workers, behind_proxy=behind_proxy)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "guard.toml"
    config.write(file)
    try:
        with Guard.open(Config.read(file)) as opened_guard:
            key = opened_guard.add_user(Identity.local(), "owner", "owner")
    except BaseException:
        file.unlink()  # a configuration without its owner's key would block the next attempt
        raise
    print_message(Message("cli_guard.configuration_written", path=str(file)))
    print_key(key)
    print_message(Message("cli_guard.next_commands"))


@guard.command("serve")
def _serve(config: ConfigOption = Path("guard.toml")) -> None:
    """Serve the API and the pages, until interrupted."""
    from celosia.guard.server.serve import serve

    serve(config)


@guard.command("log")
def _log(
    config: ConfigOption = Path("guard.toml"),
    after: Annotated[int, typer.Option(metavar="N", help="Begin after this line; -1 for the last --limit lines.")] = -1,
    limit: Annotated[int, typer.Option(metavar="N", help="How many lines.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Show the log: who did what, line by line."""
    if limit < 1:
        raise ParameterError("cli.limit_too_small", limit=limit)
    with open_guard(config) as here:
        head = here.ledger.head
        first = max(head.sequence - limit, 0) if after < 0 else after
        lines = list(here.ledger.entries(after=first, limit=limit))
    if as_json:
        for line in lines:
            print_file(line.to_json())
        return
    console = Console(highlight=False)
    for line in lines:
        shown = {name: value for name, value in line.body.items() if value is not None and name not in _FOR_MACHINES}
        body = ", ".join(f"{name} {_format_field(name, value)}" for name, value in shown.items())
        words = Text(f"{line.sequence:>6}  {line.at:%Y-%m-%d %H:%M:%S}  ", style="dim")
        kind = Text(f"{printable(line.kind)}  ", style="bold")
        console.print(words + kind + Text(printable(body)), soft_wrap=True)
    print_message(Message("cli_guard.head", head=str(head)))


@guard.command("verify")
def _verify(
    config: ConfigOption = Path("guard.toml"),
    head: Annotated[
        str | None, typer.Option(metavar="HEAD", help="A head that was kept elsewhere; must be in the log.")
    ] = None,
) -> None:
    """Verify the whole log, and that users, keys and data sets agree with it. Exit code 1 if not."""
    from celosia.guard.auth.identity import Identity
    from celosia.guard.roles import Role

    with open_guard(config) as here, waiting("cli_guard.reading_log"):
        found = here.verify(Identity(name="local", role=Role.AUDITOR), head)
    if not found.ok:
        print_message(Message("cli_guard.not_as_written", problem=found.problem))
        raise typer.Exit(1)
    print_message(Message("cli_guard.as_written", lines=found.lines, head=str(found.head)))


def _format_field(name: str, value: Any) -> str:
    """Return a short text of a field of a log line; --json prints all of it."""
    from celosia.ledger.budgets.policy_json import policy_from_json

    if name == "policy":
        policy = policy_from_json(value)
        if policy.window is None:
            return cost(policy.limit)
        days = policy.window.seconds / 86_400
        return say("cli_guard.limit_in_window", limit=cost(policy.limit), window=cost(policy.window.limit), days=days)
    if name == "event":
        return str(value["kind"])
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


guard.add_typer(user)
guard.add_typer(dataset)
guard.add_typer(budget)
guard.add_typer(approval)
