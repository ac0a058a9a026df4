"""A tree of ranges over ordered buckets, and consistent counts of its nodes.

Different people count each level of the tree, so a node and the sum of its children are two estimates of one number.
Weighted averages up the tree and corrections down it give the best linear unbiased counts, in which children add up to
their parents and everything to the number of reports: Hay, Rastogi, Miklau and Suciu 2010. The estimates are linear in
the answers; their coefficients give the error of any range.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def best_fanout(leaves: int) -> int:
    """Return the number of children of a node that is best for long ranges.

    With h levels of B children each level has one part in h of the people, and a range takes about h (B + 1)/2 nodes
    (Cormode, Kulkarni and Srivastava 2019): the least h^2 (B + 1) is taken, over the h with B = leaves^(1/h).
    """
    choices: list[tuple[int, int]] = []
    for height in range(1, leaves.bit_length() + 1):
        fanout = max(2, round(float(leaves) ** (1 / height)))
        fanout += fanout**height < leaves
        choices.append((height**2 * (fanout + 1), fanout))
    _, fanout = min(choices)
    return fanout


@dataclass(frozen=True, slots=True)
class Tree:
    """Levels of nodes below a root: the first has the root's children, the last one the leaves."""

    leaves: int
    fanout: int

    @property
    def height(self) -> int:
        """The number of levels, without the root."""
        height, reach = 1, self.fanout
        while reach < self.leaves:
            height, reach = height + 1, reach * self.fanout
        return height

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level."""
        return tuple(-(-self.leaves // self.fanout**below) for below in reversed(range(self.height)))

    def node(self, level: int, leaf: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return the node of a level for each leaf."""
        below: int = self.fanout ** (self.height - 1 - level)
        return leaf // below

    def gather(self, children: "Floats") -> "Floats":
        """Return the sums over the children of each parent."""
        return np.add.reduceat(children, np.arange(0, children.size, self.fanout))

    def spread(self, parents: "Floats", size: int) -> "Floats":
        """Return the value of the parent for each of ``size`` children."""
        return np.repeat(parents, self.fanout)[:size]

    def sums(self, leaves: "Floats") -> "list[Floats]":
        """Return the sums over the leaves of each node, level by level."""
        levels = [leaves]
        for _ in range(self.height - 1):
            levels.append(self.gather(levels[-1]))
        return levels[::-1]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Consistency:
    """Weights of the answers of all levels, for a given variance of each level's answers.

    ``own`` is the weight of a node's own answer beside the sum of its children; ``part`` is a node's part of the
    difference between its parent and the sum of its siblings.
    """

    tree: Tree
    own: "list[Floats]"
    part: "list[Floats]"

    def __init__(self, tree: Tree, variances: "list[float]") -> None:
        own, parts = [np.ones(tree.leaves)], []
        known = np.full(tree.leaves, variances[-1])
        for size, variance in zip(tree.sizes[-2::-1], variances[-2::-1], strict=True):
            below = tree.gather(known)
            parts.append(known / tree.spread(below, known.size))
            own.append(below / (below + variance))
            known = own[-1] * variance
            assert known.size == size  # noqa: S101 - an invariant of the tree
        parts.append(known / known.sum())
        for name, value in (("tree", tree), ("own", own[::-1]), ("part", parts[::-1])):
            object.__setattr__(self, name, value)

    def solve(self, answers: "list[Floats]", total: float) -> "list[Floats]":
        """Return counts of all nodes that add up, from the answers of all levels and the number of people."""
        up = [answers[-1]]
        for answer, own in zip(answers[-2::-1], self.own[-2::-1], strict=True):
            up.append(own * answer + (1 - own) * self.tree.gather(up[-1]))
        up.reverse()
        down = [up[0] + self.part[0] * (total - up[0].sum())]
        for level in range(1, len(up)):
            missing = down[-1] - self.tree.gather(up[level])
            down.append(up[level] + self.part[level] * self.tree.spread(missing, up[level].size))
        return down

    def coefficients(self, leaves: "Floats") -> "tuple[list[Floats], float]":
        """Return the coefficients of the answers, and of the number of people, in a weighted sum of the leaves."""
        shares = [leaves]
        for part in self.part[:0:-1]:
            shares.append(self.tree.gather(shares[-1] * part))
        shares.reverse()
        whole = float((shares[0] * self.part[0]).sum())
        above = shares[0] - whole
        found = [self.own[0] * above]
        for level in range(1, len(shares)):
            passed = (1 - self.own[level - 1]) * above - shares[level - 1]
            above = shares[level] + self.tree.spread(passed, shares[level].size)
            found.append(self.own[level] * above)
        return found, whole

    def leaf_variances(self, variances: "list[Floats]") -> "tuple[Floats, Floats]":
        """Return the variances of all leaves for those of the answers, and the coefficient of the total in each."""
        up = [variances[-1]]
        for variance, own in zip(variances[-2::-1], self.own[-2::-1], strict=True):
            up.append(own**2 * variance + (1 - own) ** 2 * self.tree.gather(up[-1]))
        up.reverse()
        # kept: the coefficient of a node's upward count in its final one; free: the rest of the variance of its parent.
        kept, free, whole = np.ones(up[0].size), np.zeros(up[0].size), self.part[0]
        sums = np.full(up[0].size, up[0].sum())
        taken = self.part[0]
        for level, variance in enumerate(up):
            if level:
                sums = self.tree.spread(self.tree.gather(variance), variance.size)
                passed = self.tree.spread(kept * (1 - self.own[level - 1]), variance.size)
                taken = self.part[level] * (1 - passed)
                free = self.part[level] ** 2 * (self.tree.spread(free, variance.size) - passed**2 * sums)
                whole = self.part[level] * self.tree.spread(whole, variance.size)
            free = variance * (1 - taken) ** 2 + taken**2 * (sums - variance) + free
            kept = 1 - taken
        return free, whole
