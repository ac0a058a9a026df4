"""What one person contributes stays within bounds, is fair, and loses nothing that is allowed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from celosia.query.engines.duckdb import DuckDBDialect, open_relation
from celosia.query.execution.bounding import average_down, choose_cells, person_number, sample_rows, take_first
from celosia.query.execution.hashing import KeyedOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ORDER = KeyedOrder((1, 2, 3, 4))
Row = tuple[int, int, int]
Run: TypeAlias = "Callable[[pa.Table, Callable[[Any], Any]], pa.Table]"


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run a query over a few rows in DuckDB."""
    import ibis

    backend = ibis.duckdb.connect(threads=1)

    def ran(rows: pa.Table, make: Callable[[Any], Any]) -> pa.Table:
        backend.con.register("rows", rows)
        return backend.con.sql(backend.compile(make(open_relation(backend, "rows")))).to_arrow_table()

    yield ran
    backend.disconnect()


def visits(rows: list[Row]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    arrays = [pa.array(list(column), pa.int64()) for column in columns]
    return pa.table(dict(zip(("person", "cell", "value"), arrays, strict=True)))


def as_rows(table: pa.Table) -> list[Row]:
    return list(zip(*(table.column(name).to_pylist() for name in ("person", "cell", "value")), strict=True))


ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 6), st.integers(0, 3)), max_size=30)


@settings(max_examples=30)
@given(rows=ROWS, groups=st.integers(1, 4))
def test_a_person_keeps_whole_cells_and_as_many_as_allowed(run: Run, rows: list[Row], groups: int) -> None:
    kept = Counter(as_rows(run(visits(rows), lambda table: choose_cells(table, groups, ORDER, DuckDBDialect()))))
    had, has = defaultdict(set), defaultdict(set)
    for person, cell, _ in rows:
        had[person].add(cell)
    for person, cell, _ in kept:
        has[person].add(cell)
    assert {person: len(cells) for person, cells in has.items()} == {
        person: min(groups, len(cells)) for person, cells in had.items()
    }
    assert kept == Counter(row for row in rows if row[1] in has[row[0]])


@settings(max_examples=20)
@given(rows=ROWS, groups=st.integers(1, 4), data=st.data())
def test_the_rows_kept_depend_on_one_person_alone(run: Run, rows: list[Row], groups: int, data: st.DataObject) -> None:
    alone = [row for row in rows if row[0] == 0]
    others = data.draw(st.permutations(rows))
    dialect = DuckDBDialect()
    mine = Counter(as_rows(run(visits(alone), lambda table: choose_cells(table, groups, ORDER, dialect))))
    among = Counter(as_rows(run(visits(others), lambda table: choose_cells(table, groups, ORDER, dialect))))
    assert mine == Counter({row: count for row, count in among.items() if row[0] == 0})


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_all_cells_have_the_same_chance(run: Run, groups: int) -> None:
    persons, cells = 20_000, 7
    rows = pa.table(
        {"person": np.repeat(np.arange(persons), cells), "cell": np.tile(np.arange(cells), persons)}
    ).append_column("value", pa.array(np.zeros(persons * cells, dtype=np.int64)))
    kept = run(rows, lambda table: choose_cells(table, groups, ORDER, DuckDBDialect()))
    counts = np.bincount(kept.column("cell").to_numpy(), minlength=cells)
    assert counts.sum() == persons * groups
    assert stats.chisquare(counts).pvalue > 1e-6


@settings(max_examples=30)
@given(rows=ROWS, most=st.integers(1, 4))
def test_sampled_rows_are_rows_and_as_many_as_allowed(run: Run, rows: list[Row], most: int) -> None:
    kept = Counter(as_rows(run(visits(rows), lambda table: sample_rows(table, "value", most, ORDER, DuckDBDialect()))))
    assert kept <= Counter(rows)
    had = Counter((person, cell) for person, cell, _ in rows)
    has: Counter[tuple[int, int]] = Counter()
    for (person, cell, _), count in kept.items():
        has[person, cell] += count
    assert has == Counter({key: min(count, most) for key, count in had.items()})


