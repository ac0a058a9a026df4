"""A form with a row for every column of a file, and the schema that it declares.

Kinds come from the types of the columns, and bounds from their names; the owner or curator corrects both. Columns that
seem to identify persons are left out at first.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import CelosiaError, ParameterError, SchemaError
from celosia.core.exact import exact_integer, safe_repr
from celosia.data.drafting.answers import LIMITS, has_bounds, parse_bounds, parse_values
from celosia.data.schema.schema import KINDS, Schema, load_toml, read_columns
from celosia.data.schema_file import SchemaFile

if TYPE_CHECKING:
    from celosia.data.drafting.inspection import InspectedColumn, Inspection
    from celosia.data.schema.columns import Kind

MAX_COLUMNS: Final = 100
"""The most columns of a form; wider files are declared as text."""

_FIELDS: Final = ("kind", "low", "high", "values", "null")
_INTEGER: Final = re.compile("[+-]?[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRow:
    """The fields of a column; an empty ``kind`` leaves it out, and ``note`` says why its bounds are suggested."""

    name: str
    kind: str
    low: str = ""
    high: str = ""
    values: str = ""
    null: str = ""
    note: str = ""


def suggest_rows(found: "Inspection") -> list[ColumnRow]:
    """Return the rows of a form as the names and types of the columns suggest."""
    alike = Counter(column.name.casefold() for column in found.columns)
    return [
        _suggest_row(column, out=column.identifying or column.name == found.person or alike[column.name.casefold()] > 1)
        for column in found.columns
    ]


def _suggest_row(column: "InspectedColumn", *, out: bool) -> ColumnRow:
    domain, kind = column.domain, "" if out else column.kind or "text"
    if domain is None:
        return ColumnRow(name=column.name, kind=kind)
    return ColumnRow(name=column.name, kind=kind, low=domain.low, high=domain.high or "", note=domain.meaning)


def read_rows(form: Mapping[str, str], found: "Inspection") -> list[ColumnRow]:
    """Return the rows that a form holds."""
    return [
        ColumnRow(name=column.name, **{field: form.get(f"{field}-{place}", "").strip() for field in _FIELDS})
        for place, column in enumerate(found.columns)
    ]


def make_schema(form: Mapping[str, str], found: "Inspection") -> SchemaFile:
    """Return the schema that a form declares; raise ``SchemaError`` with the name of a column that does not fit."""
    person = form.get("person", "").strip() or None
    if person is not None and person not in {column.name for column in found.columns}:
        raise ParameterError("guard.no_column", name=person)
    rows = zip(read_rows(form, found), found.columns, strict=True)
    kinds = {column.name: _make_kind(row, column) for row, column in rows if row.kind and row.name != person}
    limits: dict[str, Any] = (
        {name: _read_limit(form.get(name, ""), name) for name in LIMITS} if person is not None else {}
    )
    return SchemaFile(schema=Schema(kinds), person=person, text=found.text, **limits)


def _make_kind(row: ColumnRow, column: "InspectedColumn") -> "Kind":
    try:
        if row.kind not in KINDS:
            raise ParameterError("core.unknown_kind", known=", ".join(KINDS), value=safe_repr(row.kind))
        whole = column.kind == "integer"
        if has_bounds(row.kind):
            made = parse_bounds(row.kind, f"{row.low}..{row.high}")
        else:
            made = parse_values(row.values, whole=whole) if row.kind == "category" else KINDS[row.kind]()
        return _with_null(row, made, whole=whole)
    except CelosiaError as error:
        raise SchemaError("data.invalid_column", name=safe_repr(row.name), error=error) from error


def _with_null(row: ColumnRow, kind: "Kind", *, whole: bool) -> "Kind":
    if not row.null:
        return kind
    value: Any = row.null
    if row.kind == "boolean":
        value = {"true": True, "false": False}.get(value.lower(), value)
    elif (row.kind == "integer" or (row.kind == "category" and whole)) and _INTEGER.fullmatch(value):
        value = int(value)
    elif row.kind == "real":
        value = value.replace(",", ".")
    document = load_toml(Schema({row.name: kind}).to_toml())
    document["columns"][row.name]["null"] = value
    return read_columns(document)[row.name]


def _read_limit(text: str, name: str) -> int | None:
    if not text.strip() and LIMITS[name][0] is None:
        return None
    value: Any = int(text) if _INTEGER.fullmatch(text.strip()) else text
    return exact_integer(value, name=name)
