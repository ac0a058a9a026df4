"""A message is its English sentence, and can be written in another language from its code and fields."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import BudgetExceededError, CelosiaError, MissingExtraError, ParameterError
from celosia.core.messages.message import (
    Message,
    find_template,
    freeze_fields,
    join_messages,
    join_names,
    name_unit,
    render_message,
    separate,
)
from celosia.core.strict_json import read_json

POSITIVE = Message("core.not_positive", name="epsilon", value="-1")


def test_it_is_a_text_with_a_code() -> None:
    assert POSITIVE == "epsilon must be greater than 0, not -1."
    assert POSITIVE.code == "core.not_positive"
    assert POSITIVE.render("es") == "epsilon debe ser mayor que 0, y es -1."
    assert POSITIVE.has_language("es")


def test_a_text_that_is_no_code_is_the_sentence() -> None:
    for text in ("Any sentence.", "core.no_such_code", "", "{name}", "a.b.c"):
        message = Message(text, name="x")
        assert message == text
        assert not message.has_language("es")
        assert message.render("es") == text


def test_values_are_never_read_as_gaps() -> None:
    message = Message("core.not_positive", name="{value}", value="{name} {0} {{")
    assert message == "{value} must be greater than 0, not {name} {0} {{."


def test_numbers_have_the_marks_of_the_language() -> None:
    message = Message("query.some_rows", number=1_234_567)
    assert (message, message.render("es")) == ("1,234,567 rows", "1.234.567 filas")
    assert Message("query.some_rows", number=np.int64(1_234)) == "1,234 rows"


def test_fields_are_frozen() -> None:
    class Held:
        def __str__(self) -> str:
            return "held"

    fields = freeze_fields({"a": Held(), "b": [1, Held()], "c": True, "d": np.float64(0.5), "e": Fraction(1, 3)})
    assert fields == {"a": "held", "b": (1, "held"), "c": "True", "d": 0.5, "e": "1/3"}
    assert type(fields["d"]) is float
    inner = freeze_fields({"reason": ParameterError("core.not_positive", name="n", value=0)})["reason"]
    assert isinstance(inner, Message)
    assert inner.code == "core.not_positive"


def test_messages_inside_messages_are_in_one_language() -> None:
    both = join_messages([POSITIVE, Message("query.suggest_nothing")])
    assert both == "epsilon must be greater than 0, not -1. There are none."
    assert both.render("es") == "epsilon debe ser mayor que 0, y es -1. No hay ninguno."
    assert both.has_language("es")
    assert not join_messages([POSITIVE, Message("Of a plug-in.")]).has_language("es")
    assert join_messages([POSITIVE]) is POSITIVE


def test_guarantees_are_written_by_the_caller() -> None:
    message = Message(
        "ledger.cost_too_high", cost=cl.PureDP(epsilon=2), left=cl.PureDP(epsilon=1), scope="s", advice="a"
    )
    assert "costs PureDP(epsilon=2)" in message
    said = message.render("en", format_guarantee=lambda guarantee, name: f"<{name}: {type(guarantee).__name__}>")
    assert said == "The question costs <cost: PureDP>, and s has <left: PureDP> left: a."


def test_units_have_words() -> None:
    assert [name_unit("row"), name_unit("person", several=True), name_unit("household", several=True)] == [
        "row",
        "persons",
        "households",
    ]


@pytest.mark.parametrize("kind", [ParameterError, BudgetExceededError, MissingExtraError, CelosiaError])
def test_errors_keep_code_and_fields_in_copies(kind: type[CelosiaError]) -> None:
    error = kind("core.not_positive", name="epsilon", value="-1")
    for same in (error, pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert (same.code, same.fields) == ("core.not_positive", {"name": "epsilon", "value": "-1"})
        assert str(same) == POSITIVE
        assert same.message == POSITIVE
    again = kind(error.message, value="-2")
    assert str(again) == "epsilon must be greater than 0, not -2."


def test_errors_of_others_have_their_own_sentences() -> None:
    assert str(ParameterError("What a plug-in says.")) == "What a plug-in says."
    assert str(ParameterError()) == ""


@given(st.dictionaries(st.sampled_from(["name", "value"]), st.text() | st.integers() | st.floats() | st.none()))
def test_any_fields_can_be_written_and_pickled(fields: dict[str, object]) -> None:
    message = Message("core.not_positive", **fields)
    again = pickle.loads(pickle.dumps(message))
    assert again == message
    assert again.fields.keys() == message.fields.keys()
    assert render_message(message.code, message.fields, "es") == message.render("es")


def test_there_is_no_template_without_a_catalogue() -> None:
    assert find_template("core.not_positive", "fr") is None
    assert POSITIVE.render("fr") == POSITIVE
    assert find_template("nowhere.not_positive", "en") is None


def test_names_are_joined_in_each_language() -> None:
    assert join_names(["low"]) == "low"
    names = join_names(["low", "high", "values"])
    assert names == "low, high and values"
    assert isinstance(names, Message)
    assert names.render("es") == "low, high y values"


def test_parts_of_a_list_are_separated() -> None:
    parts = [Message("core.row"), Message("core.person")]
    for semicolon, english, spanish in (
        (False, "row, person", "fila, persona"),
        (True, "row; person", "fila; persona"),
    ):
        message = Message("core.sentences", parts=separate(parts, semicolon=semicolon))
        assert (str(message), message.render("es")) == (english, spanish)
    assert separate(["row"]) == ("row",)


def test_a_fragment_is_in_the_language_of_its_sentence() -> None:
    one = cl.PureDP(epsilon=1)
    for fail, english, spanish in (
        (lambda: one + cl.PureDP(epsilon=1, unit="person"), "cannot be added", "no se pueden sumar"),
        (lambda: one <= 3, "a value of type int cannot be compared", "un valor de tipo int no se pueden comparar"),
        (lambda: read_json("{"), "The text is not strict JSON: it cannot be", "El texto no es JSON estricto: no se"),
        (lambda: cl.PureDP(epsilon=-(10**5000)), "not a very long int.", "y es un int muy largo."),
    ):
        with pytest.raises(CelosiaError) as refused:
            fail()
        assert english in str(refused.value)
        assert spanish in refused.value.message.render("es")
