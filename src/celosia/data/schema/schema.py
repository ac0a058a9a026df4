"""The columns of a table as its owner declares them, in Python or in a TOML file.

Queries cannot use a column that is not in the schema. The file form has one section per column::

    [columns.age]
    kind = "integer"
    low = 0
    high = 120

Numbers that are not whole are read as decimals: ``grid = 0.1`` and ``grid = "0.1"`` are both exactly one tenth. Dates
and times are strings or TOML's own; a time without a zone is in UTC.
"""

import datetime as dt
import json
import keyword
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from celosia.core.errors import CelosiaError, SchemaError
from celosia.core.exact import safe_repr
from celosia.core.html_table import draw_table
from celosia.core.messages.message import join_names
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp

KINDS: Final[dict[str, type[Kind]]] = {
    "integer": Integer,
    "real": Real,
    "boolean": Boolean,
    "category": Category,
    "text": Text,
    "date": Date,
    "timestamp": Timestamp,
}
"""The kinds of columns by their names in a file."""

_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "integer": ("low", "high"),
    "real": ("low", "high"),
    "boolean": (),
    "category": ("values",),
    "text": (),
    "date": ("low", "high"),
    "timestamp": ("low", "high"),
}
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {"real": ("grid",), "category": ("ordered",)}
_MAX_NAME_LENGTH = 200
_MAX_TOML_INTEGER = 2**63


class Schema(Mapping[str, Kind]):
    """The columns that queries may use, each with its kind.

    >>> schema = Schema(age=Integer(0, 120), sex=Category("F", "M"))
    >>> schema
    Schema(age=Integer(0, 120), sex=Category('F', 'M'))
    >>> list(schema), schema["age"].high
    (['age', 'sex'], 120)

    Names that are not Python identifiers come in a mapping: ``Schema({"cause of death": Text()})``.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, Kind] | None = None, /, **named: Kind) -> None:
        if columns is not None and not isinstance(columns, Mapping):
            raise SchemaError("data.columns_not_by_name", columns=safe_repr(columns))
        twice = sorted(named.keys() & set(columns or ()))
        if twice:
            raise SchemaError("data.column_declared_twice", name=safe_repr(twice[0]))
        joined = {**(columns or {}), **named}
        if not joined:
            raise SchemaError("data.empty_schema")
        self._columns = {_check_name(name): _check_kind(name, kind) for name, kind in joined.items()}

    def __getitem__(self, name: str) -> Kind:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __hash__(self) -> int:
        return hash(frozenset(self._columns.items()))  # equality ignores the order

    def __repr__(self) -> str:
        if all(map(_is_python_name, self)):
            return f"Schema({', '.join(f'{name}={kind!r}' for name, kind in self.items())})"
        return f"Schema({{{', '.join(f'{name!r}: {kind!r}' for name, kind in self.items())}}})"

    def _repr_html_(self) -> str:
        return draw_table(("column", "kind"), [(name, repr(kind)) for name, kind in self.items()], most=len(self))

    def to_toml(self) -> str:
        """Return the schema as the text of a TOML file.

        >>> print(Schema(age=Integer(0, 120)).to_toml())
        [columns.age]
        kind = "integer"
        low = 0
        high = 120
        <BLANKLINE>
        """
        return "\n".join(_format_section(name, kind) for name, kind in self.items())

    @classmethod
    def from_toml(cls, text: str) -> "Schema":
        """Parse the text of a TOML file with ``columns`` and nothing else.

        A section ``[table]`` declares whom a table protects, which a schema does not hold: such a text is refused here,
        and parsed by ``celosia.data.parse_schema_file``.

        >>> text = Schema(age=Integer(0, 120)).to_toml()
        >>> Schema.from_toml(text) == Schema(age=Integer(0, 120))
        True
        """
        document = load_toml(text)
        if "table" in document:
            raise SchemaError("data.table_section_lost")
        return read_columns(document)


def load_toml(text: object) -> dict[str, Any]:
    """Parse the TOML of a schema; numbers that are not integers stay decimals."""
    if not isinstance(text, str):
        raise SchemaError("data.toml_not_a_string", value=safe_repr(text))
    try:
        return tomllib.loads(text.removeprefix("\N{BYTE ORDER MARK}"), parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:  # also numbers that are too long
        raise SchemaError("data.schema_not_toml", error=error) from error


def read_columns(document: Mapping[str, Any]) -> Schema:
    """Return the columns of a schema's text; sections other than ``[table]`` and ``[columns.NAME]`` are refused."""
    unknown = sorted(document.keys() - {"table", "columns"})
    if unknown:
        raise SchemaError("data.unknown_schema_section", section=safe_repr(unknown[0]))
    columns = document.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise SchemaError("data.schema_file_without_columns")
    return Schema({name: _parse_kind(name, fields) for name, fields in columns.items()})


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _MAX_NAME_LENGTH:
        raise SchemaError("data.invalid_column_name", most=_MAX_NAME_LENGTH, name=safe_repr(name))
    return str.__str__(name)


