"""Measurements of a query: the integers that its aggregates need, shared where possible.

A mean is made of the two sums of its distances to the bounds, which together give the number of rows: a count and a
sum over the same rows come with it, at no further cost. Means of several columns share one measurement and one number
of rows, and so do sums of columns that have a value in every row. Quantiles of one column are found together and never
cross.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import QueryError
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Category, Date, Kind, Text, Timestamp
from celosia.query.plan.expressions import Call, Expression, Literal, kind_of
from celosia.query.plan.nodes import Aggregate, Base, Plan
from celosia.query.plan.to_sql import render
from celosia.query.planning.cells import MAX_CELLS
from celosia.statistics import (
    MAX_SHARED_COLUMNS,
    CentredSum,
    Choice,
    CrossMoments,
    CutOffMeasure,
    CutPersons,
    Distinct,
    FirstMoments,
    HalfHalfMean,
    Measure,
    Mode,
    MomentsOfAll,
    PrivateTopK,
    Quantiles,
    RowCount,
    SecondMoments,
    SharedMoments,
    TopK,
    Total,
    bins_for,
)

if TYPE_CHECKING:
    from celosia.data.schema.columns import Value
    from celosia.statistics import ContributionBounds

_MAX_BOUND = Fraction(2) ** 60  # bounds beyond stand for none
EXPECTED_KEYS: Final = 1_000
"""The number of keys to plan for where they are private."""

_MOMENTS: Final = ("count", "sum", "mean", "variance", "std")
_CROSS: Final = ("covariance", "correlation")
_QUANTILES: Final = {"min": Fraction(0), "median": Fraction(1, 2), "quantile": None, "max": Fraction(1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A measurement of the columns in every cell, and which aggregates it answers: (name, quantity or position).

    ``distinct`` is "persons" or "values" where different ones are counted, "contributions" where persons are counted by
    their numbers of cells and rows; ``public_rows`` means that the number of
    rows is public and taken as it is; ``labels`` are the categories that the answer is an index into; ``unit`` is
    "days" or "seconds" where the answer is a date or a time, counted since 1970; ``part`` is the part of the whole cost
    where that is fixed, None where it goes by expected error.
    """

    measure: "Measure | Choice"
    columns: tuple[Expression, ...]
    answers: tuple[tuple[str, str], ...]
    distinct: str | None = None
    public_rows: bool = False
    labels: "tuple[Value, ...] | None" = None
    unit: str | None = None
    part: Fraction | None = None

    def bounding(self, bounding: "ContributionBounds") -> "ContributionBounds":
        """Return the contribution bounds of one unit for this measurement."""
        if isinstance(self.measure, CutOffMeasure):  # its features bound a person already
            return replace(bounding, groups=1, rows=1, cells=self.count_cells(bounding.cells))
        return replace(bounding, rows=1) if self.distinct == "persons" else bounding

    def count_cells(self, cells: int) -> int:
        """Return the number of cells in which it is measured."""
        return 1 if isinstance(self.measure, CutPersons) else cells

    @property
    def has_number_intervals(self) -> bool:
        """Whether the answers are numbers with intervals: not choices, dates or categories."""
        return isinstance(self.measure, Measure) or (
            isinstance(self.measure, Quantiles) and self.labels is None and self.unit is None
        )

    def for_cells(self, cells: int) -> "Measurement":
        """Return the measurement with as many bins as this number of cells allows."""
        if not isinstance(self.measure, Quantiles):
            return self
        axis, quantiles = self.measure.axis, self.measure.quantiles
        finest = Quantiles(axis=axis, quantiles=quantiles, bins=bins_for(axis, max(cells, 1)), interval=True)
        return replace(self, measure=finest)


