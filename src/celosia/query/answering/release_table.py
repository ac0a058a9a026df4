"""From exact summaries to a released table: private keys, noise, estimates, and what is done with the noisy answers.

This is the only place where exact numbers are held in Python, and they do not leave it. Once the noise is in, all that
follows (computed columns, HAVING, ORDER BY, LIMIT) is post-processing.
"""

import dataclasses
import datetime as dt
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.mechanisms import StableKeys
from celosia.query.answering.true_values import TrueValues
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Key, Plan
from celosia.query.planning.cells import MOST_CELLS, Cells
from celosia.query.planning.cut_off import Measured, estimate_cut_off
from celosia.query.planning.measurements import Measurement
from celosia.query.planning.preview import notes_of
from celosia.query.planning.strategy import Part, Strategy
from celosia.query.postprocessing.evaluate import evaluate
from celosia.query.postprocessing.output_intervals import output_interval
from celosia.query.release import TableRelease
from celosia.statistics import (
    CentredSum,
    Choice,
    CutOffMeasure,
    Estimate,
    Measure,
    PrivateTopK,
    Quantiles,
    RowCount,
    TopK,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core import Guarantee, Source
    from celosia.query.engines.base import Engine
    from celosia.query.plan.expressions import Expression
    from celosia.statistics import Noise

    Interval = Callable[[float], tuple[NDArray[Any], NDArray[Any]]]

_FIRST = dt.date(1970, 1, 1).toordinal()
_SECONDS_A_DAY = 86_400


def answer(
    strategy: Strategy, engine: "Engine", secret: Sequence[int], source: "Source", promise: "Guarantee"
) -> TableRelease:
    """Read the data through the engine and return the noisy answer; the event must have been paid for."""
    question = strategy.question
    cells = _chosen(strategy, engine, secret, source) if question.cells is None else question.cells
    parts = [dataclasses.replace(part, need=part.need.for_cells(len(cells))) for part in strategy.parts]
    texts = [part for part in parts if isinstance(part.need.measure, PrivateTopK)]
    parts = [part for part in parts if part not in texts]
    needs = [part.need for part in parts]
    extra = [Measurement(measure=RowCount(), columns=(), answers=())] if any(need.public_rows for need in needs) else []
    requests = [*needs, *extra]
    if len(cells) and requests:
        summaries = engine.summaries(question.plan, requests, question.bounding, secret, cells)
    else:  # no key was shown: there is nothing to read
        summaries = tuple(np.zeros((0, need.measure.width), dtype=np.int64) for need in requests)
    counts = {one.name for one in question.plan.aggregates if one.kind == "count"}
    columns: dict[str, Estimate] = {}
    measured: list[Measured] = []
    for part, summary in zip(parts, summaries, strict=False):
        if isinstance(part.need.measure, Measure):
            rows = int(summaries[-1][0, 0]) if part.need.public_rows else None
            measure, noise = _fit_to_cells(part, len(summary), rows)
            noisy = noise.release(summary, source) if len(summary) else summary
            measured.append(Measured(need=part.need, measure=measure, noisy=noisy, noise=noise))
            columns |= {
                name: _estimate(measured[-1], quantity, whole=name in counts) for name, quantity in part.need.answers
            }
        else:
            columns |= _choose(part, strategy, summary, source)
    for part in texts:
        columns |= _frequent_texts(part, strategy, engine, secret, source, cells)
    beyond = [one for one in measured if isinstance(one.measure, CutOffMeasure)]
    true = TrueValues(question.plan, measured, beyond[0]).interval if beyond else None
    table = _table(strategy, cells, columns, true, seeded=source.seeded, promise=promise)
    cut_off = estimate_cut_off(beyond) if beyond and len(cells) else None
    found = () if cut_off is None else (cut_off.describe(),)
    return dataclasses.replace(table, cut_off=cut_off, notes=(*found, *table.notes, *_clipped(parts, columns)))


def _chosen(strategy: Strategy, engine: "Engine", secret: Sequence[int], source: "Source") -> Cells:
    """Choose private keys by their noisy numbers of units, a batch at a time, and sort those that are shown."""
    question = strategy.question
    found: list[tuple[Any, ...]] = []
    assert strategy.keys is not None  # noqa: S101 - for the type checker: private keys have a threshold
    for names, _ in _selected(strategy.keys, engine.key_counts(question.plan, question.bounding, secret), source):
        found += zip(*(column.to_pylist() for column in names), strict=True)
    # The engine's order could depend on keys that are not shown.
    return Cells.listed(
        sorted(found, key=lambda row: [(str(type(item)), item) for item in row]), len(question.plan.keys)
    )


def _selected(
    keys: StableKeys, batches: "Iterable[pa.RecordBatch]", source: "Source"
) -> "Iterator[tuple[list[pa.Array], NDArray[np.int64]]]":
    """Yield the columns of keys that are shown, and their noisy numbers of units."""
    for batch in batches:
        *names, units = batch.columns
        chosen = keys.select(units.to_numpy(zero_copy_only=False).astype(np.int64), source=source)
        places = np.flatnonzero(chosen.mask)
        yield [column.take(places) for column in names], chosen.counts


def _frequent_texts(
    part: Part, strategy: Strategy, engine: "Engine", secret: Sequence[int], source: "Source", cells: Cells
) -> dict[str, Estimate]:
    """Find the most common texts of each cell, as private keys beside its own keys."""
    measure, question, plan = part.need.measure, strategy.question, strategy.question.plan
    assert isinstance(measure, PrivateTopK)  # noqa: S101 - for the type checker
    expressions = (*(key.expression for key in plan.keys), part.need.columns[0])
    counted = Plan(
        relation=plan.relation,
        filter=plan.filter,
        keys=tuple(Key(name=f"k{place}", expression=each) for place, each in enumerate(expressions)),
        aggregates=(Aggregate(kind="count", name="units"),),
    )
    bounding = dataclasses.replace(question.bounding, groups=measure.groups, cells=MOST_CELLS)
    places, texts, counts = [], [], []
    shown = _selected(measure.keys(part.share, bounding), engine.key_counts(counted, bounding, secret), source)
    for (*own, values), numbers in shown:
        places.append(cells.locate(own) if own else np.zeros(len(values), dtype=np.int64))
        texts += values.to_pylist()
        counts.append(numbers)
    empty = np.empty(0, dtype=np.int64)
    best = measure.best(np.concatenate([empty, *places]), texts, np.concatenate([empty, *counts]), len(cells))
    return {name: Estimate(value=_objects(best)) for name, _ in part.need.answers}


def _fit_to_cells(part: Part, cells: int, rows: int | None) -> "tuple[Measure, Noise]":
    """Return the measure and the noise of a part for the cells that are shown, with a public number of rows."""
    measure = part.need.measure
    assert isinstance(measure, Measure) and part.noise is not None  # noqa: S101, PT018 - for the type checker
    if isinstance(measure, CentredSum) and rows is not None:
        measure = dataclasses.replace(measure, rows=rows)
    return measure, dataclasses.replace(part.noise, cells=cells)


def _estimate(measured: Measured, quantity: str, *, whole: bool) -> Estimate:
    """Estimate a quantity; ``whole`` rounds a number of rows that was measured as a sum."""
    estimate = measured.measure.answer(quantity, measured.noisy, measured.noise)
    return dataclasses.replace(estimate, value=np.rint(estimate.value).astype(np.int64)) if whole else estimate


def _choose(part: Part, strategy: Strategy, summary: "NDArray[Any]", source: "Source") -> dict[str, Estimate]:
    choice = part.need.measure
    assert isinstance(choice, Choice)  # noqa: S101 - for the type checker: what has no noise chooses
    epsilon, rho = (part.share, None) if strategy.pure else (None, part.share)
    chosen = choice.release(summary, epsilon, strategy.question.bounding, rho=rho, source=source)
    return {name: _picked(chosen, part.need, int(position)) for name, position in part.need.answers}


def _picked(chosen: Estimate, need: Measurement, position: int) -> Estimate:
    """One column of what was chosen, with categories in place of their indices and dates in place of days."""
    value = np.asarray(chosen.value)
    labels = need.labels
    if labels is not None and isinstance(need.measure, TopK):
        return Estimate(value=_objects([[labels[i] for i in row] for row in value.tolist()]))
    if value.ndim == 1:
        return Estimate(value=_named(value, need))
    between = chosen.interval
    if between is None:
        return Estimate(value=_named(value[:, position], need))

    def interval(level: float) -> "tuple[NDArray[Any], NDArray[Any]]":
        low, high = between(level)
        return _named(low[:, position], need), _named(high[:, position], need)

    return Estimate(value=_named(value[:, position], need), interval=interval)


def _named(numbers: "NDArray[Any]", need: Measurement) -> "NDArray[Any]":
    """Numbers as what they stand for: categories, dates, timestamps or themselves."""
    if need.labels is not None:
        last = len(need.labels) - 1  # the axis of a single category still has two ends
        return _objects([need.labels[min(int(i), last)] for i in numbers])
    if need.unit is not None:
        days, seconds = (numbers, 0 * numbers) if need.unit == "days" else np.divmod(numbers, _SECONDS_A_DAY)
        return _objects([_moment(*pair, need.unit) for pair in zip(days, seconds, strict=True)])
    return numbers


def _clipped(parts: Sequence[Part], columns: dict[str, Estimate]) -> tuple[str, ...]:
    """Say of which minimum or maximum the released value is the bound of its column."""
    notes = []
    for part in parts:
        measure = part.need.measure
        if not isinstance(measure, Quantiles) or part.need.labels is not None:
            continue
        bounds = dict(zip((0, 1), _named(measure.bounds, part.need).tolist(), strict=True))
        for name, position in part.need.answers:
            bound = bounds.get(int(share)) if (share := measure.quantiles[int(position)]) in (0, 1) else None
            if bound is not None and bound in columns[name].value.tolist():
                notes.append(f"{name} is {bound}, the bound of its column: values beyond it were clipped to it.")
    return tuple(notes)


def _moment(days: float, seconds: float, unit: str) -> dt.date | dt.datetime:
    """What so many days and seconds after 1970 are; a step may reach beyond the calendar, which the ends bound."""
    day = dt.date.fromordinal(min(max(_FIRST + int(days), 1), dt.date.max.toordinal()))
    if unit == "days":
        return day
    return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC) + dt.timedelta(seconds=int(seconds))


