"""The attacker's guesses and the error of tables, worked by hand."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from celosia.anonymity import Roles, read_microdata
from celosia.anonymity.advice.comparable import measure_guesses, measure_table_error
from celosia.core.errors import SchemaError

ROLES = Roles(quasi_identifiers=["age", "sex"], sensitive=["illness"])
TABLE = pa.table(
    {
        "age": [30, 31, 58, 60, 61, 59],
        "sex": ["F", "M", "F", "M", "F", "M"],
        "illness": ["flu", "none", "flu", "flu", "asthma", "none"],
    }
)
DATA = read_microdata(TABLE, roles=ROLES)


def test_the_original_gives_everybody_away() -> None:
    found = measure_guesses(DATA, DATA, column="illness")
    assert (found.success, found.baseline) == (1, 0.5)
    assert measure_table_error(DATA, DATA) == 0


def test_a_file_that_says_nothing_leaves_the_most_frequent_value() -> None:
    stars = {name: pa.array(["*"] * 6) for name in ("age", "sex")}
    masked = DATA.replace_columns(stars, spreads={name: np.ones(6) for name in stars})
    assert measure_guesses(DATA, masked, column="illness").success == 0.5
    # Pairs: age and sex are spread evenly over six ages and two sexes, which is right except that ages have one sex.
    error = measure_table_error(DATA, masked)
    assert error == pytest.approx(np.mean([0.5, _spread_error("age"), _spread_error("sex")]))


def _spread_error(name: str) -> Any:
    """Total variation of the table with the illness, if the column is spread evenly."""
    values, illness = TABLE[name].to_pylist(), TABLE["illness"].to_pylist()
    true = dict.fromkeys(((one, two) for one in set(values) for two in set(illness)), 0.0)
    for pair in zip(values, illness, strict=True):
        true[pair] += 1 / 6
    return sum(abs(share - illness.count(two) / 6 / len(set(values))) for (_, two), share in true.items()) / 2


def test_classes_hide_within_themselves() -> None:
    masked = DATA.replace_columns(
        {"age": pa.array(["30-31"] * 2 + ["58-61"] * 4), "sex": pa.array(["*"] * 6)},
        spreads={"age": np.full(6, 0.5), "sex": np.ones(6)},
    )
    # In the first class flu and none tie; in the second flu is right twice of four.
    assert measure_guesses(DATA, masked, column="illness").success == pytest.approx((1 + 2) / 6)


def test_a_file_of_other_people_is_searched_for_the_nearest() -> None:
    other = read_microdata(pa.table({"age": [30, 60], "sex": ["F", "M"], "illness": ["none", "flu"]}), roles=ROLES)
    # A year is 1/31, a sex 1: the man of 31 is nearer to the man of 60, and only the man of 60 is guessed right.
    assert measure_guesses(DATA, other, column="illness").success == pytest.approx(1 / 6)
    assert measure_table_error(DATA, other) > 0.5


def test_the_order_of_records_does_not_matter() -> None:
    order = np.array([3, 1, 5, 0, 2, 4])
    shuffled = DATA.keep_rows(order)
    again = read_microdata(TABLE.take(pa.array(order)), roles=ROLES)
    assert measure_guesses(DATA, shuffled, column="illness") == measure_guesses(again, again, column="illness")


def test_many_values_are_compared_in_twentieths() -> None:
    lot = np.random.default_rng(1)
    table = pa.table({"age": lot.normal(size=4000), "illness": lot.integers(0, 3, 4000)})
    data = read_microdata(table, roles=Roles(quasi_identifiers=["age"], sensitive=["illness"]))
    moved = data.replace_columns({"age": pa.array(data.get_numbers("age") + 1e-9)})
    assert measure_table_error(data, moved) < 0.01


def test_only_a_sensitive_column_is_guessed() -> None:
    with pytest.raises(SchemaError, match="'age'"):
        measure_guesses(DATA, DATA, column="age")


def test_a_suppressed_value_is_spread_over_all() -> None:
    data = read_microdata(pa.table({"age": ["a", "b", "c", "d"]}), roles=Roles(quasi_identifiers=["age"]))
    masked = data.replace_columns({"age": pa.array([None, None, "c", "d"])}, spreads={"age": np.array([1.0, 1, 0, 0])})
    # a and b are then an eighth each, c and d three eighths, where each is a quarter.
    assert measure_table_error(data, masked) == pytest.approx(0.25)


def test_infinite_numbers_are_near_no_other() -> None:
    infinite = float("inf")
    frame = pa.table({"pay": [1.0, 2.0, infinite, -infinite, None], "ill": ["a", "b", "c", "d", "e"]})
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["pay"], sensitive=["ill"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert measure_guesses(data, data, column="ill").success == 1


def test_columns_of_many_names_take_little_memory() -> None:
    lot = np.random.default_rng(4)
    names = [f"{value:05}" for value in lot.integers(0, 40_000, 20_000)]
    frame = pa.table({"code": names, "job": names[::-1], "illness": lot.choice(["flu", "none"], 20_000)})
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["code", "job"], sensitive=["illness"]))
    tracemalloc.start()
    try:
        assert measure_table_error(data, data) == pytest.approx(0, abs=1e-9)
        swapped = data.replace_columns({"code": data.get_column("code").take(pa.array(lot.permutation(20_000)))})
        labels = {"code": pa.array([name[:4] for name in names])}
        masked = data.replace_columns(labels, spreads={"code": np.full(20_000, 1e-4)})
        assert 0 < measure_table_error(data, swapped) < 0.5
        assert 0 < measure_table_error(data, masked) < 0.5
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()
