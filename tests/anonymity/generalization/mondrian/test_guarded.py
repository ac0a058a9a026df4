"""Mondrian under l-diversity and t-closeness, against plain counts in each class."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.generalization import Mondrian
from celosia.anonymity.models import AverageRisk, DistinctDiversity, EqualCloseness, KAnonymity, KMap
from celosia.core.errors import InfeasibleError, ParameterError
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[int | None, int, str]

rows_of = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 8)), st.integers(0, 2), st.sampled_from("uvwx")),
    min_size=4,
    max_size=40,
)


def read(rows: Sequence[Row], nulls: str = "category") -> Microdata:
    columns = zip(*rows, strict=True)
    frame = pa.table(dict(zip(("n", "m", "ill"), map(pa.array, columns), strict=True)))
    roles = Roles(quasi_identifiers=["n", "m"], sensitive=["ill"], nulls=nulls)  # type: ignore[arg-type]
    return read_microdata(frame, roles=roles)


def list_classes(data: Microdata) -> dict[tuple[Any, ...], list[str]]:
    classes = defaultdict(list)
    for n, m, ill in zip(*(data.get_column(name).to_pylist() for name in ("n", "m", "ill")), strict=True):
        classes[n, m].append(ill)
    return classes


def measure_distance(values: list[str], everyone: list[str]) -> float:
    one, all_ = Counter(values), Counter(everyone)
    return sum(abs(one[value] / len(values) - all_[value] / len(everyone)) for value in all_) / 2


@given(rows_of, st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_each_class_is_diverse(rows: list[Row], k: int, least: int, relaxed: bool) -> None:  # noqa: FBT001
    step = Mondrian(k=k, models=(DistinctDiversity("ill", least),), relaxed=relaxed)
    if len({row[2] for row in rows}) < least:
        with pytest.raises(InfeasibleError, match="DistinctDiversity") as caught:
            step.apply(read(rows))
        assert caught.value.code == "anonymity_recoding.model_infeasible"
        return
    for values in list_classes(step.apply(read(rows))).values():
        assert len(values) >= k
        assert len(set(values)) >= least


@given(rows_of, st.sampled_from([0.2, 0.35, 0.5]))
def test_each_class_is_close_to_the_file(rows: list[Row], most: float) -> None:
    everyone = [row[2] for row in rows]
    for values in list_classes(Mondrian(k=1, models=(EqualCloseness("ill", most),)).apply(read(rows))).values():
        assert measure_distance(values, everyone) <= most + 1e-9


@given(rows_of, st.integers(2, 3))
def test_classes_that_match_by_wildcards_are_diverse_together(rows: list[Row], least: int) -> None:
    if len({row[2] for row in rows}) < least:
        return
    classes = list_classes(Mondrian(k=2, models=(DistinctDiversity("ill", least),)).apply(read(rows, "wildcard")))
    for one in classes:
        matches = [
            key for key in classes if all(a is None or b is None or a == b for a, b in zip(one, key, strict=True))
        ]
        assert len({ill for key in matches for ill in classes[key]}) >= least


@given(rows_of, st.integers(1, 4))
def test_k_as_a_model_gives_the_classes_of_k(rows: list[Row], k: int) -> None:
    plain = Mondrian(k=k).apply(read(rows))
    assert Mondrian(k=1, models=(KAnonymity(k),)).apply(read(rows)).table.num_rows == plain.table.num_rows
    assert Mondrian(k=k, models=(KAnonymity(k),)).apply(read(rows)).table.equals(plain.table)


@given(rows_of, st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(rows: list[Row], relaxed: bool, lot: Any) -> None:  # noqa: FBT001
    data = read(rows)
    order = np.array(lot.sample(range(len(rows)), len(rows)))
    step = Mondrian(k=2, models=(EqualCloseness("ill", 0.5),), relaxed=relaxed)
    once, twice = step.apply(data, source=Seeded(5)), step.apply(data.keep_rows(order), source=Seeded(5))
    # Of equal records any may be in either class.
    assert sorted(map(str, once.table.to_pylist())) == sorted(map(str, twice.table.to_pylist()))


def test_a_refused_column_leaves_the_next_one() -> None:
    # On n both halves would have one illness; on m each has both.
    rows: list[Row] = [(0, 0, "u"), (1, 1, "u"), (8, 0, "v"), (9, 1, "v")]
    done = Mondrian(k=2, models=(DistinctDiversity("ill", 2),)).apply(read(rows))
    assert list(list_classes(done)) == [("0-8", 0), ("1-9", 1)]


def test_models_of_files_and_populations_are_refused() -> None:
    for model in (AverageRisk(0.1), KMap(2, population=pa.table({"n": [1], "m": [1]})), "k"):
        with pytest.raises(ParameterError) as caught:
            Mondrian(k=2, models=(model,))  # type: ignore[arg-type]
        assert caught.value.code == "anonymity_recoding.model_not_of_classes"
