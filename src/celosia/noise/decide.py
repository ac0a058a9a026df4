"""Exact comparison of a uniform real number with a probability that is only known by enclosures.

A uniform number is a stream of fair bits; so is a probability, once its digits are certain. ``below`` compares the bits
drawn so far with an enclosure of the probability and refines both only when they agree, which happens with probability
2^-bits. The answer has exactly the stated probability: no rounding enters it.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from celosia.core.enclosure import exp_negative

if TYPE_CHECKING:
    from celosia.core.mechanism import Source

Enclosure = Callable[[int], tuple[int, int]]
"""A probability p: ``enclosure(bits)`` returns ``(low, high)`` with ``low <= p * 2**bits <= high``."""

_WORD = 64


def below(prefix: int, bits: int, probability: Enclosure, source: "Source") -> bool:
    """Decide whether a uniform number whose first ``bits`` bits are ``prefix`` is below ``probability``."""
    while True:
        low, high = probability(bits + _WORD)
        if (prefix + 1) << _WORD <= low:
            return True
        if prefix << _WORD >= high:
            return False
        prefix, bits = prefix << _WORD | source.word(), bits + _WORD


@lru_cache(maxsize=1024)
def ratio_enclosure(probability: Fraction) -> Enclosure:
    """Return the enclosure of a rational probability."""

    @lru_cache(maxsize=8)
    def enclose(bits: int) -> tuple[int, int]:
        low, rest = divmod(probability.numerator << bits, probability.denominator)
        return low, low + (rest != 0)

    return enclose


def exp_enclosure(x: Fraction, factor: Fraction = Fraction(1)) -> Enclosure:
    """Return the enclosure of ``factor * exp(-x)``, without caching: ``x`` may be private."""
    numerator, denominator = factor.numerator, factor.denominator
    # Enough extra digits of exp(-x) that the factor does not widen the enclosure.
    extra = max(numerator.bit_length() - denominator.bit_length() + 2, 2)

    def enclose(bits: int) -> tuple[int, int]:
        low, high = exp_negative(x, bits + extra)
        return numerator * low // denominator >> extra, -(-numerator * high // denominator >> extra)

    return enclose


@lru_cache(maxsize=1024)
def logistic_enclosure(x: Fraction, others: int | Fraction) -> Enclosure:
    """Return the enclosure of ``1 / (1 + others * exp(-x))``: the truth probability of randomized response.

    ``others`` is a rational number greater than 0: the weight of all lies together where ``x`` is 0.
    """
    lies, truth = others.numerator, others.denominator
    extra = math.ceil(others).bit_length() + 2

    @lru_cache(maxsize=8)
    def enclose(bits: int) -> tuple[int, int]:
        inner = bits + extra
        low, high = exp_negative(x, inner)
        one = truth << inner
        return (one << bits) // (one + lies * high), -(-(one << bits) // (one + lies * low))

    return enclose


def certain(probability: Enclosure, bits: int) -> tuple[int, int]:
    """Return ``(yes, no)``: a number of ``bits`` bits below ``yes`` is surely below, one from ``no`` on surely not."""
    low, high = probability(bits + _WORD)
    return low >> _WORD, -(-high >> _WORD)


def leading(probability: Enclosure, bits: int) -> tuple[int, bool]:
    """Return the first ``bits`` binary digits of a probability, and whether it has no further ones.

    Where the enclosure leaves the digits open (a probability a little above or below a short one) it is narrowed. That
    ends: an exponential of a rational number other than 0 is irrational (Lindemann 1882), so no short number can hide
    in all enclosures, and the rational probabilities are enclosed between neighbouring integers from the beginning.
    """
    further = _WORD
    while True:
        low, high = probability(bits + further)
        yes, no = low >> further, -(-high >> further)
        if no - yes <= 1:
            return yes, no == yes
        further *= 2
