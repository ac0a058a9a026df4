"""Typing rules of comparisons, of conditions, and of what chooses between values.

A text is compared with a category only if the category can have that value: anything else is a typing mistake that
would silently count nobody. Nulls are never compared.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.query.plan import intervals
from celosia.query.plan.suggestions import suggested
from celosia.query.plan.types import Typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.query.plan.arithmetic import Rule
    from celosia.query.plan.intervals import Interval
    from celosia.query.plan.types import Scalar

_ORDERED: Final = ("number", "date", "timestamp")
_HINT: Final = "dates are written DATE '2021-12-31', times TIMESTAMP '2021-12-31 23:59:59', texts 'F', numbers 18."


def _equal(args: Sequence[Typed]) -> Typed:
    _comparable(args[0], args[1:])
    return _truth(args)


def _member(args: Sequence[Typed]) -> Typed:
    written = all(a.literal for a in args[1:])
    if not written:
        raise QueryError(f"{args[0].label} IN (…) needs a list of values that are written out, such as ('F', 'M').")
    _comparable(args[0], args[1:])
    return _truth(args)


def _compare(args: Sequence[Typed]) -> Typed:
    _ordered_alike("<, <=, >, >= and BETWEEN", args)
    return _truth(args)


def _connect(args: Sequence[Typed]) -> Typed:
    wrong = next((a for a in args if a.family != "truth"), None)
    if wrong is not None:
        raise QueryError(f"AND, OR and NOT connect conditions such as age < 18, not {wrong.described}.")
    return _truth(args)


def _is_null(args: Sequence[Typed]) -> Typed:
    return replace(_truth(args), nullable=False)


def _least(args: Sequence[Typed]) -> Typed:
    _ordered_alike("LEAST", args)
    return _like(args, "the result of LEAST", intervals.least([a.ends for a in args]))


def _greatest(args: Sequence[Typed]) -> Typed:
    _ordered_alike("GREATEST", args)
    return _like(args, "the result of GREATEST", intervals.greatest([a.ends for a in args]))


def _clip(args: Sequence[Typed]) -> Typed:
    _ordered_alike("CLIP", args)
    x, low, high = (a.ends for a in args)
    if low.high > high.low:
        raise QueryError(f"CLIP(x, low, high) needs low to be at most high, not {args[1].label} and {args[2].label}.")
    return _like(args, "the result of CLIP", intervals.least([intervals.greatest([x, low]), high]))


def bucket_labels(edges: Sequence[Scalar]) -> tuple[str, ...]:
    """Return what the intervals between edges are called: closed on the left, and the last one on both sides."""
    shown = [str(edge.replace(tzinfo=None)) if isinstance(edge, dt.datetime) else str(edge) for edge in edges]
    last = len(shown) - 2
    return tuple(f"[{shown[i]}, {shown[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


def _bucket(args: Sequence[Typed]) -> Typed:
    _ordered_alike("BUCKET", args)
    x, edges = args[0], args[1:]
    ends = [edge.ends.low for edge in edges]
    if not all(edge.literal for edge in edges) or any(a >= b for a, b in pairwise(ends)):
        raise QueryError("BUCKET(x, edge, edge, …) needs edges that are written out, each greater than the one before.")
    outside = x.ends.low < ends[0] or x.ends.high > ends[-1]
    labels = bucket_labels([edge.written for edge in edges])
    return Typed(family="text", label="the result of BUCKET", values=labels, nullable=x.nullable or outside)


def _coalesce(args: Sequence[Typed]) -> Typed:
    return replace(_joined("COALESCE", args), nullable=all(a.nullable for a in args))


def _case(args: Sequence[Typed]) -> Typed:
    if len(args) % 2 == 0:
        raise QueryError("CASE takes pairs of a condition and a result, and one more result for ELSE.")
    wrong = next((a for a in args[:-1:2] if a.family != "truth"), None)
    if wrong is not None:
        raise QueryError(f"CASE WHEN needs a condition such as age < 18, not {wrong.described}.")
    return _joined("CASE", [*args[1:-1:2], args[-1]])


def _joined(name: str, several: Sequence[Typed]) -> Typed:
    """What a value can be that comes from one of several."""
    label = f"the result of {name}"
    given = [a for a in several if a.family != "null"]
    if not given:
        raise QueryError(f"{name} needs at least one value that is not NULL.")
    nullable = any(a.nullable for a in several)
    families = {a.family for a in given}
    if families == {"code", "number"} and all(a.literal and a.ends.is_integer for a in given if a.family == "number"):
        given = [a if a.family == "code" else _as_code(a) for a in given]
        families = {"code"}
    if len(families) > 1:
        raise QueryError(f"{name} cannot mix {given[0].described} with {_other(given).described}.")
    family = given[0].family
    if family in _ORDERED:
        interval = intervals.hull([a.ends for a in given])
        return Typed(family=family, label=label, interval=interval, nullable=nullable)
    values = None
    if family in {"text", "code"} and all(a.values is not None for a in given):
        values = tuple(dict.fromkeys(value for a in given for value in a.values or ()))
    return Typed(family=family, label=label, values=values, nullable=nullable)


def _like(args: Sequence[Typed], label: str, interval: Interval) -> Typed:
    return Typed(family=args[0].family, label=label, interval=interval, nullable=any(a.nullable for a in args))


def _truth(args: Sequence[Typed]) -> Typed:
    return Typed(family="truth", label="the condition", nullable=any(a.nullable for a in args))


def _other(args: Sequence[Typed]) -> Typed:
    return next(a for a in args if a.family != args[0].family)


def _ordered_alike(name: str, args: Sequence[Typed]) -> None:
    _no_null(args)
    wrong = next((a for a in args if a.family not in _ORDERED), None)
    if wrong is not None and wrong.literal and wrong.family == "text":
        wrong = next((a for a in args if not a.literal), wrong)
        raise QueryError(
            f"{name} cannot order {wrong.described} and a text: a date is written DATE '2021-12-31', a number 18."
        )
    if wrong is not None:
        hint = "; list the values that are meant: x IN (…)" if wrong.family in {"text", "code"} else ""
        raise QueryError(f"{name} can order numbers, dates and times, not {wrong.described}{hint}.")
    if len({a.family for a in args}) > 1:
        raise QueryError(f"{name} cannot mix {args[0].described} with {_other(args).described}; {_HINT}")


def _comparable(x: Typed, others: Sequence[Typed]) -> None:
    _no_null([x, *others])
    if x.literal and len(others) == 1:
        x, others = others[0], [x]
    if x.family == "code":
        others = [_as_code(a) if a.literal and a.family == "number" and a.ends.is_integer else a for a in others]
    wrong = next((a for a in others if a.family != x.family), None)
    if wrong is not None:
        raise QueryError(f"{x.described} cannot be compared with {wrong.described}; {_HINT}")
    if x.values is None:
        return
    known = set(x.values)
    unknown = next((a for a in others if a.literal and a.values and a.values[0] not in known), None)
    if unknown is not None and not x.literal:
        value = str(unknown.values[0]) if unknown.values else ""
        raise QueryError(f"{x.label} is never {unknown.label}. {suggested(value, x.values)}")


def _as_code(number: Typed) -> Typed:
    return replace(number, family="code", interval=None, values=(int(number.ends.low),))


def _no_null(args: Sequence[Typed]) -> None:
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
"""The rules by the names of the operations."""
