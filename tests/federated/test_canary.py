"""A canary through whole trainings: the record that moves messages most is in or out, and all rounds are watched.

The observer knows everything but the canary. In each round it computes what the party would send with and without it at
the public state, and projects the party's message on the difference. Whole trainings are run one by one, so these are
fewer than in audits of a single round (``tests/audit/test_federated_round.py``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.accounting import best
from celosia.audit import lower_bound
from celosia.federated import SGD, Federation, Proximal
from celosia.federated.training import ask
from celosia.federated.updates import local_descent
from celosia.federated.updates.plan import UpdatePlan
from celosia.federated.updates.proximal import update as proximal
from celosia.federated.updates.proximal.bounds import half_spread
from celosia.federated.updates.proximal.step import ProximalSolver
from celosia.learn import LinearRegression
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

LINE = LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2))
FAILURE = 1e-8
DELTA = "0.01"
CUTS = np.linspace(0.25, 3.25, 13)
ROUNDS = 2
UPDATES: dict[str, Any] = {
    "gradients": SGD(estimator=LINE, records=10),
    "minima": Proximal(estimator=LINE, mu=1),
}


def make_plans(name: str, rounds: int) -> tuple[UpdatePlan, UpdatePlan]:
    """Return the plans with and without the canary: added for gradients, in another's place for minima."""
    rng = np.random.default_rng(3)
    features, target = rng.uniform(-0.5, 0.5, (10, 2)), rng.uniform(-1, 1, 10)
    canary = np.vstack([features, [[1, 1]]]), np.append(target, 2.0)
    without = (features, target) if name == "gradients" else (canary[0], np.append(target, -2.0))

    def plan(records: Any) -> UpdatePlan:
        parties = {"north": records, "south": (features, target)}
        given: dict[str, Any] = {"epsilon": "4.5", "delta": "1e-6", "rounds": rounds}
        return Federation(parties=parties, update=UPDATES[name], **given).plan()

    return plan(canary), plan(without)


def score(plan: UpdatePlan, others: tuple[UpdatePlan, UpdatePlan], source: Any) -> float:
    """Train once, and return how far the messages lean towards the canary, in deviations of the stated noise."""
    state, seen, length = plan.start(), 0.0, 0.0
    for number in range(plan.rounds):
        sent: dict[str, Any] = ask(plan, ("north", "south"), state, [source] * 2)
        [present], [absent] = (one.compute(["north"], state, [source]) for one in others)
        assert present is not None
        assert absent is not None
        away = (present - absent).astype(np.float64)
        seen += float((sent["north"] - absent) @ away)
        length += float(away @ away)
        state = plan.advance(state, plan.add_up(sent, parties=2, number=number, source=source))
    return seen / (float(np.sqrt(length)) * plan.get_noise_scale(1))


def audit(name: str, runs: int, rounds: int = ROUNDS) -> tuple[float, float]:
    """Return the lower bound on epsilon that all rounds show, and the claim at the same delta."""
    plans, source = make_plans(name, rounds), Seeded(5)
    scores: list[NDArray[np.float64]] = [np.array([score(one, plans, source) for _ in range(runs)]) for one in plans]
    hits = [[int((found > cut).sum()) for cut in CUTS] for found in scores]
    failure = FAILURE / len(CUTS)
    bounds = [
        lower_bound(one, runs, other, runs, delta=float(DELTA), failure=failure)
        for one, other in zip(*hits, strict=True)
    ]
    return max(bounds), float(best(plans[0].get_round_event(rounds), DELTA).guarantee.epsilon)


@pytest.mark.parametrize("name", UPDATES)
def test_all_rounds_together_keep_their_claim(name: str, *, thorough: bool) -> None:
    found, claimed = audit(name, *((6000, 5) if thorough else (1000, ROUNDS)))
    assert 0.15 * claimed < found <= claimed


def plant_noise(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    honest = UpdatePlan.add_noise

    def add_noise(self: Any, exact: Any, sources: Any) -> Any:
        noisy = honest(self, exact, sources)
        return [one + change(other - one) for one, other in zip(exact, noisy, strict=True)]

    monkeypatch.setattr(UpdatePlan, "add_noise", add_noise)


@pytest.mark.parametrize(
    ("name", "part", "runs"),
    [
        ("gradients", 0, 500),
        ("gradients", 2, 2500),
        ("minima", 0, 500),
        pytest.param("minima", 2, 2500, marks=pytest.mark.thorough),
    ],
)
def test_rounds_with_less_noise_are_found(monkeypatch: pytest.MonkeyPatch, name: str, part: int, runs: int) -> None:
    plant_noise(monkeypatch, lambda noise: noise // part if part else 0 * noise)
    found, claimed = audit(name, runs)
    assert found > claimed


@pytest.mark.parametrize("name", ["gradients", pytest.param("minima", marks=pytest.mark.thorough)])
def test_rounds_without_a_clip_are_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    honest: Any = local_descent.add_gradients

    def add_gradients(*given: Any, **others: Any) -> Any:
        *arrays, run = given
        return honest(*arrays, run._replace(bound=8 * run.bound, most=8 * run.most), **others)

    def solve(*given: Any, lipschitz: Any, **others: Any) -> Any:  # noqa: ARG001 - left out
        return ProximalSolver(*given, **others)

    monkeypatch.setattr(local_descent, "add_gradients", add_gradients)
    monkeypatch.setattr(proximal, "ProximalSolver", solve)
    monkeypatch.setattr(proximal, "half_spread", lambda loss, radius, _: half_spread(loss, radius, Fraction(1, 4)))
    found, claimed = audit(name, 400)
    assert found > claimed
