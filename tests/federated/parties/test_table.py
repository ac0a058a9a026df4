"""Parties whose records are in tables: engines sum the same integers as arrays, priced as in a session."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import celosia as cl
from celosia.core import CelosiaError, EngineError, InputError, ReplaceOne
from celosia.data.sources.classify import SparkSource
from celosia.federated import Federation, Masks, OneShot, Party, TrimmedMean
from celosia.federated.parties.table import PartyTable
from celosia.learn import PCA, CategoricalNB, GaussianNB, LinearRegression, Ridge, StandardScaler, load
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from celosia.query.answering.fitting import Fitting
from tests.query.engines.test_postgres import uploaded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from celosia.data.table import Table

    Place = Callable[[Table], Table]

SCHEMA = cl.Schema(
    age=cl.Integer(0, 120),
    income=cl.Real(0, 100),
    debt=cl.Real(-50, 300, null=20),
    ill=cl.Boolean(),
    sex=cl.Category("F", "M"),
    ward=cl.Category(1, 2, 3, null=2),
)
NUMBERS = ["age", "income"]
ESTIMATORS: dict[str, tuple[Any, list[str], str | None]] = {
    "line": (LinearRegression, NUMBERS, "debt"),
    "ridge": (Ridge, NUMBERS, "debt"),
    "scaler": (StandardScaler, NUMBERS, None),
    "components": (PCA, NUMBERS, None),
    "Bayes": (GaussianNB, NUMBERS, "ill"),
    "texts": (GaussianNB, NUMBERS, "sex"),
    "categories": (CategoricalNB, ["sex", "ward"], "ill"),
}
WAYS: dict[str, dict[str, Any]] = {
    "pure": {"delta": None},
    "rho": {"epsilon": None, "delta": None, "rho": 2},
    "masks": {"masks": Masks()},
    "rule": {"combine": TrimmedMean(1)},
}


def make_frame(rows: int, seed: int, *, holes: bool = False) -> pa.Table:
    """Return rows, some beyond the bounds; with holes, also rows without a value."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(-10, 140, rows), rng.uniform(-10, 120, rows)
    columns: dict[str, Any] = {
        "age": age,
        "income": income,
        "debt": 2 * income - age + rng.normal(size=rows),
        "ill": income > 50,
        "sex": np.where(rng.random(rows) < 0.5, "F", "M"),
        "ward": rng.integers(1, 4, rows),
        "who": rng.integers(0, max(rows // 3, 1), rows),
    }
    gone = rng.random((len(columns), rows)) < (0.1 if holes else 0)
    frame = {name: pa.array(values, mask=gone[place]) for place, (name, values) in enumerate(columns.items())}
    return pa.table(frame | {"who": pa.array(columns["who"])})


def make_tables(frames: dict[str, pa.Table], place: Place = lambda table: table, **given: Any) -> dict[str, Table]:
    return {
        name: place(cl.table(frame, schema=SCHEMA, name=f"visits_{number}", **given))
        for number, (name, frame) in enumerate(frames.items())
    }


def make_frames(rows: int = 60, *, holes: bool = False) -> dict[str, pa.Table]:
    return {name: make_frame(rows + 9 * seed, seed, holes=holes) for seed, name in enumerate(("a", "b", "c"))}


def federate(parties: Any, estimator: Any, features: Any, target: Any, **given: Any) -> Federation:
    defaults: dict[str, Any] = {"epsilon": 2, "delta": "1e-5", "source": Seeded(7)}
    update = given.pop("update", None) or OneShot(estimator)
    return Federation(parties=parties, update=update, features=features, target=target, **(defaults | given))


def federate_arrays(frames: dict[str, pa.Table], name: str, **given: Any) -> Federation:
    """Return the federation of the same rows in memory, with the schema's bounds in the estimator."""
    kind, features, target = ESTIMATORS[name]
    bounds: dict[str, Any] = {"bounds": cl.Schema({column: SCHEMA[column] for column in features})}
    if target == "debt":
        bounds["bounds_y"] = SCHEMA["debt"]
    elif target is not None:
        bounds["classes"] = list(SCHEMA[target].domain() or ())
    parties = {party: frame.to_pandas() for party, frame in frames.items()}
    return federate(parties, kind(**bounds), features, target, **given)


def get_numbers(model: Any) -> dict[str, str]:
    """Return all numbers that were learned, to the last bit."""
    named = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "history_"}
    lists = {name: named.pop(name) for name in list(named) if isinstance(named[name], list)}
    named |= {f"{name}{place}": part for name, parts in lists.items() for place, part in enumerate(parts)}
    arrays = {name: np.asarray(value) for name, value in named.items() if isinstance(value, float | list | np.ndarray)}
    return {name: np.array2string(value, floatmode="unique") for name, value in arrays.items()}


def check_same_model(name: str, way: str, place: Place = lambda table: table, rows: int = 60) -> None:
    kind, features, target = ESTIMATORS[name]
    frames = make_frames(rows)
    federation = federate(make_tables(frames, place), kind(), features, target, **WAYS[way])
    preview, found = federation.preview(), federation.run()
    known = federate_arrays(frames, name, **WAYS[way]).run()
    assert preview.event == found.event_ == known.event_
    assert preview.guarantee == found.guarantee_ == known.guarantee_
    assert get_numbers(found) == get_numbers(known)
    assert found.feature_names_in_.tolist() == features
    if target is not None:
        frame = frames["a"].select(features).to_pandas()
        assert np.array_equal(found.predict(frame), known.predict(frame))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_duckdb_sums_what_arrays_hold(name: str) -> None:
    check_same_model(name, "pure")


@pytest.mark.parametrize("way", ["rho", "masks", "rule"])
def test_tables_are_trained_on_in_every_way(way: str) -> None:
    for name in ("line", "Bayes"):
        check_same_model(name, way)


@pytest.mark.parametrize("name", ["line", "categories"])
def test_postgres_sums_what_arrays_hold(name: str, postgres: str) -> None:
    def place(table: Table) -> Table:
        there = uploaded(postgres, table)
        return dataclasses.replace(there, name=there.source.table)  # type: ignore[union-attr] # in a database

    check_same_model(name, "pure", place, rows=20)


@pytest.mark.needs_java
@pytest.mark.xdist_group("spark")
def test_spark_sums_what_arrays_hold(spark: Any) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        check_same_model(
            "scaler",
            "pure",
            lambda table: dataclasses.replace(table, source=SparkSource(spark.createDataFrame(table.source.frame))),  # type: ignore[union-attr] # a frame
            rows=10,
        )


def test_values_that_are_missing_follow_the_schema(tmp_path: Path) -> None:
    frames = make_frames(holes=True)
    files = {}
    for name, frame in frames.items():
        pq.write_table(frame, tmp_path / f"{name}.parquet")
        files[name] = cl.table(str(tmp_path / f"{name}.parquet"), schema=SCHEMA, name="visits")
    clean = {}
    for name, frame in frames.items():
        kept = frame.to_pandas().dropna(subset=NUMBERS)
        clean[name] = pa.Table.from_pandas(kept.assign(debt=kept["debt"].fillna(20)), preserve_index=False)
    model = federate(files, LinearRegression(), NUMBERS, "debt").run()
    known = federate_arrays(clean, "line").run()
    assert np.array_equal(model.coef_, known.coef_)
    assert model.provenance_["schema"] == PartyTable(table=files["a"], features=(*NUMBERS, "debt")).describe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model with seeded noise is stored with a warning
        model.save(tmp_path / "model.json")
    assert np.array_equal(load(tmp_path / "model.json").coef_, model.coef_)


# -------------------------------------------------------------------------------------------------- before it is paid


def test_a_preview_opens_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(make_frame(20, 1), tmp_path / "a.parquet")
    table = cl.table(str(tmp_path / "a.parquet"), schema=SCHEMA, name="visits")
    budget = InMemoryBudget(cl.PureDP(epsilon=2))
    federation = federate({"a": table, "b": table}, Ridge(), NUMBERS, "debt", delta=None, budget=budget)
    (tmp_path / "a.parquet").write_bytes(b"no table")
    with monkeypatch.context() as patched:
        patched.setattr(PartyTable, "open", lambda _: 1 / 0)
        assert federation.preview().guarantee == cl.PureDP(epsilon=2)
    with pytest.raises((InputError, EngineError), match="party 'a' cannot be used"):
        federation.run()
    assert not budget.history


def test_sums_are_read_after_they_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5"))
    states: list[list[str]] = []

    def watch(fitting: Fitting, *given: Any) -> Any:
        states.append([one.state for one in budget.history])
        return read_sums(fitting, *given)

    read_sums = Fitting.read_sums
    monkeypatch.setattr(Fitting, "read_sums", watch)
    federation = federate(make_tables(make_frames()), LinearRegression(), NUMBERS, "debt", budget=budget)
    federation.preview()
    federation.plan()
    assert not states
    federation.run()
    assert states == [["reserved"]] * 3
    assert [one.state for one in budget.history] == ["committed"]


def test_tables_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(PartyTable, "close", lambda table: closed.append(table.table.name))
    federation = federate(make_tables(make_frames()), StandardScaler(), NUMBERS, None)
    federation.run()
    assert sorted(closed) == ["visits_0", "visits_1", "visits_2"]
    closed.clear()
    monkeypatch.setattr(Fitting, "read_sums", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        federation.run()
    assert len(closed) == 3


def test_a_session_or_a_ledger_pays() -> None:
    frames = make_frames()
    tables = make_tables(frames)
    session = cl.Session(tables["a"], budget=cl.PureDP(epsilon=3))
    model = federate(tables, Ridge(), NUMBERS, "debt", delta=None, budget=session, source=None).run()
    assert session.spent == model.guarantee_ == cl.PureDP(epsilon=2)
    ledger = cl.open_ledger("memory://")
    ledger.set_budget(cl.ZCDP(rho=1), dataset="visits")
    account = ledger.account("visits")
    federate(tables, Ridge(), NUMBERS, "debt", epsilon=None, delta=None, rho="0.4", budget=account, source=None).run()
    assert account.spent == cl.ZCDP(rho="0.4")


# --------------------------------------------------------------------------------------------------- persons and rows

PERSON: dict[str, Any] = {"person": "who", "max_groups_per_person": 2, "max_rows_per_group": 2}


@pytest.mark.parametrize("adjacency", [cl.AddRemove, ReplaceOne])
@pytest.mark.parametrize("name", ["line", "Bayes"])
def test_persons_are_priced_as_in_a_session(name: str, adjacency: Any) -> None:
    kind, features, target = ESTIMATORS[name]
    for given in ({}, PERSON):
        tables = make_tables(make_frames(holes=True), adjacency=adjacency, **given)
        session = cl.Session(tables["a"], budget=cl.ApproxDP(epsilon=9, delta="1e-4"))
        wanted = session.plan_fit(kind(epsilon=2, delta="1e-5"), features, target)
        budget = InMemoryBudget(session.budget)
        federation = federate(tables, kind(), features, target, budget=budget)
        preview, model = federation.preview(), federation.run()
        assert preview.event == model.event_ == wanted.request.event
        assert model.guarantee_ == wanted.request.guarantee
        assert isinstance(budget.spent, cl.ApproxDP)
        assert (float(budget.spent.epsilon), budget.spent.unit) == (2.0, tables["a"].unit)
        assert model.guarantee_.unit == ("person" if given else "row")
        assert ("Guarantee for every person, with all" in str(preview)) is bool(given)


ROWS: list[dict[str, Any]] = [
    {"who": 7, "age": age, "income": income, "ill": ill}
    for age, income, ill in itertools.product((0, 120, None), (0.0, 100.0), (True, None))
]


def sum_rows(kind: Any, target: str | None, rows: list[list[dict[str, Any]]], **given: Any) -> tuple[Any, list[Any]]:
    """Return the plan and the exact sums of one party, for each of several versions of its rows."""
    types = pa.schema([("who", pa.int64()), ("age", pa.int64()), ("income", pa.float64()), ("ill", pa.bool_())])
    schema = cl.Schema({name: SCHEMA[name] for name in ("age", "income", "ill")})
    found, plan = [], None
    for one in rows:
        table = cl.table(pa.Table.from_pylist(one, schema=types), schema=schema, name="visits", **given)
        federation = federate({"a": table, "b": table}, kind(), NUMBERS, target, delta=None)
        plan = federation.plan()
        (numbers,) = plan.compute(("a",), plan.start(), [Seeded(1)])
        assert numbers is not None
        found.append(numbers.astype(object))
    return plan, found


@pytest.mark.parametrize("given", [{}, PERSON, PERSON | {"max_rows_per_group": 1}], ids=["rows", "persons", "one row"])
@pytest.mark.parametrize("adjacency", [cl.AddRemove, ReplaceOne])
@pytest.mark.parametrize(("kind", "target"), [(StandardScaler, None), (GaussianNB, "ill")])
def test_no_unit_moves_the_sums_more_than_is_paid_for(kind: Any, target: Any, adjacency: Any, given: Any) -> None:
    others: list[dict[str, Any]] = [
        {"who": 1, "age": 50, "income": 7.0, "ill": True},
        {"who": 2, "age": None, "income": 3.0, "ill": False},
    ]
    if given:  # all rows of one person, at the corners and together
        units: list[list[dict[str, Any]]] = [
            ROWS[:1],
            ROWS[1:3],
            ROWS[4:5] * 3,
            ROWS[6:8] + [ROWS[0] | {"ill": False}] * 3,
            ROWS,
        ]
    else:
        units = [[row] for row in ROWS]
    units = [[], *units] if adjacency is cl.AddRemove else units
    plan, found = sum_rows(kind, target, [others + rows for rows in units], adjacency=adjacency, **given)
    worst = 0
    for first, second in itertools.combinations(range(len(units)), 2):
        if adjacency is ReplaceOne or not units[first]:
            worst = max(worst, int(np.abs(found[first] - found[second]).sum()))
    assert 0 < worst <= plan.noise.event.sensitivity
    if not given and adjacency is cl.AddRemove:
        assert worst == plan.noise.event.sensitivity  # a row at the corner costs exactly that


# ------------------------------------------------------------------------------------------------------------ refused


def test_bad_tables_are_named_and_nothing_is_spent() -> None:
    frames = make_frames()
    tables = make_tables(frames)
    budget = InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5"))
    other = cl.Schema({name: SCHEMA[name] for name in NUMBERS} | {"debt": cl.Real(0, 300, null=20)})
    wrong = cl.table(pa.table({"age": ["x"], "income": [1.0], "debt": [2.0]}), schema=cl.Schema(age=SCHEMA["sex"]))
    differs = cl.table(frames["b"], schema=other, name="visits")
    public = cl.table(pa.table({"age": [1, 2], "income": [1.0, 2.0]}), public=True, key="age")
    person = make_tables(frames, **PERSON)
    replaced = make_tables(frames, adjacency=ReplaceOne)
    array = np.zeros((4, 2)), np.zeros(4)
    bad: list[tuple[dict[str, Any], str]] = [
        ({"features": None}, "party 'a' has a table: state"),
        ({"features": None, "target": None}, "party 'a' has a table: state"),
        ({"features": []}, "list of different columns"),
        ({"features": "age"}, "list of different columns"),
        ({"features": ["age", "age"]}, "list of different columns"),
        ({"features": ["debt"]}, "list of different columns"),
        ({"features": ["age", 3]}, "list of different columns"),
        ({"features": ["age", "who"]}, "party 'a' has no column 'who'"),
        ({"features": ["age"], "target": "dept"}, "party 'a' has no column 'dept'"),
        ({"target": None}, "learns from a target|target"),
        ({"parties": tables | {"b": wrong}}, "party 'b' has no column 'income'"),
        ({"parties": tables | {"b": differs}}, "party 'b' declares column 'debt' as Real.*'a' as Real"),
        ({"parties": tables | {"b": public}}, "table of party 'b' is public"),
        ({"parties": tables | {"b": person["b"]}}, "parties 'b' and 'a' protect differently"),
        ({"parties": tables | {"b": replaced["b"]}}, "parties 'b' and 'a' protect differently"),
        ({"parties": tables | {"b": array}}, "'a' has a table and party 'b' has not"),
        ({"parties": tables | {"b": frames["b"]}}, "'a' has a table and party 'b' has not"),
        ({"parties": [Party("a", tables["a"]), Party("b")]}, "'a' has a table and party 'b' has not"),
        ({"parties": tables | {"b": (tables["b"], array[1])}}, "party 'b' has a table.*leave y out"),
        ({"adjacency": "replace-one"}, 'adjacency="add-remove"'),
        ({"parties": person}, "budget is for neighbours by one .*person"),
        ({"parties": replaced}, "budget is for neighbours by one"),
        ({"estimator": Ridge(bounds=(0, 1))}, "schema of the table states the bounds"),
        ({"estimator": GaussianNB(), "target": "income", "features": ["age"]}, "target"),
        ({"epsilon": float("inf"), "delta": None}, "released with noise"),
    ]
    for given, words in bad:
        asked: dict[str, Any] = {"parties": tables, "estimator": Ridge(), "features": NUMBERS, "target": "debt"}
        with pytest.raises(CelosiaError, match=f"(?i){words}"):
            federate(**(asked | {"budget": budget} | given)).run()
    assert not budget.history
    days = pa.table({"age": pa.array([3], pa.date32()), "income": [1.0], "debt": [2.0]})
    unfit = cl.table(days, schema=cl.Schema({name: SCHEMA[name] for name in (*NUMBERS, "debt")}), name="days")
    federation = federate(tables | {"b": unfit}, Ridge(), NUMBERS, "debt", budget=budget)
    assert federation.preview().guarantee == budget.budget
    with pytest.raises(InputError, match=r"party 'b' cannot be used.*age"):
        federation.run()
    assert not budget.history
