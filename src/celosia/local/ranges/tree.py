"""A tree of ranges over ordered buckets, and the counts that agree with each other in it.

Every level of the tree was counted by other people, so a node and the sum of its children are two answers to one
question. Weighted averages up the tree and corrections down it give the best linear unbiased counts, in which children
add up to their parents and everything to the number of reports: Hay, Rastogi, Miklau and Suciu 2010. What is estimated
is linear in the answers; its coefficients say how large the error of any range is.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Consistency", "Tree", "best_fanout"]


def best_fanout(leaves: int) -> int:
    """Return the number of children of a node with which long ranges are estimated best.

    With h levels of B children each level has one part in h of the people, and a range takes about h (B + 1)/2 nodes
    (Cormode, Kulkarni and Srivastava 2019): the least h^2 (B + 1) is taken, over the h with B = leaves^(1/h).

    >>> best_fanout(8), best_fanout(64), best_fanout(1024)
    (8, 8, 11)
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
    """Levels of nodes below a root: the first has the root's children, the last one the leaves.

    >>> tree = Tree(leaves=10, fanout=3)
    >>> tree.sizes, tree.node(1, np.array([0, 9])).tolist()
    ((2, 4, 10), [0, 3])
    """

    leaves: int
    fanout: int

    @property
    def height(self) -> int:
        """The number of levels, without the root.

        >>> Tree(leaves=1000, fanout=10).height
        3
        """
        height, reach = 1, self.fanout
        while reach < self.leaves:
            height, reach = height + 1, reach * self.fanout
        return height

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has.

        >>> Tree(leaves=1000, fanout=10).sizes
        (10, 100, 1000)
        """
        return tuple(-(-self.leaves // self.fanout**below) for below in reversed(range(self.height)))

    def node(self, level: int, leaf: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return in which node of a level leaves are.

        >>> Tree(leaves=1000, fanout=10).node(0, np.array([123])).tolist()
        [1]
        """
        below: int = self.fanout ** (self.height - 1 - level)
        return leaf // below

    def gather(self, children: "Floats") -> "Floats":
        """Return the sums over the children of each parent.

        >>> Tree(leaves=10, fanout=3).gather(np.ones(10)).tolist()
        [3.0, 3.0, 3.0, 1.0]
        """
        return np.add.reduceat(children, np.arange(0, children.size, self.fanout))

    def spread(self, parents: "Floats", size: int) -> "Floats":
        """Return the number of the parent for each of ``size`` children.

        >>> Tree(leaves=5, fanout=3).spread(np.array([1.0, 2.0]), 5).tolist()
        [1.0, 1.0, 1.0, 2.0, 2.0]
        """
        return np.repeat(parents, self.fanout)[:size]

    def sums(self, leaves: "Floats") -> "list[Floats]":
        """Return the sums over the leaves of each node, level by level.

        >>> [level.tolist() for level in Tree(leaves=4, fanout=2).sums(np.arange(4.0))]
        [[1.0, 5.0], [0.0, 1.0, 2.0, 3.0]]
        """
        levels = [leaves]
        for _ in range(self.height - 1):
            levels.append(self.gather(levels[-1]))
        return levels[::-1]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Consistency:
    """How the answers of all levels are weighed, when those of each level have the given variance.

    ``own`` is the weight of a node's own answer beside the sum of its children; ``part`` is what a node takes of a
    difference between its parent and the sum of its siblings.

    >>> plan = Consistency(Tree(leaves=4, fanout=2), [1.0, 1.0])
    >>> [level.round(3).tolist() for level in plan.solve([np.array([3.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0])], 4.0)]
    [[2.667, 1.333], [1.333, 1.333, 0.667, 0.667]]
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
            assert known.size == size  # noqa: S101 - the tree's own
        parts.append(known / known.sum())
        for name, value in (("tree", tree), ("own", own[::-1]), ("part", parts[::-1])):
            object.__setattr__(self, name, value)

    def solve(self, answers: "list[Floats]", total: float) -> "list[Floats]":
        """Return counts of all nodes that add up, from the answers of all levels and the number of people.

        >>> plan = Consistency(Tree(leaves=2, fanout=2), [1.0])
        >>> plan.solve([np.array([3.0, 1.0])], 2.0)[0].tolist()
        [2.0, 0.0]
        """
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
        """Return by what each answer, and the number of people, enters a weighted sum of the leaves.

        >>> plan = Consistency(Tree(leaves=2, fanout=2), [1.0])
        >>> answers, total = plan.coefficients(np.array([1.0, 0.0]))
        >>> answers[0].tolist(), total
        ([0.5, -0.5], 0.5)
        """
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
        """Return the variances of all leaves when those of the answers are given, and by what the total enters each.

        >>> plan = Consistency(Tree(leaves=2, fanout=2), [1.0])
        >>> variance, whole = plan.leaf_variances([np.array([1.0, 1.0])])
        >>> variance.tolist(), whole.tolist()
        ([0.5, 0.5], [0.5, 0.5])
        """
        up = [variances[-1]]
        for variance, own in zip(variances[-2::-1], self.own[-2::-1], strict=True):
            up.append(own**2 * variance + (1 - own) ** 2 * self.tree.gather(up[-1]))
        up.reverse()
        # What of a node's upward count is in its final one (kept), and how much its parent's final one varies else.
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
