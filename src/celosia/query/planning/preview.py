"""Previews: the cost and the expected errors of a query, computed from the schema before anything is spent.

A preview reads nothing private. The error of a sum or a count is known beforehand; that of a mean depends on the number
of rows, which is private: give a public guess (``rows=``). Errors cover the noise alone.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from celosia.core.exact import Exact, exact_level
from celosia.core.guarantees import ApproxDP
from celosia.core.html_table import draw_table
from celosia.core.messages.message import Message, name_unit
from celosia.query.plan.expressions import Column, Expression, kind_of
from celosia.query.plan.to_sql import render
from celosia.query.planning.cut_off import cut_off_notes
from celosia.statistics import (
    CentredSum,
    Choice,
    CrossMoments,
    CutOffMeasure,
    CutPersons,
    Measure,
    Mode,
    PrivateTopK,
    SecondMoments,
    TopK,
)

if TYPE_CHECKING:
    from celosia.core import Guarantee
    from celosia.query.planning.strategy import Part, Strategy
    from celosia.statistics import Noise

_CLEARLY_LESS = Fraction(99, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One aggregate of a preview.

    ``share`` is its part of the cost (aggregates that share a measurement share it), ``error`` its largest error at the
    preview's level, None where a guess of ``rows`` is needed; ``unit`` is the unit of the error: "value" for that of
    the aggregate, "rank" for rows on the wrong side of a quantile.
    """

    name: str
    mechanism: Message
    share: Fraction
    error: float | None
    unit: str = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Cost, expected error for each aggregate in each cell, and what was decided and why.

    ``complexity`` are points for the work of the database: 1,000 for each measurement of each table, and 1 for each
    number that is counted.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)))
    >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    >>> preview = session.query().count().preview(epsilon="0.5")
    >>> preview.lines[0].mechanism, preview.lines[0].error, preview.affordable
    ('Laplace noise of scale 2', 6.0, True)
    """

    cost: "Guarantee"
    remaining: "Guarantee"
    affordable: bool
    cells: int | None
    lines: tuple[Line, ...]
    bounds: tuple[tuple[str, str], ...]
    notes: tuple[Message, ...]
    level: float
    complexity: int

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as plain values, for JSON."""
        return {
            "cost": str(self.cost),
            "remaining": str(self.remaining),
            "affordable": self.affordable,
            "cells": self.cells,
            "complexity": self.complexity,
            "level": self.level,
            "aggregates": [
                {
                    "name": line.name,
                    "mechanism": line.mechanism,
                    "share": float(line.share),
                    "error": line.error,
                    "unit": line.unit,
                }
                for line in self.lines
            ],
            "bounds": dict(self.bounds),
            "notes": list(self.notes),
        }

    def describe(self) -> tuple[Message, ...]:
        """Return the preview as sentences: its cost, then every aggregate, bound and note."""
        return (
            self._head(),
            *(
                Message(
                    "query.preview_line",
                    name=line.name,
                    mechanism=line.mechanism,
                    share=float(line.share),
                    error=self._error(line),
                )
                for line in self.lines
            ),
            *(Message("query.preview_bounds", name=name, kind=kind) for name, kind in self.bounds),
            *(Message("query.preview_note", note=note) for note in self.notes),
        )

    def _head(self) -> Message:
        if self.cells is None:
            cells = Message("query.preview_private_keys")
        elif self.cells == 1:
            cells = Message("query.preview_one_cell")
        else:
            cells = Message("query.preview_cells", number=self.cells)
        code = "query.preview_fits" if self.affordable else "query.preview_does_not_fit"
        return Message(code, cost=self.cost, remaining=self.remaining, cells=cells)

    def __str__(self) -> str:
        return "\n  ".join(self.describe())

    def _repr_html_(self) -> str:
        head = self._head()
        lines = [(each.name, each.mechanism, f"{float(each.share):.0%}", self._error(each)) for each in self.lines]
        notes = [*(f"{name} is {kind}" for name, kind in self.bounds), *self.notes]
        return draw_table(("aggregate", "how", "of the cost", "error"), lines, title=head, notes=notes, most=len(lines))

    def _error(self, line: Line) -> Message:
        if line.error is None:
            return Message("query.error_depends_on_rows")
        if self.cost.unit == "row":
            code = "query.error_of_rank" if line.unit == "rank" else "query.error_of_value"
        else:
            code = "query.noise_of_rank" if line.unit == "rank" else "query.noise_of_value"
        return Message(code, error=line.error, level=self.level)


