"""A hierarchical histogram: counts of ordered buckets, of any range of them, and quantiles.

Buckets are the leaves of a tree. A client draws a level, independently of its value, and reports its node of that level
with a private oracle: epsilon-private, because the node is a function of the value. The server makes
the levels agree, so that a range of a thousand buckets is a few nodes and its error grows only with the logarithm.
Cormode, Kulkarni and Srivastava 2019; Hay, Rastogi, Miklau and Suciu 2010; `proofs/hierarchical-histogram.md`.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.events import Event, RandomizedResponseEvent
from celosia.core.exact import Exact, exact_epsilon, exact_integer, safe_repr
from celosia.local.base.checks import check_crowd, exact_total
from celosia.local.base.domain import DomainProtocol
from celosia.local.base.estimate import build_estimate, extend_estimate
from celosia.local.base.packing import Bytes
from celosia.local.base.protocol import PERSON, State
from celosia.local.base.values import Domain, codes, domain_labels, domain_size, exact_domain
from celosia.local.ranges.estimate import Histogram, RangeEstimate
from celosia.local.ranges.node_oracles import HadamardNodes, NodeOracle, UnaryNodes
from celosia.local.ranges.tree import Tree, best_fanout
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.local.base.aggregate import Aggregate

Oracle = Literal["unary", "hadamard"]

_MAX_BITS = 1024  # a unary report of 128 bytes


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class HierarchicalHistogram(DomainProtocol[RangeEstimate]):
    """Ranges and quantiles over an ordered domain.

    See ``celosia.local`` for ``epsilon``.

    Parameters
    ----------
    domain
        The number of buckets, which are then 0, 1, 2 …, or the buckets themselves, in their order.
    fanout
        The number of children of a node; the default is best for long ranges.
    oracle
        ``"unary"``, with less variance, or ``"hadamard"``, with a few bits; the default is unary up to 1024 buckets.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> protocol = HierarchicalHistogram(domain=100, epsilon=2)
    >>> ages = [20, 30, 40, 50, 60] * 2000
    >>> estimate = protocol.aggregate().absorb(protocol.privatize(ages, source=Seeded(7))).estimate()
    >>> estimate.range(25, 55)
    RangeCount(25 to 55: 6106 ± 315, reports=10000)
    """

    fanout: int
    oracle: Oracle

    def __init__(
        self,
        *,
        domain: Domain | list[str] | list[int],
        epsilon: Exact,
        fanout: int | None = None,
        oracle: Oracle | None = None,
    ) -> None:
        buckets = exact_domain(domain)
        size = domain_size(buckets)
        children = best_fanout(size) if fanout is None else exact_integer(fanout, name="fanout", least=2)
        if oracle is None:
            oracle = "unary" if size <= _MAX_BITS else "hadamard"
        if oracle not in get_args(Oracle):
            raise ParameterError("local.unknown_oracle", value=safe_repr(oracle))
        self._set(domain=buckets, epsilon=exact_epsilon(epsilon), fanout=children, oracle=oracle)

    @property
    def tree(self) -> Tree:
        """The ranges that people report.

        >>> HierarchicalHistogram(domain=100, epsilon=1, fanout=5).tree.sizes
        (4, 20, 100)
        """
        return Tree(domain_size(self.domain), self.fanout)

    @property
    def nodes(self) -> NodeOracle:
        """The oracle by which people report their nodes.

        >>> type(HierarchicalHistogram(domain=1 << 16, epsilon=1).nodes).__name__
        'HadamardNodes'
        """
        kind = UnaryNodes if self.oracle == "unary" else HadamardNodes
        return kind(epsilon=self.epsilon, sizes=self.tree.sizes)

    @property
    def event(self) -> Event:
        """The event of one report: with the Hadamard oracle one binary answer.

        >>> HierarchicalHistogram(domain=1 << 16, epsilon=1).event.categories
        2
        """
        if self.oracle == "hadamard":
            return RandomizedResponseEvent(epsilon=self.epsilon, unit=PERSON)
        return super(HierarchicalHistogram, self).event

    @property
    def bits(self) -> int:
        """A report is a node, as its oracle writes it, and a level.

        >>> HierarchicalHistogram(domain=100, epsilon=1).bits, HierarchicalHistogram(domain=1 << 16, epsilon=1).bits
        (101, 19)
        """
        return self.nodes.bits

    def variance(self, reports: int, count: float = 0.0) -> float:
        """Return the variance of the estimated count of the first bucket if ``count`` of the reporters are in it.

        The others are spread evenly. For ranges see ``RangeEstimate.range``.

        >>> round(HierarchicalHistogram(domain=1000, epsilon=1).variance(1000) / 1000, 1)
        10.0
        """
        check_crowd(reports, count)
        tree = self.tree
        shares = np.full(tree.leaves, (1 - count / max(reports, 1)) / (tree.leaves - 1))
        shares[0] = count / max(reports, 1)
        state = {name: np.zeros(shape, dtype=np.int64) for name, shape in self.state_shapes.items()}
        state["levels"][:] = 1 << 20  # equally many at each level
        histogram = Histogram(tree, self.nodes, state)
        return reports / histogram.reports * float(histogram.leaf_variances(shares)[0])

    def outputs(self) -> Bytes | None:
        """All reports of all levels, or None if they are too many.

        >>> len(HierarchicalHistogram(domain=4, epsilon=1, fanout=2).outputs())
        20
        """
        return self.nodes.outputs()

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the logarithm of the probability of each report: of its level, and of the node's report.

        >>> protocol = HierarchicalHistogram(domain=4, epsilon=1, fanout=2)
        >>> float(np.exp(protocol.log_masses(3, protocol.outputs())).sum().round(12))
        1.0
        """
        oracle, tree, leaf = self.nodes, self.tree, self.encode([value])
        levels = oracle.levels(payload)
        masses = np.full(len(payload), -np.inf)
        for level in range(tree.height):
            rows = levels == level
            masses[rows] = oracle.log_masses(level, int(tree.node(level, leaf)[0]), payload[rows])
        return masses - math.log(tree.height)

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        oracle, tree = self.nodes, self.tree
        levels = uniform_below(tree.height, items.size, source)
        payload = np.empty((items.size, self.bytes_per_report), dtype=np.uint8)
        for level in range(tree.height):
            rows = np.flatnonzero(levels == level)
            if rows.size:
                payload[rows] = oracle.sample(level, tree.node(level, items[rows]), source)
        return payload

    def sample_one(self, item: Any, source: "Source") -> int:
        """Draw the level, then the oracle's report."""
        tree = self.tree
        level = integer_below(tree.height, source)
        return self.nodes.sample_one(level, int(tree.node(level, np.array([item]))[0]), source)

    @property
    def increment_bounds(self) -> tuple[int, int]:
        return -1, 1  # signs are added up, or bits

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"counts": self.nodes.shape(), "levels": (self.tree.height,)}

    def is_reachable(self, state: State, reports: int) -> bool:
        return exact_total(state["levels"]) == reports and self.nodes.is_reachable(state)

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        padded = super(HierarchicalHistogram, self).is_valid(payload)  # slots=True replaces the class
        return padded & self.nodes.is_valid(payload)

    def accumulate(self, state: State, payload: Bytes) -> None:
        self.nodes.accumulate(state, payload)

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> RangeEstimate:
        places = (
            np.arange(self.tree.leaves) if candidates is None else codes(candidates, self.domain, name="candidates")
        )
        labels = domain_labels(self.domain)
        histogram = Histogram(self.tree, self.nodes, aggregate.state)
        null_variances = histogram.leaf_variances(np.full(len(labels), 1 / len(labels)))[places]
        found = build_estimate(
            [labels[place] for place in places.tolist()],
            histogram.leaves[places],
            variances=histogram.leaf_variances()[places],
            null_variances=null_variances,
            reports=aggregate.reports,
            postprocess=postprocess,
            hits=histogram.hits(float(null_variances.min(initial=math.inf))),
            slopes=histogram.slope,
        )
        return extend_estimate(RangeEstimate, found, domain=self.domain, histogram=histogram)
