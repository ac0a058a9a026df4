"""Federations of one round: the sums of all parties, their noise, their cost, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import celosia as cl
from celosia.core import CelosiaError, EngineError, InputError, ParameterError, UnboundedDataError
from celosia.federated import SGD, Federation, OneShot, Party, Proximal, training
from celosia.federated.parties.party import PartySources
from celosia.federated.training import ask
from celosia.learn import GaussianNB, KMeans, LinearRegression, Ridge, StandardScaler, load
from celosia.learn.optimize.losses import OwnLoss
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded, System

LINE = LinearRegression(bounds=(0, 10), bounds_y=(-5, 45))


def make_records(count: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    features = rng.uniform(0, 10, (count, 2))
    return features, 3 * features[:, 0] - 0.5 * features[:, 1] + rng.normal(size=count)


def make_parties(count: int = 3, rows: int = 200) -> dict[str, tuple[Any, Any]]:
    return {f"party {number}": make_records(rows, number) for number in range(count)}


def federate(parties: Any = None, update: Any = None, **given: Any) -> Federation:
    defaults: dict[str, Any] = {"epsilon": 1, "delta": "1e-5", "source": Seeded(7)}
    return Federation(
        parties=make_parties() if parties is None else parties,
        update=OneShot(LINE) if update is None else update,
        **(defaults | given),
    )


def test_with_little_noise_the_model_is_that_of_all_records() -> None:
    parties = make_parties(rows=2000)
    model = federate(parties, epsilon=100).run()
    features, target = (np.concatenate([records[place] for records in parties.values()]) for place in (0, 1))
    central = LinearRegression(epsilon=float("inf")).fit(features, target)
    assert model.coef_ == pytest.approx(central.coef_, abs=0.01)
    assert model.intercept_ == pytest.approx(central.intercept_, abs=0.05)


@pytest.mark.parametrize(
    ("estimator", "classes"),
    [
        (Ridge(bounds=(0, 10), bounds_y=(-5, 45)), None),
        (StandardScaler(bounds=(0, 10)), None),
        (GaussianNB(bounds=(0, 10), classes=[False, True]), True),
    ],
)
def test_every_estimator_from_sums_can_be_federated(estimator: Any, classes: Any, tmp_path: Any) -> None:
    parties = {
        name: (features, None if isinstance(estimator, StandardScaler) else target > 10 if classes else target)
        for name, (features, target) in make_parties(rows=3000).items()
    }
    model = federate(parties, OneShot(estimator), epsilon=5, delta=None).run()
    assert model.guarantee_ == cl.PureDP(epsilon=5)
    assert model.seeded_
    assert model.history_[0]["accepted"] == list(parties)
    features, target = parties["party 0"]
    assert classes is None or model.score(features, target) > 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model with seeded noise is stored with a warning
        model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").history_ == model.history_


def compute(plan: Any, names: Any) -> dict[str, Any]:
    """Return the exact integers of parties in the first round."""
    return dict(zip(names, plan.compute(names, plan.start(), [Seeded(1)] * len(names)), strict=True))


def send(plan: Any, names: Any, seed: int, number: int = 1) -> dict[str, Any]:
    """Return what parties send in a round of a plan."""
    sources = PartySources(Seeded(seed))
    return ask(plan, names, plan.start(), [sources.get(name, number) for name in names])


def total_noise(parties: int, seed: int, draws: int) -> Any:
    """Return draws of the noise in one number of the total, in standard deviations of one party's."""
    federation = federate(make_parties(parties, rows=2))
    plan: Any = federation.plan()
    exact = sum(np.asarray(sums, dtype=object) for sums in compute(plan, federation.names).values())
    found = []
    for number in range(draws):
        noisy = sum(given.astype(object) for given in send(plan, federation.names, seed + number).values())
        found.append(np.asarray(noisy - exact, dtype=np.float64) / plan.get_noise_scale(1))
    return np.concatenate(found)


@pytest.mark.parametrize(("assumed", "fits"), [(3, True), (3 * 1.21, False)])  # the mutant's scale is off by a tenth
def test_the_total_has_the_noise_of_every_party(*, assumed: float, fits: bool) -> None:
    noise = total_noise(3, seed=11, draws=600)
    below = stats.chi2(len(noise)).cdf(float(noise @ noise) / assumed)
    close = stats.kstest(noise, stats.norm(scale=assumed**0.5).cdf).pvalue > 1e-7
    assert bool(close and 1e-7 < below < 1 - 1e-7) is fits


