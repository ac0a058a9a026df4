"""The laws of all tables: linear, mergeable, written and read back, and never overflowing."""

from __future__ import annotations

import pickle
import struct
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import FormatError, InputError, ParameterError
from celosia.sketches.base.serial import Kind
from celosia.sketches.frequency.count_min import CountMin
from celosia.sketches.hashing.digest import digest_bytes
from celosia.sketches.hashing.family import HashFamily
from tests.sketches.frequencies import TABLES

every_table = pytest.mark.parametrize("kind", TABLES)
few = settings(max_examples=25)
pairs = st.lists(st.tuples(st.integers(-5, 5), st.integers(-(2**40), 2**40)), max_size=20)
Pairs = list[tuple[int, int]]


def sketch(kind: type[Any], *streams: Pairs) -> Any:
    made = kind(3, 7, seed=5)
    for stream in streams:
        made.update([value for value, _ in stream], weights=[weight for _, weight in stream])
    return made


@every_table
@few
@given(pairs, pairs, pairs)
def test_merging(kind: type[Any], a: Pairs, b: Pairs, c: Pairs) -> None:
    together = sketch(kind, a, b, c)
    assert sketch(kind, a).merge(sketch(kind, b)).merge(sketch(kind, c)) == together
    assert sketch(kind, a).merge(sketch(kind, b).merge(sketch(kind, c))) == together
    assert sketch(kind, c).merge(sketch(kind, a)).merge(sketch(kind, b)) == together
    assert sketch(kind, a + b + c) == together
    assert sketch(kind, a).merge(sketch(kind)) == sketch(kind, a)
    other = sketch(kind, b)
    sketch(kind, a).merge(other)
    assert other == sketch(kind, b)


@every_table
@few
@given(pairs)
def test_what_is_taken_away_leaves_no_trace(kind: type[Any], stream: Pairs) -> None:
    made = sketch(kind, stream, [(value, -weight) for value, weight in stream])
    assert not made.counters.any()
    assert made.total == 0
    assert made.volume == 2 * sum(abs(weight) for _, weight in stream)


@every_table
@few
@given(pairs)
def test_round_trip(kind: type[Any], stream: Pairs) -> None:
    made = sketch(kind, stream)
    data = made.serialize()
    back = kind.deserialize(data)
    assert back == made
    assert back.serialize() == data
    back.update([1])  # what was read can be written to
    assert back != made
    assert pickle.loads(pickle.dumps(made)) == made


def resealed(data: bytes) -> bytes:
    return data[:-8] + struct.pack("<Q", digest_bytes(data[:-8]))


@every_table
@few
@given(pairs, st.data())
def test_hostile_bytes_are_refused_or_are_a_sketch(kind: type[Any], stream: Pairs, data: st.DataObject) -> None:
    """Some bytes changed and a right checksum: what is read has counters that a stream can lead to."""
    good = sketch(kind, stream).serialize()
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        bad[data.draw(st.integers(0, len(good) - 9))] = data.draw(st.integers(0, 255))
    try:
        back = kind.deserialize(resealed(bytes(bad)))
    except FormatError:
        return
    assert np.abs(back.counters).sum(axis=1).max() <= back.volume <= 2**62
    assert kind.deserialize(back.serialize()) == back


@every_table
@few
@given(pairs, st.data())
def test_damaged_bytes_are_refused(kind: type[Any], stream: Pairs, data: st.DataObject) -> None:
    good = sketch(kind, stream).serialize()
    place = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[place] ^= data.draw(st.integers(1, 255))
    for broken in (bytes(bad), good[:place], b"", good + b"\0"):
        with pytest.raises(FormatError):
            kind.deserialize(broken)


def test_parameters_that_do_not_fit_are_refused() -> None:
    cases: list[tuple[int, int, int, int]] = [
        (0, 7, 0, 0),
        (3, 0, 0, 0),
        (2**64 - 1, 0, 0, 0),
        (21, 1, 0, 0),
        (1, 20, 0, 0),
        (3, 7, 1, 0),
        (3, 7, 0, 1),
        (3, 7, 2, 1),
        (3, 7, 0, 2**63),
    ]
    for kind, (rows, width, total, volume) in product(TABLES, cases):
        data = bytearray(kind(3, 7).serialize())
        struct.pack_into("<QQQQQ", data, 8, rows, width, 0, total, volume)
        if not rows or not width:
            data = data[:48] + struct.pack("<Q", 0) + data[-8:]
        with pytest.raises(FormatError):
            kind.deserialize(resealed(bytes(data)))


def test_every_kind_has_its_own_number() -> None:
    numbers = {kind._KIND for kind in TABLES}
    assert numbers == {Kind.COUNT_MIN, Kind.COUNT_MEAN, Kind.COUNT_MEDIAN, Kind.COUNT_SKETCH, Kind.AMS}
    for kind in TABLES:
        for other in TABLES:
            if other is not kind:
                with pytest.raises(FormatError, match="kind"):
                    other.deserialize(kind(3, 7).serialize())


