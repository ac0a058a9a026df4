"""Check what parties contribute, and add it up: a round goes on without what cannot be used, and counts it.

A contribution is an array of integers that are noised already. The server cannot see whether its numbers are true, but
that they have the right form, and lie where an honest contribution lies.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

INTEGER_BYTES: Final = 8
"""Bytes of an integer in a message."""

MAX_SUM: Final = 2**62
"""The largest sum of the contributions of all parties."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer that is no contribution, in words of the reader's own."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundSum:
    """The sum of a round: whose contributions are in it, and why others are not.

    ``total`` has Python's integers, so that no sum overflows. ``parts`` are what the accepted parties sent, where it
    is seen. ``spread`` is the variance of the noise in the total, in times that of one party's noise; None where each
    accepted party added one whole noise.
    """

    total: NDArray[Any]
    accepted: tuple[str, ...]
    rejected: Mapping[str, str]
    parts: Mapping[str, NDArray[np.int64]] = field(default_factory=dict, repr=False)
    spread: Fraction | None = None

    def count_bytes(self) -> int:
        """Return how many bytes the accepted parties sent."""
        return INTEGER_BYTES * len(self.total) * len(self.accepted)


def add_contributions(contributions: Mapping[str, object], *, width: int, parties: int) -> RoundSum:
    """Add the usable contributions of a round.

    Parameters
    ----------
    contributions
        By party; None where a party did not answer, ``Unusable`` where its answer could not be read.
    width
        How many integers each party contributes.
    parties
        How many parties there are: the sum of all contributions must fit into 63 bits.

    Examples
    --------
    >>> given = {"north": np.array([3, 4]), "south": None, "west": np.array([0.5, 1.0])}
    >>> found = add_contributions(given, width=2, parties=3)
    >>> found.total.tolist(), found.rejected
    ([3, 4], {'south': 'silent', 'west': 'not integers'})
    """
    usable, rejected = sort_contributions(contributions, width=width, parties=parties)
    added = np.sum([np.zeros(width, dtype=np.int64), *usable.values()], axis=0)  # at most MAX_SUM: no overflow
    return RoundSum(total=added.astype(object), accepted=tuple(usable), rejected=rejected, parts=usable)


def sort_contributions(
    contributions: Mapping[str, object], *, width: int, parties: int
) -> tuple[dict[str, NDArray[np.int64]], dict[str, str]]:
    """Return the usable contributions of a round, and why others are not; parameters as in `add_contributions`.

    >>> sort_contributions({"north": np.array([3]), "south": None}, width=1, parties=2)
    ({'north': array([3])}, {'south': 'silent'})
    """
    reasons = {name: _find_fault(given, width) for name, given in contributions.items()}
    formed = {name: np.asarray(contributions[name]) for name, why in reasons.items() if why is None}
    reasons |= dict.fromkeys(_find_large(formed, MAX_SUM // parties), "too large")
    usable = {name: given.astype(np.int64) for name, given in formed.items() if reasons[name] is None}
    return usable, {name: why for name, why in reasons.items() if why is not None}


def _find_large(formed: Mapping[str, NDArray[Any]], most: int) -> list[str]:
    """Return the names of integers of which one is larger in magnitude; compared as they are, type by type."""
    names: dict[np.dtype[Any], list[str]] = {}
    for name, given in formed.items():
        names.setdefault(given.dtype, []).append(name)
    found = []
    for own in names.values():
        rows = np.array([formed[name] for name in own])
        large = ((rows > most) | (rows < -most)).any(axis=1)
        found += [own[place] for place in np.flatnonzero(large)]
    return found


def _find_fault(given: object, width: int) -> str | None:
    """Return why the form of a contribution cannot be used; None if it can."""
    if given is None:
        return "silent"
    if isinstance(given, Unusable):
        return given.reason
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "iu":
        return "not integers"
    if given.shape != (width,):
        return "wrong shape"
    return None
