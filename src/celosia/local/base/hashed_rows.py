"""What sketches of the local model share: rows of hash functions over an open domain, and how they are asked about.

A value is digested (XXH64) and hashed by one of ``hashes`` polynomials into ``width`` columns. A client draws its row,
so that it sends one row's worth of bits; a server adds up all rows. The functions are
those of ``celosia.sketches.hashing.family``.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, safe_repr

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.sketches.hashing.family import HashFamily

LARGEST_SCALE = 2.0**100
"""Where noise is removed with more than this, nothing else in a table can be seen, nor be computed in doubles."""

_MOST, _MOST_CELLS = 2**24, 2**32


def exact_table(hashes: int, width: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of a table that a server can hold, or refuse them."""
    rows, columns = exact_integer(hashes, name="hashes"), exact_integer(width, name="width", least=2)
    for number, name in ((rows, "hashes"), (columns, "width")):
        if number > _MOST:
            raise ParameterError(f"{name} must be at most 2^24, not {safe_repr(number)}.")
    if rows * columns > _MOST_CELLS:
        raise ParameterError(f"hashes times width must be at most 2^32, not {rows} times {columns}.")
    return rows, columns


def exact_seed(seed: int) -> int:
    """Return a seed from 0 to 2^64 - 1, or refuse it. It is public: client and server share it."""
    number = exact_integer(seed, name="seed", least=0)
    if number >= 2**64:
        raise ParameterError(f"seed must be less than 2^64, not {safe_repr(seed)}.")
    return number


@lru_cache(maxsize=64)
def family(hashes: int, width: int, seed: int) -> "HashFamily":
    """Return the hash functions of a table: three-wise independent, as the variance of a count needs."""
    from celosia.sketches.hashing.family import HashFamily

    return HashFamily(hashes, width, seed=seed)


def digests(values: Any) -> "NDArray[np.uint64]":
    """Return the digest of each value."""
    from celosia.sketches.hashing.digest import digest

    return digest(values)


def asked(candidates: Any) -> "tuple[list[Any], NDArray[np.uint64]]":
    """Return the candidates as a list, and their digests. An open domain has no list of its own: they must be given."""
    from celosia.sketches.hashing.columns import read_column

    if candidates is None:
        raise InputError(
            "candidates must be given: a sketch cannot list the values that it has seen, only tell their counts."
        )
    column = read_column(candidates, name="candidates")
    return list(column.tolist()), digests(column)
