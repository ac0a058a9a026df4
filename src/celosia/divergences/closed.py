"""Closed forms between two members of one family: Rényi of every order, and hockey-stick.

Rényi divergences of normal and Laplace pairs with unequal spreads are those of Gil, Alajaji and Linder (2013). They are
infinite where the order weighs the wider tail more than the narrower one can bear: between normals from the order at
which (1 - order) variance_p + order variance_q is zero, between Laplace distributions from
order / scale_p = (order - 1) / scale_q. Seed 004 proves the cases of common spread. Sets where one density exceeds a
multiple of the other are intervals, so the hockey-stick divergence is a difference of two probabilities.
"""

import itertools
import math

import numpy as np
from scipy import special

from celosia.core.errors import ParameterError
from celosia.core.exact import quote
from celosia.divergences.families import Laplace, MultivariateNormal, Normal

__all__ = [
    "hockey_stick_laplace",
    "hockey_stick_normal",
    "renyi_laplace",
    "renyi_multivariate",
    "renyi_normal",
    "whiten",
]

_FAR = 1e140  # squares of it are still doubles
_NEAR_ONE = 1e-5  # closer to order 1 than this the quotient by (order - 1) would lose more digits than a chord does


def renyi_normal(p: Normal, q: Normal, order: float) -> float:
    """Return the Rényi divergence of two normal distributions, of any order from 0 to infinity.

    >>> renyi_normal(Normal(0, 1), Normal(1, 1), 2)
    1.0
    >>> renyi_normal(Normal(0, 4), Normal(0, 1), 2)
    inf
    """
    shift, ratio = _standardised(p, q)
    return _normal_terms(np.array([shift]), np.array([ratio]), order)


def _standardised(p: Normal, q: Normal) -> tuple[float, float]:
    """Mean and variance of p in units in which q is standard normal."""
    shift, ratio = (p.mean - q.mean) / q.deviation, p.variance / q.variance
    if not (abs(shift) < _FAR and 1 / _FAR < ratio < _FAR):
        message = f"p and q are too far apart for doubles: {quote(p)} and {quote(q)}."
        raise ParameterError(message)
    return shift, ratio


def renyi_multivariate(p: MultivariateNormal, q: MultivariateNormal, order: float) -> float:
    """Return the Rényi divergence of two normal distributions in R^d.

    In the basis in which q is standard and p has independent coordinates, it is a sum over coordinates.

    >>> one = [[1, 0], [0, 1]]
    >>> round(renyi_multivariate(MultivariateNormal([0, 0], one), MultivariateNormal([3, 4], one), 2), 9)
    25.0
    """
    return _normal_terms(*whiten(p, q), order)


def whiten(p: MultivariateNormal, q: MultivariateNormal) -> "tuple[np.ndarray, np.ndarray]":
    """Return means and variances of p, coordinate by coordinate, in a basis in which q is standard normal.

    >>> [part.tolist() for part in whiten(MultivariateNormal([2], [[1]]), MultivariateNormal([0], [[4]]))]
    [[1.0], [0.25]]
    """
    if len(p.mean) != len(q.mean):
        message = f"p and q must have the same dimension: {len(p.mean)} is not {len(q.mean)}."
        raise ParameterError(message)
    root = np.linalg.cholesky(q.covariance)
    half = np.linalg.solve(root, p.covariance)
    variances, basis = np.linalg.eigh(np.linalg.solve(root, half.T))
    return basis.T @ np.linalg.solve(root, p.mean - q.mean), variances


def _normal_terms(shifts: "np.ndarray", ratios: "np.ndarray", order: float) -> float:
    """Sum the divergences of N(shift, ratio) from N(0, 1)."""
    if order == 0:
        return 0.0
    if order == math.inf:
        return sum(_normal_max(float(shift), float(ratio)) for shift, ratio in zip(shifts, ratios, strict=True))
    excess = (order - 1) * (1 - ratios)  # the mixed variance is 1 + excess
    if (excess <= -1).any():
        return math.inf
    if order == 1:
        logs = (ratios - 1 - np.log(ratios)) / 2
    else:
        logs = -np.log(ratios) / 2 - np.log1p(excess) / (2 * (order - 1))
    return max(0.0, float(np.sum(order * shifts**2 / (2 * (1 + excess)) + logs)))


def _normal_max(shift: float, ratio: float) -> float:
    if ratio < 1:
        return -math.log(ratio) / 2 + shift**2 / (2 * (1 - ratio))
    return 0.0 if ratio == 1 and shift == 0 else math.inf


def renyi_laplace(p: Laplace, q: Laplace, order: float) -> float:
    """Return the Rényi divergence of two Laplace distributions, of any order from 0 to infinity.

    >>> round(renyi_laplace(Laplace(0, 1), Laplace(1, 1), 2), 9)
    0.61912363
    >>> renyi_laplace(Laplace(0, 1), Laplace(1, 1), math.inf), renyi_laplace(Laplace(0, 2), Laplace(0, 1), 2)
    (1.0, inf)
    """
    shift, log_ratio = _laplace_shift(p, q), math.log(q.scale) - math.log(p.scale)
    if order == 0:
        return 0.0
    if order == math.inf:  # the log ratio is largest at p's own peak, unless p's tails are the wider ones
        return log_ratio + shift / q.scale if p.scale <= q.scale else math.inf
    rate = order / p.scale + (1 - order) / q.scale
    if rate <= 0:
        return math.inf
    if order == 1:
        return max(0.0, log_ratio + shift / q.scale + p.scale / q.scale * math.exp(-shift / p.scale) - 1)
    if abs(order - 1) >= _NEAR_ONE:
        return _laplace_power(p, q, order)
    kl, end = renyi_laplace(p, q, 1), math.copysign(_NEAR_ONE, order - 1)
    return kl + (_laplace_power(p, q, 1 + end) - kl) * (order - 1) / end


