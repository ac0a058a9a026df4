"""From exact summaries to a released table: private keys, noise, estimates and post-processing.

Only this module holds exact numbers in Python, and they do not leave it. Everything after the noise (computed columns,
HAVING, ORDER BY, LIMIT) is post-processing.
"""

import dataclasses
import datetime as dt
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.messages.message import Message
from celosia.mechanisms import StableKeys
from celosia.query.answering.true_values import TrueValues
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Key, Plan
from celosia.query.planning.cells import MAX_CELLS, Cells
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

_EPOCH_ORDINAL = dt.date(1970, 1, 1).toordinal()
_SECONDS_A_DAY = 86_400


def answer(
    strategy: Strategy, engine: "Engine", secret: Sequence[int], source: "Source", guarantee: "Guarantee"
) -> TableRelease:
    """Read the data through the engine and return the noisy answer; the event must be paid for."""
    analyzed = strategy.analyzed
    cells = _choose_keys(strategy, engine, secret, source) if analyzed.cells is None else analyzed.cells
    parts = [dataclasses.replace(part, measurement=part.measurement.for_cells(len(cells))) for part in strategy.parts]
    texts = [part for part in parts if isinstance(part.measurement.measure, PrivateTopK)]
    parts = [part for part in parts if part not in texts]
    measurements = [part.measurement for part in parts]
    extra = (
        [Measurement(measure=RowCount(), columns=(), answers=())]
        if any(measurement.public_rows for measurement in measurements)
        else []
    )
    requests = [*measurements, *extra]
    if len(cells) and requests:
        summaries = engine.summaries(analyzed.plan, requests, analyzed.bounding, secret, cells)
    else:  # no key was shown: there is nothing to read
        summaries = tuple(np.zeros((0, measurement.measure.width), dtype=np.int64) for measurement in requests)
    counts = {one.name for one in analyzed.plan.aggregates if one.kind == "count"}
    columns: dict[str, Estimate] = {}
    measured: list[Measured] = []
    for part, summary in zip(parts, summaries, strict=False):
        if isinstance(part.measurement.measure, Measure):
            rows = int(summaries[-1][0, 0]) if part.measurement.public_rows else None
            measure, noise = _fit_to_cells(part, len(summary), rows)
            noisy = noise.release(summary, source) if len(summary) else summary
            measured.append(Measured(measurement=part.measurement, measure=measure, noisy=noisy, noise=noise))
            columns |= {
                name: _estimate(measured[-1], quantity, whole=name in counts)
                for name, quantity in part.measurement.answers
            }
        else:
            columns |= _choose(part, strategy, summary, source)
    for part in texts:
        columns |= _frequent_texts(part, strategy, engine, secret, source, cells)
    beyond = [one for one in measured if isinstance(one.measure, CutOffMeasure)]
    true = TrueValues(analyzed.plan, measured, beyond[0]).interval if beyond else None
    table = _table(strategy, cells, columns, true, seeded=source.seeded, guarantee=guarantee)
    cut_off = estimate_cut_off(beyond) if beyond and len(cells) else None
    found = () if cut_off is None else (cut_off.describe(),)
    return dataclasses.replace(table, cut_off=cut_off, notes=(*found, *table.notes, *_note_clipped(parts, columns)))


def _choose_keys(strategy: Strategy, engine: "Engine", secret: Sequence[int], source: "Source") -> Cells:
    """Choose private keys by their noisy numbers of units, a batch at a time, and sort those that are shown."""
    analyzed = strategy.analyzed
    found: list[tuple[Any, ...]] = []
    assert strategy.keys is not None  # noqa: S101 - for the type checker: private keys have a threshold
    for names, _ in _select_keys(strategy.keys, engine.key_counts(analyzed.plan, analyzed.bounding, secret), source):
        found += zip(*(column.to_pylist() for column in names), strict=True)
    # The engine's order could depend on keys that are not shown.
    return Cells.from_rows(
        sorted(found, key=lambda row: [(str(type(item)), item) for item in row]), len(analyzed.plan.keys)
    )


