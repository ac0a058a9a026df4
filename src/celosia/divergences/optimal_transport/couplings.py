"""Couplings: joint distributions of two given ones, also read as plans that carry the one into the other.

A plan states how much of each point of p goes to each point of q. The product moves everything everywhere; the monotone
one pairs quantiles on the line and is optimal for every convex cost there; the maximal one leaves in place all that can
stay, so that the two sides differ with probability equal to their total variation; the optimal one is cheapest for a
given cost (Villani 2003). ``witness`` gives the coupling that shows W_infinity <= s (lemma 4.2 of Estrada Franco 2025).
"""

import bisect
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.divergences.distributions.arguments import as_array, as_number, as_probabilities
from celosia.divergences.distributions.discrete import Discrete, align, exact_masses, same_dimension
from celosia.divergences.distributions.families import Bernoulli
from celosia.divergences.distributions.samples import Samples
from celosia.divergences.optimal_transport.transport import distances, transport

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
_SLACK = 1e-12  # relative to the radius: distances are rounded too
_MAX_ORDER = 64.0  # an order at which the farthest way decides alone
_FORBIDDEN_COST = 1e3  # a cost beside the 1 of the unit that no more than a thousandth of the mass can bear
_PROGRAMME_TOLERANCE = 1e-9  # mass below the tolerance of the linear programme


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coupling:
    """A joint distribution of p and q: ``masses[k]`` goes from point ``rows[k]`` of p to point ``columns[k]`` of q.

    >>> coupling = product_coupling([0.5, 0.5], [0.25, 0.75])
    >>> coupling.plan.tolist()
    [[0.125, 0.375], [0.125, 0.375]]
    """

    p: Discrete
    q: Discrete
    rows: "NDArray[np.int64]"
    columns: "NDArray[np.int64]"
    masses: "NDArray[np.float64]"

    @property
    def plan(self) -> "NDArray[np.float64]":
        """The plan as a matrix, one row per point of p.

        >>> maximal_coupling([0.5, 0.5], [0.25, 0.75]).plan.tolist()
        [[0.25, 0.25], [0.0, 0.5]]
        """
        matrix = np.zeros((len(self.p.points), len(self.q.points)))
        np.add.at(matrix, (self.rows, self.columns), self.masses)
        return matrix

    @property
    def marginals(self) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """The mass that the plan takes from each point of p and brings to each point of q.

        >>> [side.tolist() for side in product_coupling([0.5, 0.5], [0.25, 0.75]).marginals]
        [[0.5, 0.5], [0.25, 0.75]]
        """
        taken = np.bincount(self.rows, weights=self.masses, minlength=len(self.p.points))
        brought = np.bincount(self.columns, weights=self.masses, minlength=len(self.q.points))
        return np.asarray(taken, dtype=np.float64), np.asarray(brought, dtype=np.float64)

    @property
    def reach(self) -> float:
        """The farthest that any mass is carried: the essential supremum of the Euclidean distance.

        >>> monotone_coupling(Samples([0, 1]), Samples([1, 3])).reach
        2.0
        """
        return float(self._lengths().max())

    @property
    def disagreement(self) -> float:
        """The probability that the two sides differ.

        >>> maximal_coupling([0.5, 0.5], [0.25, 0.75]).disagreement
        0.25
        """
        return float(self.masses[self._lengths() > 0].sum())

    def cost(self, costs: "ArrayLike") -> float:
        """Return the mean of a cost matrix under the plan.

        >>> product_coupling([0.5, 0.5], [0.25, 0.75]).cost([[0, 1], [1, 0]])
        0.5
        """
        matrix = as_array(costs, name="costs", dimensions=(2,))
        if matrix.shape != (len(self.p.points), len(self.q.points)):
            raise ParameterError("divergences.wrong_coupling_costs_shape", shape=matrix.shape)
        return float(matrix[self.rows, self.columns] @ self.masses)

    def _lengths(self) -> "NDArray[np.float64]":
        moved: NDArray[np.float64] = np.linalg.norm(self.p.rows[self.rows] - self.q.rows[self.columns], axis=1)
        return moved[self.masses > 0]


