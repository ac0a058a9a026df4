from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import InputError, ParameterError
from celosia.local.discovery.spelling import exact_alphabet, spell, unspell

ALPHABET = "abñ日🙂é"
BYTES = tuple(range(1, 256))


@given(st.lists(st.text(ALPHABET, max_size=9)), st.integers(1, 6))
def test_texts_are_spelt_letter_by_letter(texts: list[str], length: int) -> None:
    spelt = spell(texts, ALPHABET, length)
    expected = [[ALPHABET.index(letter) + 1 for letter in text[:length]] for text in texts]
    assert [[number for number in row if number] for row in spelt.letters.tolist()] == expected
    assert spelt.letters.shape == (len(texts), length)
    assert spelt.cut.tolist() == [text[:length] for text in texts]
    assert unspell(spelt.letters, ALPHABET) == [text[:length] for text in texts]


@given(st.lists(st.binary(max_size=6).map(lambda value: value.replace(b"\0", b"z"))))
def test_bytes_are_spelt_byte_by_byte(values: list[bytes]) -> None:
    spelt = spell(values, BYTES, 4)
    assert unspell(spelt.letters, BYTES) == [value[:4] for value in values]
    assert spelt.cut.tolist() == [value[:4] for value in values]


def test_a_part_of_an_arrow_column_is_spelt_as_a_list() -> None:
    column = pa.array(["sun", "ñu", "añañaña", "", "b"]).slice(1, 3)
    assert spell(column, "añbu", 4).letters.tolist() == spell(["ñu", "añañaña", ""], "añbu", 4).letters.tolist()


def test_what_is_cut_off_need_not_be_in_the_alphabet() -> None:
    assert spell(["abX"], "ab", 2).cut.tolist() == ["ab"]


def test_what_cannot_be_spelt_is_refused() -> None:
    cases: list[object] = [["c"], ["a", "ac"], [b"a"], [1], [1.5], ["a", None], "a", ["\ud800"], np.array([["a"]])]
    for values in cases:
        with pytest.raises(InputError) as refused:
            spell(values, "ab", 3)
        assert "ac" not in str(refused.value)


def test_bytes_are_refused_where_texts_are_spelt_and_the_other_way_round() -> None:
    with pytest.raises(InputError, match="values must be bytes"):
        spell(["a"], (97, 98), 3)


def test_broken_utf8_is_refused_without_reading_beyond_it() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], dtype=np.int32)), pa.py_buffer(b"\xf0")]
    )
    with pytest.raises(InputError, match="letters of the alphabet"):
        spell(broken, "ab🙂", 3)


def test_what_is_no_alphabet_is_refused() -> None:
    cases: list[object] = [
        "",
        "a",
        "aa",
        "a\0",
        "a\ud800",
        None,
        3,
        b"a",
        [97, 300],
        [97, -1],
        [97, True],
        (97, 0),
        [1.5, 2],
    ]
    for alphabet in cases:
        with pytest.raises(ParameterError, match="alphabet"):
            exact_alphabet(alphabet)


def test_an_alphabet_of_bytes_has_one_form() -> None:
    assert exact_alphabet(b"ab") == exact_alphabet([97, 98]) == exact_alphabet((97, 98)) == (97, 98)
