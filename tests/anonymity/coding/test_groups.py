"""Groups and matches against a plain comparison of rows."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity.coding import count_matches, encode, group_rows, sort_rows

values = st.one_of(st.none(), st.integers(0, 3))
tables = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[values] * width), min_size=1, max_size=30))


def encode_all(rows: list[tuple[int | None, ...]]) -> list[object]:
    return [encode(pa.array(column, pa.int64()), name="c") for column in zip(*rows, strict=True)]


@given(tables)
def test_groups_are_the_equal_rows(rows: list[tuple[int | None, ...]]) -> None:
    groups = group_rows(encode_all(rows))
    for (left, one), (right, two) in itertools.combinations(enumerate(rows), 2):
        assert (groups.ids[left] == groups.ids[right]) == (one == two)
    assert np.array_equal(np.bincount(groups.ids, minlength=groups.count), groups.sizes)
    assert [groups.ids[row] for row in groups.find_examples()] == list(range(groups.count))
    order, starts = groups.list_rows()
    assert all((groups.ids[order[starts[g] : starts[g + 1]]] == g).all() for g in range(groups.count))


@given(tables)
def test_matches_are_the_rows_that_agree_where_both_are_known(rows: list[tuple[int | None, ...]]) -> None:
    expected = [
        sum(all(a is None or b is None or a == b for a, b in zip(one, two, strict=True)) for two in rows)
        for one in rows
    ]
    assert count_matches(encode_all(rows)).tolist() == expected
    weights = np.arange(1.0, len(rows) + 1)
    weighted = [
        sum(
            weight
            for two, weight in zip(rows, weights, strict=True)
            if all(a is None or b is None or a == b for a, b in zip(one, two, strict=True))
        )
        for one in rows
    ]
    assert np.allclose(count_matches(encode_all(rows), weights), weighted)


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_group(rows: list[tuple[int | None, ...]], lot: object) -> None:
    order = np.array(lot.sample(range(len(rows)), len(rows)))  # type: ignore[attr-defined]
    shuffled = [rows[place] for place in order]
    assert group_rows(encode_all(rows)).ids[order].tolist() == group_rows(encode_all(shuffled)).ids.tolist()
    once = [rows[place] for place in sort_rows(tuple(encode_all(rows)))]  # type: ignore[arg-type]
    twice = [shuffled[place] for place in sort_rows(tuple(encode_all(shuffled)))]  # type: ignore[arg-type]
    assert once == twice


def test_many_wide_columns_do_not_wrap() -> None:
    lot = np.random.default_rng(1)
    columns = [encode(pa.array(lot.integers(0, 10**6, 2000)), name="c") for _ in range(12)]
    twice = [column.take(np.r_[0:2000, 0:2000]) for column in columns]
    assert group_rows(twice).sizes.tolist() == [2] * 2000


def test_no_column_is_one_group() -> None:
    assert group_rows([], rows=3).sizes.tolist() == [3]
    assert group_rows([], rows=0).count == 0