def test_each_party_draws_noise_of_its_own_however_they_are_asked() -> None:
    plan: Any = federate(make_parties()).plan()
    names = tuple(plan.sums)
    exact = compute(plan, names)
    noise = {name: given - exact[name] for name, given in send(plan, names, seed=5).items()}
    again, later = send(plan, names[::-1], seed=5), send(plan, names, seed=5, number=2)
    for name in names:
        assert np.array_equal(again[name] - exact[name], noise[name])
        assert not np.array_equal(later[name] - exact[name], noise[name])
    first, *others = noise.values()
    assert all(not np.array_equal(first, other) for other in others)
    assert PartySources(None).get("a", 1) is PartySources(None).get("b", 1)  # the system's, which never repeats
    assert not PartySources(System()).seeded


def test_all_messages_together_cost_what_one_does() -> None:
    budget = InMemoryBudget(cl.ApproxDP(epsilon=1, delta="1e-5"))
    federation = federate(budget=budget)
    preview = federation.preview()
    assert budget.spent == cl.ApproxDP(epsilon=0, delta=0)
    assert preview.noise_ratio == pytest.approx(3**0.5)
    model = federation.run()
    assert model.event_ == preview.event
    assert model.guarantee_ == preview.guarantee == budget.spent == cl.ApproxDP(epsilon=1, delta="1e-5")
    assert model.history_[0]["bytes"] == 3 * preview.bytes_per_party
    with pytest.raises(CelosiaError):
        federation.run()
    ledger = cl.open_ledger("memory://")
    ledger.set_budget(cl.ZCDP(rho=1), dataset="visits")
    federate(budget=ledger.account("visits"), epsilon=None, delta=None, rho="0.3", source=None).run()
    [line] = ledger.statement("visits")
    assert [(one.kind, one.cost) for one in line.kinds or ()] == [("federated", cl.ZCDP(rho="0.3"))]


def test_a_round_goes_on_without_what_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    faults: dict[str, Any] = {
        "party 1": lambda sums: None,  # noqa: ARG005 - silent
        "party 2": lambda sums: sums.astype(np.float64),
        "party 3": lambda sums: sums[:-1],
        "party 4": lambda sums: np.full_like(sums, 2**62),
        "party 5": lambda sums: [float("nan")] * len(sums),
        "party 6": lambda sums: sums[None],
        "party 7": lambda sums: -sums,  # a flipped sign cannot be seen
    }

    def ask_with_faults(plan: Any, names: Any, state: Any, sources: Any) -> dict[str, object]:
        sent = ask(plan, names, state, sources)
        return {name: faults.get(name, lambda given: given)(given) for name, given in sent.items()}

    monkeypatch.setattr(training, "ask", ask_with_faults)
    model = federate(make_parties(9)).run()
    [history] = model.history_
    assert history["accepted"] == ["party 0", "party 7", "party 8"]
    assert history["rejected"] == {
        "party 1": "silent",
        "party 2": "not integers",
        "party 3": "wrong shape",
        "party 4": "too large",
        "party 5": "not integers",
        "party 6": "wrong shape",
    }
    budget = InMemoryBudget(cl.ApproxDP(epsilon=1, delta="1e-5"))
    with pytest.raises(EngineError, match="Only 3 parties contributed"):
        federate(make_parties(9), least_parties=4, budget=budget).run()
    assert budget.spent == cl.ApproxDP(epsilon=1, delta="1e-5")  # the messages have left the parties


