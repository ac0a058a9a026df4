from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.core import (
    ZCDP,
    BudgetExceededError,
    GaussianEvent,
    ParameterError,
    PureDP,
    RenyiDP,
)
from celosia.ledger import Account, Policy, Request, Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Event, Release
    from celosia.core.exact import Exact
    from celosia.ledger import Ledger

    Make = Callable[[Exact], Event]
    Answer = Callable[[Event], Release[int]]


def test_what_remains_is_the_least_of_all(ledger: Ledger, event: Make) -> None:
    account = ledger.account("deaths", "ana")
    assert account.remaining == PureDP(epsilon=1)
    ledger.set_budget(PureDP(epsilon="0.5"), analyst="ana")
    assert account.remaining == PureDP(epsilon="0.5")
    ledger.set_budget(
        Policy(limit=PureDP(epsilon="0.4"), window=Window(seconds=10**9, limit=PureDP(epsilon="0.3"))),
        dataset="deaths",
        analyst="ana",
    )
    assert account.remaining == PureDP(epsilon="0.3")
    assert account.admits(event("0.3"))
    assert not account.admits(event("0.31"))
    account.reserve(event("0.2"), question="?")
    assert account.remaining == PureDP(epsilon="0.1")
    assert account.spent == PureDP(epsilon="0.2")
    assert account.budget == account.limit == PureDP(epsilon=1)
    assert ledger.account("deaths", "eve").remaining == PureDP(epsilon="0.8")
    ledger.set_budget(ZCDP(rho=0), dataset="deaths", analyst="bob")  # another kind: asked, but not compared
    bob = ledger.account("deaths", "bob")
    assert bob.remaining == PureDP(epsilon="0.8")
    assert not bob.admits(event("0.1"))


def test_what_is_admitted_is_what_can_be_reserved(ledger: Ledger, event: Make) -> None:
    ledger.set_budget(PureDP(epsilon="0.25"), analyst="ana")
    account = ledger.account("deaths", "ana")
    for _ in range(2):
        assert account.admits(event("0.1"))
        account.reserve(event("0.1"), question="?")
    assert not account.admits(event("0.1"))
    with pytest.raises(BudgetExceededError):
        account.reserve(event("0.1"), question="?")


def test_curves_are_compared_order_by_order(ledger: Ledger) -> None:
    noise = GaussianEvent(variance=16, sensitivity_squared=1)
    ledger.set_budget(RenyiDP(orders=(2, 8), epsilons=(1, 4)), dataset="curve")
    ledger.set_budget(RenyiDP(orders=(2, 8), epsilons=(2, 3)), analyst="ana")
    assert ledger.account("curve", "ana").remaining == RenyiDP(orders=(2, 8), epsilons=(1, 3))
    assert ledger.account("curve", "ana").admits(noise)


def test_a_door_leads_to_the_ledger(ledger: Ledger, event: Make, release: Answer) -> None:
    account = ledger.account("deaths", "ana")
    request = Request(key="k", digest="d")
    one = account.reserve(event("0.1"), question="?", fingerprint="f", request=request)
    account.commit(one, release(event("0.1")), text="42")
    assert account.reserve(event("0.1"), question="?", request=request).answer == "42"
    assert account.reserve(event("0.1"), question="?", fingerprint="f").state == "repeated"
    account.fail(account.reserve(event("0.1"), question="?"))
    assert [past.state for past in account.history] == ["committed", "repeated", "failed"]
    assert (account.dataset, account.analyst) == ("deaths", "ana")
    assert repr(ledger.account("deaths")).startswith("<Account of the owner on 'deaths': PureDP(epsilon='0.8') of")


def test_accounts_are_of_data_sets_that_have_a_budget(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="no budget for data set 'births'"):
        ledger.account("births")
    for dataset, analyst in (("", None), (None, None), ("deaths", ""), ("deaths", 7)):
        with pytest.raises(ParameterError):
            Account(ledger, dataset, analyst)  # type: ignore[arg-type]
