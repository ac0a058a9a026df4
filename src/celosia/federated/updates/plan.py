"""What every plan of a training can tell, and do for a round: a description that runs in process or over a network.

A round goes ``compute`` (each party, from the public state) → integers with noise → ``advance`` (the server, from their
sum). A plan that adds the same noise to whatever it computes states it as ``noise``, so that parties can also share it
among them under masks; one that needs noise within its computation adds that itself and states None.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee
    from celosia.federated.contributions import RoundSum
    from celosia.statistics.base.noise import Noise

State = NDArray[Any]


class UpdatePlan(ABC):
    """A planned training, with the records of the parties in this process, which are never shown."""

    __slots__ = ()

    rounds: int

    @property
    @abstractmethod
    def width(self) -> int:
        """How many integers a party sends in a round."""

    @property
    @abstractmethod
    def event(self) -> "Event":
        """What all rounds cost a record, which is with one party only."""

    @property
    @abstractmethod
    def guarantee(self) -> "Guarantee":
        """The guarantee of all rounds."""

    @property
    @abstractmethod
    def noise(self) -> "Noise | None":
        """The noise that a party adds to what it computed; None if that has its noise already."""

    @abstractmethod
    def get_round_event(self, rounds: int) -> "Event":
        """Return what the first rounds cost."""

    @abstractmethod
    def get_noise_scale(self, parties: int) -> float:
        """Return the standard deviation of the noise in a number of the total, in integer steps."""

    @abstractmethod
    def start(self) -> State:
        """Return the public state before the first round."""

    @abstractmethod
    def compute(
        self, parties: Sequence[str], state: State, sources: "Sequence[Source]"
    ) -> Sequence[NDArray[np.int64] | None]:
        """Return what parties contribute, without the noise that is stated; None for a party that has no result."""

    @abstractmethod
    def advance(self, state: State, found: "RoundSum") -> State:
        """Return the public state after a round."""

    @abstractmethod
    def finish(self, states: Sequence[State], accepted: int, *, seeded: bool) -> Any:
        """Return the model, from the states after all rounds; ``accepted`` parties answered in the last that counts."""
