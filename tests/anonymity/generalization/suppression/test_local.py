"""Local suppression against plain counts of all combinations, and against the fewest cells that are possible."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.generalization import LocalSuppression
from celosia.anonymity.generalization.suppression import cells as keys_of
from celosia.core.errors import CelosiaError, InfeasibleError
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[Any, ...]

tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 3))] * width), min_size=1, max_size=25)
)


def read(rows: Sequence[Row], strata: Sequence[int] | None = None, nulls: str = "category") -> Microdata:
    names = [f"q{place}" for place in range(len(rows[0]))]
    frame = pa.table(
        {name: pa.array(column, pa.int64()) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )
    frame = frame.append_column("other", pa.array(np.arange(len(rows)) if strata is None else np.array(strata)))
    roles = Roles(
        quasi_identifiers=names,
        nulls=nulls,  # type: ignore[arg-type]
        stratum=None if strata is None else "other",
        others=["other"] if strata is None else [],
    )
    return read_microdata(frame, roles=roles)


def list_rows(data: Microdata) -> list[Row]:
    return list(zip(*(data.get_column(name).to_pylist() for name in data.roles.quasi_identifiers), strict=True))


def count_least(rows: Sequence[Row]) -> tuple[int, int]:
    """The size of the smallest class where nulls are a category, and where they are wildcards."""
    matches = [
        sum(all(a is None or b is None or a == b for a, b in zip(one, two, strict=True)) for two in rows)
        for one in rows
    ]
    return min(Counter(rows).values()), min(matches)


def count_suppressed(before: Sequence[Row], after: Sequence[Row]) -> int:
    return sum(a != b for one, two in zip(before, after, strict=True) for a, b in zip(one, two, strict=True))


def find_fewest(rows: Sequence[Row], k: int) -> int:
    """The fewest cells, over all partitions into classes of k to 2k - 1 records: larger ones can be split."""

    def price(members: tuple[int, ...]) -> int:
        columns = zip(*(rows[place] for place in members), strict=True)
        return sum(sum(value is not None for value in column) for column in columns if len(set(column)) > 1)

    @functools.cache
    def solve(left: frozenset[int]) -> float:
        if not left:
            return 0
        first = min(left)
        groups = (
            (first, *rest)
            for size in range(k - 1, 2 * k - 1)
            for rest in itertools.combinations(sorted(left - {first}), size)
        )
        return min((price(group) + solve(left - {*group}) for group in groups), default=float("inf"))

    return int(solve(frozenset(range(len(rows)))))


@given(tables, st.integers(1, 5), st.sampled_from(["category", "wildcard"]))
def test_every_record_has_k_equals_under_both_meanings_of_null(rows: list[Row], k: int, nulls: str) -> None:
    data = read(rows, nulls=nulls)
    if len(rows) < k:
        with pytest.raises(InfeasibleError) as caught:
            LocalSuppression(k=k).apply(data)
        assert caught.value.code == "anonymity_recoding.too_few_records"
        return
    done = LocalSuppression(k=k).apply(data)
    after = list_rows(done)
    assert min(count_least(after)) >= k
    for place, (one, two) in enumerate(zip(list_rows(data), after, strict=True)):
        for name, old, new in zip(data.roles.quasi_identifiers, one, two, strict=True):
            assert new in {old, None}
            spread = done.spreads.get(name)
            assert (0.0 if spread is None else spread[place]) == float(old is not None and new is None)


@given(tables, st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_every_combination_has_k_equals_under_both_meanings_of_null(
    rows: list[Row],
    k_one: int,
    k_more: int,
    whole: bool,  # noqa: FBT001
) -> None:
    """What sdcMicro's combinations do not give: a null in one set of columns breaks the classes of another."""
    width = len(rows[0])
    asked = {size: k for size, k in {1: k_one, 2: k_more}.items() if size <= width}
    k = 2 if whole else None
    if len(rows) < max(k_one, k_more, 2):
        return
    after = list_rows(LocalSuppression(k=k, combinations=asked).apply(read(rows)))
    for size, least in {**asked, **({width: max(2, asked.get(width, 1))} if whole else {})}.items():
        for columns in itertools.combinations(range(width), size):
            assert min(count_least([tuple(row[place] for place in columns) for row in after])) >= least


def test_nulls_made_for_some_columns_do_not_break_the_classes_of_others() -> None:
    lot = np.random.default_rng(5)
    for _ in range(30):
        rows = [tuple(row) for row in np.minimum(lot.geometric(0.4, (30, 4)), 6).tolist()]
        after = list_rows(LocalSuppression(combinations={2: 3}).apply(read(rows)))
        for columns in itertools.combinations(range(4), 2):
            assert min(count_least([tuple(row[place] for place in columns) for row in after])) >= 3


