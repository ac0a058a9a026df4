"""Privacy-loss distributions of whole compositions, as upper bounds.

The losses of a composition add, so the distribution of their sum, on a grid, gives delta for each epsilon (Sommer,
Meiser and Mohammadi 2019; Koskela, Jälkö and Honkela 2020). The grid rounds upwards (``discretise``), the convolution
adds a bound of its rounding error (``convolution``, through dp-accounting), and delta is read off by sums of positive
terms (``curve``): results are never below the truth. They are valid for events declared beforehand, not as a rule for
stopping. The argument is in ``proofs/loss-distributions.md``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from celosia.accounting.checks import Array, check_epsilons
from celosia.accounting.pld.curve import Curve
from celosia.accounting.pld.discretise import Cells, Pair
from celosia.accounting.pld.grid import Grid, chosen_grid, composed
from celosia.accounting.pld.loss_atoms import Atoms
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr

_UNIT = 2.0**-53
_MIN_CELLS, _MAX_CELLS = 2**14, 2**24  # below, bounds are loose; above, memory is short
_MAX_TIMES = 2**50  # the relative rounding of 2^-46 a step is then a factor of e^16


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class LossDistribution:
    """The privacy-loss distribution of a composition, in both directions, on a grid of losses."""

    forward: Curve
    backward: Curve

    @classmethod
    def of(
        cls, pairs: Sequence[tuple[Pair, Pair, int]], *, interval: float | None = None, cells: int = 2**20
    ) -> "LossDistribution":
        """Compose pairs, each given with the pair of the other direction and the number of repetitions.

        Parameters
        ----------
        pairs
            Forward pair, backward pair (the same where the order of neighbours does not matter), repetitions.
        interval
            Distance of the grid points; chosen when left out.
        cells
            About the most grid points that a chosen interval may need.
        """
        counted = _count_pairs(pairs)
        _check_grid(interval, cells)
        ways = [[(pair[way], times) for pair, times in counted.items()] for way in (0, 1)]
        if all(_same(forward, backward) for forward, backward in counted):
            ways = ways[:1]
        grid = chosen_grid(ways, cells) if interval is None else Grid.plain(float(interval))
        curves = [Curve(composed(way, grid)) for way in ways]
        return cls(forward=curves[0], backward=curves[-1])

    @property
    def interval(self) -> float:
        """The distance of the grid points."""
        return self.forward.cells.interval

    @property
    def floor(self) -> float:
        """The smallest delta that can be certified."""
        return max(self.forward.floor, self.backward.floor)

    def profile(self, epsilons: ArrayLike) -> Array:
        """Return an upper bound of delta at each epsilon, the larger of both directions."""
        values = check_epsilons(epsilons)
        forward = self.forward.delta(values)
        return forward if self.backward is self.forward else np.maximum(forward, self.backward.delta(values))

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of delta at ``epsilon``."""
        if isinstance(epsilon, bool) or not math.isfinite(epsilon):
            raise ParameterError("accounting.epsilon_not_finite", epsilon=safe_repr(epsilon))
        return float(self.profile(np.array([float(epsilon)]))[0])

    def epsilon(self, delta: float) -> float:
        """Return an upper bound of the smallest epsilon, at least 0, for ``delta``."""
        if isinstance(delta, bool) or not 0 < delta < 1:
            raise ParameterError("core.delta_not_a_fraction", delta=safe_repr(delta))
        forward = self.forward.epsilon(float(delta))
        return forward if self.backward is self.forward else max(forward, self.backward.epsilon(float(delta)))

    def atoms(self) -> tuple[Atoms, Atoms]:
        """Return the composition as a dominating pair and as the pair of the other direction.

        Losses above 0 have the masses of the forward distribution, those below 0 of the backward one, each where it is
        precise. The rest in the middle is split between its two ends, which only raises the profile, because it is
        convex.
        """
        if (found := self._merged(0)) is None:
            narrow, width = 0, 1
            while (found := self._merged(width)) is None:
                narrow, width = width, 2 * width
            while width - narrow > 1:  # the narrowest middle loses least
                middle = (narrow + width) // 2
                merged = self._merged(middle)
                narrow, width, found = (middle, width, found) if merged is None else (narrow, middle, merged)
        return found, found.swap()

    def _merged(self, width: int) -> Atoms | None:
        """Merge both directions, with a middle from ``-width`` to ``width`` cells; None where their errors overlap."""
        interval = self.interval
        up, up_p = _beyond(self.forward.cells, width)
        down, down_q = _beyond(self.backward.cells, width)
        down_p = down_q * np.exp(-down * interval)
        infinity, missing = min(1.0, self.forward.cells.infinity), min(1.0, self.backward.cells.infinity)
        # What P has in the middle more than Q, from the two divergences at 0: its digits do not depend on those of 1.
        surplus = missing - float(down_q @ np.expm1(-down * interval))
        surplus -= infinity - float(up_p @ np.expm1(-up * interval))
        middle = _middle(
            1.0 - infinity - float(up_p.sum()) - float(down_p.sum()),
            surplus,
            max(width, 1) * interval,
            centred=width == 0,
        )
        if min(middle) < 0:
            return None
        ends = np.array([-1, 0, 1]) * max(width, 1)
        places, where = np.unique(np.concatenate([-down, ends, up]), return_inverse=True)
        masses: Array = np.bincount(where, np.concatenate([down_p, middle, up_p])).astype(np.float64)
        return Atoms(losses=places * interval, masses=masses, infinity=infinity, missing=missing)


