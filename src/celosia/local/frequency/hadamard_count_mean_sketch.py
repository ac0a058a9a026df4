"""The Hadamard count-mean sketch: one bit of the transformed one-hot vector, by randomized response.

A client draws one of k hash functions and one of the m coordinates of the Walsh-Hadamard transform of its hashed
one-hot vector. That coordinate is a sign, the parity of a few bits; the report keeps it with probability
e^epsilon / (e^epsilon + 1). A report has a few bytes instead of m bits, and spends all of epsilon on its one bit: noise
is removed with (e^epsilon + 1) / (e^epsilon - 1). The server adds up signs, and transforms back for an estimate.
Apple's Differential Privacy Team 2017; proof and exact variance in ``proofs/hadamard-count-mean-sketch.md``.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.events import RandomizedResponseEvent
from celosia.core.exact import safe_repr
from celosia.local.base.checks import are_sums_of_signs, exact_total
from celosia.local.base.hashed_rows import exact_table
from celosia.local.base.packing import Bytes, field_width, has_clear_padding, pack, unpack
from celosia.local.base.protocol import MAX_OUTPUTS, PERSON, State
from celosia.local.frequency.hashed_table import HashedTable
from celosia.noise.bernoulli import bernoulli_logistic, flip_logistic
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class HadamardCountMeanSketch(HashedTable):
    """The Hadamard count-mean sketch over an open domain: integers, strings or bytes.

    There are k = ``hashes`` hash functions and m = ``width`` columns, a power of two. Collisions fall with the width;
    doubling it adds one bit to a report. See ``celosia.local`` for ``epsilon`` and ``seed``.

    >>> from celosia.noise import Seeded
    >>> protocol = HadamardCountMeanSketch(epsilon=4, hashes=64, width=1024, seed=7)
    >>> reports = protocol.privatize(["sun"] * 600 + ["rain"] * 400, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate(["sun", "rain", "snow"])
    Estimate(sun: 620 ± 21, rain: 377 ± 27, snow: 65 ± 32; reports=1000)
    """

    @staticmethod
    def _exact_shape(hashes: int, width: int) -> tuple[int, int]:
        rows, columns = exact_table(hashes, width)
        if columns & (columns - 1):
            raise ParameterError("local.width_not_power_of_two", value=safe_repr(width))
        return rows, columns

    @property
    def event(self) -> RandomizedResponseEvent:
        """The event of one report: given the hash function and the coordinate, one randomized response.

        >>> HadamardCountMeanSketch(epsilon=4, hashes=64, width=128).event.categories
        2
        """
        return RandomizedResponseEvent(epsilon=self.epsilon, unit=PERSON)

    @property
    def bits(self) -> int:
        """A report is the number of the hash function, that of the coordinate, and a bit: 1 for plus.

        >>> HadamardCountMeanSketch(epsilon=4, hashes=1024, width=1024).bits
        21
        """
        return sum(self._widths())

    def outputs(self) -> Bytes | None:
        """All hash functions with all coordinates and both signs.

        >>> len(HadamardCountMeanSketch(epsilon=1, hashes=2, width=4).outputs())
        16
        """
        if 2 * self.hashes * self.width > MAX_OUTPUTS:
            return None
        rows, coordinates, plus = (grid.reshape(-1) for grid in np.indices((self.hashes, self.width, 2)))
        return self._pack(rows, coordinates, plus)

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return, for each report, the logarithm of the probability of its sign, and of 1/(k m).

        >>> protocol = HadamardCountMeanSketch(epsilon=1, hashes=2, width=4)
        >>> float(np.exp(protocol.log_masses("sun", protocol.outputs())).sum().round(12))
        1.0
        """
        rows, coordinates, plus = self._unpack(payload)
        true = self._signs(self.encode([value]).repeat(len(payload)), rows, coordinates) > 0
        epsilon = float(self.epsilon)
        lies = np.where(true == (plus == 1), 0.0, epsilon)
        return -math.log(self.hashes * self.width) - math.log1p(math.exp(-epsilon)) - lies

    def _widths(self) -> tuple[int, int, int]:
        return field_width(self.hashes), field_width(self.width), 1

    def _pack(self, *fields: "NDArray[Any]") -> Bytes:
        return pack(list(zip(fields, self._widths(), strict=True)))

    def _unpack(self, payload: Bytes) -> "tuple[NDArray[np.int64], ...]":
        return tuple(field.view(np.int64) for field in unpack(payload, self._widths()))

    def _signs(
        self, items: "NDArray[np.uint64]", rows: "NDArray[np.int64]", coordinates: "NDArray[np.int64]"
    ) -> "NDArray[np.int64]":
        from celosia.sketches.hashing.hadamard import sign

        return sign(coordinates, self.hash_family.columns(items, rows))

    def _scale(self) -> float:
        return 1 / math.tanh(float(self.epsilon) / 2)  # (e^epsilon + 1) / (e^epsilon - 1)

    def _coins(self, reports: int, counts: "NDArray[np.float64]") -> "NDArray[np.float64]":
        known = counts + (reports - counts) / self.width  # reporters whose sign is the candidate's in any coordinate
        square = self._scale() * self._scale() * reports if reports else 0.0  # ** would raise OverflowError
        return (square - known) * (self.width / (self.width - 1)) ** 2

    def sample(self, items: "NDArray[np.uint64]", source: "Source") -> Bytes:
        rows = uniform_below(self.hashes, items.size, source)
        coordinates = uniform_below(self.width, items.size, source)
        kept = bernoulli_logistic(self.epsilon, items.size, source=source)
        return self._pack(rows, coordinates, kept == (self._signs(items, rows, coordinates) > 0))

    def sample_one(self, item: Any, source: "Source") -> int:
        row, coordinate = integer_below(self.hashes, source), integer_below(self.width, source)
        kept = flip_logistic(self.epsilon, source=source)
        column = int(self.hash_family.columns(np.array([item], dtype=np.uint64), [row])[0])
        plus = kept == ((coordinate & column).bit_count() % 2 == 0)
        first, second, _ = self._widths()
        return row | coordinate << first | plus << (first + second)

    @property
    def increment_bounds(self) -> tuple[int, int]:
        return -1, 1  # signs are added up

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"signs": (self.hashes, self.width), "reports": (self.hashes,)}

    def is_reachable(self, state: State, reports: int) -> bool:
        rows = state["reports"]
        return int(rows.min()) >= 0 and exact_total(rows) == reports and are_sums_of_signs(state["signs"], rows)

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        (rows,) = unpack(payload, self._widths()[:1])
        return has_clear_padding(payload, self.bits) & (rows < self.hashes)

    def accumulate(self, state: State, payload: Bytes) -> None:
        from celosia.local.frequency.sketch_counts import add_signs

        add_signs(state["signs"], state["reports"], *self._unpack(payload))

    def _cells(self, state: State) -> "NDArray[np.int64]":
        from celosia.sketches.hashing.hadamard import transform

        return transform(state["signs"].copy())

    def _noise(self, reports: int, scale: float) -> float:  # noqa: ARG002 - signs are 0 on average
        return 0.0

    def _squares(self, state: State, scale: float, reports: "NDArray[np.float64]") -> tuple[float, float]:
        from celosia.local.frequency.sketch_counts import sum_of_squares

        # A transform multiplies the sum of squares by m.
        squares = scale**2 * self.width * sum_of_squares(state["signs"], 1.0, np.zeros(self.hashes))
        return squares, reports.sum() * (scale**2 * self.width - 1)
