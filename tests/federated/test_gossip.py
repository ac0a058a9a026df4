"""Trainings over a graph: what parties agree on, what it costs, and masks along the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import celosia as cl
from celosia.core import CelosiaError, EngineError
from celosia.federated import (
    SGD,
    Federation,
    Gossip,
    Graph,
    Masks,
    OneShot,
    Proximal,
    constant_weights,
    make_graph,
    training,
)
from celosia.learn import LinearRegression
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

LINE = LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2))
CREDITORS = make_graph("creditors")
UPDATES = [
    (OneShot(LINE), 1),
    (SGD(estimator=LINE, records=60, moments=0), 40),
    (Proximal(estimator=LINE, mu="0.1"), 20),
]


def make_records(seed: int, rows: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (rows, 2))
    return features, features @ [0.9, -0.5] + 0.3 + rng.normal(size=rows) * 0.1


def federate(update: Any = UPDATES[0][0], rounds: int = 1, **given: Any) -> Federation:
    parties = {name: make_records(int(name)) for name in "1234567"}
    defaults: dict[str, Any] = {"topology": CREDITORS, "epsilon": 2, "delta": "1e-5", "source": Seeded(7)}
    return Federation(parties=parties, update=update, rounds=rounds, **(defaults | given))


@pytest.mark.parametrize(("update", "rounds"), UPDATES, ids=lambda given: f"{given}")
def test_parties_agree_on_what_a_server_would_find(update: Any, rounds: int) -> None:
    """With little noise; the same cost with much."""
    features, target = make_records(99, 2000)
    for topology in (CREDITORS, Gossip(weights=constant_weights(CREDITORS), steps=3)):
        model = federate(update, rounds, topology=topology, epsilon=3000).run()
        assert model.coef_ == pytest.approx([0.9, -0.5], abs=0.05)
        assert model.score(features, target) > 0.95
        private, star = federate(update, rounds, topology=topology), federate(update, rounds, topology=None)
        assert private.preview().event == star.preview().event == private.run().event_


def test_one_round_of_sums_is_the_same_with_and_without_a_server() -> None:
    """Averaging keeps the sum of all states: only its rounding differs, which is far below the noise."""
    assert federate().run().coef_ == pytest.approx(federate(topology=None).run().coef_, rel=1e-9)


def test_rounds_move_each_party_and_average_with_neighbours() -> None:
    federation = federate(*UPDATES[1], topology=Gossip(weights=CREDITORS))
    plan: Any = federation.plan()
    start = plan.start() + np.arange(7)[:, None] / 100
    sources = [Seeded(place) for place in range(7)]
    sent = training.ask(plan, federation.names, start, sources)
    sent["3"] = None
    found = plan.add_up(sent, parties=7, number=1, source=Seeded(1))
    assert found.rejected == {"3": "silent"}
    moved = np.array(start)
    for place, name in enumerate(federation.names):
        numbers = sent[name]
        if numbers is not None:
            step = plan.inner.step_size * float(plan.inner.clip) / 2**20 / 60
            moved[place] = plan.inner.task.ball.project(start[place] - step * np.asarray(numbers, dtype=np.float64))
    matrix = Gossip(weights=CREDITORS).weights.matrix
    assert plan.advance(start, found) == pytest.approx(matrix @ moved)
    assert found.count_bytes() == 8 * plan.width * 16  # eight edges, both ways


@pytest.mark.parametrize(
    ("graph", "masks", "parts"),
    [
        (make_graph("complete", 7), Masks(), 6),  # every party is an observer, who knows its own share
        (make_graph("complete", 7), Masks(colluders=0), 6),  # also where none is stated to collude
        (make_graph("complete", 7), Masks(colluders=2, silent=1), 4),
        (make_graph("ring", 7), Masks(), 6),
        (make_graph("ring", 7), Masks(colluders=2), 1),
        (CREDITORS, Masks(), 1),  # party 5 behind the cut vertex 4
        (CREDITORS.add_edge("1", "5"), Masks(), 6),
    ],
)
def test_masks_on_edges_share_noise_within_the_smallest_sum(graph: Graph, masks: Masks, parts: int) -> None:
    federation = federate(topology=graph, masks=masks)
    plan: Any = federation.plan()
    assert plan.shares.parts == parts
    assert float(plan.shares.share * parts / plan.inner.noise.event.variance) == pytest.approx(1, rel=1e-3)
    assert federation.run().history_[0]["accepted"] == list("1234567")


def test_who_learns_what_is_never_more_than_the_target() -> None:
    target = cl.ApproxDP(epsilon=2, delta="1e-5")
    masked = federate(masks=Masks(), topology=CREDITORS.add_edge("1", "5")).who_learns_what(coalitions=[["2"]])
    assert max(masked.get(party, against=other).epsilon for party in "134567" for other in "2") <= target.epsilon
    behind = federate(masks=Masks()).who_learns_what()
    assert behind.get("5", against="4").epsilon <= target.epsilon
    assert behind.get("5", against="4").epsilon > 2 * behind.get("5", against="1").epsilon
    gossip = federate(*UPDATES[1]).who_learns_what()
    assert gossip.get("1", against="7").epsilon <= target.epsilon
    replaced = federate(*UPDATES[2], masks=Masks()).who_learns_what()
    assert replaced.get("5", against="4").adjacency is cl.ReplaceOne
    assert replaced.get("5", against="4").epsilon <= target.epsilon
    concentrated = federate(epsilon=None, delta=None, rho="0.1", masks=Masks()).who_learns_what(delta="1e-6")
    assert concentrated.get("5", against="4").delta == cl.ApproxDP(epsilon=1, delta="1e-6").delta


def test_a_silent_cut_vertex_ends_a_masked_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without party 4, party 5 would be visible alone."""
    honest = training.ask

    def ask_without(*given: Any) -> Any:
        return honest(*given) | {"4": None}

    monkeypatch.setattr(training, "ask", ask_without)
    with pytest.raises(EngineError):
        federate(masks=Masks(silent=1)).run()


def test_bad_input_is_named() -> None:
    bad: list[tuple[Any, str]] = [
        (lambda: federate(topology="ring"), "topology must be"),
        (lambda: federate(topology=make_graph("ring", 6)), "same parties"),
        (lambda: federate(topology=CREDITORS, participation="0.5"), "participation=1"),
        (lambda: federate(topology=CREDITORS, masks=Masks(colluders=7)), "collude"),
        (lambda: Gossip(weights=[[1.0]]), "weights must be"),  # type: ignore[arg-type]
        (lambda: Gossip(weights=CREDITORS, steps=0), "steps"),
        (lambda: federate(topology=None).who_learns_what(), "give a topology"),
    ]
    budget = InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5"))
    for make, words in bad:
        with pytest.raises(CelosiaError, match=words):
            make().run()
    assert budget.spent == cl.ApproxDP(epsilon=0, delta=0)
