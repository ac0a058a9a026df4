"""Rows of tables in memory: clean, within the bounds, and trained on as the same arrays."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core import CelosiaError, EngineError, ReplaceOne
from celosia.federated import SGD, ClientLevel, Federation, Gossip, Graph, Masks, Party, Proximal
from celosia.federated.checkpoint import Checkpoint
from celosia.federated.parties.columns import choose_columns
from celosia.federated.updates.table_rows import read_tables
from celosia.learn import LinearRegression, LogisticRegression
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from celosia.query.engines.base import Engine
from celosia.query.engines.ibis import IbisEngine
from tests.query.engines.test_postgres import uploaded

FILLED = cl.Schema(
    age=cl.Integer(0, 120, null=40),
    visits=cl.Integer(0, 20, null=0),
    cost=cl.Integer(0, 500, null=0),
    ill=cl.Boolean(null=False),
    sex=cl.Category("F", "M", null="F"),
)
DROPPED = cl.Schema(age=cl.Integer(0, 120), visits=cl.Integer(0, 20), cost=cl.Integer(0, 500))
LINE: Any = SGD(estimator=LinearRegression(), records=40)


def make_frame(seed: int, *, holes: bool = False, rows: int = 40) -> pa.Table:
    rng = np.random.default_rng(seed)
    age, visits = rng.integers(-5, 130, rows), rng.integers(0, 25, rows)
    columns: dict[str, Any] = {
        "age": age,
        "visits": visits,
        "cost": 3 * age + 4 * visits,
        "ill": visits > 10,
        "sex": np.where(visits > 10, "M", "F"),
    }
    gone = rng.random((len(columns), rows)) < (0.2 if holes else 0)
    return pa.table({name: pa.array(value, mask=gone[place]) for place, (name, value) in enumerate(columns.items())})


def make_tables(schema: cl.Schema = FILLED, *, holes: bool = False, **given: Any) -> list[Party]:
    found = []
    for seed, name in enumerate(("a", "b", "c")):
        frame = make_frame(seed, holes=holes)
        found.append(Party(name, cl.table(frame, schema=schema, name="visits", **given), records=frame.num_rows))
    return found


def make_arrays(target: str) -> list[Party]:
    """Return the same rows in memory."""
    found = []
    for seed, name in enumerate(("a", "b", "c")):
        frame = make_frame(seed).to_pandas()
        found.append(Party(name, frame[["age", "visits"]], frame[target], records=len(frame)))
    return found


def federate(parties: Any, update: Any, **given: Any) -> Federation:
    defaults: dict[str, Any] = {
        "features": ["age", "visits"],
        "target": "cost",
        "epsilon": 4,
        "delta": "1e-5",
        "rounds": 4,
        "source": Seeded(7),
    }
    return Federation(parties=parties, update=update, **(defaults | given))


def make_updates(estimator: Any) -> list[tuple[Any, dict[str, Any]]]:
    return [
        (SGD(estimator=estimator, records=40), {}),
        (SGD(estimator=estimator, records=40, steps=2, sampling_rate="0.5"), {}),
        (SGD(estimator=estimator, records=40), {"masks": Masks()}),
        (SGD(estimator=estimator, records=40), {"topology": Gossip(weights=Graph([("a", "b"), ("b", "c")]))}),
        (SGD(estimator=estimator), {"level": ClientLevel(clip="0.5")}),
        (SGD(estimator=estimator), {"adjacency": "replace-one"}),
        (Proximal(estimator=estimator, mu="0.1"), {"adjacency": "replace-one"}),
    ]


@pytest.mark.parametrize("target", ["cost", "ill", "sex"])
def test_tables_are_trained_on_as_the_same_arrays(target: str) -> None:
    bounds = {"bounds": cl.Schema(age=FILLED["age"], visits=FILLED["visits"])}
    known: Any = LinearRegression(**bounds, bounds_y=FILLED["cost"])  # type: ignore[arg-type] # by name
    plain: Any = LinearRegression()
    if target != "cost":
        known, plain = LogisticRegression(**bounds, classes=list(FILLED[target].domain() or ())), LogisticRegression()  # type: ignore[arg-type] # by name
    for (update, given), (same, _) in zip(make_updates(plain), make_updates(known), strict=True):
        tables = make_tables(adjacency=cl.AddRemove if given.get("adjacency") is None else ReplaceOne)
        federation = federate(tables, update, target=target, **given)
        arrays = federate(make_arrays(target), same, **(given | {"features": None, "target": None}))
        preview, model, wanted = federation.preview(), federation.run(), arrays.run()
        assert preview.event == model.event_ == wanted.event_
        assert preview.noise_scale == arrays.preview().noise_scale
        assert np.allclose(model.coef_, wanted.coef_, rtol=1e-12, atol=1e-14)  # sums of doubles may differ in order
        features = make_arrays(target)[0].X
        if target != "cost":
            assert model.classes_.tolist() == wanted.classes_.tolist()
            assert np.array_equal(model.predict(features), wanted.predict(features))


def read(schema: cl.Schema, frame: pa.Table, *, url: str | None = None, names: Any = None) -> tuple[Any, Any]:
    """Return the rows that a party reads of its table."""
    table = cl.table(frame, schema=schema, name="visits")
    if url is not None:
        there = uploaded(url, table)
        table = dataclasses.replace(there, name=there.source.table)  # type: ignore[union-attr] # in a database
    [*features, target] = names or schema
    (party,) = choose_columns((Party("a", table),), features, target)
    estimator = LinearRegression() if schema[target].axis is not None else LogisticRegression()
    with contextlib.ExitStack() as opened:
        _, (held,) = read_tables(estimator, (party.open(opened),))
        return held.X, held.y


def check_rows(url: str | None) -> None:
    schema = cl.Schema(
        x=cl.Real(-1, 1, grid="0.25"),
        n=cl.Integer(0, 9, null=5),
        b=cl.Boolean(),
        k=cl.Category(3, 7),
        s=cl.Category("u", "v", null="v"),
    )
    frame = pa.table(
        {
            "x": pa.array([0.3, float("nan"), 1e300, -5.0, 0.0, None, 0.5, 0.5], pa.float64()),
            "n": pa.array([12, 3, None, 4, 2, 1, 1, 1], pa.int64()),
            "b": pa.array([True, True, False, True, None, True, True, False], pa.bool_()),
            "k": pa.array([3, 7, 7, 3, 3, 7, 4, None], pa.int64()),
            "s": pa.array(["u", "u", "w", None, "u", "v", "v", "v"], pa.string()),
        }
    )
    features, labels = read(schema, frame, url=url, names=["x", "n", "b", "s"])
    rows = sorted(zip(*(features.column(name).to_pylist() for name in ("x", "n", "b")), labels, strict=True))
    assert rows == [
        (-1.0, 4.0, 1.0, "v"),
        (0.25, 9.0, 1.0, "u"),
        (0.5, 1.0, 0.0, "v"),
        (0.5, 1.0, 1.0, "v"),
        (1.0, 5.0, 0.0, "v"),
    ]
    _, codes = read(schema, frame, url=url, names=["n", "k"])
    assert sorted(codes.tolist()) == [3, 3, 3, 7, 7, 7]
    nulls = pa.Table.from_pylist([dict.fromkeys(schema)], schema=frame.schema)
    nothing, none = read(schema, nulls, url=url, names=["x", "n"])
    assert (len(nothing), none.tolist(), none.dtype) == (0, [], np.dtype(np.float64))


def test_rows_are_clean_and_within_the_bounds() -> None:
    check_rows(None)


def test_rows_of_postgres_are_the_same(postgres: str) -> None:
    check_rows(postgres)


def test_days_are_numbers() -> None:
    schema = cl.Schema(day=cl.Date("2021-01-01", "2021-01-11", null=dt.date(2021, 1, 1)), cost=cl.Real(0, 10, null=0))
    days = [dt.date(2021, 1, 1) + dt.timedelta(day) for day in range(11)] * 20
    frame = pa.table({"day": days, "cost": [float(day.day) - 1 for day in days]})
    parties = {name: cl.table(frame, schema=schema, name="t") for name in ("a", "b")}
    model = federate(
        parties, SGD(estimator=LinearRegression(), records=220), features=["day"], epsilon=50, rounds=40
    ).run()
    assert model.coef_ == pytest.approx([1], abs=0.1)


def test_how_many_rows_were_dropped_is_not_told() -> None:
    tables = make_tables(DROPPED, holes=True)
    model = federate(tables, LINE).run()  # under add-remove, where the number is private anyway
    assert model.history_[0]["rejected"] == {}
    replaced = make_tables(DROPPED, holes=True, adjacency=ReplaceOne)
    for update in (LINE, Proximal(estimator=LinearRegression(), mu="0.1")):
        for act in ("preview", "run"):
            with pytest.raises(CelosiaError, match="number of rows that count is private"):
                getattr(federate(replaced, update), act)()


def test_what_cannot_be_trained_on_is_refused_and_nothing_is_spent() -> None:
    person = make_tables(
        person="sex",
        schema=cl.Schema({name: FILLED[name] for name in ("age", "visits", "cost")}),
        max_groups_per_person=1,
        max_rows_per_group=1,
    )
    unstated = {one.name: one.X for one in make_tables(adjacency=ReplaceOne)}
    wrong = [dataclasses.replace(one, records=41) for one in make_tables(adjacency=ReplaceOne)]
    proximal = Proximal(estimator=LinearRegression(), mu="0.1")
    classes = SGD(estimator=LogisticRegression(), records=40)
    bad: list[tuple[Any, Any, dict[str, Any], str]] = [
        (person, LINE, {}, "Gradients protect single rows"),
        (person, proximal, {}, "Gradients protect single rows"),
        (person, LINE, {"level": ClientLevel(clip=1)}, "Gradients protect single rows"),
        (unstated, proximal, {}, "how many records party 'a' has"),
        (unstated, LINE, {}, "how many records party 'a' has"),
        (wrong, proximal, {}, "stated to have 41 records"),
        (make_tables(), proximal, {}, "replace-one"),
        (make_tables(), LINE, {"adjacency": "replace-one"}, "add-remove"),
        (make_tables(), LINE, {"target": None}, "target"),
        (make_tables(), LINE, {"features": ["sex"]}, "number"),
        (make_tables(), LINE, {"target": "sex"}, "number"),
        (make_tables(), classes, {"target": "cost", "features": ["age"]}, "two classes"),
        (make_tables(), SGD(estimator=LinearRegression(bounds=(0, 1)), records=9), {}, "leave bounds= out"),
        (make_tables(), SGD(estimator=LogisticRegression(classes=["F", "X"]), records=9), {"target": "sex"}, "classes"),
    ]
    for parties, update, given, words in bad:
        with pytest.raises(CelosiaError, match=words):
            federate(parties, update, **given).run()
        if words != "stated to have 41 records":  # all else is found without reading
            with pytest.raises(CelosiaError, match=words):
                federate(parties, update, **given).preview()
    budget = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-5", adjacency=ReplaceOne))
    with pytest.raises(CelosiaError, match="budget is for neighbours"):
        federate(make_tables(), LINE, budget=budget).run()
    with pytest.raises(CelosiaError, match="stated to have 41"):
        federate(wrong, proximal, budget=budget).run()
    assert not budget.history


def test_an_engine_that_gives_no_rows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(IbisEngine, "read_rows")
    assert IbisEngine.read_rows is Engine.read_rows
    with pytest.raises(EngineError, match="party 'a' cannot be used: This engine hands out sums"):
        federate(make_tables(), LINE).run()


def test_a_checkpoint_of_other_columns_is_refused(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "progress.json"
    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "remove", lambda _: None)
        federate(make_tables(), LINE).run(file)
    federate(make_tables(), LINE)
    with pytest.raises(CelosiaError, match="another training"):
        federate(make_tables(), LINE, features=["age", "ill"]).run(file)
    with pytest.raises(CelosiaError, match="another training"):
        federate(make_tables(), LINE, features=["age", "cost"], target="visits").run(file)
    other = cl.Schema({name: FILLED[name] for name in ("visits", "cost")} | {"age": cl.Integer(0, 121, null=40)})
    with pytest.raises(CelosiaError, match="another training"):
        federate(make_tables(other), LINE).run(file)
    assert federate(make_tables(), LINE).run(file).history_
