"""Shares that add up exactly, the kind of noise with the smaller error, and events that say what will be run."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.accounting import BasicAccountant, PureAccountant, ZCDPAccountant
from celosia.core import (
    CertifiedEvent,
    ComposedEvent,
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PermuteAndFlipEvent,
    RepeatedEvent,
    ReplaceOne,
)
from celosia.core.errors import CelosiaError, QueryError
from celosia.core.events import KeySelectionEvent
from celosia.query.planning.strategy import Strategy, read_target, strategy_for
from celosia.statistics import Choice, Measure
from tests.query.samples import FULL, ask, persons_table, question, rows_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.data.table import Table
    from celosia.query.builder import Query
    from celosia.statistics.base.target import Target

PURE = cl.PureDP(epsilon=100)
APPROXIMATE = cl.ApproxDP(epsilon=100, delta="1e-4")
ZERO = cl.ZCDP(rho=100)

ASKED: list[Callable[[Query], Query]] = [
    lambda q: q.count(),
    lambda q: q.mean("age"),
    lambda q: q.sum("age").mean("weight").median("age"),
    lambda q: q.count_distinct("age").count_persons().mode("sex").top_k("risk", 2),
    lambda q: q.group_by("sex").variance("age").correlation("age", "weight").quantiles("weight", ["0.1", "0.9"]),
    lambda q: q.group_by("sex", "alive").mean("age", method="half-half").min("age").max("age"),
]
PRIVATE: list[Callable[[Query], Query]] = [
    lambda q: q.group_by("town").count(),
    lambda q: q.group_by("town", "sex").mean("age").median("weight").mode("risk"),
    lambda q: q.group_by("town").median("age"),
]
TABLES = [rows_table(), rows_table(adjacency=ReplaceOne), rows_table(schema=FULL, adjacency=ReplaceOne)]
TABLES += [persons_table(), persons_table(groups=50, rows=2), persons_table(groups=3, rows=1, adjacency=ReplaceOne)]

epsilons = st.fractions(Fraction(1, 1000), 100, max_denominator=1009)
deltas = st.sampled_from([Fraction(1, 10**4), Fraction(1, 10**9), Fraction(1, 3 * 10**50)])


def planned(query: Query, target: Target, table: Table) -> Strategy:
    return strategy_for(question(query, table), target)


def plan_of(asked: Callable[[Query], Query], table: Table, target: Target) -> Strategy:
    try:
        return planned(asked(ask(table)), target, table)
    except QueryError:  # the small schema lacks most columns
        return planned(ask(table).mean("age").count(), target, table)


def inside(event: Event) -> list[Event]:
    match event:
        case ComposedEvent(events=events):
            return [leaf for part in events for leaf in inside(part)]
        case CertifiedEvent(event=part) | RepeatedEvent(event=part):
            return inside(part)
        case _:
            return [event]


@given(st.sampled_from(ASKED), st.sampled_from(TABLES), epsilons)
def test_pure_shares_add_up_to_what_was_asked_and_cost_as_much(asked: Any, table: Table, epsilon: Fraction) -> None:
    strategy = plan_of(asked, table, read_target(PURE, epsilon=epsilon))
    assert sum(part.share for part in strategy.parts) == epsilon
    assert sum(part.weight for part in strategy.parts) == 1
    cost = PureAccountant().spend(strategy.event).guarantee()
    assert cost.epsilon == epsilon  # type: ignore[attr-defined]
    assert (cost.adjacency, cost.unit) == (table.adjacency, table.unit)


@given(st.sampled_from([*ASKED, *PRIVATE]), st.sampled_from(TABLES), epsilons, deltas)
def test_with_a_delta_no_more_is_spent_than_was_asked(
    asked: Any,
    table: Table,
    epsilon: Fraction,
    delta: Fraction,
) -> None:
    strategy = plan_of(asked, table, read_target(APPROXIMATE, epsilon=epsilon, delta=delta))
    cost: Any = BasicAccountant().spend(strategy.event).guarantee()
    assert cost.epsilon == epsilon
    assert cost.delta <= delta
    keys = Fraction(0) if strategy.keys is None else strategy.keys.epsilon
    assert sum(part.weight for part in strategy.parts) + keys / epsilon == 1


@given(st.sampled_from(ASKED), st.sampled_from(TABLES), epsilons)
def test_rhos_add_up_to_what_was_asked_and_cost_no_more(asked: Any, table: Table, rho: Fraction) -> None:
    strategy = plan_of(asked, table, read_target(ZERO, rho=rho))
    assert sum(part.share for part in strategy.parts) == rho
    cost: Any = ZCDPAccountant().spend(strategy.event).guarantee()
    assert cost.rho <= rho
    if rho < Fraction(1, 10):  # a square root is rounded down; a choice with a large epsilon costs less than its share
        assert cost.rho > rho * (1 - Fraction(1, 10**6))
    assert all(not isinstance(leaf, LaplaceEvent | PermuteAndFlipEvent) for leaf in inside(strategy.event))


def test_the_event_says_what_will_be_run() -> None:
    for asked in ASKED:
        table = persons_table(groups=2, rows=3)
        strategy = plan_of(asked, table, read_target(PURE, epsilon=1))
        leaves = inside(strategy.event)
        assert len(leaves) == len(strategy.parts)
        for part, leaf in zip(strategy.parts, leaves, strict=True):
            if isinstance(part.measurement.measure, Measure):
                bounding = part.measurement.bounding(strategy.analyzed.bounding)
                assert isinstance(leaf, LaplaceEvent)
                assert leaf.sensitivity == part.measurement.measure.sensitivity(bounding).l1
                assert leaf.scale == leaf.sensitivity / part.share
                assert leaf.dimension == strategy.analyzed.dimension * part.measurement.measure.width
            else:
                assert isinstance(part.measurement.measure, Choice)
                assert isinstance(leaf, PermuteAndFlipEvent | ExponentialEvent)
                times = strategy.analyzed.bounding.groups * part.measurement.measure.parts(strategy.analyzed.bounding)
                assert leaf.epsilon == part.share / times


def kinds(strategy: Strategy) -> set[str]:
    return {part.noise.kind for part in strategy.parts if part.noise is not None}


def test_a_single_count_gets_laplace_noise() -> None:
    target = read_target(APPROXIMATE, epsilon=1, delta="1e-6")
    strategy = planned(ask().count(), target, rows_table())
    assert kinds(strategy) == {"Laplace"}
    assert strategy.event == LaplaceEvent(scale=1, sensitivity=1)


def test_counts_of_a_person_in_fifty_cells_get_gaussian_noise() -> None:
    table = persons_table(groups=50, rows=1)
    target = read_target(APPROXIMATE, epsilon=1, delta="1e-6")
    strategy = planned(ask(table).group_by("age").count(), target, table)
    assert kinds(strategy) == {"Gaussian"}
    assert isinstance(strategy.event, CertifiedEvent)
    assert strategy.event.epsilon == 1
    assert strategy.event.delta == Fraction(1, 10**6)
    (leaf,) = inside(strategy.event)
    assert isinstance(leaf, GaussianEvent)
    assert leaf.sensitivity_squared == 50
    assert leaf.variance < 2 * 50**2  # that of Laplace noise of scale 50


def test_without_a_delta_there_is_no_gaussian_noise() -> None:
    table = persons_table(groups=50, rows=1)
    assert kinds(planned(ask(table).group_by("age").count(), read_target(PURE, epsilon=1), table)) == {"Laplace"}
    small = read_target(APPROXIMATE, epsilon="1e-3", delta="1e-190")
    assert kinds(planned(ask().count(), small, rows_table())) == {"Laplace"}


@given(st.integers(1, 60), epsilons, deltas)
def test_the_noise_is_that_with_the_smaller_variance(groups: int, epsilon: Fraction, delta: Fraction) -> None:
    from celosia.accounting.prices.gaussian import largest_rho

    table = persons_table(groups=groups, rows=1)
    strategy = planned(
        ask(table).group_by("age").count(), read_target(APPROXIMATE, epsilon=epsilon, delta=delta), table
    )
    laplace = planned(ask(table).group_by("age").count(), read_target(PURE, epsilon=epsilon), table)
    (used,), (other,) = strategy.parts, laplace.parts
    assert used.noise is not None
    assert other.noise is not None
    gaussian = groups / (2 * float(largest_rho(epsilon, delta)))
    assert used.noise.variance <= min(other.noise.variance, gaussian) * (1 + 1e-9)


def test_private_keys_need_a_delta() -> None:
    for budget, target in ((PURE, {"epsilon": 1}), (ZERO, {"rho": 1}), (APPROXIMATE, {"epsilon": 1, "delta": 0})):
        with pytest.raises(QueryError, match="needs a delta"):
            planned(ask().group_by("town").count(), read_target(budget, **target), rows_table())


def test_private_keys_are_paid_for_first() -> None:
    cases: list[Table] = [rows_table(), persons_table(groups=4), persons_table(groups=4, adjacency=ReplaceOne)]
    for table in cases:
        strategy = planned(
            ask(table).group_by("town").count(), read_target(APPROXIMATE, epsilon=1, delta="1e-6"), table
        )
        first = inside(strategy.event)[0]
        assert strategy.keys is not None
        assert first == strategy.keys.event
        assert isinstance(first, KeySelectionEvent)
        groups = strategy.analyzed.bounding.groups
        assert first.groups == groups
        assert first.affected_keys == (2 if table.adjacency is ReplaceOne else 1) * groups
        assert first.scale == first.affected_keys / strategy.keys.epsilon


def test_equal_questions_share_alike_and_harder_ones_get_more() -> None:
    one, two = planned(ask().sum("age").variance("weight"), read_target(PURE, epsilon=1), rows_table()).parts
    assert one.share < two.share
    one, two = planned(ask().variance("age").variance("weight"), read_target(PURE, epsilon=1), rows_table()).parts
    assert one.share == two.share == Fraction(1, 2)
    mean, median = planned(ask().mean("age").median("weight"), read_target(PURE, epsilon=1), rows_table()).parts
    assert mean.share < median.share


def test_a_mean_under_replace_one_with_a_public_number_of_rows_is_planned() -> None:
    table = rows_table(schema=FULL, adjacency=ReplaceOne)
    strategy = planned(ask(table).mean("age"), read_target(APPROXIMATE, epsilon=1, delta="1e-6"), table)
    assert inside(strategy.event) == [LaplaceEvent(scale=240, sensitivity=240, adjacency=ReplaceOne)]


def test_counting_persons_costs_no_more_for_persons_with_many_rows() -> None:
    few, many = (persons_table(groups=2, rows=rows) for rows in (1, 1000))
    events = [
        planned(ask(table).group_by("sex").count_persons(), read_target(PURE, epsilon=1), table).event
        for table in (few, many)
    ]
    assert events[0] == events[1]


def test_a_choice_is_permute_and_flip_for_an_epsilon_and_exponential_for_a_rho() -> None:
    query = ask().mode("sex")
    assert planned(query, read_target(PURE, epsilon=1), rows_table()).event == PermuteAndFlipEvent(epsilon=1)
    strategy = planned(query, read_target(ZERO, rho="1/8"), rows_table())
    assert strategy.event == ExponentialEvent(epsilon=1)
    assert not strategy.pure


def test_hardly_anything_spent_on_a_count_and_a_choice_is_refused_or_priced() -> None:
    budget_cases: list[cl.Guarantee] = [cl.ZCDP(rho=1), cl.PureDP(epsilon=1), cl.ApproxDP(epsilon=1, delta="1e-6")]
    for amount, budget in product(("1e-300", "1e-308", "5e-324", "1e-200", "1e-150"), budget_cases):
        schema = cl.Schema(c=cl.Category("F", "M"))
        session = cl.Session(cl.table(pa.table({"c": ["F"]}), schema=schema, name="t"), budget=budget)
        query = session.sql("SELECT COUNT(*) AS n, MODE(c) AS m FROM t")
        target: dict[str, Any] = {"rho" if isinstance(budget, cl.ZCDP) else "epsilon": amount}
        try:
            told = query.preview(**target)
        except CelosiaError as error:
            assert "epsilon" in str(error) or "rho" in str(error) or "priced" in str(error)  # noqa: PT017 - or it is priced
        else:
            assert getattr(told.cost, next(iter(target))) > 0


@pytest.mark.parametrize("amount", ["1e-12", "1e-20", "1e-50", "1e-100"])
@pytest.mark.parametrize("budget", [cl.ZCDP(rho=1), cl.PureDP(epsilon=1), cl.ApproxDP(epsilon=1, delta="1e-6")])
@pytest.mark.parametrize("asked", ["COUNT(*)", "AVG(age)", "SUM(age)", "VARIANCE(age)"])
@pytest.mark.sampled(4)
def test_noise_that_cannot_be_drawn_is_refused_before_it_is_paid_for(
    budget: cl.Guarantee, amount: str, asked: str
) -> None:
    schema = cl.Schema(age=cl.Integer(0, 120))
    session = cl.Session(cl.table(pa.table({"age": [34]}), schema=schema, name="t"), budget=budget)
    target: dict[str, Any] = {"rho" if isinstance(budget, cl.ZCDP) else "epsilon": amount}
    query = session.sql(f"SELECT {asked} FROM t")
    try:
        query.preview(**target)
    except CelosiaError:
        with pytest.raises(CelosiaError):
            query.release(**target)
        assert session.history == ()
    else:
        query.release(**target)
        assert len(session.history) == 1
