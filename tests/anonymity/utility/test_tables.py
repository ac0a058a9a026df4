"""Frequency tables, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.utility import compare_tables, tabulate


def read() -> Microdata:
    frame = pa.table({"age": [20, 20, 30, None], "sex": ["F", "M", "M", "M"], "w": [1.0, 1.0, 2.0, 4.0]})
    return read_microdata(frame, roles=Roles(quasi_identifiers=["age"], others=["sex"], weight="w"))


def test_a_table_has_the_weights_of_each_value_in_both_files() -> None:
    data = read()
    table = tabulate(data, data.replace_columns({"sex": pa.array(["F", "F", "M", None])}), ["sex"])
    assert table.values == ((None,), ("F",), ("M",))
    assert table.before.tolist() == [0, 1, 7]
    assert table.after.tolist() == [4, 2, 2]
    assert table.total_variation == pytest.approx((4 + 1 + 5) / 8 / 2)
    shares = [(0.5, 4.5), (1.5, 2.5), (7.5, 2.5)]
    assert table.divergence == pytest.approx(sum(p / 9.5 * math.log(p / q) for p, q in shares))


def test_numbers_that_became_text_are_still_the_same_values() -> None:
    data = read()
    table = tabulate(data, data.replace_columns({"age": pa.array(["20", "20-30", "20-30", None])}), ["age"])
    assert dict(zip(table.values, table.after - table.before, strict=True)) == {
        (None,): 0,
        ("20",): -1,
        ("20-30",): 3,
        ("30",): -2,
    }


def test_pairs_count_combinations() -> None:
    data = read()
    (table,) = compare_tables(data, data.keep_rows(np.array([1, 2, 3])), ways=2).values()
    assert table.columns == ("age", "sex")
    assert dict(zip(table.values, table.after.tolist(), strict=True)) == {
        (None, "M"): 4,
        (20, "F"): 0,
        (20, "M"): 1,
        (30, "M"): 2,
    }
    same = compare_tables(data, data)
    assert [one.total_variation for one in same.values()] == [0, 0]
    assert [one.divergence for one in same.values()] == [0, 0]
