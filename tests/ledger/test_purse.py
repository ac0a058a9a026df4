"""A purse never pays out more than it holds, in any order and from any thread, and never takes anything back."""

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
from celosia.core.errors import BudgetExceeded, GuaranteeMismatch, LedgerError, ParameterError
from celosia.ledger import Door, Request
from celosia.ledger.purse import Purse
from celosia.mechanisms import Laplace
from celosia.noise import Seeded

COUNT = Laplace(epsilon="0.1", sensitivity=1)
AMOUNTS = st.fractions(Fraction(1, 50), Fraction(1, 2), max_denominator=50)


def event(epsilon: Fraction) -> LaplaceEvent:
    return LaplaceEvent(scale=1 / epsilon, sensitivity=1)


def test_a_purse_is_a_door() -> None:
    purse = Purse(cl.PureDP(epsilon=1), name="deaths")
    assert isinstance(purse, Door)
    assert purse.allows_seeded
    assert not purse.caches
    assert repr(purse) == "<Purse: PureDP(epsilon=1) of PureDP(epsilon=1) left>"


@given(amounts=st.lists(AMOUNTS, max_size=20), ends=st.lists(st.sampled_from(["commit", "fail", "leave"]), min_size=20))
def test_what_is_spent_and_what_is_left_are_the_budget(amounts: list[Fraction], ends: list[str]) -> None:
    purse, spent = Purse(cl.PureDP(epsilon=1)), Fraction(0)
    states = []
    for amount, end in zip(amounts, ends, strict=False):
        assert purse.admits(event(amount)) == (spent + amount <= 1)
        if spent + amount > 1:
            with pytest.raises(BudgetExceeded, match="left: "):
                purse.reserve(event(amount), question="")
            continue
        reservation = purse.reserve(event(amount), question="How many?")
        spent += amount
        if end == "commit":
            purse.commit(reservation, COUNT.release(3))
        elif end == "fail":
            purse.fail(reservation)
        states.append({"commit": "committed", "fail": "failed", "leave": "reserved"}[end])
        assert purse.cost(event(amount)) == cl.PureDP(epsilon=amount)
    assert purse.spent == cl.PureDP(epsilon=spent)
    assert purse.remaining == cl.PureDP(epsilon=1 - spent)
    assert [reservation.state for reservation in purse.history] == states
    assert len({reservation.id for reservation in purse.history}) == len(states)


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
    purse = Purse(budget)
    assert purse.budget == budget
    assert isinstance(purse.limit, limit)
    assert cost is None or purse.cost(COUNT.event) == cost
    purse.reserve(COUNT.event, question="")
    assert purse.spent == purse.cost(COUNT.event)
    if not isinstance(budget, cl.RenyiDP | cl.GaussianDP):  # those are sums of doubles, rounded against the asker
        assert purse.spent + purse.remaining == purse.limit


def test_a_budget_is_for_one_unit_and_one_kind_of_neighbours() -> None:
    purse = Purse(cl.PureDP(epsilon=1, unit="person"))
    with pytest.raises(GuaranteeMismatch):
        purse.reserve(COUNT.event, question="")
    theirs = LaplaceEvent(scale=10, sensitivity=1, unit="person")
    assert purse.cost(theirs).unit == "person"
    assert purse.reserve(theirs, question="").dataset == "data"
    assert purse.spent == cl.PureDP(epsilon="0.1", unit="person")


def test_refusals_say_what_is_left_and_what_to_do() -> None:
    purse = Purse(cl.PureDP(epsilon="0.1"))
    big = event(Fraction(1, 2))
    with pytest.raises(BudgetExceeded) as caught:
        purse.reserve(big, question="")
    assert str(caught.value) == (
        "The question costs PureDP(epsilon=0.5), and the budget has PureDP(epsilon='0.1') left: "
        "ask for an epsilon of at most 0.1, or ask the owner of the data for more."
    )
    purse.reserve(COUNT.event, question="")
    with pytest.raises(BudgetExceeded, match="used up"):
        purse.reserve(big, question="")
    with pytest.raises(BudgetExceeded, match=r"a rho of at most 0\.1"):
        Purse(cl.ZCDP(rho="0.1")).reserve(GaussianEvent(variance=1, sensitivity_squared=1), question="")


def test_a_reservation_ends_once() -> None:
    purse, other = Purse(cl.PureDP(epsilon=1)), Purse(cl.PureDP(epsilon=1))
    release = COUNT.release(3, source=Seeded(1))  # allowed here: nobody else relies on it
    first, second = (purse.reserve(COUNT.event, question="") for _ in range(2))
    purse.commit(first, release)
    purse.fail(second)
    for reservation in (first, second):
        with pytest.raises(ParameterError, match="not open"):
            purse.fail(reservation)
        with pytest.raises(ParameterError, match="not open"):
            purse.commit(reservation, release)
        with pytest.raises(ParameterError, match="not open"):
            other.fail(reservation)
    assert purse.spent == cl.PureDP(epsilon="0.2")


@pytest.mark.parametrize("wrong", [None, 1, "1", cl.PureDP, cl.ApproxDP(epsilon=1, delta=1)])
def test_what_is_no_budget(wrong: Any) -> None:
    with pytest.raises(ParameterError):
        Purse(wrong)


def test_requests_need_a_ledger() -> None:
    with pytest.raises(ParameterError, match="needs a ledger"):
        Purse(cl.PureDP(epsilon=1)).reserve(COUNT.event, question="", request=Request(key="k", digest="d"))


def test_threads_that_race_spend_exactly_the_budget() -> None:
    purse, start = Purse(cl.PureDP(epsilon=10)), threading.Barrier(8)

    def race(_: int) -> int:
        start.wait()
        won = 0
        for _ in range(20):
            try:
                purse.reserve(COUNT.event, question="")
            except BudgetExceeded:
                continue
            won += 1
        return won

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(race, range(8))) == 100
    assert purse.remaining == cl.PureDP(epsilon=0)
    assert len(purse.history) == 100


def test_four_forked_workers_spend_nothing_and_may_read() -> None:
    purse = Purse(cl.PureDP(epsilon=1))
    held = purse.reserve(COUNT.event, question="How many?")
    locked, done = threading.Event(), threading.Event()

    def hold_the_lock() -> None:
        with purse._lock:
            locked.set()
            done.wait(60)

    def work() -> None:
        signal.alarm(30)  # a worker that waits for the lock would wait for ever: the thread that has it is not here
        with pytest.raises(LedgerError, match="Share a ledger instead"):
            purse.reserve(COUNT.event, question="")
        with pytest.raises(LedgerError, match="Share a ledger instead"):
            purse.commit(held, COUNT.release(3))
        with pytest.raises(LedgerError, match="Share a ledger instead"):
            purse.fail(held)
        assert purse.remaining == cl.PureDP(epsilon="0.9")
        assert [entry.state for entry in purse.history] == ["reserved"]

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
    purse.commit(held, COUNT.release(3))  # the original goes on
    assert purse.reserve(COUNT.event, question="").state == "reserved"
    assert purse.remaining == cl.PureDP(epsilon="0.8")
