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
from celosia.core.messages.message import Message
from celosia.query.plan import intervals
from celosia.query.plan.suggestions import suggest
from celosia.query.plan.types import Derivation, ValueType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.query.plan.arithmetic import Rule
    from celosia.query.plan.intervals import Interval
    from celosia.query.plan.types import Scalar

_ORDERED: Final = ("number", "date", "timestamp")
_COMPARISONS: Final = "query.comparisons"


def _equal(args: Sequence[ValueType]) -> ValueType:
    _check_comparable(args[0], args[1:])
    return _boolean(args)


def _member(args: Sequence[ValueType]) -> ValueType:
    written = all(a.is_literal for a in args[1:])
    if not written:
        raise QueryError("query.in_without_literals", operand=args[0].label)
    _check_comparable(args[0], args[1:])
    return _boolean(args)


def _compare(args: Sequence[ValueType]) -> ValueType:
    _check_ordered(_COMPARISONS, args)
    return _boolean(args)


def _connect(args: Sequence[ValueType]) -> ValueType:
    wrong = next((a for a in args if a.family != "truth"), None)
    if wrong is not None:
        raise QueryError("query.operand_not_a_condition", found=wrong.description)
    return _boolean(args)


def _is_null(args: Sequence[ValueType]) -> ValueType:
    return replace(_boolean(args), nullable=False)


def _least(args: Sequence[ValueType]) -> ValueType:
    _check_ordered("LEAST", args)
    return _with_interval(args, "LEAST", intervals.least([a.ends for a in args]))


def _greatest(args: Sequence[ValueType]) -> ValueType:
    _check_ordered("GREATEST", args)
    return _with_interval(args, "GREATEST", intervals.greatest([a.ends for a in args]))


def _clip(args: Sequence[ValueType]) -> ValueType:
    _check_ordered("CLIP", args)
    x, low, high = (a.ends for a in args)
    if low.high > high.low:
        raise QueryError("query.clip_bounds_reversed", low=args[1].label, high=args[2].label)
    return _with_interval(args, "CLIP", intervals.least([intervals.greatest([x, low]), high]))


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
        raise QueryError("query.bucket_edges_not_increasing")
    outside = x.ends.low < ends[0] or x.ends.high > ends[-1]
    labels = bucket_labels([edge.literal_value for edge in edges])
    source = Derivation("query.label_result", "BUCKET")
    return ValueType(family="text", source=source, values=labels, nullable=x.nullable or outside)


def _coalesce(args: Sequence[ValueType]) -> ValueType:
    return replace(_merge_types("COALESCE", args), nullable=all(a.nullable for a in args))


def _case(args: Sequence[ValueType]) -> ValueType:
    if len(args) % 2 == 0:
        raise QueryError("query.case_arguments_not_paired")
    wrong = next((a for a in args[:-1:2] if a.family != "truth"), None)
    if wrong is not None:
        raise QueryError("query.case_without_condition", found=wrong.description)
    return _merge_types("CASE", [*args[1:-1:2], args[-1]])


def _merge_types(name: str, several: Sequence[ValueType]) -> ValueType:
    """Return the type of a value that comes from one of several expressions."""
    source = Derivation("query.label_result", name)
    given = [a for a in several if a.family != "null"]
    if not given:
        raise QueryError("query.only_null_values", name=name)
    nullable = any(a.nullable for a in several)
    families = {a.family for a in given}
    if families == {"code", "number"} and all(
        a.is_literal and a.ends.is_integer for a in given if a.family == "number"
    ):
        given = [a if a.family == "code" else _as_code(a) for a in given]
        families = {"code"}
    if len(families) > 1:
        raise QueryError(
            "query.result_types_mixed",
            name=name,
            found=given[0].description,
            other=_find_other_family(given).description,
        )
    family = given[0].family
    if family in _ORDERED:
        interval = intervals.hull([a.ends for a in given])
        return ValueType(family=family, source=source, interval=interval, nullable=nullable)
    values = None
    if family in {"text", "code"} and all(a.values is not None for a in given):
        values = tuple(dict.fromkeys(value for a in given for value in a.values or ()))
    return ValueType(family=family, source=source, values=values, nullable=nullable)


def _with_interval(args: Sequence[ValueType], name: str, interval: Interval) -> ValueType:
    source = Derivation("query.label_result", name)
    return ValueType(family=args[0].family, source=source, interval=interval, nullable=any(a.nullable for a in args))


def _boolean(args: Sequence[ValueType]) -> ValueType:
    return ValueType(family="truth", source=Derivation("query.label_condition"), nullable=any(a.nullable for a in args))


def _find_other_family(args: Sequence[ValueType]) -> ValueType:
    return next(a for a in args if a.family != args[0].family)


def _check_ordered(name: str, args: Sequence[ValueType]) -> None:
    _check_no_null(args)
    wrong = next((a for a in args if a.family not in _ORDERED), None)
    shown = Message(name) if name == _COMPARISONS else name
    if wrong is not None and wrong.is_literal and wrong.family == "text":
        wrong = next((a for a in args if not a.is_literal), wrong)
        raise QueryError("query.text_cannot_be_ordered", name=shown, found=wrong.description)
    if wrong is not None:
        code = "query.text_has_no_order" if wrong.family in {"text", "code"} else "query.operand_has_no_order"
        raise QueryError(code, name=shown, found=wrong.description)
    if len({a.family for a in args}) > 1:
        raise QueryError(
            "query.ordered_types_mixed",
            name=shown,
            found=args[0].description,
            other=_find_other_family(args).description,
        )


def _check_comparable(x: ValueType, others: Sequence[ValueType]) -> None:
    _check_no_null([x, *others])
    if x.is_literal and len(others) == 1:
        x, others = others[0], [x]
    if x.family == "code":
        others = [_as_code(a) if a.is_literal and a.family == "number" and a.ends.is_integer else a for a in others]
    wrong = next((a for a in others if a.family != x.family), None)
    if wrong is not None:
        raise QueryError("query.types_not_comparable", found=x.description, other=wrong.description)
    if x.values is None:
        return
    known = set(x.values)
    unknown = next((a for a in others if a.is_literal and a.values and a.values[0] not in known), None)
    if unknown is not None and not x.is_literal:
        value = str(unknown.values[0]) if unknown.values else ""
        raise QueryError(
            "query.value_not_in_category", operand=x.label, found=unknown.label, hint=suggest(value, x.values)
        )


def _as_code(number: ValueType) -> ValueType:
    return replace(number, family="code", interval=None, values=(int(number.ends.low),))


def _check_no_null(args: Sequence[ValueType]) -> None:
    if any(a.family == "null" for a in args):
        raise QueryError("query.comparison_with_null")


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
