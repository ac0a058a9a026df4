"""Estimates of a hierarchical histogram: counts of buckets and ranges, the distribution function and quantiles.

Counts come from a tree whose levels agree (``tree``). The error of a range has two parts: the clients' coins, and the
draw of each client's level. Both follow from the coefficients of the answers in the range, with the estimated shares;
the second part vanishes if there is one level.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_level, exact_probability
from celosia.core.messages.message import join_names
from celosia.local.base.estimate import Estimate, norm_sub
from celosia.local.base.values import Domain, codes, domain_labels
from celosia.local.ranges.node_oracles import NodeOracle
from celosia.local.ranges.tree import Consistency, Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.local.base.protocol import State

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RangeCount:
    """The estimated number of people in a range, both ends included.

    >>> RangeCount(low=3, high=7, count=120.4, standard_error=10.0, reports=1000)
    RangeCount(3 to 7: 120 ± 10, reports=1000)
    """

    low: Any
    high: Any
    count: float
    standard_error: float
    reports: int

    def interval(self, level: Exact = 0.95) -> tuple[float, float]:
        """Return bounds for the count, clipped to the possible range.

        >>> low, high = RangeCount(low=3, high=7, count=15, standard_error=10.0, reports=1000).interval(0.95)
        >>> low, round(high, 1)
        (0.0, 34.6)
        """
        from scipy.special import ndtri

        reach = -float(ndtri((1 - exact_level(level)) / 2)) * self.standard_error
        most = float(self.reports)
        return min(max(self.count - reach, 0.0), most), min(max(self.count + reach, 0.0), most)

    def __repr__(self) -> str:
        where = f"{self.low} to {self.high}"
        return f"RangeCount({where}: {self.count:.0f} ± {self.standard_error:.0f}, reports={self.reports})"


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Histogram:
    """The counts of all leaves, and the error of any weighted sum of them."""

    tree: Tree
    oracle: NodeOracle
    reports: int
    scales: "Floats"
    plan: Consistency
    leaves: "Floats"

    def __init__(self, tree: Tree, oracle: NodeOracle, state: "State") -> None:
        people = state["levels"]
        total = int(people.sum())
        # A level without reports is weighed as if it had one.
        scales = max(total, 1) / np.maximum(people, 1).astype(np.float64)
        plan = Consistency(tree, [float(scale) * _typical(tree, oracle, level) for level, scale in enumerate(scales)])
        answers = [scale * oracle.answers(state, level) for level, scale in enumerate(scales)]
        leaves = plan.solve(answers, float(total))[-1] if total else np.zeros(tree.leaves)
        given = {"tree": tree, "oracle": oracle, "reports": total, "scales": scales, "plan": plan, "leaves": leaves}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def variance(self, weights: "Floats") -> float:
        """Return the variance of a weighted sum of the leaves."""
        coefficients, _ = self.plan.coefficients(weights)
        shares = self._shares()
        by_level = self.tree.sums(shares)
        noise, drawn, summed = 0.0, 0.0, np.zeros(self.tree.leaves)
        everywhere = np.arange(self.tree.leaves)
        for level, of_level in enumerate(coefficients):
            scale = float(self.scales[level])
            noise += scale * float(self.oracle.noise(level, of_level, by_level[level]))
            centred = of_level - float((of_level * by_level[level]).sum())
            drawn += scale * float((by_level[level] * centred**2).sum())
            summed += centred[self.tree.node(level, everywhere)]
        drawn -= float((shares * summed**2).sum())
        return self.reports * (noise + max(drawn, 0.0))

    def leaf_variances(self, shares: "Floats | None" = None) -> "Floats":
        """Return the variances of all leaves, for the estimated or for other shares of the people."""
        shares = self._shares() if shares is None else shares
        by_level = self.tree.sums(shares)
        noises = [self.oracle.node_noise(level, by_level[level]) for level in range(self.tree.height)]
        noise, whole = self.plan.leaf_variances([s * n for s, n in zip(self.scales, noises, strict=True)])
        drawn, _ = self.plan.leaf_variances([s * n for s, n in zip(self.scales, by_level, strict=True)])
        drawn = drawn - shares * (1 - 2 * whole) - whole**2 * shares.sum()
        found: Floats = self.reports * (noise + np.maximum(drawn, 0.0))
        return found

    def hits(self, null_variance: float) -> float:
        """Return the number of chance hits in the count of an empty leaf, given its variance.

        It is that of the Poisson law with this variance and the third moment of the leaf's own answer; the other
        answers in the count are not more skewed.
        """
        third = self.reports * float(self.scales[-1]) ** 2 * self.oracle.node_third()
        return null_variance * (null_variance / third) * (null_variance / third) if third else math.inf

    @property
    def slope(self) -> float:
        """The most that one more person in a leaf adds to the variance of its count.

        The count of a leaf has its own answer with a coefficient of at most 1; the person reports it with the
        probability of the last level.
        """
        last = self.tree.height - 1
        empty, full = (float(self.oracle.node_noise(last, np.array([share]))[0]) for share in (0.0, 1.0))
        return max(float(self.scales[-1]) * (1 + full - empty) - 1, 0.0)

    def _shares(self) -> "Floats":
        """Return the nearest shares, so that chance counts of many empty leaves do not shrink the others."""
        return norm_sub(self.leaves, float(self.reports)) / max(self.reports, 1)


def _typical(tree: Tree, oracle: NodeOracle, level: int) -> float:
    """Return the variance of an answer if all nodes of a level are equal: weights must not depend on the data."""
    noise = float(oracle.node_noise(level, np.zeros(1))[0])
    return noise + (1 - 1 / tree.height) / tree.sizes[level]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RangeEstimate(Estimate):
    """Estimated counts of buckets, ranges and quantiles.

    >>> from celosia.local.ranges.hierarchical_histogram import HierarchicalHistogram
    >>> from celosia.noise import Seeded
    >>> protocol = HierarchicalHistogram(domain=100, epsilon=2)
    >>> ages = [20, 30, 40, 50, 60] * 2000
    >>> estimate = protocol.aggregate().absorb(protocol.privatize(ages, source=Seeded(7))).estimate()
    >>> estimate.quantile(0.5)
    40
    """

    domain: Domain
    histogram: Histogram

    def range(self, low: Any, high: Any) -> RangeCount:
        """Return the number of people from ``low`` to ``high``, both included.

        >>> from celosia.local.ranges.hierarchical_histogram import HierarchicalHistogram
        >>> HierarchicalHistogram(domain=100, epsilon=2).aggregate().estimate().range(0, 99)
        RangeCount(0 to 99: 0 ± 0, reports=0)
        """
        first, last = codes([low, high], self.domain, name=join_names(["low", "high"])).tolist()
        if first > last:
            raise ParameterError("local.low_after_high")
        count, error = self._between(first, last)
        return RangeCount(low=low, high=high, count=count, standard_error=error, reports=self.reports)

    def _between(self, first: int, last: int) -> tuple[float, float]:
        weights = np.zeros(self.histogram.tree.leaves)
        weights[first : last + 1] = 1.0
        return float(self.histogram.leaves @ weights), math.sqrt(self.histogram.variance(weights))

    def cdf(self) -> "Floats":
        """Return the share of people up to each bucket: the distribution function nearest to the estimate.

        >>> from celosia.local.ranges.hierarchical_histogram import HierarchicalHistogram
        >>> protocol = HierarchicalHistogram(domain=4, epsilon=20, fanout=4, oracle="hadamard")
        >>> protocol.aggregate().absorb(protocol.privatize([0, 0, 0, 1, 3] * 4000)).estimate().cdf().round(1).tolist()
        [0.6, 0.8, 0.8, 1.0]
        """
        from scipy.optimize import isotonic_regression

        shares = np.cumsum(self.histogram.leaves) / max(self.reports, 1)
        rising = np.clip(isotonic_regression(shares).x, 0.0, 1.0)
        rising[-1] = 1.0
        return np.asarray(rising, dtype=np.float64)

    def quantile(self, q: Exact) -> Any:
        """Return the first bucket at which the distribution function reaches ``q``.

        >>> from celosia.local.ranges.hierarchical_histogram import HierarchicalHistogram
        >>> protocol = HierarchicalHistogram(domain=["S", "M", "L"], epsilon=20)
        >>> protocol.aggregate().absorb(protocol.privatize(["S", "M", "M", "L"] * 500)).estimate().quantile(0.5)
        'M'
        """
        share = float(exact_probability(q, name="q"))
        return domain_labels(self.domain)[self._first_above(self.cdf(), share)]

    def quantile_interval(self, q: Exact, level: Exact = 0.95) -> tuple[Any, Any]:
        """Return the buckets that enclose the quantile with probability ``level``.

        >>> from celosia.local.ranges.hierarchical_histogram import HierarchicalHistogram
        >>> protocol = HierarchicalHistogram(domain=["S", "M", "L"], epsilon=20)
        >>> estimate = protocol.aggregate().absorb(protocol.privatize(["S", "M", "M", "L"] * 500)).estimate()
        >>> estimate.quantile_interval(0.5)
        ('M', 'M')
        """
        from scipy.special import ndtri

        share = float(exact_probability(q, name="q"))
        reach = -float(ndtri((1 - exact_level(level)) / 2))
        rising, labels = self.cdf(), domain_labels(self.domain)
        ends = [labels[self._crossing(rising, share, side * reach)] for side in (1, -1)]
        return ends[0], ends[1]

    def _crossing(self, rising: "Floats", share: float, errors: float) -> int:
        """Return the first bucket whose share, shifted by a number of standard errors, is at least ``share``."""
        low, high = 0, rising.size - 1
        while low < high:
            middle = (low + high) // 2
            moved = float(rising[middle]) + errors * self._between(0, middle)[1] / max(self.reports, 1)
            low, high = (low, middle) if moved >= share else (middle + 1, high)
        return low

    @staticmethod
    def _first_above(rising: "Floats", share: float) -> int:
        return min(int(np.searchsorted(rising, share, side="left")), rising.size - 1)
