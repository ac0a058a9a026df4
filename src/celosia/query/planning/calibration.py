"""Find the smallest epsilon (or rho) whose error is at most a given one, before anything is spent.

The error of every kind of noise falls as its epsilon grows, so the smallest epsilon at which one of them is enough is
found by bisection. It is rounded up to three digits, and the returned strategy is checked itself.
"""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from celosia.core.errors import BudgetExceededError, ParameterError
from celosia.core.exact import Exact, exact_level, exact_positive, safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, PureDP
from celosia.core.messages.message import Message
from celosia.query.planning.analysis import AnalyzedPlan
from celosia.query.planning.preview import spread_of
from celosia.query.planning.strategy import Strategy, read_target, strategies_for

if TYPE_CHECKING:
    from celosia.core.guarantees import Guarantee

_MAX_STEPS = 60
_MIN_TARGET = Fraction(1, 10**6)


def strategy_within(
    analyzed: AnalyzedPlan,
    budget: "Guarantee",
    error: "Exact | Mapping[str, Exact]",
    *,
    delta: Exact | None = None,
    confidence: Exact = 0.95,
    rows: float | None = None,
) -> Strategy:
    """Return the cheapest strategy with which every aggregate named in ``error`` is off by no more than stated.

    A number holds for all aggregates, a mapping for those it names.
    """
    wanted = _parse_errors(analyzed, error)
    level = exact_level(confidence, name="confidence")

    def strategies(amount: Fraction) -> list[Strategy]:
        zero = isinstance(budget, ZCDP)
        return strategies_for(
            analyzed, read_target(budget, rho=amount) if zero else read_target(budget, epsilon=amount, delta=delta)
        )

    def attempt(amount: Fraction) -> Strategy | None:
        return next((found for found in strategies(amount) if _enough(found, wanted, level, rows)), None)

    def least(amount: Fraction) -> list[Message]:
        errors = [dict(_spreads(found, wanted, level, rows)) for found in strategies(amount)]
        smallest = min(errors, key=lambda spreads: max(spreads[name] / wanted[name] for name in spreads))
        *others, (last, spread) = smallest.items()
        named = [Message("query.off_by_and", name=name, spread=found) for name, found in others]
        return [*named, Message("query.off_by", name=last, spread=spread)]

    low, high = min(_MIN_TARGET, _most(budget) / 2), _most(budget)
    best = attempt(high)
    if best is None:
        raise BudgetExceededError("query.error_beyond_budget", budget=budget, wanted=safe_repr(error), best=least(high))
    for _ in range(_MAX_STEPS):
        middle = _round_up(Fraction(math.sqrt(low * high)))  # halfway in proportion
        if not low < middle < high:
            break
        strategy = attempt(middle)
        low, high, best = (middle, high, best) if strategy is None else (low, middle, strategy)
    return best


def _parse_errors(analyzed: AnalyzedPlan, error: "Exact | Mapping[str, Exact]") -> dict[str, float]:
    names = [aggregate.name for aggregate in analyzed.plan.aggregates]
    given = error if isinstance(error, Mapping) else dict.fromkeys(names, error)
    unknown = [name for name in given if name not in names]
    if unknown or not given:
        wrong = safe_repr(unknown[0] if unknown else error)
        raise ParameterError("query.error_names_unknown_aggregate", known=", ".join(names), found=wrong)
    return {name: float(exact_positive(value, name="error")) for name, value in given.items()}


def _enough(strategy: Strategy, wanted: Mapping[str, float], level: float, rows: float | None) -> bool:
    return all(spread <= wanted[name] for name, spread in _spreads(strategy, wanted, level, rows))


def _spreads(
    strategy: Strategy, wanted: Mapping[str, float], level: float, rows: float | None
) -> Iterator[tuple[str, float]]:
    for part in strategy.parts:
        for name, quantity in part.measurement.answers:
            if name not in wanted:
                continue
            spread = spread_of(part, quantity, strategy, rows=rows, level=level)
            if spread is None:
                raise ParameterError("query.error_needs_row_guess", name=name)
            yield name, spread


def _most(budget: "Guarantee") -> Fraction:
    if isinstance(budget, ZCDP):
        return budget.rho
    if isinstance(budget, PureDP | ApproxDP):
        return budget.epsilon
    raise ParameterError("query.not_a_target_budget", value=safe_repr(budget))


def _round_up(amount: Fraction) -> Fraction:
    """Three significant digits, upwards."""
    unit = Fraction(1)
    while amount / unit >= 1000:
        unit *= 10
    while amount / unit < 100:
        unit /= 10
    return -(-amount // unit) * unit
