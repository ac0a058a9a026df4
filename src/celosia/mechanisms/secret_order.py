"""Secrets that hide *when* a record was used: the order of the records, the number of steps before the end.

Both are drawn uniformly and exactly, independently of the data, and must never be revealed: the price of a run with a
secret order or stop (proofs/iteration.md, 6) is that of a mixture over them.
"""

from typing import TYPE_CHECKING

from celosia.core.exact import exact_integer
from celosia.noise.uniform import integer_below, permutation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


def secret_permutation(records: int, *, source: "Source | None" = None) -> "NDArray[np.int64]":
    """Return the numbers from 0 to ``records - 1`` in uniformly random order."""
    return permutation(exact_integer(records, name="records"), source)


def secret_stop(records: int, *, source: "Source | None" = None) -> int:
    """Return a number of steps, uniform from 1 to ``records``."""
    return integer_below(exact_integer(records, name="records"), source) + 1
