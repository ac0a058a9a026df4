"""Exact sums of a request, over arrays in memory, block by block.

Columns are rounded to their axes as every engine does it: clipped, to the nearest step of the kind's own grid, then to
the measure's coarser one. Centred steps are integers below 2^17 in size, so that a block's products are summed by
matrix products of doubles without any rounding; blocks are added as 64-bit integers. Memory is that of one block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numba as nb
import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import InputError
from celosia.data.schema.columns import Kind
from celosia.learn.base.class_moments import ClassMoments
from celosia.learn.privacy.parameters import axis_of, ends_of
from celosia.statistics.base.products import Products
from celosia.statistics.base.summary_request import Part, SummaryRequest
from celosia.statistics.moments.measures import Bins

if TYPE_CHECKING:
    from celosia.data.schema.axis import Axis

_BLOCK: Final = 8192  # rows: their products stay below 2^53, and a block of some tens of columns in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Stepping:
    """How columns of doubles become centred integers, with a column of ``reading`` for each.

    Its nine rows are low, high, grid, first and last step of the fine axis, the factor to the coarse one, its lowest
    step, its steps, and the multiplier of the centred step.
    """

    reading: NDArray[np.float64]

    def centre(self, values: NDArray[np.float64], more: int = 0) -> NDArray[np.float64]:
        """Return centred and stretched integers, as doubles; ``more`` columns of ones after them."""
        out = np.ones((values.shape[0], values.shape[1] + more))
        _fill_centred(_writable(values), self.reading, out)
        return out


def stepping_of(kinds: Sequence[Kind], measure: Products) -> Stepping:
    """Return how columns of these kinds are read for a measure."""
    rows = [
        _one(kind, axis_of(kind), axis, factor)
        for kind, axis, factor in zip(kinds, measure.axes, measure.multipliers, strict=True)
    ]
    return Stepping(np.ascontiguousarray(np.array(rows, dtype=np.float64).reshape(len(rows), 9).T))


def _one(kind: Kind, fine: "Axis", axis: "Axis", multiplier: int) -> list[float]:
    return [
        *ends_of(kind), float(fine.grid), float(fine.lowest), float(fine.highest),
        float(axis.grid / fine.grid), float(axis.lowest), float(axis.steps), float(multiplier),
    ]  # fmt: skip


@dataclass(slots=True, eq=False, repr=False)
class ExactSums:
    """Exact sums that are not noised yet: they are never shown and cannot be stored.

    ``add`` takes rows by columns, the target of a regression as the last column, and the places of the classes.
    """

    request: SummaryRequest
    kinds: tuple[Kind, ...]
    rows: int = 0
    _sums: list[NDArray[Any]] = field(default_factory=list)
    _readers: list[Stepping | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        cells = self.request.cells
        for part in self.request.parts:
            shape = (cells if part.by_class else 1, part.measure.width)
            self._sums.append(np.zeros(shape, dtype=np.int64))
            kinds = [self.kinds[place] for place in part.columns]
            read = part.measure.products if isinstance(part.measure, ClassMoments) else part.measure
            self._readers.append(stepping_of(kinds, read) if isinstance(read, Products) else None)

    def add(self, values: NDArray[np.float64], codes: NDArray[np.int64] | None = None) -> None:
        """Add rows, block by block."""
        # Beyond, a sum could be more than 64 bits hold and go on from the other end, or be cut off before the noise.
        largest = max(max(-low, high) for part in self.request.parts for low, high in part.measure.reach)
        most = min(2**30, 2**62 // largest)
        if self.rows + len(values) >= most:
            raise InputError("learn.too_many_rows", most=most)
        for block, labels in _blocks(values, codes):
            for place, (part, reader) in enumerate(zip(self.request.parts, self._readers, strict=True)):
                columns = block if part.columns == tuple(range(block.shape[1])) else block[:, list(part.columns)]
                self._sums[place] += _sums(part, reader, columns, labels, self._sums[place].shape)
        self.rows += len(values)

    def combine(self) -> NDArray[Any]:
        """Return the exact numbers that are to be noised, and nothing else."""
        parts = zip(self.request.parts, self._sums, strict=True)
        return self.request.combine(
            [part.measure.weigh(sums) if isinstance(part.measure, ClassMoments) else sums for part, sums in parts]
        )

    def __repr__(self) -> str:
        return "<ExactSums: exact sums that are not released>"

    def __reduce__(self) -> str:
        raise InputError("learn.unfinished_model")


def _blocks(
    values: NDArray[np.float64], codes: NDArray[np.int64] | None
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64] | None]]:
    for start in range(0, len(values), _BLOCK):
        stop = start + _BLOCK
        yield values[start:stop], None if codes is None else codes[start:stop]


def _sums(
    part: Part,
    reader: Stepping | None,
    block: NDArray[np.float64],
    labels: NDArray[np.int64] | None,
    shape: tuple[int, int],
) -> NDArray[np.int64]:
    codes = labels if part.by_class and labels is not None else np.zeros(len(block), dtype=np.int64)
    if isinstance(part.measure, Products) and reader is not None:
        return _products(part.measure, reader, block, codes, shape[0])
    if isinstance(part.measure, ClassMoments) and reader is not None:  # weighed when all are added up
        return _powers(reader, block, codes, shape[0])
    if isinstance(part.measure, Bins):
        places = codes * shape[1] + block[:, 0].astype(np.int64)
        counted: NDArray[np.int64] = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)
        return counted
    raise InputError("learn.measure_not_summable", measure=type(part.measure).__name__)


def _products(
    measure: Products, reader: Stepping, block: NDArray[np.float64], codes: NDArray[np.int64], cells: int
) -> NDArray[np.int64]:
    weights = np.ones(measure.width, dtype=np.int64) if measure.weights is None else np.array(measure.weights)
    if all(len(monomial) < 2 or monomial[0] == monomial[1] for monomial in measure.monomials):
        table = _powers(reader, block, codes, cells)
        places = [0 if not m else (m[0] + 1 if len(m) == 1 else m[0] + 1 + block.shape[1]) for m in measure.monomials]
        return table[:, places] * weights
    centred, last = reader.centre(block, more=1), block.shape[1]
    pairs = [(*monomial, last, last)[:2] for monomial in measure.monomials]
    first, second = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    out = np.empty((cells, measure.width), dtype=np.int64)
    for cell in range(cells):
        rows = centred if cells == 1 else centred[codes == cell]
        out[cell] = (rows.T @ rows)[first, second].astype(np.int64)
    return out * weights


def _powers(reader: Stepping, block: NDArray[np.float64], codes: NDArray[np.int64], cells: int) -> NDArray[np.int64]:
    """Return, class by class, the number of rows, the sums of the columns, and those of their squares."""
    table = np.zeros((cells, 1 + 2 * block.shape[1]), dtype=np.int64)
    _fill_powers(_writable(block), codes, reader.reading, table)
    return table


def _writable(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a block as compiled loops take it: row after row, and not marked as read-only (a memory map may be)."""
    plain = np.ascontiguousarray(block)
    return plain if plain.flags.writeable else plain.copy()


