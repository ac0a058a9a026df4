"""A training over a graph, without a server: parties talk to their neighbours only.

In a round each party computes from weights of its own, adds its own noise, takes its step, and then averages with its
neighbours some times. What it sends is a function of its own noisy numbers and of what it received, so the guarantee is
that of its own noise, against all others and whoever listens: averaging hides nothing more (proofs/gossip.md). After
the last round parties average until they agree; that costs messages, and no privacy.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.federated.contributions import INTEGER_BYTES, RoundSum, add_contributions
from celosia.federated.topology.graph import Graph
from celosia.federated.topology.weights import Weights, convergence_factor, metropolis_weights
from celosia.federated.updates.plan import Integers, State, UpdatePlan
from celosia.federated.updates.wrapped import WrappedPlan

if TYPE_CHECKING:
    from celosia.core import Source

_AGREEMENT: Final = 1e-9  # how far from the mean parties may be in the end, of how far they were


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gossip:
    """Averaging with neighbours, ``steps`` times after each round of a training.

    Parameters
    ----------
    weights
        The weights of the averaging, or a graph, for Metropolis weights on it.
    steps
        How many times parties send and average in a round.

    Examples
    --------
    >>> from celosia.federated import make_graph
    >>> Gossip(weights=make_graph("ring", 5), steps=3)
    Gossip(weights=Weights(5 parties, convergence factor 0.539), steps=3)
    """

    weights: Weights
    steps: int = 1

    def __init__(self, *, weights: Weights | Graph, steps: int = 1) -> None:
        found = metropolis_weights(weights) if isinstance(weights, Graph) else weights
        if not isinstance(found, Weights):
            raise ParameterError("federated.not_weights", weights=safe_repr(weights))
        object.__setattr__(self, "weights", found)
        object.__setattr__(self, "steps", exact_integer(steps, name="steps"))

    @property
    def graph(self) -> Graph:
        """Who talks to whom."""
        return self.weights.graph

    @property
    def last_steps(self) -> int:
        """How many times parties average after the last round, until they agree."""
        factor = convergence_factor(self.weights)
        return 1 if factor <= _AGREEMENT else math.ceil(math.log(_AGREEMENT) / math.log(factor))

    def plan(self, inner: UpdatePlan, names: tuple[str, ...]) -> "GossipPlan":
        """Return the plan of the same training over the graph."""
        check_parties(self.graph, names)
        places = self.graph.find_places(names)
        matrix = np.linalg.matrix_power(self.weights.matrix[np.ix_(places, places)], self.steps)
        return GossipPlan(inner=inner, gossip=self, names=names, matrix=matrix)


def check_parties(graph: Graph, names: tuple[str, ...]) -> None:
    """Refuse a graph of other parties."""
    other = sorted(set(graph.parties) ^ set(names))
    if other:
        raise ParameterError("federated.graph_of_other_parties", name=safe_repr(other[0]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Messages(RoundSum):
    """What each party computed in a round, with its noise; ``total`` is their sum, which nobody needs."""

    rows: Mapping[str, Integers]
    bytes_sent: int

    def count_bytes(self) -> int:
        return self.bytes_sent


@dataclass(frozen=True, kw_only=True, eq=False)
class GossipPlan(WrappedPlan):
    """A plan whose parties have a state each, in the rows of a matrix, and average it with their neighbours."""

    gossip: Gossip
    names: tuple[str, ...]
    matrix: NDArray[np.float64]

    def find_bytes(self, parties: int) -> int:
        """Return how many bytes the party with most neighbours sends in a round."""
        degree = int(self.gossip.graph.adjacency.sum(axis=1).max())
        return INTEGER_BYTES * self.width * degree * self.gossip.steps if parties else 0

    def start(self) -> State:
        """Return the public states before the first round, all alike."""
        return np.tile(self.inner.start(), (len(self.names), 1)).astype(np.float64)

    def add_up(
        self,
        contributions: Mapping[str, object],
        *,
        parties: int,
        number: int,
        source: "Source",  # noqa: ARG002 - no secrets
    ) -> RoundSum:
        """Return what each party computed. Nobody adds it up, but what cannot be used is left out and counted."""
        found = add_contributions(contributions, width=self.width, parties=parties)
        rows = {name: np.asarray(contributions[name]) for name in found.accepted}
        steps = self.gossip.steps + (self.gossip.last_steps if number == self.rounds else 0)
        sent = INTEGER_BYTES * self.width * steps * int(self.gossip.graph.adjacency.sum())
        return _Messages(
            total=found.total, accepted=found.accepted, rejected=found.rejected, rows=rows, bytes_sent=sent
        )

    def advance(self, state: State, found: RoundSum) -> State:
        """Let each party take its step, and average with its neighbours. Who has no result only averages."""
        assert isinstance(found, _Messages)  # noqa: S101 - for the type checker: it was made here
        moved = np.array(state, dtype=np.float64)
        for place, name in enumerate(self.names):
            if name in found.rows:
                alone = RoundSum(total=found.rows[name].astype(object), accepted=(name,), rejected={})
                moved[place] = self.inner.advance(self.inner.start() if self._is_sum else state[place], alone)
        return np.asarray(self.matrix @ moved)

    def finish(self, states: Sequence[State], spread: Fraction, *, seeded: bool) -> Any:
        """Return the model that the parties agree on after the last averaging."""
        together = [state.sum(axis=0) if self._is_sum else state.mean(axis=0) for state in states]
        return self.inner.finish([self._round(one) for one in together], spread, seeded=seeded)

    @property
    def _is_sum(self) -> bool:
        """Whether states are sums of integers, of which the parties' mean, times their number, is wanted."""
        return self.inner.start().dtype.kind == "i"

    def _round(self, state: State) -> State:
        return np.rint(state).astype(np.int64) if self._is_sum else state