def plan_measurements(
    plan: Plan, kinds: Mapping[str, Kind], bounding: "ContributionBounds", groups: int = 1
) -> tuple[Measurement, ...]:
    """Return the measurements that a plan needs; refuse an aggregate that its columns cannot have.

    ``groups`` is the number of groups, and of unlisted texts, that a unit can count for.
    """
    found: list[Measurement] = []
    by_column: dict[Expression, list[Aggregate]] = {}
    by_pair: dict[tuple[Expression, ...], list[Aggregate]] = {}
    rows: list[str] = []
    for aggregate in plan.aggregates:
        if aggregate.kind == "count" and not any(kind_of(column, kinds).nullable for column in aggregate.columns):
            rows.append(aggregate.name)
        elif aggregate.kind == "count_persons" and bounding.unit == "row":
            rows.append(aggregate.name)  # in a table of rows every row is a person
        elif aggregate.kind in _CROSS:
            by_pair.setdefault(aggregate.columns, []).append(aggregate)
        elif (aggregate.kind in _MOMENTS and not aggregate.parameters) or aggregate.kind in _QUANTILES:
            by_column.setdefault(aggregate.columns[0], []).append(aggregate)
        else:
            found.append(_measure_alone(aggregate, kinds, groups))
    found += [_measure_pair(aggregates, columns, kinds) for columns, aggregates in by_pair.items()]
    for column, aggregates in by_column.items():
        moments = [aggregate for aggregate in aggregates if aggregate.kind in _MOMENTS]
        if rows and bounding.unit != "row" and {one.kind for one in moments} == {"count"}:
            found.append(_measure_present(moments, column))
        elif moments:
            found.append(_measure_moments(moments, column, kind_of(column, kinds), plan, bounding))
        quantiles = [aggregate for aggregate in aggregates if aggregate.kind in _QUANTILES]
        found += [_measure_quantiles(quantiles, column, kind_of(column, kinds), bounding)] if quantiles else []
    whole = _attach_row_counts(_share_measurements(found, kinds, with_rows=bool(rows)), rows, kinds)
    if bounding.unit == "row":
        return tuple(whole)
    # The rows of a person are averaged, which needs parts finer than a step.
    return tuple(
        replace(measurement, measure=measurement.measure.refine_for_averages())
        if isinstance(measurement.measure, Measure)
        else measurement
        for measurement in whole
    )


def _measure_moments(
    aggregates: list[Aggregate], column: Expression, kind: Kind, plan: Plan, bounding: "ContributionBounds"
) -> Measurement:
    wanted = {aggregate.kind for aggregate in aggregates}
    answers = tuple((aggregate.name, aggregate.kind) for aggregate in aggregates)
    if wanted == {"count"}:
        return Measurement(measure=RowCount(), columns=(column,), answers=answers)
    axis = _axis(column, kind)
    if wanted & {"variance", "std"}:
        return Measurement(measure=SecondMoments(axis=axis), columns=(column,), answers=answers)
    if wanted <= {"sum", "mean"} and not kind.nullable and _rows_are_public(plan, bounding):
        return Measurement(measure=CentredSum(axis=axis, rows=1), columns=(column,), answers=answers, public_rows=True)
    if wanted == {"sum"}:
        return Measurement(measure=Total(axis=axis), columns=(column,), answers=answers)
    return Measurement(measure=FirstMoments(axis=axis), columns=(column,), answers=answers)


def _measure_present(aggregates: list[Aggregate], column: Expression) -> Measurement:
    """Count the rows that have a value as a sum of 0 and 1, beside a count of all rows.

    So the rows of a person are averaged down before it is looked which of them have a value. If they were afterwards,
    few of many rows would all count, shares would be too large and those of opposite conditions add up to more than 1.
    """
    there = Call("case", (Call("is_null", (column,)), Literal(0), Literal(1)))
    answers = tuple((aggregate.name, "sum") for aggregate in aggregates)
    return Measurement(measure=FirstMoments(axis=Axis(0, 1, Fraction(1))), columns=(there,), answers=answers)


