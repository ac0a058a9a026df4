"""Layout of a report: fields one after the other, the least significant bit first, padded to whole bytes.

Bit ``i`` of a report is bit ``i % 8`` of byte ``i // 8``. A long vector of bits comes first, on whole bytes; the small
numbers come after it. The padding of the last byte is zero; a server drops any other report, so that each report has
exactly one form.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
"""Reports as bytes, one in each row."""

Words: TypeAlias = NDArray[np.uint64]
"""Numbers, or bits in words of 64."""

_WORD = 64


def field_width(count: int) -> int:
    """Return the number of bits of the integers from 0 to ``count - 1``."""
    return (count - 1).bit_length()


def pack(fields: Sequence[tuple[NDArray[Any], int]]) -> Bytes:
    """Write fields (numbers, width) of at most 64 bits together, the first field in the lowest bits."""
    rows = len(fields[0][0])
    word = np.zeros(rows, dtype=np.uint64)
    shift = 0
    for numbers, width in fields:
        if width:
            word |= numbers.astype(np.uint64) << np.uint64(shift)
        shift += width
    return np.ascontiguousarray(word.astype("<u8", copy=False).view(np.uint8).reshape(rows, 8)[:, : -(-shift // 8)])


def unpack(payload: Bytes, widths: Sequence[int]) -> tuple[Words, ...]:
    """Read the fields of ``pack`` back."""
    rows, size = payload.shape
    padded = np.zeros((rows, 8), dtype=np.uint8)
    padded[:, :size] = payload
    word = padded.view("<u8").reshape(rows).astype(np.uint64, copy=False)
    fields, shift = [], 0
    for width in widths:
        mask = np.uint64((1 << width) - 1)
        fields.append((word >> np.uint64(shift)) & mask if width else np.zeros(rows, dtype=np.uint64))
        shift += width
    return tuple(fields)


def pack_vector(vector: Words, bits: int, fields: Sequence[tuple[NDArray[Any], int]] = ()) -> Bytes:
    """Write a vector of ``bits`` bits, given in words of 64 whose unused bits are zero, and then small fields."""
    as_bytes = np.ascontiguousarray(vector.astype("<u8", copy=False)).view(np.uint8)
    whole, rest = divmod(bits, 8)
    if not fields and not rest:
        return np.ascontiguousarray(as_bytes[:, :whole])
    head = [(as_bytes[:, whole], rest)] if rest else []
    return np.concatenate([as_bytes[:, :whole], pack([*head, *fields])], axis=1)


def unpack_vector(payload: Bytes, bits: int, widths: Sequence[int] = ()) -> tuple[Words, tuple[Words, ...]]:
    """Read a vector of bits, in words of 64, and the fields after it."""
    rows = len(payload)
    whole, rest = divmod(bits, 8)
    head, *fields = unpack(payload[:, whole:], [rest, *widths])
    padded = np.zeros((rows, -(-bits // _WORD) * 8), dtype=np.uint8)
    padded[:, :whole] = payload[:, :whole]
    if rest:
        padded[:, whole] = head.astype(np.uint8)
    return padded.view("<u8").astype(np.uint64, copy=False), tuple(fields)


def has_clear_padding(payload: Bytes, bits: int) -> NDArray[np.bool_]:
    """Return for each report whether all padding bits are zero."""
    rest = bits % 8
    if not rest:
        return np.ones(len(payload), dtype=np.bool_)
    return payload[:, -1] < (1 << rest)
