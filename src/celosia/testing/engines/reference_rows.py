"""Clean rows of a table, a join or a subquery in plain Python, one value at a time.

It shares with the engines only the definitions of kinds and axes, and the evaluation of expressions on answers. It is
slow, simple, and for tables of a few hundred rows.
"""

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import DROP, Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.data.sources.classify import Frame
from celosia.data.sources.frames import to_arrow
from celosia.data.sources.text_format import TextFormat
from celosia.data.sources.text_values import parse_text
from celosia.query.plan.expressions import Expression, kind_of
from celosia.query.plan.nodes import Base, Join, PerPerson, Projection, Relation
from celosia.query.plan.relations import columns_of
from celosia.query.postprocessing.evaluate import evaluate

if TYPE_CHECKING:
    from celosia.data.table import Table

_EPOCH = dt.date(1970, 1, 1)
_PLAIN = TextFormat()
_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SECOND = dt.timedelta(seconds=1)


# ------------------------------------------------------------------------------------------------------------ values


def clean_value(raw: Any, kind: Kind, text: TextFormat = _PLAIN) -> Any:
    """Return a raw value cleaned by the schema, or None; ``text`` is the format of strings."""
    value = _read(_parse_text(raw, kind, text), kind)
    if value is None and not (isinstance(kind.null, str) and kind.null == DROP):
        value = kind.null
    if value is None or isinstance(kind, Text | Category | Boolean):
        return value
    if isinstance(kind, Real):
        return _step(float(value), kind) * float(kind.axis.grid)
    return min(max(value, kind.low), kind.high)  # type: ignore[attr-defined] # whatever else is a number or a date


def _parse_text(raw: Any, kind: Kind, text: TextFormat) -> Any:
    """Return the value of a string; other values, and strings of a Text or Category, stay as they are."""
    if not isinstance(raw, str) or raw in text.null_values:
        return None if isinstance(raw, str) else raw
    if isinstance(kind, Text) or (isinstance(kind, Category) and isinstance(kind.values[0], str)):
        return raw
    return parse_text(raw, {Boolean: "boolean", Date: "date", Timestamp: "timestamp"}.get(type(kind), "float64"), text)


def _read(raw: Any, kind: Kind) -> Any:  # noqa: PLR0911 - one line for each kind
    if raw is None or (isinstance(raw, float | Decimal) and not math.isfinite(raw)):
        return None
    match kind:
        case Text():
            return str(raw)
        case Category():
            return next((value for value in kind.values if value == raw), None)
        case Boolean():
            return bool(raw) if raw in (0, 1) else None
        case Real():
            return float(raw)
        case Integer() if isinstance(raw, int):
            return int(raw)
        case Integer():
            return math.floor(min(max(float(raw), float(kind.low)), float(kind.high)) + 0.5)
        case Date():
            return raw.astimezone(dt.UTC).date() if isinstance(raw, dt.datetime) and raw.tzinfo else _day(raw)
        case _:
            return _moment(raw)


def _day(raw: dt.date) -> dt.date:
    return raw.date() if isinstance(raw, dt.datetime) else raw


def _moment(raw: dt.date) -> dt.datetime:
    if not isinstance(raw, dt.datetime):
        raw = dt.datetime(raw.year, raw.month, raw.day, tzinfo=dt.UTC)
    return (raw if raw.tzinfo else raw.replace(tzinfo=dt.UTC)).astimezone(dt.UTC).replace(microsecond=0)


def _step(x: float, kind: Real) -> int:
    inside = min(max(x, float(kind.low)), float(kind.high))
    return min(max(math.floor(inside / float(kind.axis.grid) + 0.5), kind.axis.lowest), kind.axis.highest)


def whole_value(value: Any, kind: Kind) -> Any:
    """Return a clean value as an integer where it is a number, a date or a time; None stays None."""
    if value is None or isinstance(kind, Text | Category):
        return value
    if isinstance(kind, Real):
        return _step(value, kind)
    if isinstance(kind, Date):
        return (value - _EPOCH).days
    if isinstance(kind, Timestamp):
        return (value - _MIDNIGHT) // _SECOND
    return int(value)


def step_on(value: Any, kind: Kind, axis: Axis) -> int | None:
    """Return the step of a value on an axis that may be coarser than its own, counted from the low end."""
    if value is None:
        return None
    if isinstance(kind, Category):
        step, own = kind.values.index(value), Axis(0, max(len(kind.values) - 1, 1), axis.grid)
    else:
        step, own = whole_value(value, kind), kind.axis or axis
        if not isinstance(kind, Real) and own.grid != 1:
            step = math.floor(step / float(own.grid) + 0.5)
    factor = axis.grid / own.grid
    return (step if factor == 1 else math.floor(step / float(factor) + 0.5)) - axis.lowest


