"""Features of a row as polynomials of its steps, so that an engine adds up as little as possible.

The features of a measure are written once, with ``+``, ``-`` and ``*``. Run on variables instead of numbers they tell
which sums are needed: the sum of ``R - k`` over n rows is ``R n`` minus the sum of ``k``. So a count, a sum and a mean
cost an engine one sum and one count, as they do without privacy.
"""

from collections.abc import Mapping
from dataclasses import dataclass

Monomial = tuple[int, ...]
"""The exponent of each variable."""


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A polynomial with whole coefficients."""

    terms: Mapping[Monomial, int]

    @classmethod
    def variables(cls, count: int) -> "tuple[Polynomial, ...]":
        """Return as many variables."""
        return tuple(cls({tuple(int(i == j) for j in range(count)): 1}) for i in range(count))

    @classmethod
    def of(cls, value: "Polynomial | int", count: int) -> "Polynomial":
        """Return a polynomial as it is, and a number as a constant one of so many variables."""
        return value if isinstance(value, Polynomial) else cls({(0,) * count: int(value)})

    def _like(self, value: "Polynomial | int") -> "Polynomial":
        return Polynomial.of(value, len(next(iter(self.terms))))

    def __add__(self, other: "Polynomial | int") -> "Polynomial":
        terms = dict(self.terms)
        for monomial, factor in self._like(other).terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return Polynomial(dict(sorted(terms.items())))

    def __mul__(self, other: "Polynomial | int") -> "Polynomial":
        terms: dict[Monomial, int] = {}
        for a, first in self.terms.items():
            for b, second in self._like(other).terms.items():
                monomial = tuple(i + j for i, j in zip(a, b, strict=True))
                terms[monomial] = terms.get(monomial, 0) + first * second
        return Polynomial(dict(sorted(terms.items())))

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> "Polynomial":
        return self * -1

    def __sub__(self, other: "Polynomial | int") -> "Polynomial":
        return self + self._like(other) * -1

    def __rsub__(self, other: "Polynomial | int") -> "Polynomial":
        return -self + other