def _check_kind(name: str, kind: object) -> Kind:
    if not isinstance(kind, Kind) or type(kind) not in KINDS.values():
        code = "data.column_kind_not_called" if isinstance(kind, type) else "data.not_a_column_kind"
        raise SchemaError(code, name=safe_repr(name), kind=safe_repr(kind))
    return kind


def _is_python_name(name: str) -> bool:
    # Python reads the letters of a name in their compatible form: ﬁ as fi.
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


# ------------------------------------------------------------------------------------------------------------ reading


def _parse_kind(name: str, fields: object) -> Kind:
    given = fields.get("kind") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(given, str) or given not in KINDS:
        known = ", ".join(KINDS)
        if given is None:
            raise SchemaError("data.missing_column_kind", name=safe_repr(name), known=known)
        raise SchemaError("data.unknown_column_kind", name=safe_repr(name), known=known, kind=safe_repr(given))
    missing = [field for field in _FIELDS[given] if field not in fields or fields[field] == []]
    if missing:
        raise SchemaError("data.missing_column_fields", name=safe_repr(name), missing=join_names(missing))
    options = ("null", *_OPTIONS.get(given, ()))
    unknown = sorted(fields.keys() - {"kind", *_FIELDS[given], *options})
    if unknown:
        raise SchemaError("data.unknown_column_field", name=safe_repr(name), field=safe_repr(unknown[0]), kind=given)
    if given == "category" and not isinstance(fields["values"], list):
        raise SchemaError("data.category_values_not_list", name=safe_repr(name))
    plain = {field: _to_plain(value, given) for field, value in fields.items()}
    try:
        # The constructor checks values, bounds and options.
        return KINDS[given](*(plain[f] for f in _FIELDS[given]), **{f: plain[f] for f in options if f in plain})
    except CelosiaError as error:
        raise SchemaError("data.invalid_column", name=safe_repr(name), error=error) from error


def _to_plain(value: object, kind: str) -> Any:
    # Only reals take fractions; for the other kinds a float reads better in the error message.
    return float(value) if isinstance(value, Decimal) and kind != "real" else value


# ------------------------------------------------------------------------------------------------------------ writing


def _format_section(name: str, kind: Kind) -> str:
    word = next(word for word, known in KINDS.items() if type(kind) is known)
    lines = [f"[columns.{write_key(name)}]", f'kind = "{word}"']
    for field in (*_FIELDS[word], *_OPTIONS.get(word, ()), "null"):
        value = getattr(kind, field)
        if value is None or (field == "ordered" and not value) or (field == "null" and kind.nullable):
            continue
        lines.append(f"{field} = {write_value(value)}")
    return "\n".join(lines) + "\n"


def write_key(name: str) -> str:
    """Return the name of a column as a TOML key, in quotes if it needs them."""
    bare = name.isascii() and name.replace("-", "_").isidentifier()
    return name if bare else _quote(name)


def _quote(text: str) -> str:
    # JSON's strings are TOML's, except for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_value(value: object) -> str:
    """Format a value of a schema in TOML."""
    match value:
        case bool() | int():
            return str(value).lower()
        case Fraction():
            # Not every parser accepts integers beyond 64 bits.
            return (
                str(value)
                if value.denominator == 1 and abs(value) < _MAX_TOML_INTEGER
                else _quote(_format_number(value))
            )
        case dt.datetime():
            return _quote(value.replace(tzinfo=None).isoformat(sep=" "))
        case dt.date():
            return _quote(value.isoformat())
        case tuple() | list():
            return "[" + ", ".join(map(write_value, value)) + "]"
        case _:
            return _quote(str(value))


def _format_number(value: Fraction) -> str:
    """Format a number as a decimal if that is the shortest form of a double, else as a ratio."""
    shortest = repr(float(value))
    return shortest if Fraction(shortest) == value else str(value)
