"""The inner loop of ``cells``: many proposals at once.

Each position of the output makes its own proposals until one is accepted, so that positions are independent and alike;
proposals that the kernel cannot decide in floating point are decided in integers by ``Cells.settle``. Words are drawn
in chunks that fit in the cache: memory stays flat whatever the size of the output.

The loop is compiled. Numba takes half a second to import, so a few draws in a process without it are made one by one:
from the same words, with the same numbers.
"""

import math
import sys
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.noise.cells import Cells

_CHUNK = 1 << 16
_NUMBA_THRESHOLD = 256  # fewer draws take less time one by one than importing Numba
_NARROW = 64 - 13  # bits that are left for offset and coin beside slot and sign
_SLACK = 2.0**-36
_MAX_DRAW = 2**63 - 2  # farther draws change no sum that is saturated at 2^62 - 1: see mechanisms.grid


class _Tables(NamedTuple):
    """``Cells`` as arrays. A coin below ``sure`` is accepted anywhere in its cell, one from ``never`` on nowhere."""

    slots: "NDArray[np.uint16]"
    starts: "NDArray[np.int64]"
    masks: "NDArray[np.uint64]"
    log_factors: "NDArray[np.float64]"
    sure: "NDArray[np.uint64]"
    never: "NDArray[np.uint64]"
    slope: float
    curvature: float
    coin_shift: np.uint64
    one: float  # the number of coins
    signed: bool


@lru_cache(maxsize=128)
def _tables(cells: "Cells") -> _Tables:
    one = 2.0**cells.coin_bits
    starts = np.array(cells.starts, dtype=np.int64)
    log_factors = np.array(cells.log_factors)
    ends = starts[:-1] + (np.int64(1) << np.array(cells.widths[:-1], dtype=np.int64)) - 1
    first, last = (
        np.exp(log_factors[:-1] - (cells.slope + cells.curvature * where) * where) * one
        for where in (starts[:-1].astype(np.float64), ends.astype(np.float64))
    )
    sure, never = np.floor(last * (1 - _SLACK)), np.minimum(np.ceil(first * (1 + _SLACK)), one)
    return _Tables(
        slots=np.array(cells.slots, dtype=np.uint16),
        starts=starts,
        masks=(np.uint64(1) << np.array(cells.widths, dtype=np.uint64)) - np.uint64(1),
        log_factors=log_factors,
        sure=np.append(sure, 0).astype(np.uint64),
        never=np.append(never, math.ceil(cells.tail_chance * one * (1 + _SLACK))).astype(np.uint64),
        slope=cells.slope,
        curvature=cells.curvature,
        coin_shift=np.uint64(64 - cells.coin_bits),
        one=one,
        signed=cells.signed,
    )


def _propose(
    words: "NDArray[np.uint64]",
    coins: "NDArray[np.uint64]",
    tables: _Tables,
    out: "NDArray[np.int64]",
    positions: "NDArray[np.int64]",  # empty in the first pass, when every position makes a proposal
    first: int,
    rejected: "NDArray[np.int64]",
    undecided: "NDArray[np.int64]",
) -> tuple[int, int]:
    n_rejected = 0
    n_undecided = 0
    for i in range(words.size):
        word = words[i]
        position = positions[first + i] if positions.size else first + i
        cell = tables.slots[word & np.uint64(4095)]
        magnitude = tables.starts[cell] + np.int64((word >> np.uint64(13)) & tables.masks[cell])
        coin = coins[i] >> tables.coin_shift
        accepted = coin < tables.sure[cell]
        if not accepted and coin < tables.never[cell]:
            exponent = tables.log_factors[cell] - (tables.slope + tables.curvature * magnitude) * magnitude
            chance = math.exp(exponent) * tables.one
            if np.float64(coin) + 1.0 <= chance * (1 - _SLACK):
                accepted = True
            elif not np.float64(coin) >= chance * (1 + _SLACK):  # also where chance is NaN: the tail
                undecided[n_undecided] = i
                n_undecided += 1
                continue
        if accepted:
            out[position] = -magnitude if tables.signed and (word >> np.uint64(12)) & np.uint64(1) else magnitude
        else:
            rejected[n_rejected] = position
            n_rejected += 1
    return n_rejected, n_undecided


@cache
def _compile() -> "Callable[..., tuple[int, int]]":
    from numba import njit

    compiled: Any = njit(cache=True, nogil=True)(_propose)
    return compiled  # type: ignore[no-any-return]  # Numba has no types


def fill(out: "NDArray[np.int64]", cells: "Cells", source: "Source") -> None:
    """Fill a one-dimensional array with independent draws."""
    positions = np.empty(0, dtype=np.int64)
    pending = out.size
    while pending:
        positions = np.concatenate(
            [
                _fill_chunk(out, cells, source, positions, range(first, min(first + _CHUNK, pending)))
                for first in range(0, pending, _CHUNK)
            ]
        )
        pending = positions.size


def _fill_chunk(
    out: "NDArray[np.int64]", cells: "Cells", source: "Source", positions: "NDArray[np.int64]", chunk: range
) -> "NDArray[np.int64]":
    """Make one proposal for each position of a chunk; return the positions that must try again."""
    words = source.words(len(chunk))
    narrow = cells.coin_bits + cells.offset_bits <= _NARROW
    coins = words if narrow else source.words(len(chunk))
    if len(chunk) <= _NUMBA_THRESHOLD and "numba" not in sys.modules:
        rejected, undecided = _propose_few(out, cells, words, coins, positions, chunk)
    else:
        rejected, undecided = np.empty(len(chunk), dtype=np.int64), np.empty(len(chunk), dtype=np.int64)
        counts = _compile()(words, coins, _tables(cells), out, positions, chunk[0], rejected, undecided)
        rejected, undecided = rejected[: counts[0]], undecided[: counts[1]]
    again = [rejected]
    shift = np.uint64(64 - cells.coin_bits)
    for i in undecided:
        word = int(words[i])
        position = positions[chunk[i]] if positions.size else chunk[i]
        settled = cells.settle(word, word >> 13, int(coins[i] >> shift), source)
        if settled is None:
            again.append(np.array([position], dtype=np.int64))
        else:
            out[position] = max(min(settled, _MAX_DRAW), -_MAX_DRAW)
    return np.concatenate(again)


def _propose_few(
    out: "NDArray[np.int64]",
    cells: "Cells",
    words: "NDArray[np.uint64]",
    coins: "NDArray[np.uint64]",
    positions: "NDArray[np.int64]",
    chunk: range,
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Do what the compiled loop does; return the positions that are rejected and the places that are undecided."""
    shift = 64 - cells.coin_bits
    rejected, undecided = [], []
    for i, (word, coin) in enumerate(zip(words.tolist(), coins.tolist(), strict=True)):
        position = int(positions[chunk[i]]) if positions.size else chunk[i]
        number, unsure = cells.propose(word, word >> 13, coin >> shift)
        if unsure:
            undecided.append(i)
        elif number is None:
            rejected.append(position)
        else:
            out[position] = number
    return np.array(rejected, dtype=np.int64), np.array(undecided, dtype=np.int64)
