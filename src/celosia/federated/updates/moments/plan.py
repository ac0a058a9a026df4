"""A planned gradient descent whose first round releases noised moments, and whose later rounds descend after them.

The first round adds the noise of all rounds to moments on a grid that costs their share (``moments``). What follows
from the moments is public, and goes from round to round with the weights. A party computes moments in the first round
only, whatever state it is asked with: a second time would cost more than was paid.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import InputError
from celosia.core.events import GaussianEvent
from celosia.federated.updates.moments.scaled_space import ScaledSpace
from celosia.federated.updates.moments.sums import MomentSums, guess_moments
from celosia.federated.updates.plan import State
from celosia.federated.updates.sgd_plan import MOST, SGDPlan, StepData, compose_steps, find_noise_ratio
from celosia.learn.optimize.losses import SquaredLoss

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.federated.contributions import RoundSum
    from celosia.federated.updates.moments.sums import Moments
    from celosia.statistics.base.target import Target


@dataclass(frozen=True, kw_only=True, eq=False)
class MomentsPlan(SGDPlan):
    """A planned descent of ``rounds`` less one, after a round of ``moments``.

    ``chosen`` are the clip and the step that the caller gave, or None for those that follow from the moments.
    ``records`` are 1 for each party unless ``knows_records``.
    """

    moments: MomentSums
    chosen: tuple[float | None, float | None]
    knows_records: bool
    _scaled: dict[bytes, tuple[Any, Any]] = field(default_factory=dict, init=False, repr=False)

    @property
    def width(self) -> int:
        """How many integers a party sends in a round: the same in all, so that noise is."""
        return max(self.task.dimension, self.moments.width)

    def start(self) -> State:
        """Return the state that asks for moments."""
        return np.zeros(ScaledSpace.find_size(self.task))

    def compose(self, event: "Event", rounds: int) -> "Event":
        """Return what the first rounds cost of which every addition of noise costs ``event``."""
        first = build_moments_event(event, self.moments)
        return compose_steps(event, self.target, self.rate, (rounds - 1) * self.steps, first)

    def check_round(self, number: int, state: State) -> None:
        """Refuse to compute moments in another round than the first, or anything else in the first."""
        if self.is_descending(state) == (number == 1):
            raise InputError("federated.state_of_another_round")

    def compute(
        self, parties: Sequence[str], state: State, sources: "Sequence[Source]", pull: State | None = None
    ) -> Sequence[NDArray[np.int64] | None]:
        """Return moments in the first round, and then what steps give, in as many integers."""
        if self.is_descending(state):
            computed = super().compute(parties, state, sources, pull)
            return list(self._widen(np.array(computed, dtype=np.int64)))
        bounds = self.task.find_bounds(self.task.find_held(parties))
        exact = self._widen(self.moments.add(self.task.rows, self.task.targets, bounds, self.task.scaling.norm))
        return list(exact + self._draw_noise(len(exact), self.width, sources) if self.steps > 1 else exact)

    def is_descending(self, state: State) -> bool:
        """Return whether a round from this state takes steps, and does not ask for moments."""
        return ScaledSpace.read(state, self.task) is not None

    def _widen(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rows of numbers with zeros after them, so that all rounds have as many."""
        return np.pad(numbers, ((0, 0), (0, self.width - numbers.shape[1])))

    def read_state(self, state: State) -> tuple[StepData, State]:
        """Return what the steps of a round are computed from, and the weights before it; refuse what none can be."""
        found = ScaledSpace.read(state, self.task)
        if found is None:
            raise InputError("federated.state_of_another_round")
        space, weights = found
        rows, targets = self._scale(space)
        batches = float(self.rate) * space.sizes
        return StepData(
            rows=rows, targets=targets, batches=batches, clip=space.clip, step_size=space.step_size
        ), weights

    def _scale(self, space: ScaledSpace) -> tuple[Any, Any]:
        """Return rows and targets in a space; they stay the same from round to round."""
        key = np.concatenate([[space.middle, space.spread], space.centres, space.spreads]).tobytes()
        found = self._scaled.get(key)
        if found is None:
            found = space.scale(self.task)
            self._scaled.clear()
            self._scaled[key] = found
        return found

    def find_center(self, state: State) -> State | None:
        """Return no movement; None where moments are asked for."""
        return super().find_center(state) if state.any() else None

    def advance(self, state: State, found: "RoundSum") -> State:
        """Return the state after the moments, or after a step."""
        if not found.accepted:
            return self.skip(state)
        if state.any():
            data, weights = self.read_state(state)
            size = len(state) - self.task.dimension
            return np.concatenate([state[:size], self.move(weights, data, found)])
        places = self.task.find_places(found.accepted)
        noise = self.get_noise_scale(1)
        return self._open(self.moments.read(found, self._sizes, places, len(self.task.names), noise))

    def skip(self, state: State) -> State:
        """Return the same state, or that of public guesses where the moments are lost."""
        if state.any():
            return state
        return self._open(guess_moments(self._sizes, len(self.task.names), self.moments.columns))

    def _open(self, moments: "Moments") -> State:
        """Return the state in which steps begin."""
        clip, step_size = self.chosen
        space = ScaledSpace.of(
            moments,
            self.task,
            loudness=float(self.ratio / self.rate) * moments.loudness**0.5,
            steps=(self.rounds - 1) * self.steps,
            clip=clip,
            step_size=step_size,
            scales_target=type(self.task.loss) is SquaredLoss,
        )
        return space.pack(space.start(moments, self.task))

    @property
    def _sizes(self) -> NDArray[np.float64] | None:
        return self.records.astype(np.float64) if self.knows_records else None

    def read_weights(self, states: Sequence[State]) -> State:
        """Return the mean of the weights of these states, for rows as they are before they are scaled."""
        found = ScaledSpace.read(states[-1], self.task)
        assert found is not None  # noqa: S101 - for the type checker: every round leaves a space
        weights = super().read_weights([state[-self.task.dimension :] for state in states])
        return found[0].unscale(weights, self.task)


def build_moments_event(noise_event: Any, sums: MomentSums) -> "Event":
    """Return the event of moments with the noise of a step: a record moves them by another length."""
    moved: Event = replace(noise_event, sensitivity_squared=sums.sensitivity_squared)
    return moved


@lru_cache(maxsize=256)
def find_moments(
    target: "Target", rate: Fraction, steps: int, columns: int, share: Fraction, *, counts: bool
) -> tuple[Fraction, MomentSums]:
    """Return the least ratio of noise for moments and so many steps, and moments on the grid that costs their share.

    The share is of the squared ratio of a difference to the noise, in which Gaussian noise adds up.

    >>> from celosia.statistics.base.target import Target
    >>> ratio, sums = find_moments(Target.of(rho="0.5"), Fraction(1), 4, 10, Fraction(1, 5), counts=True)
    >>> round(float(ratio) ** 2, 3), round(sums.sensitivity_squared / float(ratio * MOST) ** 2, 3)
    (5.0, 0.2)
    """
    width = MomentSums(columns=columns, counts=counts, grid=4).width
    alone = find_noise_ratio(target, Fraction(1), 1, width) ** 2 / share
    first = GaussianEvent(variance=alone * MOST**2, sensitivity_squared=MOST**2, dimension=width, unit=target.unit)
    ratio = find_noise_ratio(target, rate, steps, width, first)
    # The grid is rounded down, so that moments cost no more than was supposed.
    return ratio, MomentSums.fit(columns=columns, counts=counts, longest=(ratio * MOST) ** 2 / alone)
