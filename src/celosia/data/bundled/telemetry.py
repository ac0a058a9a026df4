"""Synthetic telemetry by name: one value of each of many users, for experiments with sketches and local protocols.

Three shapes: ``exp_distrib_*`` is the integer part of an exponential variable with mean 2, ``norm_distrib_*`` that of a
normal one with mean 12 and standard deviation 2 (cut towards zero), ``anglicismo_*`` are English loan words in Spanish
with weights 1, 1/2, 1/3 …, and one value in ten a random string, as a typing error would be. No value is of a person.

Values are drawn from tables of integer weights, which are computed with integers alone: no machine's exponential or
logarithm decides anything, so a name and a seed give the same table everywhere.
"""

import hashlib
import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from celosia.core.enclosure import exp_negative
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.messages.message import Message
from celosia.data.bundled.loan_words import LOAN_WORDS
from celosia.noise import Seeded, categorical, uniform_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core import Source

    Weights: TypeAlias = NDArray[np.int64]

_BATCH_ROWS: Final = 1 << 16  # rows; part of the recipe, because a batch's values are drawn before its users
_TOTAL_BITS: Final = 60  # weights sum up to about 2^60; rarer values do not occur
_SERIES_BITS: Final = 256  # the series of the normal integral loses 80 of them to cancellation
_MAX_LENGTH: Final = 10
_MIN_LENGTH: Final = 3
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz"
_ALPHANUMERIC: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_SIZES: Final = {
    "exp_distrib": {"50k": 50_000, "500k": 500_000, "1M": 1_000_000},
    "norm_distrib": {
        "50": 50,
        "300": 300,
        "750": 750,
        "900": 900,
        "2500": 2_500,
        "15k": 15_000,
        "60k": 60_000,
        "200k": 200_000,
        "350k": 350_000,
        "1M": 1_000_000,
        "2_4M": 2_400_000,
    },
    "anglicismo": {"750": 750, "2500": 2_500, "50k": 50_000, "1M": 1_000_000},
}

