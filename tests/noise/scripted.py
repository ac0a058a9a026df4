"""Sources whose words are known, and what exact arithmetic makes of them.

``Scripted`` hands out the words of a list and then fails; ``Counting`` keeps an account of what is asked of a seeded
stream. ``compare`` decides a coin against a probability in rational numbers alone: the oracle for every fast path.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.enclosure import exp_negative
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from celosia.noise.cells import Cells

WORD = 64
ALL_ONES = (1 << WORD) - 1
_DIGITS = 400
_FAR = Fraction(5000)


class SpentError(Exception):
    """The script has no further word."""


class Scripted:
    """A source that follows a script."""

    def __init__(self, words: Iterable[int]) -> None:
        self.left = list(words)[::-1]

    @property
    def seeded(self) -> bool:
        return True

    def word(self) -> int:
        if not self.left:
            raise SpentError
        return self.left.pop()

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([self.word() for _ in range(count)], dtype=np.uint64)


class Repeating(Scripted):
    """A source that gives the same word over and over, up to a limit."""

    def __init__(self, word: int, most: int) -> None:
        super().__init__([word] * most)


class Counting:
    """A seeded source that counts."""

    def __init__(self, seed: int) -> None:
        self._inner = Seeded(seed)
        self.total = 0
        self.largest = 0

    @property
    def seeded(self) -> bool:
        return True

    def word(self) -> int:
        self.total += 1
        return self._inner.word()

    def words(self, count: int) -> NDArray[np.uint64]:
        self.total += count
        self.largest = max(self.largest, count)
        return self._inner.words(count)


def enclose(exponent: Fraction, factor: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose ``factor * exp(-exponent)`` in rationals that agree to a hundred digits; from 0 what is out of sight."""
    if exponent > _FAR:
        return Fraction(0), enclose(_FAR, factor)[1]
    bits = _DIGITS + 3 * int(exponent) // 2
    low, high = exp_negative(exponent, bits)
    return factor * low / (1 << bits), factor * high / (1 << bits)


def threshold(probability: tuple[Fraction, Fraction], bits: int) -> int:
    """Return the coin of ``bits`` bits in which the probability lies."""
    low, high = (int(bound * 2**bits) for bound in probability)
    assert low == high, "the oracle needs more digits"
    return low


def compare(prefix: int, bits: int, probability: tuple[Fraction, Fraction]) -> bool | None:
    """Return whether a number with this prefix is below the probability; None if its next bits matter."""
    low, high = probability
    if prefix + 1 <= low * 2**bits:
        return True
    return False if prefix >= high * 2**bits else None


def acceptance(cells: Cells, magnitude: int, cell: int, doublings: int = 0) -> tuple[Fraction, Fraction]:
    """Enclose the probability with which a proposal must be accepted: weight over proposal, times a constant.

    It is derived from the slots alone. A number is proposed by a share of the slots, an offset, and in the tail by a
    number of doublings; with both signs if it is zero.
    """
    share = cells.slots.count(cell)
    proposed = Fraction(share, 4096) / 2 ** (cells.widths[cell] + doublings)
    if cells.signed and magnitude == 0:
        proposed *= 2
    exponent = cells.linear * magnitude + cells.quadratic * magnitude**2
    return enclose(exponent, cells.rate / 4096 / proposed)
