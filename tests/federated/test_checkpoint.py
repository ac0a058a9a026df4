"""Trainings that are cut off go on: they pay once, repeat no noise, and refuse a file that is not theirs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import celosia as cl
from celosia.accounting import best
from celosia.core import FormatError, InputError
from celosia.federated import SGD, Federation, training
from celosia.federated.checkpoint import Checkpoint
from celosia.learn import LinearRegression
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

ROUNDS = 4


def federate(**given: Any) -> Federation:
    rng = np.random.default_rng(3)
    parties = {name: (features := rng.uniform(-1, 1, (50, 2)), features @ [1.0, -1.0]) for name in "abc"}
    update = SGD(estimator=LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2)), records=50)
    defaults: dict[str, Any] = {"epsilon": 2, "delta": "1e-5", "rounds": ROUNDS}
    return Federation(parties=parties, update=update, **(defaults | given))


class Cut(BaseException):
    """What ends a process at once."""


def cut_off(monkeypatch: pytest.MonkeyPatch, calls: int, *, before: bool) -> None:
    """End the process at the given message of parties, before or after it is computed."""
    ask, seen = training.ask, [0]

    def ask_until(*given: Any) -> Any:
        seen[0] += 1
        if seen[0] == calls and before:
            raise Cut
        sent = ask(*given)
        if seen[0] == calls:
            raise Cut
        return sent

    monkeypatch.setattr(training, "ask", ask_until)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("calls", range(1, ROUNDS + 1))
def test_a_training_goes_on_where_it_was_cut_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, calls: int, *, before: bool
) -> None:
    budget, file = InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5")), tmp_path / "progress.json"
    with monkeypatch.context() as patched:
        cut_off(patched, calls, before=before)
        with pytest.raises(Cut):
            federate(budget=budget).run(file)
    states = json.loads(file.read_text())["states"]
    asked: list[int] = []
    with monkeypatch.context() as patched:
        honest = training.ask

        def count(*given: Any) -> Any:
            asked.append(1)
            return honest(*given)

        patched.setattr(training, "ask", count)
        model = federate(budget=budget).run(file)
    assert len(asked) == ROUNDS - calls  # no message is computed again
    assert [told["round"] for told in model.history_] == [1, 2, 3, 4]
    assert [told["rejected"] != {} for told in model.history_] == [place == calls - 1 for place in range(ROUNDS)]
    assert model.history_[calls - 1]["rejected"] == dict.fromkeys("abc", "lost")
    assert len(states) == calls - 1
    assert budget.spent == cl.ApproxDP(epsilon=2, delta="1e-5")
    assert [one.state for one in budget.history] == ["committed"]
    assert not list(tmp_path.iterdir())


def test_the_cost_after_each_round_is_the_accountants(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also of a round that was lost, for its messages may have left."""
    file = tmp_path / "progress.json"
    with monkeypatch.context() as patched:
        cut_off(patched, 2, before=False)
        with pytest.raises(Cut):
            federate().run(file)
    federation = federate()
    history, plan = federation.run(file).history_, federation.plan()
    told = [one["epsilon"] for one in history]
    exact = [float(best(plan.get_round_event(number), "1e-5").epsilon) for number in range(1, ROUNDS + 1)]
    assert told == pytest.approx(exact, rel=0.02)
    assert told == sorted(told)
    assert told[-1] == 2
    concentrated = federate(epsilon=None, delta=None, rho="0.5").run().history_
    first = 0.15 * 0.5  # of the moments
    rhos = [first + number * (0.5 - first) / (ROUNDS - 1) for number in range(ROUNDS)]
    assert [one["rho"] for one in concentrated] == pytest.approx(rhos, rel=1e-4)


def test_one_cut_off_in_every_round_has_no_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    cut_off(monkeypatch, 0, before=True)
    for _ in range(ROUNDS):
        with monkeypatch.context() as patched:
            cut_off(patched, 1, before=False)
            with pytest.raises(Cut):
                federate().run(file)
    with pytest.raises(cl.core.EngineError, match="Only 0 parties"):
        federate().run(file)


