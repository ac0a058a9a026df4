"""The random parts of a private search: the number of runs, the candidate of a run, and the held-out records.

The number of runs K is drawn exactly from the law that the accountants price (``PrivateSelectionEvent``): coins whose
probabilities are rational numbers, never a floating-point inverse. The negative binomial law of a whole eta is a sum of
geometric numbers, given that it is not 0; for any other eta, that of the next integer is thinned by coins of ``(l +
eta) / (l + m)``. K must stay secret; the time of a search depends on it, so the time must stay secret too. Papernot and
Steinke 2022; the proof is ``proofs/repetition.md``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, ReprMixin, exact, exact_integer, exact_positive, exact_probability, safe_repr
from celosia.core.repetitions import PrivateSelectionEvent
from celosia.noise.bernoulli import bernoulli, flip
from celosia.noise.source import source_or_system
from celosia.noise.uniform import integer_below

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.core.events import Event
    from celosia.core.mechanism import Source

_STEPS = 200  # of a bisection for gamma
_DIGITS = 40  # binary places of a gamma that was searched for
_BLOCK = 64  # coins that are flipped at once


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Repetitions(ReprMixin):
    """How often a search runs: a random number with a given ``mean``, by the law ``distribution``.

    ``eta`` belongs to the negative binomial law: 1, the geometric law, has many short searches and some long ones; 0
    has more of both and costs less; a large eta comes near to a fixed number, which costs most.
    """

    mean: Fraction
    distribution: Literal["negative binomial", "poisson"] = "negative binomial"
    eta: Fraction = Fraction(1)

    def __init__(
        self,
        *,
        mean: Exact,
        distribution: Literal["negative binomial", "poisson"] = "negative binomial",
        eta: Exact = 1,
    ) -> None:
        self._set(mean=exact_positive(mean, name="mean"), distribution=distribution, eta=exact(eta, name="eta"))
        from celosia.core.events import LaplaceEvent

        if self.mean > _MAX_RUNS or (distribution == "negative binomial" and self.mean <= 1):
            raise ParameterError("mechanisms.mean_out_of_range", most=_MAX_RUNS, mean=safe_repr(mean))
        if self.eta > _MAX_ETA:
            raise ParameterError("mechanisms.eta_too_large", most=_MAX_ETA, eta=safe_repr(eta))
        self.event(LaplaceEvent(scale=1, sensitivity=1))  # raises if there is no such law

    @property
    def gamma(self) -> Fraction | None:
        """The parameter of the negative binomial law that has the mean; None for the poisson law."""
        return None if self.distribution == "poisson" else _gamma(self.mean, self.eta)

    def event(self, event: "Event") -> PrivateSelectionEvent:
        """Return the event of a search whose single run is ``event``."""
        if self.distribution == "poisson":
            return PrivateSelectionEvent(event=event, distribution=self.distribution, mean=self.mean)
        return PrivateSelectionEvent(event=event, distribution=self.distribution, eta=self.eta, gamma=self.gamma)

    def draw(self, source: "Source | None" = None) -> int:
        """Draw the number of runs, which must stay secret."""
        source = source_or_system(source)
        gamma = self.gamma
        if gamma is None:
            pieces = math.ceil(self.mean)
            return sum(_poisson(self.mean / pieces, source) for _ in range(pieces))
        return _negative_binomial(self.eta, gamma, source)


_MAX_RUNS = 10_000
_MAX_ETA = 1_000


def one_of(count: int, source: "Source | None" = None) -> int:
    """Draw which of ``count`` candidates a run takes, all equally likely."""
    return integer_below(exact_integer(count, name="count"), source)


def coin_split(share: Exact, count: int, source: "Source | None" = None) -> "NDArray[np.bool_]":
    """Flip a coin of its own for every record: True, with probability ``share``, holds it out.

    Whether one record is there does not change the coins of the others, so that adding it touches one part only.
    """
    return bernoulli(exact_probability(share, name="share"), count, source)


@lru_cache(maxsize=64)
def _gamma(mean: Fraction, eta: Fraction) -> Fraction:
    """Return the gamma whose mean number of runs is nearly ``mean``, which falls with gamma; exact for eta = 1."""
    if eta == 1:
        return 1 / mean
    low, high = -60.0, 0.0  # logarithms
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if _mean(middle, float(eta)) < mean else (middle, high)
    gamma = Fraction(math.exp(high)).limit_denominator(1 << _DIGITS)
    if not Fraction(1, 10**9) <= gamma < 1:
        raise ParameterError("mechanisms.mean_out_of_reach", mean=float(mean), eta=float(eta))
    return gamma


def _mean(log_gamma: float, eta: float) -> float:
    if log_gamma == 0:
        return 1.0
    odds = math.expm1(-log_gamma)
    return odds * (eta / -math.expm1(eta * log_gamma) if abs(eta) > 1e-12 else -1 / log_gamma)


def _negative_binomial(eta: Fraction, gamma: Fraction, source: "Source") -> int:
    whole_eta = max(1, math.ceil(eta))
    while True:
        runs = _draw_thinned_runs(eta, gamma, source) if whole_eta == 1 else _positive_sum(gamma, whole_eta, source)
        # P(k) of eta over that of the integer above it is the product of these chances, but for a constant.
        if runs and (
            whole_eta in (1, eta) or all(flip((place + eta) / (place + whole_eta), source) for place in range(1, runs))
        ):
            return runs


def _draw_thinned_runs(eta: Fraction, gamma: Fraction, source: "Source") -> int:
    """Count up from 1 while a coin of 1 - gamma shows heads; 0 where a coin of thinning fails on the way."""
    runs = 1
    while flip(1 - gamma, source):
        if eta != 1 and not flip((runs + eta) / (runs + 1), source):
            return 0
        runs += 1
    return runs


def _positive_sum(gamma: Fraction, count: int, source: "Source") -> int:
    """Draw a sum of ``count`` geometric numbers, given that it is not 0: first how many of them are 0 to begin with."""
    while True:
        zeros = integer_below(count, source)
        if all(flip(gamma, source) for _ in range(zeros)):
            return 1 + sum(_failures(gamma, count - zeros, source))


def _failures(gamma: Fraction, count: int, source: "Source") -> list[int]:
    """Count the tails before the first head of a coin of ``gamma``, several times: P(k) = gamma (1 - gamma)^k."""
    numbers = [0]
    while len(numbers) <= count:
        for head in bernoulli(gamma, _BLOCK, source).tolist():
            if head:
                numbers.append(0)
            else:
                numbers[-1] += 1
    return numbers[:count]


def _poisson(mean: Fraction, source: "Source") -> int:
    """Draw from a Poisson law of mean at most 1: a geometric number k, kept with a chance like (2 mean)^k / k!."""
    largest = max(Fraction(1), 2 * mean)  # of (2 mean)^k / k!, at k = 0 or 1 (and at 2, where the mean is 1)
    while True:
        count = _failures(Fraction(1, 2), 1, source)[0]
        if flip((2 * mean) ** count / math.factorial(count) / largest, source):
            return count
