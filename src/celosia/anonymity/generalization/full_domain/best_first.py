"""Search a lattice that is too large to list: look at the best nodes first, and stop after a number of them.

A level of a column that is not feasible with all other columns at their top is not feasible anywhere, so that each
column has a least level. From the top, the search then takes the node of least loss among those found, and looks at
those one level finer. It is exact if it runs to its end; if it stops before, its bound is the loss without suppression
of the least levels. The number of nodes decides when it stops, never a clock, so that results repeat.
"""

import heapq
import math
from dataclasses import dataclass, field, replace

import numpy as np

from celosia.anonymity.generalization.full_domain.exact import TIE, list_floors
from celosia.anonymity.generalization.full_domain.lattice import Lattice
from celosia.anonymity.generalization.full_domain.problem import Evaluation, Problem

Levels = tuple[int, ...]


@dataclass(slots=True, eq=False, kw_only=True)
class Frontier:
    """The nodes found, those that wait, and those that rule out all finer ones."""

    problem: Problem
    seen: set[Levels] = field(default_factory=set)
    waiting: list[tuple[float, Levels]] = field(default_factory=list)
    closed: list[Levels] = field(default_factory=list)
    best: Evaluation | None = None
    levels: Levels = ()
    nodes: int = 0
    bound: float = 0.0

    @property
    def loss(self) -> float:
        """The least loss found."""
        return math.inf if self.best is None else self.best.loss

    @property
    def is_exact(self) -> bool:
        """Whether the search ran to its end."""
        return not self.waiting

    def visit(self, levels: Levels) -> Evaluation:
        """Look at a node once, and put it among those that wait if finer ones may be feasible."""
        found = self.problem.evaluate(levels)
        self.nodes += 1
        self.seen.add(levels)
        floor = self.measure_floor(levels)
        found = replace(found, loss=found.loss + floor)
        if not found.open_below or (self.problem.is_monotone and math.isinf(found.loss)):
            self.closed.append(levels)
        else:
            last = 1.0 + floor if self.problem.loss == "loss" else math.inf
            heapq.heappush(self.waiting, (min(found.loss, last), levels))
        tied = math.isfinite(found.loss) and found.loss <= self.loss + TIE and levels < self.levels
        if found.loss < self.loss - TIE or tied:
            self.best, self.levels = found, levels
        return found

    def measure_floor(self, levels: Levels) -> float:
        """Return the loss of a node without suppression, where the lattice knows it."""
        if self.problem.loss != "loss":
            return 0.0
        floors, bottom = list_floors(self.problem), self.problem.lattice.bottom
        return float(sum(line[level - low] for line, level, low in zip(floors, levels, bottom, strict=True)))

    def is_ruled_out(self, levels: Levels) -> bool:
        """Return whether a node is finer than one that rules it out."""
        return bool(self.closed) and bool((np.array(self.closed) >= np.array(levels)).all(axis=1).any())


def explore_best_first(problem: Problem, nodes: int) -> Frontier:
    """Look at nodes until none waits, or as many as are allowed."""
    least, used = _find_least(problem)
    ladders = tuple(replace(one, low=low) for one, low in zip(problem.lattice.ladders, least, strict=True))
    lattice = Lattice(ladders)
    state = Frontier(problem=replace(problem, lattice=lattice, base=problem.base.collapse(lattice, least)), nodes=used)
    if problem.loss == "loss":
        state.bound = state.measure_floor(tuple(least))
    state.visit(problem.lattice.top)
    while state.waiting and state.nodes < nodes:
        _, levels = heapq.heappop(state.waiting)
        for finer in _list_finer(levels, tuple(least)):
            if finer not in state.seen and not state.is_ruled_out(finer):
                state.visit(finer)
    state.bound = state.loss if state.is_exact else min(state.bound, state.loss)
    return state


def _find_least(problem: Problem) -> tuple[list[int], int]:
    """Return the least level of each column that may be feasible, and how many nodes were looked at for it."""
    least, used, top = [], 0, problem.lattice.top
    for axis, (low, high) in enumerate(zip(problem.lattice.bottom, top, strict=True)):
        level = high
        while level > low:
            used += 1
            if not problem.evaluate((*top[:axis], level - 1, *top[axis + 1 :])).open_below:
                break
            level -= 1
        least.append(level)
    return least, used


def _list_finer(levels: Levels, least: Levels) -> list[Levels]:
    """Return the nodes one level below in one column."""
    return [
        (*levels[:axis], level - 1, *levels[axis + 1 :]) for axis, level in enumerate(levels) if level > least[axis]
    ]
