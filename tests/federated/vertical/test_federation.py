"""Fits of columns that several parties hold: the sums of one place, their noise and its price, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import celosia as cl
from celosia.accounting import best
from celosia.core import CelosiaError, ParameterError, ReplaceOne
from celosia.federated import VerticalFederation
from celosia.federated.parties.party import PartySources
from celosia.federated.vertical import federation as module
from celosia.federated.vertical import round as round_module
from celosia.federated.vertical.needed_sums import NeededSums
from celosia.learn import (
    PCA,
    CategoricalNB,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    Ridge,
    StandardScaler,
    load,
)
from celosia.learn.base.exact import ExactSums
from celosia.learn.base.fit_spec import read_spec
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

BOUNDS = ([0, 0, 0, -1], [9, 5, 9, 1])
SPLITS = {"one each": ([0], [1], [2], [3]), "two": ([0, 3], [1, 2]), "uneven": ([2], [0, 1, 3])}
MODELS: dict[str, Any] = {
    "line": LinearRegression(bounds=BOUNDS, bounds_y=(-12, 12)),
    "line by functions": LinearRegression(bounds=BOUNDS, bounds_y=(-12, 12), method="functional"),
    "ridge": Ridge(bounds=BOUNDS, bounds_y=(-12, 12)),
    "components": PCA(bounds=BOUNDS, n_components=2),
    "two classes": LogisticRegression(bounds=BOUNDS, classes=["no", "yes"], method="functional"),
    "three classes": LogisticRegression(bounds=BOUNDS, classes=[0, 1, 2], method="functional"),
}


def make_rows(model: Any, persons: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    rows = rng.uniform(np.array(BOUNDS[0]), np.array(BOUNDS[1]), (persons, 4))
    number = rows @ [1.0, -1.0, 0.5, 2.0] + rng.normal(0, 0.3, persons)
    if model.learns == "features":
        return rows, None
    if model.learns == "number":
        return rows, number
    return rows, np.array(model.classes)[np.searchsorted(np.quantile(number, [0.4, 0.7]), number) % len(model.classes)]


def federate(model: Any, split: Any = SPLITS["two"], **given: Any) -> VerticalFederation:
    rows, target = make_rows(model)
    names = [f"party {place}" for place in range(len(split))]
    parties: dict[str, Any] = {name: rows[:, columns] for name, columns in zip(names, split, strict=True)}
    if target is not None:
        parties[names[0]] = (parties[names[0]], target)
    defaults: dict[str, Any] = {"epsilon": 3, "delta": "1e-5", "source": Seeded(7)}
    return VerticalFederation(parties=parties, estimator=reorder(model, split), **(defaults | given))


def reorder(model: Any, split: Any) -> Any:
    order = [place for columns in split for place in columns]
    return type(model)(**(model.get_params() | {"bounds": tuple(np.array(side)[order].tolist() for side in BOUNDS)}))


def sum_exactly(federation: VerticalFederation, split: Any, model: Any) -> tuple[Any, Any]:
    """Return the plan, and the exact numbers of all columns in one place."""
    rows, target = make_rows(model)
    plan, sums = federation._plan([module._read_outline(federation._make_model(), one) for one in federation.parties])
    held = ExactSums(sums.request, read_spec(sums.request).kinds)
    values = rows[:, [place for columns in split for place in columns]]
    if model.learns == "number":
        held.add(np.column_stack([values, target]))
    elif model.learns == "classes":
        held.add(values, np.searchsorted(np.array(model.classes), target))
    else:
        held.add(values)
    return plan, held.combine()


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", MODELS)
def test_the_total_is_the_exact_sum_and_the_shares_of_the_noise(name: str, split: str, monkeypatch: Any) -> None:
    model, columns, seen = MODELS[name], SPLITS[split], []
    add = round_module.add_products

    def keep(*given: Any) -> Any:
        seen.append(add(*given))
        return seen[-1]

    monkeypatch.setattr(module, "add_products", keep)
    federation = federate(model, columns)
    fitted = federation.run()
    plan, exact = sum_exactly(federation, columns, model)
    sources, noise = PartySources(Seeded(7)), np.zeros(plan.width, dtype=object)
    for party in federation.names:
        source = sources.get(party, 1)
        source.words(4)  # its key
        noise += plan.shares.draw(plan.width, source)
    assert seen[0].total.tolist() == (exact.astype(object) + noise).tolist()
    assert fitted.event_ == federation.preview().event == plan.event
    assert fitted.n_features_in_ == 4


@pytest.mark.parametrize(("assumed", "fits"), [(1.0, True), (1.21, False)])  # the mutant's scale is off by a tenth
def test_the_total_has_one_noise(*, assumed: float, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model, columns, seen = MODELS["line"], SPLITS["one each"], []
    add = round_module.add_products

    def keep(*given: Any) -> Any:
        seen.append(add(*given))
        return seen[-1]

    monkeypatch.setattr(module, "add_products", keep)
    exact: Any = None
    for seed in range(150):
        federation = federate(model, columns, source=Seeded(seed), colluders=2)
        federation.run()
        if exact is None:
            plan, exact = sum_exactly(federation, columns, model)
    variance = float(plan.find_spread(4) * plan.inner.noise.variance)
    assert variance == pytest.approx(2 * float(plan.inner.noise.variance))  # four shares, of which two are enough
    noise = np.concatenate([(one.total.astype(object) - exact).astype(np.float64) for one in seen])
    values = noise / (variance * assumed) ** 0.5
    below = stats.chi2(len(values)).cdf(float(values @ values))
    close = stats.kstest(values, stats.norm.cdf).pvalue > 1e-7
    assert bool(close and 1e-7 < below < 1 - 1e-7) is fits


def test_models_are_good_and_have_their_price(tmp_path: Any) -> None:
    rows, target = make_rows(MODELS["line"], 4000)
    budget = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-4", adjacency=ReplaceOne))
    federation = VerticalFederation(
        parties={"tax office": rows[:, :2], "bank": rows[:, 2:], "registry": (None, target)},
        estimator=MODELS["line"], epsilon=3, delta="1e-5", budget=budget,
    )  # fmt: skip
    preview = federation.preview()
    assert not list(budget.history)
    model = federation.run()
    assert model.score(rows, target) > 0.95
    assert model.guarantee_ == preview.guarantee == cl.ApproxDP(epsilon=3, delta="1e-5", adjacency=ReplaceOne)
    assert best(model.event_, "1e-5").guarantee.epsilon <= 3
    assert [(one.kind, one.state) for one in budget.history] == [("federated", "committed")]
    assert model.history_[0]["bytes"] == preview.bytes_sent
    assert preview.noise_ratio == pytest.approx((3 / 2) ** 0.5, rel=1e-6)
    model.save(tmp_path / "model.json")
    kept = load(tmp_path / "model.json")
    assert np.array_equal(kept.coef_, model.coef_)
    assert "any 1 of the parties, but not both together" in kept.card()
    labels = np.where(target > np.median(target), "yes", "no")
    classes = VerticalFederation(
        parties=[cl.federated.Party("a", rows[:, :3], labels), cl.federated.Party("b", rows[:, 3:])],
        estimator=MODELS["two classes"], rho="0.5",
    ).run()  # fmt: skip
    assert classes.score(rows, labels) > 0.85


def test_names_of_columns_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, target = make_rows(MODELS["line"])
    frames = {"a": pd.DataFrame(rows[:, :2], columns=["u", "v"]), "b": (pl.DataFrame(rows[:, 2:], ["w", "x"]), target)}
    given: dict[str, Any] = {"epsilon": 3, "delta": "1e-5", "source": Seeded(7)}
    bounds = {name: cl.Real(low, high) for name, low, high in zip("uvwx", *BOUNDS, strict=True)}
    named = VerticalFederation(parties=frames, estimator=LinearRegression(bounds=bounds, bounds_y=(-12, 12)), **given)
    assert named.preview().features == 4
    model = named.run()
    assert model.feature_names_in_.tolist() == ["u", "v", "w", "x"]
    assert (
        np.array_equal(model.coef_, federate(MODELS["line"], ([0, 1], [2, 3])).run().coef_) is False
    )  # other party names
    monkeypatch.setattr(NeededSums, "read_columns", None)
    assert named.preview().features == 4  # no column is read


def test_what_is_wrong_is_named_and_nothing_is_spent() -> None:
    line, (rows, target) = MODELS["line"], make_rows(MODELS["line"])
    budget = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-4", adjacency=ReplaceOne))
    good: dict[str, Any] = {"a": rows[:, :2], "b": (rows[:, 2:], target)}

    def fit(parties: Any = good, estimator: Any = line, **given: Any) -> Any:
        defaults: dict[str, Any] = {"epsilon": 3, "delta": "1e-5", "budget": budget}
        return VerticalFederation(parties=parties, estimator=estimator, **(defaults | given)).run()

    spoiled = rows[:, 2:].copy()
    spoiled[5, 1] = np.nan
    two = LogisticRegression(bounds=BOUNDS, classes=["no", "yes"], method="functional")
    labels = np.where(target > 0, "yes", "no")
    named = [pd.DataFrame(rows[:, :2], columns=["u", "v"]), pd.DataFrame(rows[:, 2:], columns=["v", "w"])]
    features, classed = {"a": rows[:, :2], "b": rows[:, 2:]}, {"a": rows[:, :2], "b": (rows[:, 2:], labels)}
    doubtful = {"a": rows[:, :2], "b": (rows[:, 2:], np.where(target > 0, "yes", "maybe"))}
    classless = LogisticRegression(bounds=BOUNDS, method="functional")
    bad: list[tuple[Any, str]] = [
        (lambda: fit(features), "0 parties have a target"),
        (lambda: fit({"a": (rows[:, :2], target), "b": (rows[:, 2:], target)}), "2 parties have a target"),
        (lambda: fit(good, MODELS["components"]), "1 parties have a target"),
        (lambda: fit({"a": rows[:-1, :2], "b": (rows[:, 2:], target)}), "same persons"),
        (lambda: fit({"a": rows[:, :2], "b": (spoiled, target)}), "'b'"),
        (lambda: fit({"a": rows[:, :2], "b": (rows[:, 2:], target[:-1])}), "'b'"),
        (lambda: fit({"a": rows[:, :1], "b": (rows[:, 2:], target)}), "bounds"),
        (lambda: fit({"a": rows, "b": (None, None)}), "0 parties"),
        (lambda: fit({"a": None, "b": (rows, target)}), "elsewhere"),
        (lambda: fit({"a": (None, target)}), "2"),
        (lambda: fit(delta=None), "delta"),
        (lambda: fit(epsilon=None), "epsilon"),
        (lambda: fit(colluders=2), "nobody is left"),
        (lambda: fit(colluders=0), "colluders"),
        (lambda: fit(features, StandardScaler(bounds=BOUNDS)), "products"),
        (lambda: fit(classed, GaussianNB(bounds=BOUNDS, classes=["no", "yes"])), "products"),
        (lambda: fit(classed, CategoricalNB(classes=["no", "yes"])), "categories"),
        (lambda: fit(estimator=3), "int"),
        (lambda: fit(doubtful, two), "label"),
        (lambda: fit(classed, classless), "classes"),
        (lambda: VerticalFederation(parties=classed, estimator=classless, rho=1).preview(), "classes"),
        (lambda: fit(estimator=LinearRegression(bounds=BOUNDS, bounds_y=(-12, 12), method="adassp")), "several noises"),
        (lambda: fit({"a": rows, "b": (None, 3.0)}), "'b'"),
        (lambda: fit({"a": named[0], "b": (named[1], target)}), "'v'"),
        (lambda: fit(budget=InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-4"))), "AddRemove"),
    ]
    for act, words in bad:
        with pytest.raises(CelosiaError, match=words):
            act()
    assert not list(budget.history)
    with pytest.raises(ParameterError, match="products"):
        VerticalFederation(
            parties={"a": rows[:, :2], "b": rows[:, 2:]},
            estimator=StandardScaler(bounds=BOUNDS),
            epsilon=1,
            delta="1e-5",
        ).preview()


def test_more_persons_than_sums_have_room_for_are_refused_before_paying(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-4", adjacency=ReplaceOne))
    longest = 2**36  # about what a row of a line is summed as
    monkeypatch.setattr(module, "_MAX_SUM", 299 * longest)
    federation = federate(MODELS["line"], budget=budget, source=None)
    for act in (federation.preview, federation.run):
        with pytest.raises(CelosiaError, match="rows"):
            act()
    assert not list(budget.history)
    monkeypatch.setattr(module, "_MAX_SUM", 2**61)
    assert "values" not in repr(module._read_columns(federation._make_model(), federation.parties[0]))
    federation.run()


def test_the_server_sees_uniform_words_that_add_up() -> None:
    federation = federate(MODELS["line"])
    read = [module._read_columns(federation._make_model(), one) for one in federation.parties]
    _, sums = federation._plan([one.outline for one in read])
    sent: list[Any] = []
    for seed in (1, 2):
        columns = [sums.read_columns(number, one.table, one.codes) for number, one in enumerate(read)]
        parties = [
            round_module.ColumnParty(sums, number, own, Seeded(seed * 10 + number))
            for number, own in enumerate(columns)
        ]
        none = np.zeros(sums.request.width, dtype=np.int64)
        found = round_module.add_products(parties, [none] * 2, Seeded(seed))
        sent.append((found.total, [party.send_total(none) for party in parties]))
    assert np.array_equal(sent[0][0], sent[1][0])
    for place in range(2):
        assert not (sent[0][1][place] == sent[1][1][place]).any()  # other pads and masks: every word differs
    assert np.array_equal((sent[0][1][0] + sent[0][1][1]).view(np.int64), sent[0][0])
