"""Options of ``celosia collect``: the protocol with its parameters, and the values of a simulation.

A real collection states the domain or the bounds of its values beforehand. A simulation may read them from its known
data; it then prints a remark, because a deployment must not read them from people's values.
"""

import string
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from celosia.cli.completion import data_sets, offer
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    import pyarrow as pa

    from celosia.core.mechanism import Source
    from celosia.local.catalogue import Entry

_MAX_RANGE = 1 << 16  # buckets between the least and the greatest integer
_DEFAULT_LENGTH = 10  # letters of words


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The parameters of protocols, as given on the command line; each protocol takes some of them."""

    domain: Annotated[
        str | None, typer.Option(metavar="VALUES", help="The values: a number K for 0 to K - 1, or a,b,c in order.")
    ] = None
    low: Annotated[str | None, typer.Option(metavar="NUMBER", help="For means: the least number.")] = None
    high: Annotated[str | None, typer.Option(metavar="NUMBER", help="For means: the greatest number.")] = None
    hashes: Annotated[int | None, typer.Option(metavar="K", help="The number of public hash functions.")] = None
    width: Annotated[
        str | None, typer.Option(metavar="M", help="The columns of a sketch; of piecewise, the likely reports.")
    ] = None
    hash_seed: Annotated[int | None, typer.Option(metavar="N", help="The hash functions' seed; 0 by default.")] = None
    bits: Annotated[int | None, typer.Option(metavar="N", help="rappor: the bits of a filter.")] = None
    cohorts: Annotated[int | None, typer.Option(metavar="N", help="rappor: the sets of hash functions.")] = None
    f: Annotated[str | None, typer.Option("--f", metavar="P", help="rappor: the permanent noise.")] = None
    p: Annotated[str | None, typer.Option("--p", metavar="P", help="rappor: the chance of a 1 for a 0.")] = None
    q: Annotated[str | None, typer.Option("--q", metavar="P", help="rappor: the chance of a 1 for a 1.")] = None
    d: Annotated[int | None, typer.Option("--d", metavar="D", help="dbitflip: the buckets of a client.")] = None
    buckets: Annotated[int | None, typer.Option(metavar="N", help="olh, distinct: the number of hash values.")] = None
    blocks: Annotated[int | None, typer.Option(metavar="N", help="hr: the number of blocks.")] = None
    chosen: Annotated[int | None, typer.Option(metavar="N", help="ss: the size of the subsets.")] = None
    grid: Annotated[int | None, typer.Option(metavar="STEPS", help="piecewise, hybrid, laplace: the grid.")] = None
    fanout: Annotated[int | None, typer.Option(metavar="N", help="hierarchy: the children of a node.")] = None
    oracle: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="hierarchy: unary or hadamard.", autocompletion=offer(["unary", "hadamard"])),
    ] = None
    alphabet: Annotated[str | None, typer.Option(metavar="LETTERS", help="sfp, pem: the letters of texts.")] = None
    length: Annotated[int | None, typer.Option(metavar="N", help="sfp, pem: the number of letters of a text.")] = None
    fragment: Annotated[int | None, typer.Option(metavar="N", help="sfp: the letters of a fragment.")] = None
    fragment_epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="sfp: the fragment's part.")] = None
    fragment_hashes: Annotated[int | None, typer.Option(metavar="K", help="sfp: of the fragments' sketches.")] = None
    fragment_width: Annotated[int | None, typer.Option(metavar="M", help="sfp: of the fragments' sketches.")] = None
    step: Annotated[int | None, typer.Option(metavar="BITS", help="pem: the bits by which prefixes grow.")] = None
    epsilon_infinity: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="loloha: epsilon of all reports of an answer.")
    ] = None
    g: Annotated[int | None, typer.Option("--g", metavar="N", help="loloha: the number of cells.")] = None
    functions: Annotated[int | None, typer.Option(metavar="N", help="loloha: the number of hash functions.")] = None

    def to_options(self) -> dict[str, Any]:
        """Return the given parameters, by the names of the protocols' options."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        found = {name: value for name, value in found.items() if value is not None}
        if "hash_seed" in found:
            found["seed"] = found.pop("hash_seed")
        if "domain" in found:
            found["domain"] = _domain(found["domain"])
        if "width" in found and found["width"].isdecimal():
            found["width"] = int(found["width"])
        return found


def _domain(text: str) -> int | tuple[str, ...] | tuple[int, ...]:
    parts = tuple(part.strip() for part in text.split(","))
    whole = all(part.removeprefix("-").isdecimal() for part in parts)
    if len(parts) == 1:
        if not whole:
            raise ParameterError("cli.invalid_domain", value=safe_repr(text))
        return int(parts[0])
    if len(set(parts)) < len(parts):
        raise ParameterError("cli.domain_values_repeated", value=safe_repr(text))
    return tuple(map(int, parts)) if whole else parts


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedData:
    """The values of a simulation, and where its coins come from, as given on the command line."""

    data: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="A CSV or Parquet file, or a data set of celosia data list.",
            autocompletion=offer(data_sets),
        ),
    ]
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column with the values; one row per person.")
    ] = None
    seed: Annotated[int | None, typer.Option(metavar="N", help="Repeat the same coins every time. Not private.")] = None

    def source(self) -> "Source | None":
        """Return a seeded source, or None for the system's."""
        if self.seed is None:
            return None
        from celosia.noise.source import Seeded

        return Seeded(self.seed)