def spread_of(part: "Part", quantity: str, strategy: "Strategy", *, rows: float | None, level: float) -> float | None:
    """Return the expected half-width of an aggregate's error; for choices in rows."""
    measure = part.measurement.measure
    if isinstance(measure, CentredSum):
        if rows is None and quantity == "mean":
            return None
        measure = replace(measure, rows=max(1, round(rows or 1)))
    if isinstance(measure, Measure) and part.noise is not None:
        return measure.spread(quantity, part.noise, rows=rows, level=level)
    assert isinstance(measure, Choice)  # noqa: S101 - for the type checker: what has no noise chooses
    epsilon, rho = (part.share, None) if strategy.pure else (None, part.share)
    return measure.spread(epsilon, strategy.analyzed.bounding, rho=rho, rows=rows, level=level)


def preview_of(
    strategy: "Strategy",
    cost: "Guarantee",
    remaining: "Guarantee",
    *,
    charge: "Guarantee",
    affordable: bool,
    rows: float | None,
    level: Exact,
) -> Preview:
    """Describe a strategy: what it costs, what is left, and how far off each aggregate will be."""
    certain = exact_level(level)
    lines: list[Line] = []
    for part in strategy.parts:
        choice = not isinstance(part.measurement.measure, Measure)
        for name, quantity in part.measurement.answers:
            lines.append(
                Line(
                    name=name,
                    mechanism=_mechanism(part, strategy),
                    share=part.weight,
                    error=spread_of(part, quantity, strategy, rows=rows, level=certain),
                    unit="rank" if choice else "value",
                )
            )
    order = [aggregate.name for aggregate in strategy.analyzed.plan.aggregates]
    lines.sort(key=lambda line: order.index(line.name))
    lines += _cut_off_lines(strategy, certain)
    return Preview(
        cost=cost,
        remaining=remaining,
        affordable=affordable,
        cells=None if strategy.analyzed.cells is None else len(strategy.analyzed.cells),
        lines=tuple(lines),
        bounds=tuple(_bounds(strategy)),
        notes=(*notes_of(strategy), *(_charge_notes(cost, charge) if affordable else ())),
        level=certain,
        complexity=strategy.analyzed.complexity,
    )


def _cut_off_lines(strategy: "Strategy", level: float) -> Iterator[Line]:
    """What measures the rows and persons that the limits cut off: how far off each number of them is."""
    for part in strategy.parts:
        if isinstance(part.measurement.measure, CutOffMeasure) and part.noise is not None:
            yield Line(
                name="persons_cut_off" if isinstance(part.measurement.measure, CutPersons) else "rows_cut_off",
                mechanism=describe_noise(part.noise),
                share=part.weight,
                error=float(part.noise.margin(level)),
            )


def _charge_notes(cost: "Guarantee", charge: "Guarantee") -> Iterator[Message]:
    """Say what a query takes of the budget, where that is clearly less than what it costs alone."""
    if isinstance(cost, ApproxDP) and isinstance(charge, ApproxDP) and charge.epsilon < _CLEARLY_LESS * cost.epsilon:
        yield Message("query.charge_below_cost", alone=float(cost.epsilon), charge=float(charge.epsilon))


