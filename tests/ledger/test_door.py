from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.core import ParameterError, PureDP
from celosia.ledger import Door, Policy, Purse, door_of

if TYPE_CHECKING:
    from celosia.ledger import Ledger


def test_accounts_and_purses_are_doors(ledger: Ledger) -> None:
    account: Door = ledger.account("deaths", "ana")
    purse: Door = Purse(PureDP(epsilon=1))
    for door in (account, purse):
        assert isinstance(door, Door)
        assert door.budget == door.limit == door.remaining == PureDP(epsilon=1)
        assert door.spent == PureDP(epsilon=0)
        assert door.history == ()
    assert (account.allows_seeded, account.caches) == (False, True)
    assert (purse.allows_seeded, purse.caches) == (True, False)
    assert (account.allows_real, purse.allows_real) == (False, True)
    ledger.set_budget(Policy(limit=PureDP(epsilon=1), allow_real=True), dataset="births")
    assert ledger.account("births").allows_real


def test_something_else_is_not() -> None:
    assert not isinstance(object(), Door)


def test_a_session_pays_through_its_door() -> None:
    import celosia as cl

    deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    assert door_of(session).budget == session.budget
    purse = Purse(PureDP(epsilon=1))
    assert door_of(purse) is purse


@pytest.mark.parametrize("budget", [None, 1.0, "sqlite:///budget.db"])
def test_what_keeps_no_budget_has_no_door(budget: object) -> None:
    with pytest.raises(ParameterError, match="budget must be a Session"):
        door_of(budget)
