"""Strings over an alphabet: each as a row of small numbers, truncated or padded to a fixed length.

Protocols that discover strings assemble them from letters, so the letters must be known. A letter is a Unicode code
point (compose accents first, in normal form C) or a byte. Number 0 is padding; letter i of the alphabet has the number
i + 1.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numba import njit

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, is_unicode
from celosia.sketches.hashing.columns import Column, read_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Letters: TypeAlias = NDArray[np.unsignedinteger[Any]]

Alphabet: TypeAlias = str | tuple[int, ...]
"""The letters of strings, or the bytes of bytes."""

_MAX_LETTERS = 4095


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpelledStrings:
    """Letter numbers, one string in each row, and the truncated strings."""

    letters: "Letters"
    cut: Column


def exact_alphabet(alphabet: object, *, name: str = "alphabet") -> Alphabet:
    """Return an alphabet: a string of different letters, or different bytes (as bytes, or as their numbers)."""
    letters: Alphabet | None = None
    if isinstance(alphabet, str):
        letters = str.__str__(alphabet)
    elif isinstance(alphabet, bytes | tuple | list):
        numbers = [exact_integer(number, name=name, least=0) for number in alphabet]
        letters = tuple(numbers) if all(number < 256 for number in numbers) else None
    if letters is None or not 2 <= len(set(letters)) == len(letters) <= _MAX_LETTERS or not _is_printable(letters):
        raise ParameterError("local.malformed_alphabet", name=name, most=_MAX_LETTERS)
    return letters


def letter_type(alphabet: Alphabet) -> "np.dtype[np.unsignedinteger[Any]]":
    """Return the narrowest type of the letters' numbers."""
    return np.dtype(np.uint8 if len(alphabet) < 256 else np.uint16)


def _is_printable(letters: Alphabet) -> bool:
    if isinstance(letters, str):
        return "\0" not in letters and is_unicode(letters)
    return 0 not in letters


def spell(values: Any, alphabet: Alphabet, length: int, *, name: str = "values") -> SpelledStrings:
    """Return strings, or bytes, letter by letter, truncated to ``length`` letters."""
    column = read_column(values, name=name)
    texts = isinstance(alphabet, str)
    if len(column) and (column.integers is not None or column.text != texts):
        raise InputError("local.alphabet_of_texts" if texts else "local.alphabet_of_bytes", name=name)
    letters: Letters = np.zeros((len(column), length), dtype=letter_type(alphabet))
    if not len(column):
        return SpelledStrings(letters=letters, cut=column)
    ends = np.empty(len(column), dtype=np.int64)
    if not _spell(column.offsets, column.data, _numbers(alphabet), texts, letters, ends):
        raise InputError("local.letter_not_in_alphabet", name=name, count=len(alphabet))
    return SpelledStrings(letters=letters, cut=_cut(column, ends))


def unspell(letters: "Letters | NDArray[np.int64]", alphabet: Alphabet) -> list[str] | list[bytes]:
    """Return the strings of rows of letter numbers."""
    rows, length = letters.shape
    if not rows:
        return []
    if isinstance(alphabet, str):
        points = np.array([0, *map(ord, alphabet)], dtype=np.uint32)[letters]
        texts: list[str] = np.ascontiguousarray(points).view(f"U{length}").reshape(rows).tolist()
        return texts
    numbers = np.array([0, *alphabet], dtype=np.uint8)[letters]
    strings: list[bytes] = np.ascontiguousarray(numbers).view(f"S{length}").reshape(rows).tolist()
    return strings


@lru_cache(maxsize=16)
def _numbers(alphabet: Alphabet) -> "NDArray[np.uint16]":
    """Return the number of each code point or byte, 0 for those outside the alphabet."""
    points = [ord(letter) for letter in alphabet] if isinstance(alphabet, str) else list(alphabet)
    numbers = np.zeros(max(points) + 1, dtype=np.uint16)
    numbers[points] = np.arange(1, len(points) + 1)
    return numbers


def _cut(column: Column, ends: "NDArray[np.int64]") -> Column:
    if np.array_equal(ends, column.offsets[1:]):
        return column
    starts = column.offsets[:-1]
    offsets = np.concatenate([[0], np.cumsum(ends - starts)])
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    _copy(column.data, starts, offsets, data)
    return Column(offsets=offsets, data=data, text=column.text)


@njit(cache=True, nogil=True)
def _copy(
    data: "NDArray[np.uint8]", starts: "NDArray[np.int64]", offsets: "NDArray[np.int64]", out: "NDArray[np.uint8]"
) -> None:
    for i in range(starts.size):
        for j in range(offsets[i + 1] - offsets[i]):
            out[offsets[i] + j] = data[starts[i] + j]


@njit(cache=True, nogil=True)
def _spell(
    offsets: "NDArray[np.int64]",
    data: "NDArray[np.uint8]",
    numbers: "NDArray[np.uint16]",
    texts: bool,  # noqa: FBT001 - likewise
    letters: "Letters",
    ends: "NDArray[np.int64]",
) -> bool:
    """Fill in the letters and the end of each string; return False if a letter is not in the alphabet."""
    known = True
    for i in range(ends.size):
        at, end, place = offsets[i], offsets[i + 1], 0
        while at < end and place < letters.shape[1]:
            point, size = np.int64(data[at]), 1
            if texts and point >= 0x80:  # the first byte of UTF-8 determines how many follow, with six bits each
                size = 2 if point < 0xE0 else 3 if point < 0xF0 else 4
                point &= 0x7F >> size
                if at + size > end:  # invalid UTF-8, which the reader does not check
                    return False
                for j in range(1, size):
                    point = (point << 6) | (np.int64(data[at + j]) & 0x3F)
            number = numbers[point] if point < numbers.size else np.uint16(0)
            known = known and number != 0
            letters[i, place] = number
            place += 1
            at += size
        ends[i] = at
    return known
