"""Expressions over the columns of one row: columns, literals and a fixed list of operations.

An expression is a small frozen tree; equal trees are equal expressions. Its kind, with bounds, follows from the schema
alone (:func:`kind_of`), so the noise for a derived column is known before a row is read. Constructors bound depth and
size, so recursive walks end.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn, TypeAlias, TypeVar

from celosia.core.errors import QueryError
from celosia.core.exact import is_unicode, safe_repr
from celosia.core.messages.message import Message
from celosia.query.plan.intervals import MAX_INTEGER, MAX_REAL, MIN_REAL
from celosia.query.plan.operations import OPERATIONS
from celosia.query.plan.suggestions import suggest
from celosia.query.plan.types import Scalar, ValueType, to_kind, type_of_kind, type_of_literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.data.schema.columns import Kind
    from celosia.query.plan.operations import Operation

MAX_DEPTH: Final = 100
"""Largest depth of nested operations."""

MAX_NODES: Final = 10_000
"""Largest number of columns, literals and operations in one expression."""

_Value = TypeVar("_Value", float, dt.datetime)

_EXAMPLES: Final = {"bucket": "BUCKET(age, 0, 18, 65)", "clip": "CLIP(age, 0, 100)"}
_MAX_TEXT_LENGTH = 1_000
_MAX_NAME_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Column:
    """A column, by its name."""

    name: str
    depth: ClassVar = 0
    size: ClassVar = 1

    def __post_init__(self) -> None:
        name: object = self.name
        if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME_LENGTH or not name.isprintable():
            raise QueryError("query.invalid_column_name", name=safe_repr(self.name))

    def __repr__(self) -> str:
        return f"Column({self.name!r})"


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant: a number, text, boolean, date, time in UTC, or None for null.

    ``1``, ``1.0`` and ``True`` are different literals.
    """

    value: Scalar
    depth: ClassVar = 0
    size: ClassVar = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _check_literal(self.value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value).__name__, self.value))

    def __repr__(self) -> str:
        return f"Literal({self.value!r})"


