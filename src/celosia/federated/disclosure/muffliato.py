"""The published bound for gossip with noise at the start: a formula that is not a bound.

It adds up what each message would reveal alone. But messages share their noise, and two of them together can reveal
more than the sum: on a path of three, two steps reveal all, where the formula says a third. It is here to be compared
with ``gossip_exposures``. Cyffers, Even, Bellet and Massoulié, *Muffliato: peer-to-peer privacy amplification for
decentralized optimization and averaging*, 2022 (arXiv 2206.05091, theorem 1).
"""

import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import NotPrivateWarning
from celosia.core.exact import exact_integer
from celosia.federated.disclosure.views import check_weights
from celosia.federated.topology.graph import read_coalition
from celosia.federated.topology.weights import Weights


def muffliato_exposures(weights: Weights, steps: int, observer: str | Iterable[str]) -> NDArray[np.float64]:
    """Return what the published formula says of each party, at most 1, and warn: it can be too little.

    >>> import warnings
    >>> from celosia.federated import make_graph, metropolis_weights
    >>> weights = metropolis_weights(make_graph("path", ["u", "w", "v"]))
    >>> with warnings.catch_warnings(action="ignore"):
    ...     muffliato_exposures(weights, 2, "v").round(3).tolist()
    [0.333, 1.0, nan]
    """
    message = (
        "The formula of Muffliato adds the losses of messages that share noise, which is no upper bound: it is for "
        "comparison with gossip_exposures."
    )
    warnings.warn(message, NotPrivateWarning, stacklevel=2)
    checked = check_weights(weights)
    graph, rounds = checked.graph, exact_integer(steps, name="steps")
    own = graph.find_places(read_coalition(graph, observer))
    seen = np.asarray(graph.adjacency[own].any(axis=0))
    seen[own] = False
    total, power = np.zeros(len(graph.parties)), np.eye(len(graph.parties))
    for _ in range(rounds):
        total += (power[seen] ** 2 / (power[seen] ** 2).sum(axis=1, keepdims=True)).sum(axis=0)
        power = power @ checked.matrix
    total[own] = np.nan
    return np.minimum(total, 1.0)
