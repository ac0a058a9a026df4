"""Expressions and listed keys as JSON, each value with its type, so that 1, 1.0, true and "1" stay four things.

A column is ``{"column": name}``, an operation ``{"call": name, "arguments": [...]}`` and a value
``{"literal": value, "type": word}``. Reals are written as the shortest text that reads back to the same double, ratios
as ``"1/3"``, dates and times as in ISO 8601. The reader calls the constructors of expressions, which
validate.
"""

import datetime as dt
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeVar

from celosia.core.errors import CelosiaError, FormatError, QueryError
from celosia.core.exact import exact, safe_repr
from celosia.data.schema.values import as_timestamp
from celosia.query.plan.expressions import Call, Column, Expression, Literal
from celosia.query.serial.json_fields import read_boolean, read_choice, read_fields, read_integer, read_list, read_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.data.schema.columns import Value

D = TypeVar("D", bound=dt.date)

_REAL: Final = re.compile(r"-?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,3})?", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", re.ASCII)


def expression_to_json(expression: Expression) -> dict[str, Any]:
    """Return an expression as plain values."""
    if isinstance(expression, Column):
        return {"column": expression.name}
    if isinstance(expression, Literal):
        return value_to_json(expression.value)
    return {"call": expression.name, "arguments": [expression_to_json(inner) for inner in expression.arguments]}


def expression_from_json(value: object) -> Expression:
    """Parse an expression; raise ``FormatError`` or ``QueryError`` if it is invalid."""
    given = value if isinstance(value, dict) else {}
    if "column" in given:
        return Column(read_text(read_fields(value, "column", ["column"])["column"], "column"))
    if "call" in given:
        found = read_fields(value, "call", ["call", "arguments"])
        inner = [expression_from_json(item) for item in read_list(found["arguments"], "arguments")]
        if not inner:
            raise FormatError("query.call_without_arguments")
        return Call(read_text(found["call"], "call"), tuple(inner))
    if "literal" in given:
        read = value_from_json(value)
        if isinstance(read, Fraction):
            raise FormatError("query.ratio_in_expression")
        return Literal(read)
    raise FormatError("query.expression_not_an_object", value=safe_repr(value))


# ------------------------------------------------------------------------------------------------------------ values


def value_to_json(value: object) -> dict[str, Any]:
    """Return one value with its type; what no column can hold is refused."""
    plain: Any = value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value  # NumPy's scalars
    written: object
    match plain:
        case None:
            written, word = None, "null"
        case bool():
            written, word = plain, "boolean"
        case int():
            written, word = int(plain), "integer"
        case float() if math.isfinite(plain):
            written, word = repr(float(plain) + 0.0), "real"  # no negative zero
        case Fraction() | Decimal():
            written, word = str(exact(plain, name="A listed key")), "ratio"
        case str():
            written, word = str.__str__(plain), "text"
        case dt.datetime():
            moment = as_timestamp(plain, name="A listed time").replace(tzinfo=None)
            written, word = f"{moment.isoformat()}Z", "timestamp"
        case dt.date():
            written, word = plain.isoformat(), "date"
        case _:
            raise QueryError("query.invalid_listed_key", value=safe_repr(value))
    return {"literal": written, "type": word}


def value_from_json(value: object) -> "Value | float | None":
    """Read one value back."""
    found = read_fields(value, "literal", ["literal", "type"])
    read = _READERS[read_choice(found["type"], "type", _READERS)](found["literal"])
    # The constructor of literals knows what every engine can hold.
    return read if isinstance(read, Fraction) else Literal(read).value


def _null(value: object) -> None:
    if value is not None:
        raise FormatError("query.invalid_null_literal", value=safe_repr(value))


def _real(value: object) -> float:
    if isinstance(value, float):
        return value
    if not isinstance(value, str) or not _REAL.fullmatch(value):
        raise FormatError("query.invalid_real_literal", value=safe_repr(value))
    return float(value)


def _ratio(value: object) -> Fraction:
    try:
        return exact(read_text(value, "literal"), name="literal")
    except CelosiaError as error:
        raise FormatError("query.invalid_ratio_literal", error=error) from None


def _day(value: object) -> dt.date:
    return _read_iso(value, _DAY, dt.date.fromisoformat, name="date", example="2021-12-31")


def _timestamp(value: object) -> dt.datetime:
    return _read_iso(value, _TIMESTAMP, dt.datetime.fromisoformat, name="timestamp", example="2021-12-31T23:59:59Z")


def _read_iso(value: object, form: re.Pattern[str], parse: "Callable[[str], D]", *, name: str, example: str) -> D:
    written = read_text(value, "literal")
    if form.fullmatch(written):
        try:
            return parse(written)
        except ValueError:
            pass
    raise FormatError("query.invalid_date_literal", name=name, example=example, value=safe_repr(value))


_READERS: "Final[dict[str, Callable[[object], Any]]]" = {
    "integer": lambda value: read_integer(value, "query.name_integer_literal"),
    "real": _real,
    "ratio": _ratio,
    "text": lambda value: read_text(value, "query.name_text_literal"),
    "boolean": lambda value: read_boolean(value, "query.name_boolean_literal"),
    "date": _day,
    "timestamp": _timestamp,
    "null": _null,
}