def _middle(p: float, surplus: float, end: float, *, centred: bool) -> tuple[float, float, float]:
    """Return P-masses at the losses -end, 0 and end that sum to ``p``, under Q to ``p - surplus``; negative: none.

    Centred, as much as possible lies at 0: this keeps an atom that is there.
    """
    if centred:
        high = max(surplus, 0.0) / -math.expm1(-end)
        low = max(-surplus, 0.0) / math.expm1(min(end, 700.0))
        return low, p - low - high, high
    part, scale = -math.expm1(-end), -math.expm1(-2 * end)
    return math.exp(-end) * (p * part - surplus) / scale, 0.0, (surplus + (p - surplus) * part) / scale


def _beyond(cells: Cells, width: int) -> tuple[Array, Array]:
    """Return the places above ``width`` on the grid that have a mass, and the masses."""
    index = np.arange(max(cells.first, width + 1), cells.first + len(cells.masses))
    masses = cells.masses[index - cells.first] if len(index) else np.zeros(0)
    kept = masses > 0
    return index[kept].astype(np.float64), masses[kept]


def _count_pairs(pairs: Sequence[tuple[Pair, Pair, int]]) -> dict[tuple[Pair, Pair], int]:
    counted: dict[tuple[Pair, Pair], int] = {}
    for forward, backward, times in pairs:
        counted[forward, backward] = counted.get((forward, backward), 0) + exact_integer(times, name="times")
    if not counted:
        raise ParameterError("accounting.no_pairs")
    if sum(counted.values()) > _MAX_TIMES:
        raise ParameterError("accounting.too_many_compositions")
    return counted


def _check_grid(interval: float | None, cells: int) -> None:
    if interval is not None and (isinstance(interval, bool) or not 0 < interval < math.inf):
        raise ParameterError("accounting.interval_not_positive", interval=safe_repr(interval))
    if not _MIN_CELLS <= exact_integer(cells, name="cells") <= _MAX_CELLS:
        raise ParameterError("accounting.cells_out_of_range", least=_MIN_CELLS, most=_MAX_CELLS, cells=safe_repr(cells))


def _same(one: Pair, other: Pair) -> bool:
    """Return whether two pairs are equal up to rounding, which the margins of the grid cover."""
    if one is other or not (isinstance(one, Atoms) and isinstance(other, Atoms)):
        return one == other
    return (
        one.losses.shape == other.losses.shape
        and bool(np.all(np.abs(one.losses - other.losses) <= 8 * _UNIT * np.abs(one.losses)))
        and bool(np.all(np.abs(one.masses - other.masses) <= 64 * _UNIT * one.masses))
        and abs(one.infinity - other.infinity) <= 16 * _UNIT * one.infinity
    )