# -------------------------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanRows:
    """Clean columns, and the person of each row; ``single`` if every person has one row."""

    columns: Mapping[str, list[Any]]
    persons: list[Any]
    kinds: Mapping[str, Kind]
    single: bool = False

    def values(self, expression: Expression) -> list[Any]:
        """Return the value of an expression in each row."""
        return list(evaluate(expression, self.columns, len(self.persons)))

    def take(self, places: Sequence[int]) -> "CleanRows":
        """Return some of the rows."""
        columns = {name: [column[place] for place in places] for name, column in self.columns.items()}
        return replace(self, columns=columns, persons=[self.persons[place] for place in places])

    def where(self, condition: Expression | None) -> "CleanRows":
        """Return the rows in which a condition is true."""
        if condition is None:
            return self
        return self.take([place for place, true in enumerate(self.values(condition)) if true is True])


def _round_real(value: Any, kind: Kind) -> Any:
    return value if value is None or not isinstance(kind, Real) else _step(value, kind) * float(kind.axis.grid)


def _base(table: "Table") -> CleanRows:
    if not isinstance(table.source, Frame):
        raise TypeError("The reference engine reads frames.")
    names = [*table.schema, *(() if table.person is None else (table.person,))]
    raw = to_arrow(table.source.frame, names, kinds=table.schema, person=table.person, text=table.text).to_pydict()
    columns = {
        name: [clean_value(value, kind, table.text) for value in raw[name]] for name, kind in table.schema.items()
    }
    if table.person is None:
        return CleanRows(columns=columns, persons=[None] * len(raw[names[0]]), kinds=table.schema)
    persons = [None if value in table.text.null_values else _person(value) for value in raw[table.person]]
    known = [place for place, person in enumerate(persons) if person is not None]
    return CleanRows(columns=columns, persons=persons, kinds=table.schema).take(known)


def _person(raw: Any) -> Any:
    if isinstance(raw, float):
        return int(raw) if math.isfinite(raw) and raw == math.floor(raw) and abs(raw) <= 2**53 else None
    return raw


def clean_rows(relation: Relation, tables: "Mapping[str, Table]") -> CleanRows:
    """Return the rows of a relation over tables whose sources are frames."""
    kinds = columns_of(relation, tables)
    match relation:
        case Base(table=name):
            return _base(tables[name])
        case Projection(relation=inner, columns=columns, filter=condition):
            rows = clean_rows(inner, tables).where(condition)
            made = {
                name: [_round_real(v, kinds[name]) for v in rows.values(expression)] for name, expression in columns
            }
            return CleanRows(columns=made, persons=rows.persons, kinds=kinds, single=rows.single)
        case PerPerson():
            return _per_person(relation, clean_rows(relation.relation, tables).where(relation.filter), kinds)
        case Join():
            left, right = clean_rows(relation.left, tables), clean_rows(relation.right, tables)
            return _join(relation, left, right, kinds)


def _per_person(relation: PerPerson, rows: CleanRows, kinds: Mapping[str, Kind]) -> CleanRows:
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, person in enumerate(rows.persons):
        places[person].append(place)
    made = {}
    for name, function, expression in relation.columns:
        inner = None if expression is None else kind_of(expression, rows.kinds)
        values = [1] * len(rows.persons) if expression is None else rows.values(expression)
        made[name] = [
            _of_person(function, [values[place] for place in those if values[place] is not None], inner, kinds[name])
            for those in places.values()
        ]
    return CleanRows(columns=made, persons=list(places), kinds=kinds, single=True)


def _of_person(function: str, values: list[Any], inner: Kind | None, kind: Kind) -> Any:
    if function == "count":
        return len(values)
    if not values:
        return None
    if function in ("min", "max"):
        return (min if function == "min" else max)(values)
    total = sum(values) if inner is None else sum(whole_value(value, inner) for value in values)
    if isinstance(kind, Real):
        grid = float(inner.axis.grid) if isinstance(inner, Real) else 1.0
        return _round_real(float(total) * grid, kind)
    return clean_value(total, kind)


def _join(relation: Join, left: CleanRows, right: CleanRows, kinds: Mapping[str, Kind]) -> CleanRows:
    if relation.by == "key":
        mine = list(zip(*(left.columns[a] for a, _ in relation.on), strict=True))
        theirs = list(zip(*(right.columns[b] for _, b in relation.on), strict=True))
    else:
        mine, theirs = [(person,) for person in left.persons], [(person,) for person in right.persons]
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place, key in enumerate(theirs):
        found[key].append(place)
    pairs: list[tuple[int, int | None]] = []
    for place, key in enumerate(mine):
        partners: list[int | None] = [] if None in key else list(found.get(key, []))
        pairs += [(place, partner) for partner in partners or ([None] if relation.how == "left" else [])]
    names = iter(kinds)
    columns = {next(names): [column[a] for a, _ in pairs] for column in left.columns.values()}
    for column in right.columns.values():
        name = next(names)
        empty = clean_value(None, kinds[name])
        columns[name] = [empty if b is None else column[b] for _, b in pairs]
    persons, single = [left.persons[a] for a, _ in pairs], left.single and relation.by == "key"
    return CleanRows(columns=columns, persons=persons, kinds=kinds, single=single)