def _mechanism(part: "Part", strategy: "Strategy") -> Message:
    if part.noise is not None:
        return describe_noise(
            part.noise, part.measurement.measure.row if isinstance(part.measurement.measure, Measure) else 1
        )
    if isinstance(part.measurement.measure, PrivateTopK):
        return Message("query.noise_on_texts")
    flips = strategy.pure and isinstance(part.measurement.measure, Mode | TopK)
    code = "query.permute_and_flip_choice" if flips else "query.exponential_choice"
    return Message(code, candidates=part.measurement.measure.width)


def describe_noise(noise: "Noise", row: int = 1) -> Message:
    """Return what is added to each number, for a reader; ``row`` is what one row can add, in steps."""
    event: Any = noise.event
    gaussian = noise.kind == "Gaussian"
    size = math.sqrt(event.variance) if gaussian else float(event.scale)
    # In steps of the grid the number would mean nothing to anybody.
    if gaussian:
        return Message("query.gaussian_noise" if row == 1 else "query.gaussian_noise_of_rows", size=size / row)
    return Message("query.noise" if row == 1 else "query.noise_of_rows", kind=noise.kind, size=size / row)


def _coarse_notes(strategy: "Strategy") -> Iterator[Message]:
    """Say which columns are rounded to coarser steps than their own before they are measured."""
    for measurement in strategy.analyzed.aggregate_measurements:
        if not isinstance(measurement.measure, SecondMoments | CrossMoments):
            continue
        own_steps = isinstance(measurement.measure, SecondMoments)
        code = "query.rounded_and_allowed_for" if own_steps else "query.rounded_values"
        for column, axis in zip(measurement.columns, measurement.measure.axes, strict=True):
            own = kind_of(column, strategy.analyzed.kinds).axis
            if own is not None and axis.grid > own.grid:
                yield Message(code, column=render(column), step=float(axis.grid))


def _bounds(strategy: "Strategy") -> Iterator[tuple[str, str]]:
    """The kinds of everything that is computed from columns, as interval arithmetic finds them."""
    plan, kinds = strategy.analyzed.plan, strategy.analyzed.kinds
    expressions: list[Expression] = [column for aggregate in plan.aggregates for column in aggregate.columns]
    expressions += [key.expression for key in plan.keys]
    for expression in dict.fromkeys(expressions):
        if not isinstance(expression, Column):
            yield render(expression), repr(kind_of(expression, kinds))


def notes_of(strategy: "Strategy") -> tuple[Message, ...]:
    """Return what should be known about an answer besides its numbers, each sentence once."""
    return tuple(dict.fromkeys(_notes(strategy)))


def _notes(strategy: "Strategy") -> Iterator[Message]:
    bounding = strategy.analyzed.bounding
    if strategy.keys is not None:
        units = name_unit(bounding.unit, several=True)
        threshold, sure = strategy.keys.threshold, strategy.keys.sure_count()
        yield Message("query.private_keys", units=units, threshold=threshold, sure=sure)
    if bounding.unit != "row":
        rows = Message("query.one_row") if bounding.rows == 1 else Message("query.some_rows", number=bounding.rows)
        cells = (
            Message("query.one_cell") if bounding.groups == 1 else Message("query.some_cells", number=bounding.groups)
        )
        yield Message("query.unit_limits", unit=name_unit(bounding.unit), rows=rows, cells=cells)
        yield from cut_off_notes(strategy.analyzed)
    clipped = ", ".join(sorted(strategy.analyzed.clipped))
    if clipped:
        yield Message("query.values_clipped", columns=clipped)
    yield from _coarse_notes(strategy)
    for part in strategy.parts:
        names = [name for name, _ in part.measurement.answers]
        if len(names) > 1:
            yield Message("query.shared_measurement", names=tuple(names))
    for part in strategy.parts:
        if isinstance(part.measurement.measure, Choice):
            epsilon, rho = (part.share, None) if strategy.pure else (None, part.share)
            yield from part.measurement.measure.explain(epsilon, bounding, rho=rho)
