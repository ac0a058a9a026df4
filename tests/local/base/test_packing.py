"""Reports in bits: what is written is read back, and there is one way only to write it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from celosia.local.base.packing import field_width, has_clear_padding, pack, pack_vector, unpack, unpack_vector

widths = st.lists(st.integers(0, 33), min_size=1, max_size=6).filter(lambda all_: 1 <= sum(all_) <= 64)


@given(st.integers(1, 2**64))
def test_a_field_is_as_wide_as_its_largest_number(count: int) -> None:
    width = field_width(count)
    assert count - 1 < 2**width
    assert width == 0 or count - 1 >= 2 ** (width - 1)


@given(widths, st.integers(0, 5), st.data())
def test_fields_come_back(all_: list[int], rows: int, data: st.DataObject) -> None:
    numbers = [[data.draw(st.integers(0, 2**width - 1)) for _ in range(rows)] for width in all_]
    payload = pack([(np.array(some, dtype=np.uint64), width) for some, width in zip(numbers, all_, strict=True)])
    assert payload.shape == (rows, -(-sum(all_) // 8))
    assert [field.tolist() for field in unpack(payload, all_)] == numbers
    assert has_clear_padding(payload, sum(all_)).all()
    # Bit i is bit i % 8 of byte i // 8, and the first field is in the lowest bits.
    for row in range(rows):
        whole, shift = 0, 0
        for some, width in zip(numbers, all_, strict=True):
            whole |= some[row] << shift
            shift += width
        assert payload[row].tobytes() == whole.to_bytes(payload.shape[1], "little")


@given(st.integers(1, 200), st.lists(st.integers(0, 20), max_size=2), st.integers(0, 4), st.randoms())
def test_a_vector_and_its_fields_come_back(bits: int, all_: list[int], rows: int, random: object) -> None:
    draw = random.getrandbits  # type: ignore[attr-defined]
    vectors, numbers = (
        [draw(bits) for _ in range(rows)],
        [[draw(width) if width else 0 for _ in range(rows)] for width in all_],
    )
    words = -(-bits // 64)
    vector = np.array(
        [[number >> 64 * word & (2**64 - 1) for word in range(words)] for number in vectors], dtype=np.uint64
    ).reshape(rows, words)
    fields = [(np.array(some, dtype=np.int64), width) for some, width in zip(numbers, all_, strict=True)]
    payload = pack_vector(vector, bits, fields)
    total = bits + sum(all_)
    assert payload.shape == (rows, -(-total // 8))
    assert payload.dtype == np.uint8
    assert payload.flags.c_contiguous
    back, more = unpack_vector(payload, bits, all_)
    assert (back == vector).all()
    assert [field.tolist() for field in more] == numbers
    for row in range(rows):
        whole, shift = vectors[row], bits
        for some, width in zip(numbers, all_, strict=True):
            whole |= some[row] << shift
            shift += width
        assert payload[row].tobytes() == whole.to_bytes(payload.shape[1], "little")


def test_what_is_beyond_the_last_bit_must_be_zero() -> None:
    for bits in range(1, 17):
        size = -(-bits // 8)
        numbers = np.arange(1 << 8 * size, dtype=np.uint64) if size == 1 else np.arange(0, 1 << 16, 7, dtype=np.uint64)
        payload = pack([(numbers, 8 * size)])
        assert (has_clear_padding(payload, bits) == (numbers < 2**bits)).all()
