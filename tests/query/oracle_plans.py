"""Exact summaries of any plan in plain Python: joins, subqueries, persons, private keys, one row after another.

An oracle for the engines, apart from ``testing.engines.reference_engine``. It shares with them the kinds, the types of
expressions, the features of a measure, and the keyed order, which it computes with Python's own integers.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import celosia as cl
from celosia.query.execution.hashing import KeyedOrder
from celosia.query.plan.expressions import kind_of
from celosia.query.plan.nodes import Base, Join, PerPerson, Projection, Relation
from celosia.query.plan.relations import columns_of
from celosia.statistics import Choice
from tests.query.oracle import clean, days_of, derived, plain, seconds_of, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from celosia.data.schema.columns import Kind
    from celosia.data.table import Table
    from celosia.query.plan.expressions import Expression
    from celosia.query.planning.analysis import AnalyzedPlan
    from celosia.query.planning.cells import Cells
    from celosia.query.planning.measurements import Measurement
    from celosia.statistics import ContributionBounds

    Row = dict[str, Any]
    Tables = Mapping[str, Table]

_LARGEST = 2**62
_EXACT = 2**53
_DOWN = 1 - 2.0**-50


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Clean rows; the person of each, or None; ``single`` if a person has one row by construction."""

    rows: list[Row]
    persons: list[Any] | None
    kinds: Mapping[str, Kind]
    single: bool = False

    def where(self, condition: Expression | None) -> Rows:
        if condition is None:
            return self
        places = [place for place, row in enumerate(self.rows) if value_of(condition, row, self.kinds) is True]
        persons = None if self.persons is None else [self.persons[place] for place in places]
        return replace(self, rows=[self.rows[place] for place in places], persons=persons)


# ------------------------------------------------------------------------------------------------------------- rows


def rows_of(relation: Relation, tables: Tables) -> Rows:
    """Return the clean rows of a relation over frames."""
    kinds = columns_of(relation, tables)
    match relation:
        case Base(table=name):
            return _base(tables[name])
        case Projection(relation=inner, columns=columns, filter=condition):
            rows = rows_of(inner, tables).where(condition)
            made = [{name: derived(e, row, rows.kinds) for name, e in columns} for row in rows.rows]
            return replace(rows, rows=made, kinds=kinds)
        case PerPerson(relation=inner, filter=condition):
            return _per_person(relation, rows_of(inner, tables).where(condition), kinds)
        case Join():
            return _joined(relation, rows_of(relation.left, tables), rows_of(relation.right, tables), kinds)


def _base(table: Table) -> Rows:
    frame = table.source.frame  # type: ignore[union-attr]
    raw = frame.to_pylist()
    rows = [{name: clean(plain(row[name]), kind) for name, kind in table.schema.items()} for row in raw]
    if table.person is None:
        return Rows(rows=rows, persons=None, kinds=table.schema)
    unsigned = str(frame.schema.field(table.person).type) == "uint64"
    persons = [_person(row[table.person], unsigned=unsigned) for row in raw]
    known = [place for place, person in enumerate(persons) if person is not None]
    return Rows(rows=[rows[place] for place in known], persons=[persons[p] for p in known], kinds=table.schema)


def _person(raw: Any, *, unsigned: bool) -> int | str | None:
    if isinstance(raw, float):
        return int(raw) if math.isfinite(raw) and raw == math.floor(raw) and abs(raw) <= _EXACT else None
    return str(raw) if unsigned and raw is not None else raw


def _per_person(relation: PerPerson, rows: Rows, kinds: Mapping[str, Kind]) -> Rows:
    assert rows.persons is not None
    own: dict[Any, list[Row]] = defaultdict(list)
    for person, row in zip(rows.persons, rows.rows, strict=True):
        own[person].append(row)
    made = [
        {name: _aggregated(function, e, those, rows.kinds, kinds[name]) for name, function, e in relation.columns}
        for those in own.values()
    ]
    return Rows(rows=made, persons=list(own), kinds=kinds, single=True)


def _aggregated(
    function: str, expression: Expression | None, rows: list[Row], kinds: Mapping[str, Kind], kind: Kind
) -> Any:
    if expression is None:
        return len(rows)
    values = [value for row in rows if (value := derived(expression, row, kinds)) is not None]
    if function == "count":
        return len(values)
    if not values:
        return None
    if function in ("min", "max"):
        return min(values) if function == "min" else max(values)
    inner = kind_of(expression, kinds)
    if not isinstance(kind, cl.Real):
        return clean(sum(values), kind)
    grid = float(inner.axis.grid) if isinstance(inner, cl.Real) else 1.0
    return clean(float(sum(round(value / grid) for value in values)) * grid, kind)


