"""One writer at a time, durable before anybody goes on: kills at every step, forks, threads, and failing databases."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event as events
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from celosia.core import BudgetExceededError, LedgerError, PureDP
from celosia.ledger import Ledger, Request, open_ledger
from celosia.ledger.store import engines
from celosia.ledger.store.statements import Statement
from celosia.ledger.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from celosia.core import Event, Release
    from celosia.core.exact import Exact

    Make = Callable[[Exact], Event]
    Answer = Callable[[Event], Release[int]]
    Fork = Callable[[Callable[[], None]], int]


def steps(opened: Ledger, reached: Callable[[], None]) -> None:
    """Call something before and after every statement, before every commit, and after every transaction.

    For the life of this process.
    """
    run = Statement._run

    def run_and_count(*args: Any, **kwargs: Any) -> Any:
        reached()
        found = run(*args, **kwargs)
        reached()
        return found

    Statement._run = run_and_count  # type: ignore[method-assign]
    for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
        events.listen(opened.store.engine, name, lambda *_: reached())
    events.listen(opened.store.engine, "checkin", lambda *_: reached())


def asks(opened: Ledger, unit: Event, release: Answer, tell: Callable[[str], None]) -> None:
    reservation = opened.reserve(unit, dataset="deaths", analyst="ana", fingerprint=str(time.time_ns()))
    tell(f"reserved {reservation.id}\n")
    opened.commit(reservation, release(unit), text=f"answer to {reservation.id}")
    tell(f"released {reservation.id}\n")


def check(opened: Ledger, told: list[tuple[str, str]], unit: int = 1) -> None:
    """What was told is in the ledger, everything in it is spent, and the log is whole."""
    lines = list(opened.entries())
    reserved = {str(line.body["id"]) for line in lines if line.kind == "reserved"}
    committed = {str(line.body["id"]) for line in lines if line.kind == "committed"}
    assert {identity for kind, identity in told if kind == "reserved"} <= reserved
    assert {identity for kind, identity in told if kind == "released"} <= committed
    assert opened.account("deaths").spent == PureDP(epsilon=unit * len(reserved))
    assert {one.id for one in opened.open_reservations()} == reserved - committed
    for identity in committed:
        found = opened.reservation(identity)
        assert found is not None
        assert found.answer == f"answer to {identity}"
    verification = opened.verify()
    assert verification.ok, verification.problem


def send(pipe: int, words: str) -> None:
    os.write(pipe, words.encode())


def read_told(read: int) -> Iterator[tuple[str, str]]:
    with os.fdopen(read) as stream:
        for line in stream:
            if line.endswith("\n"):
                kind, identity = line.split()
                yield kind, identity


def test_a_kill_at_any_step_leaves_the_ledger_whole(
    shared: str, forked: Fork, event: Make, release: Answer, *, thorough: bool
) -> None:
    opened, unit = open_ledger(shared), event(1)
    opened.set_budget(PureDP(epsilon=10**6), dataset="deaths")
    read, write = os.pipe()
    counted_read, counted_write = os.pipe()

    tell = partial(send, write)

    def count_steps() -> None:
        steps(opened, lambda: send(counted_write, "."))
        asks(opened, unit, release, tell)

    assert os.waitpid(forked(count_steps), 0)[1] == 0
    number = len(os.read(counted_read, 10_000))
    assert number > 20
    os.close(counted_read)
    os.close(counted_write)

    def die_at(step: int) -> None:
        left = [step]

        def reached() -> None:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        steps(opened, reached)
        asks(opened, unit, release, tell)

    # The steps are the ledger's own, whatever the store: one of both is enough to see all of them. Nothing is written
    # between the end of one statement and the begin of the next: every second step and the last meet each state.
    for step in (*range(0, number - 1, 1 if thorough else 2 if shared.startswith("sqlite") else 5), number - 1):
        _, status = os.waitpid(forked(lambda step=step: die_at(step)), 0)  # type: ignore[misc]
        assert os.WIFSIGNALED(status), step
    os.close(write)
    check(opened, list(read_told(read)))
    asks(opened, unit, release, lambda _: None)  # it goes on serving
    opened.close()


def test_kills_at_random_moments(shared: str, forked: Fork, event: Make, release: Answer, *, thorough: bool) -> None:
    opened, unit = open_ledger(shared), event(1)
    opened.set_budget(PureDP(epsilon=10**6), dataset="deaths")
    asks(opened, unit, release, lambda _: None)
    read, write = os.pipe()
    told: list[tuple[str, str]] = []
    chance = random.Random(5)

    def work() -> None:
        while True:
            asks(opened, unit, release, partial(send, write))

    def listen() -> None:
        for words in read_told(read):
            told.append(words)  # noqa: PERF402 - seen at once by who waits

    listener = threading.Thread(target=listen)
    listener.start()
    killed = 0
    while killed < (100 if thorough else 8):
        before = len(told)
        children = [forked(work) for _ in range(4)]
        while len(told) == before:  # they are killed at work, not before, however busy the machine is
            time.sleep(0.001)
        for child in children:
            time.sleep(chance.uniform(0.0, 0.045))
            os.kill(child, signal.SIGKILL)
            assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
            killed += 1
    os.close(write)
    listener.join()
    check(opened, told)
    opened.close()


def test_threads_share_a_ledger(shared: str, event: Make) -> None:
    with open_ledger(shared) as opened:
        opened.set_budget(PureDP(epsilon=50), dataset="deaths")
        answered: list[str] = []

        def ask() -> None:
            for _ in range(10):
                with suppress(BudgetExceededError):
                    answered.append(opened.reserve(event(1), dataset="deaths").id)
                opened.statement()

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(answered)) == 50
        assert opened.verify().ok


def test_threads_share_a_ledger_in_memory(ledger: Ledger, event: Make) -> None:
    ledger.set_budget(PureDP(epsilon=30), dataset="deaths")
    failed: list[Exception] = []

    def ask() -> None:
        try:
            for _ in range(10):
                with suppress(BudgetExceededError):
                    ledger.reserve(event(1), dataset="deaths")
                ledger.account("deaths").admits(event(1))
        except Exception as error:  # noqa: BLE001 - shown below, in the thread of the test
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert ledger.account("deaths").spent == PureDP(epsilon=30)


def test_a_child_has_connections_of_its_own_also_while_threads_of_the_parent_write(
    shared: str, forked: Fork, event: Make, *, thorough: bool
) -> None:
    with open_ledger(shared) as opened:
        opened.set_budget(PureDP(epsilon=10**6), dataset="deaths")
        done = threading.Event()

        def write() -> None:
            while not done.is_set():
                opened.reserve(event(1), dataset="deaths", analyst="parent")

        thread = threading.Thread(target=write)
        thread.start()

        def work() -> None:
            for _ in range(3):
                opened.reserve(event(1), dataset="deaths", analyst="child")

        children = 20 if thorough else 5
        statuses = [os.waitpid(forked(work), 0)[1] for _ in range(children)]
        done.set()
        thread.join()
        assert statuses == [0] * children
        analysts = [line.body["analyst"] for line in opened.entries() if line.kind == "reserved"]
        assert analysts.count("child") == 3 * children
        assert opened.account("deaths").spent == PureDP(epsilon=len(analysts))
        assert opened.verify().ok


def test_a_ledger_in_memory_is_not_copied_by_a_fork(ledger: Ledger, forked: Fork, event: Make) -> None:
    def work() -> None:
        for use in (ledger.statement, lambda: ledger.reserve(event("0.1"), dataset="deaths")):
            with pytest.raises(LedgerError, match="belongs to the process that opened it"):
                use()

    assert os.waitpid(forked(work), 0)[1] == 0
    ledger.reserve(event("0.1"), dataset="deaths")


def test_a_commit_that_fails_spends_nothing_and_is_told(shared: str, event: Make) -> None:
    with open_ledger(shared) as opened:
        opened.set_budget(PureDP(epsilon=1), dataset="deaths")

        def refuse(_: Any) -> None:
            words = "disk full at 'SELECT secret'"
            raise OperationalError("COMMIT", {}, RuntimeError(words))

        events.listen(opened.store.engine, "commit", refuse)
        with pytest.raises(LedgerError) as caught:
            opened.reserve(event(1), dataset="deaths")
        events.remove(opened.store.engine, "commit", refuse)
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__
        assert opened.account("deaths").spent == PureDP(epsilon=0)
        opened.reserve(event(1), dataset="deaths")


def test_a_commit_whose_answer_is_lost_is_found_by_its_request(
    shared: str, event: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(shared) as opened:
        opened.set_budget(PureDP(epsilon=1), dataset="deaths")
        request = Request(key="k", digest="d")
        dialect = opened.store.engine.dialect
        commit = dialect.do_commit

        def commit_and_lose(connection: Any) -> None:
            commit(connection)
            raise OperationalError("COMMIT", {}, RuntimeError("connection lost"))

        monkeypatch.setattr(dialect, "do_commit", commit_and_lose)
        with pytest.raises(LedgerError):
            opened.reserve(event("0.6"), dataset="deaths", request=request)
        monkeypatch.undo()
        assert opened.account("deaths").spent == PureDP(epsilon="0.6")
        assert not opened.reserve(event("0.6"), dataset="deaths", request=request).fresh
        with pytest.raises(BudgetExceededError):
            opened.reserve(event("0.6"), dataset="deaths")


def test_whoever_waits_too_long_is_told(shared: str, monkeypatch: pytest.MonkeyPatch, event: Make) -> None:
    monkeypatch.setattr(engines, "_MAX_WAIT_MS", 100)
    with open_ledger(shared) as one, open_ledger(shared) as other:
        one.set_budget(PureDP(epsilon=1), dataset="deaths")
        with one.store.transaction():
            assert other.statement()[0].remaining == PureDP(epsilon=1)  # readers do not wait
            with pytest.raises(LedgerError, match="is busy: others have held it for a minute"):
                other.reserve(event(1), dataset="deaths")
        other.reserve(event(1), dataset="deaths")


def test_a_transaction_within_a_transaction_is_refused(shared: str) -> None:
    with open_ledger(shared) as opened:
        with pytest.raises(LedgerError, match="open already"), opened.store.transaction():
            opened.record("note", {})
        opened.record("note", {})


def test_guests_keep_tables_that_stand_or_fall_with_the_log(shared: str) -> None:
    with open_ledger(shared) as opened:
        with opened.store.transaction() as connection:
            connection.execute(text("CREATE TABLE users (name TEXT PRIMARY KEY)"))
            connection.execute(text("INSERT INTO users VALUES ('ana')"))
            opened.record("user", {"name": "ana"}, connection=connection)

        def again() -> None:
            with opened.store.transaction() as connection:
                opened.record("user", {"name": "ana"}, connection=connection)
                connection.execute(text("INSERT INTO users VALUES ('ana')"))

        with pytest.raises(LedgerError) as caught:
            again()
        assert "ana" not in str(caught.value)
        assert [line.kind for line in opened.entries()] == ["opened", "user"]
        assert opened.verify().ok


def test_sqlite_is_set_up_to_be_durable(tmp_path: Path) -> None:
    with open_ledger(f"sqlite:///{tmp_path / 'budget.db'}") as opened, opened.store.reading() as connection:
        for pragma, value in {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "busy_timeout": 60_000,
        }.items():
            assert connection.execute(text(f"PRAGMA {pragma}")).scalar() == value


def test_a_store_begins_once() -> None:
    store = Store("memory://")
    assert not store.has_log()
    with open_ledger("memory://") as opened:
        assert opened.store.has_log()
        assert not opened.store.create(lambda _: None)
    assert repr(store) == "<Store in memory>"
    store.close()
