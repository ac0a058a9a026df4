"""A keyed order that nobody outside can foresee, by arithmetic that every engine has.

Which of a person's cells and rows count is decided by a hash of the person, the cell and a secret of the session. The
choice depends on that person's rows alone, so privacy does not rest on the hash; it only has to be fair, and the same
on every engine. Hashes are polynomials modulo the prime 2^31 - 1: all products fit 64 bits. Constants have that type in
an engine, whatever type a column has there.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from celosia.query.execution.dialect import PRIME, integer_literal

_SQUARINGS = 2  # with one, some pairs of cells are chosen more often than others
_ROOM = 2**20  # for the number of a cell, below its hash: MOST_CELLS is less


@dataclass(frozen=True, slots=True)
class KeyedOrder:
    """Hashes keyed with the words of a secret; they take Python integers, arrays and Ibis expressions alike."""

    secret: Sequence[int]

    def mixed(self, *parts: Any) -> Any:
        """Return a number from 0 to 2^31 - 2 for integers from 0 to 2^32; pass others through :meth:`folded`."""
        state: Any = self._constant("start", 2**29)
        for place, part in enumerate(parts):
            state = (part + _typed(state, part)) * _typed(self._constant(f"part {place}", 2**29), part)
            state = state % _typed(PRIME, part)
        # Linear hashes of two persons would only be shifted against each other: squaring parts them.
        for turn in range(_SQUARINGS):
            state = state + _typed(self._constant(f"turn {turn}", 2**28), state)
            state = state * state % _typed(PRIME, state)
        return state

    @staticmethod
    def folded(number: Any) -> Any:
        """Return an integer of any sign and 64 bits as one from 0 to 2^32; remainders may have the dividend's sign."""
        return number % _typed(PRIME, number) + _typed(PRIME, number)

    def ranked(self, cell: Any, *parts: Any) -> Any:
        """Return the rank of a cell among those of one person: different for different cells, whatever the hash."""
        return self.mixed(*parts, cell) * _typed(_ROOM, cell) + cell

    @property
    def salt(self) -> str:
        """What is put before a text that is digested."""
        return self._digest("text").hex()[:32]

    def _constant(self, label: str, least: int) -> int:
        """A number from ``least`` to twice that.

        States are below 2^31 and parts below 2^32: with a factor below 2^30, or a summand below 2^29 before squaring,
        everything stays below 2^63.
        """
        return least + int.from_bytes(self._digest(label)[:8], "big") % least

    def _digest(self, label: str) -> bytes:
        words = ",".join(str(int(word)) for word in self.secret)
        return hashlib.sha256(f"celosia contribution order|{words}|{label}".encode()).digest()


def _typed(constant: Any, part: Any) -> Any:
    """Return a constant as a 64-bit literal of the engine where it meets an Ibis expression."""
    return integer_literal(constant) if isinstance(constant, int) and hasattr(part, "cast") else constant