def _select_keys(
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
    measure, analyzed, plan = part.measurement.measure, strategy.analyzed, strategy.analyzed.plan
    assert isinstance(measure, PrivateTopK)  # noqa: S101 - for the type checker
    expressions = (*(key.expression for key in plan.keys), part.measurement.columns[0])
    counted = Plan(
        relation=plan.relation,
        filter=plan.filter,
        keys=tuple(Key(name=f"k{place}", expression=each) for place, each in enumerate(expressions)),
        aggregates=(Aggregate(kind="count", name="units"),),
    )
    bounding = dataclasses.replace(analyzed.bounding, groups=measure.groups, cells=MAX_CELLS)
    places, texts, counts = [], [], []
    shown = _select_keys(measure.keys(part.share, bounding), engine.key_counts(counted, bounding, secret), source)
    for (*own, values), numbers in shown:
        places.append(cells.locate(own) if own else np.zeros(len(values), dtype=np.int64))
        texts += values.to_pylist()
        counts.append(numbers)
    empty = np.empty(0, dtype=np.int64)
    best = measure.best(np.concatenate([empty, *places]), texts, np.concatenate([empty, *counts]), len(cells))
    return {name: Estimate(value=_object_array(best)) for name, _ in part.measurement.answers}


def _fit_to_cells(part: Part, cells: int, rows: int | None) -> "tuple[Measure, Noise]":
    """Return the measure and the noise of a part for the cells that are shown, with a public number of rows."""
    measure = part.measurement.measure
    assert isinstance(measure, Measure) and part.noise is not None  # noqa: S101, PT018 - for the type checker
    if isinstance(measure, CentredSum) and rows is not None:
        measure = dataclasses.replace(measure, rows=rows)
    return measure, dataclasses.replace(part.noise, cells=cells)


def _estimate(measured: Measured, quantity: str, *, whole: bool) -> Estimate:
    """Estimate a quantity; ``whole`` rounds a number of rows that was measured as a sum."""
    estimate = measured.measure.answer(quantity, measured.noisy, measured.noise)
    return dataclasses.replace(estimate, value=np.rint(estimate.value).astype(np.int64)) if whole else estimate


def _choose(part: Part, strategy: Strategy, summary: "NDArray[Any]", source: "Source") -> dict[str, Estimate]:
    choice = part.measurement.measure
    assert isinstance(choice, Choice)  # noqa: S101 - for the type checker: what has no noise chooses
    epsilon, rho = (part.share, None) if strategy.pure else (None, part.share)
    chosen = choice.release(summary, epsilon, strategy.analyzed.bounding, rho=rho, source=source)
    return {name: _pick_column(chosen, part.measurement, int(position)) for name, position in part.measurement.answers}


def _pick_column(chosen: Estimate, measurement: Measurement, position: int) -> Estimate:
    """Return one chosen column, with categories for indices and dates for days."""
    value = np.asarray(chosen.value)
    labels = measurement.labels
    if labels is not None and isinstance(measurement.measure, TopK):
        return Estimate(value=_object_array([[labels[i] for i in row] for row in value.tolist()]))
    if value.ndim == 1:
        return Estimate(value=_label_numbers(value, measurement))
    between = chosen.interval
    if between is None:
        return Estimate(value=_label_numbers(value[:, position], measurement))

    def interval(level: float) -> "tuple[NDArray[Any], NDArray[Any]]":
        low, high = between(level)
        return _label_numbers(low[:, position], measurement), _label_numbers(high[:, position], measurement)

    return Estimate(value=_label_numbers(value[:, position], measurement), interval=interval)


def _label_numbers(numbers: "NDArray[Any]", measurement: Measurement) -> "NDArray[Any]":
    """Return the categories, dates or timestamps that numbers stand for, or the numbers."""
    if measurement.labels is not None:
        last = len(measurement.labels) - 1  # the axis of a single category still has two ends
        return _object_array([measurement.labels[min(int(i), last)] for i in numbers])
    if measurement.unit is not None:
        days, seconds = (numbers, 0 * numbers) if measurement.unit == "days" else np.divmod(numbers, _SECONDS_A_DAY)
        return _object_array([_make_date(*pair, measurement.unit) for pair in zip(days, seconds, strict=True)])
    return numbers


def _note_clipped(parts: Sequence[Part], columns: dict[str, Estimate]) -> tuple[Message, ...]:
    """Return notes on released minima and maxima that equal the bound of their column."""
    notes = []
    for part in parts:
        measure = part.measurement.measure
        if not isinstance(measure, Quantiles) or part.measurement.labels is not None:
            continue
        bounds = dict(zip((0, 1), _label_numbers(measure.bounds, part.measurement).tolist(), strict=True))
        for name, position in part.measurement.answers:
            bound = bounds.get(int(share)) if (share := measure.quantiles[int(position)]) in (0, 1) else None
            if bound is not None and bound in columns[name].value.tolist():
                notes.append(Message("query.answer_at_bound", name=name, bound=bound))
    return tuple(notes)


def _make_date(days: float, seconds: float, unit: str) -> dt.date | dt.datetime:
    """Return the date or timestamp of days and seconds after 1970, clipped to the calendar."""
    day = dt.date.fromordinal(min(max(_EPOCH_ORDINAL + int(days), 1), dt.date.max.toordinal()))
    if unit == "days":
        return day
    return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC) + dt.timedelta(seconds=int(seconds))


