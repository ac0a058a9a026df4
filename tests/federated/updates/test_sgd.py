"""Gradient descent at parties: exact sums of cut gradients, their noise and its price, and what is learned."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import celosia as cl
from celosia.accounting import best
from celosia.core import InputError, ParameterError
from celosia.core.adjacency import ReplaceOne
from celosia.federated import SGD, Federation, make_graph
from celosia.federated.parties.party import PartySources
from celosia.federated.training import ask
from celosia.federated.updates.local_descent import add_gradients
from celosia.federated.updates.sgd_plan import build_noise_event, compose_steps, find_noise_ratio
from celosia.learn import LinearRegression, LogisticRegression, PNSGDRegressor, Ridge
from celosia.learn.optimize.descent import Run
from celosia.learn.optimize.losses import LogisticLoss, OwnLoss, SquaredLoss
from celosia.noise import Seeded
from celosia.statistics.base.target import Target

MOST = 2**20
LINE = LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2))
CLASSES = LogisticRegression(bounds=(-1, 1), classes=["no", "yes"])


def make_records(count: int, seed: int, *, labels: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (count, 2))
    target = features @ [0.9, -0.5] + 0.3 + rng.normal(size=count) * 0.1
    return features, np.where(target > 0.3, "yes", "no") if labels else target


def federate(count: int = 4, rows: int = 200, *, labels: bool = False, **given: Any) -> Federation:
    update: dict[str, Any] = {"estimator": CLASSES if labels else LINE, "records": rows} | given.pop("sgd", {})
    defaults: dict[str, Any] = {"epsilon": 2, "delta": "1e-5", "rounds": 40, "source": Seeded(7)}
    parties = {str(number): make_records(rows, number, labels=labels) for number in range(count)}
    everything: dict[str, Any] = {"parties": parties, "update": SGD(**update)} | defaults | given
    return Federation(**everything)


@pytest.mark.parametrize("sgd", [{}, {"steps": 5, "step_size": 2}, {"sampling_rate": "0.3"}])
@pytest.mark.parametrize("labels", [False, True])
def test_with_little_noise_the_model_is_the_minimum(*, sgd: dict[str, Any], labels: bool) -> None:
    federation = federate(rows=1500, labels=labels, sgd={"step_size": 3} | sgd, epsilon=500)
    model = federation.run()
    features, target = make_records(4000, 99, labels=labels)
    assert model.score(features, target) > 0.94
    assert model.guarantee_ == cl.ApproxDP(epsilon=500, delta="1e-5")
    assert model.method_ == "federated SGD"
    assert [told["accepted"] for told in model.history_] == [["0", "1", "2", "3"]] * 40
    if not labels:
        assert model.coef_ == pytest.approx([0.9, -0.5], abs=0.05)
        assert model.intercept_ == pytest.approx(0.3, abs=0.05)


def test_a_model_with_noise_is_useful_and_travels(tmp_path: Any) -> None:
    model = federate(source=None).run()
    assert model.score(*make_records(2000, 5)) > 0.8
    model.save(tmp_path / "model.json")
    read = cl.learn.load(tmp_path / "model.json")
    assert read.coef_ == pytest.approx(model.coef_)
    assert "federated SGD: 4 parties, 40 rounds of 1 steps" in model.card()
    assert "federated-sgd.md" in model.card()


# ----------------------------------------------------------------------------------------------- sums and sensitivity


def sum_plainly(rows: Any, targets: Any, weights: Any, clip: float, loss: Any) -> Any:
    slopes = np.array([loss.slope(row @ weights, target) for row, target in zip(rows, targets, strict=True)])
    gradients = slopes[:, None] * rows
    lengths = np.linalg.norm(gradients, axis=1)
    return (gradients * np.minimum(1, clip / np.maximum(lengths, 1e-300))[:, None]).sum(axis=0)


def draw_rows(count: int, rng: Any) -> tuple[Any, Any]:
    rows = rng.normal(size=(count, 3))
    rows /= np.maximum(np.linalg.norm(rows, axis=1), 1)[:, None] * (1 + 1e-12)
    return rows, rng.choice([-1.0, 1.0], size=count)


def sum_gradients(rows: Any, targets: Any, weights: Any, clip: float, loss: Any, sampled: Any = ()) -> Any:
    run = Run(1.0, clip, MOST, loss.numbers, np.array([0.0, 9.0]))
    bounds, coins = np.array([[0, len(rows)]]), np.asarray(sampled, dtype=bool)
    return add_gradients(rows, targets, bounds, coins, weights[None], run, slope=loss.compiled_slope)[0]


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 30), st.sampled_from([0.05, 0.5, 4.0]))
def test_sums_are_those_of_cut_gradients(seed: int, count: int, clip: float) -> None:
    rng = np.random.default_rng(seed)
    (rows, targets), weights = draw_rows(count, rng), rng.normal(size=3) * 3
    for loss in (SquaredLoss(), LogisticLoss()):
        found = sum_gradients(rows, targets, weights, clip, loss)
        expected = sum_plainly(rows, targets, weights, clip, loss)
        assert np.abs(found * clip / MOST - expected).max() <= (count + 1) * clip / MOST
        coins = rng.random(count) < 0.5
        sampled = sum_gradients(rows, targets, weights, clip, loss, coins)
        if count:
            assert np.array_equal(sampled, sum_gradients(rows[coins], targets[coins], weights, clip, loss))


@settings(deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1e-6, 0.3, 1.0, 50.0]))
def test_one_record_moves_a_sum_by_no_more_than_was_paid_for(seed: int, clip: float) -> None:
    rng = np.random.default_rng(seed)
    (rows, targets), weights = draw_rows(6, rng), rng.normal(size=3) * 10.0 ** rng.integers(-3, 4)
    for loss in (SquaredLoss(), LogisticLoss(), OwnLoss(lambda p, t: 5.0 * (p - t), lipschitz=100, smoothness=5)):
        whole = sum_gradients(rows, targets, weights, clip, loss)
        for place in range(6):
            rest = sum_gradients(np.delete(rows, place, 0), np.delete(targets, place), weights, clip, loss)
            assert int(((whole - rest).astype(object) ** 2).sum()) <= MOST**2


def test_a_cut_gradient_reaches_what_was_paid_for() -> None:
    rows, targets = np.array([[1.0 - 1e-12, 0.0, 0.0]]), np.array([-1.0])
    moved = sum_gradients(rows, targets, np.array([5.0, 0, 0]), 0.25, SquaredLoss())
    assert MOST - 1 <= moved[0] <= MOST


# ------------------------------------------------------------------------------------------------------ noise and price


def draw_noise(federation: Federation, count: int) -> Any:
    """Return the noise of messages about records without a gradient, in the smallest steps of one gradient."""
    plan: Any = federation.plan()
    names, found = federation.names, list[Any]()
    for number in range(count):
        sources = PartySources(Seeded(number))
        found += list(ask(plan, names, plan.start(), [sources.get(name, 1) for name in names]).values())
    return np.concatenate(found) / (float(plan.ratio) * MOST)


@pytest.mark.parametrize(("scale", "fits"), [(1.0, True), (1.1, False)])  # the mutant's noise is a tenth too small
def test_every_message_has_its_whole_noise(*, scale: float, fits: bool) -> None:
    parties = {name: (np.zeros((1, 2)), np.zeros(1)) for name in "ab"}  # at 0 the gradient of these is 0
    noise = scale * draw_noise(federate(parties=parties, rounds=3, sgd={"moments": 0}), 500)
    below = stats.chi2(len(noise)).cdf(float(noise @ noise))
    close = stats.kstest(noise, stats.norm.cdf).pvalue > 1e-7
    assert bool(close and 1e-7 < below < 1 - 1e-7) is fits


def test_local_steps_have_noise_in_each() -> None:
    """Two steps move weights by the noise of both: cleared of what is known, the variance doubles."""
    parties = {name: (np.zeros((1, 2)), np.zeros(1)) for name in "ab"}
    given: dict[str, Any] = {
        "parties": parties,
        "rounds": 2,
        "epsilon": 5,
        "sgd": {"steps": 2, "step_size": "0.001", "radius": 10, "moments": 0},
    }
    federation = federate(**given)
    plan: Any = federation.plan()
    found: list[Any] = []
    for number in range(400):
        sources = PartySources(Seeded(number))
        moved = plan.compute(federation.names, plan.start(), [sources.get(name, 1) for name in federation.names])
        found += [given for given in moved if given is not None]
    scale = plan.step_size * float(plan.clip) * float(plan.ratio) / 200 / 2 * 2**30 / 10
    noise = np.concatenate(found) / (scale * 2**0.5)
    assert 1e-7 < stats.chi2(len(noise)).cdf(float(noise @ noise)) < 1 - 1e-7


@pytest.mark.parametrize(
    ("adjacency", "rate", "rounds"), [("add-remove", 1, 30), ("add-remove", "0.1", 60), ("replace-one", "0.5", 9)]
)
def test_the_price_of_all_rounds_is_the_target(adjacency: str, rate: Any, rounds: int) -> None:
    plan: Any = federate(adjacency=adjacency, rounds=rounds, sgd={"sampling_rate": rate, "steps": 2}).plan()
    assert best(plan.event, "1e-5").guarantee.epsilon <= 2
    # The numerical accountant shares nothing with the certificate. With a fifth less noise it finds more.
    assert best(plan.get_round_event(rounds), "1e-5").guarantee.epsilon <= 2
    smaller = build_noise_event(plan.ratio * Fraction(4, 5), plan.width, "row")
    less = compose_steps(smaller, plan.target, plan.rate, 2 * rounds)
    assert best(less, "1e-5").guarantee.epsilon > 2
    spent = [best(plan.get_round_event(number), "1e-5").guarantee.epsilon for number in (1, rounds // 2, rounds)]
    assert spent == sorted(spent)


def test_known_ratio() -> None:
    # sigma = 4 over 4 steps: each spends 1/32 of rho, all 1/8.
    assert float(find_noise_ratio(Target.of(rho="0.125"), Fraction(1), 4, 10)) == pytest.approx(4, rel=2e-3)
    replaced = Target.of(rho="0.125", adjacency=ReplaceOne)
    assert float(find_noise_ratio(replaced, Fraction(1), 4, 10)) == pytest.approx(8, rel=2e-3)


def test_fewer_participants_are_public_and_pay_the_same() -> None:
    federation = federate(8, participation="0.5", rounds=20, least_parties=1)
    model = federation.run()
    asked = [len(told["accepted"]) for told in model.history_]
    assert min(asked) < 4 < max(asked)
    assert model.event_ == federation.preview().event


def test_bad_input_is_named() -> None:
    bad: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"sgd": {"records": None, "moments": 0}}, ParameterError, "private under add-remove"),
        ({"sgd": {"records": None}, "rounds": 1}, ParameterError, "private under add-remove"),
        ({"sgd": {"moments": 1}}, ParameterError, "less than 1"),
        ({"sgd": {"moments": -1}}, ParameterError, "moments"),
        ({"sgd": {"moments": "0.1"}, "rounds": 1}, ParameterError, "at least 2 rounds"),
        ({"sgd": {"moments": "0.1"}, "topology": make_graph("ring", ["0", "1", "2", "3"])}, ParameterError, "topology"),
        ({"sgd": {"records": {"0": 5}}}, ParameterError, "does not fit for '1'"),
        ({"sgd": {"records": 0}}, ParameterError, "records"),
        ({"delta": None}, ParameterError, "delta"),
        (
            {"epsilon": None, "delta": None, "rho": 1, "sgd": {"sampling_rate": "0.5"}},
            ParameterError,
            "sampling_rate=1",
        ),
        ({"sgd": {"loss": "squares"}}, ParameterError, "loss must be"),
        ({"sgd": {"radius": -1}}, ParameterError, "radius"),
        ({"sgd": {"clip": 0}}, ParameterError, "clip"),
        ({"sgd": {"step_size": "x"}}, ParameterError, "step_size"),
        ({"sgd": {"steps": 0}}, ParameterError, "steps"),
        ({"sgd": {"sampling_rate": 0}}, ParameterError, "more than 0"),
        ({"sgd": {"sampling_rate": 1.5}}, ParameterError, "sampling_rate"),
        ({"sgd": {"estimator": Ridge(bounds=(0, 1), bounds_y=(0, 1))}}, ParameterError, "not 'Ridge'"),
        ({"sgd": {"estimator": PNSGDRegressor()}}, ParameterError, "not 'PNSGDRegressor'"),
        ({"sgd": {"estimator": LogisticRegression(bounds=(-1, 1), classes="public")}}, ParameterError, "stated"),
        (
            {"sgd": {"estimator": LogisticRegression(bounds=(-1, 1), classes=["no", "yes", "?"])}, "labels": True},
            ParameterError,
            "two classes, not 3",
        ),
        ({"parties": {"0": make_records(3, 0), "1": (make_records(3, 0)[0][:, :1], [0, 0, 0])}}, InputError, "'1'"),
        ({"epsilon": float("inf"), "delta": None}, ParameterError, "without privacy"),
    ]
    budget = cl.ledger.InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5"))
    for given_, error, words in bad:
        with pytest.raises(error, match=words):
            federate(**({"budget": budget} | given_)).run()
    assert budget.spent == cl.ApproxDP(epsilon=0, delta=0)
