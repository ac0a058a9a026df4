"""Whether the type of a column can serve the kind that the schema declares: seen when an engine is opened.

Types are public, so a column of the wrong type is refused with its name and type before anything is asked. What the
rows hold never decides.
"""

from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import SchemaError
from celosia.core.exact import quote
from celosia.data.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp

if TYPE_CHECKING:
    from ibis.expr import types as ir

    from celosia.data.table import Table
    from celosia.query.dialect import Dialect

__all__ = ["check_columns", "family_of"]

_NUMBERS: Final = ("integer", "real", "decimal", "boolean")
_SERVES: Final[dict[type[Kind], tuple[str, ...]]] = {
    Integer: _NUMBERS,
    Real: _NUMBERS,
    Boolean: _NUMBERS,
    Text: ("text", "integer", "uuid"),
    Date: ("date", "timestamp"),
    Timestamp: ("date", "timestamp"),
}


def check_columns(table: "Table", raw: "ir.Table", dialect: "Dialect") -> None:
    """Refuse a table whose columns are not there, or of a type that cannot hold what the schema says.

    >>> import ibis, celosia as cl
    >>> from celosia.query.duckdb_engine import DuckDBDialect
    >>> raw = ibis.table({"age": "string"}, name="deaths")
    >>> check_columns(cl.table(raw, schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths"), raw, DuckDBDialect())
    Traceback (most recent call last):
    ...
    celosia.core.errors.SchemaError: The column 'age' of 'deaths' is of the type string, ...
    """
    types = dict(raw.schema().items())
    for name in (*table.schema, *(() if table.person is None else (table.person,))):
        if name not in types:
            message = f"The table {quote(table.name)} has no column {quote(name)}."
            raise SchemaError(message)
    reads_texts = dialect.from_text(raw.limit(0)[next(iter(types))].cast("string"), "float64") is not None
    for name, kind in table.schema.items():
        family = family_of(types[name])
        if family not in _families(kind, reads_texts=reads_texts):
            message = (
                f"The column {quote(name)} of {quote(table.name)} is of the type {types[name]}, "
                f"which cannot be read as {kind.__class__.__name__}."
            )
            raise SchemaError(message)
    if table.person is not None and not _identifies(types[table.person]):
        message = (
            f"The person column {quote(table.person)} is of the type {types[table.person]}: "
            "it must hold whole numbers or texts."
        )
        raise SchemaError(message)


def _families(kind: Kind, *, reads_texts: bool) -> tuple[str, ...]:
    if isinstance(kind, Category):
        found: tuple[str, ...] = ("text",) if isinstance(kind.values[0], str) else ("integer", "real", "decimal")
    else:
        found = _SERVES[type(kind)]
    return (*found, "text") if reads_texts else found


def _identifies(type_: Any) -> bool:  # noqa: ANN401 - a type of Ibis
    """Equal values must be one person: 1.0 and 1.00 of a decimal without a fixed scale would be two texts."""
    family = family_of(type_)
    return family in ("integer", "text", "uuid", "real") or (family == "decimal" and type_.scale == 0)


def family_of(type_: Any) -> str | None:  # noqa: ANN401 - a type of Ibis
    """Return the family of an engine's type, or None if it holds no single values.

    >>> import ibis
    >>> family_of(ibis.dtype("uint8")), family_of(ibis.dtype("array<int8>"))
    ('integer', None)
    """
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
