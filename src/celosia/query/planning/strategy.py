"""How a query will be answered, decided before anything is read: measurements, their shares of the budget, the noise.

Shares go by expected error. A measurement with error ``e / epsilon`` gets a share in proportion to ``e^(2/3)``, which
makes the sum of the squared errors smallest; for Gaussian noise, where the square of the error is ``e^2 / rho``, in
proportion to ``e``. Numbers get Laplace or Gaussian noise, whichever has the smaller error at the given delta: Gaussian
wins when a person is in many cells or many numbers are wanted. Choices are permute-and-flip where the budget is a sum
of epsilons, exponential where it is a rho. The shares add up exactly to what was asked for.
"""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from celosia.core import CertifiedEvent, ComposedEvent, Event
from celosia.core.errors import ParameterError, QueryError
from celosia.mechanisms import StableKeys
from celosia.noise.source import Seeded
from celosia.query.planning.analysis import AnalyzedPlan
from celosia.query.planning.measurements import Measurement
from celosia.query.planning.target import Target
from celosia.statistics import Choice, Measure, Noise, PrivateTopK, SharedMoments

PRIVATE_KEYS = (
    "The keys are private (a Text column), so they are chosen by a noisy threshold, which needs a delta: list the keys "
    "in group_by(keys=…), or ask the owner of the data to list them in the schema (Category) or for a budget with a "
    "delta, ApproxDP(epsilon=…, delta=…)."
)
"""Why private keys are refused where nothing can pay for their delta."""