def test_seeded_noise_is_not_repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    sent: list[Any] = []
    honest = training.ask

    def ask(*given: Any) -> Any:
        sent.append(honest(*given))
        if len(sent) == 2:
            raise Cut
        return sent[-1]

    monkeypatch.setattr(training, "ask", ask)
    with pytest.raises(Cut):
        federate(source=Seeded(5)).run(file)
    federate(source=Seeded(5)).run(file)
    vectors = [tuple(numbers.tolist()) for round_ in sent for numbers in round_.values()]
    assert len(sent) == ROUNDS
    assert len(set(vectors)) == len(vectors)


def test_a_file_that_is_not_this_trainings_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    budget, file = InMemoryBudget(cl.ApproxDP(epsilon=9, delta="1e-4")), tmp_path / "progress.json"
    with monkeypatch.context() as patched:
        cut_off(patched, 2, before=False)
        with pytest.raises(Cut):
            federate(budget=budget).run(file)
    whole = file.read_text()
    spent = budget.spent
    with pytest.raises(InputError, match="another training"):
        federate(budget=budget, rounds=5).run(file)
    other = SGD(estimator=LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2)), records=50, step_size=3)
    with pytest.raises(InputError, match="another training"):
        replace(federate(budget=budget), update=other).run(file)
    with pytest.raises(InputError, match="no open reservation"):
        federate(budget=InMemoryBudget(cl.ApproxDP(epsilon=9, delta="1e-4"))).run(file)
    with pytest.raises(InputError, match="no open reservation"):
        federate().run(file)
    stored = json.loads(whole)
    broken: list[Any] = [
        "",
        "{",
        [],
        {},
        stored | {"begun": 1.5},
        stored | {"begun": 9},
        stored | {"version": 2},
        stored | {"states": []},
        stored | {"states": [["a"]]},
    ]
    for text in broken:
        file.write_text(text if isinstance(text, str) else json.dumps(text))
        with pytest.raises(FormatError):
            federate(budget=budget).run(file)
    file.write_text(json.dumps(stored | {"reservation": "0" * 26}))
    with pytest.raises(InputError, match="no open reservation"):
        federate(budget=budget).run(file)
    assert budget.spent == spent
    file.write_text(whole)
    assert len(federate(budget=budget).run(file).history_) == ROUNDS


def test_two_processes_do_not_share_a_file(tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    with Checkpoint(file), pytest.raises(InputError, match="Another process"):
        federate().run(file)
    assert len(federate().run(file).history_) == ROUNDS


_PROGRAM = """
import os, signal, sys
import numpy as np
import celosia as cl
from celosia.federated import training
from tests.federated.test_checkpoint import federate
ask, seen = training.ask, []
def ask_and_die(*given):
    sent = ask(*given)
    seen.append(1)
    if len(seen) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return sent
training.ask = ask_and_die
ledger = cl.open_ledger(sys.argv[1])
federate(budget=ledger.account("visits")).run(sys.argv[2])
"""


def test_a_killed_process_has_paid_once(tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path}/budget.db", tmp_path / "progress.json"
    with cl.open_ledger(url) as ledger:
        ledger.set_budget(cl.ApproxDP(epsilon=3, delta="1e-4"), dataset="visits")
    given = [sys.executable, "-c", _PROGRAM, url, str(file)]
    ended = subprocess.run(given, check=False, cwd=Path(__file__).parents[2], env=os.environ | {"PYTHONPATH": "."})
    assert ended.returncode == -signal.SIGKILL
    with cl.open_ledger(url) as ledger:
        account = ledger.account("visits")
        paid = account.spent
        model = federate(budget=account).run(file)
        assert account.spent == paid
        assert [one.state for one in account.history] == ["committed"]
    assert model.history_[1]["rejected"] == dict.fromkeys("abc", "lost")
