"""HyperLogLog: the number of different values in a few kilobytes (Flajolet, Fusy, Gandouet and Meunier 2007).

The digest has 64 bits, so that no correction for large numbers is needed. Up to m/16 different values are kept as they
are (8 bytes each, what m registers of 4 bits take) and counted exactly; from then on there are m registers. While one
sketch reads one stream, the estimate is the sum of inverse chances (relative error 0.83/√m); merged sketches are read
from their registers (1.04/√m). Serialized, a sketch is as large and as accurate as Apache DataSketches' smallest; in
memory a register has a byte, for speed. Not private: one value can change the estimate by any amount, for a register is
a maximum, so no noise on the estimate would hide it. ``celosia.statistics.NoisyDistinct`` is the private counterpart.
"""

import math
import struct
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from celosia.core.errors import FormatError, ParameterError
from celosia.core.exact import Exact, exact_integer, safe_repr
from celosia.sketches.base.relative_error import relative_bounds, size_for, standard_deviations
from celosia.sketches.base.serial import Kind, pack, read_array, unpack, write_array
from celosia.sketches.base.sketch import Sketch
from celosia.sketches.base.streams import digest_chunks
from celosia.sketches.distinct.registers import (
    estimate_from,
    pack_registers,
    raise_registers,
    remaining_chance,
    unpack_registers,
)
from celosia.sketches.hashing.columns import Values
from celosia.sketches.hashing.digest import digest
from celosia.sketches.hashing.digest_set import DigestSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MIN_PRECISION, _MAX_PRECISION = 4, 21
_ONE_STREAM = math.sqrt(math.log(2))
_MERGED = math.sqrt(3 * math.log(2) - 1)
_EXACT, _HISTORY, _REGISTERS = 0, 3, 4  # 1 and 2 had registers of 6 bits


