"""Families of k-wise independent hash functions: polynomials over the prime p = 2^61 - 1 (Wegman and Carter 1981).

Row r maps a digest x to y = c_(k-1) x^(k-1) + … + c_0 mod p, and y to the column ⌊⌊y / 2^29⌋ · width / 2^32⌋. With
uniform coefficients, any k different x have independent and uniform y; a column then has a chance of at most 1/width +
2^-32. Coefficient i of row r is XXH64, with the family's seed, of the 16 bytes of r and i (64 bits each,
little-endian), taken mod p: every machine computes the same functions, and an adversary who knows the seed can make
collisions.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.sketches.hashing.columns import Column
from celosia.sketches.hashing.digest import as_seed, digest
from celosia.sketches.hashing.mersenne import (
    evaluate_fast,
    evaluate_row,
    first_four,
    reduce61,
    sign_of,
    to_range,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_P = np.uint64(2**61 - 1)
_MAX_WIDTH = 2**31
_MAX_ROWS = 2**24
_MAX_INDEPENDENCE = 16
_GRAIN = 2.0**-32  # a column takes an integer of the 2^32 values that are mapped to it


@njit(cache=True, nogil=True)
def _fill_table(
    coefficients: "NDArray[np.uint64]", digests: "NDArray[np.uint64]", width: np.uint64, out: "NDArray[np.int64]"
) -> None:
    for row in range(coefficients.shape[0]):
        four = first_four(coefficients, row)
        for i in range(digests.size):
            out[row, i] = to_range(evaluate_fast(coefficients, row, four, reduce61(digests[i])), width)


@njit(cache=True, nogil=True)
def _fill_columns(
    coefficients: "NDArray[np.uint64]",
    digests: "NDArray[np.uint64]",
    rows: "NDArray[np.int64]",
    width: np.uint64,
    out: "NDArray[np.int64]",
) -> None:
    for i in range(digests.size):
        out[i] = to_range(evaluate_row(coefficients, rows[i], reduce61(digests[i])), width)


@njit(cache=True, nogil=True)
def _fill_sign_table(
    coefficients: "NDArray[np.uint64]", digests: "NDArray[np.uint64]", out: "NDArray[np.int8]"
) -> None:
    for row in range(coefficients.shape[0]):
        four = first_four(coefficients, row)
        for i in range(digests.size):
            out[row, i] = sign_of(evaluate_fast(coefficients, row, four, reduce61(digests[i])))


@njit(cache=True, nogil=True)
def _fill_signs(
    coefficients: "NDArray[np.uint64]",
    digests: "NDArray[np.uint64]",
    rows: "NDArray[np.int64]",
    out: "NDArray[np.int8]",
) -> None:
    for i in range(digests.size):
        out[i] = sign_of(evaluate_row(coefficients, rows[i], reduce61(digests[i])))


@dataclass(frozen=True, slots=True)
class HashFamily:
    """``rows`` hash functions into 0 … ``width`` - 1, each ``independence``-wise independent.

    >>> from celosia.sketches.hashing.digest import digest
    >>> family = HashFamily(2, 10, seed=7)
    >>> family.table(digest(["sun", "rain", "snow"])).tolist()
    [[2, 2, 4], [4, 7, 4]]
    >>> family.columns(digest(["sun", "rain"]), [0, 1]).tolist()
    [2, 7]
    """

    rows: int
    width: int
    independence: int = field(default=3, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    coefficients: "NDArray[np.uint64]" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the parameters, and derive the coefficients from the seed."""
        for name, most in (("rows", _MAX_ROWS), ("width", _MAX_WIDTH), ("independence", _MAX_INDEPENDENCE)):
            number = exact_integer(getattr(self, name), name=name)
            if number > most:
                raise ParameterError("core.above_maximum", name=name, most=most, value=safe_repr(number))
            object.__setattr__(self, name, number)
        object.__setattr__(self, "seed", int(as_seed(self.seed)))
        object.__setattr__(self, "coefficients", _coefficients(self.rows, self.independence, self.seed))

    def columns(self, digests: "ArrayLike", rows: "ArrayLike") -> "NDArray[np.int64]":
        """Return the column of each digest in its own row.

        >>> HashFamily(3, 100, seed=1).columns(np.arange(3, dtype=np.uint64), [0, 1, 2]).tolist()
        [67, 46, 82]
        """
        words, where = self._pair(digests, rows)
        out = np.empty(words.size, dtype=np.int64)
        _fill_columns(self.coefficients, words, where, np.uint64(self.width), out)
        return out

    def table(self, digests: "ArrayLike") -> "NDArray[np.int64]":
        """Return the column of every digest in every row, as an array (rows, digests).

        >>> HashFamily(2, 100, seed=1).table(np.arange(3, dtype=np.uint64)).shape
        (2, 3)
        """
        words = _words(digests)
        out = np.empty((self.rows, words.size), dtype=np.int64)
        _fill_table(self.coefficients, words, np.uint64(self.width), out)
        return out

    def signs(self, digests: "ArrayLike", rows: "ArrayLike") -> "NDArray[np.int8]":
        """Return the sign, 1 or -1, of each digest in its own row; columns of the same family depend on it.

        >>> HashFamily(1, 2, independence=4, seed=1).signs(digest(range(6)), 0).tolist()
        [-1, -1, 1, 1, -1, 1]
        """
        words, where = self._pair(digests, rows)
        out = np.empty(words.size, dtype=np.int8)
        _fill_signs(self.coefficients, words, where, out)
        return out

    def sign_table(self, digests: "ArrayLike") -> "NDArray[np.int8]":
        """Return the sign of every digest in every row, as an array (rows, digests).

        >>> HashFamily(2, 2, independence=4, seed=1).sign_table(np.arange(3, dtype=np.uint64)).tolist()
        [[-1, -1, -1], [-1, 1, 1]]
        """
        words = _words(digests)
        out = np.empty((self.rows, words.size), dtype=np.int8)
        _fill_sign_table(self.coefficients, words, out)
        return out

    def _pair(self, digests: "ArrayLike", rows: "ArrayLike") -> "tuple[NDArray[np.uint64], NDArray[np.int64]]":
        words, where = _words(digests), np.asarray(rows)
        if where.dtype.kind not in "iu" or where.shape not in {(), words.shape}:
            raise InputError("sketches.wrong_number_of_rows")
        if where.size and (int(where.min()) < 0 or int(where.max()) >= self.rows):
            raise InputError("sketches.row_out_of_range", most=self.rows - 1)
        return words, np.ascontiguousarray(np.broadcast_to(where, words.shape), dtype=np.int64)


