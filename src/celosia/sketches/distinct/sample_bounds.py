"""Exact bounds from a sample: for the size of a set, and for the share of a part of it.

Every value is in the sample with the same probability, or the sample is a number of values drawn without replacement,
which spreads less: the bounds of Clopper and Pearson (1934) hold for both.
"""

from collections.abc import Callable

_MAX_DOUBLINGS = 64  # from an estimate to beyond any bound
_STEPS = 100


def size_bounds(sampled: int, rate: float, tail: float) -> tuple[float, float]:
    """Return bounds for the size of a set, from the number of values in a sample at a known rate.

    Either bound fails with probability at most ``tail``.
    """
    from scipy.special import betainc

    if rate >= 1:
        return float(sampled), float(sampled)
    # A binomial number of n is at least c with probability I(c, n - c + 1) at the rate.
    low = (
        _root(lambda n: bool(betainc(sampled, n - sampled + 1, rate) > tail), float(sampled), sampled / rate)
        if sampled
        else 0.0
    )
    high = _root(
        lambda n: bool(1 - betainc(sampled + 1, n - sampled, rate) <= tail), float(sampled), (sampled + 1) / rate
    )
    return low, high


def share_bounds(part: int, sampled: int, tail: float) -> tuple[float, float]:
    """Return bounds for the share of a part of a set, from the number of sampled values in it."""
    from scipy.special import betaincinv

    low = float(betaincinv(part, sampled - part + 1, tail)) if part else 0.0
    high = float(betaincinv(part + 1, sampled - part, 1 - tail)) if part < sampled else 1.0
    return low, high


def _root(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least number at which a monotone condition holds."""
    if holds(low):
        return low
    for _ in range(_MAX_DOUBLINGS):
        if holds(high):
            break
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
