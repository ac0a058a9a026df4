"""Fragments of texts, and how a server puts them together again: the puzzle of the sequence fragment puzzle.

A piece is a fragment of a text with a tag, which is eight bits of the text's digest. Pieces of one text have the same
tag, so that only pieces with the same tag are put together, and a text is kept only if it has that tag itself: of the
wrong ones, one in 256 does. Frequent pieces are proposed place by place; a tag whose pieces could be put together in
too many ways (which honest reports never make) keeps the most frequent ones.
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
"""How many tags there are."""

_MOST_TEXTS = 1 << 16  # that one tag's pieces are put together to
_CHUNK = 1 << 20


def tags(texts: "Column | list[str] | list[bytes]", seed: int) -> "NDArray[np.uint8]":
    """Return the tag of each text: the highest eight bits of its digest with this seed."""
    return (digest(texts, seed=seed) >> np.uint64(56)).astype(np.uint8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """How texts of an alphabet are cut: ``length`` letters in all, ``fragment`` of them in each piece.

    A piece is numbered by its place, its tag and its letters.
    """

    alphabet: Alphabet
    length: int
    fragment: int
    seed: int

    @property
    def places(self) -> int:
        """How many pieces a text has."""
        return self.length // self.fragment

    @property
    def kinds(self) -> int:
        """How many different pieces there can be at one place."""
        return int(TAGS * self._radix**self.fragment)

    @property
    def _radix(self) -> int:
        return len(self.alphabet) + 1

    def numbers(
        self, letters: "NDArray[np.unsignedinteger[Any]]", tag: "NDArray[np.uint8]", place: "Numbers"
    ) -> "Numbers":
        """Return the number of one piece of each text, the one at its place."""
        rows = np.arange(len(letters))
        number = place * TAGS + tag
        for offset in range(self.fragment):
            number = number * self._radix + letters[rows, place * self.fragment + offset]
        return number

    def most_frequent(self, table: "NDArray[np.int64]", family: "HashFamily", place: int, top: int) -> "Numbers":
        """Return the ``top`` pieces of a place that a hashed table speaks for most, the first first."""
        best = counts = np.empty(0, dtype=np.int64)
        for first in range(place * self.kinds, (place + 1) * self.kinds, _CHUNK):
            numbers = np.arange(first, min(first + _CHUNK, (place + 1) * self.kinds))
            best = np.concatenate([best, numbers])
            counts = np.concatenate([counts, support(table, family, digest(numbers))])
            kept = np.argsort(-counts, kind="stable")[:top]
            best, counts = best[kept], counts[kept]
        return best

    def put_together(self, pieces: "list[Numbers]") -> list[str] | list[bytes]:
        """Return the texts that pieces, given place by place and the most frequent first, can be parts of."""
        ends = self._radix**self.fragment
        parts = [numbers % self.kinds for numbers in pieces]
        shared = set.intersection(*(set((numbers // ends).tolist()) for numbers in parts))
        found: list[Any] = []
        for tag in sorted(shared):
            rows = _products([numbers[numbers // ends == tag] % ends for numbers in parts])
            letters = self._letters(rows)
            ended = letters == 0  # once a text has ended, nothing follows
            texts = unspell(letters[~(ended[:, :-1] & ~ended[:, 1:]).any(axis=1)], self.alphabet)
            found += [texts[place] for place in np.flatnonzero(tags(texts, self.seed) == tag).tolist()]
        return found

    def _letters(self, rows: "Numbers") -> "Numbers":
        """The letters of texts, given by the numbers of their fragments."""
        powers = self._radix ** np.arange(self.fragment)[::-1]
        return (rows[:, :, None] // powers % self._radix).reshape(len(rows), self.length)


def _products(parts: "list[Numbers]") -> "Numbers":
    """All ways to take one of each part, one in each row; of parts that are too long, only the beginnings."""
    lengths = [part.size for part in parts]
    while math.prod(lengths) > _MOST_TEXTS:
        lengths[lengths.index(max(lengths))] -= 1
    grid = np.meshgrid(*(part[:length] for part, length in zip(parts, lengths, strict=True)), indexing="ij")
    return np.stack(grid, axis=-1).reshape(-1, len(parts))
