"""The questions of ``celosia schema`` in a terminal, each with a default.

``celosia.data`` (``inspection``, ``domains``, ``answers``) makes the suggestions and parses the answers; this module
prints and prompts. An answer that cannot be parsed is repeated. Nothing is written before the last answer.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text as Words

from celosia.cli.account.show import waiting
from celosia.cli.language import say, translate
from celosia.cli.terminal import ask_yes_or_no, print_whole, printable
from celosia.cli.writing import check_place
from celosia.core.errors import CelosiaError, ParameterError
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from celosia.data.drafting.inspection import InspectedColumn, Inspection
    from celosia.data.schema.columns import Category, Kind
    from celosia.data.schema_file import SchemaFile
    from celosia.data.sources.text_format import TextFormat

T = TypeVar("T")

_NONE: Final = "-"
_LOOK: Final = "?"
_MAX_VALUES: Final = 50
_MAX_MAGNITUDE: Final = 10**15


def ask_schema(file: str, name: str | None) -> "SchemaFile":
    """Ask the owner of a file about its format, persons and columns, and return the schema file."""
    from celosia.data.drafting.inspection import inspect_source
    from celosia.data.schema.schema import Schema
    from celosia.data.schema_file import SchemaFile

    with waiting("cli_query.looking_at_types"):
        found = inspect_source(file, name=name)
    text = found.text
    if found.untyped:
        found, text = _ask_format(file, name, found)
    person = _ask_person(found)
    limits = _ask_limits() if person is not None else {}
    kinds = _Columns(found, person, text).ask()
    if not found.untyped:
        text = _ask_texts(found, kinds)
    made = SchemaFile(schema=Schema(kinds), name=found.name, person=person, text=text, **limits)
    made.table(found.source)  # refuses what does not fit
    return made


def ask_place(file: str) -> Path:
    """Ask where to write the schema; an existing file is not replaced."""
    from celosia.data.sources.classify import SPARK

    stem = Path(file.removeprefix(SPARK)).name.partition(".")[0] if "://" not in file else "schema"

    def read(answer: str) -> Path:
        place = Path(answer).expanduser()
        check_place(place, name=Message("core.the_file"))
        if place.exists():
            raise ParameterError("cli.schema_file_taken", path=repr(str(place)))
        return place

    return _ask(say("cli_query.write_schema_to"), f"{stem.strip('*?[]') or 'schema'}.toml", read)


# ------------------------------------------------------------------------------------------------------- the terminal


def _ask(question: str, default: str | None, read: Callable[[str], T]) -> T:
    """Ask until the answer can be parsed."""
    # Names of columns may hold any character: they are escaped here, and answers are the names themselves.
    shown = f"{question} [{default}]" if default else question
    prompt = "\n".join(map(printable, shown.split("\n")))
    while True:
        answer = typer.prompt(prompt, default=default, show_default=False)
        try:
            return read(answer.strip())
        except CelosiaError as error:
            _say(error.message, "red")


def _say(text: str, style: str = "") -> None:
    console = Console(highlight=False)
    console.print(Words("\n".join(map(printable, translate(text).split("\n"))), style=style))


# ------------------------------------------------------------------------------------------------- format and persons


def _ask_format(file: str, name: str | None, found: "Inspection") -> "tuple[Inspection, TextFormat]":
    from celosia.data.drafting.inspection import inspect_source

    _say("\n" + say("cli_query.format_seems", file=Path(file).name))
    for word, value in _describe_format(found).items():
        _say(f"  {word:<12} {value}")
    if ask_yes_or_no(Message("cli_query.is_that_right"), default=True):
        return found, found.text
    text = _ask_words(found, ("delimiter", "encoding"))
    found = inspect_source(file, name=name, delimiter=text.delimiter, encoding=text.encoding)
    _say(Message("cli_query.about_format_words"), "dim")
    return found, _ask_words(found, ("decimal", "date_format", "null_values"))


def _ask_words(found: "Inspection", words: Iterable[str]) -> "TextFormat":
    from celosia.data.drafting.answers import change_format

    text = found.text
    for word in words:
        text = _ask(word, _describe_format(found)[word], partial(change_format, text, word))
    return text


def _describe_format(found: "Inspection") -> dict[str, str]:
    """Return the format of a file as its owner would write it."""
    text = found.text
    delimiter = text.delimiter or str(getattr(found.source, "delimiter", ","))
    return {
        "delimiter": "tab" if delimiter == "\t" else delimiter,
        "encoding": text.encoding,
        "decimal": text.decimal,
        "date_format": ", ".join(text.date_format) or "iso",
        "null_values": ", ".join(text.null_values) or "none",
    }


def _ask_person(found: "Inspection") -> str | None:
    names = [column.name for column in found.columns]

    def read(answer: str) -> str | None:
        return None if answer == _NONE else _pick(answer, names)

    return _ask("\n" + say("cli_query.which_person"), found.person or _NONE, read)


def _pick(answer: str, names: list[str]) -> str:
    """Return the column that an answer names, by its number or its name in any case."""
    if answer.isdecimal() and answer not in names and 0 < int(answer) <= len(names):
        return names[int(answer) - 1]
    fitting = [name for name in names if name.casefold() == answer.casefold()]
    if answer in names or len(fitting) == 1:
        return answer if answer in names else fitting[0]
    raise ParameterError("cli.unknown_column", name=repr(answer), known=", ".join(names))


def _ask_limits() -> dict[str, Any]:
    from celosia.data.drafting.answers import LIMITS

    _say(Message("cli_query.about_limits"), "dim")
    return {
        name: _ask(say(question), str(default or _NONE), partial(_read_limit, needed=default is not None))
        for name, (default, question) in LIMITS.items()
    }


def _read_limit(answer: str, *, needed: bool) -> int | None:
    from celosia.core.exact import exact_integer

    if answer == _NONE and not needed:
        return None
    if not answer.isdecimal():
        raise ParameterError("cli.not_a_positive_integer", value=repr(answer))
    return exact_integer(int(answer), name=Message("cli.the_limit"))


def _ask_texts(found: "Inspection", kinds: "dict[str, Kind]") -> "TextFormat":
    """Ask how the strings of typed sources write numbers and dates."""
    from celosia.data.schema.columns import Date, Integer, Real, Timestamp

    texts = [kinds[column.name] for column in found.columns if column.kind == "text" and column.name in kinds]
    wanted = {
        "decimal": (Integer, Real),
        "date_format": (Date, Timestamp),
        "null_values": (Integer, Real, Date, Timestamp),
    }
    return _ask_words(found, [word for word, types in wanted.items() if any(isinstance(kind, types) for kind in texts)])


# -------------------------------------------------------------------------------------------------------------- columns


class _Columns:
    """The columns of a source with their kinds so far; None is still open."""

    def __init__(self, found: "Inspection", person: str | None, text: "TextFormat") -> None:
        from celosia.data.drafting.answers import suggest_kind

        alike = Counter(column.name.casefold() for column in found.columns)
        self.found, self.text = found, text
        self.columns = {column.name: column for column in found.columns if column.name != person}
        self.out: dict[str, Message] = {
            name: Message("cli_query.names_persons") for name, column in self.columns.items() if column.identifying
        }
        self.out |= {name: Message("cli_query.is_there_twice") for name in self.columns if alike[name.casefold()] > 1}
        self.kinds = {name: suggest_kind(column) for name, column in self.columns.items()}

    def ask(self) -> "dict[str, Kind]":
        """Show the columns until their owner accepts them, and ask for the missing bounds."""
        _say("\n".join(["", say("cli_query.about_bounds"), say("cli_query.about_categories")]), "dim")
        while True:
            _say("")
            print_whole(self._grid())
            chosen = _ask(say("cli_query.columns_to_change"), "", self._read)
            for name in chosen:
                self._change(name)
            if not chosen:
                for name in [name for name, kind in self.kinds.items() if kind is None and name not in self.out]:
                    self._ask_bounds(name, self.columns[name].kind or "text")
                kept = {name: kind for name, kind in self.kinds.items() if kind is not None and name not in self.out}
                if kept:
                    return kept
                _say(Message("cli_query.needs_a_column"), "red")

    def _grid(self) -> Grid:
        grid = Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
        for title in ("#", *map(say, ("cli_query.column", "cli_query.kind", "cli_query.bounds_or_values")), ""):
            grid.add_column(title, overflow="fold")
        for place, (name, column) in enumerate(self.columns.items(), start=1):
            grid.add_row(str(place), name, *self._describe_column(name, column))
        return grid

    def _describe_column(self, name: str, column: "InspectedColumn") -> tuple[str, str, str]:
        from celosia.data.drafting.answers import suggest_kind

        if name in self.out:
            return Message("cli_query.left_out"), "", self.out[name]
        kind = self.kinds[name]
        if kind is None:
            below = Message("cli_query.asked_for_below")
            return column.kind or "text", below, "" if column.domain is None else column.domain.meaning
        suggested = column.domain is not None and kind == suggest_kind(column)
        return type(kind).__name__.lower(), _bounds(kind), column.domain.meaning if suggested and column.domain else ""

    def _read(self, answer: str) -> list[str]:
        from celosia.data.drafting.answers import parse_list

        return list(dict.fromkeys(_pick(one, list(self.columns)) for one in parse_list(answer)))

    def _change(self, name: str) -> None:
        from celosia.data.drafting.answers import has_bounds, parse_kind
        from celosia.data.schema.columns import Boolean, Text
        from celosia.data.schema.schema import KINDS

        present = self.kinds[name]
        word = type(present).__name__.lower() if present is not None else self.columns[name].kind
        kind = _ask(
            "\n" + say("cli_query.kind_of", name=printable(name), kinds=", ".join(KINDS)),
            word or "text",
            lambda answer: _NONE if answer == _NONE else parse_kind(answer),
        )
        self.out.pop(name, None)
        if kind == _NONE:
            self.out[name] = Message("cli_query.by_your_choice")
        elif has_bounds(kind):
            self._ask_bounds(name, kind)
        elif kind == "category":
            self.kinds[name] = self._ask_values(name)
        else:
            self.kinds[name] = Boolean() if kind == "boolean" else Text()

    def _ask_bounds(self, name: str, kind: str) -> None:
        from celosia.data.drafting.answers import parse_bounds
        from celosia.data.drafting.domains import suggest_domain

        present, domain = self.kinds[name], suggest_domain(name, kind)
        default = None if domain is None or domain.high is None else f"{domain.low}..{domain.high}"
        if present is not None and type(present).__name__.lower() == kind:
            default = _bounds(present)
        if domain is not None and domain.high is None:
            _say(Message("cli_query.about_amounts"), "dim")
        elif default is None:
            _say(Message("cli_query.no_bounds_suggested"), "dim")
        question = say("cli_query.bounds_of", name=printable(name))
        if domain is not None and domain.high is not None:
            question = say("cli_query.bounds_of_meaning", name=printable(name), meaning=domain.meaning)

        def read(answer: str) -> "Kind | None":
            return None if answer == _NONE else parse_bounds(kind, answer)

        self.kinds[name] = _ask(question, default, read)
        if self.kinds[name] is None:
            self.out[name] = Message("cli_query.by_your_choice")

    def _ask_values(self, name: str) -> "Category":
        from celosia.data.drafting.answers import parse_values

        whole = self.columns[name].kind == "integer"
        default: str | None = None
        while True:
            found = _ask(
                say("cli_query.values_of", name=printable(name)),
                default,
                lambda answer: None if answer == _LOOK else parse_values(answer, whole=whole),
            )
            if found is not None:
                return found
            default = self._look(name, whole=whole)

    def _look(self, name: str, *, whole: bool) -> str | None:
        """Return the values that occur, for the owner to correct; None if there are too many or the owner declines."""
        _say(Message("cli_query.listing_is_public"), "yellow")
        if not ask_yes_or_no(Message("cli_query.list_all_the_same"), default=False):
            return None
        try:
            values = _list_values(self.found, self.text, name, whole=whole)
        except CelosiaError as error:
            _say(error.message, "red")
            return None
        if not values or not all(str(value).isprintable() for value in values):
            _say(Message("cli_query.values_not_listed", most=_MAX_VALUES))
            return None
        return ", ".join(_quote(str(value)) for value in values)


def _list_values(found: "Inspection", text: "TextFormat", name: str, *, whole: bool) -> list[str | int] | None:
    from celosia.data.schema.columns import Integer, Text
    from celosia.data.schema.schema import Schema
    from celosia.data.table import table
    from celosia.query.engines.readability import list_values

    kind = Integer(-_MAX_MAGNITUDE, _MAX_MAGNITUDE) if whole else Text()
    with waiting("cli_query.looking_for_values"):
        one = table(found.source, schema=Schema({name: kind}), name=found.name, **text.to_dict())
        return list_values(one, name, most=_MAX_VALUES)


def _bounds(kind: "Kind") -> str:
    """Return the bounds or values of a kind as its owner would write them."""
    from celosia.data.schema.schema import write_value

    if hasattr(kind, "low") and hasattr(kind, "high"):
        return "..".join(write_value(value).strip('"') for value in (kind.low, kind.high))
    return ", ".join(_quote(str(value)) for value in getattr(kind, "values", ()))


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & {",", '"'} else text
