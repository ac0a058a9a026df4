"""Shamir's secret sharing: any ``threshold`` shares give the secrets back, fewer are independent of them.

A secret of 32 bytes is nine digits of 30 bits, each the constant term of a random polynomial over the integers modulo
the prime 2^31 - 1; party i gets the values at i + 1. Everything is exact. Shamir, *How to share a secret*, 1979.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from celosia.noise.uniform import uniform_below

if TYPE_CHECKING:
    from celosia.core import Source

PRIME: Final = 2**31 - 1
"""The size of the field: products of two elements fit into 64 bits."""

DIGITS: Final = 9
"""The number of digits of a secret of 32 bytes."""

_DIGIT_BITS: Final = 30
_SECRET_BYTES: Final = 32


def split_secrets(secrets: Sequence[bytes], *, threshold: int, parties: int, source: "Source") -> NDArray[np.uint32]:
    """Return the shares of secrets of 32 bytes, an array of (party, secret, digit).

    >>> from celosia.noise import Seeded
    >>> shares = split_secrets([bytes(range(32))], threshold=2, parties=3, source=Seeded(7))
    >>> join_shares(shares[[2, 0]], [2, 0]) == [bytes(range(32))]
    True
    """
    digits = np.array([[_to_digits(secret) for secret in secrets]], dtype=np.uint64)
    free = uniform_below(PRIME, (threshold - 1) * digits.size, source).astype(np.uint64)
    coefficients = np.concatenate([digits, free.reshape(threshold - 1, *digits.shape[1:])])
    points = np.arange(1, parties + 1, dtype=np.uint64)[:, None, None]
    values = np.zeros((parties, *digits.shape[1:]), dtype=np.uint64)
    for coefficient in coefficients[::-1]:  # Horner's rule for all parties and digits together
        values = (values * points + coefficient) % np.uint64(PRIME)
    return values.astype(np.uint32)


def join_shares(shares: NDArray[np.uint32], holders: Sequence[int]) -> list[bytes | None]:
    """Return the secrets of shares (holder, secret, digit); None for a secret that the shares do not give."""
    total = np.zeros(shares.shape[1:], dtype=np.uint64)
    for share, weight in zip(shares.astype(np.uint64), _weigh(holders), strict=True):
        total = (total + share % np.uint64(PRIME) * np.uint64(weight)) % np.uint64(PRIME)
    return [_from_digits([int(digit) for digit in row]) for row in total]


def _weigh(holders: Sequence[int]) -> list[int]:
    """Return Lagrange's weights of the holders for the value at 0."""
    points = [holder + 1 for holder in holders]
    weights = []
    for point in points:
        above = below = 1
        for other in points:
            if other != point:
                above, below = above * other % PRIME, below * (other - point) % PRIME
        weights.append(above * pow(below, -1, PRIME) % PRIME)
    return weights


def _to_digits(secret: bytes) -> list[int]:
    number = int.from_bytes(secret, "little")
    return [number >> _DIGIT_BITS * place & (1 << _DIGIT_BITS) - 1 for place in range(DIGITS)]


def _from_digits(digits: list[int]) -> bytes | None:
    number = sum(digit << _DIGIT_BITS * place for place, digit in enumerate(digits))
    if max(digits) >> _DIGIT_BITS or number >> 8 * _SECRET_BYTES:
        return None
    return number.to_bytes(_SECRET_BYTES, "little")