def _joined(relation: Join, left: Rows, right: Rows, kinds: Mapping[str, Kind]) -> Rows:
    if relation.by == "key":
        mine = [tuple(row[a] for a, _ in relation.on) for row in left.rows]
        theirs = [tuple(row[b] for _, b in relation.on) for row in right.rows]
    else:
        assert left.persons is not None
        assert right.persons is not None
        mine, theirs = [(_id(person),) for person in left.persons], [(_id(person),) for person in right.persons]
    first, second = list(kinds)[: len(left.kinds)], list(kinds)[len(left.kinds) :]
    nothing = {name: clean(None, kinds[name]) for name in second}
    rows, persons = [], []
    for place, key in enumerate(mine):
        met = [row for other, row in zip(theirs, right.rows, strict=True) if other == key and None not in key]
        partners = [dict(zip(second, row.values(), strict=True)) for row in met]
        for partner in partners or ([nothing] if relation.how == "left" else []):
            rows.append(dict(zip(first, left.rows[place].values(), strict=True)) | partner)
            persons.append(None if left.persons is None else left.persons[place])
    single = left.single and relation.by == "key"
    return Rows(rows=rows, persons=None if left.persons is None else persons, kinds=kinds, single=single)


def _id(person: int | str) -> str:
    return str(person)


# -------------------------------------------------------------------------------------------------------- summaries


def summaries(
    question: AnalyzedPlan, tables: Tables, needs: Sequence[Measurement], cells: Cells, secret: Sequence[int]
) -> list[NDArray[Any]]:
    """Return the exact summaries of each need: cells by width, in Python's integers."""
    plan = question.plan
    rows = rows_of(plan.relation, tables).where(plan.filter)
    key_kinds = [kind_of(key.expression, rows.kinds) for key in plan.keys]
    listed = [
        tuple(_label(value, kind) for value, kind in zip(key, key_kinds, strict=True))
        for key in (zip(*cells.columns(), strict=True) if plan.keys else [()])
    ]
    places = {key: place for place, key in enumerate(listed)}
    groups: dict[tuple[Any, int], list[Row]] = defaultdict(list)
    persons = list(range(len(rows.rows))) if rows.persons is None or rows.single else rows.persons
    for person, row in zip(persons, rows.rows, strict=True):
        cell = places.get(tuple(derived(key.expression, row, rows.kinds) for key in plan.keys))
        if cell is not None:
            groups[person, cell].append(row)
    bounded = rows.persons is not None and not rows.single
    unit = _Unit(question.bounding, KeyedOrder(tuple(secret))) if bounded else None
    if unit is not None:
        groups = unit.chosen(groups, len(cells))
    return [_summary(need, groups, rows.kinds, len(cells), unit) for need in needs]


def key_counts(question: AnalyzedPlan, tables: Tables, secret: Sequence[int]) -> dict[tuple[Any, ...], int]:
    """Return the keys that occur, dates and times as numbers, and the number of units of each."""
    plan, order = question.plan, KeyedOrder(tuple(secret))
    rows = rows_of(plan.relation, tables).where(plan.filter)
    keys = [tuple(derived(key.expression, row, rows.kinds) for key in plan.keys) for row in rows.rows]
    if rows.persons is None or rows.single:
        return Counter(key for key in keys if None not in key)
    own: dict[Any, set[tuple[Any, ...]]] = defaultdict(set)
    for person, key in zip(rows.persons, keys, strict=True):
        if None not in key:
            own[person].add(key)
    kinds = [kind_of(key.expression, rows.kinds) for key in plan.keys]
    found: Counter[tuple[Any, ...]] = Counter()
    for person, those in own.items():
        ranks = {
            key: order.hash_integers(
                _number(person, order), *(_number(_whole(v, k), order) for v, k in zip(key, kinds, strict=True))
            )
            for key in those
        }
        found.update(sorted(those, key=ranks.__getitem__)[: question.bounding.groups])
    return found


def key_labels(key: tuple[Any, ...], question: AnalyzedPlan) -> tuple[Any, ...]:
    """Return a key as an engine reports it, with dates and times as numbers."""
    kinds = [kind_of(one.expression, question.kinds) for one in question.plan.keys]
    return tuple(_label(value, kind) for value, kind in zip(key, kinds, strict=True))


def _label(value: Any, kind: Kind) -> Any:
    if isinstance(kind, cl.Timestamp):
        return seconds_of(value)
    return days_of(value) if isinstance(value, dt.date) else value


def _number(value: int | str, order: KeyedOrder) -> int:
    if isinstance(value, str):
        return int(hashlib.md5((order.salt + value).encode(), usedforsecurity=False).hexdigest()[:8], 16)
    return int(order.fold(int(value)))


def _whole(value: Any, kind: Kind) -> Any:
    return round(value / float(kind.axis.grid)) if isinstance(kind, cl.Real) else value


