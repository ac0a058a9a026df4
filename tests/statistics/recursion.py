"""The law of recursive splitting, worked out from its definition: rows spread evenly over their bins, ranks, distances.

Nothing here is shared with the code but the tree of problems, the rates and the target of a minimum. Places are counted
in half points, as there; ranks in rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from celosia.statistics.selection.splitting import Problem, problems

if TYPE_CHECKING:
    from celosia.statistics import ContributionBounds, Quantiles

Sensitivity = Callable[[Problem], Fraction]
Floats = NDArray[np.float64]


class Recursion:
    """Selections of ``each`` on bins of so many points, with rates that ``sensitivity`` gives."""

    def __init__(
        self,
        quantiles: Quantiles,
        each: Fraction,
        bounding: ContributionBounds,
        *,
        points: int,
        sensitivity: Sensitivity | None = None,
    ) -> None:
        self.tree = [problem for level in problems(tuple(sorted(set(quantiles.quantiles)))) for problem in level]
        self.quantiles, self.each, self.half = quantiles, each, 2 * points
        self.stated: Sensitivity = lambda problem: quantiles.sensitivity(problem, bounding)
        self.sensitivity = sensitivity or self.stated
        self.end = self.half * quantiles.width

    def rank(self, counts: NDArray[np.int64], places: object) -> Floats:
        edges = np.concatenate([[0], np.cumsum(counts)])
        return np.asarray(np.interp(np.asarray(places) / self.half, np.arange(len(counts) + 1), edges))

    def first(self, span: tuple[int, int]) -> Problem:
        """The problem that splits the others of a span of quantiles."""
        return next(problem for problem in self.tree if span[0] <= problem.number < span[1])

    def rows_from_end(self, problem: Problem) -> int:
        """Where a minimum is looked for; a mutant's too, so that nothing but its rate differs."""
        return self.quantiles._rank(problem, self.each / (2 * self.stated(problem)))

    def candidates(self, problem: Problem, start: int, end: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Ends of all candidates within the stretch, and the places they stand for."""
        size = self.half if problem.last and self.quantiles.bin_width == 1 else 2
        first = np.arange(0, self.end, size)
        first = first[(first + size > start) & (first < end)]
        return np.maximum(first, start), np.minimum(first + size, end), first + size // 2

    def log_law(
        self, counts: NDArray[np.int64], problem: Problem, start: int, end: int
    ) -> tuple[Floats, NDArray[np.int64]]:
        low, high, places = self.candidates(problem, start, end)
        rate = self.each / (2 * self.sensitivity(problem))
        bottom, top = self.rank(counts, [start, end])
        near = min(self.rows_from_end(problem), (top - bottom) / 2)
        target = bottom + float(problem.share) * (top - bottom)
        if problem.share in (0, 1):
            target = bottom + near if problem.share == 0 else top - near
        gaps = np.maximum(0, np.maximum(self.rank(counts, low) - target, target - self.rank(counts, high)))
        weights = -float(rate) * gaps
        return weights - np.logaddexp.reduce(weights), places

    def loss(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
        """The largest logarithm of the ratio of probabilities, over all that the recursion can release."""
        return self._loss(one, other, (0, len(self.tree)), (0, self.end))

    def _loss(
        self, one: NDArray[np.int64], other: NDArray[np.int64], span: tuple[int, int], stretch: tuple[int, int]
    ) -> float:
        if span[0] >= span[1]:
            return 0.0
        problem = self.first(span)
        here, places = self.log_law(one, problem, *stretch)
        losses = here - self.log_law(other, problem, *stretch)[0]
        if problem.last:
            return float(losses.max())
        below, above = (span[0], problem.number), (problem.number + 1, span[1])
        further = (
            self._loss(one, other, below, (stretch[0], place)) + self._loss(one, other, above, (place, stretch[1]))
            for place in places.tolist()
        )
        return max(float(loss) + more for loss, more in zip(losses, further, strict=True))

    def worst(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
        return max(self.loss(one, other), self.loss(other, one))

    def answers(self, counts: NDArray[np.int64]) -> dict[tuple[int, ...], float]:
        """The probability of each tuple of bins."""
        law: dict[tuple[int, ...], float] = {}
        for places, log in self._answers(counts, (0, len(self.tree)), (0, self.end)):
            bins = tuple(place // self.half for place in places)
            law[bins] = law.get(bins, 0.0) + float(np.exp(log))
        return law

    def _answers(
        self, counts: NDArray[np.int64], span: tuple[int, int], stretch: tuple[int, int]
    ) -> Iterator[tuple[tuple[int, ...], float]]:
        if span[0] >= span[1]:
            yield (), 0.0
            return
        problem = self.first(span)
        logs, places = self.log_law(counts, problem, *stretch)
        for log, place in zip(logs.tolist(), places.tolist(), strict=True):
            for left, left_log in self._answers(counts, (span[0], problem.number), (stretch[0], place)):
                for right, right_log in self._answers(counts, (problem.number + 1, span[1]), (place, stretch[1])):
                    yield (*left, place, *right), log + left_log + right_log


class Extremes(Recursion):
    """The law where a minimum or maximum says whether there were enough rows: candidates stand twice."""

    def log_law(
        self, counts: NDArray[np.int64], problem: Problem, start: int, end: int
    ) -> tuple[Floats, NDArray[np.int64]]:
        if problem.share not in (0, 1):
            return super().log_law(counts, problem, start, end)
        first, last, places = self.candidates(problem, start, end)
        low, high = self.rank(counts, first), self.rank(counts, last)
        bottom, top = self.rank(counts, [start, end])
        rank, middle = self.rows_from_end(problem), (bottom + top) / 2
        goal = bottom + rank if problem.share == 0 else top - rank
        few = np.maximum(0, np.maximum(low - middle, middle - high)) + max(0, (top - bottom) / 2 - rank)
        enough = np.maximum(0, np.maximum(low - goal, goal - high))
        weights = -float(self.each / (2 * self.sensitivity(problem))) * np.concatenate([few, enough])
        return weights - np.logaddexp.reduce(weights), np.concatenate([places, places])


class LowEnds(Recursion):
    """The law of lower ends: so many rows below the target, or the start of the stretch."""

    def __init__(
        self,
        quantiles: Quantiles,
        each: Fraction,
        bounding: ContributionBounds,
        *,
        points: int,
        shift: Callable[[Problem], int],
        sensitivity: Sensitivity | None = None,
    ) -> None:
        super().__init__(quantiles, each, bounding, points=points, sensitivity=sensitivity)
        inner = tuple(sorted(share for share in set(quantiles.quantiles) if 0 < share < 1))
        self.tree = [problem for level in problems(inner, down=True) for problem in level]
        self.shift = shift

    def candidates(self, problem: Problem, start: int, end: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
        size = self.half if problem.last else 2
        first = np.arange(0, self.end, size)
        first = first[(first + size > start) & (first < max(end, start + 1))]
        return np.maximum(first, start), np.minimum(first + size, end), np.maximum(first, start)

    def log_law(
        self, counts: NDArray[np.int64], problem: Problem, start: int, end: int
    ) -> tuple[Floats, NDArray[np.int64]]:
        first, last, places = self.candidates(problem, start, end)
        bottom, top = self.rank(counts, [start, end])
        target, shift = bottom + float(problem.share) * (top - bottom), self.shift(problem)
        low = self.rank(counts, first) + np.where(first == start, 0, shift)
        gaps = np.maximum(0, np.maximum(low - target, target - shift - self.rank(counts, last)))
        weights = -float(self.each / (2 * self.sensitivity(problem))) * gaps
        return weights - np.logaddexp.reduce(weights), places
