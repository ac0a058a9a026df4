"""Values as strings of bits, so that they have beginnings: integers, or texts spelt in an alphabet.

An integer below 2^b is its b binary digits, the highest first. A text is its letters one after the other, each as
the binary digits of its number in the alphabet, filled up with zeros to a fixed length.
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

LONGEST = 62
"""The most bits of a value: with a mark before it, it is still a positive integer of 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BitStrings:
    """What values may be: integers from 0 to ``domain - 1``, or texts of an alphabet, cut to a length."""

    domain: int | None = None
    alphabet: Alphabet | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no set of values, or too long a one."""
        if (self.domain is None) == (self.alphabet is None) or (self.alphabet is None) != (self.length is None):
            raise ParameterError("Give either a domain, or an alphabet with a length.")
        if self.domain is not None:
            object.__setattr__(self, "domain", exact_integer(self.domain, name="domain", least=2))
        else:
            object.__setattr__(self, "alphabet", exact_alphabet(self.alphabet))
            object.__setattr__(self, "length", exact_integer(self.length, name="length"))  # type: ignore[arg-type]  # not None
        if self.bits > LONGEST:
            name, given = ("domain", self.domain) if self.alphabet is None else ("length", self.length)
            most = "2^62" if self.alphabet is None else LONGEST // self.letter_bits
            raise ParameterError(
                f"{name} must be at most {most}, not {safe_repr(given)}: a value has at most {LONGEST} bits."
            )

    @property
    def letter_bits(self) -> int:
        """How many bits a letter has; 0 where values are integers."""
        return 0 if self.alphabet is None else field_width(len(self.alphabet) + 1)

    @property
    def bits(self) -> int:
        """How many bits a value has."""
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
        whole_numbers, most = read_column(values, name=name).integers, (self.domain or 0) - 1
        if whole_numbers is None or (whole_numbers.size and not _within(whole_numbers, most)):
            raise InputError(f"{name} must be integers from 0 to {most}.")
        return whole_numbers

    def possible(self, beginnings: "Numbers", length: int) -> "NDArray[np.bool_]":
        """Tell which numbers of ``length`` bits are beginnings of values."""
        if self.alphabet is None:
            below: NDArray[np.bool_] = beginnings <= ((self.domain or 0) - 1) >> (self.bits - length)
            return below
        letters = self._letters(beginnings, length)
        ended = letters == 0  # once a text has ended, nothing follows
        broken: NDArray[np.bool_] = (letters > len(self.alphabet)).any(axis=1) | (ended[:, :-1] & ~ended[:, 1:]).any(
            axis=1
        )
        return ~broken

    def labels(self, numbers: "Numbers") -> list[Any]:
        """Return the values that numbers stand for."""
        if self.alphabet is None:
            return list(numbers.tolist())
        return unspell(self._letters(numbers, self.bits), self.alphabet)

    def _letters(self, beginnings: "Numbers", length: int) -> "Numbers":
        """The letters of beginnings, as far as they are whole."""
        places = length - self.letter_bits * np.arange(1, length // self.letter_bits + 1)
        letters: Numbers = (beginnings[:, None] >> places) & ((1 << self.letter_bits) - 1)
        return letters


def _within(numbers: "Numbers", most: int) -> bool:
    return int(numbers.min()) >= 0 and int(numbers.max()) <= most
