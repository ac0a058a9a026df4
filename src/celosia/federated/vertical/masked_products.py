"""Sums of products of two parties' columns, such that neither shows its column, and no one sees the sum.

The server deals each pair of parties random pads of the size of their columns, and random parts of the product of the
pads. The parties show each other their columns minus the pads, which are uniform, and each can then compute a part of
the product of the columns: the parts add up to it, and each alone is uniform. All is modulo 2^64 (Beaver 1991, Du and
Atallah 2001; ``proofs/masked-products.md``). The server must not tell one party another's pads.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from celosia.noise.keyed import KEY_BYTES, Keyed, derive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.core import Source

Words = NDArray[np.uint64]

BLOCK = 2**15
"""How many persons' columns a message has."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pads:
    """What one party of a pair gets from the server: the key of its pads, and its part of their products.

    The part of the first party comes from its key.
    """

    key: bytes = field(repr=False)
    part: Words = field(repr=False)

    def draw(self, block: int, shape: tuple[int, int]) -> Words:
        """Return the pads of a block of persons."""
        return _draw(self.key, b"pads" + block.to_bytes(8, "little"), shape)


def deal_pads(persons: int, columns: tuple[int, int], source: "Source") -> tuple[Pads, Pads]:
    """Return the pads of two parties with so many columns each, for so many persons."""
    keys = [source.words(KEY_BYTES // 8).tobytes() for _ in range(2)]
    first = Pads(key=keys[0], part=_draw(keys[0], b"part", columns))
    second = Pads(key=keys[1], part=-first.part)
    total = second.part
    for block, rows in enumerate(count_rows(persons)):
        total = total + first.draw(block, (rows, columns[0])).T @ second.draw(block, (rows, columns[1]))
    return first, Pads(key=keys[1], part=total)


def count_rows(persons: int) -> "Iterator[int]":
    """Yield the numbers of persons in the blocks, one after the other."""
    return (min(BLOCK, persons - start) for start in range(0, persons, BLOCK))


def hide_columns(columns: Words, pads: Words) -> Words:
    """Return what a party shows: its columns minus pads.

    >>> hide_columns(np.array([[7]], dtype=np.uint64), np.array([[2]], dtype=np.uint64)).tolist()
    [[5]]
    """
    return columns - pads


def multiply_own(columns: Words, shown: Words) -> Words:
    """Return what the first party adds to its part: its columns times what the second one shows."""
    return np.asarray(columns.T @ shown)


def multiply_pads(shown: Words, pads: Words) -> Words:
    """Return what the second party adds to its part: what the first one shows times its own pads."""
    return np.asarray(shown.T @ pads)


def _draw(key: bytes, purpose: bytes, shape: tuple[int, int]) -> Words:
    return Keyed(derive(key, purpose)).words(shape[0] * shape[1]).reshape(shape)
