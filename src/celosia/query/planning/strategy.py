"""Strategy of a query, decided before anything is read: measurements, their shares of the budget, the noise.

Shares go by expected error. A measurement with error ``e / epsilon`` gets a share in proportion to ``e^(2/3)``, which
makes the sum of the squared errors smallest; for Gaussian noise, where the square of the error is ``e^2 / rho``, in
proportion to ``e``. Numbers get Laplace or Gaussian noise, whichever has the smaller error at the given delta: Gaussian
wins when a person is in many cells or many numbers are wanted. Choices are permute-and-flip where the budget is a sum
of epsilons, exponential where it is a rho. The shares add up exactly to the target.

A target's delta that is not given is the budget's in proportion to the epsilon, so that queries which add up to the
budget's epsilon add up to at most its delta. A share that is too long to store is rounded down: the query then spends
less.
"""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from celosia.core import CertifiedEvent, ComposedEvent, Event
from celosia.core.errors import ParameterError, QueryError
from celosia.core.exact import MIN_DELTA, Exact, exact_target, safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, PureDP
from celosia.core.messages.message import Message
from celosia.mechanisms import StableKeys
from celosia.noise.source import Seeded
from celosia.query.plan.suggestions import list_items
from celosia.query.planning.analysis import AnalyzedPlan
from celosia.query.planning.measurements import Measurement
from celosia.statistics import Choice, Measure, Noise, PrivateTopK, SharedMoments
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from celosia.core.guarantees import Guarantee

PRIVATE_KEYS = "query.private_keys_need_delta"
"""The code of the error where nothing can pay for the delta of private keys."""

_MIN_SHARE = 1e-300
_SHARE_PARTS = 10_000  # shares are whole multiples of one part in this, so that they add up exactly
_MAX_SHARE_BITS = 1_000  # a share is divided further, and events take three times as many
_ROUNDED_BITS = 128


def read_target(
    budget: "Guarantee", *, epsilon: Exact | None = None, delta: Exact | None = None, rho: Exact | None = None
) -> Target:
    """Return the target that a budget of this kind allows; a delta not given is in proportion to the epsilon."""
    if not isinstance(budget, PureDP | ApproxDP | ZCDP):
        raise ParameterError("query.not_a_target_budget", value=safe_repr(budget))
    if isinstance(budget, ZCDP):
        if rho is None:
            raise ParameterError("query.query_must_spend_rho", given=_list_given(epsilon=epsilon, delta=delta))
    elif rho is not None or epsilon is None:
        raise ParameterError("query.query_must_spend_epsilon", given=_list_given(rho=rho))
    spent, part, other = exact_target(epsilon=epsilon, delta=delta, rho=rho)
    if isinstance(budget, ApproxDP) and delta is None:
        part = _delta_share(budget, spent)
    if isinstance(budget, PureDP) and part > 0:
        raise ParameterError("core.budget_without_delta", value=safe_repr(delta))
    return Target(epsilon=spent, delta=part, rho=other, adjacency=budget.adjacency, unit=budget.unit)


def _list_given(**given: object) -> str:
    """Return the given numbers in words; empty if there are none."""
    shown = [f"{name}={safe_repr(value)}" for name, value in given.items() if value is not None]
    return Message("query.not_given", given=list_items(shown, "query.and_item")) if shown else ""


def _delta_share(budget: ApproxDP, spent: Fraction) -> Fraction:
    if budget.delta >= 1:
        raise ParameterError("query.delta_guarantees_nothing", budget=safe_repr(budget))
    # More epsilon than there is gets no more delta: the session refuses it anyway.
    share = budget.delta if spent >= budget.epsilon else _shorten_down(budget.delta * spent / budget.epsilon)
    return share if share >= MIN_DELTA else Fraction(0)


