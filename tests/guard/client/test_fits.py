"""A model that a guard fits is that of a session: the same numbers, the same errors, paid for once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import celosia as cl
from celosia import learn
from celosia.core.errors import (
    BudgetExceededError,
    CelosiaError,
    EngineError,
    FormatError,
    GuardUnreachableError,
    NotAllowedError,
    ParameterError,
    QueryError,
    RequestConflictError,
)
from celosia.guard.client.connection import Connection
from celosia.guard.client.transport import Transport
from celosia.guard.queries import fits
from celosia.guard.schema.requests import FitRequest
from celosia.ledger import Policy
from celosia.noise import Seeded
from celosia.query.answering.fitting import Fitting
from celosia.query.plan.expressions import Call, Column, Literal
from tests.guard.client.test_connection import OWNER, Losing, Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("guard fits")  # what is started for them is started once

SCHEMA = cl.Schema(
    age=cl.Integer(0, 120),
    weight=cl.Real(0, 200),
    sex=cl.Category("F", "M"),
    ward=cl.Category(1, 2, 3),
    ill=cl.Boolean(),
)
BUDGET = cl.ApproxDP(epsilon=50_000, delta="1e-3")
RIDGE: dict[str, Any] = {"dataset": "people", "model": "Ridge", "features": ["age"], "target": "weight"}


def people() -> pa.Table:
    random = np.random.default_rng(7)
    age = random.integers(20, 90, 1_000)
    return pa.table(
        {
            "age": age,
            "weight": 40 + age / 2 + random.normal(0, 5, 1_000),
            "sex": random.choice(["F", "M"], 1_000),
            "ward": random.choice([1, 2, 3], 1_000),
            "ill": random.random(1_000) < age / 100,
        }
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("fits")
    made = Served(folder)
    pq.write_table(people(), folder / "people.parquet")
    made.guard.add_dataset(OWNER, "people", str(folder / "people.parquet"), SCHEMA.to_toml())
    made.guard.set_budget(OWNER, Policy(limit=BUDGET, accountant="basic"), dataset="people")
    yield made
    made.close()


@pytest.fixture
def ana(served: Served) -> Iterator[Connection]:
    with served.connect("ana", "people") as connection:
        yield connection


def new_session(**options: Any) -> cl.Session:
    return cl.Session(cl.table(people(), schema=SCHEMA, name="people"), **({"budget": BUDGET} | options))


def spent(connection: Connection) -> Any:
    return connection.spent.epsilon  # type: ignore[attr-defined] # an ApproxDP


FITS: list[tuple[Any, list[str], str | None, str | None]] = [
    (learn.LinearRegression(epsilon=1000), ["age", "ill"], "weight", None),
    (learn.Ridge(epsilon="999.5", alpha=0.5, fit_intercept=False), ["age"], "weight", "age >= 30 AND sex = 'F'"),
    (learn.LogisticRegression(epsilon=1000, delta=1e-6), ["age"], "ill", None),
    (learn.GaussianNB(epsilon=1000, priors=np.array([0.25, 0.75])), ["age", "weight"], "sex", None),
    (learn.CategoricalNB(epsilon=1000, alpha=2, classes="public"), ["ward", "sex"], "ill", None),
    (learn.PCA(epsilon=1000, n_components=1), ["age", "weight"], None, "ward <> 2"),
    (learn.StandardScaler(epsilon=1000, with_std=False), ["age", "weight"], None, None),
]


def numbers_of(model: Any) -> dict[str, Any]:
    """The learned numbers of a model, but those that the noise alone decides."""
    kept = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return {name: value for name, value in kept.items() if name not in {"provenance_", "noisy_moments_"}}


def test_a_model_is_that_of_a_session(ana: Connection, monkeypatch: pytest.MonkeyPatch, *, thorough: bool) -> None:
    written: list[Any] = []
    write = fits._write_model
    monkeypatch.setattr(fits, "_write_model", lambda model: written.append(model) or write(model))  # type: ignore[func-returns-value]
    session = new_session()
    for estimator, features, target, where in FITS if thorough else FITS[1::2]:
        mine, theirs = clone(estimator), clone(estimator)
        before = spent(ana)
        assert ana.fit(mine, features, target, where=where) is mine
        session.fit(theirs, features, target, where=where)
        assert (mine.event_, mine.guarantee_, mine.seeded_) == (theirs.event_, theirs.guarantee_, False)
        assert spent(ana) - before == session.history[-1].cost.epsilon  # type: ignore[attr-defined]
        assert ana.history[-1].question == session.history[-1].question
        assert repr(mine) == repr(estimator)  # its parameters are as they were
        found, wanted = numbers_of(mine), numbers_of(theirs)
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            assert type(found[name]) is type(value), name
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                np.testing.assert_allclose(found[name], value, rtol=0.05, atol=0.05, err_msg=name)
        assert {name: mine.provenance_[name] for name in theirs.provenance_} == theirs.provenance_
        rows = people().select(features).slice(0, 50)
        [server] = written
        written.clear()
        for use in ("predict", "predict_proba", "transform"):
            if hasattr(mine, use):
                assert np.array_equal(getattr(mine, use)(rows), getattr(server, use)(rows)), use
                assert np.array_equal(getattr(mine, use)(rows), getattr(ana.model(ana.history[-1].id), use)(rows)), use


def test_a_fit_is_priced_by_the_kind_of_the_budget(ana: Connection) -> None:
    visits = ana.dataset("visits")
    scaler = visits.fit(learn.StandardScaler(rho="0.5"), ["cost"])
    assert scaler.guarantee_ == cl.ZCDP(rho="0.5", unit="person")
    assert visits.spent == visits.history[-1].cost == scaler.guarantee_
    line = visits.fit(learn.StandardScaler(epsilon=1, delta="1e-6"), ["cost"])
    assert line.guarantee_ == cl.ApproxDP(epsilon=1, delta="1e-6", unit="person")
    assert isinstance(visits.history[-1].cost, cl.ZCDP)
    reply = ana._transport.get(f"/v1/queries/{visits.history[-1].id}")
    assert reply["cost"] == json.loads(visits.history[-1].cost.to_json())


def test_only_the_specification_is_sent_and_only_noisy_numbers_come_back(served: Served) -> None:
    sent: list[Any] = []
    way = httpx.HTTPTransport()

    def keep(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content or b"null"))
        return way.handle_request(request)

    client = httpx.Client(transport=httpx.MockTransport(keep))
    connection = Connection(Transport(served.url, key=served.keys["ana"], client=client), dataset="people")
    older = Call(">", (Column("age"), Literal(50)))
    connection.fit(learn.GaussianNB(epsilon=0.5, var_smoothing=1e-8), ["age"], "sex", where=older)
    assert sent[-1] == {
        "dataset": "people",
        "model": "GaussianNB",
        "parameters": {"epsilon": "1/2", "var_smoothing": "1e-08"},
        "features": ["age"],
        "target": "sex",
        "table": "people",
        "where": "age > 50",
    }
    client.close()
    way.close()
    [answer] = [one for one in served.guard.ledger.reservations(analyst="ana") if one.question.endswith("age > 50")]
    stored = json.loads(served.guard.ledger.reservation(answer.id).answer)  # type: ignore[union-attr,arg-type]
    assert sorted(stored["learned"]) == [
        "class_count_", "class_prior_", "classes_", "epsilon_", "feature_names_in_", "n_features_in_", "noise_scale_",
        "seeded_", "theta_", "var_",
    ]  # fmt: skip
    assert not stored["parameters"].keys() & {"budget", "source"}
    assert served.guard.ledger.verify().ok


def test_a_fit_is_paid_for_once(served: Served, ana: Connection) -> None:
    before = spent(ana)
    first = ana.fit(learn.Ridge(epsilon=1), ["age"], "weight", key="my-fit")
    again = ana.fit(learn.Ridge(epsilon="1.0"), ["age"], "weight", key="my-fit")  # the same request, retried
    assert first.coef_ == again.coef_
    assert spent(ana) == before + 1
    for other in (learn.Ridge(epsilon=2), learn.LinearRegression(epsilon=1)):
        with pytest.raises(RequestConflictError):
            ana.fit(other, ["age"], "weight", key="my-fit")
    with pytest.raises(RequestConflictError):
        ana.release(ana.query().count().plan, epsilon=1, key="my-fit")
    repeated = ana.fit(learn.Ridge(), ["age"], "weight")  # another request for the same model
    assert repeated.coef_ == first.coef_
    assert (ana.history[-1].state, spent(ana)) == ("repeated", before + 1)
    way = Losing(["reply"])
    client = httpx.Client(transport=way)
    transport = Transport(served.url, key=served.keys["ana"], client=client, pause=lambda _: None)
    losing = Connection(transport, dataset="people")
    losing.fit(learn.Ridge(epsilon=3), ["age"], "weight")
    assert spent(ana) == before + 4
    assert len(way.keys) == 2
    way.losses += ["request"] * 9
    with pytest.raises(GuardUnreachableError, match=r"to go on with it, fit\(\.\.\., key="):
        losing.fit(learn.Ridge(epsilon=4), ["age"], "weight")
    client.close()
    different = ana.fit(
        learn.Ridge(alpha=2, epsilon=1), ["age"], "weight"
    )  # another model of the same sums is paid for
    assert different.coef_ != first.coef_
    assert spent(ana) == before + 5


def test_a_past_fit_is_read_as_a_model(ana: Connection, tmp_path: Path) -> None:
    scaler = ana.fit(learn.StandardScaler(epsilon=2), ["age"])
    fitted = ana.history[-1].id
    ana.query().count().release(epsilon=1)
    counted = ana.history[-1].id
    assert ana.model(fitted).mean_ == scaler.mean_
    assert ana.model(fitted).guarantee_ == cl.PureDP(epsilon=2)
    with pytest.raises(ParameterError, match=f"connection.model\\('{fitted}'\\)"):
        ana.answer(fitted)
    with pytest.raises(ParameterError, match=f"connection.answer\\('{counted}'\\)"):
        ana.model(counted)
    with pytest.raises(QueryError):
        ana.model("0" * 32)
    scaler.save(tmp_path / "scaler.json")
    assert learn.load(tmp_path / "scaler.json").mean_ == scaler.mean_


# ------------------------------------------------------------------------------------------------------ what is refused


def test_what_a_session_refuses_a_connection_refuses_alike(ana: Connection) -> None:
    session, before = new_session(), ana.spent
    cases: list[tuple[Any, Any, Any, dict[str, Any]]] = [
        (learn.KMeans(), ["age"], None, {}),
        ("Ridge", ["age"], None, {}),
        (learn.Ridge(), ["age"], None, {}),
        (learn.PCA(), ["age"], "sex", {}),
        (learn.Ridge(), [], "weight", {}),
        (learn.Ridge(), "age", "weight", {}),
        (learn.Ridge(), ["nobody"], "weight", {}),
        (learn.Ridge(), ["age", "age"], "weight", {}),
        (learn.Ridge(), ["age", 7], "weight", {}),
        (learn.Ridge(), ["sex"], "weight", {}),
        (learn.Ridge(), ["age"], "weight", {"table": "nowhere"}),
        (learn.Ridge(), ["age"], "weight", {"where": "nobody > 3"}),
        (learn.Ridge(epsilon=-1), ["age"], "weight", {}),
        (learn.Ridge(epsilon=1, rho=1, delta=0.1), ["age"], "weight", {}),
        (learn.Ridge(epsilon=10**6), ["age"], "weight", {}),
        (learn.Ridge(alpha=-1), ["age"], "weight", {}),
        (learn.Ridge(method="magic"), ["age"], "weight", {}),
        (learn.Ridge(adjacency="replace-one"), ["age"], "weight", {}),
        (learn.LogisticRegression(method="objective"), ["age"], "ill", {}),  # real arithmetic, and several passes
        (learn.LogisticRegression(steps=5), ["age"], "ill", {}),
        (learn.LogisticRegression(classes=["yes", "no"]), ["age"], "ill", {}),
        (learn.PCA(n_components=5), ["age"], None, {}),
    ]
    for estimator, features, target, options in cases:
        caught = []
        for one in (session, ana):
            with pytest.raises(CelosiaError) as error:
                one.fit(estimator, features, target, **options)
            caught.append((type(error.value), error.value.code))
        assert caught[0] == caught[1], (estimator, features)
        assert not hasattr(estimator, "event_")
    ridge: Any = learn.Ridge  # with parameters of any type
    for estimator in (
        learn.Ridge(source=Seeded(7)),
        learn.Ridge(budget=session),
        learn.Ridge(bounds=(0, 1)),
        learn.Ridge(bounds_y=(0, 1)),
        learn.CategoricalNB(categories=[2]),
        learn.Ridge(epsilon=float("inf")),
        ridge(alpha=lambda: 1),
        ridge(method=print),
        learn.GaussianNB(priors=[float("nan"), 1]),
    ):
        with pytest.raises(ParameterError, match="sent"):
            ana.fit(estimator, ["age"], "weight")
    assert ana.spent == before
    assert session.spent == cl.ApproxDP(epsilon=0, delta=0)


BAD: list[dict[str, Any]] = [
    *(
        {"parameters": {name: value}}
        for name, value in [
            ("source", "Seeded(7)"), ("source", 7), ("source", None), ("random_state", 7), ("budget", {"epsilon": 9}),
            ("bounds", [0, 1]), ("bounds_y", "data"), ("arithmetic", "real"), ("warm_start", True), ("_held", {}),
            ("coef_", [1]), ("__class__", "Ridge"), ("epsilon", float(10**9)), ("epsilon", "inf"), ("epsilon", "nan"),
            ("epsilon", True), ("epsilon", ["1"]), ("epsilon", {"fraction": "1"}), ("epsilon", "0"), ("delta", "1"),
            ("rho", {}), ("alpha", "0x1p3"), ("alpha", "1e999"), ("alpha", "inf"), ("alpha", True), ("alpha", "1_0"),
            ("alpha", [1]), ("fit_intercept", 1), ("fit_intercept", "true"), ("method", "print"), ("method", ["auto"]),
            ("method", "objective"), ("adjacency", "none"), ("adjacency", 3), ("alpha", "9" * 500), ("epsilon", None),
            ("alpha", {"value": {"is": "Ball", "of": {}}}),
        ]
    ),
    *({"model": name} for name in ("KMeans", "PrivateSearchCV", "os.system", "celosia.learn.Ridge", "", "Ridge\0")),
    {"features": ["age"] * 1001},
    {"features": ["age", 3]},
    {"features": ["nobody"]},
    {"features": "age"},
    {"where": "age > (SELECT MAX(age) FROM people)"},
    {"where": "x" * 60_000},
    {"where": "1 = 1; DROP TABLE people"},
    {"table": "nowhere"},
    {"target": ""},
    {"target": None},
    {"seed": 7},
    {"parameters": []},
    {"parameters": "epsilon=1"},
    {"parameters": {"epsilon": "1", "alpha": "1"}, "model": "PCA", "target": None},
]  # fmt: skip


def test_a_bad_specification_changes_nothing(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.keys['ana']}"}
    head, calls = served.guard.ledger.head, 0
    with httpx.Client(base_url=served.url, headers=headers) as client:
        for change in BAD:
            body = RIDGE | {"parameters": {"epsilon": "1"}} | change
            reply = client.post("/v1/models", json=body, headers={"Idempotency-Key": f"bad {calls}"})
            calls += 1
            assert reply.status_code in {400, 413, 422}, (change, reply.text)
            package = reply.json()["code"].partition(".")[0]
            assert package in {"core", "data", "guard", "learn", "query", "serving", "statistics"}
        raw = json.dumps(RIDGE | {"parameters": {}}).replace('"parameters": {}', '"parameters": {"epsilon": %s}')
        for number in ("NaN", "Infinity", "1e400", '1, "epsilon": 2'):
            reply = client.post("/v1/models", content=raw % number, headers={
                "Idempotency-Key": "raw", "Content-Type": "application/json"})  # fmt: skip
            assert reply.status_code in {400, 422}, reply.text
        assert client.post("/v1/models", json=RIDGE | {"parameters": {"epsilon": "1"}}).status_code == 400  # no key
    assert served.guard.ledger.head == head


def test_who_may_not_fit_learns_and_spends_nothing(served: Served) -> None:
    guard, ridge = served.guard, RIDGE | {"parameters": {"epsilon": "1"}}
    guard.share_dataset(OWNER, "people", ["ana"])
    head = guard.ledger.head
    ben, eva, ana = (guard.authenticate(served.keys[name]) for name in ("ben", "eva", "ana"))
    messages = []
    for name in ("people", "nothing"):
        with pytest.raises(QueryError) as caught:  # NotFoundError, with status 404
            guard.ask(ben, FitRequest(**ridge | {"dataset": name}), "k")
        messages.append((caught.value.code, str(caught.value).replace(name, "…")))
    assert messages[0] == messages[1]
    with httpx.Client(base_url=served.url) as client:
        for who, status in (("ben", 404), ("eva", 403)):
            held = {"Authorization": f"Bearer {served.keys[who]}", "Idempotency-Key": "k"}
            assert client.post("/v1/models", json=ridge, headers=held).status_code == status
    with pytest.raises(NotAllowedError):
        guard.ask(eva, FitRequest(**ridge), "k")
    with pytest.raises(BudgetExceededError, match="data set 'people'"):
        guard.ask(ana, FitRequest(**ridge | {"parameters": {"epsilon": "60000"}}), "rich")
    guard.share_dataset(OWNER, "people", None)
    assert not [line for line in guard.ledger.entries(after=head.sequence) if line.kind == "reserved"]


def test_a_fit_is_as_large_as_a_query_may_be(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    ana, head = served.guard.authenticate(served.keys["ana"]), served.guard.ledger.head
    wide = FitRequest(**RIDGE | {"parameters": {"epsilon": "1"}, "features": ["age", "ill"]})
    few = cl.guard.Limits(cells=5)
    monkeypatch.setattr(served.guard, "config", cl.guard.Config(store="memory://", limits=few))
    with pytest.raises(QueryError, match="sums, and 5 are allowed"):
        served.guard.ask(ana, wide, "wide")
    short = cl.guard.Limits(plan_nodes=10)
    monkeypatch.setattr(served.guard, "config", cl.guard.Config(store="memory://", limits=short))
    with pytest.raises(QueryError, match="more than 10 parts"):
        served.guard.ask(ana, wide, "long")
    assert served.guard.ledger.head == head


# ------------------------------------------------------------------------------------------------------ what goes wrong


def test_a_fit_is_reserved_before_data_are_read_and_stays_paid_for(
    served: Served, ana: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard, who = served.guard, served.guard.authenticate(served.keys["ana"])
    states: list[str] = []

    def die(error: BaseException) -> Any:
        def noisy(*_: object) -> None:
            states.append(guard.answers(who, 1)[0].state)
            raise error

        return noisy

    before = spent(ana)
    with monkeypatch.context() as broken:
        broken.setattr(Fitting, "measure", die(ValueError("row 7: Anna")))
        for _ in range(2):  # the retry is told the same, and reads nothing
            estimator = learn.Ridge(epsilon=7)
            with pytest.raises(EngineError) as caught:
                ana.fit(estimator, ["age"], "weight", key="broken")
            assert "Anna" not in str(caught.value)
            assert not hasattr(estimator, "coef_")
        assert (states, spent(ana)) == (["reserved"], before + 7)
        broken.setattr(Fitting, "measure", die(KeyboardInterrupt()))
        request = FitRequest(**RIDGE | {"parameters": {"epsilon": "7"}})
        with pytest.raises(KeyboardInterrupt):
            guard.ask(who, request, "killed")
    assert guard.ask(who, request, "killed").state == "reserved"
    assert states == ["reserved"] * 2
    assert spent(ana) == before + 14
    ana.fit(learn.Ridge(epsilon=7), ["age"], "weight")  # a failure is no answer
    assert spent(ana) == before + 21
    with monkeypatch.context() as broken:
        broken.setattr(Fitting, "finish", die(np.linalg.LinAlgError("singular: Anna")))
        with pytest.raises(EngineError):
            ana.fit(learn.Ridge(epsilon=8), ["age"], "weight")
    assert ana.history[-1].state == "failed"


def test_a_document_of_another_model_is_not_taken(ana: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ana.fit(learn.Ridge(epsilon=9), ["age"], "weight")
    state = dict(vars(model))
    reply = ana._transport.get(f"/v1/queries/{ana.history[-1].id}")
    released = reply["release"]
    documents: list[Any] = [
        released | {"model": "LinearRegression", "parameters": {}},
        released | {"parameters": released["parameters"] | {"epsilon": "8"}},
        released | {"learned": {}},
        released | {"guarantee": json.loads(cl.PureDP(epsilon=1).to_json())},
        {"model": "Ridge"},
        [],
        None,
    ]
    for wrong in documents:
        monkeypatch.setattr(ana._transport, "post", lambda *_, wrong=wrong, **__: reply | {"release": wrong})
        with pytest.raises((FormatError, EngineError)):
            ana.fit(model, ["age"], "weight")
        assert vars(model) == state
