"""Linear equations of RAPPOR's reports in the candidates' shares, and their least-squares solutions.

The debiased share of a cohort's reports that show a bit estimates the share of people whose value sets that bit: a
linear equation in the candidates' shares, one for each bit of each cohort. Values that are not candidates set each bit
by chance, with equal probability; subtracting their part of the total centres the equations. Variances include the
clients' coins, the draw of their cohorts, and the excess that the residuals show.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.local.base.hashed_rows import build_hash_family

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from celosia.local.longitudinal.rappor import Rappor

    Floats = NDArray[np.float64]

MAX_JOINT_CANDIDATES = 3000
"""The most candidates that are solved together; more are estimated one by one."""

_MIN_EIGENVALUE = 1e-9  # as a share of the largest: below it the equations determine nothing
_MAX_EXACT_DRAW = 200  # candidates for which the draw of cohorts is computed exactly
_TOTAL_WEIGHT = 1e4  # of the total, relative to the heaviest equation
_MIN_FREEDOM = 30  # degrees of freedom for which the residuals inform the variance


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """Equations of each bit of each cohort with reports: the size of the cohort, and the people who set the bit."""

    sizes: "Floats"  # of the cohort, for each row
    people: "Floats"  # debiased, less those that set the bit by chance if none were candidates
    kept: "NDArray[np.int64]"
    reports: int

    @classmethod
    def of(cls, protocol: "Rappor", ones: "NDArray[np.int64]", sizes: "NDArray[np.int64]") -> "Equations":
        """Return the equations of counted ones (cohorts, bits), and numbers of reports, of an aggregate."""
        each = np.repeat(sizes, protocol.bits).astype(np.float64)
        _, if_zero = protocol.report_probabilities
        people = (ones.reshape(-1) - float(if_zero) * each) / protocol.gap
        kept = np.flatnonzero(each)
        centred = people - protocol.density * each
        return cls(each[kept], centred[kept], kept, int(sizes.sum()))


def build_design(protocol: "Rappor", words: "NDArray[np.uint64]") -> "sparse.csc_array":
    """Return the bits that each candidate sets, over all cohorts: a row for each bit, a column for each candidate."""
    from scipy import sparse

    table = build_hash_family(protocol.cohorts * protocol.hashes, protocol.bits, protocol.seed).table(words)
    rows = np.repeat(np.arange(protocol.cohorts), protocol.hashes)[:, None] * protocol.bits + table
    rows = np.sort(rows.T, axis=1)
    new = np.ones(rows.shape, dtype=np.bool_)
    new[:, 1:] = rows[:, 1:] > rows[:, :-1]
    starts = np.concatenate([[0], np.cumsum(new.sum(axis=1))])
    shape = (protocol.cohorts * protocol.bits, len(words))
    # scikit-learn takes indices of 32 bits only.
    columns = (np.ones(int(starts[-1])), rows[new].astype(np.int32), starts.astype(np.int32))
    return sparse.csc_array(columns, shape=shape)


def _normal(design: "sparse.csc_array", density: float, weights: "Floats") -> "Floats":
    """Return (X - density)' diag(weights) (X - density), dense, for a sparse X."""
    inner = (design.T @ (design * weights[:, None])).toarray()
    sums = design.T @ weights
    return np.asarray(inner - density * (sums[:, None] + sums) + density**2 * weights.sum())


def _side(design: "sparse.csc_array", density: float, people: "Floats") -> "Floats":
    return np.asarray(design.T @ people - density * people.sum())


def solve(protocol: "Rappor", equations: Equations, design: "sparse.csc_array") -> "tuple[Floats, Floats, Floats]":
    """Return the candidates' shares, their variances, and their variances if the candidate is absent."""
    density = protocol.density
    count = design.shape[1]
    if not equations.reports or not count:
        return np.zeros(count), np.zeros(count), np.zeros(count)
    rows = design.tocsr()[equations.kept].tocsc()
    side = _side(rows, density, equations.people)
    if count <= min(MAX_JOINT_CANDIDATES, len(equations.kept)):
        normal = _normal(rows, density, equations.sizes)
        values, vectors = np.linalg.eigh(normal)
        if values[0] > _MIN_EIGENVALUE * values[-1]:
            inverse = (vectors / values) @ vectors.T
            return _together(protocol, equations, rows, inverse @ side, inverse)
    # One by one: the observed contribution of all others to a row is part of its variance.
    alone = (1 - 2 * density) * (rows.T @ equations.sizes) + density**2 * equations.sizes.sum()
    spread = float((equations.people**2 / equations.sizes).mean())
    return side / alone, spread / alone, spread / alone


