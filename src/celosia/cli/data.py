"""``celosia data``: generate the synthetic data sets by name, and dummy rows for a schema.

The rows are written in batches to a file beside the target, which is renamed when it is complete: the target is always
one complete data set, the old or the new.
"""

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import track

from celosia.cli.account.options import commands
from celosia.cli.completion import data_sets, offer
from celosia.cli.guard.opening import print_table
from celosia.cli.language import say, write_number
from celosia.cli.terminal import print_line
from celosia.cli.writing import check_place
from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message
from celosia.core.messages.system_errors import describe_os_error

if TYPE_CHECKING:
    import pyarrow as pa

    from celosia.data.sources.text_format import TextFormat

data = commands("data", "Make synthetic data sets for experiments, by name, and dummy rows for a schema.")
"""The command ``celosia data`` with its sub-commands."""

_SUFFIXES = (".csv", ".parquet")


@data.command("list")
def _list() -> None:
    """List the data sets that can be made."""
    from celosia.data.bundled.telemetry import RECIPES

    rows = [[one.name, write_number(one.rows), one.description] for one in RECIPES.values()]
    print_table([Message("cli_data.name"), Message("cli_data.rows"), Message("cli_data.value")], rows)


@data.command("generate")
def _generate(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A data set, such as exp_distrib_50k; see data list.", autocompletion=offer(data_sets)
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write, .csv or .parquet; by default NAME.csv here.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the draw; equal seeds give equal rows.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
) -> None:
    """Make a synthetic data set: a column user of ten letters and digits, and a column value."""
    from celosia.data.bundled.telemetry import generate_batches

    batches = generate_batches(name) if seed is None else generate_batches(name, seed=seed)
    path = Path(f"{name}.csv") if output is None else output
    write_rows(path, _show_progress(batches), force=force)
    print_line(str(path))


@data.command("survey")
def _survey(
    households: Annotated[int, typer.Option(metavar="N", help="How many households.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the draw; equal seeds give equal rows.")] = 2026,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write, .csv or .parquet; by default survey.csv here."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
) -> None:
    """Make a synthetic household survey, to try celosia anonymity on."""
    from celosia.data.bundled.survey import make_survey
    from celosia.noise import Seeded

    path = Path("survey.csv") if output is None else output
    write_rows(path, iter(make_survey(households, source=Seeded(seed)).to_batches()), force=force)
    print_line(str(path))


@data.command("dummy")
def _dummy(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="A schema file; see celosia schema.")],
    rows: Annotated[int, typer.Option(metavar="N", help="How many rows.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the draw; equal seeds give equal rows.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write, .csv or .parquet; by default NAME_dummy.csv here."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
) -> None:
    """Draw dummy rows from a schema alone, to try code on; a CSV file is written as the schema declares it."""
    from celosia.data.dummy import draw_dummy_batches
    from celosia.data.schema_file import read_schema_file

    file = read_schema_file(schema)
    path = Path(f"{file.name or schema.stem}_dummy.csv") if output is None else output
    write_rows(path, _show_progress(draw_dummy_batches(file, rows=rows, seed=seed)), text=file.text, force=force)
    print_line(str(path))


def _show_progress(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    console = Console(stderr=True)
    words = say("cli_data.drawing_rows")
    yield from track(batches, words, console=console, transient=True, disable=not console.is_terminal)


def write_rows(
    path: Path, batches: "Iterator[pa.RecordBatch]", *, text: "TextFormat | None" = None, force: bool = False
) -> None:
    """Write a stream of record batches into a CSV or Parquet file, atomically."""
    if path.suffix.lower() not in _SUFFIXES:
        raise ParameterError("cli.unknown_output_format", path=repr(str(path)))
    check_place(path, name="output", force=force)
    try:
        # In the file's own directory, because a rename is atomic only within one file system.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".celosia-") as folder:
            part = Path(folder) / path.name
            _write_file(part, batches, text)
            if not force:
                path.open("x").close()  # another process may have taken the name
            part.replace(path)
    except FileExistsError:
        check_place(path, name="output", force=False)
    except OSError as error:
        raise ParameterError(
            "cli.file_not_writable", name="output", path=repr(str(path)), reason=describe_os_error(error)
        ) from error


def _write_file(path: Path, batches: "Iterator[pa.RecordBatch]", text: "TextFormat | None") -> None:
    if path.suffix.lower() == ".csv":
        from celosia.data.sources.csv_encoding import encode_csv

        with path.open("wb") as file:
            file.writelines(encode_csv(batches, text))
    else:
        from pyarrow import parquet

        first = next(batches)
        with parquet.ParquetWriter(path, first.schema, compression="zstd") as writer:
            for batch in itertools.chain([first], batches):
                writer.write_batch(batch)
