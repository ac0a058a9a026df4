"""Messages travel as code and fields, and whatever is not exactly a message is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import FormatError
from celosia.core.messages.message import Message
from celosia.query.serial.messages import message_from_json, message_to_json

REFUSAL = Message(
    "ledger.cost_too_high",
    cost=cl.PureDP(epsilon="1/3"),
    left=cl.PureDP(epsilon="0.1"),
    scope=Message("ledger.scope_dataset", dataset="'deaths'"),
    advice=Message("ledger.advice_used_up"),
)
SHARED = Message("query.shared_measurement", names=("a", "b"))


def test_a_message_is_read_back_in_every_language() -> None:
    for message in (REFUSAL, SHARED, Message("query.some_rows", number=1_000), Message("Of a plug-in.")):
        written = json.loads(json.dumps(message_to_json(message), allow_nan=False))
        again = message_from_json(written)
        assert again == message
        assert (again.code, again.fields) == (message.code, message.fields)
        assert again.render("es") == message.render("es")


def test_a_number_that_is_not_finite_is_still_json() -> None:
    for number in (float("inf"), float("-inf"), float("nan")):
        message = Message("query.gaussian_noise", size=number)
        written = json.loads(json.dumps(message_to_json(message), allow_nan=False))
        assert message_from_json(written) == message


def test_of_a_newer_writer_the_sentence_is_kept() -> None:
    newer = message_to_json(SHARED) | {"code": "query.not_yet_known", "text": "What is new."}
    assert message_from_json(newer) == "What is new."


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "A text.",
        {},
        {"code": "query.one_row", "fields": {}},
        {"code": "query.one_row", "fields": {}, "text": "1 row", "more": 1},
        {"code": 7, "fields": {}, "text": "1 row"},
        {"code": "query.one_row", "fields": [], "text": "1 row"},
        {"code": "query.one_row", "fields": {"rows": 1}, "text": "1 row"},
        {"code": "query.some_rows", "fields": {}, "text": "some rows"},
        {"code": "query.some_rows", "fields": {"number": {"message": "x"}}, "text": "some rows"},
        {"code": "query.some_rows", "fields": {"number": {"guarantee": {}}}, "text": "some rows"},
        {"code": "query.some_rows", "fields": {"number": {"other": 1}}, "text": "some rows"},
        {"code": "query.some_rows", "fields": {f"f{place}": 1 for place in range(40)}, "text": "some rows"},
    ],
)
def test_what_is_no_message_is_refused(wrong: Any) -> None:
    with pytest.raises(FormatError):
        message_from_json(wrong)


def test_messages_inside_one_another_have_an_end() -> None:
    nested: Any = message_to_json(Message("query.some_rows", number=1))
    for _ in range(20):
        nested = {"code": "query.some_rows", "fields": {"number": {"message": nested}}, "text": "rows"}
    with pytest.raises(FormatError):
        message_from_json(nested)


@given(
    st.dictionaries(st.text(max_size=8), st.text() | st.integers() | st.none() | st.lists(st.integers()), max_size=4)
)
def test_only_the_gaps_of_the_sentence_are_read(fields: dict[str, Any]) -> None:
    value = {"code": "query.some_rows", "fields": fields, "text": "rows"}
    if fields.keys() == {"number"}:
        assert message_from_json(value).code == "query.some_rows"
    else:
        with pytest.raises(FormatError):
            message_from_json(value)
