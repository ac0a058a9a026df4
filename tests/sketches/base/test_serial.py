"""A frame gives back what went in, and nothing that was changed on the way."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from celosia.core import FormatError
from celosia.sketches.base.serial import Kind, pack, read_array, signed_field, unpack, unsigned_field, write_array
from celosia.sketches.hashing.digest import digest_bytes

words = st.integers(0, 2**64 - 1)
frames = st.tuples(st.sampled_from(Kind), st.lists(words, max_size=5), st.binary(max_size=50))


@given(frames)
def test_round_trip(frame: tuple[Kind, list[int], bytes]) -> None:
    kind, fields, payload = frame
    data = pack(kind, fields, payload)
    assert unpack(data, kind=kind, fields=len(fields)) == (tuple(fields), payload)


def test_the_bytes_are_as_documented() -> None:
    body = b"CLSK" + bytes([1, 3]) + struct.pack("<HQQQ", 2, 5, 2**64 - 1, 3) + b"abc"
    assert pack(Kind.COUNT_MIN, [5, 2**64 - 1], b"abc") == body + struct.pack("<Q", digest_bytes(body))


def test_kinds_keep_their_numbers() -> None:
    assert {kind.name: kind.value for kind in Kind} == {
        "BLOOM": 1,
        "COUNTING_BLOOM": 2,
        "COUNT_MIN": 3,
        "COUNT_MEAN": 4,
        "COUNT_MEDIAN": 5,
        "COUNT_SKETCH": 6,
        "AMS": 7,
        "FLAJOLET_MARTIN": 8,
        "HYPERLOGLOG": 9,
        "THETA": 10,
        "DYADIC": 11,
    }


@given(frames, st.data())
def test_any_change_is_found(frame: tuple[Kind, list[int], bytes], data: st.DataObject) -> None:
    kind, fields, payload = frame
    good = pack(kind, fields, payload)
    cut = data.draw(st.integers(0, len(good) - 1))
    flipped = bytearray(good)
    flipped[data.draw(st.integers(0, len(good) - 1))] ^= data.draw(st.integers(1, 255))
    for bad in (good[:cut], good[cut + 1 :], bytes(flipped), good + b"\0"):
        with pytest.raises(FormatError, match="not a sketch"):
            unpack(bad, kind=kind, fields=len(fields))


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    for bad in (data, b"CLSK\x01\x01\x00\x00" + data):
        with pytest.raises(FormatError):
            unpack(bad, kind=Kind.BLOOM, fields=0)


def test_only_bytes_are_read() -> None:
    cases: list[Any] = [None, "CLSK", 7, [1, 2]]
    for data in cases:
        with pytest.raises(FormatError, match="type"):
            unpack(data, kind=Kind.BLOOM, fields=0)


@given(frames, frames)
def test_another_kind_or_number_of_fields_is_refused(
    one: tuple[Kind, list[int], bytes], two: tuple[Kind, list[int], bytes]
) -> None:
    assume((one[0], len(one[1])) != (two[0], len(two[1])))
    with pytest.raises(FormatError):
        unpack(pack(*one), kind=two[0], fields=len(two[1]))


def test_a_length_that_lies_is_refused_though_the_checksum_is_right() -> None:
    body = b"CLSK\x01\x01\x00\x00" + struct.pack("<Q", 2**63) + b"abc"
    with pytest.raises(FormatError, match="length"):
        unpack(body + struct.pack("<Q", digest_bytes(body)), kind=Kind.BLOOM, fields=0)


def test_arrays() -> None:
    cases: list[Any] = [np.int64, np.uint64, np.uint8, np.int16]
    for dtype in cases:
        array = np.arange(6).reshape(2, 3).astype(dtype)
        back = read_array(write_array(array), dtype, (2, 3))
        assert back.dtype == dtype
        assert back.flags.writeable
        assert np.array_equal(back, array)
        assert write_array(array.astype(array.dtype.newbyteorder(">"))) == write_array(array)


def test_shapes_that_do_not_fit_are_refused() -> None:
    cases: list[tuple[int, ...]] = [(2,), (4,), (3, 2), (2**63, 2**63), (2**64, 0), (0,)]
    for shape in cases:
        with pytest.raises(FormatError, match="payload"):
            read_array(bytes(24), np.int64, shape)
        with pytest.raises(FormatError, match="payload"):
            read_array(bytes(8), np.int64, (2**64, 0))


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_fields(number: int) -> None:
    field = unsigned_field(number)
    assert 0 <= field < 2**64
    assert signed_field(field) == number
