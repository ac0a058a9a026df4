"""The pairs that dominate the mechanisms with finitely many privacy losses, and one that is nearly so.

Randomized response dominates every epsilon-private mechanism; with a delta it dominates every (epsilon, delta)-private
one (Kairouz, Oh and Viswanath 2015). Discrete Laplace noise of any number of coordinates is dominated by one coordinate
that takes the whole shift. A choice by exponential weights has bounded range (Dong, Durfee and Rogers 2020). Too many
losses are rounded upwards onto a coarser grid. The proofs are in ``proofs/pairs.md``.
"""

import math
from fractions import Fraction

import numpy as np

from celosia.accounting.checks import check_positive
from celosia.accounting.pld.loss_atoms import Atoms, from_logs
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, exact_probability, safe_repr
from celosia.noise.gaussian import log_normaliser

_MAX_LOSSES = 4096  # losses that are kept one by one
_KNOTS = 2049
_MAX_SIGMA = 1_000.0  # standard deviations up to which the losses of discrete Gaussian noise are listed
_MAX_DEVIATIONS = 38.0  # standard deviations; the probability beyond them is below the next number
_TAIL_MASS = 1e-300


def randomized_response(epsilon: float, categories: int = 2) -> Atoms:
    """Return the pair of one answer out of ``categories``; with two it dominates every epsilon-private mechanism."""
    rate = _rate(epsilon, "epsilon")
    kinds = exact_integer(categories, name="categories", least=2)
    if rate == 0:
        return _nothing()
    total = np.logaddexp(rate, math.log(kinds - 1))
    between = [math.log(kinds - 2) - total] if kinds > 2 else []
    losses = [-rate, 0.0, rate] if between else [-rate, rate]
    return from_logs(np.array(losses), np.array([-total, *between, rate - total]), infinity=0.0, missing=0.0)


def approximate(epsilon: float, delta: float) -> Atoms:
    """Return the pair that dominates every (epsilon, delta)-private mechanism."""
    if isinstance(delta, bool) or not 0 <= delta <= 1:
        raise ParameterError("accounting.delta_not_a_probability", delta=safe_repr(delta))
    pure, share = randomized_response(epsilon), float(delta)
    if share == 1:
        return Atoms(losses=np.empty(0), masses=np.empty(0), infinity=1.0, missing=1.0)
    return from_logs(pure.losses, pure.log_masses + math.log1p(-share), infinity=share, missing=share)


def coins(yes: Exact, no: Exact) -> Atoms:
    """Return a pair for a coin that shows heads with probability ``yes`` or ``no``, whichever of both came first."""
    pair = coin(yes, no)
    return pair.worse(pair.swap())


def coin(yes: Exact, no: Exact) -> Atoms:
    """Return the pair of a coin that shows heads with probability ``yes``, against one with probability ``no``."""
    if_yes, if_no = (exact_probability(value, name="coins") for value in (yes, no))
    atoms: list[tuple[float, float]] = []
    infinity = missing = 0.0
    for under_p, under_q in ((if_yes, if_no), (1 - if_yes, 1 - if_no)):
        if under_p > 0 and under_q > 0:
            atoms.append((_log_ratio(under_p, under_q), math.log(under_p)))
        infinity += float(under_p) if under_q == 0 else 0.0
        missing += float(under_q) if under_p == 0 else 0.0
    atoms.sort()
    losses, logs = (np.array([atom[i] for atom in atoms], dtype=np.float64) for i in range(2))
    return from_logs(losses, logs, infinity=infinity, missing=missing)


def bounded_range(epsilon: float) -> Atoms:
    """Return a pair that dominates all mechanisms whose losses, for any two data sets, lie within one epsilon.

    Its profile is (1 - e^((t - epsilon) / 2))^2 / (1 - e^-epsilon) at t between -epsilon and epsilon, put on a grid of
    losses upwards.
    """
    rate = _rate(epsilon, "epsilon")
    if rate == 0:
        return _nothing()
    losses = rate * np.linspace(-1.0, 1.0, _KNOTS)
    width = 2 * rate / (_KNOTS - 1)
    logs = (losses - rate) / 2 + math.log(2 * math.tanh(width / 4) / -math.expm1(-rate))
    logs[[0, -1]] -= math.log(2)
    return from_logs(losses, logs, infinity=0.0, missing=0.0)


def discrete_laplace(scale: float, shift: int) -> Atoms:
    """Return the pair of discrete Laplace noise and inputs ``shift`` whole steps apart, in L1."""
    width = check_positive(scale, "scale")
    steps = exact_integer(shift, name="shift", least=0)
    if steps == 0:
        return _nothing()
    edges = np.round(np.linspace(0, float(steps), min(steps, _MAX_LOSSES) + 1))
    sizes = np.diff(edges) / width  # of cells, in units of the scale
    # A cell of n outcomes that starts at x keeps its probability under P and under Q when it is put on its two ends.
    start = -edges[:-1] / width + np.log((np.tanh(sizes / 2) + math.tanh(0.5 / width)) / 2)
    with np.errstate(divide="ignore"):
        end = -edges[1:] / width + np.log(np.maximum(np.tanh(sizes / 2) - math.tanh(0.5 / width), 0.0) / 2)
    end[np.diff(edges) == 1] = -math.inf
    logs = np.logaddexp(np.append(start, -math.inf), np.append(-math.inf, end))
    half = math.log1p(math.exp(-1 / width))
    logs[0] = np.logaddexp(logs[0], -1 / width - half)
    logs[-1] = np.logaddexp(logs[-1], -edges[-1] / width - half)
    return from_logs(((float(steps) - 2 * edges) / width)[::-1], logs[::-1], infinity=0.0, missing=0.0)


def discrete_gaussian(variance: float, shift: int) -> Atoms:
    """Return the pair of discrete Gaussian noise and inputs ``shift`` whole steps apart; sigma is at most 1000.

    Mass beyond 38 sigma, less than 1e-300, is put at infinity: the Rényi divergence of this pair is infinite, that of
    the noise is at most order * shift^2 / (2 variance).
    """
    square = check_positive(variance, "variance")
    steps = exact_integer(shift, name="shift", least=0)
    sigma = math.sqrt(square)
    if sigma > _MAX_SIGMA:
        raise ParameterError("accounting.variance_too_large", most=_MAX_SIGMA**2, variance=safe_repr(variance))
    if steps == 0:
        return _nothing()
    reach = math.floor(_MAX_DEVIATIONS * sigma) + 1
    if steps > 2 * reach:  # the losses that occur are above 2000, beyond any epsilon
        return Atoms(losses=np.empty(0), masses=np.empty(0), infinity=1.0, missing=1.0)
    x = np.arange(-steps - reach, reach + 1, dtype=np.float64)
    losses = steps * (steps + 2 * x) / (2 * square)
    return from_logs(losses, -(x**2) / (2 * square) - log_normaliser(square), infinity=_TAIL_MASS, missing=_TAIL_MASS)


def _nothing() -> Atoms:
    return Atoms(losses=np.zeros(1), masses=np.ones(1))


def _rate(epsilon: float, name: str) -> float:
    return 0.0 if epsilon == 0 and not isinstance(epsilon, bool) else check_positive(epsilon, name)


def _log_ratio(above: Fraction, below: Fraction) -> float:
    """Return ln(above / below), to all digits also where both are nearly equal."""
    excess = above / below - 1
    return math.log1p(float(excess)) if abs(excess) < Fraction(1, 2) else math.log(above / below)
