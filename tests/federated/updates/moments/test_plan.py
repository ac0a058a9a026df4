"""Training after moments: what it costs after each round, what goes from round to round, and what it is good for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2, norm

import celosia as cl
from celosia.accounting import best
from celosia.core import InputError, ParameterError
from celosia.core.events import GaussianEvent
from celosia.core.structure import (
    CertifiedEvent,
    ComposedEvent,
    PoissonSampledEvent,
    RepeatedEvent,
    ReplacedEvent,
)
from celosia.federated import SGD, ClientLevel, Federation, Krum, Masks, TrimmedMean, make_graph
from celosia.federated.parties.party import PartySources
from celosia.federated.training import ask
from celosia.federated.updates.moments.plan import MomentsPlan
from celosia.federated.updates.moments.scaled_space import ScaledSpace
from celosia.federated.updates.sgd_plan import MOST
from celosia.learn import LinearRegression, LogisticRegression
from celosia.learn.optimize.losses import OwnLoss
from celosia.noise import Seeded

LINE = LinearRegression(bounds=(-100, 100), bounds_y=(-20, 20))
CLASSES = LogisticRegression(bounds=(-100, 100), classes=["no", "yes"])
SIZES = {"a": 900, "b": 300, "c": 600}


def make_records(count: int, seed: int, *, labels: bool = False) -> tuple[Any, Any]:
    """Return records of which the bounds tell little: features lie far from the middle, and differ in scale."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(count, 2))
    target = plain @ [1.5, -1.0] + 3 + 0.2 * rng.normal(size=count)
    features = plain * [2, 20] + [70, -30]
    return features, np.where(target > 3, "yes", "no") if labels else target


def federate(*, labels: bool = False, sgd: Any = (), **given: Any) -> Federation:
    defaults: dict[str, Any] = {"epsilon": 2, "delta": "1e-5", "rounds": 40, "source": Seeded(7)}
    parties = {name: make_records(size, seed, labels=labels) for seed, (name, size) in enumerate(SIZES.items())}
    update = SGD(estimator=CLASSES if labels else LINE, **dict(sgd))
    everything: dict[str, Any] = {"parties": parties, "update": update} | defaults | given
    return Federation(**everything)


# ------------------------------------------------------------------------------------------------------------ the price


@pytest.mark.parametrize(
    ("adjacency", "rate"), [("add-remove", "1"), ("add-remove", "0.25"), ("replace-one", "1"), ("replace-one", "0.5")]
)
def test_the_event_is_that_of_moments_and_of_steps(adjacency: str, rate: str) -> None:
    plan: Any = federate(adjacency=adjacency, rounds=6, sgd={"steps": 2, "sampling_rate": rate}).plan()
    variance = (plan.ratio * MOST) ** 2
    about: dict[str, Any] = {"variance": variance, "dimension": plan.width}
    # Of a record with three columns at their ends: its number, unless that is public, and 17/16 for each column.
    moved = plan.moments.grid**2 * ((adjacency == "add-remove") + 3 * Fraction(17, 16))
    step: Any = GaussianEvent(sensitivity_squared=MOST**2, **about)
    if rate != "1":
        step = PoissonSampledEvent(event=step, probability=Fraction(rate))
    parts = [GaussianEvent(sensitivity_squared=moved, **about), RepeatedEvent(event=step, times=10)]
    whole: Any = ComposedEvent(events=parts)
    whole = ReplacedEvent(event=whole) if adjacency == "replace-one" else whole
    assert plan.event == CertifiedEvent(event=whole, epsilon=2, delta="1e-5")
    assert best(plan.event, "1e-5").epsilon <= 2
    # The numerical accountant shares nothing with the certificate. With a tenth less noise it finds more.
    assert best(whole, "1e-5").epsilon <= 2
    assert plan.get_round_event(1) == (ReplacedEvent(event=parts[0]) if adjacency == "replace-one" else parts[0])


