"""Grouping distinct records again at a node is grouping all generalized records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity.coding import Coded, encode, group_rows
from celosia.anonymity.generalization.full_domain.base import Base, read_base
from celosia.anonymity.generalization.full_domain.kernels import number_rows
from celosia.anonymity.generalization.full_domain.lattice import Lattice, build_lattice
from celosia.anonymity.hierarchies import Categories
from celosia.anonymity.models.reading import read_records
from tests.anonymity.generalization.full_domain.enumeration import build, files


def is_same_grouping(one: Any, two: Any) -> bool:
    pairs = set(zip(one.tolist(), two.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(two.tolist()))


def read(data: Any) -> tuple[Base, Lattice, tuple[Coded, ...]]:
    file = build(data)
    columns, records = read_records(file, (), also=["illness"])
    lattice = build_lattice(file.roles.quasi_identifiers, columns, file.hierarchies, {})
    return read_base(columns, records, lattice), lattice, columns


@given(files(), st.data())
def test_a_node_groups_the_generalized_records(data: Any, draw: st.DataObject) -> None:
    base, lattice, columns = read(data)
    low = [draw.draw(st.integers(0, top)) for top in lattice.top]
    levels = [draw.draw(st.integers(level, top)) for level, top in zip(low, lattice.top, strict=True)]
    expected = group_rows(
        [
            Coded(ladder.codes[level][ladder.place_nulls(column.codes)].astype(np.int32), pa.array(range(9)))
            for ladder, level, column in zip(lattice.ladders, levels, columns, strict=True)
        ]
    ).ids
    for one in (base, base.collapse(lattice, low)):
        ids, count = one.group(lattice, levels)
        assert is_same_grouping(ids[one.ids], expected)
        assert count == len(set(expected.tolist()))
        assert one.counts.sum() == len(expected)
        assert np.array_equal(one.records.codes["illness"][one.ids], base.records.codes["illness"][base.ids])
        assert np.bincount(one.ids).tolist() == one.counts.tolist()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_a_hash_table_numbers_as_a_table_of_all_keys(rows: list[tuple[int, int]]) -> None:
    codes = np.array(rows, dtype=np.int32)
    table, starts = np.array([0, 1, 2, 3, 0, 4, 8, 12], dtype=np.int64), np.array([0, 4], dtype=np.int64)
    dense, hashed = number_rows(codes, table, starts, 16, 0), number_rows(codes, table, starts, 16, 7)
    assert dense[0].tolist() == hashed[0].tolist()
    assert dense[1] == hashed[1] == len(set(rows))


def test_more_keys_than_an_integer_holds_do_not_wrap() -> None:
    lot = np.random.default_rng(4)
    values = [f"{place:03}" for place in range(300)]
    numbers = lot.integers(0, 300, (200, 12))
    numbers = np.vstack([numbers, numbers])
    columns = [encode(pa.array([values[place] for place in line]), name="c") for line in numbers.T]
    names = [f"c{place}" for place in range(12)]
    hierarchy = Categories([[value] for value in values])
    lattice = build_lattice(names, columns, dict.fromkeys(names, hierarchy), {})
    codes = np.ascontiguousarray(np.stack([column.codes for column in columns], axis=1))
    base = Base(codes=codes, records=None, ids=np.arange(400, dtype=np.int32))  # type: ignore[arg-type]
    ids, count = base.group(lattice, [0] * 12)
    assert count == 200
    assert ids[:200].tolist() == ids[200:].tolist()
