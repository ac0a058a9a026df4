"""Digests are XXH64, bit by bit: published values, and the published algorithm written out slowly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.sketches.hashing.digest import as_seed, digest, digest_bytes, xxh64_word

WORD = 2**64
PRIMES = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)
SEED = 2654435761  # of xxHash's own test vectors


def rotated(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) % WORD


def mixed(lane: int, word: int) -> int:
    return rotated((lane + word * PRIMES[1]) % WORD, 31) * PRIMES[0] % WORD


def reference(data: bytes, seed: int) -> int:
    """XXH64 as its specification says it, in Python's integers."""
    first, second, third, fourth, fifth = PRIMES
    rest = len(data) // 32 * 32
    if rest:
        lanes = [seed + first + second, seed + second, seed, seed - first]
        for start in range(0, rest, 32):
            words = [int.from_bytes(data[start + 8 * i : start + 8 * i + 8], "little") for i in range(4)]
            lanes = [mixed(lane, word) for lane, word in zip(lanes, words, strict=True)]
        state = sum(rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) % WORD
        for lane in lanes:
            state = ((state ^ mixed(0, lane)) * first + fourth) % WORD
    else:
        state = seed + fifth
    state = (state + len(data)) % WORD
    while rest + 8 <= len(data):
        state ^= mixed(0, int.from_bytes(data[rest : rest + 8], "little"))
        state, rest = (rotated(state, 27) * first + fourth) % WORD, rest + 8
    if rest + 4 <= len(data):
        state ^= int.from_bytes(data[rest : rest + 4], "little") * first % WORD
        state, rest = (rotated(state, 23) * second + third) % WORD, rest + 4
    for byte in data[rest:]:
        state = rotated(state ^ byte * fifth % WORD, 11) * first % WORD
    state = (state ^ state >> 33) * second % WORD
    state = (state ^ state >> 29) * third % WORD
    return state ^ state >> 32


def sanity_buffer(length: int) -> bytes:
    """The bytes that xxHash's own self-test digests."""
    state, out = SEED, bytearray()
    for _ in range(length):
        out.append(state >> 56)
        state = state * 11400714785074694797 % WORD
    return bytes(out)


def test_published_values() -> None:
    cases: list[tuple[bytes, int, int]] = [
        (b"", 0, 0xEF46DB3751D8E999),
        (b"a", 0, 0xD24EC4F1A98C6E5B),
        (b"abc", 0, 0x44BC2CF5AD770999),
        (b"xxhash", 0, 0x32DD38952C4BC720),
        (b"xxhash", 20141025, 0xB559B98D844E0635),
        (b"Nobody inspects the spammish repetition", 0, 0xFBCEA83C8A378BF1),
        (b"", SEED, 0xAC75FDA2929B17EF),
        (sanity_buffer(1), 0, 0xE934A84ADB052768),
        (sanity_buffer(1), SEED, 0x5014607643A9B4C3),
        (sanity_buffer(4), 0, 0x9136A0DCA57457EE),
        (sanity_buffer(14), 0, 0x8282DCC4994E35C8),
        (sanity_buffer(14), SEED, 0xC3BD6BF63DEB6DF0),
        (sanity_buffer(222), 0, 0xB641AE8CB691C174),
        (sanity_buffer(222), SEED, 0x20CB8AB7AE10C14A),
    ]
    for data, seed, expected in cases:
        assert digest_bytes(data, seed=seed) == expected
        assert digest([b"before", data, b"after"], seed=seed)[1] == expected
        assert reference(data, seed) == expected


@given(st.lists(st.binary(max_size=200), min_size=1), st.integers(0, WORD - 1))
def test_bytes_agree_with_the_reference(values: list[bytes], seed: int) -> None:
    assert digest(values, seed=seed).tolist() == [reference(value, seed) for value in values]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(0, WORD - 1))
def test_a_whole_number_is_its_eight_bytes(values: list[int], seed: int) -> None:
    expected = [reference(value.to_bytes(8, "little", signed=True), seed) for value in values]
    assert digest(values, seed=seed).tolist() == expected
    assert int(xxh64_word(np.uint64(values[0] % WORD), np.uint64(seed))) == expected[0]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_a_text_is_its_utf8_bytes(values: list[str]) -> None:
    expected = [reference(value.encode(), 0) for value in values]
    assert digest(values).tolist() == expected
    assert digest(pa.array(["", *values])[1:]).tolist() == expected


def test_a_wrong_rotation_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "rotated", lambda word, by: (word << by | word >> (63 - by)) % WORD)
    assert reference(b"abc", 0) != digest_bytes(b"abc")


def test_bits_are_even() -> None:
    """Each of 64 bits is set in about half of 100,000 digests of consecutive numbers: six standard deviations."""
    digests = digest(range(100_000))
    shares = [(digests >> np.uint64(bit) & np.uint64(1)).mean() for bit in range(64)]
    assert np.abs(np.array(shares) - 0.5).max() < 6 * 0.5 / math.sqrt(100_000)


def test_a_seed_is_64_bits() -> None:
    cases: list[Any] = [-1, WORD, 1.0, "1", True, None]
    for seed in cases:
        with pytest.raises(ParameterError, match="seed"):
            as_seed(seed)