def epsilon_of(mu: float, delta: float) -> float:
    """Return the exact epsilon of a Gaussian mechanism (Balle and Wang 2018, theorem 5)."""

    def excess(epsilon: float) -> float:
        upper, lower = norm.logcdf(mu / 2 - epsilon / mu), norm.logcdf(-mu / 2 - epsilon / mu)
        return float(np.exp(upper) - np.exp(epsilon + lower) - delta)

    return float(brentq(excess, 0, 100))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_what_is_told_after_each_round_is_the_exact_epsilon(adjacency: str) -> None:
    federation = federate(adjacency=adjacency, rounds=9)
    plan: Any = federation.plan()
    told = [one["epsilon"] for one in federation.run().history_]
    times, variance = 1 if adjacency == "add-remove" else 2, float(plan.ratio * MOST) ** 2
    squares = [(plan.moments.sensitivity_squared + number * MOST**2) / variance for number in range(9)]
    exact = [epsilon_of(times * math.sqrt(one), 1e-5) for one in squares]
    assert told == pytest.approx(exact, rel=1e-3)
    assert all(one >= other * (1 - 1e-9) for one, other in zip(told, exact, strict=True))
    assert told[-1] == 2
    assert squares[0] / squares[-1] == pytest.approx(0.15, rel=1e-4)  # the share


def test_a_rho_is_shared_exactly() -> None:
    federation = federate(epsilon=None, delta=None, rho="0.5", rounds=5, sgd={"moments": "0.2"})
    told = [one["rho"] for one in federation.run().history_]
    assert told == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5], rel=1e-4)
    assert told[-1] <= 0.5


def test_without_moments_nothing_changes() -> None:
    plan: Any = federate(sgd={"moments": 0, "records": 600}).plan()
    assert not isinstance(plan, MomentsPlan)
    assert plan.start().tolist() == [0, 0, 0]
    one = federate(rounds=1, sgd={"records": 600}).plan()
    over_graph = federate(topology=make_graph("path", ["a", "b", "c"]), sgd={"records": 600}).plan()
    clients = federate(level=ClientLevel(clip=1), masks=Masks()).plan()
    assert not any(isinstance(other, MomentsPlan) for other in (one, over_graph, clients))


def test_moments_where_there_are_none_are_refused() -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"rounds": 1, "sgd": {"moments": "0.1"}}, "at least 2 rounds"),
        ({"topology": make_graph("path", ["a", "b", "c"]), "sgd": {"moments": "0.1"}}, "no topology"),
        ({"level": ClientLevel(clip=1), "masks": Masks(), "sgd": {"moments": "0.1"}}, "not for whole parties"),
        ({"sgd": {"moments": 1}}, "less than 1"),
        ({"rounds": 1}, "Moments count them"),
    ]
    for given, words in bad:
        with pytest.raises(ParameterError, match=words):
            federate(**given).plan()


# ------------------------------------------------------------------------------------------------- messages and states


@pytest.mark.parametrize("steps", [1, 2])
def test_moments_have_the_whole_noise(steps: int) -> None:
    federation = federate(parties={name: make_records(3, 1) for name in "ab"}, rounds=3, sgd={"steps": steps})
    plan: Any = federation.plan()
    quiet: Any = plan.moments.add(plan.task.rows, plan.task.targets, np.array([[0, 3]]), plan.task.scaling.norm)
    found: list[Any] = []
    for number in range(300):
        sources = PartySources(Seeded(number))
        sent = ask(plan, federation.names, plan.start(), [sources.get(name, 1) for name in federation.names])
        found += [np.asarray(one) - quiet[0] for one in sent.values()]
    noise = np.concatenate(found) / (float(plan.ratio) * MOST)
    assert 1e-7 < chi2(len(noise)).cdf(float(noise @ noise)) < 1 - 1e-7


def test_a_party_is_asked_for_moments_once() -> None:
    plan = federate().plan()
    start = plan.start()
    later = plan.skip(start)
    plan.check_round(1, start)
    for number in (2, 3, 40):
        plan.check_round(number, later)
        with pytest.raises(InputError, match="once, in the first round"):
            plan.check_round(number, start)
    with pytest.raises(InputError, match="once, in the first round"):
        plan.check_round(1, later)
    assert np.array_equal(plan.skip(later), later)


