"""Compiled arithmetic modulo the prime p = 2^61 - 1: the polynomials that ``family`` hashes with.

A number of 122 bits is reduced by adding its upper to its lower 61 bits, because 2^61 is 1 modulo p (Carter and Wegman
1979). All functions take and return numbers below p, and are for other compiled loops.
"""

from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped] # ships no types
from numba import njit, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

_P = np.uint64(2**61 - 1)


@intrinsic
def _high_product(typing_context: "Any", a: "Any", b: "Any") -> "Any":  # noqa: ARG001 - Numba's own types
    def build(_context: "Any", builder: "Any", _signature: "Any", args: "Any") -> "Any":
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), build


@njit(cache=True, nogil=True)
def high_product(a: np.uint64, b: np.uint64) -> np.uint64:
    """Return the upper 64 bits of a product of two words, an instruction that Numba does not expose."""
    return np.uint64(_high_product(a, b))  # type: ignore[call-arg] # Numba fills in the first


@njit(cache=True, nogil=True)
def reduce61(word: np.uint64) -> np.uint64:
    """Return a digest mod 2^61 - 1."""
    folded = (word & _P) + (word >> np.uint64(61))
    return folded - _P if folded >= _P else folded


@njit(cache=True, nogil=True)
def evaluate(coefficients: "NDArray[np.uint64]", x: np.uint64) -> np.uint64:
    """Return a polynomial mod 2^61 - 1, given by one row of ``HashFamily.coefficients``, at x < 2^61 - 1."""
    y = coefficients[coefficients.size - 1]
    for i in range(coefficients.size - 2, -1, -1):
        y = _step(y, x, coefficients[i])
    return np.uint64(y)


@njit(cache=True, nogil=True)
def evaluate_row(coefficients: "NDArray[np.uint64]", row: int, x: np.uint64) -> np.uint64:
    """Return ``evaluate(coefficients[row], x)`` without making a view, which would cost more than the polynomial."""
    last = coefficients.shape[1] - 1
    y = coefficients[row, last]
    for i in range(last - 1, -1, -1):
        y = _step(y, x, coefficients[row, i])
    return np.uint64(y)


@njit(cache=True, nogil=True)
def first_four(coefficients: "NDArray[np.uint64]", row: int) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the first four coefficients of a row, zeros where it has fewer: numbers that stay in registers."""
    many, none = coefficients.shape[1], np.uint64(0)
    return (
        coefficients[row, 0],
        coefficients[row, 1] if many > 1 else none,
        coefficients[row, 2] if many > 2 else none,
        coefficients[row, 3] if many > 3 else none,
    )


@njit(cache=True, nogil=True)
def evaluate_four(
    four: tuple[np.uint64, np.uint64, np.uint64, np.uint64], independence: int, x: np.uint64
) -> np.uint64:
    """Return ``evaluate`` for a row of at most four coefficients, twice as fast in a loop over many x."""
    # Python hands over the tuple as signed numbers; between compiled functions this does nothing.
    first, second, third, fourth = np.uint64(four[0]), np.uint64(four[1]), np.uint64(four[2]), np.uint64(four[3])
    y = second if independence > 1 else first
    if independence > 2:
        y = third
        if independence > 3:
            y = _step(fourth, x, y)
        y = _step(y, x, second)
    if independence > 1:
        y = _step(y, x, first)
    return np.uint64(y)


@njit(cache=True, nogil=True)
def evaluate_fast(
    coefficients: "NDArray[np.uint64]",
    row: int,
    four: tuple[np.uint64, np.uint64, np.uint64, np.uint64],
    x: np.uint64,
) -> np.uint64:
    """Return ``evaluate_row``, by ``evaluate_four`` if the row has at most four coefficients, which ``four`` holds."""
    many = coefficients.shape[1]
    return evaluate_four(four, many, x) if many <= 4 else evaluate_row(coefficients, row, x)


@njit(cache=True, nogil=True)
def _step(y: np.uint64, x: np.uint64, coefficient: np.uint64) -> np.uint64:
    low, high = y * x, high_product(y, x)
    # Three terms below 2^61, so that the sum is below 2^63.
    return reduce61((low & _P) + ((high << np.uint64(3)) | (low >> np.uint64(61))) + coefficient)


@njit(cache=True, nogil=True)
def to_range(y: np.uint64, width: np.uint64) -> np.int64:
    """Return the column, from 0 to width - 1, of a hash below 2^61."""
    return np.int64(((y >> np.uint64(29)) * np.uint64(width)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def sign_of(y: np.uint64) -> np.int64:
    """Return the sign of a hash below 2^61: 1, or -1 if bit 60 is set."""
    return np.int64(1) - np.int64((y >> np.uint64(60)) << np.uint64(1))
