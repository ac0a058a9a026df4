"""Federated averaging with differentially private gradient descent at each party (McMahan 2017, Abadi 2016).

In every step a party takes each of its records with the same probability, cuts the gradient of each to one length, adds
them as integers, and adds Gaussian noise. With one step a round it sends that sum; with several it descends by itself
and sends how far its weights have moved. A first round releases noised moments instead, by which rows are centred and
scaled. The noise follows from the target, the probability and the number of all steps, by the accountant, before the
first round.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, exact_positive, exact_probability, safe_repr
from celosia.federated.updates.client_level import ClientPlan
from celosia.federated.updates.linear_task import LinearTask, check_estimator, check_sizes, describe_target, read_task
from celosia.federated.updates.moments.plan import MomentsPlan, find_moments
from celosia.federated.updates.plan import UpdatePlan
from celosia.federated.updates.sgd_plan import SGDPlan, find_noise_ratio
from celosia.learn.optimize.losses import LogisticLoss
from celosia.learn.optimize.projections import Ball

if TYPE_CHECKING:
    from celosia.federated.parties.party import Party
    from celosia.statistics.base.target import Target

_CLIP: Final = Fraction(1, 8)  # shorter than gradients of most records: they count by their direction
_WIDEST: Final = 64  # norms of a row: weights of classes may be large, for the price does not depend on the ball
_MOMENTS: Final = Fraction(3, 20)  # more of the budget only helps where there is much of it
_LEAST_ROUNDS: Final = 2  # of moments and a step
_BEYOND: Final = 20  # times its clip that a party would move, with the longest gradients


@dataclass(frozen=True, slots=True, kw_only=True)
class SGD:
    """Private gradient descent for ``LinearRegression`` or ``LogisticRegression`` with two classes.

    Parameters
    ----------
    estimator
        What is learned, with public bounds and classes. The federation sets its privacy parameters.
    steps
        Local steps of a party in each round. With one, the server takes the step from the sum of all gradients.
    control_variates
        Whether local steps are corrected by how gradients of parties differ, as in SCAFFOLD. It costs no privacy and no
        message, and needs several steps, a server, and messages that it sees one by one.
    sampling_rate
        The probability with which a record is in a step's sample; the sample stays secret.
    step_size
        The length of a step. Left out, it follows from the noise and the number of steps; without moments, between 1
        and twice the number of weights. For classes and whole parties, so long that a party's movement is mostly cut to
        the clip of ``ClientLevel``.
    clip
        The length to which gradients of records are cut. Left out, it follows from the noise; without moments, an
        eighth. That is shorter than gradients of most records, which then count by their direction. For classes and
        whole parties none is cut.
    records
        How many records each party has, publicly: a number for all, or by name. Left out, noised numbers among the
        moments, or the true ones where ``adjacency="replace-one"`` makes them public. They only weigh parties and
        scale steps.
    moments
        The share of the budget for the first round, in which parties release noised numbers of records, and sums and
        squares of columns. Rows are then centred and scaled, and all that is left out above follows. 0: no such round.
        Left out, 3/20, but 0 with one round, over a ``topology``, and for ``ClientLevel``, where parties have no total
        in common, or moments would not be of records.
    loss
        A loss of ``celosia.learn.optimize.losses`` instead of the estimator's.
    radius
        The radius of the ball in which weights stay: for rows of a length of about 1 after moments, and for centred
        rows no longer than 1 without.

    Examples
    --------
    >>> from celosia.federated import SGD
    >>> from celosia.learn import LogisticRegression
    >>> SGD(estimator=LogisticRegression(bounds=(0, 1), classes=[0, 1]), sampling_rate="0.1", records=500).steps
    1
    """

    estimator: Any
    steps: int = 1
    control_variates: bool = False
    sampling_rate: Exact = 1
    step_size: Exact | None = None
    clip: Exact | None = None
    records: int | Mapping[str, int] | None = None
    moments: Exact | None = None
    loss: Any = None
    radius: Exact | None = None

    def __post_init__(self) -> None:
        check_estimator(self.estimator, "SGD")
        exact_integer(self.steps, name="steps")
        if not isinstance(self.control_variates, bool):
            raise ParameterError("core.not_a_boolean", name="control_variates", value=safe_repr(self.control_variates))
        if self.control_variates and self.steps == 1:
            raise ParameterError("federated.variates_need_steps")
        if exact_probability(self.sampling_rate, name="sampling_rate") == 0:
            raise ParameterError("federated.sampling_rate_zero")
        if self.moments is not None and exact_probability(self.moments, name="moments") == 1:
            raise ParameterError("federated.moments_take_all")

    def __repr__(self) -> str:
        return f"SGD({type(self.estimator).__name__})"

    def plan(self, parties: "tuple[Party, ...]", privacy: Mapping[str, Any], rounds: int = 1) -> UpdatePlan:
        """Read and check the records of all parties, and find the noise; nothing is released."""
        task = read_task(self.estimator, parties, privacy, loss=self.loss, radius=self.radius, widest=_WIDEST)
        if task.target.kind == "pure":
            raise ParameterError("federated.gradients_need_delta")
        rate = exact_probability(self.sampling_rate, name="sampling_rate")
        if task.target.rho is not None and rate < 1:
            raise ParameterError("federated.samples_need_epsilon")
        share = self._find_share(rounds, server=bool(privacy.get("server", True)))
        records = _read_sizes(self.records, task, counted=share > 0)
        if share > 0:
            return self._correct(self._plan_moments(task, rounds, share, records))
        assert records is not None  # noqa: S101 - for the type checker: only moments count them
        ratio = find_noise_ratio(task.target, rate, rounds * int(self.steps), task.dimension)
        return self._correct(SGDPlan(**self._choose(task, rounds), ratio=ratio, records=records))

    def _correct(self, plan: SGDPlan) -> UpdatePlan:
        if not self.control_variates:
            return plan
        from celosia.federated.updates.control_variates import ControlVariatesPlan

        return ControlVariatesPlan(inner=plan)

    def _find_share(self, rounds: int, *, server: bool) -> Fraction:
        """Return the share of the moments; refuse one where there can be no moments."""
        possible = server and rounds >= _LEAST_ROUNDS
        share = _MOMENTS * possible if self.moments is None else exact_probability(self.moments, name="moments")
        if share > 0 and not possible:
            raise ParameterError("federated.moments_need_total", least=_LEAST_ROUNDS)
        return share

    def _plan_moments(
        self, task: LinearTask, rounds: int, share: Fraction, records: NDArray[np.int64] | None
    ) -> MomentsPlan:
        chosen = self._choose(task, rounds)
        columns, steps = len(task.scaling.middles) + 1, (rounds - 1) * int(self.steps)
        ratio, sums = find_moments(task.target, chosen["rate"], steps, columns, share, counts=records is None)
        if self.radius is None:
            task = replace(task, ball=Ball(_WIDEST))
        clip = None if self.clip is None else float(exact_positive(self.clip, name="clip"))
        step = None if self.step_size is None else chosen["step_size"]
        return MomentsPlan(
            **(chosen | {"task": task}),
            ratio=ratio,
            records=np.ones(len(task.names), dtype=np.int64) if records is None else records,
            knows_records=records is not None,
            moments=sums,
            chosen=(clip, step),
        )

    def plan_clients(
        self, parties: "tuple[Party, ...]", target: "Target", clip: Fraction, rounds: int = 1
    ) -> ClientPlan:
        """Plan rounds that are private for whole parties: no gradient has noise, and each movement has."""
        task = read_task(
            self.estimator, parties, describe_target(target), loss=self.loss, radius=self.radius, widest=_WIDEST
        )
        if self.moments is not None and exact_probability(self.moments, name="moments") > 0:
            raise ParameterError("federated.moments_for_records")
        chosen = self._choose(task, rounds, reach=_BEYOND * clip)
        local = SGDPlan(**chosen, ratio=Fraction(0), records=np.maximum(task.sizes, 1))
        return ClientPlan(task=task, for_parties=target, rounds=rounds, clip=clip, local=local, how="federated SGD")

    def _choose(self, task: LinearTask, rounds: int, *, reach: Fraction | None = None) -> dict[str, Any]:
        """Return what all plans have in common; ``reach`` is how far parties that are private as a whole should go.

        No gradient has noise of its own there, and noise hides the longest movement, so short ones are a waste. But
        long steps overshoot where slopes grow with the weights: it is for the logistic loss only.
        """
        steps = exact_integer(self.steps, name="steps")
        led = reach is not None and isinstance(task.loss, LogisticLoss)
        clip = task.choose_clip(self.clip, task.steepest if led else _CLIP)
        usual = float(reach / (clip * steps)) if led and reach else _choose_step(task.dimension, rounds * steps)
        return {
            "task": task,
            "rounds": rounds,
            "steps": steps,
            "rate": exact_probability(self.sampling_rate, name="sampling_rate"),
            "clip": clip,
            "step_size": usual if self.step_size is None else float(exact_positive(self.step_size, name="step_size")),
        }


def _read_sizes(
    records: int | Mapping[str, int] | None, task: LinearTask, *, counted: bool
) -> NDArray[np.int64] | None:
    """Return the public number of records of each party; None where they are private, and counted with noise."""
    if records is None:
        if task.target.adjacency is ReplaceOne:
            check_sizes(task)
            return np.maximum(task.sizes, 1)
        if not counted:
            raise ParameterError("federated.records_not_public")
        return None
    if isinstance(records, Mapping):
        missing = sorted(set(task.names) ^ set(records))
        if missing:
            raise ParameterError("federated.records_of_other_parties", name=safe_repr(missing[0]))
        return np.array([exact_integer(records[name], name="records") for name in task.names])
    return np.full(len(task.names), exact_integer(records, name="records"))


def _choose_step(dimension: int, steps: int) -> float:
    """Return a step that was good over many data sets: longer where there are more weights, or fewer steps."""
    return max(1.0, min(2.0 * dimension, 30.0 * dimension / steps))