def test_one_record_changes_one_counter_in_each_row_by_one() -> None:
    for kind in TABLES:
        made = kind(6, 50, seed=3)
        made.update(range(1000))
        before = made.counters.copy()
        made.update(["one more"])
        change = np.abs(made.counters - before)
        assert change.max() == 1
        assert change.sum(axis=1).tolist() == [1] * 6


def test_any_kind_of_column_counts_alike() -> None:
    for kind in TABLES:
        texts = ["sun", "rain", "sun", "año"]
        one, two, three = kind(3, 50), kind(3, 50), kind(3, 50)
        one.update(texts)
        two.update(pa.array(texts).dictionary_encode())
        three.update(np.array(texts[:3]), weights=np.array([2, 1, 0], dtype=np.uint8))
        three.update([text.encode() for text in texts[3:]], weights=1)
        assert one == two == three


def test_long_columns_are_taken_in_pieces() -> None:
    for kind in TABLES:
        values, weights = np.arange(100_000) % 977, np.arange(100_000) % 5 - 2
        whole, parts = kind(3, 100), kind(3, 100)
        whole.update(values, weights)
        for piece, part in zip(np.array_split(values, 7), np.array_split(weights, 7), strict=True):
            parts.update(piece, part)
        assert whole == parts
        assert whole.cells(values).shape == (3, 100_000)


def test_signs_and_columns_come_of_different_coefficients() -> None:
    for kind in TABLES:
        made = kind(3, 7, seed=0)
        if made._signs is not None:
            assert not np.isin(made._signs.coefficients, made._family.coefficients).any()
            assert made._signs.independence == 4
        assert made._family == HashFamily(3, 7, independence=made._INDEPENDENCE)


def test_sums_of_weights_are_bounded() -> None:
    for kind in TABLES:
        made = kind(2, 10)
        made.update([1], weights=2**61)
        before = made.serialize()
        for weights in (2**62, [2**61, 1], -(2**63), [2**63 - 1, 2**63 - 1]):
            with pytest.raises(InputError, match=r"2\^62"):
                made.update([1, 2], weights=weights)
        assert made.serialize() == before
        made.update([1], weights=-(2**61))
        with pytest.raises(InputError, match=r"2\^62"):
            kind.deserialize(made.serialize()).merge(made)


def test_bad_input_leaves_the_state_as_it_was() -> None:
    for kind in TABLES:
        made = kind(2, 10)
        made.update([1, 2, 3])
        before = made.serialize()
        for values, weights in (([1, None], None), ([1.5], None), ("sun", None), ([1, 2], [1]), ([1], 0.5)):
            with pytest.raises(InputError):
                made.update(values, weights)
        assert made.serialize() == before


def test_only_the_like_go_together() -> None:
    for kind in TABLES:
        made = kind(2, 10, seed=1)
        other = next(table for table in TABLES if table is not kind)
        for stranger in (kind(3, 10, seed=1), kind(2, 11, seed=1), kind(2, 10), other(2, 10, seed=1), None, 7):
            with pytest.raises(ParameterError, match="same kind, shape and seed"):
                made.merge(stranger)
            assert made != stranger
        with pytest.raises(TypeError):
            hash(made)
        assert made == made.merge(kind(2, 10, seed=1))


def test_shapes_that_are_none() -> None:
    cases: list[tuple[Any, Any]] = [(0, 10), (1, 1), (1, 0), (-1, 5), (2.0, 5), (2, "5"), (2**10, 2**23)]
    for kind, (rows, width) in product(TABLES, cases):
        with pytest.raises(ParameterError, match=r"rows|width"):
            kind(rows, width)


def test_nothing_is_no_change() -> None:
    for kind in TABLES:
        made = kind(2, 10)
        made.update([])
        made.update(np.array([], dtype=int), weights=[])
        assert made == kind(2, 10)
        assert made.cells([]).shape == (2, 0)


def test_counters_are_taken_as_a_copy() -> None:
    made = CountMin(2, 10, seed=4)
    made.update([1, 2])
    counters = made.counters.copy()
    again = CountMin.from_counters(counters, seed=4, total=2, volume=2)
    counters[:] = 7
    assert again == made
    for bad in (counters, counters[0], counters.astype(float)):
        with pytest.raises(FormatError, match="counters"):
            CountMin.from_counters(bad, seed=4, total=2, volume=2)


def test_the_table_is_shown_and_not_lent() -> None:
    made = CountMin(2, 10, seed=4)
    with pytest.raises(ValueError, match="read-only"):
        made.counters[0, 0] = 1
    assert repr(made) == "CountMin(2, 10, seed=4)"
    assert made.memory == 160
