"""A slow and simple engine in plain Python, with which the others must agree to the last bit.

Sums are Python's own integers. It shares only definitions with the engines: kinds and axes, the features of a measure,
and the keyed order of a person's cells and rows.
"""

import functools
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.query.engines.base import Engine
from celosia.query.execution.hashing import KeyedOrder
from celosia.query.plan.expressions import Expression, kind_of
from celosia.statistics import Bins, Choice, CutPersons, CutRows
from celosia.testing.engines.reference_rows import CleanRows, clean_rows, step_on, whole_value

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.data.table import Table
    from celosia.query.engines.base import Request
    from celosia.query.plan.nodes import Plan
    from celosia.query.planning.cells import Cells
    from celosia.statistics import ContributionBounds

_Groups = dict[Hashable, list[int]]


class ReferenceEngine(Engine):
    """An engine over tables whose sources are frames."""

    def __init__(self, tables: "Mapping[str, Table]") -> None:
        self.tables = tables
        self._read = functools.cache(lambda relation: clean_rows(relation, tables))

    def check(self, plan: "Plan") -> None:
        """Accept any plan."""

    def key_counts(
        self, plan: "Plan", bounding: "ContributionBounds", secret: Sequence[int]
    ) -> "Iterator[pa.RecordBatch]":
        """Yield one batch with the keys and the number of units of each."""
        import pyarrow as pa

        rows, order = self._rows(plan), KeyedOrder(tuple(secret))
        kinds = [kind_of(key.expression, rows.kinds) for key in plan.keys]
        columns = [rows.values(key.expression) for key in plan.keys]
        keys = [key for key in zip(*columns, strict=True) if None not in key]
        if rows.persons and rows.persons[0] is not None and not rows.single:
            of_person: dict[Any, set[tuple[Any, ...]]] = defaultdict(set)
            for person, key in zip(rows.persons, zip(*columns, strict=True), strict=True):
                if None not in key:
                    of_person[person].add(key)
            keys = []
            for person, those in of_person.items():
                numbers = {
                    key: [_number(whole_value(v, k), order) for v, k in zip(key, kinds, strict=True)] for key in those
                }
                ranks = {key: (order.hash_integers(_number(person, order), *numbers[key]), key) for key in those}
                keys += sorted(those, key=ranks.__getitem__)[: bounding.groups]
        counts = Counter(keys)
        named = {f"k{place}": pa.array([key[place] for key in counts]) for place in range(len(plan.keys))}
        yield pa.record_batch(named | {"units": pa.array(list(counts.values()), type=pa.int64())})

    def summaries(
        self,
        plan: "Plan",
        requests: "Sequence[Request]",
        bounding: "ContributionBounds",
        secret: Sequence[int],
        cells: "Cells",
    ) -> "tuple[NDArray[Any], ...]":
        """Return the exact integers of each request, as Python integers."""
        rows = self._rows(plan)
        columns = [rows.values(key.expression) for key in plan.keys]
        known = {key: place for place, key in enumerate(zip(*cells.columns(), strict=True))} if plan.keys else {(): 0}
        keys = list(zip(*columns, strict=True)) if columns else [()] * len(rows.persons)
        places = [known.get(key, -1) for key in keys]
        inside = [place for place, cell in enumerate(places) if cell >= 0]
        rows, where = rows.take(inside), [places[place] for place in inside]
        return tuple(
            self._answer(request, rows, where, bounding, KeyedOrder(tuple(secret)), len(cells)) for request in requests
        )

    def _rows(self, plan: "Plan") -> CleanRows:
        return self._read(plan.relation).where(plan.filter)

    def _answer(
        self,
        request: "Request",
        rows: CleanRows,
        cells: list[int],
        bounding: "ContributionBounds",
        order: KeyedOrder,
        size: int,
    ) -> "NDArray[Any]":
        answer = np.zeros((size, request.measure.width), dtype=object)
        bounded = bool(rows.persons) and rows.persons[0] is not None and not rows.single
        groups = _chosen(rows.persons, cells, bounding.groups, order) if bounded else _alone(cells)
        most = bounding.rows if bounded else None
        if request.distinct == "contributions":
            _count_contributions(answer, rows.persons, cells, order)
        elif isinstance(request.measure, CutRows):
            _count_cut(answer, request.measure.most, rows.persons, cells, bounding, order)
        elif isinstance(request.measure, CutPersons):
            return _count_cut_persons(rows.persons, cells, bounding, order)
        elif request.distinct == "values":
            _count_distinct(answer, request.columns[0], rows, groups, most, order)
        elif request.distinct == "persons":
            for _, cell in groups:
                answer[cell, 0] += 1
        elif isinstance(request.measure, Choice | Bins):
            _count(answer, request, rows, groups, most, order)
        else:
            _add(answer, request, rows, groups, most)
        return answer