def _share_measurements(found: list[Measurement], kinds: Mapping[str, Kind], *, with_rows: bool) -> list[Measurement]:
    """Let means of several columns, and sums of those that have a value in every row, share measurements."""
    several = [measurement for measurement in found if _is_shareable(measurement, kinds)]
    groups = [several[start : start + MAX_SHARED_COLUMNS] for start in range(0, len(several), MAX_SHARED_COLUMNS)]
    joined = [_join(group, kinds, with_rows=with_rows) if len(group) > 1 else group[0] for group in groups]
    return [*joined, *(measurement for measurement in found if measurement not in several)]


def _is_shareable(measurement: Measurement, kinds: Mapping[str, Kind]) -> bool:
    whole = isinstance(measurement.measure, Total) and not _is_nullable(measurement, kinds)
    return not measurement.public_rows and (whole or isinstance(measurement.measure, FirstMoments))


def _is_nullable(measurement: Measurement, kinds: Mapping[str, Kind]) -> bool:
    return any(kind_of(column, kinds).nullable for column in measurement.columns)


def _join(measurements: list[Measurement], kinds: Mapping[str, Kind], *, with_rows: bool) -> Measurement:
    axes = tuple(
        measurement.measure.axis
        for measurement in measurements
        if isinstance(measurement.measure, FirstMoments | Total)
    )
    nullable = tuple(_is_nullable(measurement, kinds) for measurement in measurements)
    measure = SharedMoments(axes, nullable, with_rows or not all(nullable))
    answers = [
        (name, f"{quantity} {place}")
        for place, measurement in enumerate(measurements)
        for name, quantity in measurement.answers
    ]
    return Measurement(
        measure=measure,
        columns=tuple(column for measurement in measurements for column in measurement.columns),
        answers=tuple(answers),
    )


def _measure_pair(
    aggregates: list[Aggregate], columns: tuple[Expression, ...], kinds: Mapping[str, Kind]
) -> Measurement:
    x, y = (_axis(column, kind_of(column, kinds)) for column in columns)
    degree = 2 if any(aggregate.kind == "correlation" for aggregate in aggregates) else 1
    answers = tuple((aggregate.name, aggregate.kind) for aggregate in aggregates)
    return Measurement(measure=CrossMoments(x=x, y=y, degree=degree), columns=columns, answers=answers)


def _rows_are_public(plan: Plan, bounding: "ContributionBounds") -> bool:
    """Under replace-one a table of rows has a public length; a filter or keys would make the number private again."""
    whole = isinstance(plan.relation, Base) and plan.filter is None and not plan.keys
    return whole and bounding.adjacency is ReplaceOne and bounding.unit == "row"


def _measure_quantiles(
    aggregates: list[Aggregate], column: Expression, kind: Kind, bounding: "ContributionBounds"
) -> Measurement:
    axis, labels = _ordered_axis(column, kind)
    fixed = [_QUANTILES[aggregate.kind] for aggregate in aggregates]
    wanted = [Fraction(a.parameters[0]) if q is None else q for a, q in zip(aggregates, fixed, strict=True)]
    chosen = tuple(sorted(set(wanted)))
    answers = tuple((a.name, str(chosen.index(q))) for a, q in zip(aggregates, wanted, strict=True))
    # How many private keys will be shown is not known yet; when it is, the bins are cut again (``for_cells``).
    cells = bounding.cells if bounding.cells < MAX_CELLS else EXPECTED_KEYS
    unit = "days" if isinstance(kind, Date) else "seconds" if isinstance(kind, Timestamp) else None
    measure = Quantiles(axis=axis, quantiles=chosen, bins=bins_for(axis, cells), interval=True)
    return Measurement(measure=measure, columns=(column,), answers=answers, labels=labels, unit=unit)


