"""Recoding by dictionaries and by cuts."""

from __future__ import annotations

import pyarrow as pa
import pytest

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.generalization import Discretize, Recode
from celosia.core.errors import ParameterError, SchemaError


def read(values: list[object]) -> Microdata:
    return read_microdata(pa.table({"c": pa.array(values)}), roles=Roles(quasi_identifiers=["c"]))


def test_values_of_the_dictionary_change_and_others_stay() -> None:
    done = Recode(column="c", values={"a": "x", "b": "x", "absent": "y"}).apply(read(["a", "b", "c", None, "d"]))
    assert done.get_column("c").to_pylist() == ["x", "x", "c", None, "d"]
    assert done.spreads["c"].tolist() == [0.5, 0.5, 0.0, 0.0, 0.0]


def test_a_value_may_join_one_that_stays() -> None:
    done = Recode(column="c", values={"a": "b"}).apply(read(["a", "b", "c"]))
    assert done.get_column("c").to_pylist() == ["b", "b", "c"]
    assert done.spreads["c"].tolist() == [2 / 3, 2 / 3, 0.0]


def test_numbers_stay_numbers_where_the_new_ones_fit() -> None:
    whole = Recode(column="c", values={"1": 7}).apply(read([1, 2, None])).get_column("c")
    assert (whole.type, whole.to_pylist()) == (pa.int64(), [7, 2, None])
    broken = Recode(column="c", values={"1": 7.5}).apply(read([1, 2])).get_column("c")
    assert (broken.type, broken.to_pylist()) == (pa.float64(), [7.5, 2.0])
    text = Recode(column="c", values={"1": "low"}).apply(read([1.0, 2.0])).get_column("c")
    assert text.to_pylist() == ["low", "2"]


def test_intervals_have_the_names_of_the_seed() -> None:
    step = Discretize(column="c", cuts=[0, 18, 35, 65, 120], names=["minor", "young", "adult", "retired"])
    done = step.apply(read([0, 17, 18, 34, 35, 64, 65, 120, None]))
    assert done.get_column("c").to_pylist() == [
        *["minor", "minor", "young", "young"],
        *["adult", "adult", "retired", "retired"],
        None,
    ]
    assert done.spreads["c"][[0, -2, -1]].tolist() == [18 / 121, 56 / 121, 0.0]


def test_bad_input_names_the_column_and_not_the_value() -> None:
    for make, code in (
        (lambda: Recode(column="c", values={}), "anonymity_recoding.no_value_given"),
        (lambda: Recode(column="c", values={"a": None}), "anonymity_recoding.value_not_plain"),  # type: ignore[dict-item]
        (lambda: Discretize(column="c", cuts=[3, 1]), "anonymity.cuts_not_rising"),
        (lambda: Discretize(column="c", cuts=[1, 3], names=["a", "b"]), "anonymity.interval_names_missing"),
        (lambda: Recode(column="d", values={"a": "b"}).apply(read(["a"])), "anonymity.unknown_column"),
    ):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.code == code
    with pytest.raises(SchemaError) as outside:
        Discretize(column="c", cuts=[0, 10]).apply(read([5, 777]))
    assert "777" not in str(outside.value)
