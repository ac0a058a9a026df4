"""A planned gradient descent at parties: what they compute in a round, and what all rounds cost.

Every step adds the same noise, of ``ratio`` times the longest gradient. Steps on samples cost what Poisson-sampled
Gaussians do (proofs/federated-sgd.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import AddRemove
from celosia.core.events import GaussianEvent
from celosia.core.structure import ComposedEvent, PoissonSampledEvent, RepeatedEvent, ReplacedEvent
from celosia.federated.updates.linear_task import LinearTask
from celosia.federated.updates.plan import State, Weights
from celosia.federated.updates.weights_plan import WeightsPlan
from celosia.learn.optimize.descent import Run
from celosia.noise.bernoulli import bernoulli
from celosia.noise.gaussian import DiscreteGaussian
from celosia.statistics.base.noise import ContributionBounds, Noise, Sensitivity

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.federated.contributions import RoundSum
    from celosia.statistics.base.target import Target

MOST: Final = 2**20
"""Integer steps in the longest gradient."""

_MODEL_STEPS: Final = 2**30  # integer steps in the radius of the ball
_MAX_RATIO: Final = 2.0**20  # noise for a single gradient that no training could bear


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepData:
    """What a step is computed from: scaled records, where gradients are cut, how long it is, and expected samples."""

    rows: NDArray[np.float64] = field(repr=False)
    targets: NDArray[np.float64] = field(repr=False)
    batches: State
    clip: float
    step_size: float

    @property
    def shares(self) -> State:
        """The share of each party in the records that are expected in all samples."""
        return np.asarray(self.batches / self.batches.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class SGDPlan(WeightsPlan):
    """A planned descent: noise of ``ratio`` times the clip in each of ``rounds`` times ``steps`` steps.

    ``records`` has the public number of records of each party.
    """

    task: LinearTask
    rounds: int
    steps: int
    rate: Fraction
    ratio: Fraction
    clip: Fraction
    records: Weights
    step_size: float

    @cached_property
    def noise(self) -> Noise | None:
        """The noise of a sum of gradients; None where every local step adds its own."""
        if self.steps > 1:
            return None
        bounding = ContributionBounds(adjacency=AddRemove, unit=self.task.target.unit)
        rho = 1 / (2 * self.ratio**2)
        return Noise.gaussian(rho, Sensitivity(l1=MOST, l2_squared=MOST**2), 1, self.width, bounding)

    @property
    def noise_event(self) -> "Event":
        """What the noise of a step costs, without the sample."""
        return build_noise_event(self.ratio, self.width, self.target.unit)

    def compose(self, event: "Event", rounds: int) -> "Event":
        """Return what rounds cost of which every step costs ``event`` on its sample."""
        return compose_steps(event, self.target, self.rate, rounds * self.steps)

    def get_noise_scale(self, spread: float) -> float:
        """Return the standard deviation of the noise in a sum of gradients of one step, in integer steps."""
        return float(self.ratio) * MOST * math.sqrt(spread)

    def compute(
        self, parties: Sequence[str], state: State, sources: "Sequence[Source]", pull: State | None = None
    ) -> Sequence[NDArray[np.int64] | None]:
        """Return sums of gradients, or how far local weights have moved, times the expected sample.

        ``pull`` is public, and added to the noisy mean gradient of each party in every local step.
        """
        data, starts = self.read_state(state)
        if self.steps == 1:
            held = self.task.find_held(parties)
            return list(self._sum_gradients(data, held, self._spread_weights(parties, starts), sources))
        shares = data.shares[self.task.find_places(parties)][:, None]
        moved = self._descend(parties, data, starts, sources, pull) * shares
        return list(np.rint(moved * (_MODEL_STEPS / float(self.task.ball.radius))).astype(np.int64))

    def read_state(self, state: State) -> tuple[StepData, State]:
        """Return what the steps of a round are computed from, and the weights before it; refuse what none can be."""
        batches = float(self.rate) * self.records.astype(np.float64)
        data = StepData(
            rows=self.task.rows,
            targets=self.task.targets,
            batches=batches,
            clip=float(self.clip),
            step_size=self.step_size,
        )
        return data, self.task.check_state(state)

    def descend(self, parties: Sequence[str], state: State, sources: "Sequence[Source]") -> State:
        """Return how far local weights move in the steps of a round, with noise in each; a row for each party."""
        return self._descend(parties, *self.read_state(state), sources)

    def _descend(
        self,
        parties: Sequence[str],
        data: StepData,
        starts: State,
        sources: "Sequence[Source]",
        pull: State | None = None,
    ) -> State:
        from celosia.federated.updates.local_descent import project_rows

        held, batches = self.task.find_held(parties), data.batches[self.task.find_places(parties)][:, None]
        before = self._spread_weights(parties, starts)
        weights, shape = before.copy(), self.task.ball.shape(self.task.dimension)
        scale = data.step_size * data.clip / MOST / batches
        for _ in range(self.steps):
            sums = self._sum_gradients(data, held, weights, sources)
            weights -= scale * (sums + self._draw_noise(len(held), self.task.dimension, sources))
            if pull is not None:
                weights -= data.step_size * pull
            project_rows(weights, shape)
        return weights - before

    def is_descending(self, state: State) -> bool:  # noqa: ARG002 - of those that begin otherwise
        """Return whether a round from this state takes steps."""
        return True

    def find_longest_step(self, data: StepData) -> float:
        """Return the longest mean of local steps, for each unit of their size: it crosses the ball in a round."""
        return 2 * float(self.task.ball.radius) / (self.steps * data.step_size)

    def read_steps(self, data: StepData, sent: NDArray[np.int64], places: list[int]) -> State:
        """Return the mean of the local steps of parties, for each unit of their size, from what these sent."""
        numbers = sent[:, : self.task.dimension].astype(np.float64) / data.shares[places][:, None]
        moved = numbers * (float(self.task.ball.radius) / _MODEL_STEPS)
        return np.asarray(-moved / (self.steps * data.step_size))

    def _spread_weights(self, parties: Sequence[str], weights: State) -> State:
        """Return the weights that parties begin a round with, a row for each."""
        starts = weights if weights.ndim == 1 else weights[self.task.find_places(parties)]
        return np.array(np.broadcast_to(starts, (len(parties), self.task.dimension)))

    def find_weights(self, parties: Sequence[str]) -> Weights:
        """Return how many records parties have, publicly."""
        return self.records[self.task.find_places(parties)]

    def advance(self, state: State, found: "RoundSum") -> State:
        """Take the step of the summed gradients, or the mean of the local ones, back into the ball."""
        if not found.accepted:
            return state
        data, weights = self.read_state(state)
        return self.move(weights, data, found)

    def move(self, weights: State, data: StepData, found: "RoundSum") -> State:
        """Return the weights after a round that was added up."""
        total = found.total.astype(np.float64)[: self.task.dimension]
        share = data.batches[self.task.find_places(found.accepted)].sum()
        if self.steps == 1:
            moved = weights - data.step_size * data.clip / MOST / share * total
        else:
            moved = weights + total * float(self.task.ball.radius) / _MODEL_STEPS / (share / data.batches.sum())
        return self.task.ball.project(moved)

    def get_weight_noise(self, spread: Fraction, state: State) -> float:
        """Return the standard deviation of the noise in a mean gradient."""
        data, _ = self.read_state(state)
        return self.get_noise_scale(float(spread)) / MOST * data.clip / float(data.batches.sum())

    def describe(self) -> tuple[str, str]:
        """Return the method, and what was run."""
        return "federated SGD", f"{len(self.task.names)} parties, {self.rounds} rounds of {self.steps} steps"

    def _sum_gradients(
        self, data: StepData, places: list[int], weights: State, sources: "Sequence[Source]"
    ) -> NDArray[np.int64]:
        from celosia.federated.updates.local_descent import add_gradients

        task, loss = self.task, self.task.loss
        bounds = task.find_bounds(places)
        run = Run(data.step_size, data.clip, MOST, loss.numbers, task.ball.shape(task.dimension))
        sampled = np.zeros(0, dtype=np.bool_)
        if self.rate < 1:
            sizes = bounds[:, 1] - bounds[:, 0]
            sampled = draw_each(sources, sizes, lambda count, source: bernoulli(self.rate, count, source))
        return add_gradients(data.rows, data.targets, bounds, sampled, weights, run, slope=loss.compiled_slope)

    def _draw_noise(self, parties: int, width: int, sources: "Sequence[Source]") -> NDArray[np.int64]:
        if self.ratio == 0:  # whole parties are private, and have noise in their movements
            return np.zeros((parties, width), dtype=np.int64)
        normal = DiscreteGaussian((self.ratio * MOST) ** 2)
        counts = np.full(parties, width)
        return draw_each(sources, counts, normal.sample).reshape(parties, width)


def draw_each(sources: "Sequence[Source]", counts: NDArray[np.int64], draw: Any) -> NDArray[Any]:
    """Draw so many values from the source of each party; at once where all have the same source."""
    if all(one is sources[0] for one in sources):
        return np.asarray(draw(int(counts.sum()), sources[0]))
    return np.concatenate([draw(int(count), one) for one, count in zip(sources, counts, strict=True)])


def build_noise_event(ratio: Fraction, dimension: int, unit: str) -> GaussianEvent:
    """Return the event of noise of ``ratio`` times the longest gradient: one gradient comes or goes."""
    return GaussianEvent(variance=(ratio * MOST) ** 2, sensitivity_squared=MOST**2, dimension=dimension, unit=unit)


def compose_steps(
    event: "Event", target: "Target", rate: Fraction, steps: int, first: "Event | None" = None
) -> "Event":
    """Return the event of steps on samples, after a first one on all records, if there is one.

    Under replace-one, one record is removed and one added.
    """
    parts = [] if first is None else [first]
    if steps:
        sampled = event if rate == 1 else PoissonSampledEvent(event=event, probability=rate)
        parts.append(sampled if steps == 1 else RepeatedEvent(event=sampled, times=steps))
    whole = parts[0] if len(parts) == 1 else ComposedEvent(events=parts)
    return whole if target.adjacency is AddRemove else ReplacedEvent(event=whole)


@lru_cache(maxsize=256)
def find_noise_ratio(
    target: "Target", rate: Fraction, steps: int, dimension: int, first: "Event | None" = None
) -> Fraction:
    """Return the least ratio of noise to the longest gradient, to a millionth, with which all steps keep the target.

    ``first`` is what a first round costs besides.

    >>> from celosia.statistics.base.target import Target
    >>> float(find_noise_ratio(Target.of(rho="0.5"), Fraction(1), 4, 10))
    2.0...
    """
    from celosia.learn.sgd.price import least_noise

    guarantee = target.guarantee
    assert guarantee is not None  # noqa: S101 - for the type checker: the target is private

    def price(noise: float) -> "Event":
        return compose_steps(build_noise_event(Fraction(noise), dimension, target.unit), target, rate, steps, first)

    found = least_noise(price, guarantee, _MAX_RATIO)
    # Rounded up to a short fraction, so that events are short; more noise never costs more.
    return Fraction(math.ceil(found * 2**20), 2**20)
