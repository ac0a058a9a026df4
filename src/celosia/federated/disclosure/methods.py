"""What parties on a graph do together, and what that reveals to each observer.

``GossipOnce``: noise once, then averaging. ``FreshNoise``: training over the graph with new noise in each round, priced
as local, because the lower prices of the literature fail when a gradient depends on a hidden state. ``MaskedSums``:
masks on the edges, so that an observer sees only the sum of each connected component of the others. The proofs are in
``proofs/gossip.md`` and ``proofs/masks-on-a-graph.md``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from celosia.accounting import GDPAccountant, best
from celosia.accounting.pld.summed_gaussian import count_moved, get_gaussian, get_spread
from celosia.core import ApproxDP, Event, GaussianEvent, RepeatedEvent, SummedGaussianEvent
from celosia.core.errors import ParameterError
from celosia.core.events import check_event
from celosia.core.exact import double_at_least, exact_integer, safe_repr
from celosia.federated.disclosure.views import check_weights, gossip_exposures
from celosia.federated.topology.graph import Graph, read_coalition
from celosia.federated.topology.weights import Weights, metropolis_weights

_ROUNDING: Final = 1e-9  # added to a computed exposure, which is above the error of its sums


class Method(Protocol):
    """What parties do: whom it exposes to an observer, and what an exposure costs."""

    @property
    def event(self) -> Event:
        """What one party's own messages cost, seen alone."""

    def list_outsiders(self) -> tuple[tuple[str, ...], ...]:
        """Return the coalition of nobody where someone outside sees something."""

    def measure(self, graph: Graph, observer: Iterable[str]) -> NDArray[np.float64]:
        """Return how exposed each party is to an observer."""

    def price(self, exposure: float, delta: Fraction) -> ApproxDP:
        """Return the guarantee of a party that is exposed so much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GossipOnce:
    """Parties add noise to their inputs once, and average with their neighbours.

    Parameters
    ----------
    event
        What the noisy input of one party costs when it is seen alone. With ``arithmetic="real"`` the price is exact.
        With noise on a grid every party that is seen at all is priced as local: sums of integers with different
        weights can be taken apart.
    steps
        How many times the parties send and average.
    weights
        Those of the averaging; by default Metropolis weights on the graph.

    Examples
    --------
    >>> from celosia.core import GaussianEvent
    >>> from celosia.federated import make_graph
    >>> gossip = GossipOnce(event=GaussianEvent(variance=4, sensitivity_squared=1, arithmetic="real"), steps=3)
    >>> gossip.measure(make_graph("creditors"), "5").round(3).tolist()
    [0.25, 0.25, 0.528, 1.0, nan, 0.444, 0.528]
    """

    event: GaussianEvent
    steps: int
    weights: Weights | None = None

    def __post_init__(self) -> None:
        _check_gaussian(self.event)
        exact_integer(self.steps, name="steps")
        if self.weights is not None:
            check_weights(self.weights)

    def list_outsiders(self) -> tuple[tuple[str, ...], ...]:
        """Return nobody: who receives no message sees nothing."""
        return ()

    def measure(self, graph: Graph, observer: Iterable[str]) -> NDArray[np.float64]:
        """Return how exposed each party is to an observer."""
        weights = metropolis_weights(graph) if self.weights is None else self.weights
        if weights.graph != graph:
            raise ParameterError("federated.weights_of_other_graph")
        exposures = gossip_exposures(weights, self.steps, observer)
        return exposures if self.event.arithmetic == "real" else np.ceil(exposures)

    def price(self, exposure: float, delta: Fraction) -> ApproxDP:
        """Return the guarantee of a party that is exposed so much."""
        if exposure == 1:
            return best(self.event, delta).guarantee
        part = min(Fraction(exposure + _ROUNDING), Fraction(1))
        partial = replace(self.event, sensitivity_squared=part * self.event.sensitivity_squared)
        # For real noise this accountant is exact, and exposures can be as many as pairs of parties.
        epsilon = GDPAccountant().spend(partial).epsilon(delta)
        return ApproxDP(epsilon=epsilon, delta=delta, adjacency=self.event.adjacency, unit=self.event.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshNoise:
    """Parties train over the graph and add new noise to what they send in each of some rounds.

    Every party is priced as if its messages were seen: what it sends can depend on all that came before.

    >>> from celosia.core import GaussianEvent
    >>> from celosia.federated import make_graph
    >>> training = FreshNoise(event=GaussianEvent(variance=100, sensitivity_squared=1), rounds=20)
    >>> training.measure(make_graph("path", 3), "1").tolist()
    [nan, 1.0, 1.0]
    """

    event: Event
    rounds: int = 1

    def __post_init__(self) -> None:
        check_event(self.event)
        exact_integer(self.rounds, name="rounds")

    def list_outsiders(self) -> tuple[tuple[str, ...], ...]:
        """Return nobody: who receives no message sees nothing."""
        return ()

    def measure(self, graph: Graph, observer: Iterable[str]) -> NDArray[np.float64]:
        """Return 1 for all others: the graph is connected."""
        exposures = np.ones(len(graph.parties))
        exposures[graph.find_places(read_coalition(graph, observer))] = np.nan
        return exposures

    def price(self, exposure: float, delta: Fraction) -> ApproxDP:
        """Return the guarantee of all rounds together."""
        del exposure  # it is 1
        return best(_repeat(self.event, self.rounds), delta).guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedSums:
    """Parties hide their noisy inputs under masks that cancel along the edges.

    Only sums over the connected components of the parties that are not in a coalition are visible to it, so a party's
    noise is joined by that of its component.

    Parameters
    ----------
    event
        What the noisy input of one party costs when it is seen alone.
    rounds
        How many sums of this kind there are; all parties take part in all.

    Examples
    --------
    >>> from celosia.core import GaussianEvent
    >>> from celosia.federated import make_graph
    >>> masked = MaskedSums(event=GaussianEvent(variance=100, sensitivity_squared=1))
    >>> (1 / masked.measure(make_graph("creditors"), "4")).tolist()
    [5.0, 5.0, 5.0, nan, 1.0, 5.0, 5.0]
    """

    event: GaussianEvent
    rounds: int = 1

    def __post_init__(self) -> None:
        _check_gaussian(self.event)
        exact_integer(self.rounds, name="rounds")

    def list_outsiders(self) -> tuple[tuple[str, ...], ...]:
        """Return the coalition of nobody, which sees the total."""
        return ((),)

    def measure(self, graph: Graph, observer: Iterable[str]) -> NDArray[np.float64]:
        """Return 1 / (the number of parties in each one's component)."""
        labels = graph.label_components(graph.find_places(read_coalition(graph, observer)))
        sizes = np.bincount(labels[labels >= 0])[labels]
        return np.where(labels < 0, np.nan, 1 / sizes)

    def price(self, exposure: float, delta: Fraction) -> ApproxDP:
        """Return the guarantee of a party whose component has 1 / ``exposure`` parties; at most that of its own."""
        alone = best(_repeat(self.event, self.rounds), delta).guarantee
        parties = round(1 / exposure)
        joint = SummedGaussianEvent.of(self.event, parts=parties, variance=parties * self.event.variance)
        # The profile of one Gaussian is known more exactly than that of a sum, from which it differs by little.
        ripple = Fraction(self.rounds * count_moved(joint) * get_spread(joint))
        if ripple > 1:  # noise that is hardly a step wide: sums are no better than the bound for one
            return alone
        found = best(_repeat(get_gaussian(joint), self.rounds), delta * (1 - ripple)).guarantee
        together = replace(found, epsilon=Fraction(double_at_least(found.epsilon + ripple)), delta=delta)
        return min(alone, together, key=lambda guarantee: guarantee.epsilon)


def _repeat(event: Event, rounds: int) -> Event:
    return event if rounds == 1 else RepeatedEvent(event=event, times=rounds)


def _check_gaussian(event: object) -> None:
    if not isinstance(event, GaussianEvent):
        raise ParameterError("federated.not_gaussian_noise", event=safe_repr(event))
