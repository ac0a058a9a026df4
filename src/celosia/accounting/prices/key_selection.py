"""The price of showing the keys of a table: the probability that a key with a single unit is shown.

Such a key reveals its unit: without the unit it could not be shown. Noise of ratio ``r = exp(-1/scale)`` carries it to
the threshold ``T`` with probability ``r^(T-1) / (1 + r)``, which is the delta of one key. Keys that also have other
units only move by one step, which costs ``1/scale``. Here the probability is rounded up and the threshold is chosen by
that rounded number, so that mechanism and accountant agree (proofs/stable-keys.md).

Korolova, Kenthapadi, Mishra and Ntoulas 2009; Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson 2020.
"""

import math
from fractions import Fraction

from celosia.core.enclosure import exp_at_least, exp_at_most, log_at_least

_MAX_EXPONENT = 1_000  # an exponent beyond which a probability is rounded up to exp(-1000), far below any delta
_BITS = 96  # of a rounded probability: sums of such numbers stay short


def tail_at_least(scale: Fraction, threshold: int) -> Fraction:
    """Return the probability that a key with one unit reaches ``threshold``, rounded up by less than a part in 2^60."""
    exponent = min((threshold - 1) / scale, Fraction(_MAX_EXPONENT))
    ratio = exp_at_most(-1 / scale) if 1 / scale < _MAX_EXPONENT else Fraction(0)
    places = _BITS + 3 * math.ceil(exponent) // 2
    return Fraction(math.ceil(exp_at_least(-exponent) / (1 + ratio) * 2**places), 2**places)


def least_threshold(scale: Fraction, tail: Fraction) -> int:
    """Return the smallest threshold that a key with one unit reaches with probability ``tail`` at most."""
    ratio = exp_at_most(-1 / scale) if 1 / scale < _MAX_EXPONENT else Fraction(0)
    guess = max(1, 1 + math.ceil(scale * log_at_least(1 / (tail * (1 + ratio)))))
    while tail_at_least(scale, guess) > tail:
        guess += 1
    while guess > 1 and tail_at_least(scale, guess - 1) <= tail:
        guess -= 1
    return guess
