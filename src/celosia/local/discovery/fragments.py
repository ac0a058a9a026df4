"""Fragments of strings, and their assembly by the server, for the sequence fragment puzzle.

A piece is a fragment of a string with a tag, which is eight bits of the string's digest. The server combines only
pieces with the same tag, and keeps a combination only if its digest has that tag: one in 256 of the wrong ones does.
Each place proposes its frequent pieces; a tag with too many combinations (which honest reports never produce) keeps the
most frequent ones.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.local.base.support import support
from celosia.local.discovery.spelling import Alphabet, unspell
from celosia.sketches.hashing.digest import digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.sketches.hashing.columns import Column
    from celosia.sketches.hashing.family import HashFamily

    Numbers = NDArray[np.int64]

TAGS = 256
"""The number of tags."""

_MAX_COMBINATIONS = 1 << 16  # of the pieces of one tag
_CHUNK = 1 << 20


def tags(texts: "Column | list[str] | list[bytes]", seed: int) -> "NDArray[np.uint8]":
    """Return the tag of each string: the highest eight bits of its digest with this seed."""
    return (digest(texts, seed=seed) >> np.uint64(56)).astype(np.uint8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Division of strings over an alphabet: ``length`` letters in all, ``fragment`` of them in each piece.

    A piece is numbered by its place, its tag and its letters.
    """

    alphabet: Alphabet
    length: int
    fragment: int
    seed: int

    @property
    def places(self) -> int:
        """The number of pieces of a string."""
        return self.length // self.fragment

    @property
    def kinds(self) -> int:
        """The number of different pieces at one place."""
        return int(TAGS * self._radix**self.fragment)

    @property
    def _radix(self) -> int:
        return len(self.alphabet) + 1

    def numbers(
        self, letters: "NDArray[np.unsignedinteger[Any]]", tag: "NDArray[np.uint8]", place: "Numbers"
    ) -> "Numbers":
        """Return the number of each string's piece at the given place."""
        rows = np.arange(len(letters))
        number = place * TAGS + tag
        for offset in range(self.fragment):
            number = number * self._radix + letters[rows, place * self.fragment + offset]
        return number

    def most_frequent(self, table: "NDArray[np.int64]", family: "HashFamily", place: int, top: int) -> "Numbers":
        """Return the ``top`` pieces of a place with the most support in a hashed table, in decreasing order."""
        best = counts = np.empty(0, dtype=np.int64)
        for first in range(place * self.kinds, (place + 1) * self.kinds, _CHUNK):
            numbers = np.arange(first, min(first + _CHUNK, (place + 1) * self.kinds))
            best = np.concatenate([best, numbers])
            counts = np.concatenate([counts, support(table, family, digest(numbers))])
            kept = np.argsort(-counts, kind="stable")[:top]
            best, counts = best[kept], counts[kept]
        return best

    def assemble(self, pieces: "list[Numbers]") -> list[str] | list[bytes]:
        """Return the strings that pieces can form, given for each place in decreasing order of frequency."""
        ends = self._radix**self.fragment
        parts = [numbers % self.kinds for numbers in pieces]
        shared = set.intersection(*(set((numbers // ends).tolist()) for numbers in parts))
        found: list[Any] = []
        for tag in sorted(shared):
            rows = _products([numbers[numbers // ends == tag] % ends for numbers in parts])
            letters = self._letters(rows)
            ended = letters == 0  # nothing follows the end of a string
            texts = unspell(letters[~(ended[:, :-1] & ~ended[:, 1:]).any(axis=1)], self.alphabet)
            found += [texts[place] for place in np.flatnonzero(tags(texts, self.seed) == tag).tolist()]
        return found

    def _letters(self, rows: "Numbers") -> "Numbers":
        """Return the letters of strings, given by the numbers of their fragments."""
        powers = self._radix ** np.arange(self.fragment)[::-1]
        return (rows[:, :, None] // powers % self._radix).reshape(len(rows), self.length)


def _products(parts: "list[Numbers]") -> "Numbers":
    """Return all combinations of one of each part, one in each row; parts that are too long are truncated."""
    lengths = [part.size for part in parts]
    while math.prod(lengths) > _MAX_COMBINATIONS:
        lengths[lengths.index(max(lengths))] -= 1
    grid = np.meshgrid(*(part[:length] for part, length in zip(parts, lengths, strict=True)), indexing="ij")
    return np.stack(grid, axis=-1).reshape(-1, len(parts))
