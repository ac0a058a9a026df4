"""What an observer of gossip sees: the part of a party's noisy input that its messages determine.

Parties add noise to their inputs once and then average K times. All messages that an observer receives are known linear
functions of the noisy inputs, so that, for continuous Gaussian noise, it learns about a party exactly what the
projection of that party's coordinate on their span shows. The span is built step by step with orthonormal bases,
because the powers of the weights themselves become indistinguishable in doubles. The proof is in ``proofs/gossip.md``.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.federated.topology.graph import read_coalition
from celosia.federated.topology.weights import Weights

if TYPE_CHECKING:
    from celosia.federated.topology.graph import Graph

# Directions that differ from the known ones by no more than rounding explains count as known. It is just above that, so
# that in doubt a direction counts as seen, which is less private.
_ROUNDING: Final = 64 * float(np.finfo(np.float64).eps)


def gossip_exposures(weights: Weights, steps: int, observer: str | Iterable[str]) -> NDArray[np.float64]:
    """Return what an observer of gossip learns about each party, as a part of what the noisy input itself would show.

    Parameters
    ----------
    weights
        Those of the averaging.
    steps
        How many times the parties send and average.
    observer
        A party, or a coalition of several; their own entries are NaN.

    Examples
    --------
    Two steps show the end of a path all of the other end's noisy input:

    >>> from celosia.federated import make_graph, metropolis_weights
    >>> weights = metropolis_weights(make_graph("path", ["u", "w", "v"]))
    >>> gossip_exposures(weights, 1, "v").tolist(), gossip_exposures(weights, 2, "v").round(9).tolist()
    ([0.0, 1.0, nan], [1.0, 1.0, nan])
    """
    checked = check_weights(weights)
    graph, rounds = checked.graph, exact_integer(steps, name="steps")
    own = graph.find_places(read_coalition(graph, observer))
    others = np.setdiff1d(np.arange(len(graph.parties)), own)
    inner = checked.matrix[np.ix_(others, others)]
    seen = np.asarray(graph.adjacency[np.ix_(own, others)].any(axis=0))
    span = _span_view(inner, np.eye(len(others))[:, seen], rounds)
    exposures = np.full(len(graph.parties), np.nan)
    # Sums of rounded numbers: nothing comes from beyond the reach of the messages.
    exposures[others] = np.where(_reach(inner != 0, seen, rounds), np.minimum((span**2).sum(axis=1), 1.0), 0.0)
    return exposures


def check_weights(weights: object) -> Weights:
    """Return ``weights`` if they are weights."""
    if not isinstance(weights, Weights):
        raise ParameterError("federated.not_weights", weights=safe_repr(weights))
    return weights


def list_observers(graph: "Graph", coalitions: Iterable[object] = ()) -> tuple[tuple[str, ...], ...]:
    """Return every party alone, then the coalitions."""
    singles = [(name,) for name in graph.parties]
    if isinstance(coalitions, str) or not isinstance(coalitions, Iterable):
        raise ParameterError("federated.not_coalitions", coalitions=safe_repr(coalitions))
    return tuple(dict.fromkeys([*singles, *(read_coalition(graph, one) for one in coalitions)]))


def _span_view(inner: NDArray[np.float64], start: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Return an orthonormal basis of the columns of ``start``, ``inner start``, ..., ``inner^(steps-1) start``."""
    tolerance = _ROUNDING * len(inner)
    basis = new = start
    for _ in range(steps - 1):
        if not new.shape[1] or basis.shape[1] == len(inner):
            break
        rest = _subtract(basis, inner @ new)
        left, sizes, _ = np.linalg.svd(rest, full_matrices=False)
        # A small rest has lost digits, so that its directions are made orthogonal once more.
        new, _ = np.linalg.qr(_subtract(basis, left[:, sizes > tolerance]))
        basis = np.hstack([basis, new])
    return basis


def _subtract(basis: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what of the vectors the basis does not span; twice, for once leaves rounding behind."""
    for _ in range(2):
        vectors = vectors - basis @ (basis.T @ vectors)
    return vectors


def _reach(links: NDArray[np.bool_], seen: NDArray[np.bool_], steps: int) -> NDArray[np.bool_]:
    """Return whose inputs can have come as far as the observer's neighbours before the last message."""
    for _ in range(min(steps - 1, len(links))):
        seen = seen | links[:, seen].any(axis=1)
    return seen