def _laplace_shift(p: Laplace, q: Laplace) -> float:
    shift = abs(p.location - q.location)
    if not (shift / min(p.scale, q.scale) < _FAR and 1 / _FAR < p.scale < _FAR and 1 / _FAR < q.scale < _FAR):
        message = f"p and q are too far apart for doubles: {quote(p)} and {quote(q)}."
        raise ParameterError(message)
    return shift


def _laplace_power(p: Laplace, q: Laplace, order: float) -> float:
    shift, rate = abs(p.location - q.location), order / p.scale + (1 - order) / q.scale
    if rate <= 0:
        return math.inf
    # The integrand is exp of a function that is linear between the locations and on either side of them.
    at_p, at_q = -(1 - order) * shift / q.scale, -order * shift / p.scale
    gap = abs(at_p - at_q)
    middle = math.log(-math.expm1(-gap) / gap) if gap > 0 else 0.0
    pieces = [at_p - math.log(rate), at_q - math.log(rate)]
    if shift > 0:
        pieces.append(math.log(shift) + max(at_p, at_q) + middle)
    log_density = -order * math.log(2 * p.scale) - (1 - order) * math.log(2 * q.scale)
    return max(0.0, (log_density + float(special.logsumexp(pieces))) / (order - 1))


def hockey_stick_normal(p: Normal, q: Normal, epsilon: float) -> float:
    """Return the hockey-stick divergence of two normal distributions: the delta of one Gaussian release at epsilon.

    >>> round(hockey_stick_normal(Normal(1, 1), Normal(0, 1), 1), 6)
    0.126937
    """
    # With x in units of q: log p/q - epsilon is a x^2 + b x + c, a parabola or a line.
    shift, ratio = _standardised(p, q)
    a, b, c = (1 - 1 / ratio) / 2, shift / ratio, -(shift**2) / (2 * ratio) - math.log(ratio) / 2 - epsilon
    spread = math.sqrt(ratio)

    def excess(low: float, high: float) -> float:
        log_p = _log_normal_between((low - shift) / spread, (high - shift) / spread)
        log_q = _log_normal_between(low, high) + epsilon
        return -math.exp(log_p) * math.expm1(log_q - log_p) if log_p > log_q else 0.0

    if a == 0:
        if b == 0:
            return 0.0
        return excess(-c / b, math.inf) if b > 0 else excess(-math.inf, -c / b)
    discriminant = b * b - 4 * a * c
    if discriminant <= 0:  # a > 0: p is above everywhere, which no two distributions can be; a < 0: nowhere
        return 0.0
    half = -(b + math.copysign(math.sqrt(discriminant), b)) / 2  # both roots without cancellation
    low, high = sorted((half / a, c / half))
    return excess(low, high) if a < 0 else excess(-math.inf, low) + excess(high, math.inf)


def _log_normal_between(low: float, high: float) -> float:
    """Log of the standard normal probability of an interval, exact in both tails."""
    if low > 0:
        low, high = -high, -low
    upper, lower = float(special.log_ndtr(high)), float(special.log_ndtr(low))
    return upper + math.log(-math.expm1(lower - upper)) if lower < upper else -math.inf


def hockey_stick_laplace(p: Laplace, q: Laplace, epsilon: float) -> float:
    """Return the hockey-stick divergence of two Laplace distributions.

    >>> p, q = Laplace(0, 1), Laplace(1, 1)
    >>> round(hockey_stick_laplace(p, q, 0.5), 9), hockey_stick_laplace(p, q, 1)
    (0.221199217, 0.0)
    """
    _laplace_shift(p, q)
    low, high = min(p.location, q.location), max(p.location, q.location)

    def loss(x: float) -> float:
        tails = abs(x - q.location) / q.scale - abs(x - p.location) / p.scale
        return tails + math.log(q.scale) - math.log(p.scale) - epsilon

    edges = [-math.inf, low, high, math.inf]
    slope = 1 / p.scale - 1 / q.scale  # of the loss left of both locations; minus it on the right
    if slope != 0:
        edges += [x for x in (low - loss(low) / slope,) if x < low] + [
            x for x in (high + loss(high) / slope,) if x > high
        ]
    if loss(low) * loss(high) < 0:
        edges.append(low + (high - low) * loss(low) / (loss(low) - loss(high)))
    edges.sort()
    total = 0.0
    for left, right in itertools.pairwise(edges):
        if left < right and loss(_between(left, right)) > 0:
            log_p, log_q = (_log_laplace_between(side, left, right) for side in (p, q))
            total += math.exp(log_p) * max(0.0, -math.expm1(log_q + epsilon - log_p)) if log_p > -math.inf else 0.0
    return total


def _between(left: float, right: float) -> float:
    if left == -math.inf:
        return right - max(1.0, abs(right))
    return left + max(1.0, abs(left)) if right == math.inf else left + (right - left) / 2


def _log_laplace_between(side: Laplace, left: float, right: float) -> float:
    """Log of the probability of an interval that lies on one side of the location."""
    left, right = (left - side.location) / side.scale, (right - side.location) / side.scale
    if left >= 0:
        left, right = -right, -left
    return right + math.log(-math.expm1(left - right) / 2) if left < right else -math.inf
