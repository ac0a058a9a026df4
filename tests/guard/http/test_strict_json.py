"""Hostile JSON: what readers disagree about is refused, and numbers are kept as they were written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import FormatError
from celosia.guard.http.strict_json import Number, read_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**50), 10**50) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_what_is_plain_is_read_as_it_is(value: object) -> None:
    assert read_json(json.dumps(value).encode()) == value
    assert read_json(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.from_regex(r"\A-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})([eE][+-]?[0-9]{1,5})?\Z"))
def test_numbers_with_a_point_are_their_own_text(text: str) -> None:
    value = read_json(f"[{text}]".encode())
    assert value == [text]
    assert isinstance(value, list)
    assert isinstance(value[0], Number)


def test_what_readers_disagree_about_is_refused() -> None:
    cases: list[bytes] = [
        b"",
        b"{",
        b"nul",
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "b": 1}}',
        b"NaN",
        b'{"epsilon": NaN}',
        b"[Infinity]",
        b"[-Infinity]",
        b"[" * 301 + b"]" * 301,
        b"[" * 60_000,
        b'{"a":' * 60_000,
        b'"' + b"\\" * 9 + b'"',
        b'"\\ud800"',
        b'{"\\udfff": 1}',
        b"\xff\xfe1\x00",
        b'"\xff"',
        b"\xef\xbb\xbf{}",
        b"1" * 401,
        b"0." + b"1" * 500,
        b"[1,]",
        b"{'a': 1}",
        b"// comment\n1",
    ]
    for body in cases:
        with pytest.raises(FormatError, match="no JSON that is read here"):
            read_json(body)


def test_brackets_in_texts_do_not_nest() -> None:
    assert read_json(json.dumps(["[" * 1000, '"[' * 1000]).encode()) == ["[" * 1000, '"[' * 1000]
    assert read_json(b"[" * 300 + b"]" * 300)
