"""The laws of sketches of sets: order and repetition do not matter, merging is the union, bytes return or are refused.

A sketch is handed over as a function that makes an empty one; ``alike`` of two sketches is their ``==``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from celosia.core import FormatError
from celosia.sketches.hashing.digest import digest_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

integers = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40)
texts = st.lists(st.text(max_size=8), max_size=40)
streams = st.one_of(
    st.tuples(integers, integers, integers),
    st.tuples(texts, texts, texts),
    # Long enough to leave the exact beginnings of small sketches.
    st.tuples(*(st.builds(lambda a, n: list(range(a, a + n)), st.integers(0, 500), st.integers(0, 900)),) * 3),
)
damages = st.tuples(st.integers(0, 2**16), st.integers(1, 255))


def filled(make: Callable[[], Any], *parts: Sequence[object]) -> Any:
    """A sketch that has seen the parts one after another."""
    sketch = make()
    for part in parts:
        sketch.update(list(part))
    return sketch


def check_merging(
    make: Callable[[], Any], a: list[Any], b: list[Any], c: list[Any], *, idempotent: bool = True
) -> None:
    """Merging is associative and commutative, equals updating with everything, and leaves the other as it was."""
    once = filled(make, a, b, c)
    for order in ((a, b, c), (c, a, b), (b, c, a)):
        left = filled(make, order[0]).merge(filled(make, order[1])).merge(filled(make, order[2]))
        right = filled(make, order[0]).merge(filled(make, order[1]).merge(filled(make, order[2])))
        assert left == once
        assert right == once
    other, empty = filled(make, b), make()
    before = other.serialize()
    assert filled(make, a).merge(other) == filled(make, a, b)
    assert other.serialize() == before
    assert filled(make, a).merge(empty) == filled(make, a)
    assert empty.merge(other) == other
    if idempotent:
        assert filled(make, a).merge(filled(make, a)) == filled(make, a)
        assert filled(make, a + a[::-1], a) == filled(make, a)


def check_round_trip(sketch: Any) -> None:
    """Bytes come back as an equal sketch that says the same, and every cut and flip of them is refused."""
    data = sketch.serialize()
    again = type(sketch).deserialize(data)
    assert again == sketch
    assert again.serialize() == data
    assert again.estimate() == sketch.estimate()
    assert again.bounds(2) == sketch.bounds(2)
    assert repr(again) == repr(sketch)
    for cut in (0, 1, 7, len(data) // 2, len(data) - 1):
        with pytest.raises(FormatError):
            type(sketch).deserialize(data[:cut])
    with pytest.raises(FormatError):
        type(sketch).deserialize(data + b"\0")
    for place in {0, 4, 5, 6, 8, len(data) // 2, len(data) - 1}:
        spoilt = bytearray(data)
        spoilt[place] ^= 1
        with pytest.raises(FormatError):
            type(sketch).deserialize(bytes(spoilt))


def resealed(data: bytes, place: int, change: int) -> bytes:
    """Bytes with one of them changed on purpose, and the checksum made to fit."""
    spoilt = bytearray(data[:-8])
    spoilt[place % len(spoilt)] ^= change
    return bytes(spoilt) + struct.pack("<Q", digest_bytes(bytes(spoilt)))


def check_hostile(sketch: Any, place: int, change: int) -> None:
    """Bytes that somebody changed are refused, or are a sketch that works like any other."""
    try:
        read = type(sketch).deserialize(resealed(sketch.serialize(), place, change))
    except FormatError:
        return
    low, high = read.bounds(3)
    assert 0 <= low <= high
    read.update([1, 2, 3])
    read.merge(type(sketch).deserialize(read.serialize()))
    assert read.estimate() >= 0
    check_round_trip(read)