_DESCRIPTIONS: Final = {
    "exp_distrib": "data.exponential_values",
    "norm_distrib": "data.normal_values",
    "anglicismo": "data.loan_words",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A data set that can be generated: its name, its shape and its number of rows.

    >>> RECIPES["exp_distrib_50k"].rows
    50000
    """

    name: str
    shape: str
    rows: int

    @property
    def description(self) -> Message:
        """The distribution of a value.

        >>> RECIPES["anglicismo_750"].description
        'English loan words, 1/rank; 10 % random'
        """
        return Message(_DESCRIPTIONS[self.shape])


RECIPES: Final = {
    recipe.name: recipe
    for recipe in (
        Recipe(f"{shape}_{size}", shape, rows) for shape, sizes in _SIZES.items() for size, rows in sizes.items()
    )
}
"""The data sets, by name."""


def generate(name: str, *, seed: int = 7) -> "pa.Table":
    """Generate a data set: a column ``user`` of ten letters and digits, and a column ``value``.

    >>> generate("norm_distrib_300").slice(0, 3).to_pydict()
    {'user': ['fblfBc8DSY', 'aT7JTliHOs', '4seXgkCLup'], 'value': [15, 10, 11]}
    """
    import pyarrow as pa

    return pa.Table.from_batches(generate_batches(name, seed=seed))


def generate_batches(name: str, *, seed: int = 7) -> "Iterator[pa.RecordBatch]":
    """Generate a data set as a stream of record batches, so that a large one is never whole in memory.

    >>> [batch.num_rows for batch in generate_batches("norm_distrib_200k")]
    [65536, 65536, 65536, 3392]
    """
    if name not in tuple(RECIPES):  # a tuple accepts objects that cannot be hashed
        raise ParameterError("data.unknown_recipe", known=", ".join(RECIPES), name=safe_repr(name))
    # Each data set has a stream of its own: with one seed for all, a small one would be the beginning of a large one.
    key = hashlib.sha256(
        f"celosia.data.telemetry/1/{name}/{exact_integer(seed, name='seed', least=0)}".encode()
    ).digest()
    return _batches(RECIPES[name], Seeded(int.from_bytes(key)))


def _batches(recipe: Recipe, source: "Source") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    draw = _DRAW[recipe.shape]
    for begin in range(0, recipe.rows, _BATCH_ROWS):
        count = min(_BATCH_ROWS, recipe.rows - begin)
        values = draw(count, source)
        yield pa.RecordBatch.from_arrays([_users(count, source), values], names=["user", "value"])


def _exponential(count: int, source: "Source") -> "pa.Array":
    import pyarrow as pa

    return pa.array(categorical(_exponential_weights(), count, source))


def _normal(count: int, source: "Source") -> "pa.Array":
    import pyarrow as pa

    least, weights = _normal_weights()
    return pa.array(categorical(weights, count, source) + least)


def _loan_words(count: int, source: "Source") -> "pa.Array":
    chosen = categorical(_word_weights(), count, source)
    letters = np.zeros((len(LOAN_WORDS) + 1, _MAX_LENGTH), dtype=np.uint8)
    for row, word in enumerate(LOAN_WORDS):
        letters[row, : len(word)] = np.frombuffer(word.encode(), dtype=np.uint8)
    lengths = np.array([*map(len, LOAN_WORDS), 0])
    texts, sizes = letters[chosen], lengths[chosen]
    noise = np.flatnonzero(chosen == len(LOAN_WORDS))
    drawn = uniform_below(len(_LETTERS), noise.size * _MAX_LENGTH, source).reshape(-1, _MAX_LENGTH)
    texts[noise] = np.frombuffer(_LETTERS, dtype=np.uint8)[drawn]
    sizes[noise] = _MIN_LENGTH + uniform_below(_MAX_LENGTH - _MIN_LENGTH + 1, noise.size, source)
    return _strings(texts, sizes)


_DRAW: "Final[dict[str, Callable[[int, Source], pa.Array]]]" = {
    "exp_distrib": _exponential,
    "norm_distrib": _normal,
    "anglicismo": _loan_words,
}


def _users(count: int, source: "Source") -> "pa.Array":
    """Draw names of ten letters and digits; two of a few million are equal with probability 10^-5."""
    numbers = uniform_below(len(_ALPHANUMERIC) ** _MAX_LENGTH, count, source)
    digits = np.empty((count, _MAX_LENGTH), dtype=np.int64)
    for place in range(_MAX_LENGTH):
        numbers, digits[:, place] = np.divmod(numbers, len(_ALPHANUMERIC))
    return _strings(np.frombuffer(_ALPHANUMERIC, dtype=np.uint8)[digits], np.full(count, _MAX_LENGTH))


def _strings(letters: "NDArray[np.uint8]", lengths: "NDArray[np.int64]") -> "pa.Array":
    """Return the first ``lengths[i]`` letters of each row, as an Arrow column of strings."""
    import pyarrow as pa

    data = np.ascontiguousarray(letters[np.arange(letters.shape[1]) < lengths[:, None]])
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.StringArray.from_buffers(lengths.size, pa.py_buffer(ends), pa.py_buffer(data))


@lru_cache(maxsize=1)
def _exponential_weights() -> "Weights":
    """Return the weights of 0, 1, 2 …: ``exp(-k/2) - exp(-(k+1)/2)``, in units of 2^-60."""
    extra = 40
    tails = [exp_negative(Fraction(k, 2), _TOTAL_BITS + extra)[0] for k in range(90)]
    return _weights([(high - low) >> extra for high, low in itertools.pairwise(tails)])


@lru_cache(maxsize=1)
def _normal_weights() -> "tuple[int, Weights]":
    """Return the least integer and the weights from it on: the normal integral over the values truncated to each."""
    mean, deviation = 12, 2
    numbers = range(mean - 10 * deviation, mean + 10 * deviation + 1)
    areas = []
    for number in numbers:  # towards zero: 0 takes what lies between -1 and 1
        low, high = number - (number <= 0), number + (number >= 0)
        areas.append(
            _normal_integral(Fraction(high - mean, deviation)) - _normal_integral(Fraction(low - mean, deviation))
        )
    total = sum(areas)
    return numbers[0], _weights([(area << _TOTAL_BITS) // total for area in areas])


def _normal_integral(x: Fraction) -> int:
    """Integrate exp(-t²/2) from 0 to x, in units of 2^-256: sum of (-1)^n x^(2n+1) / (2^n n! (2n+1))."""
    term = (x.numerator << _SERIES_BITS) // x.denominator
    total, n = term, 0
    while abs(term) > 1 or n < x * x:
        n += 1
        term = -term * x.numerator**2 // (2 * n * x.denominator**2)
        total += term // (2 * n + 1)
    return total


@lru_cache(maxsize=1)
def _word_weights() -> "Weights":
    """Return the weights of the words by rank, and of anything else: a ninth of them together."""
    words = [(1 << _TOTAL_BITS - 4) // rank for rank in range(1, len(LOAN_WORDS) + 1)]
    return _weights([*words, sum(words) // 9])


def _weights(numbers: list[int]) -> "Weights":
    return np.array(numbers, dtype=np.int64)
