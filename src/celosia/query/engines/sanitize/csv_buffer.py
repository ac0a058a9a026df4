"""How long the longest record of a CSV file can be, so that the reader's buffers hold every one of them whole.

A reader that gives up on a long record loses its place: inside a quoted cell of many lines it takes each line for a
record, and rows that one person wrote into a cell would count as many. So the buffers are made for the file. A record
ends at a line break with an even number of quotes before it (Shafranovich 2005, RFC 4180).
"""

import functools
import gzip
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK: Final = 2**20


def longest_record(path: str) -> int:
    r"""Return a number of bytes that no record exceeds; it is never less than 2^20, and may be a little too large."""
    longest, waiting, inside = _BLOCK, 0, 0
    with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:  # noqa: PTH123 - as gzip.open
        for block in iter(functools.partial(file.read, _BLOCK), b""):
            first, last = _ends(block, inside)
            if first < 0:
                waiting += len(block)
            else:
                longest, waiting = max(longest, waiting + first + 1), len(block) - last - 1
            inside = (inside + block.count(b'"')) % 2
    return max(longest, waiting)


def _ends(block: bytes, inside: int) -> tuple[int, int]:
    """Where the first and the last record end in a block, -1 if none does; ``inside``: it begins within quotes."""
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
