"""The schema file: TOML with the columns and the options of a table.

::

    [table]
    name = "visits"
    person = "person_id"
    max_groups_per_person = 2
    max_rows_per_group = 3
    max_rows_per_person = 500      # a public fact, if there is one
    delimiter = ";"                # of CSV files, as the encoding
    encoding = "latin-1"
    decimal = ","                  # how strings write numbers, dates and nulls
    date_format = "%d/%m/%Y"       # or a list of formats
    null_values = ["NA", "-"]

    [columns.age]
    kind = "integer"
    low = 0
    high = 120

A draft with question marks left is refused, with a list of the missing fields.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Final

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import exact_adjacency, safe_repr
from celosia.core.messages.message import Message, join_names, separate
from celosia.data.schema.schema import KINDS, Schema, load_toml, read_columns, write_value
from celosia.data.sources.text_format import TextFormat
from celosia.data.table import Table, table

_FORMAT: Final = ("delimiter", "encoding", "decimal", "date_format", "null_values")
_LISTS: Final = ("date_format", "null_values")
_OPTIONS: Final = (
    "name",
    "person",
    "max_groups_per_person",
    "max_rows_per_group",
    "max_rows_per_person",
    "adjacency",
    *_FORMAT,
)
_OPEN_LINE: Final = re.compile(r"^(\s*[\w-]+\s*=)\s*\?\s*(#.*)?$", re.MULTILINE)
_UNKNOWN: Final = "? to be filled in ?"
_REQUIRED: Final = ("low", "high", "values")


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFile:
    r"""The content of a schema file; ``table`` combines it with the rows.

    >>> import pyarrow as pa
    >>> file = parse_schema_file('[columns.sex]\nkind = "category"\nvalues = ["F", "M"]')
    >>> file.table(pa.table({"sex": ["F", "M", "F"]}))
    <Table data(sex), unit row>
    """

    schema: Schema
    name: str | None = None
    person: str | None = None
    max_groups_per_person: int | None = None
    max_rows_per_group: int | None = None
    max_rows_per_person: int | None = None
    adjacency: Adjacency = AddRemove
    text: TextFormat = field(default_factory=TextFormat)

    def table(self, source: object, *, name: str | None = None) -> Table:
        r"""Return the table with the rows of ``source``; see ``celosia.data.table``.

        >>> import pyarrow as pa
        >>> file = parse_schema_file('[columns.hale]\nkind = "boolean"')
        >>> file.table(pa.table({"hale": [True]}), name="people").name
        'people'
        """
        return table(
            source,
            schema=self.schema,
            name=self.name if name is None else name,
            person=self.person,
            max_groups_per_person=self.max_groups_per_person,
            max_rows_per_group=self.max_rows_per_group,
            max_rows_per_person=self.max_rows_per_person,
            adjacency=self.adjacency,
            **self.text.to_dict(),
        )

    def to_toml(self) -> str:
        """Return the text of an equal schema file.

        >>> from celosia.data.schema.columns import Boolean
        >>> print(SchemaFile(schema=Schema(hale=Boolean()), name="people").to_toml())
        [table]
        name = "people"
        <BLANKLINE>
        [columns.hale]
        kind = "boolean"
        <BLANKLINE>
        """
        given = {name: getattr(self, name) for name in _OPTIONS if name not in (*_FORMAT, "adjacency")}
        if self.adjacency is not AddRemove:
            given["adjacency"] = self.adjacency.value
        given |= self.text.to_dict()
        lines = [f"{name} = {write_value(value)}\n" for name, value in given.items() if value is not None]
        return "".join(["[table]\n", *lines, "\n", self.schema.to_toml()])


def read_schema_file(path: str | PathLike[str]) -> SchemaFile:
    """Read a schema file.

    >>> read_schema_file("nowhere.toml")
    Traceback (most recent call last):
    ...
    celosia.core.errors.SchemaError: There is no schema file 'nowhere.toml'.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise SchemaError("data.no_schema_file", path=safe_repr(str(path))) from error
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError("core.schema_file_not_text", path=safe_repr(str(path))) from error
    return parse_schema_file(text)


def parse_schema_file(text: str) -> SchemaFile:
    r"""Parse the text of a schema file.

    >>> parse_schema_file("[columns.age]\nkind = 'integer'\nlow = 0\nhigh = ?")
    Traceback (most recent call last):
    ...
    celosia.core.errors.SchemaError: The schema is not filled in: [columns.age] needs high.
    """
    document = load_toml(_OPEN_LINE.sub(rf'\1 "{_UNKNOWN}"', text))
    missing = [*_find_missing_options(document), *_find_missing_fields(document)]
    if missing:
        raise SchemaError("data.schema_not_filled_in", missing=separate(missing, semicolon=True))
    return SchemaFile(schema=read_columns(document), **_parse_options(document))


def _get_section(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = document.get(name, {})
    if not isinstance(section, dict):
        raise SchemaError("data.schema_section_is_value", name=name)
    return section


def _find_missing_options(document: Mapping[str, Any]) -> list[Message]:
    missing = [name for name, value in _get_section(document, "table").items() if value == _UNKNOWN]
    return [Message("data.section_needs", section="table", names=join_names(missing))] if missing else []


def _find_missing_fields(document: Mapping[str, Any]) -> list[Message]:
    found = []
    for name, fields in _get_section(document, "columns").items():
        given = {key for key, value in fields.items() if value != _UNKNOWN} if isinstance(fields, dict) else set()
        kind = fields["kind"] if "kind" in given else None
        needed = _list_required_fields(kind) if isinstance(kind, str) else ["kind"]
        missing = [key for key in needed if key not in given]
        missing += [key for key in (fields if isinstance(fields, dict) else ()) if key not in {*given, *missing}]
        if missing:
            found.append(Message("data.section_needs", section=f"columns.{name}", names=join_names(missing)))
    return found


def _list_required_fields(kind: str) -> list[str]:
    """Return the required fields of a kind of column."""
    fields = getattr(KINDS.get(kind), "__dataclass_fields__", {})
    return [name for name in _REQUIRED if name in fields]


def _parse_options(document: Mapping[str, Any]) -> dict[str, Any]:
    options = dict(_get_section(document, "table"))
    unknown = sorted(options.keys() - set(_OPTIONS))
    if unknown:
        raise SchemaError("data.unknown_table_option", option=safe_repr(unknown[0]), known=", ".join(_OPTIONS))
    for name, value in options.items():
        wanted = int if name.startswith("max_") else str | list if name in _LISTS else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise SchemaError("data.wrong_table_option_type", name=name, value=safe_repr(value))
    if "adjacency" in options:
        options["adjacency"] = exact_adjacency(options["adjacency"])
    given = {name: options.pop(name) for name in _FORMAT if name in options}
    try:
        return {**options, "text": TextFormat(**given)}
    except ParameterError as error:
        raise SchemaError("data.invalid_table_section", error=error) from error