@given(tables, st.integers(1, 3), st.randoms(use_true_random=False))
def test_strata_are_protected_separately(rows: list[Row], k: int, lot: Any) -> None:
    rows = rows * k * 2
    strata = [0] * k + [1] * k + [lot.randrange(2) for _ in rows[2 * k :]]
    after = list_rows(LocalSuppression(k=k).apply(read(rows, strata)))
    for one in (0, 1):
        assert count_least([row for row, stratum in zip(after, strata, strict=True) if stratum == one])[0] >= k


@given(tables, st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(rows: list[Row], k: int, lot: Any) -> None:
    data, k = read(rows), min(k, len(rows))
    order = np.array(lot.sample(range(len(rows)), len(rows)))
    once = LocalSuppression(k=k, combinations={1: k}).apply(data, source=Seeded(3))
    twice = LocalSuppression(k=k, combinations={1: k}).apply(data.keep_rows(order), source=Seeded(3))
    assert once.table.take(pa.array(order)).equals(twice.table)


@given(tables, st.integers(1, 4))
def test_hashed_keys_give_classes_of_k_as_well(rows: list[Row], k: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys_of, "_MAX_KEY", 0)
        k = min(k, len(rows))
        assert count_least(list_rows(LocalSuppression(k=k, combinations={1: k}).apply(read(rows))))[0] >= k


def test_few_more_cells_than_the_fewest_are_suppressed() -> None:
    lot = np.random.default_rng(8)
    total = fewest = 0
    for _ in range(60):
        size, width, k = int(lot.integers(4, 9)), int(lot.integers(2, 5)), int(lot.integers(2, 4))
        rows = [tuple(row) for row in lot.integers(0, int(lot.integers(2, 5)), (size, width)).tolist()]
        found = count_suppressed(rows, list_rows(LocalSuppression(k=k).apply(read(rows))))
        least = find_fewest(rows, k)
        assert found >= least
        total, fewest = total + found, fewest + least
    assert total <= 1.1 * fewest


def test_a_cell_of_a_rare_value_is_all_that_goes() -> None:
    rows = [(1, 1)] * 4 + [(1, 2)]
    after = list_rows(LocalSuppression(k=2).apply(read(rows)))
    assert sorted(after, key=str) == [(1, 1)] * 3 + [(1, None)] * 2


def test_important_columns_are_suppressed_last() -> None:
    rows = [(1, 1, 1), (1, 2, 2), (3, 3, 3), (4, 3, 3), (5, 5, 5), (5, 5, 5)]
    plain = LocalSuppression(k=2).apply(read(rows))
    assert [plain.get_column(name).null_count for name in ("q0", "q1", "q2")] == [2, 2, 2]
    for step in (LocalSuppression(k=2, importance=["q0"]), LocalSuppression(k=2, costs={"q0": 3.0})):
        done = step.apply(read([(1, 1, 1), (1, 2, 2), (3, 1, 1), (3, 2, 2)]))
        assert [done.get_column(name).null_count for name in ("q0", "q1", "q2")] == [0, 4, 4]
    done = LocalSuppression(k=2, importance=["q1", "q2"]).apply(read([(1, 1, 1), (1, 2, 2), (3, 1, 1), (3, 2, 2)]))
    assert [done.get_column(name).null_count for name in ("q0", "q1", "q2")] == [4, 0, 0]


def test_many_columns_end() -> None:
    lot = np.random.default_rng(4)
    rows = [tuple(row) for row in np.minimum(lot.geometric(0.6, (300, 13)), 4).tolist()]
    assert count_least(list_rows(LocalSuppression(k=4).apply(read(rows))))[0] >= 4


def test_bad_input_is_refused() -> None:
    data = read([(1, 1), (1, 2), (2, 2)], strata=[0, 0, 1])
    for make, code in (
        (LocalSuppression, "anonymity_recoding.nothing_asked"),
        (lambda: LocalSuppression(k=0), "core.below_minimum"),
        (lambda: LocalSuppression(combinations={2: 0}), "core.below_minimum"),
        (lambda: LocalSuppression(combinations={0: 2}), "core.below_minimum"),
        (lambda: LocalSuppression(k=2, importance=["q0"], costs={"q0": 1}), "anonymity_recoding.importance_and_costs"),
        (lambda: LocalSuppression(k=2, costs={"q0": 0}), "anonymity_recoding.cost_not_positive"),
        (lambda: LocalSuppression(combinations={3: 2}).apply(data), "anonymity_recoding.combination_too_large"),
        (lambda: LocalSuppression(k=1, importance=["other"]).apply(data), "anonymity_recoding.not_a_quasi_identifier"),
        (lambda: LocalSuppression(k=2).apply(data), "anonymity_recoding.stratum_too_small"),
        (lambda: LocalSuppression(k=4).apply(data), "anonymity_recoding.too_few_records"),
    ):
        with pytest.raises(CelosiaError) as caught:
            make()
        assert caught.value.code == code
