"""The inner loop of ``cells``, compiled: many proposals at once.

It makes the same numbers from the same words as ``Cells.propose`` makes one by one. What it cannot decide in floating
point is decided in integers by ``Cells.settle``.
"""

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.noise.cells import Cells

_SLACK = 2.0**-36


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


def propose_many(
    out: "NDArray[np.int64]",
    cells: "Cells",
    words: "NDArray[np.uint64]",
    coins: "NDArray[np.uint64]",
    positions: "NDArray[np.int64]",
    first: int,
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Write what is accepted; return the positions that are rejected and the places that are undecided."""
    rejected, undecided = np.empty(words.size, dtype=np.int64), np.empty(words.size, dtype=np.int64)
    counts = _compile()(words, coins, _tables(cells), out, positions, first, rejected, undecided)
    return rejected[: counts[0]], undecided[: counts[1]]
