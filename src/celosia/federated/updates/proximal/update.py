"""Proximal rounds (FedProx, Li and others 2020), in which a party sends a minimum of its own with noise.

Each party minimises the mean loss of its records plus ``mu/2`` times the squared distance to the weights so far, within
the ball. The pull makes the minimum move little when a record is replaced, so that little noise hides the record
(proofs/proximal.md). It also lets parties with different records agree, where plain averaging diverges.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_non_negative, exact_positive
from celosia.federated.contributions import MAX_SUM
from celosia.federated.updates.client_level import ClientPlan
from celosia.federated.updates.linear_task import LinearTask, check_estimator, check_sizes, describe_target, read_task
from celosia.federated.updates.plan import State, Weights
from celosia.federated.updates.proximal.bounds import bound_movement, half_spread, proximal_sensitivity
from celosia.federated.updates.proximal.step import ProximalSolver
from celosia.federated.updates.weights_plan import WeightsPlan
from celosia.mechanisms.grid import fine_step
from celosia.statistics.base.noise import Noise, Sensitivity

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.federated.contributions import RoundSum
    from celosia.federated.parties.party import Party
    from celosia.statistics.base.target import Target

_FINE: Final = 2**14  # integer steps in the way that a replaced record moves a minimum
_TOLERANCES: Final = (Fraction(1, 2**10), Fraction(1, 2**5), Fraction(1))
"""How far from the true minimum a result may be, of that way: more where sums of many records round more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proximal:
    """Proximal rounds for ``LinearRegression`` or ``LogisticRegression`` with two classes, for replace-one.

    Parameters
    ----------
    mu
        The pull towards the weights so far, a public number. More means less noise and shorter steps.
    penalty
        The pull towards 0, on all weights.
    clip
        Where slopes of the loss are cut (Huber's loss, for squares). Left out, a quarter for squares and a half for the
        logistic loss.
    estimator, loss, radius
        As in ``SGD``.

    Examples
    --------
    >>> from celosia.federated import Proximal
    >>> from celosia.learn import LinearRegression
    >>> Proximal(estimator=LinearRegression(bounds=(0, 1), bounds_y=(0, 1)), mu="0.1")
    Proximal(LinearRegression)
    """

    estimator: Any
    mu: Exact
    penalty: Exact = 0
    clip: Exact | None = None
    loss: Any = None
    radius: Exact | None = None

    def __post_init__(self) -> None:
        check_estimator(self.estimator, "Proximal")
        exact_positive(self.mu, name="mu")
        exact_non_negative(self.penalty, name="penalty")

    def __repr__(self) -> str:
        return f"Proximal({type(self.estimator).__name__})"

    def plan(self, parties: "tuple[Party, ...]", privacy: Mapping[str, Any], rounds: int = 1) -> "ProximalPlan":
        """Read and check the records of all parties, and find the noise; nothing is released."""
        given = dict(privacy)
        if given["adjacency"] is None and given["budget"] is None:
            given["adjacency"] = ReplaceOne
        task = read_task(self.estimator, parties, given, loss=self.loss, radius=self.radius)
        if task.target.adjacency is not ReplaceOne:
            raise ParameterError("federated.proximal_needs_replace_one")
        check_sizes(task)
        moved, solver = self._make_solver(task)
        grid = max(fine_step(moved / _FINE), _find_coarsest(task))
        noise = self._find_noise(task, solver, grid, rounds)
        return ProximalPlan(task=task, rounds=rounds, solver=solver, grid=grid, noise=noise)

    def plan_clients(
        self, parties: "tuple[Party, ...]", target: "Target", clip: Fraction, rounds: int = 1
    ) -> ClientPlan:
        """Plan rounds that are private for whole parties: no minimum has noise of its own, and each movement has."""
        task = read_task(self.estimator, parties, describe_target(target), loss=self.loss, radius=self.radius)
        steepest = task.choose_clip(self.clip)
        # Beyond this no party moves, whatever and however many its records are: a longer clip would only cost noise.
        farthest = bound_movement(lipschitz=steepest, mu=self.mu, penalty=self.penalty, radius=task.ball.radius)
        solver = self._solve_to(farthest * _TOLERANCES[0], task, steepest, public=False)
        local = _Movement(task=task, solver=solver)
        longest, how = min(clip, farthest), "federated proximal"
        return ClientPlan(task=task, for_parties=target, rounds=rounds, clip=longest, local=local, how=how)

    def _make_solver(self, task: LinearTask) -> tuple[Fraction, ProximalSolver]:
        """Return how far a replaced record moves a minimum of the largest party, and the solver."""
        convexity = exact_positive(self.mu, name="mu") + exact_non_negative(self.penalty, name="penalty")
        clip = task.choose_clip(self.clip)
        moved = 2 * clip / (max(int(task.sizes.max()), 1) * convexity)
        for part in _TOLERANCES:
            try:
                return moved, self._solve_to(moved * part, task, clip)
            except ParameterError as error:
                if error.code != "federated.mu_too_small" or part == _TOLERANCES[-1]:
                    raise
        raise AssertionError

    def _solve_to(
        self, tolerance: Fraction, task: LinearTask, clip: Fraction, *, public: bool = True
    ) -> ProximalSolver:
        """Return the solver of the parties in this process, chosen for the public sizes of all if there are any."""
        return ProximalSolver(
            task.rows,
            task.targets,
            task.offsets if task.held else [0, 0],
            loss=task.loss,
            mu=self.mu,
            penalty=self.penalty,
            radius=task.ball.radius,
            tolerance=tolerance,
            lipschitz=clip,
            sizes=task.sizes if public else None,
        )

    def _find_noise(self, task: LinearTask, solver: ProximalSolver, grid: Fraction, rounds: int) -> Noise:
        """Return the noise of a round: for the party in whose weighted minimum a record moves most."""
        spread = half_spread(task.loss, task.ball.radius, solver.bound)
        pulls: dict[str, Any] = {"lipschitz": spread, "mu": self.mu, "penalty": self.penalty}
        square = max(
            size**2
            * proximal_sensitivity(size, **pulls, grid=grid, dimension=task.dimension, tolerance=solver.tolerance)
            for size in {max(size, 1) for size in task.sizes.tolist()}
        )
        sensitivity = Sensitivity(l1=math.isqrt(task.dimension * int(square)) + 1, l2_squared=int(square))
        return task.target.noise(sensitivity, task.dimension, Fraction(1, rounds))


