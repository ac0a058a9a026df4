"""Amplification by shuffling: reports of a local randomizer, published in random order, hide among each other.

Every other report is, with probability ``exp(-epsilon0)``, distributed as if it came from one of the two values that
the adversary wants to distinguish: a clone. So the shuffled reports are a function of two counters, and a bound for the
counters is a bound for them (Feldman, McMillan and Talwar 2021, *Hiding among the clones*). The closed form is their
theorem 3.1; the profile sums the counters' hockey-stick divergence, rounded up. Neighbours replace one report. The
proofs, also that of the sharper count for randomized response, are in ``proofs/shuffling.md``.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from celosia.accounting.checks import Array, check_epsilons
from celosia.accounting.pld.loss_atoms import Atoms
from celosia.accounting.prices.binomial import binomial_masses
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, double_at_least, double_at_most, exact_integer, exact_positive, safe_repr

_SAFE = 1 + 1e-9  # far above the rounding of the sums
_TAIL_MASS = 1e-33  # the probability of a number of clones outside the window (Bernstein's inequality gives e^-78)
_MAX_REPORTS = 2**31  # reports: more are counted as this many, which takes a second
_NO_CLONES = 60.0  # from this epsilon0 on the clones are not counted: fewer than one is expected anyway
_CELLS = 1024  # into which numbers of clones are put together
_BLOCK = 2**20  # terms that are held in memory at once
_POINTS = 400  # of the profile, for the losses of the dominating pair


def shuffled_closed_form(epsilon0: Exact, reports: int, delta: Exact) -> float:
    """Return the epsilon of theorem 3.1 of Feldman, McMillan and Talwar 2021, for ``reports`` shuffled reports.

    It holds for adaptive sequences of ``epsilon0``-private local randomizers, where ``epsilon0`` is at most
    ``ln(reports / (16 ln(2 / delta)))``; elsewhere it is refused. ``shuffled_epsilon`` is defined everywhere and
    several times smaller.

    >>> round(shuffled_closed_form(1, 10_000, "1e-6"), 4), round(shuffled_epsilon(1, 10_000, "1e-6"), 4)
    (0.214, 0.053)
    """
    local, count, target = _parameters(epsilon0, reports, delta)
    if local > math.log(count / (16 * math.log(2 / target))) - 1e-12:
        raise ParameterError("accounting.epsilon0_too_large", epsilon0=safe_repr(epsilon0))
    clones = count * math.exp(-local)
    width = 8 * math.sqrt(math.log(4 / target) / clones) + 8 / clones
    return min(local, math.log1p(math.tanh(local / 2) * width) * (1 + 1e-12))


def shuffled_epsilon(epsilon0: Exact, reports: int, delta: Exact, *, categories: int | None = None) -> float:
    """Return the smallest epsilon (rounded up) that ``shuffled_profile`` gives at ``delta``; at most ``epsilon0``.

    >>> round(shuffled_epsilon(1, 10**8, "1e-8"), 6)
    0.000529
    >>> shuffled_epsilon(4, 2, "1e-6") <= 4
    True
    """
    local, count, target = _parameters(epsilon0, reports, delta)
    target *= 1 - 1e-12  # a sum taken again in another order must still be below delta
    bound = _Bound.of(local, count, categories)
    low, high = 0.0, local
    if bound.profile(np.zeros(1))[0] <= target:
        return 0.0
    while high - low > 1e-9 * high:  # the profile falls, and high is always enough
        middle = (low + high) / 2
        enough = bound.profile(np.array([middle]))[0] <= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def shuffled_profile(epsilon0: Exact, reports: int, epsilons: ArrayLike, *, categories: int | None = None) -> Array:
    """Return an upper bound on delta at every epsilon, for shuffled reports of an ``epsilon0``-private randomizer.

    With ``categories`` the randomizer is randomized response over that number of answers. Few answers have more clones;
    for many answers the count of any randomizer is better, so that the smaller of both bounds is taken. The bound is
    the same in both directions.

    >>> shuffled_profile(1, 1000, [0.0, 0.1, 0.2, 1.0])
    array([1.92196772e-02, 3.52765651e-04, 2.05980818e-07, 0.00000000e+00])
    """
    local, count, _ = _parameters(epsilon0, reports, "1/2")
    return _Bound.of(local, count, categories).profile(check_epsilons(epsilons))


def shuffled_atoms(epsilon0: Exact, reports: int, *, categories: int | None = None) -> Atoms:
    """Return a pair of distributions that dominates shuffled reports, with some hundred privacy losses.

    Its profile is the bound of ``shuffled_profile`` at chosen points and linear in ``exp(epsilon)`` between them. The
    true profile is convex there, so it lies below (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).
    """
    local, count, _ = _parameters(epsilon0, reports, "1/2")
    reach = shuffled_epsilon(epsilon0, reports, "1e-24", categories=categories)
    points = np.unique(np.append(np.linspace(0.0, reach, _POINTS), local))
    delta = _Bound.of(local, count, categories).profile(points)
    # To the right of a loss the profile falls with the slope of Q's mass beyond it. Rounding may leave the curve not
    # quite convex: a slope that is at least as steep as those further right only raises it.
    slopes = np.append(np.diff(delta) / np.diff(np.expm1(points)), 0.0)
    slopes = np.minimum.accumulate(slopes[::-1])[::-1]
    under_q = np.diff(slopes)
    under_p = under_q * np.exp(points[1:])
    middle = max(0.0, 1.0 - float(under_p.sum() + under_q.sum()))
    return Atoms(
        losses=np.concatenate([-points[:0:-1], [0.0], points[1:]]),
        masses=np.concatenate([under_q[::-1], [middle], under_p]),
    )


def _parameters(epsilon0: Exact, reports: int, delta: Exact) -> tuple[float, int, float]:
    local = double_at_least(exact_positive(epsilon0, name="epsilon0"))
    target = double_at_most(exact_positive(delta, name="delta"))
    if target >= 1:
        raise ParameterError("core.delta_too_large", delta=safe_repr(delta))
    return local, min(exact_integer(reports, name="reports"), _MAX_REPORTS), target


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class _Counters:
    """The two counters: a local epsilon, numbers of clones, and the probabilities of the cells that begin there.

    More clones are more privacy, so that a cell is bounded by its smallest member. ``share`` is the probability that
    the replaced report is of either kind at all.
    """

    local: float
    share: float
    clones: Array
    masses: Array

    @classmethod
    def of(cls, local: float, reports: int, categories: int | None) -> "_Counters":
        share, likely = _cloning(local, categories)
        count = reports - 1 if likely > 0 else 0
        mean = count * likely
        low = max(0, math.floor(mean - 12.5 * math.sqrt(mean)))
        high = min(count, math.ceil(mean + 14 * math.sqrt(mean) + 60))
        number = np.arange(low, high + 1, dtype=np.float64)
        starts = np.arange(0, number.size, -(-number.size // _CELLS))
        masses = np.add.reduceat(binomial_masses(float(count), likely, number), starts)
        return cls(local=local, share=share, clones=number[starts], masses=masses)

    def profile(self, epsilon: Array) -> Array:
        size = np.abs(epsilon)
        delta = np.empty_like(size)
        block = max(1, _BLOCK // self.clones.size)
        for first in range(0, size.size, block):
            rows = np.minimum(size[first : first + block], self.local)
            delta[first : first + block] = _hockey_stick(self.local, rows[:, None], self.clones) @ self.masses
        # At most that of the report alone, which is 0 from the local epsilon on.
        alone = np.maximum(-np.expm1(size - self.local) / (1 + math.exp(-self.local)), 0.0) * (1 + 1e-15)
        delta = np.minimum((delta * self.share + _TAIL_MASS) * _SAFE, np.minimum(alone, 1.0))
        # The pair is symmetric: H at -epsilon is 1 - exp(-epsilon) + exp(-epsilon) H at epsilon.
        return np.where(epsilon >= 0, delta, np.minimum(-np.expm1(-size) * _SAFE + np.exp(-size) * delta, 1.0))


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class _Bound:
    """The smaller, at each epsilon, of what several ways of counting clones give: each is an upper bound."""

    ways: tuple[_Counters, ...]

    @classmethod
    def of(cls, local: float, reports: int, categories: int | None) -> "_Bound":
        own, any_randomizer = (_cloning(local, kinds) for kinds in (categories, None))
        # With as many clones as any randomizer has, and a share of at most 1, the own count is never the larger.
        both = categories is not None and own[1] < any_randomizer[1]
        kinds = (categories, None) if both else (categories,)
        return cls(ways=tuple(_Counters.of(local, reports, kind) for kind in kinds))

    def profile(self, epsilon: Array) -> Array:
        delta: Array = np.minimum.reduce([way.profile(epsilon) for way in self.ways])
        return delta


def _cloning(local: float, categories: int | None) -> tuple[float, float]:
    """Return the probability that the replaced report matters, and that another report is a clone (rounded down)."""
    if categories is not None:
        categories = exact_integer(categories, name="categories", least=2)
    if local > _NO_CLONES:
        return 1.0, 0.0
    if categories is None:
        return 1.0, math.exp(-local) * (1 - 1e-14)
    others = math.expm1(local) + categories
    return (1 + math.exp(local)) / others * (1 + 1e-14), 2 / others * (1 - 1e-14)


def _hockey_stick(local: float, epsilon: Array, clones: Array) -> Array:
    """Return an upper bound on the divergence of the two counters, given the number of clones.

    The likelihood ratio grows with the first counter a, so a threshold on a is the best test. With m clones and b the
    least a at which the ratio exceeds exp(epsilon), the divergence is (u - v exp(epsilon)) P(A = b-1) -
    (exp(epsilon) - 1) P(A >= b), where A ~ Bin(m, 1/2), u = exp(local) / (1 + exp(local)) and v = 1 - u.
    """
    weight = -np.expm1(epsilon - local) / (1 + math.exp(-local))
    if not clones.any():
        return weight * np.ones_like(clones)
    edge = np.expm1(epsilon + local) / (math.expm1(local) * (1 + np.exp(epsilon)))
    least = np.clip(np.floor((clones + 1) * edge) + 1, 1, clones + 1)
    with np.errstate(under="ignore"):
        mass = binomial_masses(clones, 0.5, least - 1)
        tail = np.where(least <= clones, scipy.special.betainc(least, np.maximum(clones - least + 1, 0.5), 0.5), 0.0)
        slack = 1e-13 + 1e-14 * np.sqrt(clones)  # several times the measured error of the tails
        return np.maximum(weight * mass * (1 + slack) - np.expm1(epsilon) * tail * (1 - slack), 0.0)
