"""A plan that is another plan but for a part: how noise is shared, or how messages are combined."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from celosia.federated.updates.plan import Integers, State, UpdatePlan, Weights

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.federated.contributions import RoundSum
    from celosia.statistics.base.noise import Noise
    from celosia.statistics.base.target import Target


@dataclass(frozen=True, kw_only=True, eq=False)
class WrappedPlan(UpdatePlan):
    """A plan that does what ``inner`` does, unless a subclass says otherwise."""

    inner: UpdatePlan

    @property
    def rounds(self) -> int:  # type: ignore[override] # read only here
        """How many rounds there are."""
        return self.inner.rounds

    @property
    def target(self) -> "Target":
        """The privacy target of all rounds."""
        return self.inner.target

    @property
    def width(self) -> int:
        """How many integers a party sends in a round."""
        return self.inner.width

    @property
    def noise(self) -> "Noise | None":
        """The noise that a party adds to what it computed."""
        return self.inner.noise

    @property
    def noise_event(self) -> "Event":
        """What one addition of noise costs."""
        return self.inner.noise_event

    def compose(self, event: "Event", rounds: int) -> "Event":
        """Return what rounds cost of which every addition of noise costs ``event``."""
        return self.inner.compose(event, rounds)

    def get_noise_scale(self, spread: float) -> float:
        """Return the standard deviation of noise with ``spread`` times the variance of one whole noise."""
        return self.inner.get_noise_scale(spread)

    def start(self) -> State:
        """Return the public state before the first round."""
        return self.inner.start()

    def skip(self, state: State) -> State:
        """Return the public state after a round of which nothing is left."""
        return self.inner.skip(state)

    def check_round(self, number: int, state: State) -> None:
        """Refuse a state in which another round computes something else than what this round costs."""
        self.inner.check_round(number, state)

    def compute(self, parties: Sequence[str], state: State, sources: "Sequence[Source]") -> Sequence[Integers | None]:
        """Return what parties contribute, without the noise that is stated."""
        return self.inner.compute(parties, state, sources)

    def find_weights(self, parties: Sequence[str]) -> Weights:
        """Return the public weights of parties in a total."""
        return self.inner.find_weights(parties)

    def find_center(self, state: State) -> State | None:
        """Return what a party of weight 1 contributes that wants no change; None where no such thing is public."""
        return self.inner.find_center(state)

    def advance(self, state: State, found: "RoundSum") -> State:
        """Return the public state after a round."""
        return self.inner.advance(state, found)

    def finish(self, states: Sequence[State], spread: Fraction, *, seeded: bool) -> Any:
        """Return the model, from the states after all rounds."""
        return self.inner.finish(states, spread, seeded=seeded)