def _objects(values: list[Any]) -> "NDArray[Any]":
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# ------------------------------------------------------------------------------------------------- post-processing


def _table(
    strategy: Strategy,
    cells: Cells,
    estimates: dict[str, Estimate],
    true: "Callable[[Expression], Interval | None] | None",
    *,
    seeded: bool,
    promise: "Guarantee",
) -> TableRelease:
    import pyarrow as pa

    plan, rows = strategy.question.plan, len(cells)
    keys = dict(zip((key.name for key in plan.keys), cells.columns(), strict=True))
    known: dict[str, list[Any]] = keys | {name: estimate.value.tolist() for name, estimate in estimates.items()}
    shown = {name: _values(expression, known, rows) for name, expression in plan.outputs}
    places = _kept(strategy, known | shown, rows)
    examples: dict[str, list[Any]] = {name: [value] for name, value in strategy.question.samples().items()}
    examples |= {
        name: np.zeros(1, estimate.value.dtype).tolist()
        for name, estimate in estimates.items()
        if estimate.value.dtype != object
    }
    table = pa.table(
        {
            name: _column(shown[name], places, functools.partial(_values, expression, examples, 1))
            for name, expression in plan.outputs
        }
    )
    noise = {name: one.interval for name, one in estimates.items() if one.interval is not None}
    names = {name for name, expression in plan.outputs if getattr(expression, "name", None) in keys}
    return TableRelease(
        value=table,
        event=strategy.event,
        guarantee=promise,
        seeded=seeded,
        keys=tuple(name for name, _ in plan.outputs if name in names),
        intervals=_output_intervals(plan, functools.partial(_interval, noise), places),
        true_intervals=_output_intervals(plan, true or _find_none, places) if strategy.question.may_cut else None,
        notes=notes_of(strategy),
    )


