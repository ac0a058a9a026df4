"""Longest record of a CSV file, so that the reader's buffers hold every record.

A reader that gives up on a long record loses its place: inside a quoted cell of many lines it takes each line for a
record, and one cell of a person would count as many rows. So buffers are sized for the file. A record ends at a line
break with an even number of quotes before it (Shafranovich 2005, RFC 4180).
"""

import functools
import gzip
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK_BYTES: Final = 2**20


def measure_longest_record(path: str) -> int:
    """Return an upper bound on the bytes of a record, slightly too large at times and at least 2^20."""
    longest, waiting, inside = _BLOCK_BYTES, 0, 0
    with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:  # noqa: PTH123 - as gzip.open
        for block in iter(functools.partial(file.read, _BLOCK_BYTES), b""):
            first, last = _ends(block, inside)
            if first < 0:
                waiting += len(block)
            else:
                longest, waiting = max(longest, waiting + first + 1), len(block) - last - 1
            inside = (inside + block.count(b'"')) % 2
    return max(longest, waiting)


def _ends(block: bytes, inside: int) -> tuple[int, int]:
    """Return the ends of the first and the last record of a block, or -1; ``inside``: it begins within quotes."""
    first, last = block.find(b"\n"), block.rfind(b"\n")
    if first < 0 or not ((inside + block.count(b'"', 0, first)) % 2 or (inside + block.count(b'"', 0, last)) % 2):
        return first, last
    ends = _all_ends(np.frombuffer(block, dtype=np.uint8), inside)
    return (int(ends[0]), int(ends[-1])) if len(ends) else (-1, -1)


def _all_ends(letters: "NDArray[np.uint8]", inside: int) -> "NDArray[np.int64]":
    breaks = np.flatnonzero(letters == ord("\n"))
    quotes = np.searchsorted(np.flatnonzero(letters == ord('"')), breaks)
    outside: NDArray[np.int64] = breaks[(quotes + inside) % 2 == 0]
    return outside