@nb.njit("f8(f8, f8[:, ::1], i8)", cache=True, inline="always")
def _centre_value(value: float, reading: NDArray[np.float64], j: int) -> float:
    """Clip, round to the fine grid, then to the coarse one, and count from the middle: as engines do it."""
    inside = min(max(value, reading[0, j]), reading[1, j])
    step = min(max(np.floor(inside / reading[2, j] + 0.5), reading[3, j]), reading[4, j])
    if reading[5, j] > 1.0:
        step = np.floor(step / reading[5, j] + 0.5)
    centred: float = reading[8, j] * (2.0 * (step - reading[6, j]) - reading[7, j])
    return centred


@nb.njit("void(f8[:, ::1], f8[:, ::1], f8[:, ::1])", cache=True)
def _fill_centred(values: NDArray[np.float64], reading: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write centred integers, as doubles, into the first columns of ``out``."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = _centre_value(values[i, j], reading, j)


@nb.njit("void(f8[:, ::1], i8[::1], f8[:, ::1], i8[:, ::1])", cache=True)
def _fill_powers(
    values: NDArray[np.float64], codes: NDArray[np.int64], reading: NDArray[np.float64], table: NDArray[np.int64]
) -> None:
    """Add the count, the columns and their squares to the row of each record's class."""
    width = values.shape[1]
    for i in range(values.shape[0]):
        cell = codes[i]
        table[cell, 0] += 1
        for j in range(width):
            z = np.int64(_centre_value(values[i, j], reading, j))
            table[cell, 1 + j] += z
            table[cell, 1 + width + j] += z * z
