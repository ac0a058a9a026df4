"""The choice of the grid on which privacy losses are composed.

A grid of interval h adds about h^2/6 to the variance of every step, so it must be fine against one step and still span
the sum of all of them. Up to some number of repetitions one grid does both. Beyond it the steps are composed in blocks
on a fine grid, and the blocks on a coarser one (Ghazi, Kamath, Kumar and Manurangsi 2022, evolving discretisation): the
work stays the same for a thousand repetitions and for a million. The choice affects only tightness and speed: any grid
gives a valid bound.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from celosia.accounting.checks import Array
from celosia.accounting.pld.convolution import convolve
from celosia.accounting.pld.discretise import Cells, Pair, coarsen, discretise, outline
from celosia.accounting.pld.loss_atoms import Atoms

_SPREADING = 1e-5  # by how much, relatively, a grid may raise the variance of the composed loss
_FEW_STEPS = 500  # compositions so short that fewer cells are enough
_FEW_CELLS = 2**14  # over the width of the composition, for few steps
_CELLS = 2**17  # the same for many: a transform of that length takes milliseconds
_ALL_AT_ONCE = 4096  # steps that are never composed in blocks
_FINEST = 2.0**-30  # of the largest loss: far above its rounding error
_DEVIATIONS = 3.5  # how far into the upper tail a tilt moves the centre of precision
_ENTROPY = 6.5  # and no further than where the tail has about exp(-6.5)
_TAIL_LOG = 47.0  # -ln of what a window leaves out

_Part = tuple[Array, Array, int]  # losses, masses, repetitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A fine interval, and, where there are blocks, how many and the coarse interval on which they are composed."""

    fine: float
    blocks: int
    interval: float

    @classmethod
    def plain(cls, interval: float) -> "Grid":
        """Return a grid for composing all at once."""
        return cls(fine=interval, blocks=1, interval=interval)


