"""What every plan of a training can tell, and do for a round: a description that runs in process or over a network.

A round goes ``compute`` (each party, from the public state), ``add_noise`` (each party), ``add_up`` and ``advance``
(the server, from the sum). A plan that adds the same noise to whatever it computes states it as ``noise``, so that
parties can also share it under masks; one that needs noise within its computation adds it there and states None.
"""

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.accounting import GDPAccountant, PureAccountant, RenyiAccountant, ZCDPAccountant
from celosia.core.errors import NotPricedError
from celosia.core.structure import RepeatedEvent
from celosia.federated.contributions import INTEGER_BYTES, RoundSum, add_contributions

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee
    from celosia.federated.transport import Transport
    from celosia.statistics.base.noise import Noise
    from celosia.statistics.base.target import Target

State = NDArray[Any]
Integers = NDArray[np.int64]
Weights = NDArray[np.int64]


class UpdatePlan(ABC):
    """A planned training, with the records of the parties in this process, which are never shown."""

    __slots__ = ()

    rounds: int

    @property
    @abstractmethod
    def target(self) -> "Target":
        """The privacy target of all rounds."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many integers a party sends in a round."""

    @property
    @abstractmethod
    def noise(self) -> "Noise | None":
        """The noise that a party adds to what it computed; None if that has its noise already."""

    @abstractmethod
    def start(self) -> State:
        """Return the public state before the first round."""

    @abstractmethod
    def compute(self, parties: Sequence[str], state: State, sources: "Sequence[Source]") -> Sequence[Integers | None]:
        """Return what parties contribute, without the noise that is stated; None for a party that has no result.

        A state with two axes has a row for each of all parties.
        """

    @abstractmethod
    def advance(self, state: State, found: RoundSum) -> State:
        """Return the public state after a round."""

    @abstractmethod
    def finish(self, states: Sequence[State], spread: Fraction, *, seeded: bool) -> Any:
        """Return the model, from the states after all rounds.

        ``spread`` is the variance of the noise in the last total, in times that of one party's noise.
        """

    @abstractmethod
    def find_weights(self, parties: Sequence[str]) -> Weights:
        """Return the public weights of parties in a total: what a party sends is its weight times what it proposes."""

    # ------------------------------------------------------------------------------------------ the same for all

    def skip(self, state: State) -> State:
        """Return the public state after a round of which nothing is left."""
        return state

    def check_round(self, number: int, state: State) -> None:  # noqa: B027 - most plans compute the same in all
        """Refuse a state in which another round computes something else than what this round costs."""

    def find_center(self, state: State) -> State | None:  # noqa: ARG002 - of those that send more than changes
        """Return what a party of weight 1 contributes that wants no change; None where no such thing is public."""
        return np.zeros(self.width)

    @property
    def noise_event(self) -> "Event":
        """What one addition of noise costs."""
        return self._stated_noise.event

    def compose(self, event: "Event", rounds: int) -> "Event":
        """Return what rounds cost of which every addition of noise costs ``event``: as often as there are rounds."""
        return event if rounds == 1 else RepeatedEvent(event=event, times=rounds)

    def get_noise_scale(self, spread: float) -> float:
        """Return the standard deviation, in integer steps, of noise with ``spread`` times one party's variance."""
        return math.sqrt(spread * self._stated_noise.variance)

    @property
    def _stated_noise(self) -> "Noise":
        assert self.noise is not None  # noqa: S101 - for the type checker: who states none says more by itself
        return self.noise

    @property
    def guarantee(self) -> "Guarantee":
        """The guarantee of all rounds: the target."""
        found = self.target.guarantee
        assert found is not None  # noqa: S101 - for the type checker: the target is private
        return found

    @property
    def event(self) -> "Event":
        """What all rounds cost a record, which is with one party only; certified for the target."""
        return self.target.event(self.get_round_event(self.rounds))

    def get_round_event(self, rounds: int) -> "Event":
        """Return what the first rounds cost."""
        return self.compose(self.noise_event, rounds)

    def price(self, rounds: int) -> "Guarantee":
        """Return the guarantee of the first rounds, of the kind of the target, by an accountant; of all, the target.

        The target's noise is found by the same accountants. So no number of rounds costs more than the target.
        """
        if rounds >= self.rounds:
            return self.guarantee
        event, target = self.get_round_event(rounds), self.target
        if target.rho is not None:
            return ZCDPAccountant().spend(event).guarantee()
        if target.delta == 0:
            return PureAccountant().spend(event).guarantee()
        found = []
        for accountant in (GDPAccountant(), RenyiAccountant()):
            with contextlib.suppress(NotPricedError):
                found.append(accountant.spend(event).epsilon(target.delta))
        known = [Fraction(epsilon) for epsilon in found if math.isfinite(epsilon)]
        return replace(self.guarantee, epsilon=min(known, default=target.epsilon))  # type: ignore[call-arg] # it has one

    def find_spread(self, parties: int) -> Fraction:
        """Return the variance of the noise in a total of so many parties, in times that of one party's noise."""
        return Fraction(parties)

    def find_bytes(self, parties: int) -> int:  # noqa: ARG002 - the same for any number
        """Return how many bytes a party sends in a round with so many parties."""
        return INTEGER_BYTES * self.width

    def add_noise(self, exact: Sequence[Integers], sources: "Sequence[Source]") -> Sequence[Integers]:
        """Add the stated noise to what parties computed; drawn at once where all draw from one source."""
        noise = self.noise
        if noise is None or not exact:
            return exact
        if all(one is sources[0] for one in sources):
            return list(replace(noise, cells=len(exact)).release(np.stack(exact), sources[0]))
        return [noise.release(one[None], source)[0] for one, source in zip(exact, sources, strict=True)]

    def add_up(
        self,
        contributions: Mapping[str, object],
        *,
        parties: int,
        number: int,  # noqa: ARG002 - of those that have secrets for every round
        source: "Source",  # noqa: ARG002 - of those that draw secrets
    ) -> RoundSum:
        """Add up what parties sent in a round; ``parties`` is how many there are in all."""
        return add_contributions(contributions, width=self.width, parties=parties)

    def receive(
        self,
        transport: "Transport",
        number: int,
        names: Sequence[str],
        state: State,
        *,
        parties: int,
        source: "Source",
    ) -> RoundSum:
        """Ask parties elsewhere in a round, and add up what they answer."""
        contributions = dict(transport.ask(self, number, names, state))
        return self.add_up(contributions, parties=parties, number=number, source=source)