def test_bad_input_is_named_and_nothing_is_spent() -> None:
    budget = InMemoryBudget(cl.ApproxDP(epsilon=1, delta="1e-5"))
    features, target = make_records(50, 1)
    bad: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"parties": {"one": (features, target)}}, ParameterError, "2 to 100000 parties, not 1"),
        ({"parties": [Party("a", features, target), Party("a", features, target)]}, ParameterError, "Two parties"),
        ({"parties": [Party("a", features, target), (features, target)]}, ParameterError, "not tuple"),
        ({"parties": "ab"}, ParameterError, "not str"),
        ({"parties": {"a": (features, target), "": (features, target)}}, ParameterError, "name of a party"),
        ({"parties": {"a": (features, target), "b": (features, target, target)}}, InputError, "must be X, or the pair"),
        (
            {"parties": {"a": (features, target), "b": (features[:, :1], target)}},
            InputError,
            "party 'b' cannot be used: X has 1 feature",
        ),
        (
            {"parties": {"a": (features, target), "b": (features, target[:-1])}},
            InputError,
            "party 'b' .* one row for each",
        ),
        ({"parties": {"a": (features, target), "b": (features * np.nan, target)}}, InputError, "party 'b' .* NaN"),
        ({"update": OneShot(LinearRegression())}, UnboundedDataError, "bounds"),
        ({"update": OneShot(GaussianNB(bounds=(0, 10), classes="public"))}, ParameterError, "must be stated"),
        ({"update": LINE}, ParameterError, "OneShot"),
        ({"epsilon": None, "delta": None}, ParameterError, "what may be spent"),
        ({"rho": 1}, ParameterError, "rho"),
        ({"epsilon": float("inf"), "delta": None}, ParameterError, "without privacy"),
        ({"epsilon": -1}, ParameterError, "epsilon"),
        ({"least_parties": 4}, ParameterError, "least_parties is 4"),
        ({"least_parties": 0}, ParameterError, "least_parties"),
        ({"rounds": 2}, ParameterError, "OneShot has one round, not 2"),
        ({"rounds": 0}, ParameterError, "rounds"),
        ({"participation": 0}, ParameterError, "more than 0"),
    ]
    for given_, error, words in bad:
        with pytest.raises(error, match=words):
            federate(budget=budget, **given_).run()
        assert isinstance(error, type)
    with pytest.raises(ParameterError, match="released with noise"):
        federate(epsilon=float("inf"), delta=None).run()
    with pytest.raises(ParameterError, match="not 'KMeans'"):
        OneShot(KMeans(bounds=(0, 1)))
    assert budget.spent == cl.ApproxDP(epsilon=0, delta=0)


def test_frames_with_a_schema_are_paid_for_by_a_session() -> None:
    rng = np.random.default_rng(4)
    schema = cl.Schema(age=cl.Real(0, 100), visits=cl.Real(0, 10))
    line = LinearRegression(bounds=schema, bounds_y=(0, 500))
    deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    columns = [{"age": rng.uniform(0, 100, 400), "visits": rng.uniform(0, 10, 400)} for _ in range(3)]
    for frame in (pa.table, pd.DataFrame):
        session = cl.Session(deaths, budget=cl.ApproxDP(epsilon=40, delta="1e-4"))
        parties = {str(place): (frame(one), 3 * one["age"] + 10 * one["visits"]) for place, one in enumerate(columns)}
        for update, rounds in ((OneShot(line), 1), (SGD(estimator=line, records=400), 20)):
            model = federate(parties, update, rounds=rounds, epsilon=20, budget=session, source=None).run()
            assert model.coef_ == pytest.approx([3, 10], abs=1)
            assert model.feature_names_in_.tolist() == ["age", "visits"]
        assert session.remaining != session.budget
    other = pd.DataFrame(columns[0]).rename(columns={"age": "years"})
    with pytest.raises(InputError, match="party '1' cannot be used"):
        federate(parties | {"1": (other, columns[0]["age"])}, OneShot(line)).run()


def test_losses_of_your_own_are_learned_with() -> None:
    def slope(prediction: float, target: float) -> float:
        residual = prediction - target
        return float(residual / (1 + residual * residual) ** 0.5)

    smooth = OwnLoss(slope, lipschitz=1, smoothness=1)
    updates = [
        (SGD(estimator=LINE, records=200, loss=smooth), 30),
        (SGD(estimator=LINE, records=200, loss=smooth, steps=3), 20),
        (Proximal(estimator=LINE, mu="0.1", loss=smooth), 20),
    ]
    for update, rounds in updates:
        model = federate(None, update, rounds=rounds, epsilon=20, adjacency="replace-one").run()
        assert model.coef_ == pytest.approx([3, -0.5], abs=0.4)


def test_a_round_asks_as_many_parties_as_must_answer() -> None:
    """Where chance asks fewer, others are drawn: a training does not end for want of coins, and nobody is preferred."""
    rng = np.random.default_rng(3)
    parties = {name: (rng.uniform(-1, 1, (20, 1)), rng.uniform(-1, 1, 20)) for name in "abcd"}
    update = SGD(estimator=LinearRegression(bounds=(-1, 1), bounds_y=(-1, 1)), records=20)
    federation = Federation(parties=parties, update=update, rho=1, rounds=300, participation="0.001", source=Seeded(7))
    asked = [told["accepted"] for told in federation.run().history_]
    assert {len(one) for one in asked} == {2}
    counts = [sum(name in one for one in asked) for name in "abcd"]
    assert all(abs(count - 150) < 60 for count in counts)  # seven standard deviations
