"""The Walsh-Hadamard transform, fast and in place: n log n additions instead of n^2.

The matrix has the entry (-1)^popcount(i & j) in row i and column j (Sylvester's order); it is symmetric, and its square
is n times the identity. An entry is the parity of a few bits, so that a client never builds the matrix.
"""

from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numba import njit

from celosia.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_Number = TypeVar("_Number", np.int64, np.float64)
_Rows: TypeAlias = "NDArray[np.int64] | NDArray[np.float64]"


@njit(cache=True, nogil=True)
def sign_scalar(index: int, column: int) -> np.int64:
    """Return one entry of the matrix, for two non-negative numbers; compiled, for other compiled loops."""
    bits = np.uint64(index) & np.uint64(column)
    for shift in (32, 16, 8, 4, 2, 1):
        bits ^= bits >> np.uint64(shift)
    return np.int64(1) - np.int64((bits & np.uint64(1)) << np.uint64(1))


@njit(cache=True, nogil=True)
def _fill_signs(indices: "NDArray[np.int64]", columns: "NDArray[np.int64]", out: "NDArray[np.int64]") -> None:
    for i in range(out.size):
        out[i] = sign_scalar(indices[i], columns[i])


def sign(index: "ArrayLike", column: "ArrayLike") -> "NDArray[np.int64]":
    """Return the entries (-1)^popcount(index & column) of the matrix, elementwise."""
    indices, columns = np.asarray(index), np.asarray(column)
    for name, array in (("index", indices), ("column", columns)):
        if array.dtype.kind not in "iu" or (array.size and int(array.min()) < 0):
            raise InputError("sketches.negative_or_not_integers", name=name)
    try:
        out = np.empty(np.broadcast_shapes(indices.shape, columns.shape), dtype=np.int64)
    except ValueError:
        raise InputError(
            "sketches.index_and_column_differ", index_shape=indices.shape, column_shape=columns.shape
        ) from None
    left, right = (
        array.astype(np.int64, copy=False)
        if array.shape == out.shape
        else np.broadcast_to(array, out.shape).astype(np.int64)
        for array in (indices, columns)
    )
    _fill_signs(left.reshape(-1), right.reshape(-1), out.reshape(-1))
    return out


def transform(array: "NDArray[_Number]") -> "NDArray[_Number]":
    """Transform an array along its last axis, in place, and return it.

    The array has one or two dimensions, the type int64 or float64, rows that lie in one piece, and a power of two as
    its last length. Integers wrap around beyond 2^63: keep the sum of their absolute values in a row
    below it.
    """
    given: object = array
    if not isinstance(given, np.ndarray) or given.dtype not in {np.dtype(np.int64), np.dtype(np.float64)}:
        raise InputError("sketches.unsupported_array")
    size = array.shape[-1] if array.ndim else 0
    if array.ndim not in {1, 2} or size < 1 or size & (size - 1):
        raise InputError("sketches.length_not_a_power", shape=array.shape)
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise InputError("sketches.array_not_writable")
    _transform_rows(array.reshape(-1, size))
    return array


@njit(cache=True, nogil=True)
def _transform_rows(rows: _Rows) -> None:
    for i in range(rows.shape[0]):
        _transform_row(rows[i])


@njit(cache=True, nogil=True)
def _transform_row(row: _Rows) -> None:
    """Transform two levels in each sweep of memory; an odd number of levels begins with a single one."""
    size = row.size
    half = 1
    if (size & 0x5555555555555555) == 0:
        for i in range(0, size, 2):
            row[i], row[i + 1] = row[i] + row[i + 1], row[i] - row[i + 1]
        half = 2
    while half < size:
        for start in range(0, size, 4 * half):
            first, second = row[start : start + half], row[start + half : start + 2 * half]
            third, fourth = row[start + 2 * half : start + 3 * half], row[start + 3 * half : start + 4 * half]
            for i in range(half):
                a, b = first[i] + second[i], first[i] - second[i]
                c, d = third[i] + fourth[i], third[i] - fourth[i]
                first[i], second[i], third[i], fourth[i] = a + c, b + d, a - c, b - d
        half *= 4
