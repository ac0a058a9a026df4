"""Values as strings of bits, which have prefixes: integers, or strings over an alphabet.

An integer below 2^b is its b binary digits, the highest first. A string is its letters one after the other, each as
the binary digits of its number in the alphabet, padded with zeros to a fixed length.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.local.base.packing import field_width
from celosia.local.discovery.spelling import Alphabet, exact_alphabet, spell, unspell
from celosia.sketches.hashing.columns import read_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

MAX_VALUE_BITS = 62
"""The most bits of a value: with a leading one it is still a positive integer of 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BitStrings:
    """A set of values: integers from 0 to ``domain - 1``, or strings over an alphabet, truncated to a length."""

    domain: int | None = None
    alphabet: Alphabet | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        if (self.domain is None) == (self.alphabet is None) or (self.alphabet is None) != (self.length is None):
            raise ParameterError("local.domain_or_alphabet")
        if self.domain is not None:
            object.__setattr__(self, "domain", exact_integer(self.domain, name="domain", least=2))
        else:
            object.__setattr__(self, "alphabet", exact_alphabet(self.alphabet))
            object.__setattr__(self, "length", exact_integer(self.length, name="length"))  # type: ignore[arg-type]  # not None
        if self.bits > MAX_VALUE_BITS:
            name, given = ("domain", self.domain) if self.alphabet is None else ("length", self.length)
            most = "2^62" if self.alphabet is None else MAX_VALUE_BITS // self.letter_bits
            raise ParameterError(
                "local.value_too_long", name=name, most=most, value=safe_repr(given), most_bits=MAX_VALUE_BITS
            )

    @property
    def letter_bits(self) -> int:
        """The number of bits of a letter; 0 for integers."""
        return 0 if self.alphabet is None else field_width(len(self.alphabet) + 1)

    @property
    def bits(self) -> int:
        """The number of bits of a value."""
        return field_width(self.domain) if self.domain is not None else (self.length or 0) * self.letter_bits

    def read(self, values: Any, *, name: str = "values") -> "Numbers":
        """Return values as integers of ``bits`` bits."""
        if self.alphabet is not None:
            letters = spell(values, self.alphabet, self.length or 0, name=name).letters
            numbers = np.zeros(len(letters), dtype=np.int64)
            for place in range(letters.shape[1]):  # letter by letter: all at once would take eight times the memory
                numbers <<= self.letter_bits
                numbers |= letters[:, place]
            return numbers
        integers, most = read_column(values, name=name).integers, (self.domain or 0) - 1
        if integers is None or (integers.size and not _is_within(integers, most)):
            raise InputError("local.code_out_of_range", name=name, most=most)
        return integers

    def is_prefix(self, prefixes: "Numbers", length: int) -> "NDArray[np.bool_]":
        """Return which integers of ``length`` bits are prefixes of values."""
        if self.alphabet is None:
            below: NDArray[np.bool_] = prefixes <= ((self.domain or 0) - 1) >> (self.bits - length)
            return below
        letters = self._letters(prefixes, length)
        ended = letters == 0  # nothing follows the end of a string
        broken: NDArray[np.bool_] = (letters > len(self.alphabet)).any(axis=1) | (ended[:, :-1] & ~ended[:, 1:]).any(
            axis=1
        )
        return ~broken

    def labels(self, numbers: "Numbers") -> list[Any]:
        """Return the values of integers."""
        if self.alphabet is None:
            return list(numbers.tolist())
        return unspell(self._letters(numbers, self.bits), self.alphabet)

    def _letters(self, prefixes: "Numbers", length: int) -> "Numbers":
        """Return the complete letters of prefixes."""
        places = length - self.letter_bits * np.arange(1, length // self.letter_bits + 1)
        letters: Numbers = (prefixes[:, None] >> places) & ((1 << self.letter_bits) - 1)
        return letters


def _is_within(numbers: "Numbers", most: int) -> bool:
    return int(numbers.min()) >= 0 and int(numbers.max()) <= most
