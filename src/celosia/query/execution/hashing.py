"""Keyed order that outsiders cannot predict, by arithmetic that every engine has.

A hash of the person, the cell and a secret of the session selects which of a person's cells and rows count. The choice
depends on that person's rows alone, so privacy does not rest on the hash; it only has to be fair, and the same on every
engine. Hashes are polynomials modulo the prime 2^31 - 1: all products fit 64 bits. Constants are 64-bit literals in the
engine.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from celosia.query.execution.dialect import PRIME, integer_literal

_SQUARINGS = 2  # after one, some pairs of cells are still chosen more often than others
_MAX_CELLS = 2**20  # for the number of a cell, below its hash: MOST_CELLS is less


@dataclass(frozen=True, slots=True)
class KeyedOrder:
    """Hashes keyed with the words of a secret, for Python integers, arrays and Ibis expressions."""

    secret: Sequence[int]

    def hash_integers(self, *parts: Any) -> Any:
        """Return a number from 0 to 2^31 - 2 for integers from 0 to 2^32; pass others through :meth:`fold`."""
        state: Any = self._constant("start", 2**29)
        for place, part in enumerate(parts):
            state = (part + _as_literal(state, part)) * _as_literal(self._constant(f"part {place}", 2**29), part)
            state = state % _as_literal(PRIME, part)
        # Linear hashes of two persons differ by a constant shift only; squaring removes that relation.
        for turn in range(_SQUARINGS):
            state = state + _as_literal(self._constant(f"turn {turn}", 2**28), state)
            state = state * state % _as_literal(PRIME, state)
        return state

    @staticmethod
    def fold(number: Any) -> Any:
        """Map a signed 64-bit integer to 0 to 2^32; remainders may have the dividend's sign."""
        return number % _as_literal(PRIME, number) + _as_literal(PRIME, number)

    def rank(self, cell: Any, *parts: Any) -> Any:
        """Return the rank of a cell among those of one person: distinct for distinct cells, whatever the hash."""
        return self.hash_integers(*parts, cell) * _as_literal(_MAX_CELLS, cell) + cell

    @property
    def salt(self) -> str:
        """Prefix of digested texts."""
        return self._digest("text").hex()[:32]

    def _constant(self, label: str, least: int) -> int:
        """Return a number from ``least`` to twice that.

        States are below 2^31 and parts below 2^32: with a factor below 2^30, or a summand below 2^29 before squaring,
        everything stays below 2^63.
        """
        return least + int.from_bytes(self._digest(label)[:8], "big") % least

    def _digest(self, label: str) -> bytes:
        words = ",".join(str(int(word)) for word in self.secret)
        return hashlib.sha256(f"celosia contribution order|{words}|{label}".encode()).digest()


def _as_literal(constant: Any, part: Any) -> Any:
    """Return a constant as a 64-bit literal of the engine where it meets an Ibis expression."""
    return integer_literal(constant) if isinstance(constant, int) and hasattr(part, "cast") else constant
