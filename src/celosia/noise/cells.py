"""Exact, fast draws from a decaying distribution on the integers, one random word a proposal.

For weights ``exp(-f(m))``, ``f(m) = linear*m + quadratic*m*m``, the numbers 0, 1, 2… are cut into cells of a power of
two of neighbours; each cell owns some of 4096 slots, enough to cover its largest weight. A proposal reads a slot, an
offset in the cell, a sign and a coin from one 64-bit word, and is accepted with probability ``factor * exp(-f(m))``, in
which ``factor`` is rational: rejection sampling (von Neumann 1951; the cells are those of Ahrens 1995).

It is exact: the coin is compared with floating-point bounds that are wide by 2^-36, a hundred times any rounding error,
and a coin between them (or beyond the last cell) is decided in integers by ``decide.below``. So floating point affects
the time, never the distribution. The number of proposals does not depend on the value that is accepted.

In an array each position makes its own proposals until one is accepted, so that positions are independent and alike.
Words are drawn in chunks that fit in the cache: memory stays flat. Many proposals are made by a compiled loop; few are
made one by one, for Numba takes half a second to import: from the same words, with the same numbers.
"""

import math
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, exact_positive
from celosia.noise.decide import below, exp_enclosure
from celosia.noise.source import System, source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_SLOT_BITS = 12
_SLOTS = 1 << _SLOT_BITS
_SIGN = 1 << _SLOT_BITS
_OFFSET = _SLOT_BITS + 1
_FINE_GROWTH, _COARSE_GROWTH = 1 / 16, 3 / 4  # of f within a cell, where the weight is large and where it is small
_MAX_EXPONENT = 42.0  # cells end where the weight is exp(-42)
_DOUBLING = 0.7  # more than ln 2
_NARROWEST_COIN, _WIDEST_COIN = 20, 52  # bits; 52 are exact in a double
_READY_DRAWS = 64  # draws
_SLACK = 2.0**-36
_BELOW, _ABOVE = 1 - _SLACK, 1 + _SLACK
_MAX_SCALE_BITS = 500  # of the scale: beyond, squares leave the range of doubles
_MAX_ARRAY_SCALE_BITS = 50  # offsets come from one word, and sums must fit in 64 bits
_MAX_DRAW = 2**63 - 2  # farther draws change no sum that is saturated at 2^62 - 1: see mechanisms.grid
_CHUNK = 1 << 16  # proposals
_NUMBA_THRESHOLD = 256  # proposals: fewer take less than a millisecond one by one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """The tables of one distribution; see the module. Made by ``cells_for``.

    A number of a cell is proposed with probability ``share / (4096 * 2**width)`` and accepted with
    ``rate * 2**width / share * exp(-f)``: the product is the same multiple of the weight everywhere.
    """

    linear: Fraction
    quadratic: Fraction
    signed: bool
    rate: Fraction
    slots: tuple[int, ...]  # slot -> cell; the last cell is the tail
    starts: tuple[int, ...]
    widths: tuple[int, ...]  # as powers of two
    shares: tuple[int, ...]  # slots of each cell
    log_factors: tuple[float, ...]
    tail_chance: float  # no proposal in the tail is accepted with more than this
    slope: float  # linear and quadratic once more, as doubles
    curvature: float
    coin_bits: int
    offset_bits: int

    def draw(self, source: "Source") -> int:
        """Draw one number.

        From the system's source, draws are made some calls ahead: the time of a call then does not depend on its
        number.
        """
        if not isinstance(source, System):
            return self._draw(source)
        ready = source.ready(self)
        while True:
            try:
                return ready.pop()
            except IndexError:
                ready.extend([self._draw(source) for _ in range(_READY_DRAWS)])

    def _draw(self, source: "Source") -> int:
        while True:
            word = source.word()
            offset, coin = self._split(word, source)
            number, undecided = self.propose(word, offset, coin)
            if undecided:
                number = self.settle(word, offset, coin, source)
            if number is not None:
                return number

    def propose(self, word: int, offset: int, coin: int) -> tuple[int | None, bool]:
        """Return the number of a proposal, or None if it is rejected; and whether ``settle`` has to decide."""
        one = 1 << self.coin_bits
        cell = self.slots[word & (_SLOTS - 1)]
        magnitude = self.starts[cell] + (offset & ((1 << self.widths[cell]) - 1))
        # Every proposal takes this same path, so that its time does not depend on the number.
        chance = math.exp(self.log_factors[cell] - (self.slope + self.curvature * magnitude) * magnitude) * one
        # In doubles: Python compares an integer with a double in a time that depends on both.
        if coin + 1.0 <= chance * _BELOW:
            return -magnitude if self.signed and word & _SIGN else magnitude, False
        most = chance if chance == chance else self.tail_chance * one  # noqa: PLR0124 - the tail: NaN
        return None, not coin + 0.0 >= most * _ABOVE

    def _split(self, word: int, source: "Source") -> tuple[int, int]:
        """Return the offset bits and the coin of a proposal; wide cells need further words."""
        if self.coin_bits < _WIDEST_COIN:
            return word >> _OFFSET, word >> (64 - self.coin_bits)
        coin = source.word() >> (64 - _WIDEST_COIN)
        offset, have = word >> _OFFSET, 64 - _OFFSET
        while have < self.offset_bits:
            offset, have = offset << 64 | source.word(), have + 64
        return offset, coin

    def settle(self, word: int, offset: int, coin: int, source: "Source") -> int | None:
        """Finish a proposal in integers: return the number, or None if it is rejected."""
        cell = self.slots[word & (_SLOTS - 1)]
        width = self.widths[cell]
        doublings = 0
        if cell == len(self.starts) - 1:
            # The tail: cell after cell, each with half the probability of the one before; the weight falls faster.
            doublings = 1
            while source.word() & 1:
                doublings += 1
            offset = 0
            for _ in range(0, width, 64):
                offset = offset << 64 | source.word()
        magnitude = self.starts[cell] + (max(doublings - 1, 0) << width) + (offset & ((1 << width) - 1))
        factor = self.rate * Fraction(2) ** (width + doublings) / self.shares[cell]
        if self.signed and magnitude == 0:
            factor /= 2  # zero comes with both signs
        exponent = (self.linear + self.quadratic * magnitude) * magnitude
        if not below(coin, self.coin_bits, exp_enclosure(exponent, factor), source):
            return None
        return -magnitude if self.signed and word & _SIGN else magnitude

    def sample(self, count: int, source: "Source") -> "NDArray[np.int64]":
        """Draw ``count`` independent numbers."""
        if self.offset_bits > _MAX_ARRAY_SCALE_BITS:
            raise ParameterError("noise.vector_noise_overflow")
        out = np.empty(count, dtype=np.int64)
        positions = np.empty(0, dtype=np.int64)  # empty at first: every position makes a proposal
        pending = count
        while pending:
            chunks = [range(first, min(first + _CHUNK, pending)) for first in range(0, pending, _CHUNK)]
            positions = np.concatenate([self._fill_chunk(out, source, positions, chunk) for chunk in chunks])
            pending = positions.size
        return out

    def _fill_chunk(
        self, out: "NDArray[np.int64]", source: "Source", positions: "NDArray[np.int64]", chunk: range
    ) -> "NDArray[np.int64]":
        """Make one proposal for each position of a chunk; return the positions that must try again."""
        words = source.words(len(chunk))
        narrow = self.coin_bits + self.offset_bits <= 64 - _OFFSET
        coins = words if narrow else source.words(len(chunk))
        if len(chunk) <= _NUMBA_THRESHOLD:
            rejected, undecided = self._propose_few(out, words, coins, positions, chunk)
        else:
            from celosia.noise.compiled.cells import propose_many

            rejected, undecided = propose_many(out, self, words, coins, positions, chunk[0])
        again = [rejected]
        shift = np.uint64(64 - self.coin_bits)
        for i in undecided:
            word = int(words[i])
            position = positions[chunk[i]] if positions.size else chunk[i]
            settled = self.settle(word, word >> _OFFSET, int(coins[i] >> shift), source)
            if settled is None:
                again.append(np.array([position], dtype=np.int64))
            else:
                out[position] = max(min(settled, _MAX_DRAW), -_MAX_DRAW)
        return np.concatenate(again)

    def _propose_few(
        self,
        out: "NDArray[np.int64]",
        words: "NDArray[np.uint64]",
        coins: "NDArray[np.uint64]",
        positions: "NDArray[np.int64]",
        chunk: range,
    ) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """Write what is accepted; return the positions that are rejected and the places that are undecided."""
        shift = 64 - self.coin_bits
        rejected, undecided = [], []
        for i, (word, coin) in enumerate(zip(words.tolist(), coins.tolist(), strict=True)):
            position = int(positions[chunk[i]]) if positions.size else chunk[i]
            number, unsure = self.propose(word, word >> _OFFSET, coin >> shift)
            if unsure:
                undecided.append(i)
            elif number is None:
                rejected.append(position)
            else:
                out[position] = number
        return np.array(rejected, dtype=np.int64), np.array(undecided, dtype=np.int64)


@dataclass(frozen=True, slots=True, init=False)
class CellDistribution:
    """The base of ``DiscreteLaplace``, ``DiscreteGaussian`` and ``Geometric``.

    >>> from celosia.noise import DiscreteLaplace
    >>> isinstance(DiscreteLaplace(1), CellDistribution)
    True
    """

    _cells: Cells = field(repr=False, compare=False)

    def draw(self, source: "Source | None" = None) -> int:
        """Draw one number, of any size.

        >>> from celosia.noise import DiscreteLaplace, Seeded
        >>> DiscreteLaplace(10).draw(Seeded(7))
        53
        """
        return self._cells.draw(source_or_system(source))

    def sample(self, count: int, source: "Source | None" = None) -> "NDArray[np.int64]":
        """Draw ``count`` independent numbers.

        >>> from celosia.noise import DiscreteGaussian
        >>> DiscreteGaussian(100).sample(1000).shape
        (1000,)
        """
        return self._cells.sample(exact_integer(count, name="count", least=0), source_or_system(source))


@dataclass(frozen=True, slots=True, init=False)
class GeometricCells(CellDistribution):
    """The base of ``DiscreteLaplace`` and ``Geometric``: probabilities fall by ``exp(-1/scale)`` with each step."""

    _signed: ClassVar[bool]

    scale: Fraction

    def __init__(self, scale: Exact) -> None:
        object.__setattr__(self, "scale", exact_positive(scale, name="scale"))
        object.__setattr__(self, "_cells", cells_for(1 / self.scale, Fraction(0), signed=self._signed))


@lru_cache(maxsize=512)
def cells_for(linear: Fraction, quadratic: Fraction, *, signed: bool) -> Cells:
    """Build the tables for weights ``exp(-linear*m - quadratic*m*m)``, with random sign if ``signed``."""
    slope, curvature = float(linear), float(quadratic)
    fits = slope + math.sqrt(curvature) > 2.0 ** -(2 * _MAX_SCALE_BITS)  # else starts would leave the range of doubles
    starts, widths = _cut(slope, curvature, signed=signed) if fits else ([], [])
    if not fits or max(widths) > _MAX_SCALE_BITS:
        raise ParameterError("noise.noise_too_wide", most_bits=_MAX_SCALE_BITS)
    # Weights times the slack are above the true ones, so that no acceptance probability exceeds one.
    weights = [
        math.ldexp(math.exp(-(slope + curvature * start) * start) * _ABOVE, width)
        for start, width in zip(starts, widths, strict=True)
    ]
    tail_weight = weights.pop()
    if signed:
        weights[0] /= 2  # the first cell is zero alone, and zero comes with both signs
    rate, shares = _share(weights)
    offset_bits = max(widths[:-1])
    coin_bits = 64 - _OFFSET - offset_bits
    return Cells(
        linear=linear,
        quadratic=quadratic,
        signed=signed,
        rate=rate,
        slots=tuple(cell for cell, share in enumerate(shares) for _ in range(share)),
        starts=tuple(starts),
        widths=tuple(widths),
        shares=tuple(shares),
        log_factors=tuple(_log_factors(rate, widths, shares, signed=signed)),
        tail_chance=max(2 * float(rate) * tail_weight, sys.float_info.min),
        slope=slope,
        curvature=curvature,
        coin_bits=coin_bits if coin_bits >= _NARROWEST_COIN else _WIDEST_COIN,
        offset_bits=offset_bits,
    )


def _cut(linear: float, quadratic: float, *, signed: bool) -> tuple[list[int], list[int]]:
    """Return where the cells begin and the powers of two of their widths; the last one is the first of the tail."""
    half_width = 1 / (linear + math.sqrt(quadratic))  # of the whole distribution, to a small factor
    starts, widths = [0], [0]
    start = 1
    if not signed:
        starts, widths, start = [], [], 0
    while (linear + quadratic * start) * start <= _MAX_EXPONENT or not starts:
        width = _widest(linear, quadratic, start, _FINE_GROWTH)
        weight = math.exp(-(linear + quadratic * start) * start)
        if math.ldexp(weight, width) * _SLOTS < 1 + half_width:  # not worth a slot: join it with its neighbours
            width = _widest(linear, quadratic, start, _COARSE_GROWTH)
        starts.append(start)
        widths.append(width)
        start += 1 << width
    starts.append(start)
    widths.append(max(0, _widest(linear, quadratic, start, _DOUBLING) + 1))
    return starts, widths


def _widest(linear: float, quadratic: float, start: int, growth: float) -> int:
    """Return the largest w such that f grows by at most ``growth`` from ``start`` to ``start + 2**w``, or 0."""
    slope = linear + 2 * quadratic * start
    width = 2 * growth / (slope + math.sqrt(slope * slope + 4 * quadratic * growth))
    return max(0, math.frexp(width)[1] - 1)


def _share(weights: list[float]) -> tuple[Fraction, list[int]]:
    """Divide the slots: every cell gets at least ``rate`` times its weight, the tail one; ``rate`` is the largest."""
    low, high = (_SLOTS - 1 - len(weights)) / sum(weights), _SLOTS / sum(weights)
    array = np.array(weights)
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if np.ceil(array * middle).sum() < _SLOTS else (low, middle)
    # Twelve digits are plenty, and the same on machines whose exponentials differ in the last one.
    mantissa, exponent = math.frexp(low)
    rate = math.ldexp(math.floor(mantissa * 4096), exponent - 12)
    shares = [max(1, math.ceil(weight * rate)) for weight in weights]
    shares[shares.index(max(shares))] += _SLOTS - 1 - sum(shares)
    return Fraction(rate), [*shares, 1]


def _log_factors(rate: Fraction, widths: list[int], shares: list[int], *, signed: bool) -> list[float]:
    base = math.log(rate.numerator) - math.log(rate.denominator)
    factors = [base + width * math.log(2) - math.log(share) for width, share in zip(widths, shares, strict=True)]
    if signed:
        factors[0] -= math.log(2)
    factors[-1] = math.nan  # the tail is never accepted in floating point
    return factors