def _object_array(values: list[Any]) -> "NDArray[Any]":
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
    guarantee: "Guarantee",
) -> TableRelease:
    import pyarrow as pa

    plan, rows = strategy.analyzed.plan, len(cells)
    keys = dict(zip((key.name for key in plan.keys), cells.columns(), strict=True))
    known: dict[str, list[Any]] = keys | {name: estimate.value.tolist() for name, estimate in estimates.items()}
    shown = {name: _values(expression, known, rows) for name, expression in plan.outputs}
    places = _select_rows(strategy, known | shown, rows)
    examples: dict[str, list[Any]] = {name: [value] for name, value in strategy.analyzed.samples().items()}
    examples |= {
        name: np.zeros(1, estimate.value.dtype).tolist()
        for name, estimate in estimates.items()
        if estimate.value.dtype != object
    }
    table = pa.table(
        {
            name: _make_array(shown[name], places, functools.partial(_values, expression, examples, 1))
            for name, expression in plan.outputs
        }
    )
    noise = {name: one.interval for name, one in estimates.items() if one.interval is not None}
    names = {name for name, expression in plan.outputs if getattr(expression, "name", None) in keys}
    return TableRelease(
        value=table,
        event=strategy.event,
        guarantee=guarantee,
        seeded=seeded,
        keys=tuple(name for name, _ in plan.outputs if name in names),
        intervals=_output_intervals(plan, functools.partial(_interval, noise), places),
        true_intervals=_output_intervals(plan, true or _find_none, places) if strategy.analyzed.may_cut else None,
        notes=notes_of(strategy),
    )


def _values(expression: "Expression", columns: "Mapping[str, list[Any]]", rows: int) -> list[Any]:
    """Return the values of a plain column, or of an expression over columns."""
    return columns[expression.name] if isinstance(expression, Column) else evaluate(expression, columns, rows)


def _interval(intervals: "Mapping[str, Interval]", expression: "Expression") -> "Interval | None":
    """Return the interval of a plain column, or of an expression over columns, if there is one."""
    if isinstance(expression, Column):
        return intervals.get(expression.name)
    return output_interval(expression, intervals)


def _find_none(_: "Expression") -> None:
    """Find no interval: the cut of the limits is not measured."""


def _output_intervals(
    plan: "Plan", find: "Callable[[Expression], Interval | None]", places: list[int]
) -> "dict[str, Interval]":
    """Return the intervals of the output columns that have one."""
    shown = np.asarray(places, dtype=np.int64)
    found = {name: find(expression) for name, expression in plan.outputs}
    return {
        name: functools.partial(_take_places, interval, shown)
        for name, interval in found.items()
        if interval is not None
    }


def _take_places(
    interval: "Interval", places: "NDArray[np.int64]", level: float
) -> "tuple[NDArray[Any], NDArray[Any]]":
    low, high = interval(level)
    return np.asarray(low)[places], np.asarray(high)[places]


def _select_rows(strategy: Strategy, columns: dict[str, list[Any]], rows: int) -> list[int]:
    """Return the places of the rows after HAVING, ORDER BY and LIMIT; nulls come last."""
    plan = strategy.analyzed.plan
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


def _make_array(column: list[Any], places: list[int], example: "Callable[[], list[Any]]") -> "pa.Array":
    """Return a column as an Arrow array; if all values are null, its type is that of an example."""
    import pyarrow as pa

    values = [column[place] for place in places]
    found = pa.array(values)
    kind = found.type.value_type if pa.types.is_list(found.type) else found.type
    return found if not pa.types.is_null(kind) else pa.array(values, type=pa.array(example()).type)
