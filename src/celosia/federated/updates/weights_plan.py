"""What plans have in common whose state is the weights of a line or of a logistic regression."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.federated.updates.plan import State, UpdatePlan

if TYPE_CHECKING:
    from celosia.federated.updates.linear_task import LinearTask
    from celosia.statistics.base.target import Target


class WeightsPlan(UpdatePlan):
    """A plan that moves the weights of a task, from 0, and ends with the mean of the later ones."""

    __slots__ = ()

    task: "LinearTask"

    def start(self) -> State:
        """Return weights of 0."""
        return np.zeros(self.width)

    @property
    def width(self) -> int:
        """How many integers a party sends in a round."""
        return self.task.dimension

    @property
    def target(self) -> "Target":
        """The privacy target of all rounds."""
        return self.task.target

    def get_weight_noise(self, spread: Fraction, state: State) -> float:
        """Return the standard deviation of the noise in a weight, after a round with this state."""
        raise NotImplementedError

    def read_weights(self, states: Sequence[State]) -> State:
        """Return the mean of the weights of these states."""
        return np.asarray(np.mean(states, axis=0))

    def describe(self) -> tuple[str, str]:
        """Return the method by which the model is fitted, and what was run."""
        raise NotImplementedError

    def finish(self, states: Sequence[State], spread: Fraction, *, seeded: bool) -> Any:
        """Return the estimator with the mean of the weights of the later half of the rounds."""
        weights, noise = self.read_weights(states[len(states) // 2 :]), self.get_weight_noise(spread, states[-1])
        paid = self.event, self.guarantee
        return self.task.finish(weights, paid, noise=noise, seeded=seeded, how=self.describe())
