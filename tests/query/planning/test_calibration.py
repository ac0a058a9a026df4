"""The smallest epsilon that gives an error: it does, and a little less does not."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import BudgetExceededError, ParameterError
from celosia.query.planning.calibration import strategy_within
from celosia.query.planning.preview import spread_of
from celosia.query.planning.strategy import Strategy, read_target, strategies_for
from tests.query.samples import ask, asking, persons_table, question, rows_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.query.builder import Query

BUDGETS = [cl.PureDP(epsilon=100), cl.ApproxDP(epsilon=100, delta="1e-4"), cl.ZCDP(rho=100)]
ASKED: list[Callable[[Query], Query]] = [
    lambda q: q.count(),
    lambda q: q.sum("age"),
    lambda q: q.count().mean("weight"),
    lambda q: q.group_by("sex").count().median("age"),
    lambda q: q.group_by("sex", "risk").count().mode("risk"),
]


def amount(strategy: Strategy) -> Fraction:
    return strategy.target.epsilon if strategy.target.rho is None else strategy.target.rho


def worst(strategy: Strategy, rows: float | None, level: float) -> float:
    errors = [
        spread_of(part, quantity, strategy, rows=rows, level=level)
        for part in strategy.parts
        for _, quantity in part.measurement.answers
    ]
    return max(error for error in errors if error is not None)


@settings(max_examples=40)
@given(
    st.sampled_from(ASKED),
    st.sampled_from(BUDGETS),
    st.sampled_from([rows_table(), persons_table(groups=2, rows=2)]),
    st.integers(3, 3000),
    st.sampled_from([0.5, 0.95, 0.999]),
)
def test_the_epsilon_is_enough_and_a_little_less_is_not(
    asked: Any,
    budget: Any,
    table: Any,
    error: int,
    level: float,
) -> None:
    found = question(asked(ask(table)), table)
    try:
        strategy = strategy_within(found, budget, error, confidence=level, rows=1000)
    except BudgetExceededError:
        assume(condition=False)
        raise
    assert worst(strategy, 1000, level) <= error
    spent = amount(strategy)
    if spent > Fraction(2, 10**6):  # where the search begins
        less = spent * Fraction(98, 100)  # three digits, rounded up, are up to a hundredth too much
        other = read_target(budget, rho=less) if isinstance(budget, cl.ZCDP) else read_target(budget, epsilon=less)
        assert all(worst(way, 1000, level) > error for way in strategies_for(found, other))


def test_a_count_within_fifty() -> None:
    """For Laplace noise the tail is known: P(|Z| > 50) = 2 r^51 / (1 + r) with r = exp(-epsilon)."""
    strategy = strategy_within(question(ask().count()), cl.PureDP(epsilon=1), 50, confidence="0.95")
    assert strategy.target.epsilon == Fraction("0.0594")
    from math import exp

    tail = {name: 2 * exp(-value * 51) / (1 + exp(-value)) for name, value in (("enough", 0.0594), ("less", 0.0593))}
    assert tail["enough"] <= 0.05 < tail["less"] * 1.0006


def test_the_kind_of_noise_is_that_with_which_less_is_enough() -> None:
    """At a high level the tails decide: Gaussian noise of a larger variance is enough where Laplace noise is not."""
    table = persons_table(groups=4, rows=1)
    found = question(ask(table).group_by("age").count(), table)
    budget = cl.ApproxDP(epsilon=100, delta="1e-4")
    kinds = {}
    for level in ("0.5", "0.9999"):
        strategy = strategy_within(found, budget, 100, delta="1e-4", confidence=level)
        (part,) = strategy.parts
        assert part.noise is not None
        kinds[level] = part.noise.kind
    assert kinds == {"0.5": "Laplace", "0.9999": "Gaussian"}


def test_each_aggregate_can_have_its_own_error() -> None:
    found = question(ask().count(name="n").sum("weight", name="w"))
    loose = strategy_within(found, cl.PureDP(epsilon=10), {"n": 1000})
    tight = strategy_within(found, cl.PureDP(epsilon=10), {"n": 1000, "w": 1000})
    assert amount(loose) < amount(tight)


def test_the_error_of_a_session_is_what_its_preview_says() -> None:
    session = asking(budget=cl.PureDP(epsilon=10))
    query = session.query().group_by("sex").count()
    preview = query.preview(error=20)
    assert preview.lines[0].error is not None
    assert preview.lines[0].error <= 20
    assert preview.cost.epsilon < 1  # type: ignore[attr-defined]


def test_what_no_budget_reaches_is_refused() -> None:
    for budget in BUDGETS:
        with pytest.raises(BudgetExceededError, match="Not even the whole budget"):
            strategy_within(question(ask().sum("weight")), budget, "1e-6")


def test_an_error_that_is_none_is_refused() -> None:
    cases: list[tuple[Any, str]] = [
        ({"nothing": 3}, "error must name aggregates"),
        ({}, "error must name aggregates"),
        (0, "error"),
        (-1, "error"),
        ("much", "error"),
        (float("nan"), "error"),
    ]
    for error, words in cases:
        with pytest.raises(ParameterError, match=words):
            strategy_within(question(ask().count()), cl.PureDP(epsilon=1), error)


def test_a_mean_needs_a_guess_of_the_rows() -> None:
    found = question(ask().mean("age"))
    with pytest.raises(ParameterError, match="rows="):
        strategy_within(found, cl.PureDP(epsilon=1), 1)
    assert strategy_within(found, cl.PureDP(epsilon=1), 1, rows=100_000).target.epsilon < 1


def test_epsilon_and_error_do_not_go_together() -> None:
    session = asking()
    query = session.query().count()
    for extra in ({"epsilon": 1}, {"rho": 1}):
        with pytest.raises(ParameterError, match="not both"):
            query.release(error=5, **extra)
    assert session.history == ()


def test_a_delta_may_be_given_with_an_error() -> None:
    table = persons_table(groups=50, rows=1)
    found = question(ask(table).group_by("age").count(), table)
    budget = cl.ApproxDP(epsilon=100, delta="1e-4")
    small, large = (strategy_within(found, budget, 20, delta=delta) for delta in ("1e-12", "1e-5"))
    assert large.target.delta == Fraction(1, 10**5)
    assert amount(large) < amount(small)
