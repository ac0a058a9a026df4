"""Intervals of columns that are computed from noisy answers, such as ``100.0 * COUNT(x) / COUNT(*)``.

The intervals of the answers hold together with probability ``level`` if each holds with 1 - (1 - level) / m, for m
answers (Bonferroni). Wherever they hold, interval arithmetic encloses the computed number (Moore 1966). A quotient
whose divisor may be zero has no bounds: its ends are infinite.
"""

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from celosia.query.plan.expressions import Call, Column, Expression, Literal, columns_in
from celosia.query.postprocessing.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Ends: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
    Interval: TypeAlias = Callable[[float], Ends]

_MONOTONE: Final = frozenset({"real", "floor", "ceil", "round"})
_EXACT = 2.0**26
_KNOWN: Final = _MONOTONE | {"+", "-", "*", "/", "neg"}


def output_interval(expression: Expression, intervals: "Mapping[str, Interval]") -> "Interval | None":
    """Return the interval of a computed column from those of the answers, or None where there is none."""
    names = sorted(columns_in(expression))
    if not names or not set(names) <= set(intervals) or not can_enclose(expression):
        return None
    if isinstance(expression, Column):
        return intervals[expression.name]

    def interval(level: float) -> "Ends":
        each = 1 - (1 - level) / len(names)
        return enclose(expression, {name: intervals[name](each) for name in names})

    return interval


def enclose(expression: Expression, ends: "Mapping[str, Ends]") -> "Ends":
    """Return where an expression lies if each of its columns lies between its ends."""
    with np.errstate(all="ignore"):
        return _enclose(expression, {name: (_real(low), _real(high)) for name, (low, high) in ends.items()})


def can_enclose(expression: Expression) -> bool:
    """Return whether an expression is made of what intervals are known of."""
    if isinstance(expression, Call):
        return expression.name in _KNOWN and all(map(can_enclose, expression.arguments))
    return isinstance(expression, Column) or type(expression.value) in (int, float)


def _real(end: "NDArray[Any]") -> "NDArray[np.float64]":
    return np.asarray(end, dtype=np.float64)


def _enclose(expression: Expression, ends: "Mapping[str, Ends]") -> "Ends":
    if isinstance(expression, Column):
        return ends[expression.name]
    if isinstance(expression, Literal):
        number = np.full(len(next(iter(ends.values()))[0]), float(str(expression.value)))
        return number, number
    if expression.name in _MONOTONE:
        low, high = _enclose(expression.arguments[0], ends)
        return _apply(expression, low), _apply(expression, high)
    first, *others = (_enclose(argument, ends) for argument in expression.arguments)
    if expression.name == "neg":
        return -first[1], -first[0]
    low, high = _BINARY[expression.name](first, others[0])
    exact = expression.name != "/" and all(_is_whole(end) for end in (*first, *others[0]))
    return (low, high) if exact else (np.nextafter(low, -np.inf), np.nextafter(high, np.inf))


def _is_whole(end: "NDArray[Any]") -> bool:
    """Whether sums and products of such numbers are exact in doubles."""
    return bool(np.all((end == np.floor(end)) & (np.abs(end) <= _EXACT)))


def _apply(expression: Call, end: "NDArray[Any]") -> "NDArray[Any]":
    """Apply a monotone function to one end; infinite and very large ends stay as they are."""
    call = Call(expression.name, (Column("x"), *expression.arguments[1:]))
    found = evaluate(call, {"x": end}, len(end))
    return np.array([old if new is None else new for old, new in zip(end, found, strict=True)], dtype=np.float64)


def _corners(function: "Callable[[Any, Any], Any]", a: "Ends", b: "Ends") -> "Ends":
    found = [function(x, y) for x in a for y in b]
    corners = np.array([np.where(np.isnan(corner), 0.0, corner) for corner in found])  # 0 times an infinity
    return corners.min(axis=0), corners.max(axis=0)


def _quotient(a: "Ends", b: "Ends") -> "Ends":
    low, high = _corners(np.divide, a, b)
    zero = (b[0] <= 0) & (b[1] >= 0)
    return np.where(zero, -np.inf, low), np.where(zero, np.inf, high)


_BINARY: "Final[dict[str, Callable[[Ends, Ends], Ends]]]" = {
    "+": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "*": lambda a, b: _corners(np.multiply, a, b),
    "/": _quotient,
}
