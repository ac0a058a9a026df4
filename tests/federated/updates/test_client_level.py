"""Privacy for whole parties: what a party can change, what it costs, and what is learned."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.accounting import best
from celosia.core import CelosiaError
from celosia.federated import SGD, ClientLevel, Federation, Masks, OneShot, Party, Proximal
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from tests.federated.updates.test_sgd import CLASSES, LINE, make_records

UPDATES = [SGD(estimator=LINE, steps=5), SGD(estimator=LINE), Proximal(estimator=LINE, mu="0.5")]


def federate(update: Any = UPDATES[0], count: int = 5, rows: int = 40, **given: Any) -> Federation:
    labels = update.estimator is CLASSES
    parties = [Party(str(place), *make_records(rows + place, place, labels=labels)) for place in range(count)]
    level = ClientLevel(clip="0.1")
    defaults: dict[str, Any] = {"parties": parties, "level": level, "epsilon": 2, "delta": "1e-5", "rounds": 10}
    return Federation(update=update, **(defaults | {"source": Seeded(7)} | given))


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32), st.sampled_from(UPDATES), st.sampled_from(["0.001", "0.1", "5"]))
def test_a_party_moves_a_sum_by_no_more_than_was_paid_for(seed: int, update: Any, clip: str) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 50))
    features = rng.choice([-1.0, 1.0], (size, 2)) * 10.0 ** rng.integers(-2, 300)
    other = Party("1", features, rng.choice([-1.0, 1.0], size) * 1e300)
    one = federate(update, level=ClientLevel(clip=clip))
    plan: Any = one.plan()
    near: Any = federate(update, level=ClientLevel(clip=clip), parties=[one.parties[0], other, *one.parties[2:]]).plan()
    assert near.event == plan.event
    start = plan.task.ball.project(rng.normal(size=3) * 10.0 ** rng.integers(-2, 2))
    sent = [found.compute(["1"], start, [Seeded(1)])[0].astype(object) for found in (plan, near)]
    assert int(((sent[0] - sent[1]) ** 2).sum()) <= plan.noise.event.sensitivity_squared
    assert max(int((numbers**2).sum()) for numbers in sent) <= plan.noise.event.sensitivity_squared / 4


def test_opposite_parties_reach_what_was_paid_for() -> None:
    first = federate().parties[0]
    ends = [Party("1", np.ones((40, 2)), np.full(40, sign * 2.0)) for sign in (1, -1)]
    plans: list[Any] = [federate(parties=[first, end], level=ClientLevel(clip="0.01")).plan() for end in ends]
    one, other = (plan.compute(["1"], plan.start(), [Seeded(1)])[0].astype(object) for plan in plans)
    assert int(((one - other) ** 2).sum()) > 0.999 * float(plans[0].noise.event.sensitivity_squared)


@pytest.mark.parametrize("update", [*UPDATES, SGD(estimator=CLASSES, steps=5)], ids=lambda update: f"{update}")
def test_parties_under_masks_learn(update: Any) -> None:
    federation = federate(update, 15, 20, rounds=8, masks=Masks(), epsilon=9, level=ClientLevel(clip="0.4"))
    model = federation.run()
    assert model.guarantee_ == cl.ApproxDP(epsilon=9, delta="1e-5", adjacency=cl.ReplaceOne, unit="party")
    assert best(model.event_, "1e-5").guarantee.epsilon <= 9
    assert "any one party, with all its rows" in model.card()
    assert "party, with all its records" in str(federation.preview())
    features, target = make_records(2000, 99, labels=update.estimator is CLASSES)
    assert model.score(features, target) > 0.3


def test_with_little_noise_the_movement_is_the_mean_of_the_parties() -> None:
    federation = federate(epsilon=3000, level=ClientLevel(clip=9), rounds=1)
    plan: Any = federation.plan()
    moved = plan.local.descend(federation.names, plan.start(), [Seeded(1)] * 5)
    slopes, _ = plan.task.scaling.coefficients(moved.mean(axis=0))
    assert federation.run().coef_ == pytest.approx(2 * slopes, abs=0.1)


def test_no_noise_is_drawn_for_movements_that_no_party_makes() -> None:
    """A proximal step is no longer than the steepest slope over mu, so a longer clip costs nothing more."""
    wide: Any = federate(UPDATES[2], level=ClientLevel(clip=9)).plan()
    assert 0.5 <= float(wide.clip) < 0.501
    assert float(federate(UPDATES[2], level=ClientLevel(clip="0.1")).plan().clip) == 0.1  # type: ignore[attr-defined]


def find_lengths(federation: Federation) -> list[float]:
    """Return how far each party says that it moves in the first round."""
    plan: Any = federation.plan()
    sent = plan.compute(federation.names, plan.start(), [Seeded(1)] * len(federation.names))
    return [float(np.linalg.norm(one * float(plan.grid))) for one in sent]


def test_a_movement_that_is_cut_is_not_lost() -> None:
    update = SGD(estimator=CLASSES, step_size=1000)
    for clip in ("0.1", "0.3", "1/3", "0.5", "0.7", "5"):  # most of them are no whole number of steps of a grid
        found = find_lengths(federate(update, level=ClientLevel(clip=clip)))
        assert found == pytest.approx([float(Fraction(clip))] * 5, rel=1e-4)


def test_classes_move_parties_as_far_as_they_may() -> None:
    """Noise hides the longest movement, so a shorter one is wasted; steps and clips that are given stay."""
    for clip in ("0.1", "2"):
        for steps in (1, 5):
            federation = federate(SGD(estimator=CLASSES, steps=steps), level=ClientLevel(clip=clip))
            assert find_lengths(federation) == pytest.approx([float(clip)] * 5, rel=1e-4)
            plan: Any = federation.plan()
            assert plan.local.clip == plan.task.steepest
    chosen: Any = federate(SGD(estimator=CLASSES, steps=5, step_size="0.5", clip="1/8")).plan()
    assert (chosen.local.step_size, float(chosen.local.clip)) == (0.5, 0.125)
    line: Any = federate(level=ClientLevel(clip=32)).plan()  # slopes of a line grow, and long steps overshoot
    assert line.local.step_size == federate().plan().local.step_size  # type: ignore[attr-defined]


def test_a_budget_of_parties_pays() -> None:
    budget = InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5", adjacency=cl.ReplaceOne, unit="party"))
    federate(budget=budget).run()
    assert budget.spent == budget.budget


def test_bad_input_is_named() -> None:
    rows = InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5", adjacency=cl.ReplaceOne))
    bad: list[tuple[Any, str]] = [
        (lambda: ClientLevel(clip=0), "clip"),
        (lambda: federate(level="client"), "ClientLevel"),
        (lambda: federate(adjacency="add-remove"), "replace-one"),
        (lambda: federate(budget=rows), 'unit="party"'),
        (lambda: replace(federate(), update=OneShot(LINE), rounds=1), "OneShot"),
    ]
    for make, words in bad:
        with pytest.raises(CelosiaError, match=words):
            make().run()
    assert rows.spent == cl.ApproxDP(epsilon=0, delta=0, adjacency=cl.ReplaceOne)