def test_a_value_that_is_there_twice_has_two_chances(run: Run) -> None:
    persons = 20_000
    rows = pa.table(
        {
            "person": np.repeat(np.arange(persons), 3),
            "cell": np.zeros(3 * persons, dtype=np.int64),
            "value": np.tile([5, 5, 9], persons),
        }
    )
    kept = run(rows, lambda table: sample_rows(table, "value", 1, ORDER, DuckDBDialect()))
    fives = int((kept.column("value").to_numpy() == 5).sum())
    assert stats.binomtest(fives, persons, 2 / 3).pvalue > 1e-6


def test_texts_and_numbers_both_identify(run: Run) -> None:
    for persons in (pa.array([-(2**63), 2**63 - 1, 0]), pa.array(["", "ñ", "x|y"])):
        found = run(
            pa.table({"person": persons}), lambda table: table.select(n=person_number(table, ORDER, DuckDBDialect()))
        )
        numbers = found.column("n").to_pylist()
        assert all(0 <= number <= 2**32 for number in numbers)
        assert len(set(numbers)) == 3


def test_ties_are_broken(run: Run) -> None:
    rows = pa.table({"person": [1, 1, 1, 2], "key": ["b", "a", "c", "z"], "rank": [0, 0, 1, 5]})
    kept = run(rows, lambda table: take_first(table, ["person"], ["key"], 1))
    assert sorted(zip(kept.column("person").to_pylist(), kept.column("key").to_pylist(), strict=True)) == [
        (1, "a"),
        (2, "z"),
    ]


# ---------------------------------------------------------------------------------------------------------- averages


def shares(
    run: Run, sums: list[tuple[int | None, int]], rows: int, reach: tuple[int, int] = (-(2**62), 2**62)
) -> list[int]:
    totals, counts = zip(*sums, strict=True)
    table = pa.table({"total": pa.array(totals, pa.decimal128(38, 0)), "count": pa.array(counts, pa.int64())})
    made = run(table, lambda t: t.select(share=average_down(t.total, t["count"], rows, reach)))
    return made.column("share").to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 1000, 2**20 + 1])
def test_averages_are_never_more_than_the_rows_that_are_allowed(run: Run, rows: int) -> None:
    rng = np.random.default_rng(108)
    counts = [int(2.0**power) for power in rng.uniform(0, 40, 4000)]
    largest = [2 ** int(power) for power in rng.integers(0, 41, 4000)]
    totals = [
        round(count * each * float(part))
        for count, each, part in zip(counts, largest, rng.uniform(-1, 1, 4000), strict=True)
    ]
    totals[::3] = [count * (total // count) for count, total in zip(counts[::3], totals[::3], strict=True)]
    held = [max(-(2**62), min(2**62, total)) for total in totals]
    for share, total, count in zip(
        shares(run, list(zip(totals, counts, strict=True)), rows), held, counts, strict=True
    ):
        if count <= rows:
            assert share == total
            continue
        whole = abs(total) * rows // count
        assert share * total >= 0
        assert abs(share) <= whole
        assert abs(share) == whole if abs(total) * rows < 2**53 else abs(share) >= whole - whole // 2**48 - 1


@pytest.mark.parametrize(
    ("total", "count", "rows", "share"),
    [
        (None, 0, 3, 0),
        (6, 6, 3, 3),
        (7, 2, 1, 3),
        (-7, 2, 1, -3),
        (2**53 - 1, 2, 1, 2**52 - 1),
        (3 * (2**51 - 1), 3, 1, 2**51 - 1),
        (2**100, 2**50, 1, math.floor(2.0**12 * (1 - 2.0**-50))),
        (-(2**100), 1, 1, -(2**62)),
    ],
)
def test_averages_at_the_edges(run: Run, total: int | None, count: int, rows: int, share: int) -> None:
    assert shares(run, [(total, count)], rows) == [share]
    if total is None or total >= 0:
        assert shares(run, [(total, count)], rows, (0, 2**62)) == [share]


def test_averages_stay_within_what_so_many_rows_can_have(run: Run) -> None:
    sums: list[tuple[int | None, int]] = [(10**9, 10), (-(10**9), 10), (10**9, 1), (7, 10)]
    assert shares(run, sums, 2, (-5, 8)) == [16, -10, 16, 1]
    assert shares(run, sums[:1], 2, (0, 8)) == [16]
