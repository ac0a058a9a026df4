"""A set of digests with a fixed capacity, for exact small counts.

Open addressing: ``slots`` holds places in ``members``, counted from 1. Digests are already spread, so their low bits
choose the slot. A deserialized sketch may hold digests that an adversary chose to collide, so that every search would
be long. If one takes too long, XXH64 with another salt chooses the slots again. Memory grows with the members, so that
a few bytes of input cannot claim much of it.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from celosia.sketches.hashing.digest import xxh64_word

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_STEPS = 256  # of a search: at least half of the slots are empty, so that chance hardly goes that far
_FIRST_ROOM = 64
_LAST_SALT = 4  # an adversary cannot find digests that collide under all these hash functions


class DigestSet:
    """Up to ``room`` different digests."""

    __slots__ = ("_count", "_members", "_room", "_salt", "_slots")

    _count: int
    _members: "NDArray[np.uint64]"
    _slots: "NDArray[np.int32]"

    def __init__(self, room: int, members: "NDArray[np.uint64] | None" = None) -> None:
        self._room = room
        self._salt = 0
        self.replace(np.empty(0, dtype=np.uint64) if members is None else members)

    def __len__(self) -> int:
        return self._count

    @property
    def memory(self) -> int:
        """The bytes of the state."""
        return self._members.nbytes + self._slots.nbytes

    def members(self) -> "NDArray[np.uint64]":
        """Return the digests in increasing order."""
        return np.sort(self._members[: self._count])

    def add(self, digests: "NDArray[np.uint64]", most: int) -> int:
        """Add digests of at most ``most``, in order; return the number processed before the set is full."""
        done = 0
        while True:
            self._count, more, crowded = _add(
                digests[done:], self._members, self._slots, self._count, np.uint64(most), self._salt
            )
            done += int(more)
            if not crowded and (done == digests.size or self._count == self._room):
                return done
            self._salt += bool(crowded)
            self._hold(self._members[: self._count], self._members.size * (1 if crowded else 4))

    def replace(self, members: "NDArray[np.uint64]") -> None:
        """Replace the members by these digests, at most as many as fit."""
        self._hold(members, max(members.size, _FIRST_ROOM))

    def _hold(self, members: "NDArray[np.uint64]", room: int) -> None:
        room, crowded = min(room, self._room), True
        while crowded:
            held, slots = np.empty(room, dtype=np.uint64), np.zeros(1 << (2 * room).bit_length(), dtype=np.int32)
            self._count, _, crowded = _add(members, held, slots, 0, np.uint64(2**64 - 1), self._salt)
            self._salt += bool(crowded)
        self._members, self._slots = held, slots


@njit(cache=True, nogil=True)
def _add(
    digests: "NDArray[np.uint64]",
    members: "NDArray[np.uint64]",
    slots: "NDArray[np.int32]",
    count: int,
    most: np.uint64,
    salt: int,
) -> tuple[int, int, bool]:
    """Return the number of members, the number of processed digests, and whether a search was too long."""
    mask = np.uint64(slots.size - 1)
    for i in range(digests.size):
        digest = digests[i]
        if digest > most:
            continue
        slot = (xxh64_word(digest, np.uint64(salt)) if salt else digest) & mask
        steps = 0
        while slots[slot] != 0 and members[slots[slot] - 1] != digest:
            slot = (slot + np.uint64(1)) & mask
            steps += 1
            if steps > _MAX_STEPS and salt < _LAST_SALT:
                return count, i, True
        if slots[slot] == 0:
            if count == members.size:
                return count, i, False
            members[count] = digest
            count += 1
            slots[slot] = count
    return count, digests.size, False
