"""Minimal sample uniques against all sets of columns of small tables."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.risk import find_special_uniques
from celosia.core.errors import ParameterError

values = st.one_of(st.none(), st.integers(0, 2))
tables = st.integers(1, 5).flatmap(lambda width: st.lists(st.tuples(*[values] * width), min_size=1, max_size=14))
NAMES = "abcde"


def read(records: list[tuple[Any, ...]], nulls: Any = "category") -> Microdata:
    columns = {
        name: pa.array(column, pa.int64()) for name, column in zip(NAMES, zip(*records, strict=True), strict=False)
    }
    return read_microdata(pa.table(columns), roles=Roles(quasi_identifiers=list(columns), nulls=nulls))


def find_plainly(records: list[tuple[Any, ...]], row: int, largest: int, *, wild: bool) -> set[tuple[int, ...]]:
    def matches(chosen: tuple[int, ...]) -> int:
        def same(one: Any, two: Any) -> bool:
            return one == two or (wild and (one is None or two is None))

        return sum(all(same(records[row][c], other[c]) for c in chosen) for other in records)

    width = len(records[0])
    unique = [c for s in range(1, width + 1) for c in itertools.combinations(range(width), s) if matches(c) == 1]
    return {c for c in unique if len(c) <= largest and not any(set(d) < set(c) for d in unique)}


@given(tables, st.sampled_from(["category", "wildcard"]), st.integers(1, 5))
def test_sets_and_scores_are_those_of_a_full_search(records: list[tuple[Any, ...]], nulls: Any, largest: int) -> None:
    found = find_special_uniques(read(records, nulls), max_size=largest)
    width = len(records[0])
    for row in range(len(records)):
        expected = find_plainly(records, row, largest, wild=nulls == "wildcard")
        assert set(found.get_sets(row)) == {tuple(NAMES[place] for place in chosen) for chosen in expected}
        score = sum(math.factorial(width - len(chosen)) for chosen in expected)
        assert found.scores[row] == score
        assert found.sizes[row] == min(map(len, expected), default=0)
        for place in range(width):
            part = sum(math.factorial(width - len(chosen)) for chosen in expected if place in chosen)
            assert found.contributions[row, place] == pytest.approx(part / score if score else 0)


def test_dis_scores_keep_the_mean_odds_of_a_match() -> None:
    """Skinner and Elliot 2002: uniques and pairs of a sample say how often a match of a unique is right."""
    lot = np.random.default_rng(3)
    records = [tuple(map(int, row)) for row in lot.integers(0, 4, (120, 4))]
    found = find_special_uniques(read(records), max_size=4, fraction=0.2)
    classes = [records.count(record) for record in records]
    uniques, in_pairs = classes.count(1), classes.count(2)
    right = uniques * 0.2 / (uniques * 0.2 + in_pairs * 0.8)
    scored = found.dis_scores[found.scores > 0]
    assert len(scored) == uniques
    assert np.mean(1 / scored - 1) == pytest.approx(1 / right - 1)
    by_score = np.argsort(found.scores)
    assert (np.diff(found.dis_scores[by_score]) >= -1e-15).all()
    # Four columns: the odds grow with the score to the power 1.2.
    high, low = np.argmax(found.scores), np.flatnonzero(found.scores == found.scores[found.scores > 0].min())[0]
    odds = found.dis_scores / (1 - found.dis_scores)
    assert odds[high] / odds[low] == pytest.approx((found.scores[high] / found.scores[low]) ** 1.2)


def test_a_hand_worked_table() -> None:
    records = [(1, 1, 1), (1, 1, 1), (1, 2, 1), (2, 1, 2), (2, 2, 2), (3, 1, 1)]
    found = find_special_uniques(read(records), max_size=3)
    # Record 3: {a, b}, {b, c}; record 4: {a, b}, {b, c}; record 2: {a, b}, {b, c}; record 5: {a}.
    assert [set(found.get_sets(row)) for row in range(6)] == [
        set(),
        set(),
        {("a", "b"), ("b", "c")},
        {("a", "b"), ("b", "c")},
        {("a", "b"), ("b", "c")},
        {("a",)},
    ]
    assert found.scores.tolist() == [0, 0, 2, 2, 2, 2]
    assert found.column_contributions == pytest.approx({"a": 5 / 8, "b": 6 / 8, "c": 3 / 8})
    names, parts = found.measure_values("a")
    assert names == (None, 1, 2, 3)
    assert parts.tolist() == pytest.approx([0, 1 / 5, 2 / 5, 2 / 5])


def test_the_fraction_comes_from_the_weights() -> None:
    records = [(1, 1), (1, 1), (2, 1), (1, 2)]
    table = read(records).table.append_column("w", pa.array([5.0] * 4))
    weighted = read_microdata(table, roles=Roles(quasi_identifiers=["a", "b"], weight="w"))
    known = find_special_uniques(weighted).dis_scores
    assert known.tolist() == find_special_uniques(read(records), fraction=0.2).dis_scores.tolist()
    assert find_special_uniques(read(records), fraction=1).dis_scores.tolist() == [0, 0, 1, 1]
    assert known.tolist() != find_special_uniques(read(records)).dis_scores.tolist()


def test_the_order_of_records_does_not_matter() -> None:
    lot = np.random.default_rng(1)
    records = [tuple(map(int, row)) for row in lot.integers(0, 3, (60, 5))]
    order = lot.permutation(60)
    found, again = find_special_uniques(read(records)), find_special_uniques(read(records).keep_rows(order))
    assert again.scores.tolist() == found.scores[order].tolist()
    assert again.dis_scores.tolist() == pytest.approx(found.dis_scores[order].tolist())


def test_tables_of_figures_and_bad_requests() -> None:
    data = read([(1, 1), (1, 2), (1, 2)])
    found = find_special_uniques(data)
    assert "Unique on 1 columns, not on fewer" in str(found)
    assert "Contribución de b" in found.describe("es")
    assert str(find_special_uniques(read([(1, 1), (1, 1)])))  # without a unique, nothing divides by zero
    wide = read_microdata(
        pa.table({f"c{i}": [1, 2] for i in range(40)}), roles=Roles(quasi_identifiers=[f"c{i}" for i in range(40)])
    )
    bad: list[tuple[Any, dict[str, Any], str]] = [
        (wide, {"max_size": 5}, "anonymity_risk.too_many_sets"),
        (data, {"fraction": 0}, "anonymity_risk.not_a_fraction"),
        (data, {"fraction": 1.2}, "anonymity_risk.not_a_fraction"),
        (data, {"fraction": "x"}, "anonymity_risk.not_a_fraction"),
    ]
    for given_data, options, code in bad:
        with pytest.raises(ParameterError) as caught:
            find_special_uniques(given_data, **options)
        assert caught.value.code == code
    with pytest.raises(ParameterError, match="max_size"):
        find_special_uniques(data, max_size=0)
    with pytest.raises(ParameterError, match="no column 'z'"):
        found.measure_values("z")
