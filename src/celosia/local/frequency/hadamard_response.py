"""Hadamard response: a short report, and all counts by one fast transform.

The outputs are ``blocks`` blocks of as many rows of a Hadamard matrix. Every value has a block and a column of the
matrix; its own half of the block, the rows where the column is +1, is e^epsilon times as likely as any other half of a
block. Two columns agree in half of their rows, so that other values cancel (Acharya, Sun and Zhang 2019). One block is
for a small epsilon; a large one needs a number of blocks of the order of e^epsilon, as in their rule.
See ``proofs/hadamard-response.md``.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.events import RandomizedResponseEvent
from celosia.core.exact import Exact, exact_epsilon, exact_integer, safe_repr
from celosia.local.base.checks import check_crowd, exact_total
from celosia.local.base.domain import DomainProtocol
from celosia.local.base.estimate import Estimate, build_estimate
from celosia.local.base.packing import Bytes, field_width, pack, unpack
from celosia.local.base.protocol import MAX_OUTPUTS, PERSON, State
from celosia.local.base.values import Domain, exact_domain, read_candidates
from celosia.noise.bernoulli import bernoulli_logistic, flip_logistic
from celosia.noise.uniform import integer_below, uniform_below
from celosia.sketches.hashing.hadamard import sign, transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.local.base.aggregate import Aggregate

_MAX_BLOCKS = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class HadamardResponse(DomainProtocol[Estimate]):
    """Hadamard response over a known domain. Value x has block x mod ``blocks`` and column 1 + ⌊x / ``blocks``⌋.

    See ``celosia.local`` for ``domain`` and ``epsilon``. ``blocks`` is a power of two; the default is the largest below
    e^epsilon, as the authors do, and no more than the values need. The variance is least near (e^epsilon - 1) / 2
    blocks: one block up to 1.34.

    >>> from celosia.noise import Seeded
    >>> protocol = HadamardResponse(domain=["red", "green", "blue"], epsilon=2)
    >>> reports = protocol.privatize(["red"] * 600 + ["blue"] * 400, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate(["blue"])
    Estimate(blue: 401 ± 34; reports=1000)
    """

    blocks: int

    def __init__(self, *, domain: Domain | list[str] | list[int], epsilon: Exact, blocks: int | None = None) -> None:
        self._set(domain=exact_domain(domain), epsilon=exact_epsilon(epsilon))
        self._set(blocks=self._choose_blocks() if blocks is None else exact_integer(blocks, name="blocks"))
        if self.blocks & (self.blocks - 1) or self.blocks > _MAX_BLOCKS:
            raise ParameterError("local.blocks_not_power_of_two", value=safe_repr(blocks))

    @property
    def event(self) -> RandomizedResponseEvent:
        """The event of one report: randomized response over the halves of all blocks.

        >>> HadamardResponse(domain=100, epsilon=1).event.categories
        4
        """
        return RandomizedResponseEvent(epsilon=self.epsilon, categories=2 * self.blocks, unit=PERSON)

    @property
    def rows(self) -> int:
        """The rows of a block: the least power of two that has columns for its values, without the constant one.

        >>> HadamardResponse(domain=100, epsilon=1).blocks, HadamardResponse(domain=100, epsilon=1).rows
        (2, 64)
        """
        return 1 << (-(-self.size // self.blocks)).bit_length()

    @property
    def bits(self) -> int:
        """A report is a row, and a block.

        >>> HadamardResponse(domain=100, epsilon=1).bits
        7
        """
        return field_width(self.rows) + field_width(self.blocks)

    def variance(self, reports: int, count: float = 0.0) -> float:
        """Return the variance of an estimated count if the other reporters' values are spread evenly over the blocks.

        >>> round(HadamardResponse(domain=100, epsilon=1).variance(1), 2)
        5.54
        """
        check_crowd(reports, count)
        scale, inside = self._scale()
        return (reports - count) * scale**2 / self.blocks + count * (scale**2 * inside - 1)

    def worst_variance(self, reports: int, count: float = 0.0) -> float:
        """Return the variance if the values of all reporters are in the same block.

        >>> round(HadamardResponse(domain=100, epsilon=1).worst_variance(1), 2)
        7.2
        """
        check_crowd(reports, count)
        scale, inside = self._scale()
        return reports * scale**2 * inside - count

    def outputs(self) -> Bytes | None:
        """All rows of all blocks, if at most 65536.

        >>> len(HadamardResponse(domain=4, epsilon=1).outputs())
        8
        """
        size = self.rows * self.blocks
        return pack([(np.arange(size), self.bits)]) if size <= MAX_OUTPUTS else None

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the logarithm of a row's share of its half of a block.

        >>> protocol = HadamardResponse(domain=2, epsilon=1, blocks=1)
        >>> np.exp(protocol.log_masses(0, protocol.outputs())).round(3).tolist()
        [0.366, 0.134, 0.366, 0.134]
        """
        row, block = self._unpack(payload)
        (own_block,), (column,) = self._places(self.encode([value]))
        own = (block == own_block) & (sign(row, np.full_like(row, column)) > 0)
        epsilon = float(self.epsilon)
        log_true = -math.log1p((2 * self.blocks - 1) * math.exp(-epsilon)) - math.log(self.rows / 2)
        return np.where(own, log_true, log_true - epsilon)

    def _choose_blocks(self) -> int:
        limit = min(math.exp(min(float(self.epsilon), 50.0)), 2.0 * self.size)
        return 1 << max(0, math.ceil(math.log2(limit)) - 1)

    def _scale(self) -> tuple[float, float]:
        """Return the weight of a sign, and the probability that a report is in its value's own block."""
        ratio = math.exp(-float(self.epsilon))
        whole_ = 1 + (2 * self.blocks - 1) * ratio
        return whole_ / -math.expm1(-float(self.epsilon)), (1 + ratio) / whole_

    def _places(self, items: "NDArray[np.int64]") -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        return items % self.blocks, 1 + items // self.blocks

    def _unpack(self, payload: Bytes) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        row, block = unpack(payload, [field_width(self.rows), field_width(self.blocks)])
        return row.astype(np.int64), block.astype(np.int64)

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        # Randomized response over the halves of blocks, numbered 2 block + [the column is -1], and a row of the half.
        block, column = self._places(items)
        kept = bernoulli_logistic(self.epsilon, items.size, categories=2 * self.blocks, source=source)
        others = uniform_below(2 * self.blocks - 1, items.size, source)
        half = np.where(kept, 2 * block, others + (others >= 2 * block))
        row = uniform_below(self.rows, items.size, source)
        wrong = (sign(row, column) < 0) != (half & 1)
        row ^= np.where(wrong, column & -column, 0)
        return pack([(row, field_width(self.rows)), (half >> 1, field_width(self.blocks))])

    def sample_one(self, item: Any, source: "Source") -> int:
        """Draw a coin for the own half, another half, and a row; all always, so that the time reveals nothing.

        A row of the other half of the block becomes one of the right half by flipping the column's lowest bit.
        """
        own, column = 2 * (int(item) % self.blocks), 1 + int(item) // self.blocks
        kept = flip_logistic(self.epsilon, 2 * self.blocks, source)
        other = integer_below(2 * self.blocks - 1, source)
        row = integer_below(self.rows, source)
        half = own if kept else other + (other >= own)
        if (row & column).bit_count() % 2 != half % 2:
            row ^= column & -column
        return row | (half >> 1) << field_width(self.rows)

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"said": (self.blocks, self.rows)}

    def is_reachable(self, state: State, reports: int) -> bool:
        return exact_total(state["said"]) == reports

    def accumulate(self, state: State, payload: Bytes) -> None:
        (said,) = unpack(payload, [self.bits])
        counts = np.bincount(said.astype(np.int64), minlength=self.blocks * self.rows)
        state["said"] += counts.reshape(self.blocks, self.rows)

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> Estimate:
        (places, labels), n = read_candidates(candidates, self.domain), aggregate.reports
        sums = transform(aggregate.state["said"].copy())
        block, column = self._places(places)
        scale, _ = self._scale()
        raw = scale * sums[block, column].astype(np.float64)
        # A sign is 1, 0 or -1: its square is whether the report is in the block, and these were counted.
        square = scale**2 * sums[block, 0].astype(np.float64)
        return build_estimate(
            labels,
            raw,
            variances=np.maximum(square - np.clip(raw, 0.0, n), 0.0),
            null_variances=square,
            reports=n,
            postprocess=postprocess,
        )
