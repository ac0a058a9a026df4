"""The private count-mean sketch: a hashed one-hot vector, every bit of it flipped with a known probability.

A client draws one of k hash functions, sets the bit of its value among m, and flips each bit with probability
1 / (e^(epsilon/2) + 1). Two values set different bits, so two bits of the report have other probabilities, by a factor
of e^(epsilon/2) each: epsilon together. The server adds up the bits, row by row, and takes out the expected noise and
the expected collisions. Apple's Differential Privacy Team 2017, *Learning with privacy at scale*; the proof, and the
exact variance, are in ``proofs/count-mean-sketch.md``.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.events import RandomizedResponseEvent
from celosia.core.structure import RepeatedEvent
from celosia.local.base.checks import exact_total
from celosia.local.base.packing import Bytes, field_width, has_clear_padding, pack_vector, unpack, unpack_vector
from celosia.local.base.protocol import MAX_OUTPUTS, PERSON, State
from celosia.local.frequency.hashed_table import HashedTable
from celosia.noise.bernoulli import flip_logistic
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class CountMeanSketch(HashedTable):
    """The count-mean sketch over an open domain: integers, strings or bytes.

    There are k = ``hashes`` hash functions: more cost only memory of the server, and even out collisions over values.
    A report has m = ``width`` bits, at least 2; the standard error is near its least from several hundred on. See
    ``celosia.local`` for ``epsilon`` and ``seed``.

    >>> from celosia.noise import Seeded
    >>> protocol = CountMeanSketch(epsilon=4, hashes=64, width=128, seed=7)
    >>> reports = protocol.privatize(["sun"] * 600 + ["rain"] * 400, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate(["sun", "rain", "snow"])
    Estimate(sun: 609 ± 15, rain: 394 ± 15, snow: -21 ± 16; reports=1000)
    """

    @property
    def event(self) -> RepeatedEvent:
        """The event of one report: given the hash function, two randomized responses of half of epsilon each.

        >>> CountMeanSketch(epsilon=4, hashes=64, width=128).event.times
        2
        """
        return RepeatedEvent(event=RandomizedResponseEvent(epsilon=self.epsilon / 2, unit=PERSON), times=2)

    @property
    def bits(self) -> int:
        """A report is a vector of bits, and the number of the hash function.

        >>> CountMeanSketch(epsilon=4, hashes=64, width=128).bits
        134
        """
        return self.width + field_width(self.hashes)

    def outputs(self) -> Bytes | None:
        """All vectors of bits with all hash functions.

        >>> len(CountMeanSketch(epsilon=1, hashes=2, width=3).outputs())
        16
        """
        if self.width > 16 or self.hashes << self.width > MAX_OUTPUTS:
            return None
        number = np.arange(self.hashes << self.width, dtype=np.uint64)
        vectors = (number & np.uint64((1 << self.width) - 1))[:, None]
        return pack_vector(vectors, self.width, [(number >> np.uint64(self.width), field_width(self.hashes))])

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return, for each report, the sum of the logarithms of its bits' probabilities, and of 1/k.

        >>> protocol = CountMeanSketch(epsilon=1, hashes=2, width=3)
        >>> float(np.exp(protocol.log_masses("sun", protocol.outputs())).sum().round(12))
        1.0
        """
        vector, (rows,) = unpack_vector(payload, self.width, [field_width(self.hashes)])
        self._toggle(vector, self.encode([value]).repeat(len(payload)), rows.astype(np.int64))
        flipped = np.unpackbits(vector.view(np.uint8), axis=1).sum(axis=1)
        half = float(self.epsilon) / 2
        untouched = -math.log(self.hashes) - self.width * math.log1p(math.exp(-half))
        return np.asarray(untouched - half * flipped, dtype=np.float64)

    def _scale(self) -> float:
        return 1 / math.tanh(float(self.epsilon) / 4)

    def _coins(self, reports: int, counts: "NDArray[np.float64]") -> float:  # noqa: ARG002 - the same for all counts
        gap = -math.expm1(-float(self.epsilon) / 2)
        noise = math.exp(-float(self.epsilon) / 2) / gap / gap  # e^(epsilon/2) / (e^(epsilon/2) - 1)^2
        return reports * noise * (self.width / (self.width - 1)) ** 2 if reports else 0.0

    def _toggle(
        self, vectors: "NDArray[np.uint64]", items: "NDArray[np.uint64]", rows: "NDArray[np.int64]"
    ) -> "NDArray[np.uint64]":
        """Toggle the bit of each value, given its hash function: from flips to reports, and back."""
        columns = self.hash_family.columns(items, rows)
        vectors[np.arange(len(vectors)), columns >> 6] ^= np.uint64(1) << (columns & 63).astype(np.uint64)
        return vectors

    def sample(self, items: "NDArray[np.uint64]", source: "Source") -> Bytes:
        from celosia.noise.packed import packed_logistic

        rows = uniform_below(self.hashes, items.size, source)
        flips = packed_logistic(self.epsilon / 2, items.size, self.width, complement=True, source=source)
        return pack_vector(self._toggle(flips, items, rows), self.width, [(rows, field_width(self.hashes))])

    def sample_one(self, item: Any, source: "Source") -> int:
        row = integer_below(self.hashes, source)
        vector = 0
        for bit in range(self.width):
            vector |= (not flip_logistic(self.epsilon / 2, source=source)) << bit
        column = int(self.hash_family.columns(np.array([item], dtype=np.uint64), [row])[0])
        return vector ^ 1 << column | row << self.width

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"ones": (self.hashes, self.width), "reports": (self.hashes,)}

    def is_reachable(self, state: State, reports: int) -> bool:
        rows = state["reports"]
        return exact_total(rows) == reports and bool((state["ones"] <= rows[:, None]).all())

    def _rows(self, payload: Bytes) -> "NDArray[np.int64]":
        whole, rest = divmod(self.width, 8)
        _, rows = unpack(payload[:, whole:], [rest, field_width(self.hashes)])
        return rows.astype(np.int64)

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        return has_clear_padding(payload, self.bits) & (self._rows(payload) < self.hashes)

    def accumulate(self, state: State, payload: Bytes) -> None:
        from celosia.local.frequency.sketch_counts import add_bits

        rows = self._rows(payload)
        add_bits(state["ones"], rows, payload)
        state["reports"] += np.bincount(rows, minlength=self.hashes)

    def _cells(self, state: State) -> "NDArray[np.int64]":
        return state["ones"]

    def _noise(self, reports: int, scale: float) -> float:
        return reports * (scale - 1) / 2

    def _squares(self, state: State, scale: float, reports: "NDArray[np.float64]") -> tuple[float, float]:
        from celosia.local.frequency.sketch_counts import sum_of_squares

        squares = sum_of_squares(state["ones"], scale, reports * (scale - 1) / 2)
        return squares, (scale**2 - 1) / 4 * reports.sum() * self.width
