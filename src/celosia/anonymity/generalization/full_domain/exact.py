"""Search a lattice that fits in memory: every node is looked at or ruled out by a bound.

Each node has a lower bound of its loss: ``floor``, without suppression, and ``extra``, what suppression adds at least
(``problem`` says why both hold). The search first goes down from the top to a node without a better neighbor. Then it
looks at the node that remains with the highest floor. If that is not feasible, it rules out the most; if it is, what
it drops raises the bounds of all finer nodes. Where floors are not known beforehand it takes the middle of the
remaining nodes instead, for what is looked at then also raises the floors of all coarser ones.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.generalization.full_domain.problem import Evaluation, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

TIE: Final = 1e-12
"""Losses that differ by less are equal; the lexicographically least levels win."""


@dataclass(slots=True, eq=False, kw_only=True)
class Exploration:
    """What is known of each node: bounds of its loss, and whether it may still be the best."""

    problem: Problem
    floor: "NDArray[np.float64]"
    extra: "NDArray[np.float64]"
    open: "NDArray[np.bool_]"
    best: Evaluation | None = None
    place: int = -1
    nodes: int = 0

    @property
    def loss(self) -> float:
        """The least loss found."""
        return math.inf if self.best is None else self.best.loss

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels of the best node."""
        node = _to_node(max(self.place, 0), self)
        return tuple(level + low for level, low in zip(node, self.problem.lattice.bottom, strict=True))

    @property
    def is_exact(self) -> bool:
        """Whether no other node may be better."""
        return not len(self.find_candidates())

    @property
    def bound(self) -> float:
        """A lower bound of the loss of all feasible nodes."""
        bounds = (self.floor + self.extra).ravel()[self.find_candidates()]
        return float(min(self.loss, bounds.min(initial=math.inf)))

    def visit(self, node: tuple[int, ...]) -> Evaluation:
        """Look at a node, counted from the bottom of the lattice, and learn from it."""
        problem = self.problem
        found = problem.evaluate([level + low for level, low in zip(node, problem.lattice.bottom, strict=True)])
        self.nodes += 1
        below, above = tuple(slice(0, level + 1) for level in node), tuple(slice(level, None) for level in node)
        if problem.loss == "loss":
            found = _shift(found, float(self.floor[node]))
        else:
            np.maximum(self.floor[above], found.floor, out=self.floor[above])
        if not found.open_below or (problem.is_monotone and math.isinf(found.loss)):
            self.open[below] = False
        else:
            np.maximum(self.extra[below], found.extra, out=self.extra[below])
        self.open[node] = False
        self._keep(found, int(np.ravel_multi_index(node, self.floor.shape)))
        return found

    def _keep(self, found: Evaluation, place: int) -> None:
        tied = found.loss <= self.loss + TIE and place < self.place
        if found.loss < self.loss - TIE or (tied and math.isfinite(found.loss)):
            self.best, self.place = found, place

    def find_candidates(self) -> "NDArray[np.int64]":
        """Return the nodes that may be better than the best one, or as good and before it."""
        bounds = (self.floor + self.extra).ravel()
        better = bounds < self.loss - TIE
        tied = bounds <= self.loss + TIE
        tied[max(self.place, 0) :] = False
        return np.flatnonzero(self.open.ravel() & (better | tied))


def start(problem: Problem) -> Exploration:
    """Return an exploration that knows the losses without suppression."""
    shape = problem.lattice.shape
    floor = np.zeros(shape)
    if problem.loss == "loss":
        for axis, losses in enumerate(list_floors(problem)):
            floor += losses.reshape([-1 if place == axis else 1 for place in range(len(shape))])
    return Exploration(problem=problem, floor=floor, extra=np.zeros(shape), open=np.ones(shape, dtype=np.bool_))


def list_floors(problem: Problem) -> "list[NDArray[np.float64]]":
    """Return what each column adds to the loss of a node at each of its levels, without suppression."""
    base, ladders = problem.base, problem.lattice.ladders
    floors = []
    for place, ladder in enumerate(ladders):
        masses = np.bincount(base.codes[:, place], weights=base.counts, minlength=ladder.null + 1)
        losses = ladder.losses[ladder.low : ladder.high + 1] @ masses
        floors.append(losses / problem.rows / len(ladders))
    return floors


def explore(problem: Problem, nodes: int | None) -> Exploration:
    """Look at nodes until the best one is known, or as many as are allowed."""
    state = start(problem)
    most = math.inf if nodes is None else nodes
    _descend(state, most)
    _improve(state, most)
    while state.nodes < most and len(rest := state.find_candidates()):
        place = rest[np.argmax(state.floor.ravel()[rest])] if problem.loss == "loss" else _find_middle(state, rest)
        state.visit(_to_node(place, state))
    return state


def _descend(state: Exploration, most: float) -> None:
    """Go down from the top, each time along the column that gains most and stays feasible."""
    node = tuple(size - 1 for size in state.floor.shape)
    found = state.visit(node)
    while math.isfinite(found.loss):
        lower = [(*node[:axis], node[axis] - 1, *node[axis + 1 :]) for axis in range(len(node)) if node[axis]]
        for step in sorted(lower, key=lambda finer: (state.floor[finer], finer)):
            if state.nodes >= most:
                return
            found = state.visit(step) if state.open[step] else _NONE
            if math.isfinite(found.loss):
                node = step
                break
        else:
            return


def _improve(state: Exploration, most: float) -> None:
    """Look at the neighbors of the best node, while one is better: the better the best, the more is ruled out."""
    lattice = state.problem.lattice
    while state.best is not None and state.nodes < most:
        near = [*lattice.list_finer(state.levels), *lattice.list_trades(state.levels)]
        places = {tuple(level - low for level, low in zip(levels, lattice.bottom, strict=True)) for levels in near}
        bounds = {node: float(state.floor[node] + state.extra[node]) for node in places if state.open[node]}
        promising = [node for node in bounds if bounds[node] < state.loss - TIE]
        if not promising:
            return
        state.visit(min(promising, key=lambda node: (bounds[node], node)))


def _find_middle(state: Exploration, rest: "NDArray[np.int64]") -> int:
    """Return the node in the middle of those that remain, by the sum of its levels."""
    sums = np.sum(np.unravel_index(rest, state.floor.shape), axis=0)
    return int(rest[np.argsort(sums, kind="stable")[len(rest) // 2]])


def _to_node(place: int, state: Exploration) -> tuple[int, ...]:
    return tuple(int(level) for level in np.unravel_index(place, state.floor.shape))


def _shift(found: Evaluation, floor: float) -> Evaluation:
    return Evaluation(
        loss=found.loss + floor,
        suppressed=found.suppressed,
        classes=found.classes,
        floor=floor,
        extra=found.extra,
        open_below=found.open_below,
    )


_NONE: Final = Evaluation(loss=math.inf, suppressed=0, classes=0, floor=0.0, extra=0.0, open_below=True)