def product_coupling(p: object, q: object) -> Coupling:
    """Return the coupling of independent sides. Table 4.1 of Estrada Franco 2025:

    >>> product_coupling([0.75, 0.10, 0.10, 0.05], [0.75, 0.25]).plan.round(4).tolist()
    [[0.5625, 0.1875], [0.075, 0.025], [0.075, 0.025], [0.0375, 0.0125]]
    """  # noqa: D400 - the sentence ends in the example
    return _from_plan(*(sides := _sides(p, q)), np.outer(sides[0].probabilities, sides[1].probabilities))


def maximal_coupling(p: object, q: object) -> Coupling:
    """Return a coupling under which the sides are equal as often as possible, on the union of their points.

    >>> maximal_coupling([0.75, 0.25], [0.25, 0.75]).disagreement
    0.5
    """
    left, right = align(*_sides(p, q))
    common = np.minimum(left.probabilities, right.probabilities)
    surplus, need = left.probabilities - common, right.probabilities - common
    moved = surplus.sum()
    plan = np.diag(common) + (np.outer(surplus, need) / moved if moved > 0 else 0.0)
    return _from_plan(left, right, plan)


def monotone_coupling(p: object, q: object) -> Coupling:
    """Return the coupling of equal quantiles on the line.

    >>> monotone_coupling(Samples([3, 1]), Samples([5, 2])).plan.tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    left, right = _sides(p, q)
    if same_dimension(left, right) != 1:
        raise ParameterError("divergences.monotone_coupling_of_vectors")
    orders = [np.argsort(side.rows[:, 0], kind="stable") for side in (left, right)]
    first, second, masses = quantile_cells(left.probabilities[orders[0]], right.probabilities[orders[1]])
    return Coupling(p=left, q=right, rows=orders[0][first], columns=orders[1][second], masses=masses)


def optimal_coupling(p: object, q: object, order: float = 1.0, *, norm: float = 2.0) -> Coupling:
    """Return a coupling of least mean distance to the power ``order`` (at least 1, finite).

    >>> square = Discrete(points=[[0, 0], [1, 1]], probabilities=[0.5, 0.5])
    >>> optimal_coupling(square, Discrete(points=[[1, 0], [0, 1]], probabilities=[0.5, 0.5])).reach
    1.0
    """
    order = as_number(order, name="order", least=1)
    left, right = _sides(p, q)
    if same_dimension(left, right) == 1:
        return monotone_coupling(left, right)
    return _from_plan(left, right, _cheapest(distances(left, right, norm), order, left, right))


def _cheapest(lengths: "NDArray[np.float64]", order: float, p: Discrete, q: Discrete) -> "NDArray[np.float64]":
    """Go up to the order by doubling, with the farthest that the last plan went as the unit of length.

    High powers of distances in units of the largest one are below the tolerance of the programme, which would then
    find any plan as cheap as another; in units that are needed at all they are not.
    """
    reach, power = float(lengths.max()), 1.0
    while reach > 0:
        power = order if power >= _MAX_ORDER else min(2 * power, order)
        with np.errstate(over="ignore"):
            costs = np.minimum((lengths / reach) ** power, _FORBIDDEN_COST)
        plan = transport(costs, p.probabilities, q.probabilities).plan
        if power == order:
            return plan
        reach = float(lengths[plan > _PROGRAMME_TOLERANCE].max())
    return transport(lengths, p.probabilities, q.probabilities).plan


def witness(p: object, q: object, radius: float, *, norm: float = 2.0) -> Coupling | None:
    """Return a coupling that carries nothing farther than ``radius``, which shows W_infinity <= radius; None if none.

    Distances are compared up to 1e-12 of the radius, for they are rounded. In R^d with unequal weights it is right up
    to a mass of 1e-9, the resolution of the linear programme.

    >>> witness(Samples([0, 1]), Samples([1, 3]), 2).reach
    2.0
    >>> witness(Samples([0, 1]), Samples([1, 3]), 1.5) is None
    True
    """
    radius = as_number(radius, name="radius", least=0)
    left, right = _sides(p, q)
    same_dimension(left, right)
    lengths = distances(left, right, norm)
    allowed = lengths <= radius * (1 + _SLACK)
    if left.dimension == 1:
        coupling = monotone_coupling(left, right)
        return coupling if allowed[coupling.rows, coupling.columns].all() else None
    # This finds points of tiny mass with nothing in reach, which the programme misses.
    reached = allowed & (left.probabilities[:, None] > 0) & (right.probabilities > 0)
    if not (reached.any(axis=1) | (left.probabilities == 0)).all():
        return None
    if not (reached.any(axis=0) | (right.probabilities == 0)).all():
        return None
    found = transport((~allowed).astype(np.float64), left.probabilities, right.probabilities)
    return _from_plan(left, right, np.where(allowed, found.plan, 0.0)) if found.cost <= _PROGRAMME_TOLERANCE else None


def quantile_cells(
    p: "NDArray[np.float64]", q: "NDArray[np.float64]"
) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]":
    """Cut the unit interval at the levels of both sums: the cell of p, the cell of q and the width of each part."""
    # Levels of the two sums that are closer than the sums' rounding are the same level, rounded twice.
    sliver = _ROUNDING * (len(p) + len(q))
    if min(side[side > 0].min() for side in (p, q)) <= 8 * sliver:
        return _exact_cells(p, q, sliver)
    levels = [np.cumsum(side)[:-1] for side in (p, q)]
    merged = np.sort(np.concatenate(levels))
    kept = np.concatenate([[True], np.diff(merged) > sliver]) if len(merged) else np.zeros(0, dtype=bool)
    cuts = np.clip(np.concatenate([[0.0], merged[kept], [1.0]]), 0.0, 1.0)
    widths = np.diff(cuts)
    middles = (cuts[:-1] + cuts[1:]) / 2
    solid = widths > sliver
    cells = [np.searchsorted(level, middles[solid]) for level in levels]
    return cells[0], cells[1], widths[solid]


def _exact_cells(
    p: "NDArray[np.float64]", q: "NDArray[np.float64]", sliver: float
) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]":
    """Cut in integers, where a mass below the rounding of the sums is not lost: it too must be carried."""
    places = [np.flatnonzero(side) for side in (p, q)]
    masses = [exact_masses(side[place]) for side, place in zip((p, q), places, strict=True)]
    sums = [sum(side) for side in masses]
    ends = [[level * sums[1 - k] for level in itertools.accumulate(masses[k])] for k in (0, 1)]
    ends[1] = _snap(ends[1], ends[0], int(sliver * 2**60) * ends[0][-1] >> 60)
    cuts = sorted({*ends[0], *ends[1]})
    widths = np.array([(high - low) / cuts[-1] for low, high in itertools.pairwise([0, *cuts])])
    cells = [place[[bisect.bisect_left(side, cut) for cut in cuts]] for place, side in zip(places, ends, strict=True)]
    return cells[0], cells[1], widths


def _snap(levels: list[int], onto: list[int], within: int) -> list[int]:
    """Move levels to those of ``onto`` that are ``within`` reach, the nearest one to each: none disappears."""
    nearest: dict[int, int] = {}
    for index, level in enumerate(levels):
        after = bisect.bisect_left(onto, level)
        target = min(onto[max(after - 1, 0) : after + 1], key=lambda end: abs(end - level))
        rival = nearest.get(target)
        if abs(target - level) <= within and (rival is None or abs(target - level) < abs(target - levels[rival])):
            nearest[target] = index
    moved = list(levels)
    for target, index in nearest.items():
        moved[index] = target
    return moved


def as_discrete(side: object, name: str) -> Discrete:
    """Return a distribution on finitely many points; an array of probabilities stands on 0, 1, 2 and so on."""
    if isinstance(side, Discrete):
        return side
    if isinstance(side, Samples):
        return side.empirical()
    masses = side.masses if isinstance(side, Bernoulli) else as_probabilities(side, name=name)
    return Discrete(points=np.arange(len(masses), dtype=np.float64), probabilities=masses)


def _sides(p: object, q: object) -> tuple[Discrete, Discrete]:
    return as_discrete(p, "p"), as_discrete(q, "q")


def _from_plan(p: Discrete, q: Discrete, plan: "NDArray[np.float64]") -> Coupling:
    rows, columns = np.nonzero(plan)
    return Coupling(p=p, q=q, rows=rows, columns=columns, masses=plan[rows, columns])
