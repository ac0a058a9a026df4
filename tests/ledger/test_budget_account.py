from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from celosia.core import ParameterError, PureDP
from celosia.core.errors import CelosiaError, EngineError, InputError, LedgerError
from celosia.ledger import BudgetAccount, InMemoryBudget, Policy, as_account
from celosia.ledger.budget_account import settle
from celosia.mechanisms import Laplace

if TYPE_CHECKING:
    from celosia.ledger import Ledger

COUNT = Laplace(epsilon="0.25", sensitivity=1)


def test_ledger_accounts_and_in_memory_budgets_are_accounts(ledger: Ledger) -> None:
    kept: BudgetAccount = ledger.account("deaths", "ana")
    memory: BudgetAccount = InMemoryBudget(PureDP(epsilon=1))
    for account in (kept, memory):
        assert isinstance(account, BudgetAccount)
        assert account.budget == account.limit == account.remaining == PureDP(epsilon=1)
        assert account.spent == PureDP(epsilon=0)
        assert account.history == ()
    assert (kept.allows_seeded, kept.caches) == (False, True)
    assert (memory.allows_seeded, memory.caches) == (True, False)
    assert (kept.allows_real, memory.allows_real) == (False, True)
    ledger.set_budget(Policy(limit=PureDP(epsilon=1), allow_real=True), dataset="births")
    assert ledger.account("births").allows_real


def test_something_else_is_not() -> None:
    assert not isinstance(object(), BudgetAccount)


def test_a_session_pays_from_its_account() -> None:
    import celosia as cl

    deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    assert as_account(session).budget == session.budget
    account = InMemoryBudget(PureDP(epsilon=1))
    assert as_account(account) is account


def test_other_objects_are_no_accounts() -> None:
    cases: list[object] = [None, 1.0, "sqlite:///budget.db"]
    for budget in cases:
        with pytest.raises(ParameterError, match="budget must be a Session"):
            as_account(budget)


# --------------------------------------------------------------------------------------- reserve, run, commit or fail


def spend_once(account: BudgetAccount, error: BaseException | None = None) -> BaseException | None:
    """Reserve, run a block that raises ``error`` after it has delivered, and return what comes out."""
    reservation = account.reserve(COUNT.event, question="How many?")
    try:
        with settle(account, reservation, failure="learn.fit_failed") as payment:
            payment.deliver(COUNT.release(108), '{"text": 1}')
            if error is not None:
                raise error  # noqa: TRY301 - inside the block is the point
    except BaseException as raised:  # noqa: BLE001 - the caller looks at it
        return raised
    return None


def test_what_happens_in_a_paid_block_decides_the_state_and_never_the_cost(ledger: Ledger) -> None:
    cases: list[tuple[BaseException | None, type[BaseException] | None, str]] = [
        (None, None, "committed"),
        (ValueError("row 7: Anna"), EngineError, "failed"),
        (MemoryError(), EngineError, "failed"),
        (StopIteration("Anna"), EngineError, "failed"),
        (InputError("core.too_many_rows"), InputError, "failed"),
        (KeyboardInterrupt(), KeyboardInterrupt, "reserved"),
        (SystemExit(), SystemExit, "reserved"),
    ]
    for error, kind, state in cases:
        ledger.set_budget(PureDP(epsilon=1), dataset=state + type(error).__name__)
        for account in (ledger.account(state + type(error).__name__, "ana"), InMemoryBudget(PureDP(epsilon=1))):
            raised = spend_once(account, error)
            assert type(raised) is (kind or type(None)), error
            assert [one.state for one in account.history] == [state], error
            assert account.spent == PureDP(epsilon="0.25")
            if isinstance(raised, EngineError):  # nothing of what failed is left: it could quote the data
                assert raised.__cause__ is raised.__context__ is None
                assert raised.code == "learn.fit_failed"
                assert "Anna" not in str(raised)
            elif raised is not None:
                assert raised is error
            again = spend_once(account)  # a failure is no answer: it is paid for again
            assert again is None
            assert account.spent == PureDP(epsilon="0.5")


def test_what_cannot_be_recorded_stays_spent_and_is_raised(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_: Any, **__: Any) -> None:
        raise LedgerError("core.too_many_rows")

    cases: list[tuple[str, BaseException | None, type[CelosiaError]]] = [
        ("commit", None, LedgerError),
        ("fail", ValueError("Anna"), EngineError),
        ("fail", InputError("core.too_many_rows"), InputError),
    ]
    for account in (ledger.account("deaths", "ana"), InMemoryBudget(PureDP(epsilon=1))):
        for place, (step, error, kind) in enumerate(cases, start=1):
            with monkeypatch.context() as lost:
                lost.setattr(type(account), step, lose)
                assert type(spend_once(account, error)) is kind
            assert [one.state for one in account.history] == ["reserved"] * place
            assert account.spent == PureDP(epsilon=COUNT.event.sensitivity / COUNT.event.scale * place)
