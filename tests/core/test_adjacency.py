"""The two neighbouring relations: their names, their texts, and what is refused."""

import copy
import pickle

import pytest

from celosia.core import AddRemove, Adjacency, ParameterError, ReplaceOne
from celosia.core.adjacency import exact_adjacency


def test_there_are_two_and_their_texts_never_change() -> None:
    assert {adjacency.value: adjacency for adjacency in Adjacency} == {
        "add-remove": AddRemove,
        "replace-one": ReplaceOne,
    }


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_read_from_itself_its_text_and_its_repr(adjacency: Adjacency) -> None:
    assert exact_adjacency(adjacency) is adjacency
    assert exact_adjacency(adjacency.value) is adjacency
    assert {"AddRemove": AddRemove, "ReplaceOne": ReplaceOne}[repr(adjacency)] is adjacency


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_copies_are_the_same_object(adjacency: Adjacency) -> None:
    assert pickle.loads(pickle.dumps(adjacency)) is adjacency
    assert copy.deepcopy(adjacency) is adjacency


@pytest.mark.parametrize(
    "value",
    ["", "AddRemove", "add_remove", " add-remove", "ADD-REMOVE", None, 1, True, b"add-remove", [], {}, object()],
)
def test_anything_else_is_a_parameter_error(value: object) -> None:
    with pytest.raises(ParameterError, match="adjacency must be AddRemove or ReplaceOne"):
        exact_adjacency(value)  # type: ignore[arg-type]


def test_the_message_quotes_but_a_line() -> None:
    with pytest.raises(ParameterError) as caught:
        exact_adjacency("x" * 100_000)
    assert len(str(caught.value)) < 200
