"""Declarations of a data set: its schema text, and changes of its bounds.

The text is that of a schema file, in one canonical form. Bounds determine the noise, never the guarantee, so a curator
may change them. The privacy unit stays, because the budget was set for it.
"""

import json
from dataclasses import replace
from typing import Any, Final

from celosia.core.adjacency import AddRemove
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import exact, safe_repr
from celosia.data.schema.columns import Date, Integer, Kind, Real, Timestamp
from celosia.data.schema.schema import Schema
from celosia.data.schema_file import SchemaFile
from celosia.data.sources.classify import Frame
from celosia.data.table import Table
from celosia.serving.errors import NotFoundError

_LIMITS: Final = ("person", "max_groups_per_person", "max_rows_per_group", "max_rows_per_person")


def schema_text(file: SchemaFile) -> str:
    """Return the canonical text of a schema file."""
    lines = []
    for name, value in {**_limits(file), **file.text.to_dict()}.items():
        if value is not None:
            # JSON strings are TOML strings, except for one character.
            lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f"))
    if file.adjacency is not AddRemove:
        lines.append(f'adjacency = "{file.adjacency.value}"')
    head = "[table]\n" + "\n".join(lines) + "\n\n" if lines else ""
    return head + file.schema.to_toml()


def declared_table(name: str, file: SchemaFile) -> Table:
    """Return a table with its declarations and without rows."""
    given = {"schema": file.schema, "adjacency": file.adjacency, "text": file.text, **_limits(file)}
    return Table(name=name, source=Frame(None), **given)


def _limits(file: SchemaFile) -> dict[str, Any]:
    return {name: getattr(file, name) for name in _LIMITS}


def check_same_unit(old: SchemaFile, new: SchemaFile) -> None:
    """Raise ``SchemaError`` if the privacy unit or adjacency changes: the budget was set for them."""
    if (old.person, old.adjacency) != (new.person, new.adjacency):
        raise SchemaError("guard.protected_unit_changed")


def replace_bounds(file: SchemaFile, column: str, low: object, high: object) -> SchemaFile:
    """Return a schema with other bounds of one column."""
    if column not in file.schema:
        raise NotFoundError("guard.no_column", name=column)
    kind = file.schema[column]
    if not isinstance(kind, Integer | Real | Date | Timestamp):
        raise SchemaError("guard.column_without_bounds", column=safe_repr(column), kind=repr(kind))
    changed = _replace_bounds(kind, _read_bound(kind, low, "low"), _read_bound(kind, high, "high"))
    return replace(file, schema=Schema({**file.schema, column: changed}))


def _replace_bounds(kind: Integer | Real | Date | Timestamp, low: Any, high: Any) -> Kind:
    if isinstance(kind, Real):
        return Real(low, high, grid=kind.grid, null=kind.null)
    return type(kind)(low, high, null=kind.null)  # type: ignore[arg-type]  # its own null rule


def _read_bound(kind: Kind, value: Any, name: str) -> Any:
    """Return a bound as its kind takes it; numbers may be strings."""
    if isinstance(kind, Date | Timestamp):
        return value
    number = exact(value, name=name)
    if isinstance(kind, Real):
        return number
    if number.denominator != 1:
        raise ParameterError("core.not_an_integer", name=name, value=safe_repr(value))
    return number.numerator
