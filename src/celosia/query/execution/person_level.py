"""Summaries with bounded persons: cells are chosen, rows averaged or sampled, then added up.

Keys become the numbers of cells inside the engine, by joins with short public lists. Rows outside all cells are removed
before a person's cells are chosen, so a person loses nothing to keys outside the query.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.query.execution.bounding import (
    BUCKETS,
    CELL,
    average_down,
    bucket_index,
    choose_cells,
    mark_cells,
    person_number,
    sample_rows,
    take_first,
    value_number,
)
from celosia.query.execution.dialect import integer_literal
from celosia.query.execution.hashing import KeyedOrder
from celosia.query.execution.row_level import (
    CountInput,
    SumInput,
    Summary,
    Sums,
    encode_labels,
    to_integers,
)
from celosia.query.execution.rows import PERSON
from celosia.query.plan.expressions import kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir
    from numpy.typing import NDArray

    from celosia.query.execution.rows import Rows
    from celosia.query.plan.nodes import Key
    from celosia.query.planning.cells import Cells
    from celosia.statistics import ContributionBounds


class PersonLevel:
    """Bounded queries over persons."""

    def __init__(
        self,
        rows: "Rows",
        keys: "Sequence[Key]",
        cells: "Cells",
        bounding: "ContributionBounds",
        order: KeyedOrder,
    ) -> None:
        self._rows, self._keys, self._cells, self._bounding, self._order = rows, keys, cells, bounding, order

    def sums(self, requests: Sequence[SumInput]) -> Summary:
        """Return the query of the sums of all requests, averaged down for persons with too many rows."""
        dialect, most = self._rows.dialect, self._bounding.rows
        table = self._chosen_rows({name: value for request in requests for name, value in request.columns.items()})
        numbers = {f"n{place}": request.count(table) for place, request in enumerate(requests)}
        made = [request.sums(table, dialect) for request in requests]
        names = [[f"f{place}_{j}" for j in range(len(values))] for place, values in enumerate(made)]
        sums = {
            name: value
            for group, values in zip(names, made, strict=True)
            for name, value in zip(group, values, strict=True)
        }
        each = table.group_by([PERSON, CELL]).aggregate(**numbers, **sums)
        bounded = {
            name: average_down(each[name], each[f"n{place}"], most, reach)
            for place, (request, group) in enumerate(zip(requests, names, strict=True))
            for name, reach in zip(group, request.reach, strict=True)
        }
        return self._sum_by_cell(each.select(CELL, **bounded), names)

    def counts(self, counted: CountInput) -> Summary:
        """Return the query of the number of rows by value, with at most the allowed rows of each person."""
        import pyarrow as pa

        table = self._chosen_rows({"value": counted.value})
        if counted.known is not None:
            table = self._look_up(table, "value", pa.array(counted.known))
        table = sample_rows(
            table.filter(table.value.notnull()), "value", self._bounding.rows, self._order, self._rows.dialect
        )
        return self._count(table, counted.request.measure.width, ["value"])

    def distinct(self, value: "ir.Value") -> Summary:
        """Return the query of the number of distinct values, with at most the allowed rows of each person."""
        dialect, order = self._rows.dialect, self._order
        table = self._chosen_rows({"value": value})
        table = table.filter(table.value.notnull()).distinct()
        number = value_number(table.value, order, dialect)
        ranked = table.mutate(rank=order.hash_integers(person_number(table, order, dialect), table[CELL], number))
        kept = take_first(ranked, [PERSON, CELL], ["value"], self._bounding.rows).select(CELL, "value").distinct()
        return self._count(kept)

    def persons(self) -> Summary:
        """Return the query of the number of distinct persons."""
        return self._count(self._chosen_rows({}).select(PERSON, CELL).distinct())

    def contributions(self) -> Summary:
        """Return the query of the persons by buckets of their numbers of cells and of rows in one cell.

        They are counted in that cell. The keyed order selects the cell, as if one cell of each person counted.
        """
        import ibis

        table = self._rows_in_cells({})
        each = table.group_by([PERSON, CELL]).aggregate(rows=table.count())
        each = each.mutate(cells=each.count().over(ibis.window(group_by=PERSON)))
        one = choose_cells(each, 1, self._order, self._rows.dialect)
        placed = one.select(CELL, value=bucket_index(one.cells) * integer_literal(BUCKETS) + bucket_index(one.rows))
        return self._count(placed, BUCKETS**2, ["value"])

    def cut_off(self, most: int) -> Summary:
        """Return the query of the rows that the limits keep and cut off, and of the complete and incomplete persons.

        Rows are counted in each cell, persons in all together. At most ``most`` rows of one person count, in all cells
        together: a person with more is scaled down, cell by cell, and rounded down.
        """
        import ibis

        table = self._rows_in_cells({})
        each = table.group_by([PERSON, CELL]).aggregate(rows=table.count())
        each = mark_cells(each, self._bounding.groups, self._order, self._rows.dialect)
        kept = ibis.cases(
            (each.counts, ibis.least(each.rows, integer_literal(self._bounding.rows))), else_=integer_literal(0)
        )
        each = each.mutate(kept=kept, cut=each.rows - kept)
        person = ibis.window(group_by=PERSON)
        each = each.mutate(
            total=each.rows.sum().over(person).cast("int64"),
            lost=each.cut.sum().over(person).cast("int64"),
            first=each[CELL] == each[CELL].min().over(person),
        )
        scaled = {
            name: average_down(each[name].cast("decimal(38, 0)"), each.total, most, (0, 1)) for name in ("kept", "cut")
        }
        # Each person is counted in one of its cells; the cells are added up, so any will do.
        persons = {
            name: ibis.cases((each.first & condition, integer_literal(1)), else_=integer_literal(0)).cast(
                "decimal(38, 0)"
            )
            for name, condition in (
                ("complete", each.lost == integer_literal(0)),
                ("incomplete", each.lost > integer_literal(0)),
            )
        }
        names = [list(scaled), list(persons)]
        by_cell = self._sum_by_cell(each.select(CELL, **scaled, **persons), names)

        def add_up(batches: "Iterable[pa.RecordBatch]") -> "list[NDArray[Any]]":
            rows, found = by_cell.add_up(batches)
            return [rows, found.sum(axis=-2, keepdims=True)]  # over the cells

        return replace(by_cell, add_up=add_up)

    def _count(self, table: "ir.Table", width: int = 1, by: Sequence[str] = ()) -> Summary:
        """Return the query of the number of rows by cell, and by a column of values from 0 to the width."""

        def add_up(batches: "Iterable[pa.RecordBatch]") -> "list[NDArray[Any]]":
            sums = Sums(len(self._cells), width)
            for batch in batches:
                places, *values, numbers = map(to_integers, batch.columns)
                sums.add(places, values[0] if values else 0, numbers)
            return [sums.array]

        return Summary(table.group_by([CELL, *by]).aggregate(rows=table.count()), add_up, len(self._cells) * width)

    def _sum_by_cell(self, table: "ir.Table", names: list[list[str]]) -> Summary:
        def add_up(batches: "Iterable[pa.RecordBatch]") -> "list[NDArray[Any]]":
            found = [Sums(len(self._cells), len(group)) for group in names]
            where = [(sums, column) for sums, group in zip(found, names, strict=True) for column in range(len(group))]
            for batch in batches:
                places = to_integers(batch.columns[0])
                for (sums, place), column in zip(where, batch.columns[1:], strict=True):
                    sums.add(places, place, to_integers(column))
            return [sums.array for sums in found]

        total = {name: self._rows.dialect.total(table[name]) for group in names for name in group}
        return Summary(table.group_by(CELL).aggregate(**total), add_up, len(self._cells))

    def _chosen_rows(self, inputs: "dict[str, ir.Value]") -> "ir.Table":
        """Return the rows of the cells that count, with their persons, cells and inputs."""
        table = self._rows_in_cells(inputs)
        if self._bounding.groups >= len(self._cells):
            return table
        return choose_cells(table, self._bounding.groups, self._order, self._rows.dialect)

    def _rows_in_cells(self, inputs: "dict[str, ir.Value]") -> "ir.Table":
        """Return the rows that belong to a cell, with its number."""
        rows = self._rows
        keys = {f"k{place}": rows.label(key.expression) for place, key in enumerate(self._keys)}
        table = rows.table.select(PERSON, **keys, **inputs)
        known = {
            name: encode_labels(values, kind_of(key.expression, rows.kinds))
            for name, key, values in zip(keys, self._keys, self._cells.values, strict=True)
        }
        if self._cells.rows is not None:
            return table.join(self._cell_table(known), list(keys)).select(PERSON, CELL, *inputs)
        for name, column in known.items():
            table = self._look_up(table, name, column)
        cell = None
        for name, column in known.items():
            cell = table[name] if cell is None else cell * integer_literal(len(column)) + table[name]
        return table.select(PERSON, *inputs, **{CELL: integer_literal(0) if cell is None else cell})

    def _cell_table(self, known: "dict[str, pa.Array]") -> "ir.Table":
        """Return the key combinations that make a cell, with its number."""
        import pyarrow as pa

        rows = np.array(self._cells.rows, dtype=np.int64).reshape(len(self._cells), len(known))
        columns = {name: column.take(pa.array(rows[:, place])) for place, (name, column) in enumerate(known.items())}
        return self._rows.dialect.small_table(pa.table(columns | {CELL: pa.array(np.arange(len(rows)))}))

    def _look_up(self, table: "ir.Table", name: str, known: "pa.Array") -> "ir.Table":
        """Return the rows whose label is known, with its position in the list instead."""
        import pyarrow as pa

        first = _first_of_consecutive(known)
        if first is not None:
            inside = table.filter(table[name].between(integer_literal(first), integer_literal(first + len(known) - 1)))
            return inside.mutate(**{name: inside[name] - integer_literal(first)})
        lookup = self._rows.dialect.small_table(pa.table({name: known, "place": pa.array(np.arange(len(known)))}))
        return table.join(lookup, name).drop(name).rename(**{name: "place"})


def _first_of_consecutive(known: "pa.Array") -> int | None:
    import pyarrow as pa

    if not pa.types.is_integer(known.type) or not len(known):
        return None
    numbers = known.to_numpy()
    return int(numbers[0]) if bool((np.diff(numbers) == 1).all()) else None