def _find_coarsest(task: LinearTask) -> Fraction:
    """Return the least grid on which the weighted minima of all parties, with as much again for noise, fit the sum."""
    most = Fraction(2 * max(int(task.sizes.max()), 1) * len(task.names), MAX_SUM)
    return 2 * fine_step(most * task.ball.radius)  # which rounds down


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Movement:
    """How far the minima of parties are from the weights so far."""

    task: LinearTask
    solver: ProximalSolver

    def descend(self, parties: Sequence[str], state: State, sources: "Sequence[Source]") -> State:  # noqa: ARG002 - exact
        """Return how far the weights of parties move from the state, a row for each."""
        starts = _start_weights(self.task, state)
        return (self.solver.step(starts)[0] - starts)[self.task.find_held(parties)]


def _start_weights(task: LinearTask, state: State) -> State:
    """Return the weights that the parties in this process begin a round with."""
    starts = task.check_state(state)
    return starts if starts.ndim == 1 else starts[task.find_places(task.held)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProximalPlan(WeightsPlan):
    """Planned proximal rounds: minima of all parties, in steps of ``grid``, times their numbers of records."""

    task: LinearTask
    rounds: int
    solver: ProximalSolver = field(repr=False)
    grid: Fraction
    noise: Noise

    def compute(
        self,
        parties: Sequence[str],
        state: State,
        sources: "Sequence[Source]",  # noqa: ARG002 - minima are exact
    ) -> Sequence[NDArray[np.int64] | None]:
        """Return the minima of parties; None for one whose minimum is not certified."""
        weights, distances = self.solver.step(_start_weights(self.task, state))
        # The grid is a power of two and the numbers of records are integers, so that only the rounding rounds.
        steps = np.rint(weights / float(self.grid)).astype(np.int64) * np.diff(self.task.offsets)[:, None]
        places = self.task.find_held(parties)
        return [steps[place] if distances[place] <= self.solver.tolerance else None for place in places]

    def find_weights(self, parties: Sequence[str]) -> Weights:
        """Return how many records parties have, which is public."""
        return np.maximum(self.task.sizes[self.task.find_places(parties)], 1)

    def find_center(self, state: State) -> State:
        """Return the weights so far, in steps."""
        return np.asarray(state / float(self.grid))

    def advance(self, state: State, found: "RoundSum") -> State:
        """Return the mean of the minima, back in the ball."""
        if not found.accepted:
            return state
        records = max(int(self.task.sizes[self.task.find_places(found.accepted)].sum()), 1)
        return self.task.ball.project(found.total.astype(np.float64) * float(self.grid) / records)

    def get_weight_noise(self, spread: Fraction, state: State) -> float:  # noqa: ARG002 - the same in all
        """Return the standard deviation of the noise in a weight, after a round."""
        return self.get_noise_scale(float(spread)) * float(self.grid) / max(int(self.task.sizes.sum()), 1)

    def describe(self) -> tuple[str, str]:
        """Return the method, and what was run."""
        return "federated proximal", f"{len(self.task.names)} parties, {self.rounds} rounds"