def test_numbers_of_records_are_found_and_weigh_parties() -> None:
    federation = federate(epsilon=100, rounds=3)
    plan: Any = federation.plan()
    sent: Any = ask(plan, federation.names, plan.start(), [Seeded(1)] * 3)
    state = plan.advance(plan.start(), plan.add_up(sent, parties=3, number=1, source=Seeded(2)))
    found = ScaledSpace.read(state, plan.task)
    assert found is not None
    space, weights = found
    assert space.sizes == pytest.approx(list(SIZES.values()), rel=0.02)
    assert space.centres == pytest.approx([0.7, -0.3], abs=0.01)
    assert space.spreads[1] == pytest.approx(0.2, rel=0.05)
    assert not weights.any()


def test_the_state_is_the_same_whatever_the_records_are_that_noise_hides() -> None:
    """The state is a function of messages only: the same messages give the same state at neighbours."""
    first, second = federate().plan(), federate(parties={n: make_records(5, 9) for n in SIZES}).plan()
    sent: Any = ask(first, list(SIZES), first.start(), [Seeded(1)] * 3)
    states = [
        plan.advance(plan.start(), plan.add_up(sent, parties=3, number=1, source=Seeded(2))) for plan in (first, second)
    ]
    assert np.array_equal(states[0], states[1])


# ---------------------------------------------------------------------------------------------------- what is learned

WAYS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "public numbers": {"sgd": {"records": SIZES}},
    "replace-one": {"adjacency": "replace-one"},
    "local steps": {"sgd": {"steps": 3}, "rounds": 30},
    "samples": {"sgd": {"sampling_rate": "0.5"}},
    "masks": {"masks": Masks(), "rounds": 20},
    "some parties": {"participation": "0.8", "least_parties": 1},
    "a median": {"combine": TrimmedMean(1)},
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("labels", [False, True])
def test_badly_scaled_records_are_learned(name: str, *, labels: bool) -> None:
    given = {"epsilon": 8, **WAYS[name]}
    federation = federate(labels=labels, **given)
    model = federation.run()
    assert model.score(*make_records(2000, 99, labels=labels)) > 0.85
    assert model.event_ == federation.preview().event
    assert model.guarantee_ == cl.ApproxDP(epsilon=8, delta="1e-5", adjacency=given.get("adjacency", "add-remove"))
    plain = federate(labels=labels, **{**given, "sgd": {"records": 600} | given.get("sgd", {}) | {"moments": 0}}).run()
    assert model.score(*make_records(2000, 99, labels=labels)) > plain.score(*make_records(2000, 99, labels=labels))


def test_a_loss_of_ones_own_sees_targets_as_they_are() -> None:
    huber = OwnLoss(lambda p, t: min(max(p - t, -0.25), 0.25), lipschitz=1, smoothness=1)
    model = federate(epsilon=20, sgd={"loss": huber}).run()
    assert model.score(*make_records(2000, 99)) > 0.85


def test_a_party_that_states_anything_is_bounded_by_a_rule() -> None:
    federation = federate(epsilon=20, combine=TrimmedMean(1))
    plan: Any = federation.plan()
    sent: Any = ask(plan, federation.names, plan.start(), [Seeded(1)] * 3)
    states = []
    for forged in (np.full(plan.width, 2**60), np.full(plan.width, -(2**60)), np.zeros(plan.width, dtype=np.int64)):
        found = plan.add_up(sent | {"b": forged}, parties=3, number=1, source=Seeded(2))
        read = ScaledSpace.read(plan.advance(plan.start(), found), plan.inner.task)
        assert read is not None
        states.append(read[0])
    for space in states:
        assert 300 <= space.sizes.mean() <= 901
        assert np.ptp(space.sizes) == 0  # no party says by itself how much it weighs
        assert (space.spreads > 0.01).all()
    with pytest.raises(ParameterError, match="Krum"):
        federate(combine=Krum(1)).plan()


def test_lost_moments_are_guessed() -> None:
    plan: Any = federate().plan()
    found = ScaledSpace.read(plan.skip(plan.start()), plan.task)
    assert found is not None
    space, weights = found
    assert space.sizes.tolist() == [100] * 3
    assert not space.centres.any()
    assert not weights.any()
    public: Any = federate(sgd={"records": SIZES}).plan()
    known = ScaledSpace.read(public.skip(public.start()), public.task)
    assert known is not None
    assert known[0].sizes.tolist() == list(SIZES.values())
