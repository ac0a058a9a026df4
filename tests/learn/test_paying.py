"""A fit is paid for before records are read, and stays paid for whatever happens then."""

import os

import pytest

import celosia as cl
from celosia.core import BudgetExceeded, EngineError, InputError, LedgerError, ParameterError
from celosia.learn.paying import paid
from celosia.ledger import Purse
from celosia.mechanisms import Laplace
from celosia.noise import Seeded

LAPLACE = Laplace(epsilon="0.4", sensitivity=1)


def _pay(budget: object, error: Exception | None = None) -> None:
    with paid(budget, Seeded(7), LAPLACE.event, LAPLACE.guarantee, question="Fit") as payment:
        if error is not None:
            raise error
        payment.deliver(LAPLACE.release(1, source=payment.source).value)


def test_without_a_budget_only_the_source_is_given() -> None:
    with paid(None, None, LAPLACE.event, LAPLACE.guarantee, question="Fit") as payment:
        assert not payment.source.seeded


def test_what_was_learned_is_committed() -> None:
    purse = Purse(cl.PureDP(epsilon=1))
    _pay(purse)
    assert [entry.state for entry in purse.history] == ["committed"]
    assert purse.remaining == cl.PureDP(epsilon="0.6")


def test_a_failure_stays_paid_for_and_quotes_nothing() -> None:
    purse = Purse(cl.PureDP(epsilon=1))
    with pytest.raises(EngineError, match="stays paid for") as caught:
        _pay(purse, ValueError("Ana is 34"))
    assert caught.value.__suppress_context__
    assert "Ana" not in str(caught.value)
    with pytest.raises(InputError, match="ours"):
        _pay(purse, InputError("ours"))
    assert [entry.state for entry in purse.history] == ["failed", "failed"]
    assert purse.remaining == cl.PureDP(epsilon="0.2")


def test_more_than_is_left_is_refused_and_nothing_spent() -> None:
    purse = Purse(cl.PureDP(epsilon="0.3"))
    with pytest.raises(BudgetExceeded):
        _pay(purse)
    assert purse.remaining == cl.PureDP(epsilon="0.3")


def test_a_ledger_takes_no_seeded_noise() -> None:
    ledger = cl.ledger("memory://")
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    with pytest.raises(ParameterError, match="leave source= out"):
        _pay(ledger.account("deaths"))
    assert ledger.account("deaths").remaining == cl.PureDP(epsilon=1)


def test_what_keeps_no_budget_is_refused() -> None:
    with pytest.raises(ParameterError, match="budget must be"):
        _pay(3)


def test_a_delta_needs_a_budget_that_has_one() -> None:
    from celosia.learn import LogisticRegression

    purse = Purse(cl.PureDP(epsilon=3))
    model = LogisticRegression(epsilon=1, delta="1e-6", bounds=(0, 1), classes=[0, 1], budget=purse)
    with pytest.raises(ParameterError, match="leave delta= out"):
        model.fit([[0.0], [1.0]], [0, 1])
    assert purse.history == ()


def test_a_forked_copy_of_a_budget_pays_for_no_fit() -> None:
    purse = Purse(cl.PureDP(epsilon=1))
    if not (child := os.fork()):
        code = 1
        try:
            with pytest.raises(LedgerError, match="Share a ledger instead"):
                cl.learn.StandardScaler(bounds=(0, 1), epsilon="0.4", budget=purse).fit([[0.5], [0.25]])
            code = 7
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
