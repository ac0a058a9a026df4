"""Control variates: those of the paper, for no privacy and no byte, and a public state that cannot do harm."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import celosia as cl
from celosia.core import InputError, ParameterError
from celosia.federated import (
    SGD,
    ClientLevel,
    CoordinateMedian,
    Federation,
    Graph,
    Masks,
    Party,
    training,
)
from celosia.federated.network.messages import Request
from celosia.federated.network.node import PartyNode
from celosia.federated.parties.party import PartySources
from celosia.federated.training import ask
from celosia.federated.updates.control_variates import ControlVariatesPlan, find_mean
from celosia.learn import LinearRegression, LogisticRegression
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

if TYPE_CHECKING:
    from pathlib import Path

LINE = LinearRegression(bounds=([-1.0, -1.0], [1.0, 1.0]), bounds_y=(-2, 2))
NAMES = ("north", "south", "west")
ROWS, ROUNDS = 60, 4


def make_records(name: str) -> tuple[Any, Any]:
    """Return records whose features and slopes differ from party to party."""
    rng = np.random.default_rng(list(name.encode()))
    features = np.clip(rng.normal(rng.uniform(-0.5, 0.5, 2), 0.3, (ROWS, 2)), -1, 1)
    return features, features @ rng.uniform(-1, 1, 2)


def federate(*held: str, **given: Any) -> Federation:
    own = {"estimator": LINE, "steps": 3, "records": ROWS, "control_variates": True, "moments": 0} | given.pop(
        "sgd", {}
    )
    defaults: dict[str, Any] = {"epsilon": 4, "delta": "1e-5", "rounds": ROUNDS, "source": Seeded(5)}
    parties = [Party(name, *make_records(name)) if name in (held or NAMES) else Party(name) for name in NAMES]
    whole: dict[str, Any] = {"parties": parties, "update": SGD(**own)} | defaults | given
    return Federation(**whole)


def plan_quietly(**given: Any) -> ControlVariatesPlan:
    """Return a plan without any noise, whose gradients are cut nowhere."""
    plan = federate(sgd={"clip": 1000, "step_size": "0.3", "sampling_rate": 1} | given.pop("sgd", {}), **given).plan()
    assert isinstance(plan, ControlVariatesPlan)
    return replace(plan, inner=replace(plan.inner, ratio=Fraction(0)))


def take_round(plan: ControlVariatesPlan, state: Any, names: Any = NAMES, seed: int = 1) -> Any:
    """Return the state after a round in which these parties are asked."""
    sources = PartySources(Seeded(seed))
    sent = ask(plan, names, state, [sources.get(name, 1) for name in names])
    return plan.advance(state, plan.add_up(sent, parties=len(NAMES), number=1, source=sources.get("", 1)))


def scaffold(parties: list[Any], rounds: list[list[int]], steps: int, size: float) -> tuple[Any, Any, Any]:
    """Algorithm 1 of Karimireddy and others, with option II and a global step of 1, from the paper alone."""
    x = c = np.zeros(parties[0][0].shape[1])
    own = [np.zeros_like(x) for _ in parties]
    for asked in rounds:
        moves, changes = [], []
        for i in asked:
            A, b = parties[i]  # noqa: N806 - the field's name
            y = x
            for _ in range(steps):
                y = y - size * (A.T @ (A @ y - b) / len(b) - own[i] + c)
            new = own[i] - c + (x - y) / (steps * size)
            moves.append(y - x)
            changes.append(new - own[i])
            own[i] = new
        x = x + np.mean(moves, axis=0)
        c = c + np.sum(changes, axis=0) / len(parties)
    return x, c, np.array(own)


def test_without_noise_it_is_scaffold_as_published() -> None:
    rounds = [[0, 1, 2], [0, 2], [1], [0, 1, 2], [1, 2], [0, 1, 2]]
    plan = plan_quietly()
    task, state = plan.inner.task, plan.start()
    for asked in rounds:
        state = take_round(plan, state, tuple(NAMES[place] for place in asked))
    parties = [
        (task.rows[start:end], task.targets[start:end])
        for start, end in zip(task.offsets[:-1], task.offsets[1:], strict=True)
    ]
    x, c, own = scaffold(parties, rounds, 3, 0.3)
    weights, variates = plan.read_state(state)
    assert np.abs(own).max() > 0.03
    np.testing.assert_allclose(weights, x, atol=2e-5)
    np.testing.assert_allclose(variates, own, atol=2e-5)
    np.testing.assert_allclose(find_mean(plan.inner.read_state(weights)[0], variates), c, atol=2e-5)


def test_equal_parties_have_equal_variates_and_are_not_pulled() -> None:
    same = make_records("north")
    equal, plain = (
        plan_quietly(parties=[Party(name, *same) for name in NAMES]),
        federate(parties=[Party(name, *same) for name in NAMES], sgd={"control_variates": False}).plan(),
    )
    state = equal.start()
    for _ in range(3):
        state = take_round(equal, state)
        weights, variates = equal.read_state(state)
        np.testing.assert_allclose(variates, np.tile(variates[0], (3, 1)), atol=1e-8)
        np.testing.assert_allclose(find_mean(equal.inner.read_state(weights)[0], variates), variates[0], atol=1e-8)
    given: Any = [PartySources(Seeded(1)).get(name, 1) for name in NAMES]
    assert isinstance(plain, type(equal.inner))
    np.testing.assert_allclose(
        np.stack([one for one in equal.compute(NAMES, state, given) if one is not None]),
        np.stack([one for one in equal.inner.compute(NAMES, weights, given) if one is not None]),
        atol=50,  # steps of 2^-30 of the ball
    )


def test_a_silent_party_keeps_its_variate_and_the_mean_is_that_of_all() -> None:
    plan = plan_quietly(sgd={"records": {"north": 100, "south": 20, "west": 80}})
    before = take_round(plan, plan.start())
    after = take_round(plan, before, ("north", "west"))
    (_, old), (weights, new) = plan.read_state(before), plan.read_state(after)
    np.testing.assert_array_equal(old[1], new[1])
    assert (old[[0, 2]] != new[[0, 2]]).any(axis=1).all()
    np.testing.assert_allclose(find_mean(plan.inner.read_state(weights)[0], new), [0.5, 0.1, 0.4] @ new)
    nobody = take_round(plan, after, ())
    np.testing.assert_array_equal(nobody, after)


def test_they_cost_no_privacy_and_no_byte() -> None:
    for given in ({}, {"adjacency": "replace-one"}, {"rho": "0.5", "epsilon": None, "delta": None}):
        for moments in (0, "0.1"):
            with_them, without = (
                federate(sgd={"control_variates": value, "moments": moments}, **given).preview()
                for value in (True, False)
            )
            assert with_them == without
    one, other = federate(), federate(sgd={"control_variates": False})
    assert [one.plan().price(rounds) for rounds in (1, 3)] == [other.plan().price(rounds) for rounds in (1, 3)]


def test_first_messages_are_those_without_and_have_their_noise() -> None:
    """Variates of 0 change nothing, so the noise of a step is where it was."""
    plan, plain = federate().plan(), federate(sgd={"control_variates": False}).plan()
    for seed in range(3):
        sent, same = (
            ask(one, NAMES, one.start(), [PartySources(Seeded(seed)).get(name, 1) for name in NAMES])
            for one in (plan, plain)
        )
        assert [np.array_equal(np.asarray(sent[name]), np.asarray(same[name])) for name in NAMES] == [True] * 3


@pytest.mark.parametrize("moments", [0, "0.1"])
def test_a_node_sends_what_its_party_sends_in_process(tmp_path: Path, moments: Any) -> None:
    whole = federate(sgd={"moments": moments}).plan()
    assert isinstance(whole, ControlVariatesPlan)
    nodes = {name: PartyNode.of(federate(name, sgd={"moments": moments}), tmp_path / name) for name in NAMES}
    server = federate("nobody", sgd={"moments": moments}).plan()
    state = whole.start()
    for number in (1, 2, 3):
        sources = PartySources(Seeded(5))
        expected = ask(whole, NAMES, state, [sources.get(name, number) for name in NAMES])
        replies = {
            name: node.answer(Request(plan=node.digest, round=number, party=name, state=state).pack())
            for name, node in nodes.items()
        }
        sent: dict[str, object] = {name: reply.arrays["integers"] for name, reply in replies.items()}
        for name in NAMES:
            np.testing.assert_array_equal(np.asarray(sent[name]), np.asarray(expected[name]))
        summed = [plan.add_up(sent, parties=3, number=number, source=sources.get("", 1)) for plan in (whole, server)]
        states = [plan.advance(state, found) for plan, found in zip((whole, server), summed, strict=True)]
        np.testing.assert_array_equal(states[0], states[1])
        state = states[0]
    assert whole.read_state(state)[1].any()


@pytest.mark.parametrize("moments", [0, "0.1"])
def test_a_training_goes_on_from_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, moments: Any) -> None:
    """With its variates: the round that was cut off is lost, and the next is computed from the state before it."""
    budget, file = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-5")), tmp_path / "progress.json"
    given: dict[str, Any] = {"budget": budget, "source": None, "rounds": 5}
    states: list[Any] = []

    def ask_until(plan: Any, names: Any, state: Any, sources: Any) -> Any:
        states.append(state)
        if len(states) == 3:
            raise KeyboardInterrupt
        return ask(plan, names, state, sources)

    monkeypatch.setattr(training, "ask", ask_until)
    with pytest.raises(KeyboardInterrupt):
        federate(**given, sgd={"moments": moments}).run(file)
    model = federate(**given, sgd={"moments": moments}).run(file)
    assert states[2].any()
    np.testing.assert_array_equal(states[2], states[3])
    assert [len(told["accepted"]) for told in model.history_] == [3, 3, 0, 3, 3]
    assert budget.spent == cl.ApproxDP(epsilon=4, delta="1e-5")


def test_states_that_none_can_be_are_refused(tmp_path: Path) -> None:
    plan = federate("north").plan()
    assert isinstance(plan, ControlVariatesPlan)
    start, width = plan.start(), plan.width
    longest = plan.inner.find_longest_step(plan.inner.read_state(start[:width])[0])
    poison: list[Any] = [start[:-1], np.append(start, 0.0), start.reshape(-1, width), start[:width], "weights", None]
    for place, value in ((-1, np.nan), (width, np.inf), (-2, 1e300), (width, 1.001 * longest), (0, np.nan), (1, 99.0)):
        state = start.copy()
        state[place] = value
        poison.append(state)
    for refused in poison:
        with pytest.raises(InputError, match="of a round must be"):
            plan.compute(("north",), refused, [Seeded(1)])
    edge = start.copy()
    edge[-width] = longest
    assert len(plan.compute(("north",), edge, [Seeded(1)])) == 1
    node = PartyNode.of(federate("north"), tmp_path)
    codes = [
        node.answer(Request(plan=node.digest, round=1, party="north", state=state).pack()).fields["refused"]
        for state in poison
        if isinstance(state, np.ndarray)
    ]
    assert codes[0] == "federated.state_of_another_form"


def test_moments_come_before_variates() -> None:
    """A state that asks for moments has none, and a round of moments leaves none."""
    plan = federate(sgd={"moments": "0.1"}).plan()
    assert isinstance(plan, ControlVariatesPlan)
    state = plan.start()
    state[-1] = 1e-9
    with pytest.raises(InputError, match="no longer than 0"):
        plan.compute(("north",), state, [Seeded(1)])
    first = take_round(plan, plan.start())
    plan.check_round(2, first)
    with pytest.raises(InputError, match="another round"):
        plan.check_round(1, first)
    assert not plan.read_state(first)[1].any()
    assert plan.read_state(take_round(plan, first))[1].any()
    np.testing.assert_array_equal(plan.skip(first), first)
    assert plan.skip(plan.start()).any()


def test_one_party_cannot_make_a_state_that_others_refuse() -> None:
    plan = plan_quietly()
    huge = dict.fromkeys(NAMES, np.full(plan.width, 2**59))
    given: dict[str, object] = {**huge, "south": np.full(plan.width, -(2**59))}
    state = plan.start()
    for _ in range(5):
        found = plan.add_up(given, parties=3, number=1, source=Seeded(1))
        state = plan.advance(state, found)
        assert len(found.accepted) == 3
        assert np.isfinite(state).all()
        plan.compute(NAMES, state, [Seeded(1)] * 3)


def test_they_need_several_steps_and_separate_messages() -> None:
    for given in (
        {"masks": Masks()},
        {"topology": Graph([("north", "south"), ("south", "west")])},
        {"combine": CoordinateMedian()},
        {"level": ClientLevel(clip=1)},
    ):
        with pytest.raises(ParameterError, match="separate messages"):
            federate(**given)
    with pytest.raises(ParameterError, match="use steps=2 or more"):
        federate(sgd={"steps": 1})
    wrong: Any = "yes"
    with pytest.raises(ParameterError, match="control_variates must be"):
        SGD(estimator=LINE, steps=2, control_variates=wrong)


def test_they_help_where_parties_differ() -> None:
    """Two parties of one label each, of which each would move the weights its way."""
    rng = np.random.default_rng(4)
    features = np.clip(rng.normal(size=(3000, 6)) * np.linspace(0.2, 0.6, 6), -1, 1)
    labels = features @ [2.0, -1.5, 1, 0.5, -0.3, 0.2] + 0.1 * rng.normal(size=3000) > 0.3
    parties = {str(label): (features[labels == label], labels[labels == label]) for label in (False, True)}
    estimator = LogisticRegression(bounds=(-1, 1), classes=[False, True])

    def train(epsilon: int, *, value: bool) -> float:
        update = SGD(estimator=estimator, steps=20, step_size=10, control_variates=value, moments=0)
        given: dict[str, Any] = {"epsilon": epsilon, "delta": "1e-5", "adjacency": "replace-one", "rounds": 10}
        scores = [
            Federation(parties=parties, update=update, source=Seeded(seed), **given).run().score(features, labels)
            for seed in range(3)
        ]
        return float(np.mean(scores))

    for epsilon in (1000, 5):
        assert train(epsilon, value=True) > train(epsilon, value=False) + 0.01