def read_values(data: str, column: str | None) -> "pa.Array":
    """Return a column of a file, or of a generated data set."""
    from celosia.data.bundled.telemetry import RECIPES, generate

    made = data in RECIPES and not Path(data).exists()
    if not made and not Path(data).suffix and not Path(data).exists():
        raise ParameterError("cli.no_such_data", name=safe_repr(data))
    table = generate(data) if made else read_file(data)
    names = table.column_names
    if column is None:
        column = "value" if "value" in names else names[0] if len(names) == 1 else None
    if names.count(column) != 1:
        known = ", ".join(names)
        if column is None:
            raise ParameterError("cli.column_not_chosen", known=known)
        code = "cli.column_repeated" if column in names else "cli.column_not_in_file"
        raise ParameterError(code, known=known, column=safe_repr(column))
    values = table[column].combine_chunks()
    if values.null_count:
        raise ParameterError("cli.column_has_nulls", column=column)
    if not len(values):
        raise ParameterError("cli.column_has_no_rows", column=column)
    return _plain(values)


def read_file(path: str) -> "pa.Table":
    """Return all columns of a CSV or Parquet file, or of several."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    from celosia.data.sources.files import find_files

    files = find_files(path)
    try:
        if files.format == "parquet":
            return pa.concat_tables([parquet.read_table(file) for file in files.paths])
        options = csv.ParseOptions(delimiter=files.delimiter)
        return pa.concat_tables([csv.read_csv(file, parse_options=options) for file in files.paths])
    except pa.ArrowException:  # its message may quote a row
        raise ParameterError("cli.unreadable_data", path=repr(path), format=files.format) from None


def _plain(values: "pa.Array") -> "pa.Array":
    """Return numbers and strings unchanged, integral floats as integers, and all else, such as dates, as strings."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    try:
        if pa.types.is_floating(kind):
            return values.cast(pa.int64())  # raises unless all are integral: 1.0, 2.0
        plain = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string)
        return values if any(is_one(kind) for is_one in plain) else values.cast(pa.string())
    except pa.ArrowInvalid:  # its message may quote a value
        if pa.types.is_floating(kind):
            return values
        raise ParameterError("cli.texts_not_utf8") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOptions:
    """The options of a protocol, and remarks on those read from the data."""

    options: dict[str, Any]
    remarks: tuple[Message, ...]


def complete_options(entry: "Entry", values: "pa.Array", given: dict[str, Any]) -> KnownOptions:
    """Return the options, with those that are not given read from the data of the simulation."""
    options = dict(given)
    remarks: list[Message] = []
    if entry.requires == "domain" and "domain" not in options:
        options["domain"], words = _domain_of(values, ordered=entry.task == "ranges")
        remarks.append(words)
    if entry.requires == "bounds":
        for name, least in (("low", True), ("high", False)):
            if name not in options:
                options[name] = _bound(values, least=least)
                remarks.append(Message("cli_collect.bound_is", name=name, bound=options[name]))
    if entry.requires == "spelling":
        remarks += _spelling(entry, values, options)
    return KnownOptions(options=options, remarks=tuple(remarks))


def _domain_of(values: "pa.Array", *, ordered: bool) -> tuple[tuple[Any, ...], Message]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(values.type):
        raise ParameterError("cli.fractions_cannot_be_counted")
    found = sorted(pc.unique(values).to_pylist())
    if len(found) < 2:
        raise ParameterError("cli.domain_not_readable")
    if ordered and isinstance(found[0], int) and found[-1] - found[0] < _MAX_RANGE:
        ends = {"low": str(found[0]), "high": str(found[-1])}
        return tuple(range(found[0], found[-1] + 1)), Message("cli_collect.domain_range", **ends)
    return tuple(found), Message("cli_collect.domain_values", number=len(found))


def _bound(values: "pa.Array", *, least: bool) -> float:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise ParameterError("cli.mean_of_texts")
    bounds = pc.min_max(values)
    if bounds["min"] == bounds["max"]:
        raise ParameterError("cli.bounds_not_readable")
    return float(bounds["min" if least else "max"].as_py())


def _spelling(entry: "Entry", values: "pa.Array", options: dict[str, Any]) -> list[Message]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(values.type):
        if entry.name == "pem" and "domain" not in options:
            if pc.min(values).as_py() < 0:
                raise ParameterError("cli.negative_numbers_in_pem")
            options["domain"] = 1 << max(1, int(pc.max(values).as_py()).bit_length())
            return [Message("cli_collect.domain_range", low="0", high=str(options["domain"] - 1))]
        return []
    remarks: list[Message] = []
    if "alphabet" not in options and "domain" not in options:
        letters = set("".join(pc.unique(values).to_pylist()))
        usual = letters <= set(string.ascii_lowercase)
        options["alphabet"] = string.ascii_lowercase if usual else "".join(sorted(letters))
        remarks = [] if usual else [Message("cli_collect.alphabet_letters", number=len(letters))]
    if entry.name == "pem" and "alphabet" in options and "length" not in options:
        options["length"] = min(_DEFAULT_LENGTH, int(pc.max(pc.utf8_length(values)).as_py()))
        remarks.append(Message("cli_collect.texts_cut", number=options["length"]))
    return remarks
