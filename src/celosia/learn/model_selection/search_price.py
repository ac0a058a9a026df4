"""The price of one run of a private search, so that the whole search keeps its guarantee.

A run fits a model and scores it on other records, both with the same privacy; the records are in one part or the other,
so a run costs what either of them costs. The accountants price the search of such runs, and bisection finds the largest
run that is affordable. What is returned was priced itself, whatever the bisection did.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from celosia.core.errors import ParameterError
from celosia.core.events import Event
from celosia.core.guarantees import ZCDP, Guarantee, PureDP
from celosia.core.repetitions import PrivateSelectionEvent
from celosia.core.structure import CertifiedEvent, GuaranteedEvent, ParallelEvent
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from celosia.learn.model_selection.held_out import Scoring
    from celosia.mechanisms.repetition import Repetitions
    from celosia.statistics.base.noise import Noise

_PLACES = 40  # binary places of what a run spends, relative to the whole
_STEPS = 14  # of the bisection: a run is at most one part in some ten thousand smaller than it could be


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: what its fit spends, the noise of its score, and the event of the whole search.

    ``real``: a fit may add its noise in real numbers.
    """

    target: Target
    noise: "Noise"
    event: Event
    real: bool = False

    @property
    def spending(self) -> dict[str, Any]:
        """The parameters of an estimator that spends so much."""
        return {"epsilon": self.target.epsilon or None, "delta": None, "rho": self.target.rho}

    def covers(self, event: Event | None) -> bool:
        """Return whether the event of a fit is the one paid for."""
        if event is None or (event.arithmetic == "real") > self.real:
            return False
        return _within(event, self.target)


@lru_cache(maxsize=64)
def affordable(privacy: Target, repetitions: "Repetitions", scoring: "Scoring", *, real: bool = False) -> Run:
    """Return the largest run whose search keeps the guarantee of ``privacy``."""

    def run(amount: Fraction) -> Run:
        # Concentrated privacy bounds a search loosely; pure runs keep a rho far better.
        epsilon, spent = (Fraction(0), amount) if privacy.kind == "approximate" else (amount, None)
        target = Target(epsilon=epsilon, rho=spent, adjacency=privacy.adjacency, unit=privacy.unit)
        noise = target.noise(scoring.sensitivity, scoring.width(privacy.adjacency))
        stated = target.guarantee
        assert stated is not None  # noqa: S101 - for the type checker: it was just given
        fit = GuaranteedEvent(guarantee=stated, arithmetic="real" if real else "integer")
        search = repetitions.event(ParallelEvent(events=(fit, noise.event), fixed=True))
        return Run(target=target, noise=noise, event=_certify(search, privacy), real=real)

    largest = privacy.epsilon if privacy.kind == "pure" else privacy.total_rho
    assert largest is not None  # noqa: S101 - for the type checker: a pure target has an epsilon
    if privacy.kind == "concentrated":
        largest = 2 * (largest + 1)  # an epsilon that no such rho has
    return run(_largest(lambda amount: _keeps(run(amount).event, privacy), largest))


def _certify(search: PrivateSelectionEvent, privacy: Target) -> Event:
    if privacy.kind != "approximate":
        return search
    return CertifiedEvent(event=search, epsilon=privacy.epsilon, delta=privacy.delta)


def _keeps(event: Event, privacy: Target) -> bool:
    from celosia.accounting import basic, certificate_holds, rho

    if isinstance(event, CertifiedEvent):
        return certificate_holds(event)
    if privacy.rho is not None:
        return rho(event) <= privacy.rho
    return basic(event)[0] <= privacy.epsilon


def _within(event: Event, target: Target) -> bool:
    from celosia.accounting import basic, rho, simplify

    plain = simplify(event)
    spent: Guarantee = ZCDP(rho=rho(plain)) if target.rho is not None else PureDP(epsilon=basic(plain)[0])
    stated = target.guarantee
    return stated is not None and replace(spent, adjacency=stated.adjacency, unit=stated.unit) <= stated


def _largest(enough: Callable[[Fraction], bool], whole: Fraction) -> Fraction:
    """Return nearly the largest amount, up to ``whole``, that is enough; it was tried."""
    low = high = 1 << _PLACES
    unit = whole / high
    while not enough(low * unit):  # the largest power of two that is
        high, low = low, low >> 1
        if low == 0:
            raise ParameterError("learn.target_too_small_for_search")
    for _ in range(_STEPS):
        middle = (low + high) // 2
        low, high = (middle, high) if enough(middle * unit) else (low, middle)
    return low * unit
