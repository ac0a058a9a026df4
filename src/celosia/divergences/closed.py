"""Closed forms between two members of one family: Rényi of every order, and hockey-stick.

Rényi divergences of normal and Laplace pairs with unequal spreads are those of Gil, Alajaji and Linder (2013). They are
infinite where the order weighs the wider tail more than the narrower one can bear: between normals from the order at
which (1 - order) variance_p + order variance_q is zero, between Laplace distributions from order / scale_p = (order -
1) / scale_q. The Rényi thesis proves the cases of common spread. Sets where one density exceeds a multiple of the other
are intervals, so the hockey-stick divergence is a difference of two probabilities.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import scipy

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.divergences.distributions.families import Laplace, MultivariateNormal, Normal

_LEVEL = 1e-14
_MAX_SIZE = 1e140  # squares of it are still doubles
_NEAR_ONE = 1e-5  # closer to order 1 than this, a chord loses fewer digits than the quotient by (order - 1)


def renyi_normal(p: Normal, q: Normal, order: float) -> float:
    """Return the Rényi divergence of two normal distributions, of any order from 0 to infinity."""
    shift, ratio = _standardise(p, q)
    if order in {0, 1, math.inf} or ratio == 1:
        return _normal_terms(np.array([shift]), np.array([ratio]), order)
    # Exact: next to the order at which the divergence becomes infinite nothing would be left of a rounded difference.
    excess = (Fraction(order) - 1) * (1 - Fraction(p.variance) / Fraction(q.variance))
    mixed = float(1 + excess)
    if excess <= -1 or mixed == 0:
        return math.inf
    logs = -math.log(ratio) / 2 - (math.log1p(excess) if excess > -0.5 else math.log(mixed)) / (2 * (order - 1))
    return max(0.0, order * shift**2 / (2 * mixed) + logs)


def _standardise(p: Normal, q: Normal) -> tuple[float, float]:
    """Return the mean and variance of p in units in which q is standard normal."""
    shift, ratio = (p.mean - q.mean) / q.deviation, p.variance / q.variance
    if not (abs(shift) < _MAX_SIZE and 1 / _MAX_SIZE < ratio < _MAX_SIZE):
        raise ParameterError("divergences.distributions_too_far_apart", first=safe_repr(p), second=safe_repr(q))
    return shift, ratio


def renyi_multivariate(p: MultivariateNormal, q: MultivariateNormal, order: float) -> float:
    """Return the Rényi divergence of two normal distributions in R^d.

    In the basis in which q is standard and p has independent coordinates, it is a sum over coordinates.
    """
    return _normal_terms(*whiten(p, q), order)


def whiten(p: MultivariateNormal, q: MultivariateNormal) -> "tuple[np.ndarray, np.ndarray]":
    """Return means and variances of p, coordinate by coordinate, in a basis in which q is standard normal."""
    if len(p.mean) != len(q.mean):
        raise ParameterError("divergences.normal_dimensions_differ", first=len(p.mean), second=len(q.mean))
    root = np.linalg.cholesky(q.covariance)
    half = np.linalg.solve(root, p.covariance)
    variances, basis = np.linalg.eigh(np.linalg.solve(root, half.T))
    with np.errstate(over="ignore", invalid="ignore"):
        shifts = basis.T @ np.linalg.solve(root, p.mean - q.mean)
    if not ((np.abs(shifts) < _MAX_SIZE) & (variances > 1 / _MAX_SIZE) & (variances < _MAX_SIZE)).all():
        raise ParameterError("divergences.distributions_too_far_apart", first=safe_repr(p), second=safe_repr(q))
    # A variance that is 1 up to rounding is 1: there the highest orders change between a number and infinity.
    same = np.array_equal(p.covariance, q.covariance) | (np.abs(variances - 1) < _LEVEL * len(variances))
    return shifts, np.where(same, 1.0, variances)


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
    """Return the Rényi divergence of two Laplace distributions, of any order from 0 to infinity."""
    shift, log_ratio = _laplace_shift(p, q), math.log(q.scale) - math.log(p.scale)
    if order == 0:
        return 0.0
    if order == math.inf:  # the log ratio is largest at p's own peak, unless p's tails are the wider ones
        return log_ratio + shift / q.scale if p.scale <= q.scale else math.inf
    if order == 1:
        return max(0.0, log_ratio + shift / q.scale + p.scale / q.scale * math.exp(-shift / p.scale) - 1)
    kl = renyi_laplace(p, q, 1)
    end = math.copysign(_NEAR_ONE / max(1.0, kl), order - 1)  # the larger, the sooner the curve bends
    if abs(order - 1) >= abs(end):
        return _laplace_power(p, q, order)
    return kl + (_laplace_power(p, q, 1 + end) - kl) * (order - 1) / end


def _laplace_shift(p: Laplace, q: Laplace) -> float:
    shift = abs(p.location - q.location)
    if not (
        shift / min(p.scale, q.scale) < _MAX_SIZE
        and 1 / _MAX_SIZE < p.scale < _MAX_SIZE
        and 1 / _MAX_SIZE < q.scale < _MAX_SIZE
    ):
        raise ParameterError("divergences.distributions_too_far_apart", first=safe_repr(p), second=safe_repr(q))
    return shift


def _laplace_power(p: Laplace, q: Laplace, order: float) -> float:
    # Exact: next to the order at which the divergence becomes infinite nothing would be left of a rounded difference.
    exact = Fraction(order) / Fraction(p.scale) + (1 - Fraction(order)) / Fraction(q.scale)
    shift, rate = abs(p.location - q.location), float(exact)
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
    return max(0.0, (log_density + float(scipy.special.logsumexp(pieces))) / (order - 1))


def hockey_stick_normal(p: Normal, q: Normal, epsilon: float) -> float:
    """Return the hockey-stick divergence of two normal distributions: the delta of one Gaussian release at epsilon."""
    shift, ratio = _standardise(p, q)
    spread = math.sqrt(ratio)
    # With x in units of the narrower side, which in those of the other may be less than a last digit wide,
    # log p/q - epsilon is a x^2 + b x + c, a parabola or a line.
    if ratio < 1:
        a, b, c = (ratio - 1) / 2, shift * spread, shift**2 / 2 - math.log(ratio) / 2 - epsilon
    else:
        a, b, c = (1 - 1 / ratio) / 2, shift / ratio, -(shift**2) / (2 * ratio) - math.log(ratio) / 2 - epsilon

    def excess(low: float, high: float) -> float:
        ends = (low, high)
        of_p = ends if ratio < 1 else tuple((end - shift) / spread for end in ends)
        of_q = tuple(shift + spread * end for end in ends) if ratio < 1 else ends
        log_p, log_q = _log_normal_between(*of_p), _log_normal_between(*of_q) + epsilon
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
    upper, lower = float(scipy.special.log_ndtr(high)), float(scipy.special.log_ndtr(low))
    return upper + math.log(-math.expm1(lower - upper)) if lower < upper else -math.inf


def hockey_stick_laplace(p: Laplace, q: Laplace, epsilon: float) -> float:
    """Return the hockey-stick divergence of two Laplace distributions."""
    _laplace_shift(p, q)
    # Seen from the narrower side, which far from zero may be less than a last digit wide.
    centre = p.location if p.scale < q.scale else q.location
    p, q = (Laplace(side.location - centre, side.scale) for side in (p, q))
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
        edges.append((low * loss(high) - high * loss(low)) / (loss(high) - loss(low)))  # one of low and high is 0
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
    width = (right - left) / side.scale  # before the location is taken off, which may be large beside it
    left, right = (left - side.location) / side.scale, (right - side.location) / side.scale
    nearest = -left if left >= 0 else right
    return nearest + math.log(-math.expm1(-width) / 2) if width > 0 else -math.inf
