"""A preview reads no record, and states what the training then costs: the same event, noise and width."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core import CelosiaError, InputError, ParameterError
from celosia.federated import SGD, ClientLevel, Federation, Graph, Masks, OneShot, Party, Proximal, TrimmedMean
from celosia.federated.parties.outline import Outline
from celosia.learn import PCA, CategoricalNB, GaussianNB, LinearRegression, LogisticRegression, StandardScaler
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

BOUNDS = (0, 10)
LINE = LinearRegression(bounds=BOUNDS, bounds_y=(-5, 45))
CLASSES = LogisticRegression(bounds=BOUNDS, classes=[False, True])
UPDATES: dict[str, tuple[Any, int]] = {
    "line": (OneShot(LINE), 1),
    "scaler": (OneShot(StandardScaler(bounds=BOUNDS)), 1),
    "components": (OneShot(PCA(n_components=1, bounds=BOUNDS)), 1),
    "Bayes": (OneShot(GaussianNB(bounds=BOUNDS, classes=[False, True])), 1),
    "SGD": (SGD(estimator=CLASSES, records=30), 3),
    "local steps": (SGD(estimator=LINE, records=30, steps=2, sampling_rate="0.5"), 3),
    "proximal": (Proximal(estimator=LINE, mu="0.2"), 3),
}
WAYS: dict[str, dict[str, Any]] = {
    "server": {},
    "replace-one": {"adjacency": "replace-one"},
    "rho": {"epsilon": None, "delta": None, "rho": "0.5"},
    "masks": {"masks": Masks()},
    "rule": {"combine": TrimmedMean(1)},
    "graph": {"topology": Graph([("a", "b"), ("b", "c")])},
    "masks on a graph": {"topology": Graph([("a", "b"), ("b", "c"), ("c", "a")]), "masks": Masks()},
    "whole parties": {"level": ClientLevel(clip="0.5"), "adjacency": "replace-one"},
}
FRAMES: dict[str, Any] = {
    "arrays": np.column_stack,
    "lists": lambda columns: np.column_stack(columns).tolist(),
    "pandas": lambda columns: pd.DataFrame({"one": columns[0], "two": columns[1]}),
    "polars": lambda columns: pl.DataFrame({"one": columns[0], "two": columns[1]}),
    "arrow": lambda columns: pa.table({"one": columns[0], "two": columns[1]}),
}


class Sealed:
    """Records that say how many they are and of which columns, and raise when they are read."""

    def __init__(self, records: Any) -> None:
        self._empty, self._rows = records[:0], len(records)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, place: object) -> Any:
        assert place == slice(0), "records were read"
        return self._empty

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __array__(self, *_: object, **__: object) -> Any:
        raise AssertionError("records were read")

    __iter__ = __array__


def make_records(update: Any, make: Any = FRAMES["arrays"], rows: int = 30) -> list[tuple[Any, Any]]:
    """Return the records of three parties."""
    found = []
    for place in range(3):
        rng = np.random.default_rng(place)
        columns = rng.uniform(0, 10, (2, rows + place))
        target = 3 * columns[0] + rng.normal(size=rows + place)
        learned = getattr(update.estimator, "learns", "number")
        kept: Any = None if learned == "features" else target > 15 if learned == "classes" else target
        found.append((make(columns), kept))
    return found


def federate(name: str, records: Any, way: str = "server", **given: Any) -> Federation:
    update, rounds = UPDATES[name]
    defaults: dict[str, Any] = {"epsilon": 4, "delta": "1e-5", "source": Seeded(7), "rounds": rounds, **WAYS[way]}
    parties = [Party(party, *one) for party, one in zip("abc", records, strict=True)]
    return Federation(**({"parties": parties, "update": update} | defaults | given))


def find_cost(plan: Any) -> dict[str, Any]:
    return {
        "event": plan.event.to_json(),
        "guarantee": plan.guarantee,
        "width": plan.width,
        "rounds": plan.rounds,
        "noise": plan.get_noise_scale(1.0),
        "bytes": plan.find_bytes(3),
        "state": plan.start().tolist(),
    }


def find_refusal(plan: Any) -> str | None:
    """Return why ways that do not go together are refused; None if they are not."""
    try:
        plan()
    except ParameterError as error:
        return error.code
    return None


def check_preview(name: str, make: Any, way: str) -> None:
    """Compare what is planned without reading with what is planned, and paid for, with the records."""
    federation = federate(name, make_records(UPDATES[name][0], make), way)
    refused = find_refusal(federation.plan)
    assert find_refusal(federation.preview) == refused  # from public facts
    if refused is not None:
        return
    planned = federation.plan()
    preview = federation.preview()
    withheld = replace(federation, parties=[one.withhold() for one in federation.parties]).plan()
    assert find_cost(withheld) == find_cost(planned)
    assert preview.event == planned.event
    assert preview.guarantee == planned.guarantee
    assert preview.noise_scale == planned.get_noise_scale(float(planned.find_spread(3)))
    assert not getattr(withheld, "sums", None)


@pytest.mark.parametrize("name", UPDATES)
def test_a_preview_states_what_the_training_costs(name: str) -> None:
    for way in WAYS:
        check_preview(name, FRAMES["arrays"], way)


@pytest.mark.parametrize("frame", FRAMES)
def test_all_records_have_an_outline(frame: str) -> None:
    for name in UPDATES:
        check_preview(name, FRAMES[frame], "replace-one")
    federation = federate("line", make_records(OneShot(LINE), FRAMES[frame]))
    assert federation.preview().event == federation.run().event_


@pytest.mark.parametrize("name", UPDATES)
def test_a_preview_reads_no_record(name: str) -> None:
    sealed = [
        (Sealed(features), None if target is None else Sealed(target))
        for features, target in make_records(UPDATES[name][0])
    ]
    for way in WAYS:
        known = federate(name, make_records(UPDATES[name][0]), way)
        if find_refusal(known.plan) is not None:
            continue
        wanted = known.plan()
        budget = None if way == "whole parties" else InMemoryBudget(wanted.guarantee)
        federation = federate(name, sealed, way, budget=budget)
        assert federation.preview().event == wanted.event
        if federation.topology is not None:
            federation.who_learns_what(delta="1e-5")
        with pytest.raises(InputError, match="party 'a' cannot be used"):
            federation.run()
        assert budget is None or not budget.history


@pytest.mark.parametrize("name", UPDATES)
def test_records_are_checked_before_they_are_paid_for(name: str) -> None:
    good = make_records(UPDATES[name][0])
    features, target = good[2]
    bad: list[tuple[Any, Any]] = [
        (features * np.nan, target),
        (features[:, :1], target),
        (features.astype(str).astype(object) + "x", target),
    ]
    if target is not None:
        bad += [(features, target[:-1]), (features, None)]
    for one in bad:
        way = "replace-one" if name == "proximal" else "server"
        plan = federate(name, good, way).plan()
        budget = InMemoryBudget(plan.guarantee)
        federation = federate(name, [*good[:2], one], way, budget=budget)
        assert federation.preview().event == plan.event
        with pytest.raises(InputError, match="party 'c' cannot be used"):
            federation.run()
        assert not budget.history
        federate(name, good, way, budget=budget).run()
        assert len(budget.history) == 1


def test_sums_are_computed_after_they_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-5"))
    states: list[list[str]] = []

    def watch(model: LinearRegression, *given: Any) -> Any:
        states.append([one.state for one in budget.history])
        return sum_records(model, *given)

    sum_records = LinearRegression.sum_records
    monkeypatch.setattr(LinearRegression, "sum_records", watch)
    federation = federate("line", make_records(OneShot(LINE)), budget=budget)
    federation.preview()
    federation.plan()
    assert not states
    federation.run()
    assert states == [["reserved"]] * 3


def test_how_many_records_there_are_is_used_where_it_is_public_only() -> None:
    few, many = (make_records(UPDATES["local steps"][0], rows=rows) for rows in (30, 300))
    stated = federate("local steps", few, adjacency="replace-one").preview()
    assert stated.event == federate("local steps", many, adjacency="replace-one").preview().event
    with pytest.raises(ParameterError, match="private under add-remove"):
        federate("SGD", few, update=SGD(estimator=CLASSES, moments=0)).preview()
    assert federate("SGD", few, update=SGD(estimator=CLASSES), adjacency="replace-one").preview().rounds == 3
    small, large = (federate("proximal", one).preview().noise_scale for one in (few, many))
    assert small != large


def test_classes_of_a_column_are_in_its_outline() -> None:
    features = np.random.default_rng(1).uniform(0, 10, (6, 2))
    labels = ["x", "y", "z", "x", "y", "z"]
    blocks = pa.chunked_array([pa.array(part).dictionary_encode() for part in (labels[:2], labels[2:])])
    columns: list[Any] = [
        pd.Series(labels, dtype="category", index=np.linspace(-3, 3, 6)),
        pl.Series(labels, dtype=pl.Enum(["x", "y", "z"])),
        pa.array(labels).dictionary_encode(),
        blocks,
    ]
    for column in columns:
        parties = {"a": (features, column), "b": (features, column)}
        bayes = OneShot(GaussianNB(bounds=(0, 10)))
        federation = Federation(parties=parties, update=bayes, epsilon=1, source=Seeded(1))
        assert federation.preview().event == federation.run().event_
    texts = [["a", "u"], ["b", "v"]] * 3
    categories = CategoricalNB(categories=[["a", "b"], ["u", "v"]], classes=["x", "y", "z"])
    for given in (texts, np.array(texts), pd.DataFrame(texts, columns=["k", "l"])):
        federation = Federation(
            parties={"a": (given, labels), "b": (given, np.array(labels, dtype=object))},
            update=OneShot(categories),
            epsilon=1,
            source=Seeded(1),
        )
        assert federation.preview().event == federation.run().event_


def test_what_has_no_columns_is_refused() -> None:
    for wrong in ([], [0.1, 0.2], 5, np.array(5.0), "records", {"one": [1.0]}, np.zeros((2, 2, 2))):
        with pytest.raises(CelosiaError):
            Federation(parties={"a": (wrong, [1.0]), "b": (wrong, [1.0])}, update=OneShot(LINE), epsilon=1).preview()
    outline = Outline.of(pd.DataFrame({"one": [1.0, 2.0]}, index=[-1.5, 0.5]), None)
    assert (len(outline.X), list(outline.X), outline.count) == (0, ["one"], 2)


def test_a_server_refuses_what_its_parties_refuse() -> None:
    """What a local step cannot certify follows from the numbers of records of all, held or not."""
    features = np.zeros((5, 1))
    update = Proximal(estimator=LinearRegression(bounds=([0], [1]), bounds_y=(0, 1)), mu=10)
    for parties in (
        [Party("a", records=5), Party("b", records=3 * 10**7)],
        [Party("a", features, features[:, 0]), Party("b", records=3 * 10**7)],
    ):
        with pytest.raises(ParameterError) as error:
            Federation(parties=parties, update=update, epsilon=1, delta="1e-6").preview()
        assert error.value.code == "federated.mu_too_small"
