"""Typing rules of comparisons, conditions and choices between values.

A text can be compared with a category only if the category has that value: otherwise a misspelt value would silently
count no rows. Nulls are never compared.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.query.plan import intervals
from celosia.query.plan.suggestions import suggest
from celosia.query.plan.types import ValueType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.query.plan.arithmetic import Rule
    from celosia.query.plan.intervals import Interval
    from celosia.query.plan.types import Scalar

_ORDERED: Final = ("number", "date", "timestamp")
_HINT: Final = "dates are written DATE '2021-12-31', times TIMESTAMP '2021-12-31 23:59:59', texts 'F', numbers 18."


def _equal(args: Sequence[ValueType]) -> ValueType:
    _check_comparable(args[0], args[1:])
    return _boolean(args)


def _member(args: Sequence[ValueType]) -> ValueType:
    written = all(a.is_literal for a in args[1:])
    if not written:
        raise QueryError(f"{args[0].label} IN (…) needs a list of literals, such as ('F', 'M').")
    _check_comparable(args[0], args[1:])
    return _boolean(args)


def _compare(args: Sequence[ValueType]) -> ValueType:
    _check_ordered("<, <=, >, >= and BETWEEN", args)
    return _boolean(args)


def _connect(args: Sequence[ValueType]) -> ValueType:
    wrong = next((a for a in args if a.family != "truth"), None)
    if wrong is not None:
        raise QueryError(f"AND, OR and NOT connect conditions such as age < 18, not {wrong.description}.")
    return _boolean(args)


def _is_null(args: Sequence[ValueType]) -> ValueType:
    return replace(_boolean(args), nullable=False)


def _least(args: Sequence[ValueType]) -> ValueType:
    _check_ordered("LEAST", args)
    return _with_interval(args, "the result of LEAST", intervals.least([a.ends for a in args]))


def _greatest(args: Sequence[ValueType]) -> ValueType:
    _check_ordered("GREATEST", args)
    return _with_interval(args, "the result of GREATEST", intervals.greatest([a.ends for a in args]))


def _clip(args: Sequence[ValueType]) -> ValueType:
    _check_ordered("CLIP", args)
    x, low, high = (a.ends for a in args)
    if low.high > high.low:
        raise QueryError(f"CLIP(x, low, high) needs low to be at most high, not {args[1].label} and {args[2].label}.")
    return _with_interval(args, "the result of CLIP", intervals.least([intervals.greatest([x, low]), high]))


def bucket_labels(edges: Sequence[Scalar]) -> tuple[str, ...]:
    """Return the names of the intervals between edges: closed on the left, the last one on both sides."""
    shown = [str(edge.replace(tzinfo=None)) if isinstance(edge, dt.datetime) else str(edge) for edge in edges]
    last = len(shown) - 2
    return tuple(f"[{shown[i]}, {shown[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


def _bucket(args: Sequence[ValueType]) -> ValueType:
    _check_ordered("BUCKET", args)
    x, edges = args[0], args[1:]
    ends = [edge.ends.low for edge in edges]
    if not all(edge.is_literal for edge in edges) or any(a >= b for a, b in pairwise(ends)):
        raise QueryError("BUCKET(x, edge, edge, …) needs literal edges, each greater than the one before.")
    outside = x.ends.low < ends[0] or x.ends.high > ends[-1]
    labels = bucket_labels([edge.literal_value for edge in edges])
    return ValueType(family="text", label="the result of BUCKET", values=labels, nullable=x.nullable or outside)


def _coalesce(args: Sequence[ValueType]) -> ValueType:
    return replace(_merge_types("COALESCE", args), nullable=all(a.nullable for a in args))


def _case(args: Sequence[ValueType]) -> ValueType:
    if len(args) % 2 == 0:
        raise QueryError("CASE takes pairs of a condition and a result, and one more result for ELSE.")
    wrong = next((a for a in args[:-1:2] if a.family != "truth"), None)
    if wrong is not None:
        raise QueryError(f"CASE WHEN needs a condition such as age < 18, not {wrong.description}.")
    return _merge_types("CASE", [*args[1:-1:2], args[-1]])


def _merge_types(name: str, several: Sequence[ValueType]) -> ValueType:
    """Return the type of a value that comes from one of several expressions."""
    label = f"the result of {name}"
    given = [a for a in several if a.family != "null"]
    if not given:
        raise QueryError(f"{name} needs at least one value that is not NULL.")
    nullable = any(a.nullable for a in several)
    families = {a.family for a in given}
    if families == {"code", "number"} and all(
        a.is_literal and a.ends.is_integer for a in given if a.family == "number"
    ):
        given = [a if a.family == "code" else _as_code(a) for a in given]
        families = {"code"}
    if len(families) > 1:
        raise QueryError(f"{name} cannot mix {given[0].description} with {_find_other_family(given).description}.")
    family = given[0].family
    if family in _ORDERED:
        interval = intervals.hull([a.ends for a in given])
        return ValueType(family=family, label=label, interval=interval, nullable=nullable)
    values = None
    if family in {"text", "code"} and all(a.values is not None for a in given):
        values = tuple(dict.fromkeys(value for a in given for value in a.values or ()))
    return ValueType(family=family, label=label, values=values, nullable=nullable)


def _with_interval(args: Sequence[ValueType], label: str, interval: Interval) -> ValueType:
    return ValueType(family=args[0].family, label=label, interval=interval, nullable=any(a.nullable for a in args))


def _boolean(args: Sequence[ValueType]) -> ValueType:
    return ValueType(family="truth", label="the condition", nullable=any(a.nullable for a in args))


def _find_other_family(args: Sequence[ValueType]) -> ValueType:
    return next(a for a in args if a.family != args[0].family)


def _check_ordered(name: str, args: Sequence[ValueType]) -> None:
    _check_no_null(args)
    wrong = next((a for a in args if a.family not in _ORDERED), None)
    if wrong is not None and wrong.is_literal and wrong.family == "text":
        wrong = next((a for a in args if not a.is_literal), wrong)
        raise QueryError(
            f"{name} cannot order {wrong.description} and a text: a date is written DATE '2021-12-31', a number 18."
        )
    if wrong is not None:
        hint = "; list the values that are meant: x IN (…)" if wrong.family in {"text", "code"} else ""
        raise QueryError(f"{name} can order numbers, dates and times, not {wrong.description}{hint}.")
    if len({a.family for a in args}) > 1:
        raise QueryError(
            f"{name} cannot mix {args[0].description} with {_find_other_family(args).description}; {_HINT}"
        )


def _check_comparable(x: ValueType, others: Sequence[ValueType]) -> None:
    _check_no_null([x, *others])
    if x.is_literal and len(others) == 1:
        x, others = others[0], [x]
    if x.family == "code":
        others = [_as_code(a) if a.is_literal and a.family == "number" and a.ends.is_integer else a for a in others]
    wrong = next((a for a in others if a.family != x.family), None)
    if wrong is not None:
        raise QueryError(f"{x.description} cannot be compared with {wrong.description}; {_HINT}")
    if x.values is None:
        return
    known = set(x.values)
    unknown = next((a for a in others if a.is_literal and a.values and a.values[0] not in known), None)
    if unknown is not None and not x.is_literal:
        value = str(unknown.values[0]) if unknown.values else ""
        raise QueryError(f"{x.label} is never {unknown.label}. {suggest(value, x.values)}")


def _as_code(number: ValueType) -> ValueType:
    return replace(number, family="code", interval=None, values=(int(number.ends.low),))


def _check_no_null(args: Sequence[ValueType]) -> None:
    if any(a.family == "null" for a in args):
        raise QueryError("A comparison with NULL is never true: write x IS NULL or x IS NOT NULL.")


COMPARISON: Final[dict[str, Rule]] = {
    "=": _equal,
    "<>": _equal,
    **dict.fromkeys(("<", "<=", ">", ">=", "between"), _compare),
    "in": _member,
    **dict.fromkeys(("and", "or", "not"), _connect),
    "is_null": _is_null,
    "least": _least,
    "greatest": _greatest,
    "clip": _clip,
    "bucket": _bucket,
    "coalesce": _coalesce,
    "case": _case,
}
"""The rules by operation."""