def _values(expression: "Expression", columns: "Mapping[str, list[Any]]", rows: int) -> list[Any]:
    """The values of a plain column, or of an expression over columns."""
    return columns[expression.name] if isinstance(expression, Column) else evaluate(expression, columns, rows)


def _interval(intervals: "Mapping[str, Interval]", expression: "Expression") -> "Interval | None":
    """The interval of a plain column, or of an expression over columns; None where there is none."""
    if isinstance(expression, Column):
        return intervals.get(expression.name)
    return output_interval(expression, intervals)


def _find_none(_: "Expression") -> None:
    """Find no interval: nothing says how much the limits cut off."""


def _output_intervals(
    plan: "Plan", find: "Callable[[Expression], Interval | None]", places: list[int]
) -> "dict[str, Interval]":
    """The intervals of all columns of an answer that have one."""
    shown = np.asarray(places, dtype=np.int64)
    found = {name: find(expression) for name, expression in plan.outputs}
    return {
        name: functools.partial(_taken, interval, shown) for name, interval in found.items() if interval is not None
    }


def _taken(interval: "Interval", places: "NDArray[np.int64]", level: float) -> "tuple[NDArray[Any], NDArray[Any]]":
    low, high = interval(level)
    return np.asarray(low)[places], np.asarray(high)[places]


def _kept(strategy: Strategy, columns: dict[str, list[Any]], rows: int) -> list[int]:
    """The rows that HAVING and LIMIT leave, in the order that ORDER BY says; nulls come last."""
    plan = strategy.question.plan
    places = list(range(rows))
    if plan.having is not None:
        true = evaluate(plan.having, columns, rows)
        places = [place for place in places if true[place] is True]
    for order in reversed(plan.order):
        values = evaluate(order.expression, columns, rows)
        empty = [place for place in places if values[place] is None]
        full = [place for place in places if values[place] is not None]
        places = sorted(full, key=lambda place: values[place], reverse=order.descending) + empty
    return places[: plan.limit] if plan.limit is not None else places


def _column(column: list[Any], places: list[int], example: "Callable[[], list[Any]]") -> "pa.Array":
    """The values of a column; where none is left that would tell their type, it is that of an example."""
    import pyarrow as pa

    values = [column[place] for place in places]
    found = pa.array(values)
    kind = found.type.value_type if pa.types.is_list(found.type) else found.type
    return found if not pa.types.is_null(kind) else pa.array(values, type=pa.array(example()).type)
