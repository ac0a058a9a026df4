"""Mechanisms with one planted mistake each, and the neighbours on which it shows.

A mutant is stated by one function that draws many outputs at once; ``release`` takes one of them. None has a table: a
conformance kit must convict them by their outputs alone. ``correct`` is the same construction without a mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from celosia.core import (
    ZCDP,
    AboveThresholdEvent,
    ApproxDP,
    Event,
    ExponentialEvent,
    GaussianEvent,
    Guarantee,
    InputError,
    LaplaceEvent,
    PureDP,
    Release,
    ReplaceOne,
    Source,
)
from celosia.noise import DiscreteGaussian, DiscreteLaplace, Seeded, System

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Draw = Callable[[Any, int, Source], Any]

BELOW, STOPPED = -1_000, 1_000
"""What variant 3 of the sparse vector answers, among numbers, below the threshold and after its last answer."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A mechanism made of the function that draws its outputs."""

    event: Event
    guarantee: Guarantee
    draw: Draw

    def release(self, value: Any, /, *, source: Source | None = None) -> Release[Any]:
        source = System() if source is None else source
        output = self.draw(value, 1, source)[0]
        output = output.item() if np.ndim(output) == 0 and hasattr(output, "item") else output
        return Release(value=output, event=self.event, guarantee=self.guarantee, seeded=source.seeded)


def laplace(scale: Fraction | int, shape: tuple[int, ...], source: Source) -> NDArray[np.int64]:
    return DiscreteLaplace(scale).sample(int(np.prod(shape)), source).reshape(shape)


