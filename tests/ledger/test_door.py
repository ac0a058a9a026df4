from __future__ import annotations

from typing import TYPE_CHECKING

from celosia.core import PureDP
from celosia.ledger import Door, Purse

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


def test_something_else_is_not() -> None:
    assert not isinstance(object(), Door)
