"""Proximal rounds: what a replaced record moves, what it costs, and what is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.accounting import best
from celosia.core import ParameterError
from celosia.federated import Federation, Proximal
from celosia.federated.updates.proximal.update import ProximalPlan
from celosia.learn import LinearRegression, LogisticRegression, Ridge
from celosia.noise import Seeded
from tests.federated.updates.test_sgd import CLASSES, LINE, make_records


def federate(sizes: tuple[int, ...] = (200, 150, 250), *, labels: bool = False, **given: Any) -> Federation:
    update: dict[str, Any] = {"estimator": CLASSES if labels else LINE, "mu": "0.2"} | given.pop("proximal", {})
    parties = {str(number): make_records(size, number, labels=labels) for number, size in enumerate(sizes)}
    defaults: dict[str, Any] = {"parties": parties, "epsilon": 2, "delta": "1e-5", "rounds": 10, "source": Seeded(7)}
    return Federation(update=Proximal(**update), **(defaults | given))


@pytest.mark.parametrize("labels", [False, True])
def test_with_little_noise_the_model_is_the_minimum(*, labels: bool) -> None:
    model = federate((900, 700, 1400), labels=labels, epsilon=1000, proximal={"mu": "0.05"}, rounds=30).run()
    assert model.score(*make_records(4000, 99, labels=labels)) > 0.94
    assert model.guarantee_ == cl.ApproxDP(epsilon=1000, delta="1e-5", adjacency=cl.ReplaceOne)
    if not labels:
        assert model.coef_ == pytest.approx([0.9, -0.5], abs=0.05)


def test_a_model_with_noise_is_useful_and_travels(tmp_path: Any) -> None:
    model = federate(source=None).run()
    assert model.score(*make_records(2000, 5)) > 0.6
    model.save(tmp_path / "model.json")
    assert cl.learn.load(tmp_path / "model.json").coef_ == pytest.approx(model.coef_)
    assert "federated proximal: 3 parties, 10 rounds" in model.card()
    assert "proximal.md" in model.card()


def measure_movement(federation: Federation, place: int, record: tuple[Any, Any], state: Any) -> tuple[int, Any]:
    """Return how far what a party computes moves, squared, if one of its records is replaced; and the plan."""
    features, target = federation.parties[1].X.copy(), np.array(federation.parties[1].y)
    plan: Any = federation.plan()
    features[place], target[place] = record
    party = cl.federated.Party("1", features, target)
    near = Federation(
        parties=[federation.parties[0], party, federation.parties[2]],
        update=federation.update,
        epsilon=2,
        delta="1e-5",
        rounds=10,
    ).plan()
    state = plan.task.ball.project(state)
    [one], [other] = plan.compute(["1"], state, []), near.compute(["1"], state, [])
    assert one is not None
    assert other is not None
    return int(((one - other).astype(object) ** 2).sum()), plan


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from([(6, 4, 9), (3, 1, 1), (30, 40, 5)]), st.booleans())
def test_a_replaced_record_moves_a_message_by_no_more_than_was_paid_for(
    seed: int,
    sizes: tuple[int, ...],
    labels: bool,  # noqa: FBT001 - drawn
) -> None:
    rng = np.random.default_rng(seed)
    federation = federate(sizes, labels=labels, proximal={"mu": float(rng.choice([0.05, 1.0])), "clip": 3})
    record = (rng.choice([-1.0, 1.0], 2), rng.choice(["no", "yes"]) if labels else rng.choice([-2.0, 2.0]))
    state = rng.normal(size=3) * rng.choice([0.0, 0.3, 1.0])
    moved, plan = measure_movement(federation, int(rng.integers(sizes[1])), record, state)
    assert moved <= plan.noise.event.sensitivity_squared


def test_a_replaced_record_moves_a_message_nearly_as_far_as_was_paid_for() -> None:
    """With equal parties of one record and mirrored extremes at weights 0 the bound is not slack."""
    rng = np.random.default_rng(1)
    largest = 0.0
    for _ in range(40):
        federation = federate((1, 1, 1), proximal={"mu": 10, "clip": "0.25"})
        state = rng.normal(size=3)
        corner, target = rng.choice([-1.0, 1.0], 2), rng.choice([-2.0, 2.0])
        moved, plan = measure_movement(federation, 0, (corner, target), state)
        largest = max(largest, moved / float(plan.noise.event.sensitivity_squared))
    assert 0.4 < largest <= 1


@pytest.mark.parametrize("rounds", [1, 10])
def test_the_price_of_all_rounds_is_the_target(rounds: int) -> None:
    plan = federate(rounds=rounds).plan()
    assert isinstance(plan, ProximalPlan)
    assert best(plan.event, "1e-5").guarantee.epsilon <= 2
    assert best(plan.get_round_event(rounds), "1e-5").guarantee.epsilon == pytest.approx(2, rel=0.02)
    pure = federate(rounds=rounds, delta=None).plan()
    assert pure.guarantee == cl.PureDP(epsilon=2, adjacency=cl.ReplaceOne)
    assert cl.accounting.PureAccountant().spend(pure.event).guarantee() <= pure.guarantee
    concentrated = federate(rounds=rounds, epsilon=None, delta=None, rho="0.5").plan()
    assert cl.accounting.ZCDPAccountant().spend(concentrated.event).guarantee() <= concentrated.guarantee


def test_a_minimum_that_is_not_certified_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    federation = federate()
    plan = federation.plan()
    assert isinstance(plan, ProximalPlan)
    solve = plan.solver.step

    def step(state: Any) -> Any:
        weights, distances = solve(state)
        return weights, np.where(np.arange(3) == 1, np.inf, distances)

    monkeypatch.setattr(type(plan.solver), "step", lambda _self, state: step(state))
    sent = plan.compute(federation.names, plan.start(), [])
    assert [given is None for given in sent] == [False, True, False]


def test_bad_input_is_named() -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"adjacency": "add-remove"}, "replace-one"),
        ({"proximal": {"mu": 0}}, "mu"),
        ({"proximal": {"mu": "1e-12"}}, "mu"),
        ({"proximal": {"penalty": -1}}, "penalty"),
        ({"proximal": {"clip": 0}}, "clip"),
        ({"proximal": {"estimator": Ridge(bounds=(0, 1), bounds_y=(0, 1))}}, "Proximal takes"),
        ({"proximal": {"estimator": LinearRegression()}}, "bounds"),
        ({"proximal": {"estimator": LogisticRegression(bounds=(-1, 1))}}, "classes"),
    ]
    budget = cl.ledger.InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5", adjacency=cl.ReplaceOne))
    for given_, words in bad:
        with pytest.raises(cl.core.CelosiaError, match=words) as caught:
            federate(**({"budget": budget} | given_)).run()
        assert isinstance(caught.value, ParameterError | ValueError)
    assert budget.spent == cl.ApproxDP(epsilon=0, delta=0, adjacency=cl.ReplaceOne)
    federate(budget=budget).run()
    assert budget.spent == cl.ApproxDP(epsilon=2, delta="1e-5", adjacency=cl.ReplaceOne)