def _together(
    protocol: "Rappor", equations: Equations, rows: "sparse.csc_array", shares: "Floats", inverse: "Floats"
) -> "tuple[Floats, Floats, Floats]":
    density, sizes = protocol.density, equations.sizes
    fitted = sizes * (rows @ shares - density * shares.sum())
    setting = np.clip(fitted + density * sizes, 0.0, sizes)
    if_one, if_zero = (float(shown * (1 - shown)) / protocol.gap**2 for shown in protocol.report_probabilities)
    noise = (sizes - setting) * if_zero + setting * if_one
    drawn = setting * (1 - setting / sizes) * (1 - 1 / protocol.cohorts)  # the members of a cohort are random too
    freedom = len(sizes) - shares.size
    excess = 1.0
    if freedom >= _MIN_FREEDOM:  # values that are not candidates show in the residuals
        squares = float(((equations.people - fitted) ** 2 / (noise + drawn)).sum()) / freedom
        excess = squares if squares > 1 + 3 * math.sqrt(2 / freedom) else 1.0
    if shares.size <= _MAX_EXACT_DRAW:
        # People without a candidate set bits by chance, over the hash functions: each bit has its own draw.
        crowd = max(1 - float(np.clip(shares, 0.0, 1.0).sum()), 0.0) * sizes * density * (1 - density)
        outer = _normal(rows, density, noise + crowd) + _draw_covariance(protocol, equations, rows, shares)
    else:  # too many for the exact law of the draw: an upper bound, one draw for each bit
        outer = _normal(rows, density, noise + drawn)
    variances = np.maximum(((inverse @ outer) * inverse).sum(axis=1), 0.0) * excess
    # Without the candidate, its bits are zeros of the filter, which may be noisier.
    crowding = inverse.diagonal() * equations.reports * protocol.bits * density * (1 - density)
    own = np.clip(shares, 0.0, 1.0) * crowding**2 / (equations.reports * protocol.bits * density)
    return shares, variances, variances + own * max(if_zero - if_one, 0.0)


def chance_hits(protocol: "Rappor", reports: int, null_variance: float) -> float:
    """Return the number of chance hits in the count of an absent candidate, given its variance.

    It is that of the Poisson law with the third moment of that count. Coins show single bits; the variance beyond the
    coins is due to values that share its bits, at worst one value that all people have.
    """
    density = protocol.density
    _, if_zero = protocol.report_probabilities
    chance, bits = float(min(if_zero, 1 - if_zero)), protocol.bits * density
    coins = reports * chance * (1 - chance) / (bits * (1 - density) * protocol.gap**2)
    noisy = min(coins / null_variance, 1.0) if null_variance > 0 else 1.0
    coin_hits, shared = reports * bits * chance, protocol.cohorts * bits * density
    skewness = noisy**1.5 / math.sqrt(coin_hits) if coin_hits else 0.0
    skewness += (1 - noisy) ** 1.5 / math.sqrt(shared)
    return 1 / skewness**2 if skewness else math.inf


def _draw_covariance(protocol: "Rappor", equations: Equations, rows: "sparse.csc_array", shares: "Floats") -> "Floats":
    """Return the covariance of the normal equations that is due to the draw of cohorts.

    A cohort of N people out of n is a sample without replacement: the counts of values in it have the covariance
    N (1 - N/n) (diag(s) - s s'), and in two cohorts -N N'/n times the same: all cohorts together are all people.
    """
    people = np.clip(shares, 0.0, 1.0) / max(float(np.clip(shares, 0.0, 1.0).sum()), 1.0)
    spread = np.diag(people) - np.outer(people, people)
    total, weighted = np.zeros_like(spread), np.zeros_like(spread)
    dense = rows.toarray() - protocol.density
    for first in range(0, len(dense), protocol.bits):  # a cohort
        inner = dense[first : first + protocol.bits].T @ dense[first : first + protocol.bits]
        size = equations.sizes[first]
        total += size * inner @ spread @ inner
        weighted += size * inner
    return total - weighted @ spread @ weighted / equations.reports


def solve_non_negative(protocol: "Rappor", equations: Equations, design: "sparse.csc_array") -> "Floats":
    """Return the best non-negative shares with sum at most 1, from a square root of the normal equations."""
    from scipy.optimize import nnls

    density = protocol.density
    rows = design.tocsr()[equations.kept].tocsc()
    values, vectors = np.linalg.eigh(_normal(rows, density, equations.sizes))
    determined = values > _MIN_EIGENVALUE * values[-1]
    roots = np.sqrt(values[determined])
    side = (vectors[:, determined].T @ _side(rows, density, equations.people)) / roots
    # One more unknown without bits is the share of all other values; one heavy equation makes the sum 1.
    heavy = _TOTAL_WEIGHT * roots[-1]
    system = np.full((roots.size + 1, values.size + 1), heavy)
    system[:-1, :-1], system[:-1, -1] = roots[:, None] * vectors[:, determined].T, 0.0
    shares, _ = nnls(system, np.append(side, heavy))
    return np.asarray(shares[:-1])
