from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from celosia.core import ParameterError, PureDP
from celosia.ledger import InMemoryBudget
from celosia.ledger.budgets.release_kind import RELEASE_KINDS, exact_kind, read_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Event
    from celosia.core.exact import Exact
    from celosia.ledger import BudgetAccount, Ledger

BAD: tuple[Any, ...] = (
    "",
    "Query",
    "queries",
    "query ",
    "local\n",
    None,
    0,
    True,
    ["local"],
    {"kind": "local"},
    b"local",
)


def test_a_bad_kind_is_refused_and_nothing_is_spent(ledger: Ledger, event: Callable[[Exact], Event]) -> None:
    account, own, head = ledger.account("deaths"), InMemoryBudget(PureDP(epsilon=1)), ledger.head
    for bad in BAD:
        with pytest.raises(ParameterError, match="kind must be one of query, model, local, federated, other, not "):
            ledger.reserve(event("0.1"), dataset="deaths", kind=bad)
        for one in (account, own):
            with pytest.raises(ParameterError, match="kind must be one of"):
                one.reserve(event("0.1"), question="How many?", kind=bad)
            assert one.spent == PureDP(epsilon=0)
    assert ledger.head == head
    assert own.history == ()


def test_reservations_keep_their_kind(ledger: Ledger, event: Callable[[Exact], Event]) -> None:
    accounts: tuple[BudgetAccount, ...] = (ledger.account("deaths"), InMemoryBudget(PureDP(epsilon=1)))
    for account in accounts:
        made = [account.reserve(event("0.1"), question="", kind=kind) for kind in RELEASE_KINDS]
        account.fail(made[0])
        account.reserve(event("0.1"), question="")
        assert [one.kind for one in made] == list(RELEASE_KINDS)
        assert [one.kind for one in account.history] == [*RELEASE_KINDS, "query"]


def test_kinds_of_later_versions_are_other_kinds() -> None:
    assert [read_kind(kind) for kind in RELEASE_KINDS] == [exact_kind(kind) for kind in RELEASE_KINDS]
    assert [read_kind(kind) for kind in ("microdata", "", "Query")] == ["other"] * 3
    wrong: list[object] = [None, 7, ["local"], {}]
    for bad in wrong:
        with pytest.raises(ParameterError, match="kind must be one of"):
            read_kind(bad)
