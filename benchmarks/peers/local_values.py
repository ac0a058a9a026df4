"""What local protocols are timed with, the same for us and for every peer. Standard library only."""

from __future__ import annotations

__all__ = ["DOMAIN", "EPSILON", "HASHES", "REPORTS", "SLOW", "WIDTH", "words"]

DOMAIN = 1024
EPSILON = 2.0
HASHES = WIDTH = 1024
REPORTS = 10_000
SLOW = 2_000
"""Reports of what takes a millisecond each."""


def words(count: int) -> list[str]:
    """Texts of four to eight letters, most of them different."""
    letters = "etaoinshrdlucmfw"
    return [
        "".join(letters[index >> shift & 15] for shift in range(0, 16 + 4 * (index % 5), 4)) for index in range(count)
    ]
