"""Rows of hash functions over an open domain, which the sketches of the local model share.

A value is digested (XXH64) and hashed by one of ``hashes`` polynomials into ``width`` columns. A client draws its row
and sends the bits of that row; a server adds up all rows. ``celosia.sketches.hashing.family`` has the functions.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.sketches.hashing.columns import read_column
from celosia.sketches.hashing.digest import as_seed, digest
from celosia.sketches.hashing.family import HashFamily

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_SCALE = 2.0**100
"""The largest factor of the noise: beyond it the table shows nothing else, and doubles overflow."""

_MAX_SIDE, _MAX_CELLS = 2**24, 2**32


def exact_table(hashes: int, width: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of a table, or raise ``ParameterError`` if it is too large."""
    rows, columns = exact_integer(hashes, name="hashes"), exact_integer(width, name="width", least=2)
    for number, name in ((rows, "hashes"), (columns, "width")):
        if number > _MAX_SIDE:
            raise ParameterError("local.hash_size_too_large", name=name, value=safe_repr(number))
    if rows * columns > _MAX_CELLS:
        raise ParameterError("local.hash_table_too_large", rows=rows, columns=columns)
    return rows, columns


def exact_seed(seed: int) -> int:
    """Return a public seed from 0 to 2^64 - 1, or raise ``ParameterError``."""
    return int(as_seed(seed))


@lru_cache(maxsize=64)
def build_hash_family(hashes: int, width: int, seed: int) -> HashFamily:
    """Return the hash functions of a table: three-wise independent, as the variance of a count needs."""
    return HashFamily(hashes, width, seed=seed)


def read_candidates(candidates: Any) -> "tuple[list[Any], NDArray[np.uint64]]":
    """Return the candidates of an open domain as a list, and their digests."""
    if candidates is None:
        raise InputError("local.sketch_needs_candidates")
    column = read_column(candidates, name="candidates")
    return list(column.tolist()), digest(column)
