"""What a sample says of the whole: exact bounds for the size of a set, and for the share of a part of it.

Every value is in the sample with the same probability, or the sample is a number of values drawn without replacement,
which spreads less: the bounds of Clopper and Pearson (1934) hold for both.
"""

from collections.abc import Callable

_FAR = 64  # doublings from an estimate to beyond any bound
_STEPS = 100


def size_bounds(sampled: int, rate: float, tail: float) -> tuple[float, float]:
    """Return bounds for the size of a set of which so many values were sampled at a rate.

    Either bound fails with probability ``tail`` at most.
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
    """Return bounds for the share of a part of a set, from how many of the sampled values are in it."""
    from scipy.special import betaincinv

    low = float(betaincinv(part, sampled - part + 1, tail)) if part else 0.0
    high = float(betaincinv(part + 1, sampled - part, 1 - tail)) if part < sampled else 1.0
    return low, high


def _root(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return where a condition that fails for small numbers begins to hold."""
    if holds(low):
        return low
    for _ in range(_FAR):
        if holds(high):
            break
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
