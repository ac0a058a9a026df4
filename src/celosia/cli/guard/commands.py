"""``celosia guard``: set up a privacy guard, serve it, and manage users, data sets and budgets.

These commands work on the store itself, as its owner: a user who can read the configuration and the store needs no key.
The log records their changes as done by ``local``. A new key is printed once, alone on standard output, and cannot be
shown again.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from celosia.cli.account.options import JsonOption, commands, spread
from celosia.cli.account.show import waiting
from celosia.cli.guard.approvals import approval
from celosia.cli.guard.budgets import budget
from celosia.cli.guard.datasets import dataset
from celosia.cli.guard.opening import ConfigOption, open_guard, print_message
from celosia.cli.guard.users import print_key, user
from celosia.cli.language import current_language
from celosia.cli.startup import collect_often
from celosia.cli.terminal import print_file, printable
from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message

guard = commands("guard", "Stand between analysts and data: a server that answers with noise and keeps the budget.")
"""The sub-command."""


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

    collect_often()
    serve(config, language=current_language())


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Command-line options that choose lines of the log."""

    kind: Annotated[str | None, typer.Option(metavar="KIND", help="Lines of one kind, such as 'key added'.")] = None
    dataset: Annotated[str | None, typer.Option(metavar="NAME", help="Lines about a data set.")] = None
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Lines by or about a user.")] = None
    since: Annotated[str | None, typer.Option(metavar="DAY", help="From this day or time on, in UTC.")] = None
    until: Annotated[str | None, typer.Option(metavar="DAY", help="Up to this day, or before this time.")] = None
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="Lines that contain a text.")] = None


@guard.command("log")
@spread
def _log(
    options: LogOptions,
    config: ConfigOption = Path("guard.toml"),
    after: Annotated[int, typer.Option(metavar="N", help="Begin after this line; -1 for the last --limit lines.")] = -1,
    limit: Annotated[int, typer.Option(metavar="N", help="How many lines.")] = 20,
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="csv or jsonl: write all lines, without --limit.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the log: who did what, line by line."""
    from celosia.guard.auth.identity import Identity
    from celosia.guard.log.search import LogFilter
    from celosia.guard.log.sentences import say_lines
    from celosia.guard.roles import Role

    if limit < 1:
        raise ParameterError("cli.limit_too_small", limit=limit)
    wanted, auditor = LogFilter(**asdict(options)), Identity(name="local", role=Role.AUDITOR)
    language = current_language()
    with open_guard(config) as here:
        if form is not None:
            for piece in here.export_log(auditor, form, after=max(after, 0), wanted=wanted, language=language):
                print_file(piece)
            return
        head = here.ledger.head
        place: dict[str, int] = {"before": head.sequence + 1} if after < 0 else {"after": after}
        lines = here.log(auditor, limit=limit, wanted=wanted, language=language, **place)
        said = say_lines(here.ledger, lines[::-1] if after < 0 else lines)
    console = Console(highlight=False)
    for one in said:
        if as_json:
            print_file(one.line.to_json())
            continue
        words = Text(f"{one.line.sequence:>6}  {one.line.at:%Y-%m-%d %H:%M:%S}  ", style="dim")
        console.print(words + Text(printable(one.write(language))), soft_wrap=True)
    if not as_json:
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


guard.add_typer(user)
guard.add_typer(dataset)
guard.add_typer(budget)
guard.add_typer(approval)
