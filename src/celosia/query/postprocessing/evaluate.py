"""Expressions over noisy answers: outputs, HAVING and ORDER BY. Nothing private is left in them, so they cost nothing.

They mean the same as in a query (``plan.operations``): null passes through, and AND, OR, IN and BETWEEN
know three booleans as SQL does. A quotient by zero and a number that is not finite, or an integer beyond 2^62, are
null. Whether an expression can be computed depends on the types of the columns alone, never on their values, and a
column of nothing but nulls fits every type: what passes a rehearsal before anything is paid for does not fail later.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.query.plan.comparison import bucket_labels
from celosia.query.plan.expressions import Call, Column, Expression, Literal
from celosia.query.plan.text_functions import TEXT_FUNCTIONS
from celosia.query.postprocessing.calendar_vectors import CALENDAR_FUNCTIONS, apply_calendar
from celosia.query.postprocessing.text_vectors import apply_text_function
from celosia.query.postprocessing.vectors import MAX_INTEGER, Vector, align, to_list, vector_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.query.plan.nodes import Plan
    from celosia.query.plan.types import Scalar

    _Values: TypeAlias = Sequence[Any] | NDArray[Any]

_ORDERED: Final = ("number", "date", "timestamp", "text")
_EQUAL: Final = (*_ORDERED, "truth")
_MAX_DECIMALS = 15
_SECONDS_A_DAY = 86_400
_EARLIEST, _LATEST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, in days since 1970
_MAX_MOVED_DAYS = 10_000_000  # days, more than the calendar has
_ALMOST_LARGEST = 1.001 * MAX_INTEGER  # where doubles are sure that an integer is beyond


def evaluate(expression: Expression, columns: "Mapping[str, _Values]", rows: int) -> list[Any]:
    """Return the value of an expression in each row; None stands for null."""
    if isinstance(expression, Column):
        column = _column(expression.name, columns, rows)
        return column.tolist() if isinstance(column, np.ndarray) else list(column)
    with np.errstate(all="ignore"):  # what comes of it is masked
        return to_list(_evaluate_vector(expression, columns, rows))


def rehearse(plan: "Plan", samples: Mapping[str, Any]) -> None:
    """Refuse what could not be computed of the answer, by one made-up value for each key and aggregate."""
    known = {name: [value] for name, value in samples.items()}
    shown = {name: evaluate(expression, known, 1) for name, expression in plan.outputs}
    for order in plan.order:
        evaluate(order.expression, known | shown, 1)
    if plan.having is not None and not isinstance(evaluate(plan.having, known | shown, 1)[0], bool | None):
        raise QueryError("query.answer_having_not_condition")


def _column(name: str, columns: "Mapping[str, _Values]", rows: int) -> "_Values":
    if name not in columns:
        raise QueryError("query.unknown_answer_column", name=safe_repr(name), known=", ".join(columns))
    if len(columns[name]) != rows:
        raise QueryError(
            "query.answer_column_length_mismatch", name=safe_repr(name), found=len(columns[name]), wanted=rows
        )
    return columns[name]


def _evaluate_vector(expression: Expression, columns: "Mapping[str, _Values]", rows: int) -> Vector:
    match expression:
        case Column(name=name):
            return vector_of(_column(name, columns, rows))
        case Literal(value=value):
            return vector_of([value]).repeated(rows)
        case Call(name="bucket", arguments=(argument, *edges)):
            return _bucket(_evaluate_vector(argument, columns, rows), edges)
        case Call(name=name, arguments=(first, *others)) if name in _WITH_WRITTEN:
            return _with_written(name, _evaluate_vector(first, columns, rows), others)
        case Call(name=name, arguments=arguments):
            if name not in _OPERATIONS:
                known = ", ".join([*_OPERATIONS, *sorted(_WITH_WRITTEN)])
                raise QueryError("query.operation_not_for_answers", name=name, known=known)
            return _OPERATIONS[name](name, [_evaluate_vector(argument, columns, rows) for argument in arguments])
    raise QueryError("query.not_an_expression", value=safe_repr(expression))


def _check_families(name: str, vectors: Sequence[Vector], families: Sequence[str]) -> list[Vector]:
    """Return columns of one family, which must be one of those that the operation knows."""
    wrong = next((vector for vector in vectors if vector.family not in (*families, "null")), None)
    if wrong is not None:
        raise QueryError("query.operation_wrong_answer_type", name=name.upper(), found=wrong.description)
    return align(name, vectors)


def _any_null(vectors: Sequence[Vector]) -> "NDArray[np.bool_]":
    return reduce(np.logical_or, (vector.null for vector in vectors))


# ----------------------------------------------------------------------------------------------------- arithmetic


def _number(items: "NDArray[Any]", null: "NDArray[np.bool_]", estimate: "NDArray[Any] | None" = None) -> Vector:
    """Return numbers, null where they are not finite, or where an estimate in doubles is too large for an integer."""
    if items.dtype.kind == "f":
        return Vector("number", items, null | ~np.isfinite(items))
    far = np.abs(items.astype(np.float64) if estimate is None else estimate) > _ALMOST_LARGEST
    return Vector("number", items, null | far | (items > MAX_INTEGER) | (items < -MAX_INTEGER))


def _arithmetic(name: str, vectors: Sequence[Vector]) -> Vector:
    families = {vector.family for vector in vectors}
    if name != "*" and "null" in families and families <= {"null", "number", "date", "timestamp"}:
        # Nothing and three may be a date and days as well as two numbers: what comes of it is nothing of any family.
        return Vector("null", np.zeros_like(vectors[0].null), np.ones_like(vectors[0].null))
    if name != "*" and families & {"date", "timestamp"}:
        return _days(name, *vectors)
    a, b = (_as_numbers(vector) for vector in _check_families(name, vectors, ["number"]))
    function, null = _ARITHMETIC[name], a.null | b.null
    estimate = function(a.items.astype(np.float64), b.items.astype(np.float64)) if a.is_integer else None
    return _number(function(a.items, b.items), null, estimate)


def _as_numbers(vector: Vector) -> Vector:
    return Vector("number", vector.items.astype(np.int64), vector.null) if vector.family == "null" else vector


def _days(name: str, a: Vector, b: Vector) -> Vector:
    """Add whole days to a date or time, or take dates from one another."""
    if a.family == b.family == "date" and name == "-":
        return _number(a.items - b.items, a.null | b.null)
    day, number = (b, a) if a.family == "number" else (a, b)
    if number.family != "number" or not number.is_integer:
        raise QueryError("query.answer_shift_not_days", name=name, operand=day.description, found=number.description)
    if name == "-" and day is b:
        raise QueryError("query.date_subtracted_from_number", found=day.description)
    unit = _SECONDS_A_DAY if day.family == "timestamp" else 1
    moved = _ARITHMETIC[name](day.items, np.clip(number.items, -_MAX_MOVED_DAYS, _MAX_MOVED_DAYS) * unit)
    beyond = (moved < _EARLIEST * unit) | (moved >= (_LATEST + 1) * unit)
    return Vector(day.family, moved, a.null | b.null | beyond)


def _divide(name: str, vectors: Sequence[Vector]) -> Vector:
    a, b = (vector.items.astype(np.float64) for vector in _check_families(name, vectors, ["number"]))
    return _number(a / b, _any_null(vectors))  # by zero it is not finite


def _remainder(name: str, vectors: Sequence[Vector]) -> Vector:
    a, b = (_as_numbers(vector) for vector in _check_families(name, vectors, ["number"]))
    zero = b.items == 0
    return _number(np.fmod(a.items, np.where(zero, 1, b.items)), a.null | b.null | zero)


def _one_number(name: str, vectors: Sequence[Vector]) -> Vector:
    (a,) = map(_as_numbers, _check_families(name, vectors, ["number"]))
    if name == "real" or (a.is_integer and name in {"floor", "ceil"}):
        return _number(a.items.astype(np.float64) if name == "real" else a.items, a.null)
    items = _ALONE[name](a.items)
    if name in {"neg", "abs"}:
        return _number(items, a.null)
    far = ~(np.abs(items) <= MAX_INTEGER)
    return Vector("number", np.where(far, 0, items).astype(np.int64), a.null | far)


def _integer(name: str, vectors: Sequence[Vector]) -> Vector:
    (a,) = _check_families(name, vectors, ["truth", "number"])
    if a.family == "number" and not a.is_integer:
        raise QueryError("query.answer_cast_not_boolean")
    return Vector("number", a.items.astype(np.int64), a.null)


def _extreme(name: str, vectors: Sequence[Vector]) -> Vector:
    several = _check_families(name, vectors, _ORDERED)
    function = np.minimum if name == "least" else np.maximum
    return Vector(several[0].family, reduce(function, (vector.items for vector in several)), _any_null(vectors))


def _clip(name: str, vectors: Sequence[Vector]) -> Vector:
    x, low, high = _check_families(name, vectors, _ORDERED)
    return Vector(x.family, np.minimum(np.maximum(x.items, low.items), high.items), _any_null(vectors))


# ----------------------------------------------------------------------------------------------------- conditions


def _compare(name: str, vectors: Sequence[Vector]) -> Vector:
    a, b = _check_families(name, vectors, _EQUAL if name in {"=", "<>"} else _ORDERED)
    return Vector("truth", _COMPARISONS[name](a.items, b.items).astype(bool), a.null | b.null)


def _between(_: str, vectors: Sequence[Vector]) -> Vector:
    x, low, high = _check_families("between", vectors, _ORDERED)
    return _and("and", [_compare(">=", [x, low]), _compare("<=", [x, high])])


def _in(_: str, vectors: Sequence[Vector]) -> Vector:
    x, *choices = _check_families("in", vectors, _EQUAL)
    return reduce(lambda found, choice: _or("or", [found, choice]), (_compare("=", [x, choice]) for choice in choices))


def _and(_: str, vectors: Sequence[Vector]) -> Vector:
    conditions = _check_families("and", vectors, ["truth"])
    false = reduce(np.logical_or, (~vector.items & ~vector.null for vector in conditions))
    return Vector("truth", ~false, _any_null(conditions) & ~false)


def _or(_: str, vectors: Sequence[Vector]) -> Vector:
    conditions = _check_families("or", vectors, ["truth"])
    true = reduce(np.logical_or, (vector.items & ~vector.null for vector in conditions))
    return Vector("truth", true, _any_null(conditions) & ~true)


def _not(name: str, vectors: Sequence[Vector]) -> Vector:
    (a,) = _check_families(name, vectors, ["truth"])
    return Vector("truth", ~a.items, a.null)


def _is_null(_: str, vectors: Sequence[Vector]) -> Vector:
    (a,) = vectors
    return Vector("truth", a.null, np.zeros_like(a.null))


# ---------------------------------------------------------------------------------------------------- alternatives


def _case(name: str, vectors: Sequence[Vector]) -> Vector:
    if len(vectors) % 2 == 0:
        raise QueryError("query.case_arguments_not_paired")
    conditions = _check_families(name, vectors[:-1:2], ["truth"])
    *results, found = align(name, [*vectors[1:-1:2], vectors[-1]])
    for condition, result in zip(reversed(conditions), reversed(results), strict=True):
        found = _either(condition.items & ~condition.null, result, found)
    return found


def _coalesce(name: str, vectors: Sequence[Vector]) -> Vector:
    *others, found = align(name, vectors)
    for vector in reversed(others):
        found = _either(~vector.null, vector, found)
    return found


def _either(first: "NDArray[np.bool_]", a: Vector, b: Vector) -> Vector:
    return Vector(a.family, np.where(first, a.items, b.items), np.where(first, a.null, b.null))


def _bucket(x: Vector, edges: Sequence[Expression]) -> Vector:
    written = [edge.value for edge in edges if isinstance(edge, Literal)]
    if len(written) != len(edges):
        raise QueryError("query.answer_bucket_edges_computed")
    x, ends = _check_families("bucket", [x, vector_of(written)], _ORDERED[:3])
    if ends.null.any() or (np.diff(ends.items) <= 0).any():
        raise QueryError("query.answer_bucket_edges_unordered")
    labels = vector_of(bucket_labels(written)).items
    outside = (x.items < ends.items[0]) | (x.items > ends.items[-1])
    places = np.clip(np.searchsorted(ends.items, x.items, side="right") - 1, 0, len(labels) - 1)
    return Vector("text", labels[places], x.null | outside)


# ----------------------------------------------------------------------------------------------- dates and texts


def _with_written(name: str, a: Vector, others: Sequence[Expression]) -> Vector:
    """Compute an operation on a column whose other arguments are written out."""
    given = [other.value for other in others if isinstance(other, Literal)]
    if len(given) != len(others):
        raise QueryError("query.answer_argument_not_literal", name=name.upper())
    _check_families(
        name, [a], ["text"] if name in TEXT_FUNCTIONS else ["number"] if name == "round" else ["date", "timestamp"]
    )
    if a.family == "null":
        return a
    if name in TEXT_FUNCTIONS:
        return apply_text_function(name, a, given)
    return _round(a, *given) if name == "round" else apply_calendar(name, a, given)


def _round(a: Vector, decimals: "Scalar" = 0) -> Vector:
    if type(decimals) is not int or not 0 <= decimals <= _MAX_DECIMALS:
        raise QueryError("query.invalid_round_decimals", most=_MAX_DECIMALS)
    if a.is_integer:
        return a
    scale = 10.0**decimals
    scaled = np.floor(np.abs(a.items) * scale + 0.5) / scale
    return _number(np.where(np.isfinite(scaled), np.copysign(scaled, a.items) + 0.0, a.items), a.null)


_ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {"+": np.add, "-": np.subtract, "*": np.multiply}
_ALONE: Final[dict[str, Callable[[Any], Any]]] = {
    "neg": np.negative,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
}
_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_OPERATIONS: Final[dict[str, Callable[[str, Sequence[Vector]], Vector]]] = {
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    "/": _divide,
    "%": _remainder,
    **dict.fromkeys([*_ALONE, "real"], _one_number),
    "least": _extreme,
    "greatest": _extreme,
    "clip": _clip,
    "integer": _integer,
    **dict.fromkeys(_COMPARISONS, _compare),
    "between": _between,
    "in": _in,
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _is_null,
    "coalesce": _coalesce,
    "case": _case,
}
_WITH_WRITTEN: Final = frozenset({*TEXT_FUNCTIONS, *CALENDAR_FUNCTIONS, "round"})