class HyperLogLog(Sketch):
    """An estimate of the number of different values, from 2 to the power of ``precision`` registers.

    >>> visitors = HyperLogLog(12)
    >>> visitors.update(range(100_000))
    >>> visitors.update(range(50_000))
    >>> round(visitors.estimate()), round(visitors.error, 4)
    (101392, 0.013)
    """

    __slots__ = ("_few", "_history", "_registers", "precision")

    precision: Final[int]
    """The binary logarithm of the number of registers."""

    def __init__(self, precision: int = 12, *, seed: int = 0) -> None:
        self.precision = _check_precision(precision)
        super().__init__(seed)
        self._few: DigestSet | None = DigestSet(self._room)
        self._registers: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._history: NDArray[np.float64] | None = None

    @classmethod
    def suggest(cls, error: Exact, failure: Exact = "0.05", *, seed: int = 0) -> Self:
        """Return the smallest sketch, merged or not, whose error exceeds ``error`` with probability ``failure``.

        >>> HyperLogLog.suggest("0.02")
        HyperLogLog(14)
        """
        registers = size_for(_MERGED, error, failure)
        return cls(max((registers - 1).bit_length(), _MIN_PRECISION), seed=seed)

    @property
    def error(self) -> float:
        """The relative standard error: 0 while values are counted one by one.

        >>> HyperLogLog(12).error
        0.0
        """
        if self._few is not None:
            return 0.0
        return (_MERGED if self._history is None else _ONE_STREAM) / math.sqrt(1 << self.precision)

    @property
    def memory(self) -> int:
        """The bytes of the state: a byte a register. Serialized, a register has 4 bits."""
        return self._registers.nbytes if self._few is None else self._few.memory

    @property
    def _room(self) -> int:
        return (1 << self.precision) // 16

    def update(self, values: Values) -> None:
        """Add values.

        >>> words = HyperLogLog(10)
        >>> words.update(["sun", "rain", "sun"])
        >>> words.estimate()
        2.0
        """
        for digests in digest_chunks(values, self.seed):
            self._take(digests)

    def _take(self, digests: "NDArray[np.uint64]") -> None:
        done = 0
        if self._few is not None:
            done = self._few.add(digests, 2**64 - 1)
            if done == digests.size:
                return
            self._open_registers(history=True)
        history = np.array([0.0, 1.0]) if self._history is None else self._history
        raise_registers(digests[done:], self._registers, self.precision, history)

    def _open_registers(self, *, history: bool) -> None:
        """Replace the kept values by registers; until then the count is exact."""
        assert self._few is not None  # noqa: S101 - for the type checker
        members = self._few.members()
        self._few, self._registers = None, np.zeros(1 << self.precision, dtype=np.uint8)
        raise_registers(members, self._registers, self.precision, np.array([0.0, 1.0]))
        if history:
            self._history = np.array([members.size, remaining_chance(self._registers, self.precision)])

    def estimate(self) -> float:
        """Return the number of different values.

        >>> HyperLogLog(12).estimate()
        0.0
        """
        if self._few is not None:
            return float(len(self._few))
        if self._history is not None:
            return float(self._history[0])
        return estimate_from(self._registers, self.precision)

    def bounds(self, deviations: Exact = 2) -> tuple[float, float]:
        """Return bounds for the number of different values, at a number of standard deviations.

        >>> visitors = HyperLogLog(12)
        >>> visitors.update(range(100_000))
        >>> low, high = visitors.bounds(2)
        >>> low < 100_000 < high
        True
        """
        if self._few is not None:
            standard_deviations(deviations)
            return self.estimate(), self.estimate()
        least = max(int(np.count_nonzero(self._registers)), self._room + 1)
        return relative_bounds(self.estimate(), self.error, float(least), deviations)

    def merge(self, other: Self) -> Self:
        """Merge another sketch: the registers are as if one sketch had seen both streams.

        >>> a, b = HyperLogLog(10), HyperLogLog(10)
        >>> a.update(range(3_000)), b.update(range(2_000, 5_000))
        (None, None)
        >>> low, high = a.merge(b).bounds(3)
        >>> low < 5_000 < high
        True
        """
        self._require_alike(other)
        if other._few is not None:
            self._take(_in_any_order(other._few.members()))  # as if they were read: the history continues
        elif other is not self:
            self._merge_registers(other)
        return self

    def _merge_registers(self, other: Self) -> None:
        if self._few is not None:  # the exact values are read after the registers, whose history continues
            members = _in_any_order(self._few.members())
            self._few, self._registers = None, other._registers.copy()
            self._history = None if other._history is None else other._history.copy()
            self._take(members)
        elif not np.array_equal(self._registers, np.maximum(self._registers, other._registers)):
            np.maximum(self._registers, other._registers, out=self._registers)
            self._history = None

    def serialize(self) -> bytes:
        """Return the sketch as bytes.

        Fields: precision, seed, and what follows: 0, digests in increasing order; 3, the estimate of one stream as a
        double, then registers; 4, registers alone. ``docs/api/sketches.md`` has the layout of the registers.

        >>> len(HyperLogLog(12).serialize())
        48
        """
        fields = [self.precision, self.seed]
        if self._few is not None:
            return pack(Kind.HYPERLOGLOG, [*fields, _EXACT], write_array(self._few.members()))
        registers = pack_registers(self._registers)
        if self._history is None:
            return pack(Kind.HYPERLOGLOG, [*fields, _REGISTERS], registers)
        return pack(Kind.HYPERLOGLOG, [*fields, _HISTORY], struct.pack("<d", self._history[0]) + registers)

    @classmethod
    def deserialize(cls, data: bytes) -> Self:
        """Return the sketch that ``serialize`` wrote.

        >>> HyperLogLog.deserialize(HyperLogLog(12, seed=5).serialize())
        HyperLogLog(12, seed=5)
        """
        (precision, seed, form), payload = unpack(data, kind=Kind.HYPERLOGLOG, fields=3)
        if not _MIN_PRECISION <= precision <= _MAX_PRECISION or form not in (_EXACT, _HISTORY, _REGISTERS):
            raise FormatError("sketches.hyperloglog_bad_parameters")
        sketch = cls(precision, seed=seed)
        if form == _EXACT:
            sketch._read_few(payload)
        else:
            sketch._read_registers(payload, history=form == _HISTORY)
        return sketch

    def _read_few(self, payload: bytes) -> None:
        members = read_array(payload, np.uint64, (len(payload) // 8,))
        if members.size > self._room or np.any(members[1:] <= members[:-1]):
            raise FormatError("sketches.hyperloglog_bad_digests")
        self._few = DigestSet(self._room, members)

    def _read_registers(self, payload: bytes, *, history: bool) -> None:
        before = 8 if history else 0
        registers = unpack_registers(payload[before:], 1 << self.precision)
        if registers is None or int(registers.max()) > 65 - self.precision or not registers.any():
            raise FormatError("sketches.hyperloglog_impossible_registers")
        self._few, self._registers = None, registers
        if history:
            (estimate,) = struct.unpack("<d", payload[:8])
            if not np.count_nonzero(registers) <= estimate < math.inf:
                raise FormatError("sketches.hyperloglog_wrong_estimate")
            self._history = np.array([estimate, remaining_chance(registers, self.precision)])

    def _parameters(self) -> tuple[int, int]:
        return self.precision, self.seed

    def __eq__(self, other: object) -> bool:
        """Return whether the same values may have been seen; their order, and so the estimate, may differ."""
        if not isinstance(other, HyperLogLog):
            return NotImplemented
        if self._parameters() != other._parameters() or (self._few is None) != (other._few is None):
            return False
        if self._few is not None and other._few is not None:
            return bool(np.array_equal(self._few.members(), other._few.members()))
        return bool(np.array_equal(self._registers, other._registers))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"HyperLogLog({self.precision}{f', seed={self.seed}' if self.seed else ''})"


def _check_precision(precision: int) -> int:
    number = exact_integer(precision, name="precision")
    if not _MIN_PRECISION <= number <= _MAX_PRECISION:
        raise ParameterError(
            "sketches.precision_out_of_range", least=_MIN_PRECISION, most=_MAX_PRECISION, precision=safe_repr(precision)
        )
    return number


def _in_any_order(members: "NDArray[np.uint64]") -> "NDArray[np.uint64]":
    """Return digests in an order independent of their bits, as in a stream, which inverse chances require."""
    return members[np.argsort(digest(members.view(np.int64), seed=1))]
