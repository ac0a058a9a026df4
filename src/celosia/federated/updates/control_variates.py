"""Control variates against the drift of local steps: SCAFFOLD (Karimireddy and others 2020, arXiv 1910.06378).

Where parties differ, each descends towards its own minimum, and the mean of these is not that of all. So a party takes
from each of its gradients its own mean gradient of the last round it took part in, and adds that of all parties. Both
follow from the noisy movements that parties sent: anybody who sees the messages can compute them, so they cost no
privacy and no message (Noble, Bellet and Dieuleveut 2022, arXiv 2111.09278). They go from round to round with the
weights, as public as these.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.errors import InputError
from celosia.federated.updates.plan import Integers, State
from celosia.federated.updates.sgd_plan import SGDPlan
from celosia.federated.updates.wrapped import WrappedPlan

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.federated.contributions import RoundSum
    from celosia.federated.updates.sgd_plan import StepData

_ROUNDED: Final = 1 + 2.0**-30  # how much longer than allowed a variate that was cut may be


@dataclass(frozen=True, kw_only=True, eq=False)
class ControlVariatesPlan(WrappedPlan):
    """A descent of several local steps whose state ends with a variate for each party, one after the other."""

    inner: SGDPlan

    def start(self) -> State:
        """Return the state of the descent, and variates of 0."""
        return self._join(self.inner.start(), np.zeros(self._shape))

    def check_round(self, number: int, state: State) -> None:
        """Refuse a state in which another round computes something else than what this round costs."""
        self.inner.check_round(number, self.read_state(state)[0])

    def skip(self, state: State) -> State:
        """Return the public state after a round of which nothing is left."""
        own, variates = self.read_state(state)
        return self._join(self.inner.skip(own), variates)

    def compute(self, parties: Sequence[str], state: State, sources: "Sequence[Source]") -> Sequence[Integers | None]:
        """Return how far the weights of parties move, pulled by the variates in every step."""
        own, variates = self.read_state(state)
        if not self.inner.is_descending(own):
            return self.inner.compute(parties, own, sources)
        mean = find_mean(self.inner.read_state(own)[0], variates)
        return self.inner.compute(parties, own, sources, mean - variates[self.inner.task.find_places(parties)])

    def advance(self, state: State, found: "RoundSum") -> State:
        """Return the weights after the mean movement, and new variates of the parties that moved."""
        own, variates = self.read_state(state)
        if found.accepted and self.inner.is_descending(own):
            data, _ = self.inner.read_state(own)
            places = self.inner.task.find_places(found.accepted)
            sent = np.stack([found.parts[name] for name in found.accepted])
            # A step was the gradient less the variate and with the mean: what is left is the mean gradient.
            gradients = variates[places] - find_mean(data, variates) + self.inner.read_steps(data, sent, places)
            longest = self.inner.find_longest_step(data)
            lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
            variates[places] = gradients * np.minimum(1.0, longest / np.maximum(lengths, longest))
        return self._join(self.inner.advance(own, found), variates)

    def find_center(self, state: State) -> State | None:
        """Return what a party of weight 1 contributes that wants no change; None where no such thing is public."""
        return self.inner.find_center(self.read_state(state)[0])

    def finish(self, states: Sequence[State], spread: Fraction, *, seeded: bool) -> Any:
        """Return the model, from the states after all rounds."""
        return self.inner.finish([self.read_state(state)[0] for state in states], spread, seeded=seeded)

    def read_state(self, state: object) -> tuple[State, State]:
        """Return the state of the descent and the variates; refuse what none can be. Before steps variates are 0."""
        count, width = self._shape
        longest = 0.0
        if isinstance(state, np.ndarray) and state.dtype.kind in "if" and state.shape == self.start().shape:
            own, variates = np.split(state.astype(np.float64), [-count * width])
            if self.inner.is_descending(own):
                longest = self.inner.find_longest_step(self.inner.read_state(own)[0])
            rows, most = variates.reshape(self._shape), longest * _ROUNDED
            if np.abs(rows).max() <= most and np.linalg.norm(rows, axis=1).max() <= most:  # not if one is NaN
                return own, rows
        raise InputError("federated.variates_not_usable", parties=count, longest=longest)

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.inner.task.names), self.inner.task.dimension

    def _join(self, own: State, variates: State) -> State:
        return np.concatenate([own, variates.ravel()])


def find_mean(data: "StepData", variates: State) -> State:
    """Return the mean of the variates of all parties, weighted as their movements are."""
    return np.asarray(data.shares @ variates)
