"""Faults of parties in every update over several rounds, and hostile states: what is counted, and how far they reach.

In one process a party cannot send twice, because contributions are a mapping: that fault is the network's. A replayed
or reordered message has the right form, so it is accepted, and reaches no further than any other message.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from celosia.core import EngineError, InputError
from celosia.federated import SGD, Federation, OneShot, Party, Proximal, TrimmedMean, training
from celosia.federated.contributions import MAX_SUM
from celosia.federated.training import ask
from celosia.learn import LinearRegression
from celosia.noise import Seeded

LINE = LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2))
UPDATES: list[tuple[Any, int]] = [
    (OneShot(LINE), 1),
    (SGD(estimator=LINE, records=200, step_size=2, clip="0.25"), 6),
    (SGD(estimator=LINE, records=200, step_size=2, clip="0.25", sampling_rate="0.5"), 6),
    (SGD(estimator=LINE, records=200, step_size=2, clip="0.25", steps=3), 6),
    (Proximal(estimator=LINE, mu="0.2"), 6),
]
BAD = "party 2"
SEEN: dict[str, tuple[Any, str]] = {  # what becomes of a message, and what the history says
    "silence": (lambda _: None, "silent"),
    "NaN": (lambda sent: np.full(len(sent), np.nan), "not integers"),
    "infinity": (lambda sent: np.full(len(sent), np.inf), "not integers"),
    "1e30": (lambda sent: np.full(len(sent), 1e30), "not integers"),
    "doubles": (lambda sent: sent.astype(np.float64), "not integers"),
    "objects": (lambda sent: sent.astype(object) * 10**30, "not integers"),
    "texts": (lambda sent: sent.astype(str), "not integers"),
    "booleans": (lambda sent: sent > 0, "not integers"),
    "a list": (lambda sent: sent.tolist(), "not integers"),
    "too short": (lambda sent: sent[:-1], "wrong shape"),
    "too long": (lambda sent: np.append(sent, 0), "wrong shape"),
    "nothing": (lambda sent: sent[:0], "wrong shape"),
    "a matrix": (lambda sent: sent[None], "wrong shape"),
    "large": (lambda sent: np.full_like(sent, MAX_SUM), "too large"),
    "least": (lambda sent: np.full_like(sent, np.iinfo(np.int64).min), "too large"),
    "unsigned": (lambda sent: np.full(len(sent), 2**64 - 1, dtype=np.uint64), "too large"),
}
UNSEEN: dict[str, Any] = {
    "no change": np.zeros_like,
    "flipped": np.negative,
    "flipped ten times": lambda sent: -10 * sent,
    "at the limit": lambda sent: np.full_like(sent, MAX_SUM // 5),
}


def make_records(count: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (count, 2))
    return features, features @ [0.9, -0.5] + 0.3 + rng.normal(size=count) * 0.1


def federate(update: Any, rounds: int, **given: Any) -> Federation:
    parties = {f"party {number}": make_records(200, number) for number in range(5)}
    defaults: dict[str, Any] = {"epsilon": 20, "delta": "1e-5", "source": Seeded(7)}
    return Federation(parties=parties, update=update, rounds=rounds, **(defaults | given))


def plant(monkeypatch: pytest.MonkeyPatch, change: Any, rounds: Any = None) -> None:
    """Change what one party sends, in all rounds or in those given (from 0)."""
    asked = itertools.count()

    def ask_badly(plan: Any, names: Any, state: Any, sources: Any) -> dict[str, Any]:
        sent: dict[str, Any] = ask(plan, names, state, sources)
        if BAD in sent and (next(asked) in rounds if rounds else True):
            sent[BAD] = change(sent[BAD])
        return sent

    monkeypatch.setattr(training, "ask", ask_badly)


@pytest.mark.parametrize(("update", "rounds"), UPDATES, ids=lambda given: f"{given}")
def test_what_has_no_right_form_is_counted_and_left_out(
    monkeypatch: pytest.MonkeyPatch, update: Any, rounds: int
) -> None:
    others = [f"party {number}" for number in (0, 1, 3, 4)]
    models = []
    for change, reason in SEEN.values():
        with monkeypatch.context() as patched:
            plant(patched, change)
            model = federate(update, rounds).run()
        assert [told["accepted"] for told in model.history_] == [others] * rounds
        assert [told["rejected"] for told in model.history_] == [{BAD: reason}] * rounds
        assert [told["bytes"] for told in model.history_] == [4 * 8 * federate(update, rounds).plan().width] * rounds
        models.append(model)
    assert models[0].score(*make_records(1000, 99)) > 0.8
    assert len({tuple(model.coef_) for model in models}) == 1  # whatever it is, it has no influence at all


@pytest.mark.parametrize(("update", "rounds"), UPDATES[1:], ids=lambda given: f"{given}")
def test_a_fault_in_some_rounds_is_counted_in_those(monkeypatch: pytest.MonkeyPatch, update: Any, rounds: int) -> None:
    plant(monkeypatch, lambda _: None, rounds={1, 4})
    history = federate(update, rounds).run().history_
    assert [told["rejected"] for told in history] == [{}, {BAD: "silent"}, {}, {}, {BAD: "silent"}, {}]


@pytest.mark.parametrize(("update", "rounds"), UPDATES, ids=lambda given: f"{given}")
def test_what_has_the_right_form_leaves_a_model_and_a_rule_bounds_it(
    monkeypatch: pytest.MonkeyPatch, update: Any, rounds: int
) -> None:
    test = make_records(1000, 99)
    for change in UNSEEN.values():
        with monkeypatch.context() as patched:
            plant(patched, change)
            model = federate(update, rounds).run()
            robust = federate(update, rounds, combine=TrimmedMean(1)).run()
        assert np.isfinite(model.coef_).all()
        assert {len(told["accepted"]) for told in model.history_} == {5}
        assert robust.score(*test) > 0.8


def test_an_old_message_reaches_no_further_than_any(monkeypatch: pytest.MonkeyPatch) -> None:
    for update, rounds in UPDATES[1:]:
        first: list[Any] = []

        def replay(sent: Any, kept: Any = first) -> Any:
            kept.append(sent)
            return kept[min(len(kept) - 1, 1)]  # that of the first step: moments of the first round are no step

        with monkeypatch.context() as patched:
            plant(patched, replay)
            model = federate(update, rounds).run()
        assert len(first) == rounds
        assert model.score(*make_records(1000, 99)) > 0.5
        assert {len(told["accepted"]) for told in model.history_} == {5}


def test_weights_stay_in_the_ball_whatever_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for update, rounds in UPDATES[1:]:
        with monkeypatch.context() as patched:
            plant(patched, UNSEEN["at the limit"])
            federation = federate(update, rounds)
            plan: Any = federation.plan()
            states = [plan.start()]
            sources = [Seeded(1)] * 5
            for number in range(rounds):
                sent = training.ask(plan, federation.names, states[-1], sources)
                found = plan.add_up(sent, parties=5, number=number, source=Seeded(2))
                states.append(plan.advance(states[-1], found))
        weights = [state[-plan.task.dimension :] for state in states]
        assert max(map(np.linalg.norm, weights)) <= float(plan.task.ball.radius) * (1 + 1e-9)


def test_everyone_sends_the_most_that_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_badly(*given: Any) -> dict[str, Any]:
        return {name: np.full_like(sent, MAX_SUM // 5) for name, sent in ask(*given).items()}

    monkeypatch.setattr(training, "ask", ask_badly)
    for update, rounds in UPDATES[1:]:
        for rule in (None, TrimmedMean(1)):
            assert np.isfinite(federate(update, rounds, combine=rule).run().coef_).all()
    with pytest.raises(InputError, match="more rows than"):
        federate(*UPDATES[0]).run()


# --------------------------------------------------------------------------------- what a party must not be led to tell


def test_a_state_of_another_shape_is_refused_by_a_party() -> None:
    """A longer one would let a compiled step read beyond a record, and count the next ones with it."""
    for update, rounds in UPDATES[1:]:
        plan: Any = federate(update, rounds).plan()
        start, size = plan.skip(plan.start()), plan.task.dimension
        bad: list[Any] = [
            np.append(start, np.zeros(40)),
            start[:-1],
            np.stack([start] * 2),
            np.zeros(()),
            start + np.nan,
            start - np.inf,
            np.append(start[:-size], np.full(size, 1e300)),
            np.append(start[:-size], np.full(size, float(plan.task.ball.radius))),
            start.tolist(),
            start.astype(str),
            start.astype(complex),
            None,
        ]
        for state in bad:
            with pytest.raises(InputError, match=f"{size} finite numbers"):
                ask(plan, ["party 0"], state, [Seeded(1)])


def test_a_forged_checkpoint_does_not_read_beyond_records(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "progress.json"
    with monkeypatch.context() as patched:
        plant(patched, lambda _: 1 / 0, rounds={1})
        with pytest.raises(ZeroDivisionError):
            federate(*UPDATES[1]).run(file)
    text = file.read_text()
    assert '"states": [[' in text
    head, tail = text.split('"states": [[', 1)
    file.write_text(f'{head}"states": [[{"0.5, " * 40}{tail}')
    with pytest.raises(InputError, match="3 finite numbers"):
        federate(*UPDATES[1]).run(file)


def test_how_many_records_there_are_is_not_told_under_add_remove() -> None:
    features, target = make_records(40, 1)
    empty = np.zeros((0, 2)), np.zeros(0)
    for update, rounds in UPDATES[:4]:
        for parties in ({"a": (features, target), "b": empty}, {"b": empty, "a": (features, target)}):
            federation = Federation(parties=parties, update=update, rounds=rounds, epsilon=2, delta="1e-5")
            assert federation.run().history_[0]["rejected"] == {}
        told = [Party("a", features, target, records=39), Party("b", features, target, records=200)]
        plan = Federation(parties=told, update=update, rounds=rounds, epsilon=2, delta="1e-5").plan()
        assert "40" not in repr(plan).replace("2240", "").replace("5640", "") or "sizes" not in repr(plan)
        assert "sizes" not in repr(plan)
    with pytest.raises(InputError, match="not as many"):
        Federation(parties=told, update=UPDATES[4][0], epsilon=2, delta="1e-5").plan()
    with pytest.raises(InputError, match="'b' cannot be used"):
        Federation(parties={"a": (features, target), "b": empty}, update=UPDATES[4][0], epsilon=2, delta="1e-5").run()


@pytest.mark.parametrize(("records", "mu", "parties"), [(10**6, 10, 100), (10**5, 5000, 8), (2 * 10**6, 10, 20)])
def test_minima_of_many_records_fit_the_sum(records: int, mu: int, parties: int) -> None:
    line = LinearRegression(bounds=([-1, -1], [1, 1]), bounds_y=(-2, 2))
    held = [Party(f"{number}", records=records) for number in range(parties)]
    plan: Any = Federation(
        parties=held, update=Proximal(estimator=line, mu=mu), epsilon=1, delta="1e-6", rounds=20
    ).plan()
    longest = plan.task.ball.radius / plan.grid * records
    assert longest + 10 * plan.get_noise_scale(1) <= MAX_SUM // parties
    # The coarser grid is paid for: the sensitivity has its rounding.
    assert plan.noise.event.sensitivity_squared >= records**2 * plan.width


def test_too_few_who_send_what_can_be_used_end_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "ask", lambda _, names, *__: dict.fromkeys(names))
    for update, rounds in UPDATES:
        with pytest.raises(EngineError, match="Only 0 parties"):
            federate(update, rounds).run()