@dataclass(frozen=True, slots=True)
class Call:
    """An operation of :data:`celosia.query.plan.operations.OPERATIONS` and its arguments.

    Nested ``and`` and ``or`` are flattened.
    """

    name: str
    arguments: tuple[Expression, ...]
    depth: int = field(init=False, compare=False, repr=False)
    size: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        operation = OPERATIONS.get(str(self.name))
        if operation is None:
            raise QueryError(
                "query.unknown_operation", name=safe_repr(self.name), hint=suggest(str(self.name), OPERATIONS)
            )
        given = _flatten(self.name, tuple(self.arguments))
        if not all(isinstance(argument, Column | Literal | Call) for argument in given):
            raise QueryError("query.arguments_not_expressions", name=self.name, found=safe_repr(self.arguments))
        if len(given) < operation.least or (operation.most is not None and len(given) > operation.most):
            _refuse_arity(self.name, operation, len(given))
        depth, size = 1 + max(a.depth for a in given), 1 + sum(a.size for a in given)
        if depth > MAX_DEPTH or size > MAX_NODES:
            raise QueryError("query.expression_too_long", deepest=MAX_DEPTH, most=MAX_NODES)
        for name, value in (("arguments", given), ("depth", depth), ("size", size)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Call({self.name!r}, {self.arguments!r})"


Expression: TypeAlias = Column | Literal | Call
"""A value in each row."""


def kind_of(expression: Expression, kinds: Mapping[str, Kind]) -> Kind:
    """Return the kind of an expression over columns of given kinds, with the bounds that follow from theirs.

    A column has its declared kind. A derived value that can be null has the null rule ``"drop"``.
    """
    if isinstance(expression, Column):
        return _find_kind(expression, kinds)
    return to_kind(_infer_type(expression, kinds))


def is_condition(expression: Expression, kinds: Mapping[str, Kind]) -> bool:
    """Return whether an expression is a boolean; raise if it has no valid type."""
    return _infer_type(expression, kinds).family == "truth"


def family_of(expression: Expression, kinds: Mapping[str, Kind]) -> str:
    """Return the family of an expression's values; it needs no bounds."""
    return _infer_type(expression, kinds).family


def columns_in(expression: Expression) -> frozenset[str]:
    """Return the names of the columns that an expression reads."""
    if isinstance(expression, Call):
        return frozenset().union(*map(columns_in, expression.arguments))
    return frozenset({expression.name}) if isinstance(expression, Column) else frozenset()


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return an expression with some columns replaced by other expressions."""
    if isinstance(expression, Column):
        return values.get(expression.name, expression)
    if isinstance(expression, Call):
        return Call(expression.name, tuple(substitute(argument, values) for argument in expression.arguments))
    return expression


def conjunction(*conditions: Expression | None) -> Expression | None:
    """Return the AND of conditions; None stands for no condition."""
    given = tuple(condition for condition in conditions if condition is not None)
    if len(given) > 1:
        return Call("and", given)
    return given[0] if given else None


def _infer_type(expression: Expression, kinds: Mapping[str, Kind]) -> ValueType:
    if isinstance(expression, Column):
        return type_of_kind(_find_kind(expression, kinds), expression.name)
    if isinstance(expression, Literal):
        return type_of_literal(expression.value)
    return OPERATIONS[expression.name].rule([_infer_type(argument, kinds) for argument in expression.arguments])


def _find_kind(column: Column, kinds: Mapping[str, Kind]) -> Kind:
    if column.name not in kinds:
        raise QueryError("query.unknown_column", name=safe_repr(column.name), hint=suggest(column.name, kinds))
    return kinds[column.name]


def _flatten(name: str, arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
    if name not in {"and", "or"}:
        return arguments
    inner = (a.arguments if isinstance(a, Call) and a.name == name else (a,) for a in arguments)
    return tuple(part for parts in inner for part in parts)


def _refuse_arity(name: str, operation: Operation, found: int) -> NoReturn:
    wanted = _describe_arity(operation.least, operation.most)
    if name in _EXAMPLES:
        raise QueryError(
            "query.wrong_argument_count_as", name=name.upper(), wanted=wanted, example=_EXAMPLES[name], found=found
        )
    raise QueryError("query.wrong_argument_count", name=name.upper(), wanted=wanted, found=found)


def _describe_arity(least: int, most: int | None) -> Message:
    if most is None:
        return Message("query.arguments_or_more", least=least)
    if most > least:
        return Message("query.arguments_from_to", least=least, most=most)
    return Message("query.one_argument") if least == 1 else Message("query.some_arguments", number=least)


def _check_literal(value: object) -> Scalar:
    """Return a literal as a plain Python value that every engine has."""
    if isinstance(value, Fraction | Decimal) and math.isfinite(value):
        value = int(value) if value == int(value) else float(value)
    elif hasattr(value, "item") and not hasattr(value, "__len__"):  # a NumPy scalar
        value = value.item()
    match value:
        case None | bool():
            return value
        case int() | float():
            return _check_number(value)
        case str():
            return _check_text(value)
        case dt.date():
            return _check_date(value)
    raise QueryError("query.invalid_literal", value=safe_repr(value))


def _check_number(value: float) -> float:
    if isinstance(value, int):
        return _check_range(value, abs(value) <= MAX_INTEGER, "query.integer_literal_out_of_range")
    usable = math.isfinite(value) and (value == 0 or MIN_REAL <= abs(value) <= MAX_REAL)
    return _check_range(value + 0.0, usable, "query.real_literal_out_of_range")  # no negative zero


def _check_date(value: dt.date) -> dt.date:
    if not isinstance(value, dt.datetime):
        return value
    moment = value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
    return _check_range(moment, moment.microsecond == 0, "query.time_literal_not_whole")


def _check_range(value: _Value, usable: bool, code: str) -> _Value:  # noqa: FBT001 - a verdict, not an option
    if not usable:
        raise QueryError(code, value=safe_repr(value))
    return value


def _check_text(value: str) -> str:
    # Engines cannot receive a lone surrogate, and some cannot store a NUL.
    if len(value) > _MAX_TEXT_LENGTH or "\0" in value or not is_unicode(value):
        raise QueryError("query.literal_text_not_valid", most=_MAX_TEXT_LENGTH, value=safe_repr(value))
    return value
