"""Digests of a column, in pieces that fit in the processor's cache.

Memory stays flat, and one long column takes as long as many short ones.
"""

from typing import TYPE_CHECKING

from celosia.sketches.hashing.columns import Values, read_column
from celosia.sketches.hashing.digest import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

_CHUNK = 1 << 15


def digest_chunks(values: Values, seed: int) -> "Iterator[NDArray[np.uint64]]":
    """Yield the digests of a column, some ten thousand at a time."""
    column = read_column(values)
    for start in range(0, len(column), _CHUNK):
        yield digest(column.slice(start, start + _CHUNK), seed=seed)
