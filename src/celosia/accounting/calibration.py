"""The smallest noise for a target: any structure of events, by bisection, with a certificate.

The caller gives a function from an amount of noise to an event. More noise must not cost more; this holds for every
mechanism here whose noise is at least a grid step wide. The answer does not depend on the search being right: its own
guarantee is computed and meets the target. A slightly smaller amount whose guarantee does not meet it certifies that
the answer is nearly the smallest.
"""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from celosia.accounting.accountants.base import AdaptiveAccountant
from celosia.accounting.accountants.best import best
from celosia.accounting.accountants.classical import PureAccountant
from celosia.accounting.accountants.sums import GDPAccountant, RenyiAccountant, ZCDPAccountant
from celosia.core import (
    ZCDP,
    ApproxDP,
    Event,
    GaussianDP,
    Guarantee,
    GuaranteeMismatchError,
    NotPricedError,
    ParameterError,
    PureDP,
    RenyiDP,
)
from celosia.core.exact import Exact, exact_positive, safe_repr
from celosia.core.messages.message import name_unit

_MIN_NOISE, _MAX_NOISE = 1e-12, 1e15  # amounts of noise that are tried
_MAX_LOG_RATIO = 50.0  # a logarithm that stands for an infinite ratio
_MIN_EXCESS = 1e-300  # an excess that doubles round to 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """An amount of noise that is enough, the event made from it, and a slightly smaller amount that is not enough.

    >>> from celosia.core import GaussianEvent
    >>> found = calibrate(
    ...     lambda sigma: GaussianEvent(variance=sigma**2, sensitivity_squared=1), ApproxDP(epsilon=1, delta="1e-6")
    ... )
    >>> round(found.noise, 2), found.too_small < found.noise, found.achieved <= found.target
    (4.23, True, True)
    """

    noise: float
    too_small: float
    target: Guarantee
    achieved: Guarantee
    accountant: str
    event: Event = field(repr=False)


def calibrate(
    make: Callable[[float], Event], target: Guarantee, *, start: Exact = 1, tolerance: Exact = "1e-4"
) -> Calibration:
    """Return the smallest noise, up to a relative ``tolerance``, for which ``make(noise)`` meets the ``target``.

    Parameters
    ----------
    make
        An event for an amount of noise: more noise, more privacy. The amount may be anything: a standard deviation, a
        scale, a number of grid steps.
    target
        The guarantee that the event must meet, of any kind. For (epsilon, delta) every accountant is tried.
    start
        Where the search begins.
    tolerance
        How much smaller, relative to the answer, an amount that fails may be.

    Examples
    --------
    >>> from celosia.core import LaplaceEvent
    >>> round(calibrate(lambda scale: LaplaceEvent(scale=scale, sensitivity=1), PureDP(epsilon="0.5")).noise, 3)
    2.0
    """
    if not isinstance(target, Guarantee):
        raise ParameterError("accounting.target_not_a_guarantee", target=safe_repr(target))
    if not callable(make):
        raise ParameterError("accounting.make_not_a_function", make=safe_repr(make))
    noise = float(exact_positive(start, name="start"))
    search = _Search(make, target)
    low, high = search.bracket(noise)
    low, high = search.narrow(low, high, float(exact_positive(tolerance, name="tolerance")))
    event = _make_event(make, high)
    achieved, accountant = _compute_guarantee(event, target)
    return Calibration(noise=high, too_small=low, target=target, achieved=achieved, accountant=accountant, event=event)


class _Search:
    """The amounts tried so far, and by how much each missed the target; one evaluation may take a second."""

    def __init__(self, make: Callable[[float], Event], target: Guarantee) -> None:
        self._make = make
        self._target = target
        self._tried: dict[float, float] = {}
        self._refused: NotPricedError | None = None
        self._priced = False

    def excess(self, noise: float) -> float:
        """Return the logarithm of the achieved over the wanted size; positive exactly when the target is missed."""
        if noise not in self._tried:
            try:
                achieved, _ = _compute_guarantee(_make_event(self._make, noise), self._target)
            except NotPricedError as error:  # noise that is too small for any theorem is not enough
                self._refused = error
                self._tried[noise] = _MAX_LOG_RATIO
                return _MAX_LOG_RATIO
            self._priced = True
            size = max(-_MAX_LOG_RATIO, min(_MAX_LOG_RATIO, _log_ratio(achieved, self._target)))
            self._tried[noise] = min(size, 0.0) if achieved <= self._target else max(size, _MIN_EXCESS)
        return self._tried[noise]

    def bracket(self, start: float) -> tuple[float, float]:
        """Return an amount that is not enough and a larger one that is."""
        high = start
        while self.excess(high) > 0:
            high *= 2
            if high > _MAX_NOISE:
                if self._refused is not None and not self._priced:
                    raise self._refused
                raise ParameterError("accounting.target_out_of_reach")
        low = high / 2
        while self.excess(low) <= 0:
            high, low = low, low / 2
            if low < _MIN_NOISE:
                raise ParameterError("accounting.target_needs_no_noise", noise=low)
        return low, high

    def narrow(self, low: float, high: float, tolerance: float) -> tuple[float, float]:
        """Return a bracket no wider than the tolerance, by interpolation from both sides."""
        close = math.sqrt(1 + tolerance)
        while high > low * (1 + tolerance):
            above, below = self.excess(low), -self.excess(high)
            share = min(max(above / (above + below), 0.02), 0.98) if below > 0 else 0.5
            guess = low ** (1 - share) * high**share
            # A guess is right or nearly so; trying both sides of it at the distance of the tolerance ends the search.
            for noise in (guess * close, guess / close):
                if low < noise < high:
                    low, high = (low, noise) if self.excess(noise) <= 0 else (noise, high)
            if not low < math.sqrt(low * high) < high:
                break
            middle = math.sqrt(low * high)
            if high > low * (1 + tolerance) ** 8:
                low, high = (low, middle) if self.excess(middle) <= 0 else (middle, high)
        return low, high


def _log_ratio(achieved: Guarantee, target: Guarantee) -> float:
    ratios = [
        math.log(float(ours / wanted))
        if ours > 0 and wanted > 0
        else (_MAX_LOG_RATIO if ours > wanted else -_MAX_LOG_RATIO)
        for ours, wanted in zip(_sizes(achieved), _sizes(target), strict=False)
    ]
    return max(ratios)


def _sizes(guarantee: Guarantee) -> tuple[Fraction, ...]:
    match guarantee:
        case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon):
            return (epsilon,)
        case ZCDP(rho=rho):
            return (rho,)
        case GaussianDP(mu=mu):
            return (mu,)
        case RenyiDP(epsilons=epsilons):
            return epsilons
        case _:
            return (Fraction(0),)


def _make_event(make: Callable[[float], Event], noise: float) -> Event:
    event = make(noise)
    if not isinstance(event, Event):
        raise ParameterError("accounting.make_returned_no_event", event=safe_repr(event))
    return event


def _compute_guarantee(event: Event, target: Guarantee) -> tuple[Guarantee, str]:
    """Return the guarantee of an event, in the kind of the target, and the accountant's name."""
    if event.adjacency is not target.adjacency or event.unit != target.unit:
        raise GuaranteeMismatchError(
            "accounting.target_scope_differs",
            adjacency=repr(target.adjacency),
            unit=name_unit(target.unit),
            event_adjacency=repr(event.adjacency),
            event_unit=name_unit(event.unit),
        )
    if isinstance(target, ApproxDP) and target.delta > 0:
        answer = best(event, target.delta)
        return answer.guarantee, answer.accountant
    if isinstance(target, ApproxDP):
        accountant: AdaptiveAccountant = PureAccountant()
        total = accountant.spend(event).guarantee()
        assert isinstance(total, PureDP)  # noqa: S101 - the total of a pure accountant
        return ApproxDP(epsilon=total.epsilon, delta=Fraction(0), adjacency=event.adjacency, unit=event.unit), "pure"
    accountant = _accountant(target)
    total = accountant.spend(event).guarantee()
    if isinstance(total, RenyiDP) and isinstance(target, RenyiDP):
        if len(total.orders) < len(target.orders):
            raise NotPricedError("accounting.no_renyi_at_target_orders", type=type(event).__name__)
        total = dataclasses.replace(total, orders=target.orders)  # as they were written, not as doubles
    return total, accountant.name


def _accountant(target: Guarantee) -> AdaptiveAccountant:
    match target:
        case PureDP():
            return PureAccountant()
        case ZCDP():
            return ZCDPAccountant()
        case GaussianDP():
            return GDPAccountant()
        case RenyiDP(orders=orders):
            return RenyiAccountant(orders)
        case _:
            raise ParameterError("accounting.unsupported_target", type=type(target).__name__)
