"""Values and domains: every kind of column finds its place, and what is in no domain is refused without being told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import CelosiaError, InputError, ParameterError
from celosia.local.base.values import codes, domain_labels, domain_size, exact_domain, read_candidates

texts = st.text(st.characters(codec="utf-8"), max_size=8)
domains = st.lists(texts, min_size=2, max_size=20, unique=True) | st.lists(
    st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=20, unique=True
)


@given(domains, st.data())
def test_a_value_has_the_place_where_it_stands(values: list[Any], data: st.DataObject) -> None:
    domain = exact_domain(values)
    assert domain_labels(domain) == values
    assert domain_size(domain) == len(values)
    places = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=30))
    assert codes([values[place] for place in places], domain).tolist() == places
    told, labels = read_candidates([values[place] for place in places], domain)
    assert (told.tolist(), labels) == (places, [values[place] for place in places])
    everything, labels = read_candidates(None, domain)
    assert (everything.tolist(), labels) == (list(range(len(values))), values)


def test_columns_of_every_library() -> None:
    cases: list[Any] = [list, tuple, np.array, pa.array, pd.Series, pl.Series]
    for make in cases:
        assert codes(make(["b", "a", "b"]), ("a", "b")).tolist() == [1, 0, 1]
        assert codes(make([30, 10, 30]), (10, 20, 30)).tolist() == [2, 0, 2]
        assert codes(make([2, 0, 1]), 3).tolist() == [2, 0, 1]


def test_slices_and_dictionaries_of_arrow() -> None:
    texts_ = pa.array(["x", "b", "a", "b", "y"])
    assert codes(texts_.slice(1, 3), ("a", "b")).tolist() == [1, 0, 1]
    assert codes(pa.chunked_array([["b"], [], ["a"]]), ("a", "b")).tolist() == [1, 0]
    assert codes(pa.array(["b", "a"]).dictionary_encode(), ("a", "b")).tolist() == [1, 0]


def test_an_empty_column_is_no_values() -> None:
    for domain in (3, ("a", "b"), (1, 2)):
        assert codes([], domain).tolist() == []


def test_what_is_no_domain_is_refused() -> None:
    cases: list[Any] = [
        1,
        0,
        -3,
        2.0,
        True,
        None,
        "ab",
        b"ab",
        [],
        ["a"],
        ["a", "a"],
        [1, 1],
        ["a", 1],
        [True, False],
        [1.0, 2.0],
        {"a", "b"},
        {"a": 1, "b": 2},
        [None, "a"],
        [["a"], ["b"]],
        2**31 + 1,
        [2**63, 1],
        [-(2**63) - 1, 1],
        ["\ud800", "a"],
        float("nan"),
        float("inf"),
    ]
    for domain in cases:
        with pytest.raises(ParameterError, match="domain"):
            exact_domain(domain)


def test_what_is_in_no_domain_is_refused_and_not_told() -> None:
    domain_cases: list[Any] = [3, ("red", "green"), (10, 20, 30)]
    values_cases: list[Any] = [
        ["secret-77"],
        [770077],
        [-1],
        [b"\xff77"],
        [0.77],
        [None],
        [None, 1],
        ["red", 77],
        77,
        "red",
        None,
    ]
    for domain in domain_cases:
        for values in values_cases:
            with pytest.raises(CelosiaError) as caught:
                codes(values, domain, name="answers")
            assert isinstance(caught.value, InputError)
            assert "answers" in str(caught.value)
            assert "77" not in str(caught.value)


def test_numpys_values_become_pythons() -> None:
    domain = exact_domain([np.int8(3), np.int64(4)])
    assert domain == (3, 4)
    assert all(type(value) is int for value in domain_labels(domain))
    assert type(domain_labels(exact_domain([np.str_("a"), "b"]))[0]) is str


def test_a_domain_may_be_a_column() -> None:
    columns = [np.array([3, 1]), pd.Series([3, 1]), pl.Series([3, 1]), pa.array([3, 1])]
    assert {exact_domain(column) for column in columns} == {(3, 1)}
    assert exact_domain(np.array(["a", "b"])) == ("a", "b")
    assert exact_domain(np.int64(4)) == 4