def _measure_alone(aggregate: Aggregate, kinds: Mapping[str, Kind], groups: int) -> Measurement:
    """The measurement of an aggregate that shares with no other."""
    columns, name = aggregate.columns, aggregate.name
    found = [kind_of(column, kinds) for column in columns]
    match aggregate.kind:
        case "count_persons":
            return Measurement(measure=Distinct(), columns=(), answers=((name, "distinct"),), distinct="persons")
        case "count_distinct":
            return Measurement(measure=Distinct(), columns=columns, answers=((name, "distinct"),), distinct="values")
        case "mean":
            return Measurement(
                measure=HalfHalfMean(axis=_axis(columns[0], found[0])), columns=columns, answers=((name, "mean"),)
            )
        case _:
            return _measure_categories(aggregate, found[0], groups)


def _measure_categories(aggregate: Aggregate, kind: Kind, groups: int) -> Measurement:
    values = kind.domain()
    k = aggregate.parameters[0] if aggregate.kind == "top_k" else 1
    if isinstance(kind, Text) and aggregate.kind == "top_k" and isinstance(k, int):
        return Measurement(
            measure=PrivateTopK(k=k, groups=groups), columns=aggregate.columns, answers=((aggregate.name, "0"),)
        )
    if values is None:
        code = "query.values_not_public" if isinstance(kind, Text) else "query.too_many_values"
        raise QueryError(code, aggregate=aggregate.kind, column=render(aggregate.columns[0]), kind=repr(kind))
    answers = ((aggregate.name, "0"),)
    if aggregate.kind == "mode":
        return Measurement(
            measure=Mode(candidates=len(values)), columns=aggregate.columns, answers=answers, labels=values
        )
    if not isinstance(k, int) or not 1 <= k <= len(values):
        raise QueryError("query.top_k_out_of_range", most=len(values))
    return Measurement(
        measure=TopK(candidates=len(values), k=k), columns=aggregate.columns, answers=answers, labels=values
    )


def _attach_row_counts(found: list[Measurement], names: list[str], kinds: Mapping[str, Kind]) -> Iterable[Measurement]:
    """Add counts of rows to the measurement of a column, or measure them alone."""
    if not names:
        return found
    for kind in (SharedMoments, FirstMoments, Total, SecondMoments, RowCount):
        for i, measurement in enumerate(found):
            shared = (
                _add_row_counts(measurement, names, kinds)
                if type(measurement.measure) is kind and not measurement.public_rows
                else None
            )
            if shared is not None:
                found[i] = shared
                return found
    return [*found, Measurement(measure=RowCount(), columns=(), answers=tuple((name, "count") for name in names))]


def _add_row_counts(measurement: Measurement, names: list[str], kinds: Mapping[str, Kind]) -> Measurement | None:
    """The same measurement with counts of rows, if it can have them; beside a count a sum is better taken as two."""
    measure = (
        FirstMoments(axis=measurement.measure.axis) if isinstance(measurement.measure, Total) else measurement.measure
    )
    counted = "rows" if isinstance(measure, SharedMoments) else "count"
    if counted == "count" and _is_nullable(measurement, kinds):
        if not isinstance(measure, FirstMoments):
            return None
        measure, counted = MomentsOfAll(measure), "rows"
    return replace(measurement, measure=measure, answers=(*measurement.answers, *((name, counted) for name in names)))


def _ordered_axis(column: Expression, kind: Kind) -> "tuple[Axis, tuple[Value, ...] | None]":
    """The axis of something that has quantiles: numbers, or the positions of ordered categories."""
    if isinstance(kind, Category) and kind.ordered:
        return Axis(0, max(len(kind.values) - 1, 1), Fraction(1)), kind.values
    return _axis(column, kind), None


def _axis(column: Expression, kind: Kind) -> "Axis":
    axis = kind.axis
    if axis is None:
        ordered = isinstance(kind, Category) and kind.ordered
        code = "query.ordered_category_not_numeric" if ordered else "query.column_not_numeric"
        raise QueryError(code, column=render(column), kind=type(kind).__name__)
    if max(abs(axis.low), abs(axis.high)) >= _MAX_BOUND:
        raise QueryError("query.missing_bounds", column=render(column))
    return axis
