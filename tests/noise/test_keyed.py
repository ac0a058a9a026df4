"""Keyed draws are HMAC-SHA256 and ChaCha20 as published; many at once are the same bits as one by one."""

from __future__ import annotations

import copy
import hashlib
import hmac
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import CelosiaError
from celosia.noise import flip_logistic, integer_below
from celosia.noise.keyed import Keyed, derive, derive_keys, keyed_words

if TYPE_CHECKING:
    from collections.abc import Callable

_keys = st.binary(min_size=32, max_size=32)


def rows(*texts: bytes) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.frombuffer(b"".join(texts), dtype=np.uint8).reshape(len(texts), -1)


def test_derive_gives_the_values_of_rfc_4231() -> None:
    assert derive(b"\x0b" * 20, b"Hi There").hex() == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    assert derive(b"Jefe", b"what do ya want for nothing?").hex() == (
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )
    assert derive(b"\xaa" * 131, b"Test Using Larger Than Block-Size Key - Hash Key First").hex() == (
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    )


def test_the_stream_of_a_zero_key_is_the_published_one() -> None:
    """RFC 8439, appendix A.1, test vectors 1 and 2: key 0, nonce 0, counters 0 and 1."""
    first = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    first += "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    second = "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
    second += "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
    wanted = np.frombuffer(bytes.fromhex(first + second), dtype="<u8").tolist()
    assert Keyed(bytes(32)).words(16).tolist() == wanted
    source = Keyed(bytes(32))
    assert [source.word() for _ in range(16)] == wanted
    assert keyed_words(np.zeros((1, 32), dtype=np.uint8), 16).tolist() == [wanted]


@given(_keys, st.lists(st.integers(0, 200) | st.just(-1), max_size=12))
def test_word_and_words_read_one_stream(key: bytes, asked: list[int]) -> None:
    source = Keyed(key)
    drawn: list[int] = []
    for count in asked:
        drawn += [source.word()] if count < 0 else source.words(count).tolist()
    assert drawn == Keyed(key).words(len(drawn)).tolist()


@given(st.lists(st.tuples(_keys, st.binary(min_size=32, max_size=32)), min_size=1, max_size=5), st.integers(0, 32))
def test_many_keys_are_derived_as_one_is(pairs: list[tuple[bytes, bytes]], length: int) -> None:
    keys = derive_keys(rows(*(a for a, _ in pairs)), rows(*(b for _, b in pairs))[:, :length])
    assert [bytes(key) for key in keys] == [derive(a, b[:length]) for a, b in pairs]
    assert [bytes(key) for key in keys] == [hmac.new(a, b[:length], hashlib.sha256).digest() for a, b in pairs]


@given(st.lists(_keys, min_size=1, max_size=5), st.integers(0, 70))
def test_many_streams_are_those_of_one(keys: list[bytes], count: int) -> None:
    words = keyed_words(rows(*keys), count)
    assert words.tolist() == [Keyed(key).words(count).tolist() for key in keys]


def test_a_key_draws_as_any_source_does() -> None:
    key = derive(bytes(32), b"blue")

    def draws(source: Keyed) -> list[tuple[int, bool]]:
        return [(integer_below(1000, source), flip_logistic(1, 4, source)) for _ in range(9)]

    assert draws(Keyed(key)) == draws(Keyed(key))
    assert draws(Keyed(key)) != draws(Keyed(derive(bytes(32), b"red")))


def test_a_key_is_not_told_and_a_stream_not_copied() -> None:
    source = Keyed(b"secret" + bytes(26))
    assert "secret" not in repr(source)
    assert source.seeded
    with pytest.raises(CelosiaError):
        copy.copy(source)
    with pytest.raises(CelosiaError) as caught:
        Keyed(b"too short a secret")
    assert "too short" not in str(caught.value)


def test_rows_need_not_be_contiguous_and_may_be_none() -> None:
    wide = np.arange(2 * 64, dtype=np.uint8).reshape(2, 64)
    assert keyed_words(wide[:, ::2], 2).tolist() == [Keyed(bytes(row[::2])).words(2).tolist() for row in wide]
    assert derive_keys(wide[:0, :32], wide[:0]).shape == (0, 32)
    assert keyed_words(wide[:0, :32], 3).shape == (0, 3)


def test_what_makes_no_sense_is_refused() -> None:
    cases: list[Callable[[], object]] = [
        lambda: Keyed(bytes(31)),
        lambda: Keyed("0" * 32),  # type: ignore[arg-type]
        lambda: Keyed(bytes(32)).words(-1),
        lambda: derive("a", b"b"),  # type: ignore[arg-type]
        lambda: derive(b"a", "b"),  # type: ignore[arg-type]
        lambda: derive_keys(np.zeros((2, 31), dtype=np.uint8), np.zeros((2, 3), dtype=np.uint8)),
        lambda: derive_keys(np.zeros((2, 32), dtype=np.uint8), np.zeros((3, 3), dtype=np.uint8)),
        lambda: derive_keys(np.zeros((2, 32)), np.zeros((2, 3), dtype=np.uint8)),  # type: ignore[arg-type]
        lambda: derive_keys(np.zeros((2, 32), dtype=np.uint8), b"ab"),  # type: ignore[arg-type]
        lambda: keyed_words(np.zeros(32, dtype=np.uint8), 1),
        lambda: keyed_words(np.zeros((1, 16), dtype=np.uint8), 1),
        lambda: keyed_words(np.zeros((1, 32), dtype=np.uint8), -1),
    ]
    for ask in cases:
        with pytest.raises(CelosiaError):
            ask()
