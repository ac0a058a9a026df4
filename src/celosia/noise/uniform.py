"""Integers below a bound, permutations and subsets, each exactly uniform.

Random words are read in the narrowest integer type that makes rejections rare; words that would bias the remainder are
drawn again. A permutation sorts by random keys and starts over if two keys are equal, which leaves all orders equally
likely.
"""

from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_MAX_BOUND = 2**63
_MAX_MARKS = 1 << 26
_MAX_DIGIT = 1 << 32
_CHUNK = 1 << 16  # digits of 32 bits at a time
_SPARE_BITS = 8  # fewer than one draw in 2^7 is rejected where a wider type exists


def integer_below(bound: int, source: "Source | None" = None) -> int:
    """Draw one integer from 0 to ``bound - 1``, of any size.

    >>> 0 <= integer_below(10**30) < 10**30
    True
    """
    bound = exact_integer(bound, name="bound")
    source = source_or_system(source)
    words = -(-(bound.bit_length() + _SPARE_BITS) // 64)
    range_ = 1 << 64 * words
    usable = range_ - range_ % bound
    while True:
        number = 0
        for _ in range(words):
            number = number << 64 | source.word()
        if number < usable:
            return number % bound


def uniform_below(bound: int, count: int, source: "Source | None" = None) -> "NDArray[np.int64]":
    """Draw ``count`` independent integers from 0 to ``bound - 1``.

    >>> from celosia.noise import Seeded
    >>> uniform_below(6, 5, Seeded(7)).tolist()
    [0, 5, 1, 1, 1]
    """
    bound, count = exact_integer(bound, name="bound"), exact_integer(count, name="count", least=0)
    if bound > _MAX_BOUND:
        raise ParameterError("noise.bound_too_large", value=bound)
    source = source_or_system(source)
    bits = next((bits for bits in (8, 16, 32) if bound.bit_length() + _SPARE_BITS <= bits + 1), 64)
    usable = (1 << bits) - (1 << bits) % bound
    parts: list[NDArray[np.int64]] = []
    missing = count
    while missing:
        wanted = missing + missing // 128 + 1
        digits = source.words(-(-wanted * bits // 64)).astype("<u8", copy=False).view(f"<u{bits // 8}")
        kept = digits[digits <= usable - 1][:missing]
        parts.append((kept % np.array(bound, dtype=np.uint64)).astype(np.int64))
        missing -= kept.size
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def permutation(size: int, source: "Source | None" = None) -> "NDArray[np.int64]":
    """Return the numbers from 0 to ``size - 1`` in uniformly random order.

    >>> sorted(permutation(5).tolist())
    [0, 1, 2, 3, 4]
    """
    size = exact_integer(size, name="size", least=0)
    source = source_or_system(source)
    while True:
        keys = source.words(size)
        order = np.argsort(keys, kind="stable")
        sorted_keys = keys[order]
        if not (sorted_keys[1:] == sorted_keys[:-1]).any():
            return order.astype(np.int64, copy=False)


def subset(size: int, chosen: int, source: "Source | None" = None) -> "NDArray[np.int64]":
    """Return ``chosen`` different numbers below ``size``, in increasing order, every subset equally likely.

    >>> subset(5, 5).tolist()
    [0, 1, 2, 3, 4]
    """
    size, chosen = exact_integer(size, name="size", least=0), exact_integer(chosen, name="chosen", least=0)
    if chosen > size:
        raise ParameterError("noise.sample_larger_than_size", chosen=chosen, size=size)
    if 2 * chosen > size:  # leaving out is quicker than taking
        return np.setdiff1d(np.arange(size, dtype=np.int64), subset(size, size - chosen, source), assume_unique=True)
    source = source_or_system(source)
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < chosen:
        # Numbers that came already are passed over, in the order of drawing: what remains is a uniform subset.
        more = np.concatenate([drawn, uniform_below(size, chosen - drawn.size, source)])
        _, first = np.unique(more, return_index=True)
        drawn = more[np.sort(first)]
    return np.sort(drawn)


def subsets(size: int, chosen: int, count: int, source: "Source | None" = None) -> "NDArray[np.int64]":
    """Return ``count`` independent subsets as ``subset`` draws them, one in each row.

    >>> from celosia.noise import Seeded
    >>> subsets(9, 3, 2, Seeded(7)).tolist()
    [[2, 3, 7], [1, 7, 8]]
    """
    from celosia.noise.compiled.floyd import fill

    size, chosen = exact_integer(size, name="size", least=0), exact_integer(chosen, name="chosen", least=0)
    count = exact_integer(count, name="count", least=0)
    if chosen > size:
        raise ParameterError("noise.sample_larger_than_size", chosen=chosen, size=size)
    source = source_or_system(source)
    out = np.empty((count, chosen), dtype=np.int64)
    marked = chosen * chosen > size  # else insertion is quicker than looking through all marks
    if size > (_MAX_MARKS if marked else _MAX_DIGIT):
        for row in range(count):
            out[row] = subset(size, chosen, source)
        return out
    marks = np.zeros(size if marked else 0, dtype=np.bool_)
    done = 0 if chosen else count
    while done < count:
        # Of the digits one in 2^32 / size at most is drawn again: with four times as many to spare, a row gets done.
        row = chosen + (chosen * size >> 30)
        words = min(max(_CHUNK, 2 * row), (count - done) * row) // 2 + 1
        digits = source.words(words).astype("<u8", copy=False).view("<u4").astype(np.uint32, copy=False)
        done = fill(out, done, size, digits, marks)
    return out
