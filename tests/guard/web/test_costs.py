from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core.guarantees import ZCDP, ApproxDP, PureDP
from celosia.guard.web.costs import find_tightest_budget, round_percents, split_cost
from celosia.ledger import Policy, Scope, StatementLine, Window

if TYPE_CHECKING:
    from fractions import Fraction


def approx(epsilon: str, delta: str = "1e-6") -> ApproxDP:
    return ApproxDP(epsilon=epsilon, delta=delta)


def lines() -> list[StatementLine]:
    """A data set with ε = 3 and ε = 1 in a week, of which 0.46 is spent, and an analyst with ε = 2."""
    policy = Policy(limit=approx("3"), window=Window(seconds=604_800, limit=approx("1")))
    return [
        StatementLine(
            scope=Scope(dataset="deaths"),
            policy=policy,
            spent=approx("0.46", "0"),
            remaining=approx("2.54"),
            window_spent=approx("0.46", "0"),
            window_remaining=approx("0.54"),
        ),
        StatementLine(
            scope=Scope(dataset="deaths", analyst="ana"),
            policy=Policy(limit=approx("2")),
            spent=approx("0.46", "0"),
            remaining=approx("1.54"),
        ),
    ]


def test_limit_spent_and_left_are_of_the_same_budget() -> None:
    found = find_tightest_budget(lines(), ApproxDP(epsilon="0.1", delta=0))
    assert found is not None
    assert (found.scope, found.window) == (Scope(dataset="deaths"), True)
    assert (found.limit, found.left) == (approx("1"), approx("0.54"))
    assert found.spent_share == pytest.approx(0.46)


def test_a_delta_that_is_nearly_gone_binds() -> None:
    plenty = StatementLine(
        scope=Scope(analyst="ana"),
        policy=Policy(limit=approx("9", "1e-6")),
        spent=approx("0", "9e-7"),
        remaining=approx("9", "1e-7"),
    )
    assert find_tightest_budget([*lines(), plenty], approx("0.1", "9e-8")) == find_tightest_budget(
        [plenty], approx("0.1", "9e-8")
    )
    without = find_tightest_budget([*lines(), plenty], ApproxDP(epsilon="0.1", delta=0))
    assert without is not None
    assert without.window


def test_budgets_of_another_kind_are_not_compared() -> None:
    assert find_tightest_budget(lines(), ZCDP(rho=1)) is None
    used = StatementLine(
        scope=Scope(dataset="d"),
        policy=Policy(limit=PureDP(epsilon=1)),
        spent=PureDP(epsilon=1),
        remaining=PureDP(epsilon=0),
    )
    assert find_tightest_budget([used], PureDP(epsilon=1)) is not None


def people() -> cl.Session:
    schema = cl.Schema(age=cl.Integer(0, 120), sex=cl.Category("F", "M"), name=cl.Text())
    empty = pa.table(
        {"age": pa.array([], pa.int64()), "sex": pa.array([], pa.string()), "name": pa.array([], pa.string())}
    )
    return cl.Session(cl.table(empty, schema=schema, name="people"), budget=approx("2"))


@pytest.mark.parametrize(
    ("sql", "shared", "keys"),
    [
        ("SELECT name, COUNT(*), AVG(age) FROM people GROUP BY name", ["", "count"], True),
        ("SELECT COUNT(*), MEDIAN(age) FROM people", ["", ""], False),
        ("SELECT name, COUNT(*) FROM people GROUP BY name", [""], True),
        ("SELECT COUNT(*), SUM(age), AVG(age), MODE(sex) FROM people", ["", "count", "count", ""], False),
    ],
)
def test_shares_add_up_with_each_measurement_once(sql: str, shared: list[str], keys: bool) -> None:  # noqa: FBT001
    parts, rest = split_cost(people().sql(sql).preview(epsilon="0.5"))
    assert [part.shared for part in parts] == shared
    assert sum(part.percent for part in parts) + rest == 100
    assert (rest > 0) is keys


@given(st.lists(st.fractions(min_value=0, max_value=1), min_size=1, max_size=9))
def test_percents_add_up_and_are_near(shares: list[Fraction]) -> None:
    found = round_percents(shares)
    total = sum(shares)
    assert sum(found) == (100 if total else 0)
    assert all(abs(whole - 100 * one / total) < 1 for whole, one in zip(found, shares, strict=True) if total)
