"""Categories: declared in lists or a schema, and looked up whatever the values are."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core import InputError, ParameterError, UnboundedDataError
from celosia.learn.naive_bayes.categories import category_kinds, places_in


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=8, unique=True), st.data())
def test_numbers_are_found_where_they_were_listed(domain: list[int], data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(-1001, 1001) | st.sampled_from(domain), min_size=1, max_size=20))
    counted = domain == list(range(len(domain)))
    wanted = [
        value if counted and value in domain else domain.index(value) if value in domain else -1 for value in values
    ]
    for kind in (np.int64, np.float64, object):
        assert places_in(np.array(values, dtype=kind)[:, None], [domain])[:, 0].tolist() == wanted


@given(st.lists(st.text("abcxyz", min_size=1, max_size=3), min_size=1, max_size=8, unique=True), st.data())
def test_texts_are_found_where_they_were_listed(domain: list[str], data: st.DataObject) -> None:
    values = data.draw(st.lists(st.text("abcxyz", max_size=4) | st.sampled_from(domain), min_size=1, max_size=20))
    wanted = [domain.index(value) if value in domain else -1 for value in values]
    for kind in (str, object):
        assert places_in(np.array(values, dtype=kind)[:, None], [domain])[:, 0].tolist() == wanted


def test_numbers_are_places_where_texts_were_listed_or_nothing() -> None:
    numbers = np.array([[0.0, 0.0], [1.0, 9.0], [2.0, -1.0], [0.5, 0.5]])
    assert places_in(numbers, [["a", "b"], None]).tolist() == [[0, 0], [1, 9], [-1, -1], [-1, -1]]
    assert places_in(np.array([[True], [False]]), [[0, 1]]).tolist() == [[1], [0]]


def test_a_column_of_texts_is_no_column_of_numbers() -> None:
    with pytest.raises(InputError, match="must be a string or a number") as refused:
        places_in(np.array([["secret"]]), [[1, 2]])
    assert "secret" not in str(refused.value)


def test_kinds_come_from_lists_numbers_or_a_schema() -> None:
    schema = cl.Schema(b=cl.Boolean(), a=cl.Integer(5, 7), c=cl.Category("x", "y"))
    assert category_kinds(None, schema, 2, ["a", "b"]) == (cl.Category(5, 6, 7), cl.Category(0, 1))
    assert category_kinds(np.array([2, 1]), None, 2) == (cl.Category(0, 1), cl.Category(0))
    assert category_kinds([np.array(["x", "y"])], None, 1) == (cl.Category("x", "y"),)
    assert category_kinds(3, None, 2) == (cl.Category(0, 1, 2),) * 2


def test_what_lists_no_categories_is_refused() -> None:
    cases: list[tuple[Any, Any, type[Exception], str]] = [
        (None, None, UnboundedDataError, "categories must be given"),
        ([2, 2], cl.Schema(a=cl.Boolean()), ParameterError, "give one of them"),
        (None, (0, 1), ParameterError, "bounds must be a Schema"),
        (None, {"a": cl.Real(0, 1), "b": cl.Boolean()}, ParameterError, "must be a Category"),
        (None, {"a": cl.Text(), "b": cl.Boolean()}, ParameterError, "must be a Category"),
        ({"a": [0, 1]}, None, ParameterError, "list with the categories"),
        ("ab", None, ParameterError, "list with the categories"),
        (True, None, ParameterError, "list with the categories"),
        ([2], None, ParameterError, "2 features, not of 1"),
        ([2, -1], None, ParameterError, "not -1"),
        ([2, 1.5], None, ParameterError, "not 1.5"),
        ([2, {0, 1}], None, ParameterError, "list of values"),
        ([2, [1.5]], None, ParameterError, ".+"),
    ]
    for categories, bounds, error, words in cases:
        with pytest.raises(error, match=words):
            category_kinds(categories, bounds, 2, ["a", "b"])
