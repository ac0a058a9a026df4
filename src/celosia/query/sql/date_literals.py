"""Texts read as dates and times, as analysts write them: ``born >= '2021-12-31'``.

A text compared with a date is read as a date; one compared with a time as a time in UTC. A date beside times is its
first second. Both ways of writing give the same plan, so later stages see dates and times only.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.query.plan.expressions import Call, Expression, Literal, family_of
from celosia.query.sql.literals import date_literal, time_literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.data.schema.columns import Kind

_COMPARISONS: Final = frozenset(
    ["=", "<>", "<", "<=", ">", ">=", "between", "in", "least", "greatest", "clip", "coalesce"]
)
_MIDNIGHT = dt.time()


def read_dates(expression: Expression, kinds: Mapping[str, Kind]) -> Expression:
    """Return an expression in which texts compared with dates or times are dates or times."""
    if not isinstance(expression, Call):
        return expression
    inner = tuple(read_dates(argument, kinds) for argument in expression.arguments)
    return read_date_literals(Call(expression.name, inner), kinds)


def read_date_literals(call: Call, kinds: Mapping[str, Kind]) -> Call:
    """Return an operation whose own text literals are dates or times if its other arguments are."""
    written = [a for a in call.arguments if isinstance(a, Literal) and isinstance(a.value, str | dt.date)]
    if call.name not in _COMPARISONS or not written:
        return call
    families = {_family(argument, kinds) for argument in call.arguments if argument not in written}
    if len(families) != 1 or not families <= {"date", "timestamp"}:
        return call
    read = _as_date if families == {"date"} else _as_time
    return Call(call.name, tuple(read(a) if isinstance(a, Literal) else a for a in call.arguments))


def _family(expression: Expression, kinds: Mapping[str, Kind]) -> str:
    try:
        return family_of(expression, kinds)
    except QueryError:  # typing the whole expression raises
        return ""


def _as_date(literal: Literal) -> Literal:
    value = literal.value
    if isinstance(value, str):
        if len(value) <= len("2021-12-31"):
            return date_literal(value)
        value = time_literal(value).value
    if not isinstance(value, dt.datetime):
        return literal
    if value.time() != _MIDNIGHT:
        raise QueryError("query.date_compared_with_time", value=safe_repr(value.isoformat(sep=" ")))
    return Literal(value.date())


def _as_time(literal: Literal) -> Literal:
    value = literal.value
    if isinstance(value, str):
        return time_literal(value)
    if isinstance(value, dt.datetime) or not isinstance(value, dt.date):
        return literal
    return Literal(dt.datetime.combine(value, _MIDNIGHT, tzinfo=dt.UTC))
