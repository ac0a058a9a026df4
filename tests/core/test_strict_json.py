"""Strict JSON: what readers disagree about is refused, bounds hold, and decimals are read as the caller chooses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import FormatError
from celosia.core.strict_json import DecimalText, finite_float, read_json

TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
PLAIN = st.none() | st.booleans() | st.integers(-(10**38), 10**38) | TEXTS


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
        max_leaves=20,
    )


@given(nested(PLAIN | st.floats(allow_nan=False, allow_infinity=False)))
def test_what_python_writes_is_read_back(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert read_json(text) == value
        assert read_json(text.encode()) == value


@given(st.from_regex(r"\A-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})([eE][+-]?[0-9]{1,5})?\Z"))
def test_a_decimal_may_be_kept_as_its_text(text: str) -> None:
    [value] = read_json(f"[{text}]".encode(), decimal=DecimalText)
    assert value == text
    assert isinstance(value, DecimalText)


REFUSED: list[str | bytes] = [
    "",
    "{",
    "nul",
    '{"a": 1, "a": 2}',
    '{"a": {"b": 1, "b": 1}}',
    "NaN",
    '{"epsilon": NaN}',
    "[Infinity]",
    "[-Infinity]",
    "[" * 301 + "]" * 301,
    '{"a":' * 301 + "1" + "}" * 301,
    "[" * 100_000,
    "[" * 301 + '"' + '\\"' * 500_000,
    "[" * 301 + '"' + '\\"' * 500_000 + "\\",
    '{"a":' * 100_000,
    '"' + "\\" * 9 + '"',
    '"\x00"',
    '"\\ud800"',
    '{"\\udfff": 1}',
    '["\\uD83D\\uDE00", "\\uDE00\\uD83D"]',
    '"\ud800"',
    "\ufeff{}",
    b"\xff\xfe1\x00",
    b"\xff\xfe{",
    b'"\xff"',
    b"\xef\xbb\xbf{}",
    json.dumps({"a": 1}).encode("utf-16"),
    json.dumps({"a": 1}).encode("utf-32"),
    "9" * 401,
    "9" * 1_000_000,
    "0." + "3" * 400,
    "[1,]",
    "{'a': 1}",
    "// comment\n1",
]


def test_what_readers_disagree_about_is_refused() -> None:
    for text in REFUSED:
        for decimal in (finite_float, DecimalText):
            with pytest.raises(FormatError, match=r"^The body is not strict JSON: ") as caught:
                read_json(text, name="The body", decimal=decimal)
            assert len(str(caught.value)) < 200


def test_only_strings_and_bytes_are_read() -> None:
    for value in (None, 7, ["{}"], bytearray(b"{}")):
        with pytest.raises(FormatError, match="must be a text"):
            read_json(value)


def test_a_double_must_be_finite() -> None:
    assert read_json("1e308") == 1e308
    for text in ("1e999", "-1e999"):
        with pytest.raises(FormatError, match="not allowed here"):
            read_json(text)
        assert read_json(text, decimal=DecimalText) == text


def test_the_bounds_are_exact() -> None:
    assert read_json("[1, 2]", max_length=6) == [1, 2]
    with pytest.raises(FormatError, match="at most 5 characters"):
        read_json("[1, 2]", max_length=5)
    assert read_json("[[1], {}]", max_depth=2)
    with pytest.raises(FormatError, match="deeper than 1 levels"):
        read_json("[[1], {}]", max_depth=1)
    assert read_json("9" * 400) == 10**400 - 1
    with pytest.raises(FormatError, match="too long"):
        read_json("9" * 401)


def test_brackets_in_strings_do_not_nest() -> None:
    value = ["[" * 1000, '"[' * 1000, "\\", "[", {"{": '\\"['}]
    assert read_json(json.dumps(value)) == value
    assert read_json("[" * 300 + "]" * 300)
    assert read_json(f"[{'[[]],' * 500}1]", max_depth=3)