def uniform(count: int, source: Source) -> NDArray[np.float64]:
    return (source.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def noisy(scale: Fraction | int, claim: Fraction | int = 1) -> Mutant:
    """Integer Laplace noise of the given scale that claims ``claim``-differential privacy at sensitivity 1."""

    def draw(value: int, count: int, source: Source) -> NDArray[np.int64]:
        return value + laplace(scale, (count,), source)

    return Mutant(event=LaplaceEvent(scale=scale, sensitivity=1), guarantee=PureDP(epsilon=claim), draw=draw)


def correct() -> Mutant:
    return noisy(1)


def scale_off_by_ten_percent() -> Mutant:
    return noisy(Fraction(9, 10))


def exponential_without_factor_two() -> Mutant:
    """Weights exp(epsilon u) for a utility that is not monotone."""

    def draw(utilities: Sequence[int], count: int, source: Source) -> NDArray[np.int64]:
        scores = np.asarray(utilities, dtype=np.float64)
        weights = np.cumsum(np.exp(scores - scores.max()))
        chosen = np.searchsorted(weights, uniform(count, source) * weights[-1], side="right")
        return np.asarray(chosen, dtype=np.int64)

    return Mutant(event=ExponentialEvent(epsilon=1), guarantee=PureDP(epsilon=1), draw=draw)


def histogram_of_sensitivity_one() -> Mutant:
    """A replace-one histogram whose noise is for one changed cell; a replaced record changes two."""

    def draw(counts: Sequence[int], count: int, source: Source) -> NDArray[np.int64]:
        return np.asarray(np.asarray(counts) + laplace(1, (count, len(counts)), source))

    return Mutant(
        event=LaplaceEvent(scale=1, sensitivity=1, dimension=2, adjacency=ReplaceOne),
        guarantee=PureDP(epsilon=1, adjacency=ReplaceOne),
        draw=draw,
    )


def truncated_laplace() -> Mutant:
    """Noise clipped to a range: the ends of the range are reached from one neighbour only."""

    def draw(value: int, count: int, source: Source) -> NDArray[np.int64]:
        return value + np.clip(laplace(1, (count,), source), -4, 4)

    return Mutant(event=LaplaceEvent(scale=1, sensitivity=1), guarantee=PureDP(epsilon=1), draw=draw)


def float_laplace() -> Mutant:
    """The textbook's inverse of the distribution function, in doubles."""

    def draw(value: float, count: int, source: Source) -> NDArray[np.float64]:
        if not np.isfinite(value):
            raise InputError
        centred = uniform(count, source) - 0.5
        return np.asarray(value - np.sign(centred) * np.log1p(-2 * np.abs(centred)))

    return Mutant(event=LaplaceEvent(scale=1, sensitivity=1), guarantee=PureDP(epsilon=1), draw=draw)


def gaussian_of_half_the_deviation(guarantee: Guarantee) -> Mutant:
    """Noise of deviation 1/2 where 1 was meant."""

    def draw(value: int, count: int, source: Source) -> NDArray[np.int64]:
        return value + DiscreteGaussian(Fraction(1, 4)).sample(count, source)

    return Mutant(event=GaussianEvent(variance=1, sensitivity_squared=1), guarantee=guarantee, draw=draw)


def zcdp_gaussian_of_half_the_deviation() -> Mutant:
    return gaussian_of_half_the_deviation(ZCDP(rho="0.5"))


def approximate_gaussian_of_half_the_deviation() -> Mutant:
    return gaussian_of_half_the_deviation(ApproxDP(epsilon="2.75", delta="0.01"))


def sparse_vector(epsilon: Fraction | int, answers: int, draw: Draw) -> Mutant:
    return Mutant(
        event=AboveThresholdEvent(epsilon=epsilon, answers=answers), guarantee=PureDP(epsilon=epsilon), draw=draw
    )


def sparse_vector_3() -> Mutant:
    """Lyu, Su and Li 2017, algorithm 3 with c = 1, epsilon = 2: hands out the noisy value of a positive answer."""

    def draw(queries: Sequence[int], count: int, source: Source) -> NDArray[np.int64]:
        threshold = laplace(1, (count, 1), source)
        values = np.asarray(queries) + laplace(1, (count, len(queries)), source)
        above = values >= threshold
        answered = np.cumsum(above, axis=1) > above  # a positive answer came before
        return np.where(answered, STOPPED, np.where(above, values, BELOW))

    return sparse_vector(2, 1, draw)


def sparse_vector_4() -> Mutant:
    """Algorithm 4: the noise on the queries does not grow with the number of answers, here 8."""
    answers = 8

    def draw(queries: Sequence[int], count: int, source: Source) -> list[NDArray[np.bool_]]:
        threshold = laplace(4, (count, 1), source)
        above = np.asarray(queries) + laplace(Fraction(4, 3), (count, len(queries)), source) >= threshold
        ends = np.argmax(np.cumsum(above, axis=1) >= answers, axis=1) + 1
        ends[above.sum(axis=1) < answers] = len(queries)
        return [row[:end] for row, end in zip(above, ends.tolist(), strict=True)]

    return sparse_vector(1, answers, draw)


def sparse_vector_5() -> Mutant:
    """Algorithm 5: no noise on the queries, no end."""

    def draw(queries: Sequence[int], count: int, source: Source) -> NDArray[np.bool_]:
        return np.asarray(np.asarray(queries) >= laplace(2, (count, 1), source))

    return sparse_vector(1, 2, draw)


def sparse_vector_6() -> Mutant:
    """Algorithm 6: noise on the queries for one answer, no end."""

    def draw(queries: Sequence[int], count: int, source: Source) -> NDArray[np.bool_]:
        threshold = laplace(2, (count, 1), source)
        return np.asarray(np.asarray(queries) + laplace(2, (count, len(queries)), source) >= threshold)

    return sparse_vector(1, 20, draw)


Pair = tuple[Any, Any]

PRIVACY: dict[str, tuple[Callable[[], Mutant], Pair]] = {
    "exponential without factor 2": (exponential_without_factor_two, ([1] + [0] * 10, [0] + [1] * 10)),
    "scale off by 10 %": (scale_off_by_ten_percent, (0, 1)),
    "histogram of sensitivity 1": (histogram_of_sensitivity_one, (np.array([5, 4]), np.array([4, 5]))),
    "truncated Laplace": (truncated_laplace, (0, 1)),
    "float Laplace, inputs 0 and 1": (float_laplace, (0.0, 1.0)),
    "float Laplace, inputs 0.1 and 0.7": (float_laplace, (0.1, 0.7)),
    "zCDP Gaussian of half the deviation": (zcdp_gaussian_of_half_the_deviation, (0, 1)),
    "(epsilon, delta) Gaussian of half the deviation": (approximate_gaussian_of_half_the_deviation, (0, 1)),
    # The counterexamples of Lyu, Su and Li's theorems 3, 6 and 7; for algorithm 4 that of its corrected epsilon.
    "sparse vector 3": (sparse_vector_3, ([0] * 5, [1] * 4 + [0])),
    "sparse vector 4": (sparse_vector_4, ([0] * 16, [1] * 8 + [-1] * 8)),
    "sparse vector 5": (sparse_vector_5, ([0, 1], [1, 0])),
    "sparse vector 6": (sparse_vector_6, ([0] * 20, [1] * 10 + [-1] * 10)),
}
"""Mutants that break their guarantee: how to make one, and the neighbours that show it."""


@dataclass(frozen=True, kw_only=True)
class IgnoresSource(Mutant):
    """Draws from the system whatever it was given."""

    def release(self, value: Any, /, *, source: Source | None = None) -> Release[Any]:
        output = int(self.draw(value, 1, System())[0])
        seeded = source is not None and source.seeded
        return Release(value=output, event=self.event, guarantee=self.guarantee, seeded=seeded)


@dataclass(frozen=True, kw_only=True)
class HidesTheSeed(Mutant):
    """Says ``seeded=False`` of a seeded release."""

    def release(self, value: Any, /, *, source: Source | None = None) -> Release[Any]:
        honest = super().release(value, source=source)
        return Release(value=honest.value, event=honest.event, guarantee=honest.guarantee, seeded=False)


@dataclass(frozen=True, kw_only=True)
class SharesItsPool(Mutant):
    """Keeps noise drawn in advance, which a fork copies."""

    pool: ClassVar[list[int]] = []

    def release(self, value: Any, /, *, source: Source | None = None) -> Release[Any]:
        if source is not None:
            return super().release(value, source=source)
        if not self.pool:
            self.pool.extend(self.draw(0, 10_000, System()).tolist())
        return Release(value=value + self.pool.pop(), event=self.event, guarantee=self.guarantee)


@dataclass(frozen=True, kw_only=True)
class HasAFixedSeed(Mutant):
    """Starts the same stream whenever no source is given."""

    def release(self, value: Any, /, *, source: Source | None = None) -> Release[Any]:
        release = super().release(value, source=Seeded(3) if source is None else source)
        return Release(value=release.value, event=self.event, guarantee=self.guarantee, seeded=source is not None)


@dataclass(frozen=True, kw_only=True)
class TableThatLies(Mutant):
    """States the probabilities of the stated scale, and draws with a smaller one."""

    def outputs(self, value: int, /) -> list[int]:
        return list(range(value - 40, value + 41))

    def log_masses(self, value: int, outputs: Sequence[int], /) -> NDArray[np.float64]:
        return DiscreteLaplace(1).log_mass(np.asarray(outputs) - value)


@dataclass(frozen=True, kw_only=True)
class TableThatConfesses(Mutant):
    """States the probabilities of too small a scale, and draws with it."""

    def outputs(self, value: int, /) -> list[int]:
        return list(range(value - 40, value + 41))

    def log_masses(self, value: int, outputs: Sequence[int], /) -> NDArray[np.float64]:
        return DiscreteLaplace(Fraction(9, 10)).log_mass(np.asarray(outputs) - value)


def turned(kind: type[Mutant], of: Mutant) -> Mutant:
    """Return the mutant with the conduct of another kind."""
    return kind(event=of.event, guarantee=of.guarantee, draw=of.draw)
