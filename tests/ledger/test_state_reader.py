from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from celosia.core import LedgerError, PureDP
from celosia.ledger import open_ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Event
    from celosia.core.exact import Exact
    from celosia.ledger import Ledger

    Make = Callable[[Exact], Event]


def test_only_new_lines_are_read(ledger: Ledger, event: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        ledger.reserve(event("0.1"), dataset="deaths")
    fed: list[int] = []
    from celosia.ledger.budgets.state import LogState

    apply = LogState.apply

    def counted(state: LogState, lines: object) -> None:
        before = state.sequence
        apply(state, lines)  # type: ignore[arg-type]
        fed.append(state.sequence - before)

    monkeypatch.setattr(LogState, "apply", counted)
    for _ in range(3):
        ledger.reserve(event("0.1"), dataset="deaths")
    ledger.statement()
    ledger.statement()
    assert fed == [1, 1, 1, 1]


def test_lines_that_are_gone_are_missed_at_once(shared: str, event: Make) -> None:
    with open_ledger(shared) as opened:
        opened.set_budget(PureDP(epsilon=1), dataset="deaths")
        opened.reserve(event("0.5"), dataset="deaths")
        opened.statement()
        with opened.store.transaction() as connection:  # back to the second line, as from an old copy
            connection.execute(text("DELETE FROM celosia_log WHERE sequence > 2"))
            connection.execute(text("DELETE FROM celosia_reservations"))
            connection.execute(
                text("UPDATE celosia_head SET sequence = 2, hash = (SELECT hash FROM celosia_log WHERE sequence = 2)")
            )
        for use in (opened.statement, lambda: opened.reserve(event(1), dataset="deaths")):
            with pytest.raises(LedgerError, match="not the one that was read before"):
                use()


def test_a_tail_that_was_cut_is_missed_by_the_head(shared: str, event: Make) -> None:
    with open_ledger(shared) as opened:
        opened.set_budget(PureDP(epsilon=1), dataset="deaths")
        opened.reserve(event("0.5"), dataset="deaths")
        with opened.store.transaction() as connection:
            connection.execute(text("DELETE FROM celosia_log WHERE sequence = 3"))
    with open_ledger(shared) as opened:
        for _ in range(2):  # and it stays so
            with pytest.raises(LedgerError, match="The log ends at line 2, its head says 3"):
                opened.reserve(event(1), dataset="deaths")


def test_readers_and_writers_do_not_wait_for_each_other_for_ever(ledger: Ledger, event: Make) -> None:
    ledger.set_budget(PureDP(epsilon=10**6), dataset="deaths")

    def write() -> None:
        for _ in range(50):
            ledger.reserve(event(1), dataset="deaths")

    def read() -> None:
        for _ in range(50):
            ledger.statement()

    threads = [threading.Thread(target=work) for work in (write, read, write, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert ledger.account("deaths").spent == PureDP(epsilon=100)
