"""Noise vectors with P(z) proportional to exp(-max|z_i|/scale) on the integers: uniform in cubes of random size.

Drawn in two steps. The half-width R of a cube has weight ``(2R + 1)^d exp(-R/scale)``, and z is uniform among the
``(2R + 1)^d`` whole points of the cube: summed over R >= max|z_i| that is the stated law. The weights of R are those of
a sum of d + 1 geometric draws and a small number j of weight ``b_j exp(-j/scale)``, where b_j are the Eulerian numbers
of type B (Brenti 1994), so everything is drawn exactly. Hardt and Talwar 2010. The proof is in ``proofs/k-norm.md``.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.core.errors import EngineError, ParameterError
from celosia.core.exact import Exact, exact_integer, exact_positive, safe_repr
from celosia.noise.geometric import Geometric
from celosia.noise.source import source_or_system
from celosia.noise.uniform import uniform_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

MOST_COORDINATES: Final = 16
"""Coordinates of one vector: beyond, the Eulerian numbers would pass 2^63."""

_MAX_SCALE = 2**50  # a cube of 2^61 then has a probability below exp(-100)
_MAX_WIDTH = 2**61


@dataclass(frozen=True, slots=True, init=False)
class DiscreteMaxNorm:
    """Vectors of ``dimension`` integers; the scale is rational, and at least 1.

    >>> from celosia.noise import Seeded
    >>> DiscreteMaxNorm(10, 3).sample(2, Seeded(7)).shape
    (2, 3)
    """

    scale: Fraction
    dimension: int
    _steps: Geometric = field(repr=False, compare=False)

    def __init__(self, scale: Exact, dimension: int) -> None:
        object.__setattr__(self, "scale", exact_positive(scale, name="scale"))
        object.__setattr__(self, "dimension", exact_integer(dimension, name="dimension"))
        if self.scale < 1:
            raise ParameterError("noise.scale_too_small", value=safe_repr(scale))
        if self.dimension > MOST_COORDINATES:
            raise ParameterError("noise.dimension_too_large", most=MOST_COORDINATES, value=safe_repr(dimension))
        if self.scale > _MAX_SCALE:
            raise ParameterError("noise.max_norm_noise_overflow")
        object.__setattr__(self, "_steps", Geometric(self.scale))

    def sample(self, count: int, source: "Source | None" = None) -> "NDArray[np.int64]":
        """Draw ``count`` independent vectors, one in each row.

        >>> DiscreteMaxNorm(100, 2).sample(1000).shape
        (1000, 2)
        """
        count, source = exact_integer(count, name="count", least=0), source_or_system(source)
        sizes = self._half_widths(count, source)
        bounds = np.repeat(2 * sizes + 1, self.dimension).astype(np.uint64)
        return (_below_each(bounds, source) - np.repeat(sizes, self.dimension)).reshape(count, self.dimension)

    def _half_widths(self, count: int, source: "Source") -> "NDArray[np.int64]":
        parts = self._steps.sample(count * (self.dimension + 1), source).reshape(count, self.dimension + 1)
        if parts.size and int(parts.max()) > _MAX_WIDTH // (self.dimension + 2):
            raise EngineError("noise.noise_overflows")  # whatever the data are, and never
        sizes: NDArray[np.int64] = parts.sum(axis=1)
        return sizes + self._offsets(count, source)

    def _offsets(self, count: int, source: "Source") -> "NDArray[np.int64]":
        """Draw j with weight ``b_j exp(-j/scale)``: by b_j, and kept if a geometric draw is not below it."""
        numbers = eulerian(self.dimension)
        ends = np.cumsum(np.array(numbers, dtype=np.int64))
        found = np.empty(count, dtype=np.int64)
        done = 0
        while done < count:
            drawn = np.searchsorted(ends, uniform_below(int(ends[-1]), count - done, source), side="right")
            kept = drawn[self._steps.sample(len(drawn), source) >= drawn]
            found[done : done + len(kept)] = kept
            done += len(kept)
        return found


def eulerian(dimension: int) -> tuple[int, ...]:
    """Return the Eulerian numbers of type B: ``sum of (2R + 1)^d x^R`` is their polynomial over ``(1 - x)^(d + 1)``."""
    return tuple(
        sum((-1) ** i * math.comb(dimension + 1, i) * (2 * (j - i) + 1) ** dimension for i in range(j + 1))
        for j in range(dimension + 1)
    )


def _below_each(bounds: "NDArray[np.uint64]", source: "Source") -> "NDArray[np.int64]":
    """Draw an integer below each bound: words that would bias the remainder are drawn again."""
    found = np.empty(len(bounds), dtype=np.int64)
    missing = np.arange(len(bounds))
    largest = np.uint64(2**64 - 1)
    while len(missing):
        bound = bounds[missing]
        words = source.words(len(missing)).astype(np.uint64, copy=False)
        biased = largest - (largest % bound + np.uint64(1)) % bound  # the last word that is used
        kept = words <= biased
        found[missing[kept]] = (words[kept] % bound[kept]).astype(np.int64)
        missing = missing[~kept]
    return found
