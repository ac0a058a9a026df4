"""The neighbouring relations: their names, their texts, and what is refused."""

import copy
import pickle
from typing import Any

import pytest

from celosia.core import AddRemove, Adjacency, GuaranteeMismatchError, ParameterError, ReplaceOne, SameChanges
from celosia.core.exact import exact_adjacency, refuse_same_changes


def test_there_are_three_and_their_texts_never_change() -> None:
    assert {adjacency.value: adjacency for adjacency in Adjacency} == {
        "add-remove": AddRemove,
        "replace-one": ReplaceOne,
        "same-changes": SameChanges,
    }


def test_read_from_itself_its_text_and_its_repr() -> None:
    for adjacency in list(Adjacency):
        assert exact_adjacency(adjacency, histories=True) is adjacency
        assert exact_adjacency(adjacency.value, histories=True) is adjacency
        named = {"AddRemove": AddRemove, "ReplaceOne": ReplaceOne, "SameChanges": SameChanges}
        assert named[repr(adjacency)] is adjacency


def test_data_sets_have_no_histories_as_neighbours() -> None:
    cases: list[Any] = [SameChanges, "same-changes"]
    for adjacency in cases:
        with pytest.raises(ParameterError, match="adjacency must be AddRemove or ReplaceOne: SameChanges"):
            exact_adjacency(adjacency)


def test_only_same_changes_are_refused() -> None:
    for adjacency in (AddRemove, ReplaceOne):
        refuse_same_changes(adjacency, "A budget")
    with pytest.raises(GuaranteeMismatchError, match=r"A budget cannot be for SameChanges.*plain_lifetime"):
        refuse_same_changes(SameChanges, "A budget")


def test_copies_are_the_same_object() -> None:
    for adjacency in list(Adjacency):
        assert pickle.loads(pickle.dumps(adjacency)) is adjacency
        assert copy.deepcopy(adjacency) is adjacency


def test_anything_else_is_a_parameter_error() -> None:
    cases: list[object] = [
        "",
        "AddRemove",
        "add_remove",
        " add-remove",
        "ADD-REMOVE",
        None,
        1,
        True,
        b"add-remove",
        [],
        {},
        object(),
    ]
    for value in cases:
        with pytest.raises(ParameterError, match="adjacency must be AddRemove or ReplaceOne"):
            exact_adjacency(value)  # type: ignore[arg-type]


def test_the_message_quotes_but_a_line() -> None:
    with pytest.raises(ParameterError) as caught:
        exact_adjacency("x" * 100_000)
    assert len(str(caught.value)) < 200
