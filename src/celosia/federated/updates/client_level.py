"""Privacy for whole parties: what all records of one party together reveal, however many they are.

A party trains as it likes, and sends how far its weights have moved, cut to a length in integers. Whatever its records
are, that is all they can change, so noise for twice the length hides them (McMahan, Ramage, Talwar and Zhang 2018). It
is meant for many parties under masks; by itself the message of a party has a whole noise. Who takes part is public.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_adjacency, exact_positive
from celosia.core.guarantees import ApproxDP
from celosia.core.messages.message import name_unit
from celosia.federated.updates.plan import Integers, State, Weights
from celosia.federated.updates.weights_plan import WeightsPlan
from celosia.ledger.budget_account import as_account
from celosia.mechanisms.grid import fine_step
from celosia.statistics.base.noise import Noise, Sensitivity
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.federated.contributions import RoundSum
    from celosia.federated.updates.linear_task import LinearTask

_FINE: Final = 2**20  # integer steps in the longest movement
_BELOW: Final = 1 - 2.0**-30  # lengths are cut a little shorter than allowed, and then compared in integers


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class ClientLevel:
    """Privacy for whole parties, whose weights move by at most ``clip`` in a round.

    The unit is the party: budgets are for ``unit="party"`` and replace-one.

    >>> ClientLevel(clip="0.5")
    ClientLevel(clip=Fraction(1, 2))
    """

    clip: Fraction

    def __init__(self, *, clip: Exact) -> None:
        object.__setattr__(self, "clip", exact_positive(clip, name="clip"))

    def find_target(self, privacy: Mapping[str, Any]) -> "Target":
        """Return the privacy target for whole parties; refuse other neighbours, and a budget for others."""
        if privacy["adjacency"] is not None and exact_adjacency(privacy["adjacency"]) is not ReplaceOne:
            raise ParameterError("federated.parties_need_replace_one")
        limit = None if privacy["budget"] is None else as_account(privacy["budget"]).limit
        if limit is not None and (limit.unit, limit.adjacency) != ("party", ReplaceOne):
            raise ParameterError("federated.budget_not_for_parties", unit=name_unit(limit.unit))
        target = Target.of(
            epsilon=privacy["epsilon"],
            delta=privacy["delta"],
            rho=privacy["rho"],
            adjacency=ReplaceOne,
            unit="party",
            exact=limit is None or isinstance(limit, ApproxDP),
        )
        return replace(target, gaussian=privacy["gaussian"])


class LocalTraining(Protocol):
    """What parties do by themselves."""

    @abstractmethod
    def descend(self, parties: Sequence[str], state: State, sources: "Sequence[Source]") -> State:
        """Return how far the weights of parties move from the state, a row for each."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClientPlan(WeightsPlan):
    """Planned rounds of movements, of length ``clip`` at most, in steps of a grid."""

    task: "LinearTask"
    for_parties: "Target"
    rounds: int
    clip: Fraction
    local: LocalTraining = field(repr=False)
    how: str

    @property
    def target(self) -> "Target":
        """The privacy target of all rounds."""
        return self.for_parties

    @property
    def grid(self) -> Fraction:
        """The size of an integer step: a power of two."""
        return fine_step(self.clip / _FINE)

    @cached_property
    def noise(self) -> Noise:
        """The noise of a round: two movements are at most twice the clip apart."""
        most = 2 * self._most
        sensitivity = Sensitivity(l1=math.isqrt(self.width * most**2) + 1, l2_squared=most**2)
        return self.target.noise(sensitivity, self.width, Fraction(1, self.rounds))

    def compute(self, parties: Sequence[str], state: State, sources: "Sequence[Source]") -> Sequence[Integers | None]:
        """Return how far the weights of parties move, cut to the length."""
        moved = self.local.descend(parties, state, sources)
        moved = np.where(np.isfinite(moved), moved, 0.0)
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        # Whole steps of the grid: a clip that is none would leave a party whose movement is cut to it beyond the most.
        longest = self._most * float(self.grid) * _BELOW
        cut = moved * np.minimum(1.0, longest / np.maximum(lengths, longest))
        steps = np.trunc(cut / float(self.grid)).astype(np.int64)
        steps[(steps**2).sum(axis=1) > self._most**2] = 0  # never, but compared in integers
        return list(steps)

    def find_weights(self, parties: Sequence[str]) -> Weights:
        """Return 1 for each: all parties weigh the same."""
        return np.ones(len(parties), dtype=np.int64)

    def find_center(self, state: State) -> State:  # noqa: ARG002 - no movement is the same for all states
        """Return no movement."""
        return np.zeros(self.width)

    def advance(self, state: State, found: "RoundSum") -> State:
        """Return the weights after the mean movement, back in the ball."""
        if not found.accepted:
            return state
        mean = found.total.astype(np.float64) * float(self.grid) / len(found.accepted)
        return self.task.ball.project(state + mean)

    def get_weight_noise(self, spread: Fraction, state: State) -> float:  # noqa: ARG002 - the same in all
        """Return the standard deviation of the noise in a weight, after a round."""
        return self.get_noise_scale(float(spread)) * float(self.grid) / len(self.task.names)

    def describe(self) -> tuple[str, str]:
        """Return the method, and what was run."""
        return self.how, f"{len(self.task.names)} parties, {self.rounds} rounds, private for whole parties"

    @property
    def _most(self) -> int:
        """The longest movement in integer steps."""
        return math.floor(self.clip / self.grid)
