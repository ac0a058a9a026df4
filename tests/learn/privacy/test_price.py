"""A fit is paid for before records are read, and stays paid for whatever happens then."""

import os

import pytest

import celosia as cl
from celosia.core import (
    BudgetExceededError,
    EngineError,
    FormatError,
    GaussianEvent,
    GuaranteeMismatchError,
    InputError,
    LedgerError,
    ParameterError,
)
from celosia.learn.base.estimator import spend
from celosia.learn.privacy.price import check_price, price_event
from celosia.ledger import InMemoryBudget
from celosia.mechanisms import Laplace
from celosia.noise import Seeded

LAPLACE = Laplace(epsilon="0.4", sensitivity=1)


def _pay(budget: object, error: Exception | None = None) -> None:
    with spend(budget, Seeded(7), LAPLACE.event, LAPLACE.guarantee, question="Fit") as payment:
        if error is not None:
            raise error
        payment.deliver(LAPLACE.release(1, source=payment.source).value)


def test_without_a_budget_only_the_source_is_given() -> None:
    with spend(None, None, LAPLACE.event, LAPLACE.guarantee, question="Fit") as payment:
        assert not payment.source.seeded


def test_what_was_learned_is_committed() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    _pay(account)
    assert [entry.state for entry in account.history] == ["committed"]
    assert account.remaining == cl.PureDP(epsilon="0.6")


def test_a_failure_stays_paid_for_and_quotes_nothing() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    with pytest.raises(EngineError, match="stays paid for") as caught:
        _pay(account, ValueError("Ana is 34"))
    assert caught.value.__context__ is None
    assert "Ana" not in str(caught.value)
    with pytest.raises(InputError, match="ours"):
        _pay(account, InputError("ours"))
    assert [entry.state for entry in account.history] == ["failed", "failed"]
    assert account.remaining == cl.PureDP(epsilon="0.2")


def test_more_than_is_left_is_refused_and_nothing_spent() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon="0.3"))
    with pytest.raises(BudgetExceededError):
        _pay(account)
    assert account.remaining == cl.PureDP(epsilon="0.3")


def test_a_ledger_takes_no_seeded_noise() -> None:
    ledger = cl.open_ledger("memory://")
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    with pytest.raises(ParameterError, match="leave source= out"):
        _pay(ledger.account("deaths"))
    assert ledger.account("deaths").remaining == cl.PureDP(epsilon=1)


def test_what_keeps_no_budget_is_refused() -> None:
    with pytest.raises(ParameterError, match="budget must be"):
        _pay(3)


def test_a_delta_needs_a_budget_that_has_one() -> None:
    from celosia.learn import LogisticRegression

    account = InMemoryBudget(cl.PureDP(epsilon=3))
    model = LogisticRegression(epsilon=1, delta="1e-6", bounds=(0, 1), classes=[0, 1], budget=account)
    with pytest.raises(ParameterError, match="leave delta='1e-06' out"):
        model.fit([[0.0], [1.0]], [0, 1])
    assert account.history == ()


def test_a_forked_copy_of_a_budget_pays_for_no_fit() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    if not (child := os.fork()):
        code = 1
        try:
            with pytest.raises(LedgerError, match="Share a ledger instead"):
                cl.learn.StandardScaler(bounds=(0, 1), epsilon="0.4", budget=account).fit([[0.5], [0.25]])
            code = 7
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_an_event_is_priced_in_the_kind_of_its_guarantee() -> None:
    assert price_event(LAPLACE.event, cl.ApproxDP(epsilon=9, delta="1e-6")) == cl.ApproxDP(epsilon="0.4", delta=0)
    assert price_event(LAPLACE.event, cl.ZCDP(rho=9)) <= cl.ZCDP(rho="0.08")
    with pytest.raises(GuaranteeMismatchError):
        price_event(LAPLACE.event, cl.PureDP(epsilon="0.4", unit="person"))


def test_a_guarantee_agrees_with_its_event_or_is_refused() -> None:
    check_price(LAPLACE.event, cl.PureDP(epsilon="0.4"))
    check_price(LAPLACE.event, cl.PureDP(epsilon="0.4003"))
    check_price(LAPLACE.event, cl.ApproxDP(epsilon="0.4", delta="1e-6"))
    for wrong in (
        cl.PureDP(epsilon="0.3999"),
        cl.PureDP(epsilon="0.5"),
        cl.PureDP(epsilon="0.4", unit="person"),
        cl.PureDP(epsilon="0.4", adjacency=cl.ReplaceOne),
        cl.ApproxDP(epsilon="0.1", delta="1e-6"),
        cl.GaussianDP(mu="0.01"),
        cl.ZCDP(rho="0.001"),
    ):
        with pytest.raises(FormatError, match="contradict each other"):
            check_price(LAPLACE.event, wrong)
    with pytest.raises(FormatError, match="has no price of that kind"):
        check_price(GaussianEvent(variance=25, sensitivity_squared=1), cl.PureDP(epsilon=1))
