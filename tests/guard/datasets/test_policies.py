from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import celosia as cl
from celosia.core.errors import ParameterError
from celosia.guard.datasets.dataset import Dataset
from celosia.guard.datasets.policies import change_rules, scope_policy
from celosia.ledger import Policy, Window

COLUMNS = '[columns.hale]\nkind = "boolean"\n'
PERSON = '[table]\nperson = "id"\nmax_groups_per_person = 1\nmax_rows_per_group = 1\n' + COLUMNS
ROWS = Dataset(name="rows", source="rows.csv", schema=COLUMNS)
PERSONS = Dataset(name="persons", source="persons.csv", schema=PERSON)


def test_a_limit_takes_the_unit_of_the_table() -> None:
    assert scope_policy(cl.PureDP(epsilon=1), [ROWS]).limit == cl.PureDP(epsilon=1)
    assert scope_policy(cl.PureDP(epsilon=1), [PERSONS]).limit == cl.PureDP(epsilon=1, unit="person")


def test_a_window_takes_it_too() -> None:
    given = Policy(limit=cl.ZCDP(rho=1), window=Window(seconds=86_400, limit=cl.ZCDP(rho="0.1")), accountant="zcdp")
    policy = scope_policy(given, [PERSONS])
    assert policy.limit == cl.ZCDP(rho=1, unit="person")
    assert policy.window == Window(seconds=86_400, limit=cl.ZCDP(rho="0.1", unit="person"))


def test_one_limit_cannot_be_for_different_units() -> None:
    with pytest.raises(ParameterError, match="protect different units"):
        scope_policy(cl.PureDP(epsilon=1), [ROWS, PERSONS])


def test_a_limit_for_somebody_else_is_refused() -> None:
    with pytest.raises(ParameterError, match="for the unit 'household'"):
        scope_policy(cl.PureDP(epsilon=1, unit="household"), [PERSONS])
    with pytest.raises(ParameterError, match="ReplaceOne"):
        scope_policy(cl.PureDP(epsilon=1, adjacency=cl.ReplaceOne), [ROWS])


def test_before_there_are_data_sets_a_limit_stays_as_it_is() -> None:
    assert scope_policy(cl.PureDP(epsilon=1), []).limit == cl.PureDP(epsilon=1)


def test_what_is_no_budget_is_refused() -> None:
    cases: list[Any] = [None, 1, "1", 0.5, {"epsilon": 1}]
    for wrong in cases:
        with pytest.raises(ParameterError, match="A budget is a guarantee"):
            scope_policy(wrong, [ROWS])


def test_kinds_that_questions_cannot_spend_from_are_refused() -> None:
    cases: list[cl.Guarantee] = [cl.GaussianDP(mu=1), cl.RenyiDP(orders=(2,), epsilons=(1,))]
    for limit in cases:
        with pytest.raises(ParameterError, match="PureDP, an ApproxDP or a ZCDP"):
            scope_policy(limit, [ROWS])


def test_a_rule_that_is_not_given_stays_and_0_removes_it() -> None:
    given: dict[str, Any] = {"least_cost": "0.01", "analyst_share": "0.2", "approval_above": "1"}
    plain = Policy(limit=cl.PureDP(epsilon=10))
    present = change_rules(plain, None, given)
    assert present == Policy(limit=cl.PureDP(epsilon=10), **given)
    other = Policy(limit=cl.ZCDP(rho=1))
    assert change_rules(other, present, {}) == Policy(limit=cl.ZCDP(rho=1), **given)
    removed: dict[str, str | None] = {"least_cost": "0", "analyst_share": "0.0", "approval_above": None}
    assert change_rules(plain, present, removed) == plain
    assert change_rules(plain, present, {"analyst_share": "0.5"}).analyst_share == Fraction(1, 2)
    for wrong in ("-1", "x", "nan"):
        with pytest.raises(ParameterError, match="least_cost"):
            change_rules(plain, present, {"least_cost": wrong})
