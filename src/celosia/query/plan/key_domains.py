"""Which values a key can have, where they are public: worked out from the schema and the expression.

The beginnings of months are few, though a Date of several years has thousands of days. So a key that is a DATE_TRUNC
lists the beginnings between its bounds; every other key has the values that its kind lists.
"""

import datetime as dt
from collections.abc import Iterator

from celosia.data.schema.columns import MOST_KEYS, Date, Kind, Timestamp, Value
from celosia.query.plan.calendar_rules import add_months
from celosia.query.plan.expressions import Call, Expression, Literal, substituted
from celosia.query.plan.nodes import Projected, Relation

_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_STEPS = {"week": dt.timedelta(days=7), "day": dt.timedelta(days=1), "hour": dt.timedelta(hours=1)}


def original(expression: Expression, relation: Relation) -> Expression:
    """Return an expression in terms of what the subqueries of a relation compute their columns from."""
    while isinstance(relation, Projected):
        expression, relation = substituted(expression, dict(relation.columns)), relation.relation
    return expression


def key_domain(expression: Expression, kind: Kind) -> tuple[Value, ...] | None:
    """Return all values of a key, or None where they are private or more than can be listed."""
    match expression, kind:
        case Call(name="date_trunc", arguments=(_, Literal(value=str(unit)))), Date() | Timestamp():
            found: list[Value] = []
            for moment in _beginnings(kind, unit):
                if len(found) == MOST_KEYS:
                    return None
                found.append(moment if isinstance(kind, Timestamp) else moment.date())
            return tuple(found)
    return kind.domain()


def _beginnings(kind: Date | Timestamp, unit: str) -> Iterator[dt.datetime]:
    """The beginnings from the lower bound, which is one, to the upper."""
    now, last = (_moment(end) for end in (kind.low, kind.high))
    while now <= last:
        yield now
        try:
            later = add_months(now, _MONTHS[unit]) if unit in _MONTHS else now + _STEPS[unit]
        except OverflowError:
            return
        if later is None:
            return
        now = later


def _moment(end: dt.date) -> dt.datetime:
    return end if isinstance(end, dt.datetime) else dt.datetime(end.year, end.month, end.day, tzinfo=dt.UTC)
