"""The edge to add to a graph of masked sums: the one that leaves the most exposed party less exposed.

A party behind a cut vertex is alone in its component of the others, so that its noisy input is visible to the party at
the cut. An edge around the cut joins components, and their noise.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from celosia.accounting.accountants.base import exact_delta
from celosia.core import ApproxDP
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, safe_repr
from celosia.federated.disclosure.methods import MaskedSums
from celosia.federated.disclosure.views import list_observers
from celosia.federated.topology.graph import Edge, Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSuggestion:
    """An edge that is worth adding, and the guarantee of the most exposed party without it and with it.

    ``observers`` are those who would see fewer sums.

    >>> from celosia.core import GaussianEvent
    >>> from celosia.federated import make_graph, suggest_edge
    >>> masked = MaskedSums(event=GaussianEvent(variance=25, sensitivity_squared=1))
    >>> print(suggest_edge(make_graph("creditors"), masked, delta="1e-6"))
    An edge between 1 and 5 lowers the largest epsilon from 0.835 to 0.32; 4 would see fewer sums.
    """

    edge: Edge
    before: ApproxDP
    after: ApproxDP
    observers: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        before, after = (float(guarantee.epsilon) for guarantee in (self.before, self.after))
        who = ", ".join(" + ".join(one) for one in self.observers)
        change = f"lowers the largest epsilon from {before:.3g} to {after:.3g}"
        if after >= before:
            change = f"leaves the largest epsilon at {before:.3g}"
        return f"An edge between {self.edge[0]} and {self.edge[1]} {change}; {who} would see fewer sums."


def suggest_edge(
    graph: Graph, method: MaskedSums, *, delta: Exact, coalitions: Iterable[Iterable[str]] = ()
) -> EdgeSuggestion | None:
    """Return the edge with which the most exposed party is least exposed; None if no edge helps.

    Of equally good edges it is the one that keeps sums from the most observers.

    >>> from celosia.core import GaussianEvent
    >>> from celosia.federated import make_graph
    >>> masked = MaskedSums(event=GaussianEvent(variance=25, sensitivity_squared=1))
    >>> suggest_edge(make_graph("path", 4), masked, delta="1e-6").edge
    ('1', '4')
    """
    if not isinstance(graph, Graph):
        raise ParameterError("federated.not_a_graph", graph=safe_repr(graph))
    if not isinstance(method, MaskedSums):
        raise ParameterError("federated.edge_for_masked_sums", method=safe_repr(method))
    allowed, observers = exact_delta(delta), list_observers(graph, coalitions)
    labels = np.array([graph.label_components(graph.find_places(one)) for one in observers])
    sizes = _count_members(labels)
    free = [edge for edge in itertools.combinations(range(len(graph.parties)), 2) if not graph.adjacency[edge]]
    found = [(_score(labels, sizes, edge), edge) for edge in free]
    helpful = [(score, edge) for score, edge in found if score[1] > 0]
    if not helpful:
        return None
    # The first of the best, in the order of the parties.
    (smallest, _), (start, end) = max(helpful, key=lambda one: one[0])
    return EdgeSuggestion(
        edge=(graph.parties[start], graph.parties[end]),
        before=method.price(1 / int(sizes[labels >= 0].min()), allowed),
        after=method.price(1 / smallest, allowed),
        observers=tuple(one for one, row in zip(observers, labels, strict=True) if _separates(row, start, end)),
    )


def _count_members(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the size of each party's component, for each observer."""
    return np.array([np.bincount(row[row >= 0], minlength=1)[row] for row in labels])


def _separates(labels: NDArray[np.int64], start: int, end: int) -> bool:
    return bool(labels[start] != labels[end] and min(labels[start], labels[end]) >= 0)


def _score(labels: NDArray[np.int64], sizes: NDArray[np.int64], edge: tuple[int, int]) -> tuple[int, int]:
    """Return the size of the smallest component if an edge is added, and for how many observers it joins two."""
    start, end = labels[:, edge[0]], labels[:, edge[1]]
    joins = (start != end) & (start >= 0) & (end >= 0)
    if not joins.any():
        return 0, 0
    joined = joins[:, None] & ((labels == start[:, None]) | (labels == end[:, None]))
    after = np.where(joined, (sizes[:, edge[0]] + sizes[:, edge[1]])[:, None], sizes)
    return int(after[labels >= 0].min()), int(joins.sum())