def _alone(cells: list[int]) -> dict[tuple[Any, int], list[int]]:
    return {(place, cell): [place] for place, cell in enumerate(cells)}


def _chosen(persons: list[Any], cells: list[int], groups: int, order: KeyedOrder) -> dict[tuple[Any, int], list[int]]:
    """Return the rows of each person in each of the chosen cells."""
    of_person: dict[Any, set[int]] = defaultdict(set)
    for person, cell in zip(persons, cells, strict=True):
        of_person[person].add(cell)
    kept = {person: _first(person, those, groups, order) for person, those in of_person.items()}
    found: dict[tuple[Any, int], list[int]] = defaultdict(list)
    for place, (person, cell) in enumerate(zip(persons, cells, strict=True)):
        if cell in kept[person]:
            found[person, cell].append(place)
    return found


def _first(person: Any, cells: set[int], groups: int, order: KeyedOrder) -> set[int]:
    ranked = sorted(cells, key=lambda cell: order.rank(cell, _number(person, order)))
    return {ranked[0], ranked[-1]} if groups == 2 else set(ranked[:groups])


def _number(value: Any, order: KeyedOrder) -> int:
    if isinstance(value, str):
        return int(hashlib.md5((order.salt + value).encode(), usedforsecurity=False).hexdigest()[:8], 16)
    return int(order.fold(value))


def _add(
    answer: "NDArray[Any]", request: "Request", rows: CleanRows, groups: Mapping[Any, list[int]], most: int | None
) -> None:
    """Add up features; those of a person with too many rows are averaged down."""
    measure, axes = request.measure, request.measure.axes
    columns = [rows.values(column) for column in request.columns]
    kinds = [kind_of(column, rows.kinds) for column in request.columns]
    missing = getattr(measure, "counts_missing", False)
    for (_, cell), places in groups.items():
        there = [place for place in places if missing or all(column[place] is not None for column in columns)]
        totals = [0] * measure.width
        for place in there:
            known = [c[place] is not None for c in columns]
            steps = [
                step_on(c[place], kind, axis) if has else 0
                for c, kind, axis, has in zip(columns, kinds, axes, known, strict=False)
            ]
            features = measure.features(*steps, *(map(int, known) if missing else ()))  # type: ignore[union-attr] # no choice comes here
            totals = [total + feature for total, feature in zip(totals, features, strict=True)]
        if most is not None and len(there) > most:
            totals = [_average(total, len(there), most) for total in totals]
        for column, total in enumerate(totals):
            answer[cell, column] += total


def _average(total: int, count: int, rows: int) -> int:
    held = max(-(2**62), min(2**62, total))
    size = float(abs(held)) * rows
    share = math.floor(size / count if size < 2**53 else size / count * (1 - 2.0**-50))
    return share if held >= 0 else -share