def _shorten_down(share: Fraction) -> Fraction:
    if share.denominator.bit_length() <= _MAX_SHARE_BITS:
        return share
    unit = Fraction(2) ** (share.numerator.bit_length() - share.denominator.bit_length() - _ROUNDED_BITS)
    return math.floor(share / unit) * unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One measurement with its share: of epsilon, or of rho where the noise is Gaussian or the budget is one.

    ``weight`` is the part of the whole cost; ``noise`` is None for choices.
    """

    measurement: Measurement
    share: Fraction
    weight: Fraction
    noise: Noise | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """All decisions about a query, and the event that a session reserves."""

    analyzed: AnalyzedPlan
    target: Target
    parts: tuple[Part, ...]
    keys: StableKeys | None
    event: Event

    @property
    def pure(self) -> bool:
        """Whether choices are paid by a sum of epsilons."""
        return self.target.rho is None


def strategy_for(analyzed: AnalyzedPlan, target: Target) -> Strategy:
    """Decide how to spend the target on a query: with the noise that has the smaller error."""
    return best_of(strategies_for(analyzed, target))


def best_of(strategies: Sequence[Strategy]) -> Strategy:
    """Return the strategy with the smallest error."""
    return strategies[0] if len(strategies) == 1 else min(strategies, key=squared_error)


def strategies_for(analyzed: AnalyzedPlan, target: Target) -> list[Strategy]:
    """Return the ways to spend the target: Laplace and, with a delta, Gaussian noise; of a rho only the latter."""
    if _has_texts(analyzed) and target.delta == 0:
        raise QueryError("query.top_k_needs_delta")
    if analyzed.cells is None and target.delta == 0:
        raise QueryError(PRIVATE_KEYS)
    if target.rho is not None:
        return [_plan_concentrated(analyzed, target)]
    found = [_plan_laplace(analyzed, target)]
    if target.delta > 0 and any(
        isinstance(measurement.measure, Measure) for measurement in analyzed.aggregate_measurements
    ):
        with contextlib.suppress(ParameterError):  # a delta can be too small for any Gaussian noise
            found.append(_plan_gaussian(analyzed, target))
    return found


def check_noise(strategy: Strategy) -> Strategy:
    """Return the strategy, or raise ``ParameterError`` if its noise is too wide to draw.

    Whether noise fits follows from its scale alone, so it is tried on zeros; the draws are discarded.
    """
    for part in strategy.parts:
        if part.noise is not None and isinstance(part.measurement.measure, Measure):
            nothing = np.zeros((1, part.measurement.measure.width), dtype=np.int64)
            try:
                replace(part.noise, cells=1).release(nothing, Seeded(0))
            except ParameterError:  # noise beyond 64 bits
                name = "epsilon" if strategy.target.rho is None else "rho"
                raise ParameterError("query.noise_drowns_answer", name=name) from None
    return strategy


# ---------------------------------------------------------------------------------------------------------- shares


def _has_texts(analyzed: AnalyzedPlan) -> bool:
    return any(isinstance(measurement.measure, PrivateTopK) for measurement in analyzed.aggregate_measurements)


def _divide_delta(analyzed: AnalyzedPlan, delta: Fraction, *, others: int) -> tuple[AnalyzedPlan, Fraction]:
    """Divide a delta among private keys, each list of texts, and others; the texts get theirs, the rest is returned."""
    texts = [
        measurement for measurement in analyzed.aggregate_measurements if isinstance(measurement.measure, PrivateTopK)
    ]
    each = delta / max(1, (analyzed.cells is None) + len(texts) + others)
    measurements = tuple(
        replace(measurement, measure=replace(measurement.measure, delta=each))
        if isinstance(measurement.measure, PrivateTopK)
        else measurement
        for measurement in analyzed.aggregate_measurements
    )
    return (replace(analyzed, aggregate_measurements=measurements) if texts else analyzed), each


def _plan_laplace(analyzed: AnalyzedPlan, target: Target) -> Strategy:
    analyzed, delta = _divide_delta(analyzed, target.delta, others=0)
    private = analyzed.cells is None
    free = target.epsilon * (1 - _fixed_part(analyzed))
    shares = split_by_error(
        [*_expected_errors(analyzed.aggregate_measurements, analyzed), *([1.0] if private else [])], free, power=2 / 3
    )
    stable = _make_stable_keys(analyzed, shares.pop(), delta) if private else None
    shares += [target.epsilon * (measurement.part or 0) for measurement in analyzed.cut_off]
    parts = []
    for measurement, share in zip(analyzed.measurements, shares, strict=True):
        measure, cells = measurement.measure, measurement.count_cells(analyzed.dimension)
        bounding = measurement.bounding(analyzed.bounding)
        noise = measure.pure_noise(share, cells, bounding) if isinstance(measure, Measure) else None
        parts.append(Part(measurement=measurement, share=share, weight=share / target.epsilon, noise=noise))
    events = [_event(part, analyzed, pure=True) for part in parts]
    return _make_strategy(analyzed, target, tuple(parts), stable, events)


def _plan_gaussian(analyzed: AnalyzedPlan, target: Target) -> Strategy:
    """Numbers together get a part of epsilon and of delta, which Gaussian noise divides among them as a rho."""
    from celosia.accounting.prices.certified import certificate_holds, certified_rhos

    analyzed, delta = _divide_delta(analyzed, target.delta, others=1)
    numbers = [
        measurement for measurement in analyzed.aggregate_measurements if isinstance(measurement.measure, Measure)
    ]
    choices = [
        measurement for measurement in analyzed.aggregate_measurements if not isinstance(measurement.measure, Measure)
    ]
    private, fixed = analyzed.cells is None, target.epsilon * _fixed_part(analyzed)
    together = sum(_expected_errors(numbers, analyzed))
    errors = [together, *_expected_errors(choices, analyzed), *([1.0] if private else [])]
    free, *others = split_by_error(errors, target.epsilon - fixed, power=2 / 3)
    stable = _make_stable_keys(analyzed, others.pop(), delta) if private else None
    first = free + fixed
    for rho in certified_rhos(first, delta):
        divided = split_by_error(_expected_errors(numbers, analyzed), rho * free / first, power=1)
        divided += [rho * target.epsilon * (measurement.part or 0) / first for measurement in analyzed.cut_off]
        shares = dict(zip(map(id, [*numbers, *analyzed.cut_off]), divided, strict=True))
        shares |= dict(zip(map(id, choices), others, strict=True))
        noises = {
            id(measurement): _gaussian_noise(measurement, analyzed, shares[id(measurement)])
            for measurement in analyzed.measurements
        }
        noisy = [noise.event for noise in noises.values() if noise is not None]
        certified = CertifiedEvent(event=_compose(noisy), epsilon=first, delta=delta)
        if certificate_holds(certified):
            break
    parts = tuple(
        Part(
            measurement=measurement,
            share=shares[id(measurement)],
            weight=shares[id(measurement)] / target.epsilon
            if not isinstance(measurement.measure, Measure)
            else first / target.epsilon * shares[id(measurement)] / rho,
            noise=noises[id(measurement)],
        )
        for measurement in analyzed.measurements
    )
    events = [certified, *(_event(part, analyzed, pure=True) for part in parts if part.noise is None)]
    return _make_strategy(analyzed, target, parts, stable, events)


def _plan_concentrated(analyzed: AnalyzedPlan, target: Target) -> Strategy:
    rho = target.rho or Fraction(0)
    shares = split_by_error(
        _expected_errors(analyzed.aggregate_measurements, analyzed), rho * (1 - _fixed_part(analyzed)), power=1
    )
    shares += [rho * (measurement.part or 0) for measurement in analyzed.cut_off]
    parts = tuple(
        Part(
            measurement=measurement,
            share=share,
            weight=share / rho,
            noise=_gaussian_noise(measurement, analyzed, share),
        )
        for measurement, share in zip(analyzed.measurements, shares, strict=True)
    )
    return _make_strategy(analyzed, target, parts, None, [_event(part, analyzed, pure=False) for part in parts])


def _fixed_part(analyzed: AnalyzedPlan) -> Fraction:
    """Return the part of the cost that measures the cut of the limits."""
    return sum((measurement.part or Fraction(0) for measurement in analyzed.cut_off), start=Fraction(0))


def _expected_errors(measurements: Sequence[Measurement], analyzed: AnalyzedPlan) -> list[float]:
    return [_expected_error(measurement, analyzed) for measurement in measurements]


def split_by_error(errors: Sequence[float], total: Fraction, *, power: float) -> list[Fraction]:
    """Divide a total in proportion to a power of errors, exactly."""
    raw = [(error / max(errors)) ** power for error in errors]
    parts = [max(1, round(_SHARE_PARTS * value / sum(raw))) for value in raw]
    return [total * Fraction(part, sum(parts)) for part in parts]


def _expected_error(measurement: Measurement, analyzed: AnalyzedPlan) -> float:
    """Return the expected error in rows at an epsilon of one, comparable between kinds of measurements."""
    measure = measurement.measure
    if isinstance(measure, Measure):
        answers = len(measurement.columns) if isinstance(measure, SharedMoments) else 1  # each of them counts
        return math.sqrt(measure.width * answers)
    return max(1.0, measure.parts(analyzed.bounding) * math.log(max(measure.width, 2)))


def _gaussian_noise(measurement: Measurement, analyzed: AnalyzedPlan, rho: Fraction) -> Noise | None:
    """Return the Gaussian noise of a measurement; None for choices."""
    measure, bounding = measurement.measure, measurement.bounding(analyzed.bounding)
    if not isinstance(measure, Measure):
        return None
    cells = measurement.count_cells(analyzed.dimension)
    return Noise.gaussian(rho, measure.sensitivity(bounding), cells, measure.width, bounding)


def _make_stable_keys(analyzed: AnalyzedPlan, epsilon: Fraction, delta: Fraction) -> StableKeys:
    return StableKeys(
        epsilon=epsilon,
        delta=delta,
        groups=analyzed.bounding.groups,
        adjacency=analyzed.bounding.adjacency,
        unit=analyzed.bounding.unit,
    )


def _event(part: Part, analyzed: AnalyzedPlan, *, pure: bool) -> Event:
    if part.noise is not None:
        return part.noise.event
    choice = part.measurement.measure
    assert isinstance(choice, Choice)  # noqa: S101 - for the type checker: what has no noise chooses
    return choice.event(part.share if pure else None, analyzed.bounding, rho=None if pure else part.share)


def _compose(events: Sequence[Event]) -> Event:
    return events[0] if len(events) == 1 else ComposedEvent(events=events)


def _make_strategy(
    analyzed: AnalyzedPlan, target: Target, parts: tuple[Part, ...], keys: StableKeys | None, events: list[Event]
) -> Strategy:
    paid = [*([] if keys is None else [keys.event]), *events]
    return Strategy(analyzed=analyzed, target=target, parts=parts, keys=keys, event=_compose(paid))


def squared_error(strategy: Strategy) -> float:
    """Return the sum of the variances of all measurements, each relative to the contribution of one row."""
    total = 0.0
    for part in strategy.parts[: len(strategy.analyzed.aggregate_measurements)]:
        if part.noise is not None and isinstance(part.measurement.measure, Measure):
            row = part.measurement.measure.row
            total += part.measurement.measure.width * part.noise.variance / row**2
        else:
            # A share may be too small for a double: then its error is infinite.
            share = float(part.share)
            error = _expected_error(part.measurement, strategy.analyzed) / share if share > _MIN_SHARE else math.inf
            total += error * error
    return total
