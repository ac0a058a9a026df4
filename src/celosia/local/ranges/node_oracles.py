"""Oracles that report a node of a level: unary bits, or one bit of a Hadamard transform.

Both are epsilon-private for the node at every level, and the level does not depend on the value. Unary
(OUE: Wang, Blocki, Li and Jha 2017) has the smaller variance, 4 e^epsilon/(e^epsilon - 1)^2 a person, but as many bits
as there are leaves; Hadamard randomized response (Cormode, Kulkarni and Srivastava 2019) has one bit and an index, and
a variance of ((e^epsilon + 1)/(e^epsilon - 1))^2. Index 0, whose sign is the same for all, is left out.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from celosia.local.base.bit_counts import add_bits, count_ones
from celosia.local.base.checks import are_sums_of_signs
from celosia.local.base.packing import Bytes, field_width, pack, pack_vector, unpack, unpack_vector
from celosia.local.base.protocol import MAX_OUTPUTS, State
from celosia.noise.bernoulli import bernoulli, bernoulli_logistic, flip, flip_logistic
from celosia.noise.packed import packed_logistic
from celosia.noise.uniform import integer_below, uniform_below
from celosia.sketches.hashing.hadamard import sign, transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]

_MAX_LISTED_BITS = 12  # of unary reports
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOracle(ABC):
    """Base class of the oracles; ``sizes`` are the numbers of nodes of the levels."""

    epsilon: Fraction
    sizes: tuple[int, ...]

    @property
    def level_bits(self) -> int:
        """The number of bits of the level."""
        return field_width(len(self.sizes))

    @property
    @abstractmethod
    def bits(self) -> int:
        """The number of bits of a report, its level included."""

    @abstractmethod
    def outputs(self) -> Bytes | None:
        """Return all reports, or None if they are too many."""

    @abstractmethod
    def levels(self, payload: Bytes) -> "Numbers":
        """Return the level of each report."""

    @abstractmethod
    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        """Return for each report whether a client can have sent it, its padding aside."""

    @abstractmethod
    def log_masses(self, level: int, node: int, payload: Bytes) -> "Floats":
        """Return the logarithms of the probabilities of reports, all of one level."""

    @abstractmethod
    def sample(self, level: int, nodes: "Numbers", source: "Source") -> Bytes:
        """Draw a report of one level for each node."""

    @abstractmethod
    def sample_one(self, level: int, node: int, source: "Source") -> int:
        """Draw one report, word by word."""

    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the counts."""

    @abstractmethod
    def accumulate(self, state: "State", payload: Bytes) -> None:
        """Add valid reports to the counts, and to the number of reports of each level."""

    @abstractmethod
    def is_reachable(self, state: "State") -> bool:
        """Return whether the reports of each level can add up to its counts."""

    @abstractmethod
    def answers(self, state: "State", level: int) -> "Floats":
        """Return unbiased counts of the nodes, among the people who reported at the level."""

    @abstractmethod
    def noise(self, level: int, coefficients: "Floats", shares: "Floats") -> "Floats | float":
        """Return the variance that one report adds to a sum of answers, for given shares of people in the nodes."""

    @abstractmethod
    def node_noise(self, level: int, shares: "Floats") -> "Floats":
        """Return the part of ``noise`` of each node for a coefficient of 1; the sum of the parts is an upper bound."""

    @abstractmethod
    def node_third(self) -> float:
        """Return the third central moment that one report adds to the answer of an empty node."""

    def _offset(self, level: int) -> int:
        return sum(self._blocks()[:level])

    @abstractmethod
    def _blocks(self) -> tuple[int, ...]:
        """Return the number of counters of each level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaryNodes(NodeOracle):
    """One bit for each node of the level: the own one a fair coin, the others 1 with probability 1/(e^epsilon + 1)."""

    @property
    def bits(self) -> int:
        """The bits of the finest level, and the level."""
        return self.sizes[-1] + self.level_bits

    def outputs(self) -> Bytes | None:
        """Return all vectors of all levels, or None if there are many nodes."""
        if self.sizes[-1] > _MAX_LISTED_BITS:
            return None
        vectors = np.concatenate([np.arange(1 << size) for size in self.sizes])
        levels = np.repeat(np.arange(len(self.sizes)), [1 << size for size in self.sizes])
        return pack([(vectors, self.sizes[-1]), (levels, self.level_bits)])

    def levels(self, payload: Bytes) -> "Numbers":
        """Read the field after the vector."""
        byte = self.sizes[-1] // 8
        _, level = unpack(payload[:, byte:], [self.sizes[-1] % 8, self.level_bits])
        return level.astype(np.int64)

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        """Reject unknown levels, and bits of nodes that the level does not have."""
        levels = self.levels(payload)
        vectors, _ = unpack_vector(payload, self.sizes[-1], [self.level_bits])
        extra = np.zeros(len(payload), dtype=np.bool_)
        for level, size in enumerate(self.sizes[:-1]):
            rows = np.flatnonzero(levels == level)
            word, bit = divmod(size, 64)
            beyond = vectors[rows, word:].copy()
            beyond[:, 0] >>= np.uint64(bit)
            extra[rows] = beyond.any(axis=1)
        return (levels < len(self.sizes)) & ~extra

    def log_masses(self, level: int, node: int, payload: Bytes) -> "Floats":
        """Return the sum of the log probabilities of the bits."""
        vectors, _ = unpack_vector(payload, self.sizes[-1], [self.level_bits])
        own = (vectors[:, node // 64] >> np.uint64(node % 64) & np.uint64(1)).astype(np.int64)
        others = count_ones(np.ascontiguousarray(vectors).view(np.uint8)) - own
        zero = -math.log1p(math.exp(-float(self.epsilon)))
        return np.asarray((self.sizes[level] - 1) * zero - float(self.epsilon) * others - math.log(2))

    def sample(self, level: int, nodes: "Numbers", source: "Source") -> Bytes:
        """Draw all bits of all reports at once, then the coins of the own ones."""
        vectors = np.zeros((nodes.size, -(-self.sizes[-1] // 64)), dtype=np.uint64)
        drawn = packed_logistic(self.epsilon, nodes.size, self.sizes[level], complement=True, source=source)
        vectors[:, : drawn.shape[1]] = drawn
        rows, words, shifts = np.arange(nodes.size), nodes >> 6, (nodes & 63).astype(np.uint64)
        halves = bernoulli(_HALF, nodes.size, source).astype(np.uint64)
        vectors[rows, words] = (vectors[rows, words] & ~(np.uint64(1) << shifts)) | (halves << shifts)
        return pack_vector(vectors, self.sizes[-1], [(np.full(nodes.size, level), self.level_bits)])

    def sample_one(self, level: int, node: int, source: "Source") -> int:
        """Draw one coin for each node, in order: a fair one for the own node, else True gives 0."""
        vector = 0
        for place in range(self.sizes[level]):
            bit = flip(_HALF, source) if place == node else not flip_logistic(self.epsilon, 2, source)
            vector |= bit << place
        return vector | level << self.sizes[-1]

    def shape(self) -> tuple[int, ...]:
        """One counter for each node."""
        return (sum(self.sizes),)

    def accumulate(self, state: "State", payload: Bytes) -> None:
        """Count the bits, level by level."""
        levels = self.levels(payload)
        for level, size in enumerate(self.sizes):
            rows = levels == level
            state["levels"][level] += int(rows.sum())
            first = self._offset(level)
            add_bits(payload[rows, : -(-size // 8)], state["counts"][first : first + size])

    def is_reachable(self, state: "State") -> bool:
        """Return whether no bit is set more often than there are reports."""
        return bool((state["counts"] >= 0).all() and (state["counts"] <= np.repeat(state["levels"], self.sizes)).all())

    def answers(self, state: "State", level: int) -> "Floats":
        """Subtract the expected chance ones."""
        first = self._offset(level)
        ones = state["counts"][first : first + self.sizes[level]].astype(np.float64)
        chance = math.exp(-float(self.epsilon)) / (1 + math.exp(-float(self.epsilon)))
        return (ones - int(state["levels"][level]) * chance) / (math.tanh(float(self.epsilon) / 2) / 2)

    def noise(self, level: int, coefficients: "Floats", shares: "Floats") -> "Floats | float":
        """Bits are independent: the variances add up."""
        return float((coefficients**2 * self.node_noise(level, shares)).sum())

    def node_noise(self, level: int, shares: "Floats") -> "Floats":
        """Return 4 e^epsilon/(e^epsilon - 1)^2 for others, and 1 more for those in the node."""
        del level
        return 1 / math.sinh(min(float(self.epsilon), 700.0) / 2) ** 2 + shares

    def node_third(self) -> float:
        """Return that of a coin with probability 1/(e^epsilon + 1), times the cube of its weight."""
        ratio, gap = math.exp(-float(self.epsilon)), math.tanh(float(self.epsilon) / 2) / 2
        return ratio * (1 - ratio) / (1 + ratio) ** 3 / gap / gap / gap

    def _blocks(self) -> tuple[int, ...]:
        return self.sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardNodes(NodeOracle):
    """A row of the level's Hadamard matrix, and the node's sign in it, flipped with probability 1/(e^epsilon + 1)."""

    @property
    def bits(self) -> int:
        """The index, the sign (1 is minus), and the level."""
        return self._index_bits + 1 + self.level_bits

    @property
    def _index_bits(self) -> int:
        return field_width(self._blocks()[-1])

    def outputs(self) -> Bytes | None:
        """Return all indices with both signs, or None if they are too many."""
        blocks = self._blocks()
        if 2 * sum(blocks) > MAX_OUTPUTS:
            return None
        index = np.concatenate([np.tile(np.arange(1, block), 2) for block in blocks])
        bit = np.concatenate([np.repeat([0, 1], block - 1) for block in blocks])
        levels = np.repeat(np.arange(len(blocks)), [2 * (block - 1) for block in blocks])
        return self._pack(index, bit, levels)

    def levels(self, payload: Bytes) -> "Numbers":
        """Read the last field."""
        return self._unpack(payload)[2]

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        """Reject unknown levels, index 0, and indices that the level does not have."""
        index, _, levels = self._unpack(payload)
        most = np.array([*self._blocks(), *[0] * len(self.sizes)])[np.minimum(levels, len(self.sizes))]
        return (index > 0) & (index < most)

    def log_masses(self, level: int, node: int, payload: Bytes) -> "Floats":
        """Return the logarithm of the index's probability and the sign's."""
        index, bit, _ = self._unpack(payload)
        true = sign(index, np.full(index.size, node)) == 1 - 2 * bit
        log_true = -math.log1p(math.exp(-float(self.epsilon))) - math.log(self._blocks()[level] - 1)
        return np.where(true, log_true, log_true - float(self.epsilon))

    def sample(self, level: int, nodes: "Numbers", source: "Source") -> Bytes:
        """Draw all indices, then all coins."""
        index = 1 + uniform_below(self._blocks()[level] - 1, nodes.size, source)
        kept = bernoulli_logistic(self.epsilon, nodes.size, source=source)
        return self._pack(index, (sign(index, nodes) == 1) != kept, np.full(nodes.size, level))

    def sample_one(self, level: int, node: int, source: "Source") -> int:
        """Draw an index, less one, and the coin."""
        index = 1 + integer_below(self._blocks()[level] - 1, source)
        kept = flip_logistic(self.epsilon, 2, source)
        bit = ((index & node).bit_count() % 2 == 0) != kept
        return index | bit << self._index_bits | level << (self._index_bits + 1)

    def shape(self) -> tuple[int, ...]:
        """One counter for each row of the matrices."""
        return (sum(self._blocks()),)

    def accumulate(self, state: "State", payload: Bytes) -> None:
        """Add the signs up, row by row."""
        index, bit, levels = self._unpack(payload)
        cells = index + np.array([self._offset(level) for level in range(len(self.sizes))])[levels]
        size = state["counts"].size
        state["counts"] += np.bincount(cells[bit == 0], minlength=size) - np.bincount(cells[bit == 1], minlength=size)
        state["levels"] += np.bincount(levels, minlength=len(self.sizes))

    def is_reachable(self, state: "State") -> bool:
        """Return whether each report can have added one sign to one row of its level."""
        blocks = np.split(state["counts"], np.cumsum(self._blocks())[:-1])
        return int(state["levels"].min()) >= 0 and all(map(are_sums_of_signs, blocks, state["levels"]))

    def answers(self, state: "State", level: int) -> "Floats":
        """Transform the sums back; the sum of row 0 is the number of reports."""
        first, block = self._offset(level), self._blocks()[level]
        spectrum = state["counts"][first : first + block].astype(np.float64)
        spectrum *= (block - 1) / math.tanh(float(self.epsilon) / 2)
        spectrum[0] = float(state["levels"][level])
        return transform(spectrum)[: self.sizes[level]] / block

    def noise(self, level: int, coefficients: "Floats", shares: "Floats") -> "Floats | float":
        """Rows are orthogonal, except for the first, which is left out."""
        block, total = self._blocks()[level], float(coefficients.sum())
        square = (1 - 1 / block) / math.tanh(float(self.epsilon) / 2) ** 2
        spread = float((coefficients**2).sum()) - total**2 / block
        return square * spread - float((shares * (coefficients - total / block) ** 2).sum())

    def node_noise(self, level: int, shares: "Floats") -> "Floats":
        """Return ((e^epsilon + 1)/(e^epsilon - 1))^2, less 1 for those in the node, times 1 - 1/rows."""
        part = 1 - 1 / self._blocks()[level]
        return part * (1 / math.tanh(float(self.epsilon) / 2) ** 2 - shares)

    def node_third(self) -> float:
        """Signs of an empty node are symmetric."""
        return 0.0

    def _blocks(self) -> tuple[int, ...]:
        return tuple(max(2, 1 << field_width(size)) for size in self.sizes)

    def _pack(self, index: "Numbers", bit: "NDArray[np.integer] | NDArray[np.bool_]", levels: "Numbers") -> Bytes:
        return pack([(index, self._index_bits), (bit, 1), (levels, self.level_bits)])

    def _unpack(self, payload: Bytes) -> "tuple[Numbers, Numbers, Numbers]":
        index, bit, level = unpack(payload, [self._index_bits, 1, self.level_bits])
        return index.astype(np.int64), bit.astype(np.int64), level.astype(np.int64)
