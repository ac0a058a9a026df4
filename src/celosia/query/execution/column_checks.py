"""Checks that the type of a column can be read as the kind that the schema declares.

Types are public. A query that uses a column of the wrong type raises, with its name and type, before anything is spent;
other queries on the table run. The content of rows never decides.
"""

from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import SchemaError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message, join_messages
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp

if TYPE_CHECKING:
    from ibis.expr import types as ir

    from celosia.data.table import Table

_NUMBERS: Final = ("integer", "real", "decimal", "boolean", "text")
_READABLE_AS: Final[dict[type[Kind], tuple[str, ...]]] = {
    Integer: _NUMBERS,
    Real: _NUMBERS,
    Boolean: _NUMBERS,
    Text: ("text", "integer", "uuid"),
    Date: ("date", "timestamp", "text"),
    Timestamp: ("date", "timestamp", "text"),
}


def check_columns(table: "Table", raw: "ir.Table") -> None:
    """Raise if a table lacks columns of the schema, or its person column cannot identify persons; list all."""
    types = dict(raw.schema().items())
    wanted = (*table.schema, *(() if table.person is None else (table.person,)))
    problems = [
        Message("query.column_missing", table=safe_repr(table.name), column=safe_repr(name))
        for name in wanted
        if name not in types
    ]
    if table.person in types and not _is_identifier(types[table.person]):
        problems.append(Message("query.person_of_wrong_type", column=safe_repr(table.person), type=types[table.person]))
    if problems:
        raise SchemaError(join_messages(problems))


def unfit_columns(table: "Table", raw: "ir.Table") -> dict[str, Message]:
    """Return the columns whose type cannot hold their kind, each with the reason."""
    types = dict(raw.schema().items())
    return {
        name: Message(
            "query.column_of_wrong_type",
            column=safe_repr(name),
            table=safe_repr(table.name),
            type=types[name],
            kind=type(kind).__name__,
        )
        for name, kind in table.schema.items()
        if family_of(types[name]) not in _families(kind)
    }


def _families(kind: Kind) -> tuple[str, ...]:
    if not isinstance(kind, Category):
        return _READABLE_AS[type(kind)]
    return ("text", "integer", "uuid") if isinstance(kind.values[0], str) else ("integer", "real", "decimal", "text")


def _is_identifier(type_: Any) -> bool:
    """Return whether equal values are equal persons: decimals without a fixed scale write 1.0 and 1.00."""
    family = family_of(type_)
    return family in ("integer", "text", "uuid", "real") or (family == "decimal" and type_.scale == 0)


def family_of(type_: Any) -> str | None:
    """Return the family of an engine's type, or None if it holds no single values."""
    tests = {
        "integer": type_.is_integer(),
        "real": type_.is_floating(),
        "decimal": type_.is_decimal(),
        "boolean": type_.is_boolean(),
        "text": type_.is_string(),
        "uuid": type_.is_uuid(),
        "date": type_.is_date(),
        "timestamp": type_.is_timestamp(),
    }
    return next((word for word, fits in tests.items() if fits), None)
