"""The serialized frame of every sketch, little-endian and fully checked.

| bytes | what |
| --- | --- |
| 4 | ``CLSK`` |
| 1 | version of the frame, 1 |
| 1 | kind of sketch (``Kind``) |
| 2 | number of fields, f |
| 8 f | the fields: unsigned integers, the parameters of the sketch |
| 8 | length of the payload, n |
| n | the payload: the state of the sketch |
| 8 | XXH64, with seed 0, of all bytes before |

The checksum detects damage, not malice. So a reader checks every field.
"""

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import FormatError
from celosia.core.messages.message import Message
from celosia.sketches.hashing.digest import digest_bytes

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

_MAGIC = b"CLSK"
_VERSION = 1
_HEAD = struct.Struct("<4sBBH")
_WORD = struct.Struct("<Q")


class Kind(IntEnum):
    """The kind of sketch in a frame."""

    BLOOM = 1
    COUNTING_BLOOM = 2
    COUNT_MIN = 3
    COUNT_MEAN = 4
    COUNT_MEDIAN = 5
    COUNT_SKETCH = 6
    AMS = 7
    FLAJOLET_MARTIN = 8
    HYPERLOGLOG = 9
    THETA = 10
    DYADIC = 11


def pack(kind: Kind, fields: Sequence[int], payload: bytes) -> bytes:
    r"""Write the parameters and the state of a sketch."""
    head = _HEAD.pack(_MAGIC, _VERSION, kind, len(fields)) + struct.pack(f"<{len(fields)}Q", *fields)
    body = b"".join([head, _WORD.pack(len(payload)), payload])
    return body + _WORD.pack(digest_bytes(body))


def unpack(data: bytes, *, kind: Kind, fields: int) -> tuple[tuple[int, ...], bytes]:
    """Read what ``pack`` wrote: a number of fields, and the payload."""
    fault = _fault(data, kind, fields)
    if fault is not None:
        raise FormatError("sketches.not_a_sketch", reason=fault)
    start = _HEAD.size + 8 * fields
    content = bytes(data)
    return struct.unpack_from(f"<{fields}Q", content, _HEAD.size), content[start + 8 : -8]


def _fault(data: object, kind: Kind, fields: int) -> Message | None:
    """Return the fault of malformed bytes, or None."""
    if not isinstance(data, bytes | bytearray | memoryview):
        return Message("sketches.bytes_of_other_type", type=type(data).__name__)
    return _fault_in(bytes(data), kind, fields)


def _fault_in(data: bytes, kind: Kind, fields: int) -> Message | None:
    start = _HEAD.size + 8 * fields
    if len(data) < start + 2 * _WORD.size:
        return Message("sketches.bytes_end_early")
    magic, version, found, count = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        return Message("sketches.bytes_without_magic")
    if found != kind or count != fields:
        return Message("sketches.bytes_of_other_kind", kind=kind.name)
    (length,) = _WORD.unpack_from(data, start)
    if len(data) != start + 2 * _WORD.size + length:
        return Message("sketches.bytes_of_other_length")
    checked = _WORD.unpack_from(data, len(data) - 8)[0] == digest_bytes(data[:-8])
    return None if checked else Message("sketches.bytes_with_wrong_checksum")


def write_array(array: "NDArray[Any]") -> bytes:
    r"""Return the numbers of an array, little-endian and row by row."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def read_array(payload: bytes, dtype: "DTypeLike", shape: tuple[int, ...]) -> "NDArray[Any]":
    r"""Return an array that ``write_array`` wrote, if it has exactly this shape; the array is a copy."""
    kind = np.dtype(dtype)
    expected = kind.itemsize
    for length in shape:  # in Python's integers: hostile lengths must not wrap around
        expected *= length
    if len(payload) != expected or max(shape) > len(payload):  # also if one length is 0
        raise FormatError("sketches.payload_size_differs")
    return np.frombuffer(payload, dtype=kind.newbyteorder("<")).astype(kind).reshape(shape)


def unsigned_field(number: int) -> int:
    """Return a number from -2^63 to 2^63 - 1 as a field, in two's complement."""
    return number % 2**64


def signed_field(field: int) -> int:
    """Return the number that ``unsigned_field`` wrote."""
    return field - 2**64 if field >= 2**63 else field