def chosen_grid(ways: Sequence[Sequence[tuple[Pair, int]]], cells: int) -> Grid:
    """Choose one grid, of about ``cells`` cells at most, for pairs with their repetitions, given for each direction."""
    outlines = [_outlines(way) for way in ways]
    steps = sum(times for _, times in ways[0])
    fine = max(_interval(parts, steps, cells) for parts in outlines)
    width = max(_width(parts) for parts in outlines)
    roomy = max(_CELLS, 4 * max(_reach(parts) for parts in outlines) / fine)
    if steps <= _ALL_AT_ONCE or width / fine <= min(roomy, cells):
        return Grid.plain(_anchor(ways, max(fine, width / cells)))
    inner = max(math.isqrt(steps), math.floor(steps * (roomy / 2 * fine / width) ** 2))
    blocks = _divisor([times for _, times in ways[0]], steps // inner)
    shapes = [[(x, m, times // blocks) for x, m, times in parts if times >= blocks] for parts in outlines]
    fine = max(fine, *(_width(parts) / cells for parts in shapes if parts))
    wanted = max(_spread(parts) for parts in outlines) * math.sqrt(6 * _SPREADING / blocks)
    return Grid(fine=fine, blocks=blocks, interval=fine * math.ceil(max(wanted, width / cells) / fine))


def composed(parts: Sequence[tuple[Pair, int]], grid: Grid) -> Cells:
    """Return a distribution on the grid that dominates the composition of all pairs."""
    tilt = _tilt(_outlines(parts))
    steps = [(discretise(pair, grid.fine), times) for pair, times in parts]
    if grid.blocks == 1:
        return convolve(steps, tilt)
    blocks = [(cells, times // grid.blocks) for cells, times in steps if times >= grid.blocks]
    left = [(cells, times % grid.blocks) for cells, times in steps if times % grid.blocks]
    coarse = [
        (coarsen(convolve(some, tilt), grid.interval), times)
        for some, times in ((blocks, grid.blocks), (left, 1))
        if some
    ]
    return convolve(coarse, tilt)


def _divisor(repetitions: list[int], least: int) -> int:
    """Return a number from ``least`` to twice that which leaves the smallest remainders, hence the least extra work."""
    candidates = np.arange(least, 2 * least + 1)
    remainders = sum(np.remainder(times, candidates) for times in repetitions)
    return int(candidates[np.argmin(remainders)])


def _outlines(parts: Sequence[tuple[Pair, int]]) -> list[_Part]:
    shapes = [(*outline(pair, count=1024), times) for pair, times in parts]
    return [(losses, masses / masses.sum(), times) for losses, masses, times in shapes if masses.sum() > 0]


def _interval(parts: list[_Part], steps: int, cells: int) -> float:
    """Return an interval that raises the variance of the whole by little, if a single step leaves the room for it."""
    largest = max((float(np.abs(x).max()) for x, _, _ in parts), default=0.0)
    least = largest * max(_FINEST, steps * 2.0**-50)  # places on the grid stay integers that doubles hold
    spread = _spread(parts)
    if spread == 0:
        return max(1e-3, least)
    wanted = spread * math.sqrt(6 * _SPREADING / steps)
    few = _width(parts) / (_FEW_CELLS if steps <= _FEW_STEPS else _CELLS)
    return max(min(wanted, few), _reach(parts) / cells, least)


def _anchor(ways: Sequence[Sequence[tuple[Pair, int]]], interval: float) -> float:
    """Return an interval at most as wide that divides the largest loss of a lone pair: coins stay exact."""
    kinds = {pair for way in ways for pair, _ in way}
    losses = [pair.losses for pair in kinds if isinstance(pair, Atoms)]
    if len(kinds) != 1 or not losses or not len(losses[0]):
        return interval
    largest = float(np.abs(losses[0]).max())
    return largest / math.ceil(largest / interval) if largest >= interval else interval


def _spread(parts: list[_Part]) -> float:
    return math.sqrt(math.fsum(times * float(m @ np.square(x - float(m @ x))) for x, m, times in parts))


def _reach(parts: list[_Part]) -> float:
    """Return the distance between the largest and the smallest loss of a single step."""
    return max((float(x.max() - x.min()) for x, _, _ in parts), default=0.0)


def _width(parts: list[_Part]) -> float:
    """Return the width outside which the tilted composition has negligible mass, by Chernoff's bound."""
    spread = _spread(parts)
    if spread == 0:
        return 0.0
    tilt = _tilt(parts)
    centre = _cumulant(parts, np.array([tilt]))[0]
    orders = np.geomspace(1e-2, 1e3, 36) / spread
    upper = (_cumulant(parts, tilt + orders) - centre + _TAIL_LOG) / orders
    lower = (_cumulant(parts, tilt - orders) - centre + _TAIL_LOG) / orders
    most = math.fsum(times * float(x.max()) for x, _, times in parts)
    least = math.fsum(times * float(x.min()) for x, _, times in parts)
    return max(min(float(upper.min()), most) - max(-float(lower.min()), least), _reach(parts))


def _cumulant(parts: list[_Part], orders: Array) -> Array:
    """Return ln E exp(order * loss) of the composition, at each order."""
    total = np.zeros(len(orders))
    for losses, masses, times in parts:
        exponent = orders[:, None] * losses[None, :]
        peak = exponent.max(axis=1)
        total += times * (peak + np.log(np.exp(exponent - peak[:, None]) @ masses))
    return total


def _tilt(parts: list[_Part]) -> float:
    """Return an order at which the tilted composition lies in the upper tail, where delta is read off."""
    spread = _spread(parts)
    if spread == 0:
        return 0.0

    def too_far(order: float) -> bool:
        small = 1e-4 * order
        low, here, high = _cumulant(parts, np.array([order - small, order, order + small]))
        return bool(order * (high - low) / (2 * small) - here > _ENTROPY)

    low, high = 0.0, _DEVIATIONS / spread
    if not too_far(high):
        return high
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if too_far(middle) else (middle, high)
    return low
