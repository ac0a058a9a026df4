"""``celosia federated``: describe a federation, serve it, join it with a party's records, or run all of it here.

The model's path goes to standard output, everything else to standard error: first what the training would cost, then
each round. Ctrl-C, or a signal to end, ends the processes that a command started.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from celosia.cli.account.options import commands
from celosia.cli.costs import cost
from celosia.cli.federated.simulate import simulate
from celosia.cli.guard.opening import print_message
from celosia.cli.language import write_number
from celosia.cli.terminal import print_line
from celosia.cli.writing import check_place
from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message, join_messages

if TYPE_CHECKING:
    from celosia.federated.federation import Federation
    from celosia.federated.network.description import Description

federated = commands("federated", "Train one model with several parties, whose records stay where they are.")
"""The sub-command."""

federated.command("simulate")(simulate)

FolderArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder of federation.toml and its certificates.")
]
ModelOption: TypeAlias = Annotated[
    Path, typer.Option("--output", metavar="FILE", help="Where the model goes, such as model.json.")
]
ForceOption: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace a model that is there.")]


@federated.command("init")
def _init(
    folder: FolderArgument = Path(),
    party: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A party; may be repeated. By default north and south.")
    ] = None,
    certificates: Annotated[
        bool, typer.Option("--certificates", help="Write the server's certificate, and a key for each party.")
    ] = False,
    host: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A name or address of the server; may be repeated. By default this machine."),
    ] = None,
) -> None:
    """Write an example of a description, and certificates.

    A description that is there stays, and gets certificates with --certificates.
    """
    from celosia.federated.network.certificates import AUTHORITY, find_key, write_certificates
    from celosia.federated.network.description import FILE_NAME, load_description
    from celosia.federated.network.template import write_template

    folder.mkdir(parents=True, exist_ok=True)
    if not (certificates and (folder / FILE_NAME).exists()):
        print_line(str(write_template(folder, party or ["north", "south"])))
    elif party:
        raise ParameterError("cli.file_exists", name="party", path=repr(str(folder / FILE_NAME)))
    names = load_description(folder).names
    if not certificates:
        return
    for path in write_certificates(folder, len(names), host or ["127.0.0.1", "localhost"]):
        print_line(str(path))
    for place, name in enumerate(names):
        files = f"{FILE_NAME}, {AUTHORITY}, {find_key(folder, place).name}"
        print_message(Message("cli_federated.give_party", name=repr(name), files=files))


@federated.command("serve")
def _serve(output: ModelOption, folder: FolderArgument = Path(), force: ForceOption = False) -> None:
    """Wait for the parties, train, and write the model."""
    from celosia.federated.network.operate import serve

    check_place(output, name="output", force=force)
    description = _open_description(folder, {})
    print_message(Message("cli_federated.waiting", address=description.address))
    for told in serve(description, output):
        _show(told)
    print_line(str(output))


@federated.command("join")
def _join(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The party, as the description names it.")],
    data: Annotated[str, typer.Option(metavar="FILE", help="The party's records: a CSV or Parquet file.")],
    folder: FolderArgument = Path(),
    private_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The party's private key; by default as init named it in FOLDER."),
    ] = None,
) -> None:
    """Answer the server from the records of one party, until the last round.

    The party's own copy of the description decides what is answered. No round is answered twice, so the folder nodes
    beside it must stay.
    """
    from celosia.federated.network.certificates import AUTHORITY, find_key
    from celosia.federated.network.operate import join, open_party

    description = _open_description(folder, {name: data}, pays=False)
    node = open_party(description, name, data)
    private = private_key or find_key(folder, description.names.index(name))
    print_message(Message("cli_federated.joined", name=repr(name), address=description.address))
    for number in join(description, node, data, keys=(folder / AUTHORITY, private)):
        print_message(Message("cli_federated.round_answered", number=number))


@federated.command("run")
def _run(
    output: ModelOption,
    data: Annotated[
        list[str], typer.Option(metavar="NAME=FILE", help="The records of a party; repeated for each party.")
    ],
    folder: FolderArgument = Path(),
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Without a network: all parties in this process.")
    ] = False,
    force: ForceOption = False,
) -> None:
    """Run the server and all parties on this machine, and write the model."""
    from celosia.federated.network.operate import check_records, run, run_here

    check_place(output, name="output", force=force)
    files = dict(map(_split, data))
    description = _open_description(folder, files)
    check_records(description, files)
    told_of = [{"history": run_here(description, files, output)}] if in_process else run(description, files, output)
    for told in told_of:
        _show(told)
    print_line(str(output))


def _split(text: str) -> tuple[str, str]:
    name, sign, path = text.partition("=")
    if not (name and sign and path):
        raise ParameterError("cli_federated.not_a_party_and_file", value=safe_repr(text))
    return name, path


def _open_description(folder: Path, files: Mapping[str, str], *, pays: bool = True) -> "Description":
    """Return a description, whose cost is printed; the parties of the files must be its own. The server pays."""
    from celosia.federated.network.description import load_description

    description = load_description(folder)
    _show_cost(description.describe(files))
    if "seed" in description.server:
        print_line(Message("cli_federated.server_seeded"), style="yellow", stderr=True)
    elif pays and "ledger" not in description.server:
        print_message(Message("cli_federated.without_ledger"))
    return description


def _show_cost(federation: "Federation") -> None:
    preview = federation.preview()
    counts = {"parties": len(preview.parties), "rounds": preview.rounds, "bytes": preview.bytes_per_party}
    lines = [
        Message("cli_federated.counts", **{name: write_number(value) for name, value in counts.items()}),
        Message(
            "cli_federated.guarantee_of_records",
            whose=preview.whose,
            against=preview.against,
            cost=cost(preview.guarantee),
        ),
    ]
    if preview.guarantee.adjacency is ReplaceOne:
        lines.append(Message("cli_federated.neighbours_replaced"))
    if preview.guarantee.unit == "party":
        lines.append(Message("cli_federated.noise_of_parties"))
    else:
        lines.append(Message("cli_federated.noise", ratio=write_number(preview.noise_ratio, ".3g")))
    print_message(join_messages(lines))


def _show(told: Mapping[str, Any]) -> None:
    """Print what happened: a round, or in the end whose contributions were left out of which."""
    if "round" in told:
        print_message(
            Message("cli_federated.round", number=told["round"], answered=told["answered"], asked=told["asked"])
        )
    for one in told.get("history", ()):
        for name, reason in one["rejected"].items():
            print_message(Message("cli_federated.left_out", number=one["round"], name=repr(name), reason=reason))
