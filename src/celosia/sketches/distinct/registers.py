"""The registers of a HyperLogLog, and their estimate of the number of different values.

A digest's upper bits choose a register; the register keeps the largest rank seen, the place of the first 1 among the
other bits. The estimate is Ertl's (2017): the harmonic mean of Flajolet, Fusy, Gandouet and Meunier (2007) with the two
ends of the range corrected by series instead of by cases, so that it needs no tables. It also removes the bias of
1.08/m, as the constant of 2007 does.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_DISTANCE = 15  # the distance from the least register that 4 bits cannot tell from larger ones
_MAX_RANK = 64  # of a register of any precision
_LIMIT_CONSTANT = 0.5 / math.log(2)  # of the harmonic mean, for many registers
_VARIANCE = 3 * math.log(2) - 1  # of the estimate, relative and times the number of registers


@njit(cache=True, nogil=True)
def raise_registers(
    digests: "NDArray[np.uint64]", registers: "NDArray[np.uint8]", precision: int, history: "NDArray[np.float64]"
) -> None:
    """Add digests; ``history`` holds the sum of inverse chances so far, and the present chance of a change.

    The chance is that a value not seen before changes any register. One over it, added at every change, estimates
    without bias and better than the registers alone how many there were (Cohen 2015; Ting 2014).
    """
    shift, skip, last = np.uint64(64 - precision), np.uint64(precision), 65 - precision
    for i in range(digests.size):
        place, rest = digests[i] >> shift, digests[i] << skip
        held = registers[place]
        # A rank above the present one means at least that many leading zeros, which is rare.
        if (rest >> np.uint64(63 - held)) >> np.uint64(1) == 0 and held < last:
            rank = np.int64(held) + 1
            while rank < last and not (rest >> np.uint64(64 - rank)) & np.uint64(1):
                rank += 1
            registers[place] = rank
            history[0] += 1 / history[1]
            lost = 2.0 ** -np.float64(held) - (2.0 ** -np.float64(rank) if rank < last else 0.0)
            history[1] -= lost / registers.size


def remaining_chance(registers: "NDArray[np.uint8]", precision: int) -> float:
    """Return the probability that a value not seen before changes a register."""
    open_ones = registers[registers < 65 - precision].astype(np.float64)
    return float(np.sum(np.exp2(-open_ones)) / registers.size)


def estimate_from(registers: "NDArray[np.uint8]", precision: int) -> float:
    """Return the estimated number of different values."""
    size, last = registers.size, 65 - precision
    counts = np.bincount(registers, minlength=last + 1)
    if counts[0] == size:
        return 0.0
    total = size * _tau(1 - counts[last] / size)
    for rank in range(last - 1, 0, -1):
        total = 0.5 * (total + counts[rank])
    total += size * _sigma(counts[0] / size)
    if total <= 0:
        return math.inf
    # One over a sum that spreads is too large on average, by its variance, once registers are in use.
    excess = 1 + _VARIANCE * (1 - counts[0] / size) / size
    return float(_LIMIT_CONSTANT * size * (size / total) / excess)


def _sigma(x: float) -> float:
    """Return x + the sum over k of x^(2^k) 2^(k-1): what registers that are still 0 add."""
    total, weight, power = x, 0.5, x
    while True:
        power *= power
        weight *= 2
        before, total = total, total + power * weight
        if total == before:
            return total


def _tau(x: float) -> float:
    """Return a third of 1 - x - the sum over k of (1 - x^(2^-k))^2 2^-k: what registers at their end add."""
    if x in (0.0, 1.0):
        return 0.0
    total, weight, root = 1 - x, 1.0, x
    while True:
        root = math.sqrt(root)
        weight *= 0.5
        before, total = total, total - (1 - root) ** 2 * weight
        if total == before:
            return total / 3


def pack_registers(registers: "NDArray[np.uint8]") -> bytes:
    """Return registers in 4 bits each: a byte with the least of them, then how far each is above it.

    The first register is in the lower half of its byte. Distances of 15 and more are rare and written as 15; their
    ranks follow at the end, a byte each. So a register takes what Apache DataSketches gives it.
    """
    base = int(registers.min())
    above: NDArray[np.uint8] = np.minimum(registers - base, _MAX_DISTANCE)
    halves = above[::2] | (above[1::2] << np.uint8(4))
    ranks: NDArray[np.uint8] = registers[above == _MAX_DISTANCE]
    return bytes([base]) + halves.tobytes() + ranks.tobytes()


def unpack_registers(payload: bytes, size: int) -> "NDArray[np.uint8] | None":
    """Return the registers that ``pack_registers`` wrote, or None if it never writes such bytes."""
    numbers = np.frombuffer(payload, dtype=np.uint8)
    if numbers.size < 1 + size // 2:
        return None
    base, halves, ranks = int(numbers[0]), numbers[1 : 1 + size // 2], numbers[1 + size // 2 :]
    above = np.column_stack((halves & _MAX_DISTANCE, halves >> 4)).reshape(size)
    far = above == _MAX_DISTANCE
    if (
        base > _MAX_RANK
        or above.min() > 0
        or ranks.size != np.count_nonzero(far)
        or np.any(ranks < base + _MAX_DISTANCE)
    ):
        return None
    registers = base + above
    registers[far] = ranks
    return registers