_SMALLEST_SHARE = 1e-300
_FINE = 10_000  # shares are whole multiples of one part in this, so that they add up exactly


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One measurement with its share: of epsilon, or of rho where the noise is Gaussian or the budget is one.

    ``weight`` is the part of the whole cost; ``noise`` is None for choices.
    """

    need: Measurement
    share: Fraction
    weight: Fraction
    noise: Noise | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """All decisions about a query, and the event that a session reserves."""

    question: AnalyzedPlan
    target: Target
    parts: tuple[Part, ...]
    keys: StableKeys | None
    event: Event

    @property
    def pure(self) -> bool:
        """Whether choices are paid by a sum of epsilons."""
        return self.target.rho is None


def strategy_for(question: AnalyzedPlan, target: Target) -> Strategy:
    """Decide how to spend the target on a query: with the noise that has the smaller error."""
    return best_of(strategies_for(question, target))


def best_of(strategies: Sequence[Strategy]) -> Strategy:
    """Return the strategy with the smallest error."""
    return strategies[0] if len(strategies) == 1 else min(strategies, key=squared_error)


def strategies_for(question: AnalyzedPlan, target: Target) -> list[Strategy]:
    """Return the ways to spend the target: Laplace and, with a delta, Gaussian noise; of a rho only the latter."""
    if _has_texts(question) and target.delta == 0:
        raise QueryError(
            "TOP_K of a Text finds values that nobody listed, by a noisy threshold, which needs a delta: ask the owner "
            "of the data to list the values in the schema (Category) or for a budget with a delta, "
            "ApproxDP(epsilon=…, delta=…)."
        )
    if question.cells is None and target.delta == 0:
        raise QueryError(PRIVATE_KEYS)
    if target.rho is not None:
        return [_concentrated(question, target)]
    found = [_laplace(question, target)]
    if target.delta > 0 and any(isinstance(need.measure, Measure) for need in question.aggregate_measurements):
        with contextlib.suppress(ParameterError):  # a delta can be too small for any Gaussian noise
            found.append(_gaussian(question, target))
    return found


def check_noise(strategy: Strategy) -> Strategy:
    """Return a strategy whose noise can be drawn; one whose noise is too wide is refused, before it is paid for.

    Whether noise fits follows from its scale alone, so it is tried on nothing, with draws that nobody sees.
    """
    for part in strategy.parts:
        if part.noise is not None and isinstance(part.need.measure, Measure):
            nothing = np.zeros((1, part.need.measure.width), dtype=np.int64)
            try:
                replace(part.noise, cells=1).release(nothing, Seeded(0))
            except ParameterError:  # noise beyond 64 bits
                name = "epsilon" if strategy.target.rho is None else "rho"
                raise ParameterError(
                    f"{name} is too small: the noise would drown every answer. Give a larger one."
                ) from None
    return strategy


# ---------------------------------------------------------------------------------------------------------- shares


def _has_texts(question: AnalyzedPlan) -> bool:
    return any(isinstance(need.measure, PrivateTopK) for need in question.aggregate_measurements)


def _deltas(question: AnalyzedPlan, delta: Fraction, *, others: int) -> tuple[AnalyzedPlan, Fraction]:
    """Divide a delta among private keys, each list of texts, and others; the texts get theirs, the rest is returned."""
    texts = [need for need in question.aggregate_measurements if isinstance(need.measure, PrivateTopK)]
    each = delta / max(1, (question.cells is None) + len(texts) + others)
    needs = tuple(
        replace(need, measure=replace(need.measure, delta=each)) if isinstance(need.measure, PrivateTopK) else need
        for need in question.aggregate_measurements
    )
    return (replace(question, aggregate_measurements=needs) if texts else question), each


def _laplace(question: AnalyzedPlan, target: Target) -> Strategy:
    question, delta = _deltas(question, target.delta, others=0)
    private = question.cells is None
    free = target.epsilon * (1 - _fixed(question))
    shares = split_by_error(
        [*_errors(question.aggregate_measurements, question), *([1.0] if private else [])], free, power=2 / 3
    )
    stable = _stable(question, shares.pop(), delta) if private else None
    shares += [target.epsilon * (need.part or 0) for need in question.cut_off]
    parts = []
    for need, share in zip(question.measurements, shares, strict=True):
        measure, cells = need.measure, need.count_cells(question.dimension)
        bounding = need.bounding(question.bounding)
        noise = measure.pure_noise(share, cells, bounding) if isinstance(measure, Measure) else None
        parts.append(Part(need=need, share=share, weight=share / target.epsilon, noise=noise))
    events = [_event(part, question, pure=True) for part in parts]
    return _strategy(question, target, tuple(parts), stable, events)


def _gaussian(question: AnalyzedPlan, target: Target) -> Strategy:
    """Numbers together get a part of epsilon and of delta, which Gaussian noise divides among them as a rho."""
    from celosia.accounting.prices.certified import certificate_holds, certified_rhos

    question, delta = _deltas(question, target.delta, others=1)
    numbers = [need for need in question.aggregate_measurements if isinstance(need.measure, Measure)]
    choices = [need for need in question.aggregate_measurements if not isinstance(need.measure, Measure)]
    private, fixed = question.cells is None, target.epsilon * _fixed(question)
    together = sum(_errors(numbers, question))
    errors = [together, *_errors(choices, question), *([1.0] if private else [])]
    free, *others = split_by_error(errors, target.epsilon - fixed, power=2 / 3)
    stable = _stable(question, others.pop(), delta) if private else None
    first = free + fixed
    for rho in certified_rhos(first, delta):
        divided = split_by_error(_errors(numbers, question), rho * free / first, power=1)
        divided += [rho * target.epsilon * (need.part or 0) / first for need in question.cut_off]
        shares = dict(zip(map(id, [*numbers, *question.cut_off]), divided, strict=True))
        shares |= dict(zip(map(id, choices), others, strict=True))
        noises = {id(need): _gaussian_noise(need, question, shares[id(need)]) for need in question.measurements}
        noisy = [noise.event for noise in noises.values() if noise is not None]
        certified = CertifiedEvent(event=_together(noisy), epsilon=first, delta=delta)
        if certificate_holds(certified):
            break
    parts = tuple(
        Part(
            need=need,
            share=shares[id(need)],
            weight=shares[id(need)] / target.epsilon
            if not isinstance(need.measure, Measure)
            else first / target.epsilon * shares[id(need)] / rho,
            noise=noises[id(need)],
        )
        for need in question.measurements
    )
    events = [certified, *(_event(part, question, pure=True) for part in parts if part.noise is None)]
    return _strategy(question, target, parts, stable, events)


def _concentrated(question: AnalyzedPlan, target: Target) -> Strategy:
    rho = target.rho or Fraction(0)
    shares = split_by_error(_errors(question.aggregate_measurements, question), rho * (1 - _fixed(question)), power=1)
    shares += [rho * (need.part or 0) for need in question.cut_off]
    parts = tuple(
        Part(need=need, share=share, weight=share / rho, noise=_gaussian_noise(need, question, share))
        for need, share in zip(question.measurements, shares, strict=True)
    )
    return _strategy(question, target, parts, None, [_event(part, question, pure=False) for part in parts])


def _fixed(question: AnalyzedPlan) -> Fraction:
    """The part of the cost that measures what the limits cut off."""
    return sum((need.part or Fraction(0) for need in question.cut_off), start=Fraction(0))


def _errors(needs: Sequence[Measurement], question: AnalyzedPlan) -> list[float]:
    return [_error(need, question) for need in needs]


def split_by_error(errors: Sequence[float], total: Fraction, *, power: float) -> list[Fraction]:
    """Divide a total in proportion to a power of errors, exactly."""
    raw = [(error / max(errors)) ** power for error in errors]
    parts = [max(1, round(_FINE * value / sum(raw))) for value in raw]
    return [total * Fraction(part, sum(parts)) for part in parts]


def _error(need: Measurement, question: AnalyzedPlan) -> float:
    """The expected error in rows at an epsilon of one: what makes measurements of different kinds comparable."""
    measure = need.measure
    if isinstance(measure, Measure):
        answers = len(need.columns) if isinstance(measure, SharedMoments) else 1  # each of them counts
        return math.sqrt(measure.width * answers)
    return max(1.0, measure.parts(question.bounding) * math.log(max(measure.width, 2)))


def _gaussian_noise(need: Measurement, question: AnalyzedPlan, rho: Fraction) -> Noise | None:
    """Return the Gaussian noise of a measurement; None for choices."""
    measure, bounding = need.measure, need.bounding(question.bounding)
    if not isinstance(measure, Measure):
        return None
    cells = need.count_cells(question.dimension)
    return Noise.gaussian(rho, measure.sensitivity(bounding), cells, measure.width, bounding)


def _stable(question: AnalyzedPlan, epsilon: Fraction, delta: Fraction) -> StableKeys:
    return StableKeys(
        epsilon=epsilon,
        delta=delta,
        groups=question.bounding.groups,
        adjacency=question.bounding.adjacency,
        unit=question.bounding.unit,
    )


def _event(part: Part, question: AnalyzedPlan, *, pure: bool) -> Event:
    if part.noise is not None:
        return part.noise.event
    choice = part.need.measure
    assert isinstance(choice, Choice)  # noqa: S101 - for the type checker: what has no noise chooses
    return choice.event(part.share if pure else None, question.bounding, rho=None if pure else part.share)


def _together(events: Sequence[Event]) -> Event:
    return events[0] if len(events) == 1 else ComposedEvent(events=events)


def _strategy(
    question: AnalyzedPlan, target: Target, parts: tuple[Part, ...], keys: StableKeys | None, events: list[Event]
) -> Strategy:
    paid = [*([] if keys is None else [keys.event]), *events]
    return Strategy(question=question, target=target, parts=parts, keys=keys, event=_together(paid))


def squared_error(strategy: Strategy) -> float:
    """Return the sum of the variances of what is measured, each relative to what one row can do to it."""
    total = 0.0
    for part in strategy.parts[: len(strategy.question.aggregate_measurements)]:
        if part.noise is not None and isinstance(part.need.measure, Measure):
            row = part.need.measure.row
            total += part.need.measure.width * part.noise.variance / row**2
        else:
            # A share may be too small for a double: then its error is beyond all, which is all that is asked here.
            share = float(part.share)
            error = _error(part.need, strategy.question) / share if share > _SMALLEST_SHARE else math.inf
            total += error * error
    return total
