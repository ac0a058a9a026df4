"""Polynomials with exact coefficients, written as Python writes arithmetic.

A loss that is a polynomial in the weights, with coefficients that are polynomials of a record, is an ordinary Python
function of ``w``, ``x`` and ``y``: called with the variables of this module it returns itself as data. Numbers stay
rational, for what one record can change is computed from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact, exact_integer, format_exact, safe_repr

Letter: TypeAlias = Literal["w", "x", "y"]

Variable: TypeAlias = tuple[str, int]
"""A letter (w: a weight, x: a feature, y: the target) and a place."""

Powers: TypeAlias = tuple[Variable, ...]
"""Variables that are multiplied, in order; a square names its variable twice, and 1 names none."""

_MAX_TERMS = 50_000
_MAX_PRODUCTS = 2_000_000
_HIGHEST = 64


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of products of variables, each with an exact coefficient; made with ``variables`` and ``+ - * **``."""

    terms: tuple[tuple[Powers, Fraction], ...]

    @classmethod
    def of(cls, terms: Mapping[Powers, Fraction]) -> "Polynomial":
        """Return the sum of the terms that are not 0, in a fixed order."""
        kept = {powers: number for powers, number in terms.items() if number}
        if len(kept) > _MAX_TERMS:
            raise ParameterError("learn.polynomial_too_long", most=_MAX_TERMS)
        return cls(tuple(sorted(kept.items())))

    @property
    def degree(self) -> int:
        """The largest number of variables that are multiplied."""
        return max((len(powers) for powers, _ in self.terms), default=0)

    def __add__(self, other: "Polynomial | Exact") -> "Polynomial":
        found = dict(self.terms)
        for powers, number in _polynomial(other).terms:
            found[powers] = found.get(powers, Fraction(0)) + number
        return Polynomial.of(found)

    def __mul__(self, other: "Polynomial | Exact") -> "Polynomial":
        factors = _polynomial(other).terms
        if self.degree + _polynomial(other).degree > _HIGHEST:
            raise ParameterError("learn.polynomial_degree_too_high", most=_HIGHEST)
        if len(self.terms) * len(factors) > _MAX_PRODUCTS:
            raise ParameterError("learn.too_many_products", terms=len(self.terms), factors=len(factors))
        found: dict[Powers, Fraction] = {}
        for powers, number in self.terms:
            for others, factor in factors:
                both = tuple(sorted(powers + others))
                found[both] = found.get(both, Fraction(0)) + number * factor
        return Polynomial.of(found)

    def __pow__(self, exponent: int) -> "Polynomial":
        times = exact_integer(exponent, name="exponent", least=0)
        if times > _HIGHEST:
            raise ParameterError("learn.exponent_too_large", most=_HIGHEST, value=safe_repr(exponent))
        found = _polynomial(1)
        for _ in range(times):
            found = found * self
        return found

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Polynomial):
            return self.terms == other.terms
        raise ParameterError("learn.polynomial_compared", other=safe_repr(other))

    def __hash__(self) -> int:
        return hash(self.terms)

    def __bool__(self) -> bool:
        raise ParameterError("learn.polynomial_as_condition")

    def __neg__(self) -> "Polynomial":
        return self * -1

    def __sub__(self, other: "Polynomial | Exact") -> "Polynomial":
        return self + -_polynomial(other)

    def __rsub__(self, other: Exact) -> "Polynomial":
        return -self + other

    def __truediv__(self, other: Exact) -> "Polynomial":
        number = exact(other, name="divisor")
        if number == 0:
            raise ParameterError("learn.polynomial_divided_by_zero")
        return self * (1 / number)

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        text = " ".join(_term(powers, number) for powers, number in reversed(self.terms)) or "0"
        return f"Polynomial('{text.removeprefix('+ ')}')"


def variables(letter: Letter, count: int) -> tuple[Polynomial, ...]:
    """Return ``count`` variables of one letter."""
    return tuple(Polynomial((((((letter, place),)), Fraction(1)),)) for place in range(count))


def _polynomial(value: "Polynomial | Exact") -> Polynomial:
    if isinstance(value, Polynomial):
        return value
    return Polynomial.of({(): exact(value, name="coefficient")})


def _term(powers: Powers, number: Fraction) -> str:
    names = []
    for variable in dict.fromkeys(powers):
        letter, place = variable
        name = letter if letter == "y" else f"{letter}{place}"
        names.append(name if powers.count(variable) == 1 else f"{name}^{powers.count(variable)}")
    size = format_exact(abs(number)).strip("'")
    shown = names if abs(number) == 1 and names else [size, *names]
    return f"{'-' if number < 0 else '+'} {' '.join(shown)}"
