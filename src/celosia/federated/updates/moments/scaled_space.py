"""The space in which rounds descend after noised moments: columns centred and scaled, and what else follows publicly.

Rows are as long as 1 in the mean, and cut where they are far longer. How long a step is, where gradients are cut and
how parties weigh follow from the moments and from the noise of the rounds. All of it is one array of numbers that goes
from round to round with the weights, so that every party computes from the same, and refuses what cannot be.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import InputError

if TYPE_CHECKING:
    from celosia.federated.updates.linear_task import LinearTask
    from celosia.federated.updates.moments.sums import Moments

Floats = NDArray[np.float64]

_INTERCEPT: Final = 0.5  # the entry of every row for the intercept
_FARTHEST: Final = 3.0  # where rows are cut
_LOUD: Final = 0.02  # the noise of all steps in their mean, in cut gradients, below which gradients are cut later
_SMALLEST: Final = 2.0**-60  # of lengths and sizes that divide, in a state that others send
_LARGEST: Final = 2.0**60
_FIXED: Final = 5  # numbers of a state before those of parties: the kind, clip, step, middle and spread of a target
_MAX_ODDS: Final = 0.9  # of a difference of shares of two classes, from which the intercept starts


class Pace(NamedTuple):
    """How gradients are cut and how far a step moves: constants that were good over many data sets.

    Gradients are cut between ``clip`` and ``longest``. A step moves by ``reach`` over the noise of all steps, but no
    farther than ``farthest``.
    """

    clip: float
    longest: float
    reach: float
    farthest: float


_CLASSES: Final = Pace(0.125, 0.5, 4.0, 8.0)  # far along a direction: its length hardly matters
_NUMBERS: Final = Pace(0.35, 1.4, 0.57, 1.25)  # in cut gradients: squares are as curved as rows are long


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaledSpace:
    """Public numbers of all rounds after the first, and the way to and from a state.

    A target that is a number is taken less ``middle`` and over ``spread``.
    """

    clip: float
    step_size: float
    middle: float
    spread: float
    sizes: Floats
    centres: Floats
    spreads: Floats

    @classmethod
    def of(
        cls,
        moments: "Moments",
        task: "LinearTask",
        *,
        loudness: float,
        steps: int,
        clip: float | None,
        step_size: float | None,
        scales_target: bool,
    ) -> "ScaledSpace":
        """Return the space that moments tell.

        ``loudness`` is the standard deviation of the noise in the mean of a step's gradients, in longest ones.
        """
        numbers, loud = task.model.learns == "number", loudness / math.sqrt(steps)
        pace, unit = _NUMBERS if numbers else _CLASSES, 1.0
        if numbers and not scales_target:
            unit = float(moments.spreads[-1])
        cut = unit * min(pace.longest, pace.clip * max(1.0, _LOUD / loud)) if clip is None else clip
        farthest = pace.farthest * (cut if numbers else 1.0)
        moved = min(farthest, pace.reach * unit / (loud * steps))
        centred = bool(task.scaling.intercept)
        return cls(
            clip=cut,
            step_size=moved / cut if step_size is None else step_size,
            middle=float(moments.centres[-1]) if scales_target and centred else 0.0,
            spread=float(moments.spreads[-1]) if scales_target else 1.0,
            sizes=np.clip(moments.sizes, 1.0, _LARGEST),
            centres=moments.centres[:-1] * centred,
            spreads=moments.spreads[:-1],
        )

    @staticmethod
    def find_size(task: "LinearTask") -> int:
        """Return how many numbers a state has."""
        return _FIXED + len(task.names) + 2 * _count_features(task) + task.dimension

    def start(self, moments: "Moments", task: "LinearTask") -> Floats:
        """Return the first weights: 0, or those of the shares of two classes."""
        weights = np.zeros(task.dimension)
        if task.model.learns != "number" and task.scaling.intercept:  # half way: shares are noisy
            odds = math.atanh(min(max(float(moments.centres[-1]), -_MAX_ODDS), _MAX_ODDS))
            weights[-1] = odds / _INTERCEPT
        return weights

    def pack(self, weights: Floats) -> Floats:
        """Return the state with these weights."""
        fixed = [1.0, self.clip, self.step_size, self.middle, self.spread]
        return np.concatenate([fixed, self.sizes, self.centres, self.spreads, weights])

    @classmethod
    def read(cls, state: object, task: "LinearTask") -> "tuple[ScaledSpace, Floats] | None":
        """Return the space and the weights of a state, or None for that before the first round; refuse any other."""
        size = cls.find_size(task)
        if not isinstance(state, np.ndarray) or state.dtype != np.float64 or state.shape != (size,):
            raise _refuse(task)
        if not state.any():
            return None
        ends = np.cumsum([_FIXED, len(task.names), _count_features(task), _count_features(task)])
        fixed, sizes, centres, spreads, weights = np.split(state, ends)
        kind, clip, step_size, middle, spread = fixed.tolist()
        positive = np.concatenate([[clip, step_size, spread], sizes, spreads])
        usable = (
            kind == 1.0
            and bool(((positive >= _SMALLEST) & (positive <= _LARGEST)).all())  # not if one is NaN
            and bool((np.abs([middle, *centres]) <= 1.0).all())
        )
        if not usable:
            raise _refuse(task)
        found = cls(
            clip=clip,
            step_size=step_size,
            middle=middle,
            spread=spread,
            sizes=sizes,
            centres=centres,
            spreads=spreads,
        )
        return found, task.check_state(weights)

    def scale(self, task: "LinearTask") -> tuple[Floats, Floats]:
        """Return the rows and targets of a task in this space."""
        count = len(self.centres)
        rows = task.rows[:, :count] * (task.scaling.norm / self._lengths) - self.centres / self._lengths
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        rows *= np.minimum(1.0, _FARTHEST / np.maximum(lengths, _FARTHEST))[:, None]
        if task.scaling.intercept:
            rows = np.column_stack([rows, np.full(len(rows), _INTERCEPT)])
        return np.ascontiguousarray(rows), (task.targets - self.middle) / self.spread

    def unscale(self, weights: Floats, task: "LinearTask") -> Floats:
        """Return weights for the rows and targets of a task as they are without this space."""
        count, norm = len(self.centres), task.scaling.norm
        slopes = weights[:count] * self.spread / self._lengths
        found = np.empty_like(weights)
        found[:count] = slopes * norm
        if task.scaling.intercept:
            found[-1] = norm * (self.middle + self.spread * _INTERCEPT * weights[-1] - slopes @ self.centres)
        return found

    @property
    def _lengths(self) -> Floats:
        """What centred columns are divided by."""
        return self.spreads * math.sqrt(len(self.spreads))


def _count_features(task: "LinearTask") -> int:
    return len(task.scaling.middles)


def _refuse(task: "LinearTask") -> InputError:
    return InputError("federated.state_not_usable", weights=task.dimension, radius=float(task.ball.radius))
