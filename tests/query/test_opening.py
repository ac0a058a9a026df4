"""A session opens only where tables, budget and ledger fit together; the session's own tests ask for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import celosia as cl
from celosia.core.errors import GuaranteeMismatchError, ParameterError
from celosia.ledger import BudgetAccount, Ledger, Policy, Scope
from celosia.ledger.budget_account import InMemoryBudget
from celosia.ledger.opening import open_ledger
from celosia.query.opening import open_account, scoped_budget, tables_by_name
from tests.query.samples import code_book, persons_table, rows_table

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

PURE = cl.PureDP(epsilon=1)


def test_tables_go_by_their_names() -> None:
    assert list(tables_by_name(rows_table())) == ["deaths"]
    assert list(tables_by_name([code_book(), rows_table()])) == ["towns", "deaths"]
    assert list(tables_by_name((persons_table(), persons_table("visits")))) == ["deaths", "visits"]


def test_tables_that_cannot_be_asked_together() -> None:
    cases: list[tuple[Any, str]] = [
        (None, "tables must be"),
        ([], "tables must be"),
        ({"deaths": rows_table()}, "tables must be"),
        ([rows_table(), None], "tables must be"),
        ([rows_table(), rows_table()], "same name"),
        ([code_book()], "All tables are public"),
        ([rows_table(), persons_table("visits")], "same unit"),
    ]
    for tables, words in cases:
        with pytest.raises(ParameterError, match=words):
            tables_by_name(tables)


def test_a_budget_is_read_for_the_table() -> None:
    assert scoped_budget(PURE, persons_table()).unit == "person"
    assert scoped_budget(PURE, rows_table(adjacency=cl.ReplaceOne)).adjacency is cl.ReplaceOne
    assert scoped_budget(PURE, rows_table()) == PURE


def test_budgets_that_do_not_fit() -> None:
    cases: list[tuple[Any, str]] = [
        (None, "budget must be"),
        (1, "budget must be"),
        (cl.GaussianDP(mu=1), "budget must be"),
        (cl.PureDP(epsilon=1, adjacency=cl.ReplaceOne), "ReplaceOne"),
        (cl.PureDP(epsilon=1, unit="household"), "for the unit 'household'"),
    ]
    for budget, words in cases:
        with pytest.raises(ParameterError, match=words):
            scoped_budget(budget, rows_table())


def test_a_budget_for_some_histories_only_does_not_fit() -> None:
    with pytest.raises(GuaranteeMismatchError, match="SameChanges"):
        scoped_budget(cl.PureDP(epsilon=1, adjacency=cl.SameChanges), rows_table())


def test_without_a_ledger_the_budget_is_in_memory() -> None:
    account = open_account({"deaths": rows_table()}, budget=PURE)
    assert isinstance(account, InMemoryBudget)
    with pytest.raises(ParameterError, match="budget must be"):
        open_account({"deaths": rows_table()})


def test_two_sessions_spend_from_one_budget() -> None:
    ledger, event = open_ledger("memory://"), cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event
    ana = open_account({"deaths": rows_table()}, budget=PURE, ledger=ledger, analyst="ana")
    ben = open_account({"deaths": rows_table()}, ledger=ledger, analyst="ben")
    ana.reserve(event, question="")
    ben.reserve(event, question="")
    assert ana.spent == ben.spent == cl.PureDP(epsilon="0.2")
    assert (len(ana.history), len(ben.history)) == (1, 1)


def test_a_ledger_whose_budget_is_another_is_refused_and_left_alone() -> None:
    cases: list[tuple[cl.Guarantee, str]] = [
        (cl.GaussianDP(mu=1), "Queries spend from"),
        (cl.RenyiDP(orders=(2,), epsilons=(1,)), "Queries spend from"),
        (cl.PureDP(epsilon=1, unit="person"), "ask the owner of the data which"),
        (cl.PureDP(epsilon=1, adjacency=cl.ReplaceOne), "ask the owner of the data which"),
        (cl.PureDP(epsilon=2), "leave budget= out"),
        (cl.ApproxDP(epsilon=1, delta="1e-6"), "leave budget= out"),
    ]
    for limit, words in cases:
        ledger = open_ledger("memory://")
        ledger.set_budget(limit, dataset="deaths")
        before = ledger.head
        with pytest.raises(ParameterError, match=words):
            open_account({"deaths": rows_table()}, budget=PURE, ledger=ledger)
        assert ledger.head == before


def test_a_policy_may_say_more_than_the_limit() -> None:
    ledger = open_ledger("memory://")
    ledger.set_budget(Policy(limit=cl.ApproxDP(epsilon=1, delta="1e-6"), accountant="zcdp"), dataset="deaths")
    account = open_account({"deaths": rows_table()}, budget=cl.ApproxDP(epsilon=1, delta="1e-6"), ledger=ledger)
    assert isinstance(account.limit, cl.ZCDP)


def test_the_data_set_has_the_name_of_its_only_private_table() -> None:
    ledger = open_ledger("memory://")
    open_account({"towns": code_book(), "deaths": rows_table()}, budget=PURE, ledger=ledger)
    two = {"deaths": rows_table(), "visits": rows_table("visits")}
    with pytest.raises(ParameterError, match="dataset="):
        open_account(two, budget=PURE, ledger=ledger)
    open_account(two, budget=PURE, ledger=ledger, dataset="registry")
    assert set(ledger.budgets) == {Scope(dataset="deaths"), Scope(dataset="registry")}


def test_what_is_no_ledger() -> None:
    cases: list[Any] = ["sqlite:///budget.db", 7, {}, InMemoryBudget(PURE)]
    for wrong in cases:
        with pytest.raises(ParameterError, match=r"celosia\.open_ledger"):
            open_account({"deaths": rows_table()}, budget=PURE, ledger=wrong)


def _race(first: Ledger, second: Ledger, monkeypatch: pytest.MonkeyPatch) -> BudgetAccount:
    """Let one session open the data set just before another writes, which has seen that there is no budget."""
    transaction, opened, before = second.store.transaction, list[BudgetAccount](), iter([first])

    def interrupted() -> AbstractContextManager[Connection]:
        opened.extend(open_account({"deaths": rows_table()}, budget=PURE, ledger=ledger) for ledger in before)
        return transaction()

    monkeypatch.setattr(second.store, "transaction", interrupted)
    with pytest.raises(ParameterError, match="leave budget= out"):
        open_account({"deaths": rows_table()}, budget=cl.PureDP(epsilon=100), ledger=second)
    return opened[0]


def test_of_two_sessions_that_open_at_once_the_first_sets_the_budget(
    shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(shared) as first, open_ledger(shared) as second:
        assert _race(first, second, monkeypatch).budget == PURE
        assert [line.kind for line in first.entries()] == ["opened", "budget"]


def test_in_memory_too_the_first_sets_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger("memory://") as ledger:
        assert _race(ledger, ledger, monkeypatch).budget == PURE
