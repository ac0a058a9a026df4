"""Analysis of a plan against the schemas: kinds of columns, cells, privacy unit and measurements.

Every error in a query is found here, from public knowledge alone, before anything is spent. A plan that passes cannot
fail later because of the rows: such a failure would reveal something about them.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import ParameterError, QueryError
from celosia.core.exact import exact, safe_repr
from celosia.data.schema.columns import MAX_KEYS, Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp, Value
from celosia.data.schema.values import as_boolean, as_category, as_date, as_integer, as_text, as_timestamp
from celosia.query.plan.calendar_rules import add_months
from celosia.query.plan.expressions import Call, Expression, Literal, columns_in, is_condition, kind_of, substitute
from celosia.query.plan.nodes import Join, PerPerson, Plan, Projection, Relation
from celosia.query.plan.relations import columns_of, counts_all_rows, reads_one_table, tables_of, unit_of
from celosia.query.plan.to_sql import render
from celosia.query.planning.cells import MAX_CELLS, Cells
from celosia.query.planning.cut_off import cut_off_measurements
from celosia.query.planning.measurements import EXPECTED_KEYS, Measurement, plan_measurements
from celosia.query.postprocessing.evaluate import rehearse
from celosia.statistics import ContributionBounds, Measure, PrivateTopK, TopK

if TYPE_CHECKING:
    from celosia.data.table import Table

_HALF = Fraction(1, 2)
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_STEPS = {"week": dt.timedelta(days=7), "day": dt.timedelta(days=1), "hour": dt.timedelta(hours=1)}
_READERS: "Final[dict[type[Kind], Callable[..., Any]]]" = {
    Boolean: as_boolean,
    Category: as_category,
    Date: as_date,
    Integer: as_integer,
    Real: exact,
    Text: as_text,
    Timestamp: as_timestamp,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzedPlan:
    """A plan with everything that follows from the schemas.

    ``cells`` is None where the keys are private; ``cut_off`` are the measurements of what the limits cut off.
    """

    plan: Plan
    kinds: "Mapping[str, Kind]"
    key_kinds: "tuple[Kind, ...]"
    bounding: ContributionBounds
    cells: Cells | None
    aggregate_measurements: tuple[Measurement, ...]
    cut_off: tuple[Measurement, ...] = ()

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """All measurements: those of the aggregates, then those of the rows that limits cut off."""
        return (*self.aggregate_measurements, *self.cut_off)

    @property
    def dimension(self) -> int:
        """The largest possible number of cells."""
        return MAX_CELLS if self.cells is None else len(self.cells)

    @property
    def complexity(self) -> int:
        """Points for the work of the database: 1,000 for each measurement and table, and 1 for each number counted."""
        cells = EXPECTED_KEYS if self.cells is None else len(self.cells)
        numbers = sum(measurement.count_cells(cells) * measurement.measure.width for measurement in self.measurements)
        return 1_000 * len(self.measurements) * len([*tables_of(self.plan.relation)]) + numbers

    @property
    def may_cut(self) -> bool:
        """Whether contribution limits can leave rows or persons out of the answer."""
        if self.bounding.unit == "row" or counts_all_rows(self.plan.relation):
            return False
        only_persons = all(measurement.distinct == "persons" for measurement in self.aggregate_measurements)
        return not (only_persons and self.bounding.groups == self.bounding.cells)

    @property
    def clipped(self) -> frozenset[str]:
        """The columns that a number with an interval is computed from, and whose values are clipped to bounds."""
        numbers = (
            measurement
            for measurement in self.aggregate_measurements
            if isinstance(measurement.measure, Measure) and measurement.measure.axes
        )
        names = {name for measurement in numbers for column in measurement.columns for name in columns_in(column)}
        return frozenset(name for name in names if isinstance(self.kinds[name], Integer | Real | Date | Timestamp))

    def samples(self) -> dict[str, Any]:
        """Return one made-up value for each key and aggregate, which has the type of the answer."""
        return dict(_samples(self.plan, self.key_kinds, self.aggregate_measurements))


def analyze_plan(plan: Plan, tables: "Mapping[str, Table]") -> AnalyzedPlan:
    """Analyze a plan against the schemas; raise ``QueryError`` if it is invalid."""
    kinds = columns_of(plan.relation, tables)
    for condition, known in [*_inner_conditions(plan.relation, tables), (plan.filter, kinds)]:
        if condition is not None and not is_condition(condition, known):
            raise QueryError("query.filter_not_a_condition", condition=render(condition))
    key_kinds = tuple(kind_of(key.expression, kinds) for key in plan.keys)
    domains = [
        key_domain(original(key.expression, plan.relation), kind)
        for key, kind in zip(plan.keys, key_kinds, strict=True)
    ]
    cells = _cells(plan, key_kinds, domains)
    if cells is not None and not len(cells):
        raise QueryError("query.empty_key_list")
    unit = unit_of(plan.relation, tables)
    many = MAX_CELLS if cells is None else len(cells)
    bounding = ContributionBounds(
        groups=min(unit.groups, many),
        rows=unit.rows,
        cells=many,
        adjacency=unit.table.adjacency,
        unit=unit.table.unit,
    )
    measurements = plan_measurements(plan, kinds, bounding, unit.groups)
    if plan.computes:
        rehearse(plan, dict(_samples(plan, key_kinds, measurements)))
    analyzed = AnalyzedPlan(
        plan=plan, kinds=kinds, key_kinds=key_kinds, bounding=bounding, cells=cells, aggregate_measurements=measurements
    )
    measured = analyzed.may_cut and unit.table.max_rows_per_person is not None and reads_one_table(plan.relation)
    return (
        replace(analyzed, cut_off=cut_off_measurements(unit.table.max_rows_per_person or 1)) if measured else analyzed
    )


def _inner_conditions(
    relation: Relation, tables: "Mapping[str, Table]"
) -> "Iterator[tuple[Expression | None, Mapping[str, Kind]]]":
    """Yield the filters of subqueries, each with the columns it can use."""
    match relation:
        case Projection(relation=inner, filter=condition) | PerPerson(relation=inner, filter=condition):
            yield from _inner_conditions(inner, tables)
            yield condition, columns_of(inner, tables)
        case Join(left=left, right=right):
            yield from _inner_conditions(left, tables)
            yield from _inner_conditions(right, tables)


# ------------------------------------------------------------------------------------------------------------ cells


def _cells(plan: Plan, kinds: Sequence[Kind], domains: "Sequence[Sequence[Value] | None]") -> Cells | None:
    names = [render(key.expression) for key in plan.keys]
    if plan.cells is not None:
        listed = [
            tuple(_read_key(value, name, kind) for value, name, kind in zip(row, names, kinds, strict=True))
            for row in plan.cells
        ]
        return Cells.from_rows(listed, len(plan.keys))
    columns: list[Sequence[Value]] = []
    private = False
    for key, name, kind, values in zip(plan.keys, names, kinds, domains, strict=True):
        if key.values is not None:
            columns.append(tuple(_read_key(value, name, kind) for value in key.values))
        elif values is not None:
            columns.append(values)
        elif kind.axis is None:
            private = True
        else:
            raise QueryError("query.too_many_group_values", name=name, column=key.name)
    return None if private else Cells.product(columns)


def original(expression: Expression, relation: Relation) -> Expression:
    """Return an expression in terms of what the subqueries of a relation compute their columns from."""
    while isinstance(relation, Projection):
        expression, relation = substitute(expression, dict(relation.columns)), relation.relation
    return expression


def key_domain(expression: Expression, kind: Kind) -> tuple[Value, ...] | None:
    """Return all values of a key, or None where they are private or more than can be listed."""
    match expression, kind:
        case Call(name="date_trunc", arguments=(_, Literal(value=str(unit)))), Date() | Timestamp():
            found: list[Value] = []
            for moment in _beginnings(kind, unit):
                if len(found) == MAX_KEYS:
                    return None
                found.append(moment if isinstance(kind, Timestamp) else moment.date())
            return tuple(found)
    return kind.domain()


def _beginnings(kind: Date | Timestamp, unit: str) -> Iterator[dt.datetime]:
    """Yield the beginnings from the lower bound, which is one, to the upper bound."""
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


def _read_key(value: Any, name: str, kind: Kind) -> Any:
    """Return a listed key as a value of its column; refuse a value that the column cannot have."""
    try:
        found = _read(value, kind)
    except ParameterError:
        found = None
    if found is None:
        raise QueryError("query.key_outside_column", name=name, value=safe_repr(value), kind=repr(kind))
    return found


def _read(value: Any, kind: Kind) -> Any:
    found = _READERS[type(kind)](value, name="key")
    if isinstance(kind, Category):
        return found if found in kind.values else None
    if isinstance(kind, Integer | Real | Date | Timestamp) and not kind.low <= found <= kind.high:
        return None
    # A real is looked up by its step.
    return float(math.floor(found / kind.axis.grid + _HALF) * kind.axis.grid) if isinstance(kind, Real) else found


# -------------------------------------------------------------------------------------------------- samples


def _samples(plan: Plan, key_kinds: Sequence[Kind], measurements: Sequence[Measurement]) -> "Iterator[tuple[str, Any]]":
    """Yield one made-up value for each key and aggregate."""
    for key, kind in zip(plan.keys, key_kinds, strict=True):
        yield key.name, _sample(kind)
    for measurement in measurements:
        for name, _ in measurement.answers:
            yield name, _sample_answer(measurement)


def _sample(kind: Kind) -> Any:
    match kind:
        case Category():
            return kind.values[0]
        case Text():
            return ""
        case Boolean():
            return False
        case Real():
            return 0.0
        case Integer() | Date() | Timestamp():
            return kind.low
    return 0


def _sample_answer(measurement: Measurement) -> Any:
    if isinstance(measurement.measure, PrivateTopK):
        return [""]
    if measurement.labels is not None:
        return [measurement.labels[0]] if isinstance(measurement.measure, TopK) else measurement.labels[0]
    if measurement.unit == "days":
        return dt.date(1970, 1, 1)
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) if measurement.unit == "seconds" else 0
