"""Search a lattice that is too large to list: look at the best nodes first, and stop after a number of them.

From the top, the search takes the node that promises least loss: its own without suppression, plus what suppression
added at the node it was reached from. Neighbors of the best node come first: those one level finer in a column, and
those that are also one level coarser in another. So it goes down to a node without a better neighbor, then tries what
it passed by. It is exact if it runs to its end. The number of nodes decides when it stops, never a clock, so that
results repeat.

**Bounds.** Leaving columns out only makes classes join, so a few columns alone are easier to protect by the core of
the models (``problem``) than with the others. A level that is not feasible with its column alone is feasible nowhere.
The loss is a mean over columns, and a dropped record loses 1 in each of them. Hence the least losses of groups of
columns, each searched alone for the core, have a mean that is a lower bound of the loss of all columns.
"""

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from celosia.anonymity.generalization.full_domain.exact import TIE, explore, list_floors
from celosia.anonymity.generalization.full_domain.lattice import Lattice
from celosia.anonymity.generalization.full_domain.problem import Evaluation, Problem

Levels = tuple[int, ...]

_GROUP: Final = 4096  # as many nodes as a group of columns may have, whose least loss is part of the bound
_NEAR: Final = 0
_FAR: Final = 1


@dataclass(slots=True, eq=False, kw_only=True)
class Frontier:
    """The nodes found, those that wait, and those that rule out all finer ones."""

    problem: Problem
    floors: list[list[float]]
    waiting: list[tuple[int, float, Levels]] = field(default_factory=list)
    pushed: set[Levels] = field(default_factory=set)
    visited: set[Levels] = field(default_factory=set)
    closed: list[Levels] = field(default_factory=list)
    best: Evaluation | None = None
    levels: Levels = ()
    bound: float = 0.0

    @property
    def loss(self) -> float:
        """The least loss found."""
        return math.inf if self.best is None else self.best.loss

    @property
    def nodes(self) -> int:
        """The number of nodes that were looked at."""
        return len(self.visited)

    @property
    def is_exact(self) -> bool:
        """Whether the search ran to its end."""
        return not self.waiting

    def run(self, nodes: int) -> None:
        """Look at nodes until none waits, or as many as are allowed."""
        self.visit(self.problem.lattice.top)
        while self.waiting and self.nodes < nodes:
            near, promise, levels = heapq.heappop(self.waiting)
            hopeless = near == _NEAR and promise >= self.loss
            if levels not in self.visited and not hopeless and not self.is_ruled_out(levels):
                self.visit(levels)

    def visit(self, levels: Levels) -> None:
        """Look at a node, and let those one level finer wait if they may be feasible."""
        found = self.problem.evaluate(levels)
        self.visited.add(levels)
        found = replace(found, loss=found.loss + self._measure_floor(levels))
        if not found.open_below or (self.problem.is_monotone and math.isinf(found.loss)):
            self.closed.append(levels)
        else:
            for finer in self.problem.lattice.list_finer(levels):
                self._push(finer, found, near=False)
        tied = math.isfinite(found.loss) and found.loss <= self.loss + TIE and levels < self.levels
        if found.loss < self.loss - TIE or tied:
            self.best, self.levels = found, levels
            for other in (*self.problem.lattice.list_finer(levels), *self.problem.lattice.list_trades(levels)):
                self._push(other, found, near=True)

    def _push(self, levels: Levels, found: Evaluation, *, near: bool) -> None:
        promise = self._measure_floor(levels) + found.extra if self.problem.loss == "loss" else found.loss
        if near or levels not in self.pushed:
            heapq.heappush(self.waiting, (_NEAR if near else _FAR, promise, levels))
        if not near:
            self.pushed.add(levels)

    def _measure_floor(self, levels: Levels) -> float:
        """Return the loss of a node without suppression, where the lattice knows it."""
        lows = self.problem.lattice.bottom
        return sum(line[level - low] for line, level, low in zip(self.floors, levels, lows, strict=True))

    def is_ruled_out(self, levels: Levels) -> bool:
        """Return whether a node is finer than one that rules it out."""
        return bool(self.closed) and bool((np.array(self.closed) >= np.array(levels)).all(axis=1).any())


def explore_best_first(problem: Problem, nodes: int) -> Frontier:
    """Look at nodes until none waits, or as many as are allowed."""
    least = [_find_least(problem, axis) for axis in range(len(problem.lattice.ladders))]
    lattice = Lattice(tuple(replace(one, low=low) for one, low in zip(problem.lattice.ladders, least, strict=True)))
    trimmed = replace(problem, lattice=lattice, base=problem.base.collapse(lattice, least))
    floors = [line.tolist() for line in list_floors(trimmed)] if problem.loss == "loss" else []
    state = Frontier(problem=trimmed, floors=floors or [[0.0] * size for size in lattice.shape])
    state.run(nodes)
    state.bound = state.loss if state.is_exact else min(_find_bound(trimmed), state.loss)
    return state


def restrict(problem: Problem, axes: Sequence[int]) -> Problem:
    """Return the problem of the core models and some columns alone."""
    lattice = Lattice(tuple(problem.lattice.ladders[axis] for axis in axes))
    base = replace(problem.base, codes=np.ascontiguousarray(problem.base.codes[:, list(axes)]))
    # Models of the whole file may drop other records here than with all columns, which would not bound the loss.
    return replace(
        problem, lattice=lattice, base=base.collapse(lattice, lattice.bottom), rest=(), whole=(), loss="loss"
    )


def _find_least(problem: Problem, axis: int) -> int:
    """Return the least level of a column that may be feasible, or the last one."""
    alone = restrict(problem, [axis])
    low, high = alone.lattice.bottom[0], alone.lattice.top[0]
    return next((level for level in range(low, high) if alone.evaluate([level]).open_below), high)


def _find_bound(problem: Problem) -> float:
    """Return a lower bound of the loss of all feasible nodes."""
    if problem.loss != "loss":
        return problem.evaluate(problem.lattice.bottom).floor
    groups: list[list[int]] = [[]]
    for axis, size in enumerate(problem.lattice.shape):
        if math.prod(problem.lattice.shape[other] for other in groups[-1]) * size > _GROUP:
            groups.append([])
        groups[-1].append(axis)
    losses = [explore(restrict(problem, group), None).loss * len(group) for group in groups if group]
    return sum(losses) / len(list(itertools.chain(*groups)))
