"""The compiled sums of ``loss_atoms``, ``envelope`` and ``normal``: profiles and Rényi divergences of dominating pairs.

Every sum has positive terms only, so that nothing cancels: the hockey-stick divergence is accumulated from the largest
loss down, and the Rényi divergence is the mean of (r^a - 1 - a (r - 1)) / (a - 1) under Q, r the likelihood ratio,
which is never negative. Terms that could leave the range of doubles are summed as exponentials of differences.
Integrals over a normal distribution are trapezium sums, whose error for functions analytic in a strip falls
exponentially (Trefethen and Weideman 2014); ``proofs/pairs.md`` has the constants.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_EXPONENT = 600.0  # exponents beyond are summed relative to the largest
_SERIES = 0.5  # order times loss (or change) below which a power series keeps the digits
_SMALL_CHANGE = 0.1  # change of the ratio below which its binomial series is short
_DIGITS = 38.0  # -ln of what a sum may leave out
_FAR_LOSS = 30.0  # losses beyond which e^loss is added to an exponent before it is taken
_OVERFLOW = 700.0  # exponents beyond are no doubles
_REMOVE, _ADD, _FIXED = 0, 1, 2
_ROOT = math.sqrt(2 * math.pi)
_SUMMED_DEVIATIONS = 10.5  # standard deviations on both sides that are always summed
_UNDERFLOW = 1e-290  # stands for a sum that underflowed
_SAFE = 2e-12  # twenty times the largest error against forty digits
_SAFE_PER = 1e-15  # per unit of an exponent x^2: its rounding
_NODES, _WEIGHTS = (np.ascontiguousarray(array) for array in np.polynomial.legendre.leggauss(16))


@njit(cache=True, nogil=True)
def atoms_profile(
    losses: "NDArray[np.float64]",
    log_masses: "NDArray[np.float64]",
    infinity: float,
    epsilons: "NDArray[np.float64]",
) -> "NDArray[np.float64]":
    """Return the sums of p (1 - e^(epsilon - loss))_+ over all losses; both ``losses`` and ``epsilons`` increase."""
    out = np.empty(epsilons.size)
    above, matched, last = infinity, 0.0, 0.0  # matched = e^epsilon Q(loss > epsilon), at the last epsilon
    i = losses.size - 1
    for j in range(epsilons.size - 1, -1, -1):
        epsilon = epsilons[j]
        if matched > 0.0:
            above -= matched * math.expm1(epsilon - last)
            matched *= math.exp(epsilon - last)
        while i >= 0 and losses[i] > epsilon:
            mass, gap = math.exp(log_masses[i]), epsilon - losses[i]
            above -= mass * math.expm1(gap)
            matched += mass * math.exp(gap)
            i -= 1
        out[j], last = above, epsilon
    return out


@njit(cache=True, nogil=True)
def match_atoms(
    losses: "NDArray[np.float64]", log_masses: "NDArray[np.float64]", epsilons: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """Return e^epsilon Q(loss > epsilon) for each epsilon; both ``losses`` and ``epsilons`` increase."""
    out = np.empty(epsilons.size)
    matched, last = 0.0, 0.0
    i = losses.size - 1
    for j in range(epsilons.size - 1, -1, -1):
        if matched > 0.0:
            matched *= math.exp(epsilons[j] - last)
        while i >= 0 and losses[i] > epsilons[j]:
            matched += math.exp(log_masses[i] + epsilons[j] - losses[i])
            i -= 1
        out[j], last = matched, epsilons[j]
    return out


@njit(cache=True, nogil=True)
def _excess(order: float, loss: float, log_mass: float) -> float:
    """Return q (r^a - 1 - a (r - 1)) / (a - 1) for r = e^loss and p = r q, without cancellation."""
    over = order - 1.0
    if abs(order * loss) < _SERIES:
        coefficient, power, total = order, 0.5 * loss * loss, 0.0
        for k in range(3, 20):
            total += coefficient * power
            coefficient = order * (1.0 + coefficient)
            power *= loss / k
        return math.exp(log_mass - loss) * total
    mass = math.exp(log_mass)
    # p - q; small losses of large orders need all its digits.
    rest = -mass * math.expm1(-loss) if loss > -1.0 else mass - math.exp(log_mass - loss)
    if over * loss > 1.0:
        return (math.exp(log_mass + over * loss) - mass) / over - rest
    return mass * (math.expm1(over * loss) / over) - rest


@njit(cache=True, nogil=True)
def atoms_renyi(
    losses: "NDArray[np.float64]", log_masses: "NDArray[np.float64]", missing: float, orders: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """Return the Rényi divergences of finite losses; ``missing`` is what Q has where P has nothing."""
    out = np.empty(orders.size)
    for j in range(orders.size):
        over = orders[j] - 1.0
        largest = -math.inf
        for i in range(losses.size):
            largest = max(largest, log_masses[i] + over * losses[i])
        total = 0.0
        if largest == math.inf:  # an order so large that only the largest loss counts
            out[j] = losses[-1]
        elif largest > _MAX_EXPONENT:
            for i in range(losses.size):
                total += math.exp(log_masses[i] + over * losses[i] - largest)
            out[j] = (largest + math.log(total)) / over
        else:
            for i in range(losses.size):
                total += _excess(orders[j], losses[i], log_masses[i])
            out[j] = math.log1p(over * (total + missing)) / over
    return out


@njit(cache=True, nogil=True)
def _log_ratio(loss: float, share: float) -> float:
    """Return ln(1 - share + share e^loss), to all digits also where a tiny share makes it nearly 0."""
    if loss > _OVERFLOW:
        return loss + math.log(share + (1.0 - share) * math.exp(-loss))
    if loss < -1.0 and share > 0.5:
        return math.log((1.0 - share) + share * math.exp(loss))
    return math.log1p(share * math.expm1(loss))


@njit(cache=True, nogil=True)
def _sigmoid(loss: float, share: float) -> float:
    """Return share e^loss / (1 - share + share e^loss)."""
    if loss > 0.0:
        return share / (share + (1.0 - share) * math.exp(-loss))
    return share * math.exp(loss) / (1.0 - share + share * math.exp(loss))


@njit(cache=True, nogil=True)
def _exponent(x: float, mu: float, share: float, power: float) -> float:
    return power * _log_ratio(mu * x - 0.5 * mu * mu, share) - 0.5 * x * x


@njit(cache=True, nogil=True)
def _removal_term(half: float, log_ratio: float, weighted: float, order: float) -> float:
    """Return e^half (r^a - 1 - a (r - 1)) / (a - 1); ``weighted`` is e^half (r - 1)."""
    over = order - 1.0
    if over * log_ratio > 1.0:
        return (math.exp(half + order * log_ratio) - math.exp(half + log_ratio)) / over - weighted
    return math.exp(half + log_ratio) * (math.expm1(over * log_ratio) / over) - weighted


@njit(cache=True, nogil=True)
def _addition_term(half: float, log_ratio: float, weighted: float, order: float) -> float:
    """Return e^half (r^(1 - a) - 1 + (a - 1) (r - 1)) / (a - 1)."""
    over = order - 1.0
    if over * log_ratio < -1.0:
        return (math.exp(half - over * log_ratio) - math.exp(half)) / over + weighted
    return math.exp(half) * (math.expm1(-over * log_ratio) / over) + weighted


@njit(cache=True, nogil=True)
def _fixed(half: float, log_ratio: float, order: float) -> float:
    """Return e^half (r^a - r) (1 - r^-a) / (a - 1), for r >= 1."""
    over = order - 1.0
    seen = -math.expm1(-order * log_ratio)
    if over * log_ratio > 1.0:
        return math.exp(half + order * log_ratio) * (-math.expm1(-over * log_ratio) / over) * seen
    return math.exp(half + log_ratio) * (math.expm1(over * log_ratio) / over) * seen


@njit(cache=True, nogil=True)
def _term(x: float, mu: float, share: float, order: float, kind: int) -> float:
    """Return e^(-x^2/2) times the excess at x, over order - 1: positive, without cancellation or overflow."""
    half = -0.5 * x * x
    loss = mu * x - 0.5 * mu * mu
    log_ratio = _log_ratio(loss, share)
    if kind == _FIXED:
        return _fixed(half, log_ratio, order)
    change = share * math.expm1(min(loss, _OVERFLOW))
    if abs(change) < _SMALL_CHANGE and abs(order * change) < _SERIES:  # the binomial series from the second power on
        power = 1.0 - order if kind == _ADD else order
        term, total = 0.5 * order * change * change, 0.0
        for k in range(3, 22):
            total += term
            term *= (power - k + 1.0) / k * change
        return math.exp(half) * total
    weighted = share * (math.exp(half + loss) - math.exp(half)) if loss > _FAR_LOSS else change * math.exp(half)
    return (
        _addition_term(half, log_ratio, weighted, order)
        if kind == _ADD
        else _removal_term(half, log_ratio, weighted, order)
    )


@njit(cache=True, nogil=True)
def _fixed_point(start: float, mu: float, share: float, power: float) -> float:
    """Return nearly the stationary point of the exponent that is reached from ``start``."""
    x = start
    for _ in range(400):
        following = power * mu * _sigmoid(mu * x - 0.5 * mu * mu, share)
        if abs(following - x) < 1e-3:
            break
        x = following
    return x


@njit(cache=True, nogil=True)
def _peak_below(mu: float, share: float, power: float) -> float:
    """Return the one stationary point for a negative power, by bisection."""
    low, high = power * mu, 0.0
    for _ in range(200):
        if high - low < 1e-3:
            break
        middle = 0.5 * (low + high)
        if power * mu * _sigmoid(mu * middle - 0.5 * mu * mu, share) > middle:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _walk(x: float, step: float, mu: float, share: float, power: float, threshold: float, end: float) -> float:
    """Return the first point from x on where the exponent is below the threshold, or ``end``."""
    while (end - x) * step > 0.0 and _exponent(x, mu, share, power) > threshold:
        x += step
    return x if (end - x) * step > 0.0 else end


@njit(cache=True, nogil=True)
def _step(mu: float, order: float, kind: int) -> float:
    """Return a step for which what the trapezium rule leaves out is below e^-_DIGITS; for fixed size, of a panel.

    At a distance d from the real line the terms grow by e^(d^2/2), and for negative powers of r by ``growth``; the rule
    gains e^(2 pi d / step). Powers of r are analytic as far as pi / mu.
    """
    if kind == _FIXED:
        return min(2.0, 4.0 / mu)
    if kind == _REMOVE:
        distance = min(math.pi / mu, 8.0)
        return 2.0 * math.pi * distance / (0.5 * distance * distance + _DIGITS)
    best = 0.0
    for i in range(1, 21):
        distance = i / 20.0 * min(0.75 * math.pi / mu, 8.0)
        growth = -0.5 * (order - 1.0) * math.log1p(-0.5 * (1.0 - math.cos(mu * distance)))
        best = max(best, 2.0 * math.pi * distance / (0.5 * distance * distance + growth + _DIGITS))
    return best


@njit(cache=True, nogil=True)
def _value(x: float, mu: float, share: float, order: float, kind: int, shift: float) -> float:
    if shift > 0.0:  # so large that 1 + a (r - 1) is nothing beside the power
        return math.exp(_exponent(x, mu, share, 1.0 - order if kind == _ADD else order) - shift)
    return _term(x, mu, share, order, kind)


@njit(cache=True, nogil=True)
def _integral(
    low: float, high: float, mu: float, share: float, order: float, kind: int, shift: float
) -> tuple[float, float]:
    """Return the integral of the terms, or of e^(exponent - shift), and the last point that it covers.

    Trapezium sums of one order lie on one grid: the next one starts a step after the end of the last.
    """
    step, total = _step(mu, order, kind), 0.0
    if kind == _FIXED:
        panels = max(1, math.ceil((high - low) / step))
        half = 0.5 * (high - low) / panels
        for i in range(panels):
            for j in range(_NODES.size):
                x = low + half * (2 * i + 1 + _NODES[j])
                total += half * _WEIGHTS[j] * _value(x, mu, share, order, kind, shift)
        return total, high
    first = math.floor(low / step + 1e-9) + 1.0
    last = max(first, math.ceil(high / step))
    for i in range(int(last - first) + 1):
        total += _value(step * (first + i), mu, share, order, kind, shift)
    return total * step, step * last


@njit(cache=True, nogil=True)
def _addition_renyi(mu: float, share: float, order: float) -> tuple[float, float]:
    """Return the divergence of the plain from the mixture, and the largest |x| of the sum: one peak, at 0 or below."""
    power = 1.0 - order
    peak = _peak_below(mu, share, power)
    highest = _exponent(peak, mu, share, power)
    far = highest - 1.4 * _DIGITS
    low = min(-_SUMMED_DEVIATIONS, _walk(peak, -0.5, mu, share, power, far, -math.inf))
    high = 2.0 * mu + _SUMMED_DEVIATIONS
    shift = 0.0
    if highest > _MAX_EXPONENT:
        shift, high = highest, _walk(peak, 0.5, mu, share, power, far, high)
    total, _ = _integral(low, high, mu, share, order, _ADD, shift)
    return _divergence(total, shift, order), max(-low, high)


@njit(cache=True, nogil=True)
def _removal_renyi(mu: float, share: float, order: float, kind: int) -> tuple[float, float]:
    """Return the divergence of the mixture from the plain, and the largest |x| of the sum.

    Near 0 the terms are what small changes contribute; farther out they are at most e^exponent, which has one peak or
    two: the stationary points that are reached from 0 and from order * mu.
    """
    near, far = _fixed_point(0.0, mu, share, order), _fixed_point(order * mu, mu, share, order)
    highest = max(_exponent(near, mu, share, order), _exponent(far, mu, share, order))
    shift = highest if highest > _MAX_EXPONENT else 0.0
    low, high = (0.5 * mu if kind == _FIXED else -_SUMMED_DEVIATIONS), 2.0 * mu + _SUMMED_DEVIATIONS
    total, covered = _integral(low, high, mu, share, order, kind, shift)
    threshold = (shift if shift > 0.0 else math.log(max(total, _UNDERFLOW))) - 1.1 * _DIGITS
    for start in (covered, near, far):
        if start < covered or _exponent(start, mu, share, order) < threshold:
            continue
        left = _walk(start, -0.5, mu, share, order, threshold, covered)
        right = _walk(start, 0.5, mu, share, order, threshold, math.inf)
        more, covered = _integral(left, right, mu, share, order, kind, shift)
        total += more
    return _divergence(total, shift, order), max(covered, -low)


@njit(cache=True, nogil=True)
def _divergence(total: float, shift: float, order: float) -> float:
    over = order - 1.0
    if shift > 0.0:
        return (shift + math.log(total / _ROOT)) / over
    return math.log1p(over * max(total, _UNDERFLOW) / _ROOT) / over


@njit(cache=True, nogil=True)
def sampled_normal_renyi(mu: float, share: float, orders: "NDArray[np.float64]", kind: int) -> "NDArray[np.float64]":
    """Return Rényi divergences of a sampled normal pair, rounded up; kinds: 0 remove, 1 add, 2 fixed."""
    out = np.empty(orders.size)
    for j in range(orders.size):
        if kind == _ADD:
            value, reach = _addition_renyi(mu, share, orders[j])
        else:
            value, reach = _removal_renyi(mu, share, orders[j], kind)
        out[j] = value * (1.0 + _SAFE) + _SAFE_PER * reach * reach * min(value, 1.0 / (orders[j] - 1.0))
    return out


@njit(cache=True, nogil=True)
def _sum_restarts(n: float, width: float, uses: float, covered: float) -> float:
    """Return the sum of squares over widths along the greatest convex minorant, whose corners are known here."""
    if width <= 1 - 1 / n:  # it bends before every use
        return width**2 / (n - 1) + (uses - 1) / n + 1 / covered
    rise, steps = width + uses - 1, uses * n - 1  # it bends before the last use, or nowhere
    if rise * covered <= steps:
        return rise**2 / max(steps, 1.0) + 1 / covered
    return (rise + 1) ** 2 / (steps + covered)


@njit(cache=True, nogil=True)
def best_restarts(
    n: float,
    width: float,
    uses: "NDArray[np.float64]",
    covered: "NDArray[np.float64]",
    best: "NDArray[np.float64]",
) -> None:
    """Lower the prices in ``best`` to those of plans of ``pnsgd`` that restart, where the first row gets smaller."""
    for column in range(best.shape[1]):
        for use in uses:
            price = _sum_restarts(n, width, use, covered[0, column])
            if price < best[0, column]:
                best[0, column] = price
                best[1, column] = _sum_restarts(n, width, use, covered[1, column])
