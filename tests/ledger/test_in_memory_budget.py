"""A account never pays out more than it holds, in any order and from any thread, and never takes anything back."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core import GaussianEvent, LaplaceEvent
from celosia.core.errors import BudgetExceededError, GuaranteeMismatchError, LedgerError, ParameterError
from celosia.ledger import BudgetAccount, Request
from celosia.ledger.budget_account import InMemoryBudget
from celosia.mechanisms import Laplace
from celosia.noise import Seeded

COUNT = Laplace(epsilon="0.1", sensitivity=1)
AMOUNTS = st.fractions(Fraction(1, 50), Fraction(1, 2), max_denominator=50)


def event(epsilon: Fraction) -> LaplaceEvent:
    return LaplaceEvent(scale=1 / epsilon, sensitivity=1)


def test_a_budget_in_memory_is_an_account() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1), name="deaths")
    assert isinstance(account, BudgetAccount)
    assert account.allows_seeded
    assert not account.caches
    assert repr(account) == "<InMemoryBudget: PureDP(epsilon=1) of PureDP(epsilon=1) left>"


@given(amounts=st.lists(AMOUNTS, max_size=20), ends=st.lists(st.sampled_from(["commit", "fail", "leave"]), min_size=20))
def test_what_is_spent_and_what_is_left_are_the_budget(amounts: list[Fraction], ends: list[str]) -> None:
    account, spent = InMemoryBudget(cl.PureDP(epsilon=1)), Fraction(0)
    states = []
    for amount, end in zip(amounts, ends, strict=False):
        assert account.admits(event(amount)) == (spent + amount <= 1)
        if spent + amount > 1:
            with pytest.raises(BudgetExceededError, match="left: "):
                account.reserve(event(amount), question="")
            continue
        reservation = account.reserve(event(amount), question="How many?")
        spent += amount
        if end == "commit":
            account.commit(reservation, COUNT.release(3))
        elif end == "fail":
            account.fail(reservation)
        states.append({"commit": "committed", "fail": "failed", "leave": "reserved"}[end])
        assert account.cost(event(amount)) == cl.PureDP(epsilon=amount)
    assert account.spent == cl.PureDP(epsilon=spent)
    assert account.remaining == cl.PureDP(epsilon=1 - spent)
    assert [reservation.state for reservation in account.history] == states
    assert len({reservation.id for reservation in account.history}) == len(states)


@pytest.mark.parametrize(
    ("budget", "cost", "limit"),
    [
        (cl.PureDP(epsilon=1), cl.PureDP(epsilon="0.1"), cl.PureDP),
        (cl.ApproxDP(epsilon=1, delta="1e-6"), cl.ApproxDP(epsilon="0.1", delta=0), cl.ApproxDP),
        (cl.ZCDP(rho=1), None, cl.ZCDP),
        (cl.RenyiDP(orders=(2, 8), epsilons=(1, 2)), None, cl.RenyiDP),
        (cl.GaussianDP(mu=1), None, cl.GaussianDP),
    ],
)
def test_budgets_of_every_kind(budget: cl.Guarantee, cost: cl.Guarantee | None, limit: type) -> None:
    account = InMemoryBudget(budget)
    assert account.budget == budget
    assert isinstance(account.limit, limit)
    assert cost is None or account.cost(COUNT.event) == cost
    account.reserve(COUNT.event, question="")
    assert account.spent == account.cost(COUNT.event)
    if not isinstance(budget, cl.RenyiDP | cl.GaussianDP):  # those are sums of doubles, rounded against the asker
        assert account.spent + account.remaining == account.limit


def test_a_budget_is_for_one_unit_and_one_kind_of_neighbours() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1, unit="person"))
    with pytest.raises(GuaranteeMismatchError):
        account.reserve(COUNT.event, question="")
    theirs = LaplaceEvent(scale=10, sensitivity=1, unit="person")
    assert account.cost(theirs).unit == "person"
    assert account.reserve(theirs, question="").dataset == "data"
    assert account.spent == cl.PureDP(epsilon="0.1", unit="person")


def test_refusals_say_what_is_left_and_what_to_do() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon="0.1"))
    big = event(Fraction(1, 2))
    with pytest.raises(BudgetExceededError) as caught:
        account.reserve(big, question="")
    assert str(caught.value) == (
        "The question costs PureDP(epsilon=0.5), and the budget has PureDP(epsilon='0.1') left: "
        "ask for an epsilon of at most 0.1, or ask the owner of the data for more."
    )
    account.reserve(COUNT.event, question="")
    with pytest.raises(BudgetExceededError, match="used up"):
        account.reserve(big, question="")
    with pytest.raises(BudgetExceededError, match=r"a rho of at most 0\.1"):
        InMemoryBudget(cl.ZCDP(rho="0.1")).reserve(GaussianEvent(variance=1, sensitivity_squared=1), question="")


def test_a_reservation_ends_once() -> None:
    account, other = InMemoryBudget(cl.PureDP(epsilon=1)), InMemoryBudget(cl.PureDP(epsilon=1))
    release = COUNT.release(3, source=Seeded(1))  # allowed here: nobody else relies on it
    first, second = (account.reserve(COUNT.event, question="") for _ in range(2))
    account.commit(first, release)
    account.fail(second)
    for reservation in (first, second):
        with pytest.raises(ParameterError, match="not open"):
            account.fail(reservation)
        with pytest.raises(ParameterError, match="not open"):
            account.commit(reservation, release)
        with pytest.raises(ParameterError, match="not open"):
            other.fail(reservation)
    assert account.spent == cl.PureDP(epsilon="0.2")


def test_what_is_no_budget() -> None:
    cases: list[Any] = [None, 1, "1", cl.PureDP, cl.ApproxDP(epsilon=1, delta=1)]
    for wrong in cases:
        with pytest.raises(ParameterError):
            InMemoryBudget(wrong)


def test_requests_need_a_ledger() -> None:
    with pytest.raises(ParameterError, match="needs a ledger"):
        InMemoryBudget(cl.PureDP(epsilon=1)).reserve(COUNT.event, question="", request=Request(key="k", digest="d"))


def test_threads_that_race_spend_exactly_the_budget() -> None:
    account, start = InMemoryBudget(cl.PureDP(epsilon=10)), threading.Barrier(8)

    def race(_: int) -> int:
        start.wait()
        won = 0
        for _ in range(20):
            try:
                account.reserve(COUNT.event, question="")
            except BudgetExceededError:
                continue
            won += 1
        return won

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(race, range(8))) == 100
    assert account.remaining == cl.PureDP(epsilon=0)
    assert len(account.history) == 100


def test_four_forked_workers_spend_nothing_and_may_read() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    held = account.reserve(COUNT.event, question="How many?")
    locked, done = threading.Event(), threading.Event()

    def hold_the_lock() -> None:
        with account._lock:
            locked.set()
            done.wait(60)

    def work() -> None:
        signal.alarm(30)  # a worker that waits for the lock would wait for ever: the thread that has it is not here
        with pytest.raises(LedgerError, match="Share a ledger instead"):
            account.reserve(COUNT.event, question="")
        with pytest.raises(LedgerError, match="Share a ledger instead"):
            account.commit(held, COUNT.release(3))
        with pytest.raises(LedgerError, match="Share a ledger instead"):
            account.fail(held)
        assert account.remaining == cl.PureDP(epsilon="0.9")
        assert [entry.state for entry in account.history] == ["reserved"]

    holder = threading.Thread(target=hold_the_lock)
    holder.start()
    locked.wait(60)
    workers = [multiprocessing.get_context("fork").Process(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    done.set()
    holder.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    account.commit(held, COUNT.release(3))  # the original goes on
    assert account.reserve(COUNT.event, question="").state == "reserved"
    assert account.remaining == cl.PureDP(epsilon="0.8")