@dataclass(frozen=True)
class _Unit:
    """What counts of one person."""

    bounding: ContributionBounds
    order: KeyedOrder

    def chosen(self, groups: Mapping[tuple[Any, int], list[Row]], cells: int) -> dict[tuple[Any, int], list[Row]]:
        """The cells of each person that count."""
        most = self.bounding.groups
        if most >= cells:
            return dict(groups)
        kept: set[tuple[Any, int]] = set()
        for person in {person for person, _ in groups}:
            own = [cell for one, cell in groups if one == person]
            own.sort(key=lambda cell, who=person: self.order.rank(cell, _number(who, self.order)))  # type: ignore[misc]
            kept |= {(person, cell) for cell in ([own[0], own[-1]] if most == 2 else own[:most])}
        return {key: rows for key, rows in groups.items() if key in kept}

    def averaged(self, total: int, count: int, reach: tuple[int, int]) -> int:
        """A sum of too many rows as one of as many as are allowed, rounded towards zero."""
        most, held = self.bounding.rows, max(-_LARGEST, min(_LARGEST, total))
        if count > most:
            size = abs(held) * most
            share = (
                size // count
                if float(abs(held)) * most < _EXACT
                else math.floor(float(abs(held)) * most / count * _DOWN)
            )
            held = share if held >= 0 else -share
        low, high = (max(-_LARGEST, min(_LARGEST, end * most)) for end in reach)
        return max(min(held, high), low) if low < 0 else min(held, high)

    def sampled(self, person: Any, cell: int, codes: list[int]) -> list[int]:
        """As many rows as are allowed, by their values."""
        seen: Counter[int] = Counter()
        ranked = []
        for code in codes:
            ranked.append(
                (self.order.hash_integers(_number(person, self.order), cell, code, seen[code]), code, seen[code])
            )
            seen[code] += 1
        return [code for _, code, _ in sorted(ranked)[: self.bounding.rows]]

    def first(self, person: Any, cell: int, values: set[Any]) -> set[Any]:
        """As many different values as rows are allowed."""
        number = _number(person, self.order)
        ranks = {value: (self.order.hash_integers(number, cell, _number(value, self.order)), value) for value in values}
        return set(sorted(values, key=ranks.__getitem__)[: self.bounding.rows])


def _summary(
    need: Measurement,
    groups: Mapping[tuple[Any, int], list[Row]],
    kinds: Mapping[str, Kind],
    cells: int,
    unit: _Unit | None,
) -> NDArray[Any]:
    answer = np.zeros((cells, need.measure.width), dtype=object)
    different: dict[int, set[Any]] = defaultdict(set)
    for (person, cell), rows in groups.items():
        values = [[derived(column, row, kinds) for column in need.columns] for row in rows]
        if need.distinct == "values":
            kind = kind_of(need.columns[0], kinds)
            mine = {_whole(value, kind) for (value,) in values if value is not None}
            different[cell] |= mine if unit is None else unit.first(person, cell, mine)
        elif need.distinct == "persons":
            answer[cell, 0] += 1
        elif isinstance(need.measure, Choice):
            codes = [_place(value, need, kinds) for (value,) in values if value is not None]
            for code in codes if unit is None else unit.sampled(person, cell, codes):
                answer[cell, code] += 1
        else:
            answer[cell] += _sum(need, values, kinds, unit)
    for cell, found in different.items():
        answer[cell, 0] = len(found)
    return answer


def _sum(need: Measurement, values: list[list[Any]], kinds: Mapping[str, Kind], unit: _Unit | None) -> NDArray[Any]:
    measure: Any = need.measure
    if measure.counts_missing:
        filled = [[0 if value is None else value for value in row] for row in values]
        found = [
            [step * (value is not None) for step, value in zip(_steps(full, need, kinds), row, strict=True)]
            for full, row in zip(filled, values, strict=True)
        ]
        there = [[int(value is not None) for value in row] for row in values]
        features = [measure.features(*steps, *present) for steps, present in zip(found, there, strict=True)]
    else:
        whole = [row for row in values if None not in row]
        features = [measure.features(*(_steps(row, need, kinds) if measure.axes else ())) for row in whole]
    totals = [sum(column) for column in zip(*features, strict=True)] or [0] * measure.width
    if unit is not None:
        totals = [
            unit.averaged(total, len(features), reach) for total, reach in zip(totals, measure.reach, strict=True)
        ]
    return np.array(totals, dtype=object)


def _steps(values: Sequence[Any], need: Measurement, kinds: Mapping[str, Kind]) -> list[int]:
    found = []
    for value, column, axis in zip(values, need.columns, need.measure.axes, strict=True):
        kind = kind_of(column, kinds)
        assert kind.axis is not None
        grid = float(kind.axis.grid)
        step = round(value / grid) if isinstance(kind, cl.Real) else math.floor(int(value) / grid + 0.5)
        step = int(value) if not isinstance(kind, cl.Real) and kind.axis.grid == 1 else step
        factor = axis.grid / kind.axis.grid
        found.append((step if factor == 1 else math.floor(step / float(factor) + 0.5)) - axis.lowest)
    return found


def _place(value: Any, need: Measurement, kinds: Mapping[str, Kind]) -> int:
    """Which of its candidates a choice counts a value for."""
    assert isinstance(need.measure, Choice)
    kind = kind_of(need.columns[0], kinds)
    if isinstance(kind, cl.Category):
        place = kind.values.index(value)
        return place // need.measure.bin_width if need.measure.axes else place
    if need.measure.axes:
        return _steps([value], need, kinds)[0] // need.measure.bin_width
    return [_label(known, kind) for known in kind.domain() or ()].index(value)
