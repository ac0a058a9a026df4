"""Federated averaging with differentially private gradient descent at each party (McMahan 2017, Abadi 2016).

In every step a party takes each of its records with the same probability, cuts the gradient of each to one length, adds
them as integers, and adds Gaussian noise. With one step a round it sends that sum; with several it descends by itself
and sends how far its weights have moved. The noise follows from the target, the probability and the number of all
steps, by the accountant, before the first round.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import AddRemove, ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.events import GaussianEvent
from celosia.core.exact import Exact, exact_integer, exact_positive, exact_probability
from celosia.core.structure import PoissonSampledEvent, RepeatedEvent, ReplacedEvent
from celosia.federated.updates.client_level import ClientPlan
from celosia.federated.updates.linear_task import LinearTask, check_estimator, check_sizes, describe_target, read_task
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
    from celosia.federated.parties import Party
    from celosia.statistics.base.target import Target

_MOST: Final = 2**20  # integer steps in the longest gradient
_MODEL_STEPS: Final = 2**30  # integer steps in the radius of the ball
_CLIP: Final = Fraction(1, 8)  # shorter than gradients of most records: they count by their direction
_WIDEST: Final = 64  # norms of a row: weights of classes may be large, for the price does not depend on the ball
_MAX_RATIO: Final = 2.0**20  # noise for a single gradient that no training could bear


@dataclass(frozen=True, slots=True, kw_only=True)
class SGD:
    """Private gradient descent for ``LinearRegression`` or ``LogisticRegression`` with two classes.

    Parameters
    ----------
    estimator
        What is learned, with public bounds and classes. The federation sets its privacy parameters.
    steps
        Local steps of a party in each round. With one, the server takes the step from the sum of all gradients.
    sampling_rate
        The probability with which a record is in a step's sample; the sample stays secret.
    step_size
        The length of a step. Left out, between 1 and twice the number of weights: longer where there are fewer steps.
    clip
        The length to which gradients of records are cut. Left out, an eighth: shorter than those of most records, which
        then count by their direction.
    records
        How many records each party has, publicly: a number for all, or by name. Left out, the true numbers, which
        only ``adjacency="replace-one"`` makes public. They only weigh parties and scale steps.
    loss
        A loss of ``celosia.learn.optimize.losses`` instead of the estimator's.
    radius
        The radius of the ball in which weights stay, for centred rows no longer than 1.

    Examples
    --------
    >>> from celosia.federated import SGD
    >>> from celosia.learn import LogisticRegression
    >>> SGD(estimator=LogisticRegression(bounds=(0, 1), classes=[0, 1]), sampling_rate="0.1", records=500).steps
    1
    """

    estimator: Any
    steps: int = 1
    sampling_rate: Exact = 1
    step_size: Exact | None = None
    clip: Exact | None = None
    records: int | Mapping[str, int] | None = None
    loss: Any = None
    radius: Exact | None = None

    def __post_init__(self) -> None:
        check_estimator(self.estimator, "SGD")
        exact_integer(self.steps, name="steps")
        if exact_probability(self.sampling_rate, name="sampling_rate") == 0:
            raise ParameterError("federated.sampling_rate_zero")

    def __repr__(self) -> str:
        return f"SGD({type(self.estimator).__name__})"

    def plan(self, parties: "tuple[Party, ...]", privacy: Mapping[str, Any], rounds: int = 1) -> "SGDPlan":
        """Read and check the records of all parties, and find the noise; nothing is released."""
        task = read_task(self.estimator, parties, privacy, loss=self.loss, radius=self.radius, widest=_WIDEST)
        if task.target.kind == "pure":
            raise ParameterError("federated.gradients_need_delta")
        rate = exact_probability(self.sampling_rate, name="sampling_rate")
        if task.target.rho is not None and rate < 1:
            raise ParameterError("federated.samples_need_epsilon")
        ratio = find_noise_ratio(task.target, rate, rounds * int(self.steps), task.dimension)
        return self._make_plan(task, rounds, ratio, read_sizes(self.records, task))

    def plan_clients(
        self, parties: "tuple[Party, ...]", target: "Target", clip: Fraction, rounds: int = 1
    ) -> ClientPlan:
        """Plan rounds that are private for whole parties: no gradient has noise, and each movement has."""
        task = read_task(
            self.estimator, parties, describe_target(target), loss=self.loss, radius=self.radius, widest=_WIDEST
        )
        own = np.array([Fraction(max(size, 1)) for size in task.sizes.tolist()], dtype=object)
        local = self._make_plan(task, rounds, Fraction(0), own)
        return ClientPlan(task=task, for_parties=target, rounds=rounds, clip=clip, local=local, how="federated SGD")

    def _make_plan(self, task: LinearTask, rounds: int, ratio: Fraction, sizes: NDArray[Any]) -> "SGDPlan":
        rate = exact_probability(self.sampling_rate, name="sampling_rate")
        step = None if self.step_size is None else float(exact_positive(self.step_size, name="step_size"))
        return SGDPlan(
            task=task,
            rounds=rounds,
            steps=exact_integer(self.steps, name="steps"),
            rate=rate,
            ratio=ratio,
            clip=task.choose_clip(self.clip, _CLIP),
            records=sizes.astype(np.int64),
            batches=np.array(rate * sizes, dtype=np.float64),
            step_size=_choose_step(task.dimension, rounds * int(self.steps)) if step is None else step,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SGDPlan(WeightsPlan):
    """A planned descent: noise of ``ratio`` times the clip in each of ``rounds`` times ``steps`` steps.

    ``records`` has the public number of records of each party, and ``batches`` that expected in a sample.
    """

    task: LinearTask
    rounds: int
    steps: int
    rate: Fraction
    ratio: Fraction
    clip: Fraction
    records: Weights
    batches: State
    step_size: float

    @cached_property
    def noise(self) -> Noise | None:
        """The noise of a sum of gradients; None where every local step adds its own."""
        if self.steps > 1:
            return None
        bounding = ContributionBounds(adjacency=AddRemove, unit=self.task.target.unit)
        rho = 1 / (2 * self.ratio**2)
        return Noise.gaussian(rho, Sensitivity(l1=_MOST, l2_squared=_MOST**2), 1, self.width, bounding)

    @property
    def noise_event(self) -> "Event":
        """What the noise of a step costs, without the sample."""
        return build_noise_event(self.ratio, self.width, self.target.unit)

    def compose(self, event: "Event", rounds: int) -> "Event":
        """Return what rounds cost of which every step costs ``event`` on its sample."""
        return compose_steps(event, self.target, self.rate, rounds * self.steps)

    def get_noise_scale(self, spread: float) -> float:
        """Return the standard deviation of the noise in a sum of gradients of one step, in integer steps."""
        return float(self.ratio) * _MOST * math.sqrt(spread)

    def compute(
        self, parties: Sequence[str], state: State, sources: "Sequence[Source]"
    ) -> Sequence[NDArray[np.int64] | None]:
        """Return sums of gradients, or how far local weights have moved, times the expected sample."""
        if self.steps == 1:
            held = self.task.find_held(parties)
            return list(self._sum_gradients(held, self._start_weights(parties, state), sources))
        batches = self.batches[self.task.find_places(parties)][:, None]
        moved = self.descend(parties, state, sources) * (batches / self.batches.sum())
        return list(np.rint(moved * (_MODEL_STEPS / float(self.task.ball.radius))).astype(np.int64))

    def descend(self, parties: Sequence[str], state: State, sources: "Sequence[Source]") -> State:
        """Return how far local weights move in the steps of a round, with noise in each; a row for each party."""
        from celosia.federated.updates.local_descent import project_rows

        held, batches = self.task.find_held(parties), self.batches[self.task.find_places(parties)][:, None]
        weights = self._start_weights(parties, state)
        starts, shape = weights.copy(), self.task.ball.shape(self.width)
        scale = self.step_size * float(self.clip) / _MOST / batches
        for _ in range(self.steps):
            sums = self._sum_gradients(held, weights, sources)
            weights -= scale * (sums + self._draw_noise(len(held), sources))
            project_rows(weights, shape)
        return weights - starts

    def _start_weights(self, parties: Sequence[str], state: State) -> State:
        """Return the weights that parties begin a round with, a row for each."""
        checked = self.task.check_state(state)
        starts = checked if checked.ndim == 1 else checked[self.task.find_places(parties)]
        return np.array(np.broadcast_to(starts, (len(parties), self.width)))

    def find_weights(self, parties: Sequence[str]) -> Weights:
        """Return how many records parties have, publicly."""
        return self.records[self.task.find_places(parties)]

    def advance(self, state: State, found: "RoundSum") -> State:
        """Take the step of the summed gradients, or the mean of the local ones, back into the ball."""
        if not found.accepted:
            return state
        total = found.total.astype(np.float64)
        weight = self.batches[self.task.find_places(found.accepted)].sum()
        if self.steps == 1:
            moved = state - self.step_size * float(self.clip) / _MOST / weight * total
        else:
            moved = state + total * float(self.task.ball.radius) / _MODEL_STEPS / (weight / self.batches.sum())
        return self.task.ball.project(moved)

    def get_weight_noise(self, spread: Fraction) -> float:
        """Return the standard deviation of the noise in a mean gradient."""
        return self.get_noise_scale(float(spread)) / _MOST * float(self.clip) / float(self.batches.sum())

    def describe(self) -> tuple[str, str]:
        """Return the method, and what was run."""
        return "federated SGD", f"{len(self.task.names)} parties, {self.rounds} rounds of {self.steps} steps"

    def _sum_gradients(self, places: list[int], weights: State, sources: "Sequence[Source]") -> NDArray[np.int64]:
        from celosia.federated.updates.local_descent import add_gradients

        task = self.task
        bounds = np.column_stack([task.offsets[places], task.offsets[[place + 1 for place in places]]])
        loss = task.loss
        run = Run(self.step_size, float(self.clip), _MOST, loss.numbers, task.ball.shape(self.width))
        sampled = np.zeros(0, dtype=np.bool_)
        if self.rate < 1:
            sizes = bounds[:, 1] - bounds[:, 0]
            sampled = draw_each(sources, sizes, lambda count, source: bernoulli(self.rate, count, source))
        return add_gradients(task.rows, task.targets, bounds, sampled, weights, run, slope=loss.compiled_slope)

    def _draw_noise(self, parties: int, sources: "Sequence[Source]") -> NDArray[np.int64]:
        if self.ratio == 0:  # whole parties are private, and have noise in their movements
            return np.zeros((parties, self.width), dtype=np.int64)
        normal = DiscreteGaussian((self.ratio * _MOST) ** 2)
        counts = np.full(parties, self.width)
        return draw_each(sources, counts, normal.sample).reshape(parties, self.width)


def draw_each(sources: "Sequence[Source]", counts: NDArray[np.int64], draw: Any) -> NDArray[Any]:
    """Draw so many values from the source of each party; at once where all have the same source."""
    if all(one is sources[0] for one in sources):
        return np.asarray(draw(int(counts.sum()), sources[0]))
    return np.concatenate([draw(int(count), one) for one, count in zip(sources, counts, strict=True)])


def read_sizes(records: int | Mapping[str, int] | None, task: LinearTask) -> NDArray[Any]:
    """Return the public number of records of each party, exactly."""
    if records is None:
        if task.target.adjacency is not ReplaceOne:
            raise ParameterError("federated.records_not_public")
        check_sizes(task)
        return np.array([Fraction(max(1, size)) for size in task.sizes.tolist()], dtype=object)
    if isinstance(records, Mapping):
        missing = sorted(set(task.names) ^ set(records))
        if missing:
            raise ParameterError("federated.records_of_other_parties", name=repr(missing[0]))
        numbers = [exact_integer(records[name], name="records") for name in task.names]
    else:
        numbers = [exact_integer(records, name="records")] * len(task.names)
    return np.array([Fraction(number) for number in numbers], dtype=object)


def build_noise_event(ratio: Fraction, dimension: int, unit: str) -> GaussianEvent:
    """Return the event of noise of ``ratio`` times the longest gradient: one gradient comes or goes."""
    return GaussianEvent(variance=(ratio * _MOST) ** 2, sensitivity_squared=_MOST**2, dimension=dimension, unit=unit)


def compose_steps(event: "Event", target: "Target", rate: Fraction, steps: int) -> "Event":
    """Return the event of steps on samples. Under replace-one, one record is removed and one added."""
    if rate < 1:
        event = PoissonSampledEvent(event=event, probability=rate)
    if steps > 1:
        event = RepeatedEvent(event=event, times=steps)
    return event if target.adjacency is AddRemove else ReplacedEvent(event=event)


@lru_cache(maxsize=256)
def find_noise_ratio(target: "Target", rate: Fraction, steps: int, dimension: int) -> Fraction:
    """Return the least ratio of noise to the longest gradient, to a millionth, with which all steps keep the target.

    >>> from celosia.statistics.base.target import Target
    >>> float(find_noise_ratio(Target.of(rho="0.5"), Fraction(1), 4, 10))
    2.0...
    """
    from celosia.learn.sgd.price import least_noise

    guarantee = target.guarantee
    assert guarantee is not None  # noqa: S101 - for the type checker: the target is private

    def price(noise: float) -> "Event":
        return compose_steps(build_noise_event(Fraction(noise), dimension, target.unit), target, rate, steps)

    found = least_noise(price, guarantee, _MAX_RATIO)
    # Rounded up to a short fraction, so that events are short; more noise never costs more.
    return Fraction(math.ceil(found * 2**20), 2**20)


def _choose_step(dimension: int, steps: int) -> float:
    """Return a step that was good over many data sets: longer where there are more weights, or fewer steps."""
    return max(1.0, min(2.0 * dimension, 30.0 * dimension / steps))
