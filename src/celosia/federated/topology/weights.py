"""Weights of gossip: the matrix W with which parties average what their neighbours say, y <- W y.

Averaging converges to the mean of all parties if W is symmetric, its rows sum to 1, it is 0 off the graph's edges, and
all its eigenvalues but one are smaller than 1 in size. The largest of these is the factor by which a step reduces the
distance from the mean. Xiao and Boyd, *Fast linear iterations for distributed averaging*, 2004.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_positive, safe_repr
from celosia.federated.topology.graph import Graph

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_TOLERANCE: Final = 1e-9  # of sums and symmetry: far above rounding, far below a weight


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A matrix of weights on a graph, in the order of its parties, checked.

    Weights may be negative where gossip converges all the same.

    >>> Weights(Graph([("a", "b")]), [[0.7, 0.3], [0.3, 0.7]])
    Weights(2 parties, convergence factor 0.400)
    """

    graph: Graph
    matrix: NDArray[np.float64] = field(repr=False)

    def __init__(self, graph: Graph, matrix: "ArrayLike") -> None:
        if not isinstance(graph, Graph):
            raise ParameterError("federated.not_a_graph", graph=safe_repr(graph))
        found = _read_matrix(matrix, len(graph.parties))
        off = ~graph.adjacency & ~np.eye(len(found), dtype=np.bool_) & (found != 0)
        if off.any():
            start, end = np.argwhere(off)[0]
            raise ParameterError(
                "federated.weight_off_edges",
                start=safe_repr(graph.parties[start]),
                end=safe_repr(graph.parties[end]),
            )
        found.flags.writeable = False
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "matrix", found)
        if convergence_factor(self) > 1 - _TOLERANCE:
            raise ParameterError("federated.gossip_without_convergence", factor=f"{convergence_factor(self):.4g}")

    def __repr__(self) -> str:
        return f"Weights({len(self.matrix)} parties, convergence factor {convergence_factor(self):.3f})"


def _read_matrix(matrix: "ArrayLike", size: int) -> NDArray[np.float64]:
    try:
        found = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (size, size) or not np.isfinite(found).all():
        raise ParameterError("federated.wrong_weight_matrix", parties=size)
    if np.abs(found - found.T).max() > _TOLERANCE:
        raise ParameterError("federated.weights_not_symmetric")
    rows = found.sum(axis=1)
    if np.abs(rows - 1).max() > _TOLERANCE:
        worst = int(np.abs(rows - 1).argmax())
        raise ParameterError("federated.weights_not_stochastic", row=worst + 1, total=f"{rows[worst]:.4g}")
    return np.asarray((found + found.T) / 2)


def metropolis_weights(graph: Graph) -> Weights:
    """Return 1 / (1 + the larger degree) for each edge; each party keeps the rest.

    >>> from celosia.federated import make_graph
    >>> metropolis_weights(make_graph("path", 3)).matrix[1].round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    degrees = graph.adjacency.sum(axis=1)
    shares = np.where(graph.adjacency, 1 / (1 + np.maximum(degrees[:, None], degrees)), 0.0)
    return Weights(graph, shares + np.diag(1 - shares.sum(axis=1)))


def constant_weights(graph: Graph, alpha: Exact | None = None) -> Weights:
    """Return I - alpha L, the same weight for all edges; by default with the best alpha.

    No weight is negative up to alpha = 1 / (the largest degree), and gossip converges below 2 / (the largest eigenvalue
    of the Laplacian L).

    >>> from celosia.federated import make_graph
    >>> constant_weights(make_graph("path", 3), "0.25").matrix[0].tolist()
    [0.75, 0.25, 0.0]
    """
    step = optimal_alpha(graph) if alpha is None else float(exact_positive(alpha, name="alpha"))
    return Weights(graph, np.eye(len(graph.parties)) - step * graph.laplacian)


def optimal_alpha(graph: Graph) -> float:
    """Return the alpha with which ``constant_weights`` converge fastest.

    It is 2 / (the second smallest + the largest eigenvalue of the Laplacian L).

    >>> from celosia.federated import make_graph
    >>> round(optimal_alpha(make_graph("creditors")), 3)
    0.376
    """
    eigenvalues = np.linalg.eigvalsh(graph.laplacian.astype(np.float64))
    return float(2 / (eigenvalues[1] + eigenvalues[-1]))


def convergence_factor(weights: Weights) -> float:
    """Return by what factor a step of gossip reduces the distance from the mean, or more.

    >>> from celosia.federated import make_graph
    >>> round(convergence_factor(metropolis_weights(make_graph("creditors"))), 3)
    0.834
    """
    spread = weights.matrix - 1 / len(weights.matrix)
    return float(np.abs(np.linalg.eigvalsh(spread)).max())
