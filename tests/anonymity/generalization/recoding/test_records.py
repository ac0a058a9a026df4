"""Suppression of columns and of records in small classes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Roles, read_microdata
from celosia.anonymity.generalization import DropRecords, Suppress
from celosia.core.errors import CelosiaError, InfeasibleError

cells = st.one_of(st.none(), st.integers(0, 2))


def is_match(one: tuple[object, ...], two: tuple[object, ...], nulls: str) -> bool:
    if nulls == "category":
        return one == two
    return all(a is None or b is None or a == b for a, b in zip(one, two, strict=True))


@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=15),
    st.integers(1, 4),
    st.sampled_from(["category", "wildcard"]),
)
def test_what_is_left_has_classes_of_k_and_nothing_more_was_dropped(
    rows: list[tuple[int | None, int | None]], k: int, nulls: str
) -> None:
    kept = list(range(len(rows)))
    while small := [i for i in kept if sum(is_match(rows[i], rows[j], nulls) for j in kept) < k]:
        kept = [i for i in kept if i not in small]
    frame = pa.table({"a": pa.array([a for a, _ in rows], pa.int64()), "b": pa.array([b for _, b in rows], pa.int64())})
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["a", "b"], nulls=nulls))  # type: ignore[arg-type]
    if kept:
        assert DropRecords(k=k).apply(data).rows.tolist() == kept
    else:
        with pytest.raises(InfeasibleError) as caught:
            DropRecords(k=k).apply(data)
        assert caught.value.code == "anonymity_recoding.all_classes_small"


def test_a_suppressed_column_is_null_and_keeps_its_type() -> None:
    data = read_microdata(pa.table({"a": [1, 2]}), roles=Roles(quasi_identifiers=["a"]))
    done = Suppress(columns=["a"]).apply(data)
    assert done.table.schema == data.table.schema
    assert done.get_column("a").to_pylist() == [None, None]
    assert done.spreads["a"].tolist() == [1.0, 1.0]


def test_bad_parameters_are_refused() -> None:
    for make, code in (
        (lambda: Suppress(columns=[]), "anonymity_recoding.no_column_given"),
        (lambda: Suppress(columns="age"), "anonymity.names_not_a_list"),
        (lambda: DropRecords(k=0), "core.below_minimum"),
    ):
        with pytest.raises(CelosiaError) as caught:
            make()
        assert caught.value.code == code
