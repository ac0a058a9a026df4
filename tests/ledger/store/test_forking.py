from __future__ import annotations

import threading

from celosia.ledger.store.forking import ForkGate


def test_a_fork_waits_for_those_inside_and_nobody_enters_meanwhile() -> None:
    gate, inside, leave, entered = ForkGate(), threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        with gate.passing():
            inside.set()
            leave.wait(10)

    def late() -> None:
        with gate.passing():
            entered.set()

    first = threading.Thread(target=work)
    first.start()
    assert inside.wait(10)
    assert not gate.shut(patience=0.01)
    second = threading.Thread(target=late)
    second.start()
    assert not entered.wait(0.05)
    leave.set()
    assert gate.shut()
    assert not entered.wait(0.05)
    gate.open()
    assert entered.wait(10)
    first.join()
    second.join()
    assert gate.busy == 0


def test_whoever_is_inside_may_go_further_and_fork() -> None:
    gate = ForkGate()
    with gate.passing():
        assert gate.shut()  # the one who forks does not wait for itself
        with gate.passing():
            assert gate.busy == 1
        gate.open()