def _count(
    answer: "NDArray[Any]",
    request: "Request",
    rows: CleanRows,
    groups: Mapping[Any, list[int]],
    most: int | None,
    order: KeyedOrder,
) -> None:
    """Count rows by value; of a person with too many rows some are sampled."""
    (column,), measure = request.columns, request.measure
    kind = kind_of(column, rows.kinds)
    width = getattr(measure, "bin_width", 1)
    listed = {value: place for place, value in enumerate(kind.domain() or ())}
    values = rows.values(column)
    codes = [step_on(v, kind, measure.axes[0]) if measure.axes else listed.get(v) for v in values]
    for (person, cell), places in groups.items():
        found = [code // width for place in places if (code := codes[place]) is not None]
        if most is not None:
            seen: Counter[int] = Counter()
            ranked = []
            for code in found:
                ranked.append((order.hash_integers(_number(person, order), cell, code, seen[code]), code, seen[code]))
                seen[code] += 1
            found = [code for _, code, _ in sorted(ranked)[:most]]
        for code in found:
            answer[cell, code] += 1


def _count_contributions(answer: "NDArray[Any]", persons: list[Any], cells: list[int], order: KeyedOrder) -> None:
    """Count each person once, in its first cell, by the numbers of its cells and of its rows there."""
    different: dict[Any, set[int]] = defaultdict(set)
    for person, cell in zip(persons, cells, strict=True):
        different[person].add(cell)
    for (person, cell), places in _chosen(persons, cells, 1, order).items():
        i, j = (min((number - 1).bit_length(), 20) for number in (len(different[person]), len(places)))
        answer[cell, 21 * i + j] += 1


def _count_cut(
    answer: "NDArray[Any]",
    most: int,
    persons: list[Any],
    cells: list[int],
    bounding: "ContributionBounds",
    order: KeyedOrder,
) -> None:
    """Count the rows that the limits keep and cut off; those of a person with too many are scaled down."""
    for cells_of_person in _kept_and_cut(persons, cells, bounding, order).values():
        total = sum(map(sum, cells_of_person.values()))
        for cell, numbers in cells_of_person.items():
            for column, number in enumerate(numbers):
                answer[cell, column] += number if total <= most else number * most // total


def _count_cut_persons(
    persons: list[Any], cells: list[int], bounding: "ContributionBounds", order: KeyedOrder
) -> "NDArray[Any]":
    """Count the persons of whom all rows count, and those of whom some are cut off."""
    answer = np.zeros((1, 2), dtype=object)
    for cells_of_person in _kept_and_cut(persons, cells, bounding, order).values():
        answer[0, int(any(cut for _, cut in cells_of_person.values()))] += 1
    return answer


def _kept_and_cut(
    persons: list[Any], cells: list[int], bounding: "ContributionBounds", order: KeyedOrder
) -> dict[Any, dict[int, tuple[int, int]]]:
    """Return the rows that the limits keep and cut off, of each person in each cell."""
    chosen = _chosen(persons, cells, bounding.groups, order)
    found: dict[Any, dict[int, tuple[int, int]]] = defaultdict(dict)
    for (person, cell), number in Counter(zip(persons, cells, strict=True)).items():
        kept = min(number, bounding.rows) if (person, cell) in chosen else 0
        found[person][cell] = (kept, number - kept)
    return found


def _count_distinct(
    answer: "NDArray[Any]",
    column: Expression,
    rows: CleanRows,
    groups: Mapping[Any, list[int]],
    most: int | None,
    order: KeyedOrder,
) -> None:
    kind, values = kind_of(column, rows.kinds), rows.values(column)
    found: dict[int, set[Any]] = defaultdict(set)
    for (person, cell), places in groups.items():
        mine = {whole_value(values[place], kind) for place in places if values[place] is not None}
        if most is not None:
            key = {v: (order.hash_integers(_number(person, order), cell, _number(v, order)), v) for v in mine}
            mine = set(sorted(mine, key=key.__getitem__)[:most])
        found[cell] |= mine
    for cell, different in found.items():
        answer[cell, 0] = len(different)