def collision_chance(width: int) -> float:
    """Return a bound on the chance that two different digests share a column of a pairwise independent row."""
    return 1 / width + _GRAIN


def width_for(chance: float, *, name: str, given: object) -> int:
    """Return a width, at least 2, whose ``collision_chance`` is at most ``chance``; errors name the parameter."""
    if chance <= 1 / _MAX_WIDTH + _GRAIN:
        raise ParameterError("sketches.error_too_small_for_table", name=name, value=safe_repr(given))
    width = max(2, math.ceil(1 / (chance - _GRAIN)))
    return width if collision_chance(width) <= chance else width + 1  # rounding may miss by one


def _words(digests: "ArrayLike") -> "NDArray[np.uint64]":
    words = np.asarray(digests)
    if words.dtype != np.uint64 or words.ndim != 1:
        raise InputError("sketches.not_digests")
    return np.ascontiguousarray(words)


def _coefficients(rows: int, independence: int, seed: int) -> "NDArray[np.uint64]":
    pairs = np.empty((rows, independence, 2), dtype="<u8")
    pairs[..., 0], pairs[..., 1] = np.arange(rows)[:, None], np.arange(independence)
    offsets = 16 * np.arange(rows * independence + 1)
    words = digest(Column(offsets=offsets, data=pairs.reshape(-1).view(np.uint8)), seed=seed)
    coefficients = (words % _P).reshape(rows, independence)
    coefficients.flags.writeable = False
    return coefficients
