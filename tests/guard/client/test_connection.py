"""A connection has the face of a session: the same questions, the same plans, the same errors, over real HTTP."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn
from pyarrow import csv

import celosia as cl
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
from celosia.guard.auth.identity import Identity
from celosia.guard.client.connection import Connection, connect
from celosia.guard.client.transport import Transport
from celosia.guard.config.settings import Config
from celosia.guard.datasets.dataset import PublicTable
from celosia.guard.server.app import create_app
from celosia.guard.service import Guard
from celosia.query.plan.nodes import Aggregate, Base, Plan
from celosia.query.serial.json_fields import FORMATS
from celosia.query.serial.records import record_to_json
from tests.guard.server.test_serve import certificate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("guard client")  # what is started for them is started once

OWNER = Identity.local()
SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 120

[columns.sex]
kind = "category"
values = ["F", "M"]
"""
VISITS = """
[table]
person = "who"
max_groups_per_person = 2
max_rows_per_group = 3

[columns.cost]
kind = "real"
low = 0
high = 100
"""
DECLARED = cl.Schema(age=cl.Integer(0, 120), sex=cl.Category("F", "M"))
TABLE = cl.table(pa.table({"age": [1], "sex": ["F"]}), schema=DECLARED, name="deaths")


class Served:
    """A guard behind HTTP on this machine."""

    def __init__(self, folder: Path) -> None:
        pq.write_table(pa.table({"age": list(range(100)), "sex": ["F", "M"] * 50}), folder / "deaths.parquet")
        pq.write_table(pa.table({"who": [1, 1, 2], "cost": [5.0, 7.5, 20.0]}), folder / "visits.parquet")
        self.guard = Guard.open(Config(store=f"sqlite:///{folder / 'ledger.db'}", slot_milliseconds=0))
        self.guard.add_dataset(OWNER, "deaths", str(folder / "deaths.parquet"), SCHEMA)
        self.guard.add_dataset(OWNER, "visits", str(folder / "visits.parquet"), VISITS)
        self.guard.set_budget(OWNER, cl.PureDP(epsilon=100), dataset="deaths")
        self.guard.set_budget(OWNER, cl.ZCDP(rho=10), dataset="visits")
        self.keys = {name: self.guard.add_user(OWNER, name, "analyst") for name in ("ana", "ben")}
        self.keys["eva"] = self.guard.add_user(OWNER, "eva", "auditor")
        settings = uvicorn.Config(create_app(self.guard), host="127.0.0.1", port=0, log_config=None, lifespan="off")
        self.server = uvicorn.Server(settings)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            self.thread.join(0.01)
        self.url = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"

    def connect(self, name: str, dataset: str | None = "deaths", **options: Any) -> Connection:
        return connect(self.url, key=self.keys[name], dataset=dataset, **options)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(600)
        self.guard.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("guard"))
    yield made
    made.close()


@pytest.fixture
def ana(served: Served) -> Iterator[Connection]:
    with served.connect("ana") as connection:
        yield connection


def test_tables_are_declared_as_they_are_there(served: Served, ana: Connection) -> None:
    assert ana.datasets == ("deaths", "visits")
    assert dict(ana.tables["deaths"].schema) == dict(TABLE.schema)
    visits = ana.dataset("visits").tables["visits"]
    assert (visits.person, visits.max_groups_per_person, visits.max_rows_per_group) == ("who", 2, 3)
    assert visits.adjacency is cl.AddRemove
    with served.connect("ana", None) as several, pytest.raises(ParameterError, match="there are deaths, visits"):
        several.query()
    with pytest.raises(QueryError, match="no data set 'births'"):
        _ = ana.dataset("births").tables


def test_a_notebook_shows_the_data_set_and_what_is_left(served: Served, ana: Connection) -> None:
    html = ana._repr_html_()
    for words in ("deaths at http://127.0.0.1", "left to you", "Integer(0, 120)", "unit row", str(ana.remaining)):
        assert escape(words) in html
    assert served.keys["ana"] not in html
    with served.connect("ana", None) as several:  # no data set is chosen
        assert "Connection to http://127.0.0.1" in several._repr_html_()


def test_questions_make_the_same_plans_as_a_session(ana: Connection) -> None:
    session = cl.Session(TABLE, budget=cl.PureDP(epsilon=100))
    text = "SELECT sex, COUNT(*), AVG(age) FROM deaths WHERE age < 18 GROUP BY sex"
    assert ana.sql(text).plan == session.sql(text).plan
    built = ana.query().where("age < 18").group_by("sex").count().mean("age")
    assert built.plan == ana.sql(text).plan
    with pytest.raises(QueryError, match="SELECT \\* would show rows"):
        ana.sql("SELECT * FROM deaths")
    with pytest.raises(QueryError, match="no table"):
        ana.query("births")


@pytest.mark.parametrize(
    ("target", "rows"),
    [
        ({"epsilon": "1/7"}, None),
        ({"epsilon": 0.1}, 100),
        ({"error": 50}, None),
        ({"error": {"count": 50, "mean_age": 5}}, 50),
    ],
)
def test_a_preview_is_that_of_a_session(ana: Connection, target: dict[str, Any], rows: float | None) -> None:
    session = cl.Session(TABLE, budget=cl.PureDP(epsilon=100))
    query, other = (one.query().group_by("sex").count().mean("age") for one in (ana, session))
    if target == {"error": 50}:
        query, other = (one.query().count() for one in (ana, session))
    mine, theirs = query.preview(rows=rows, level="0.9", **target), other.preview(rows=rows, level="0.9", **target)
    assert (mine.cost, mine.lines, mine.bounds, mine.notes) == (theirs.cost, theirs.lines, theirs.bounds, theirs.notes)
    assert (mine.affordable, mine.cells, mine.level) == (True, theirs.cells, 0.9)


def test_a_release_is_that_of_a_session(served: Served, ana: Connection) -> None:
    before = ana.spent
    release = ana.query().group_by("sex").count().mean("age").release(epsilon=5)
    assert release.to_arrow().column_names == ["sex", "count", "mean_age"]
    assert release.guarantee == cl.PureDP(epsilon=5)
    assert not release.seeded
    low, high = release.confidence_interval(0.99)
    assert all(a < 50 < b for a, b in zip(low["count"].to_pylist(), high["count"].to_pylist(), strict=True))
    assert release.plot("mean_age").to_dict()["layer"]
    assert ana.spent == before + cl.PureDP(epsilon=5)
    assert ana.budget == cl.PureDP(epsilon=100)
    assert ana.remaining + ana.spent == ana.budget
    again = ana.query().group_by("sex").count().mean("age").release(epsilon=5)  # from the store
    assert again == release
    assert ana.spent == before + cl.PureDP(epsilon=5)
    first, second = ana.history[-2:]
    assert (first.state, second.state) == ("answered", "repeated")
    assert (first.question, first.cost) == (
        "SELECT sex, COUNT(*), AVG(age) FROM deaths GROUP BY sex",
        release.guarantee,
    )
    assert ana.answer(first.id) == ana.answer(second.id) == release
    with served.connect("ben") as ben:
        assert ben.history == ()
        with pytest.raises(QueryError):
            ben.answer(first.id)


def test_code_is_tried_on_dummy_rows_first(ana: Connection) -> None:
    def study(backend: Connection | cl.Session) -> Any:
        query = backend.query().where("age < 18").group_by("sex").count().mean("age")
        assert query.preview(epsilon=1).affordable
        return backend.sql("SELECT sex, AVG(age) FROM deaths GROUP BY sex", epsilon=1), query.release(epsilon=1)

    before = ana.spent
    with ana.dummy_session(seed=3) as trial, ana.dummy_session(seed=3) as again:
        assert trial.budget == ana.budget
        assert trial.spent == cl.PureDP(epsilon=0)
        tried, repeated = study(trial), study(again)
        assert trial.spent == cl.PureDP(epsilon=2)
        assert len(trial.history) == 2
    assert ana.spent == before  # nothing is of the guard's
    assert all(one.seeded for one in tried)
    assert [one.to_arrow() for one in tried] == [one.to_arrow() for one in repeated]
    for one, real in zip(tried, study(ana), strict=True):
        assert one.to_arrow().schema == real.to_arrow().schema
        assert one.guarantee == real.guarantee
    with ana.dummy_session(budget=cl.ZCDP(rho=5)) as other:
        assert other.query().count().release(rho=1).guarantee == cl.ZCDP(rho=1)


def test_dummy_rows_are_those_that_the_guard_draws(served: Served, ana: Connection) -> None:
    for name in ("deaths", "visits"):
        drawn = b"".join(served.guard.dummy_rows(OWNER, name, rows=20, seed=5))
        assert csv.read_csv(pa.BufferReader(drawn)).equals(ana.dataset(name).dummy(rows=20, seed=5))
    assert ana.dummy("deaths").equals(ana.dummy())
    visits = ana.dataset("visits").dummy()
    assert visits.column_names == ["who", "cost"]
    assert visits["who"].value_counts().field("counts").to_pylist() != [1] * 1000
    with pytest.raises(QueryError, match="no table"):
        ana.dummy("births")
    with pytest.raises(ParameterError, match="rows must be at least 1"):
        ana.dummy_session(rows=0)
    for draw in (ana.dummy, ana.dummy_session):
        with pytest.raises(ParameterError, match="at most 10,000,000 dummy rows"):
            draw(rows=10**9)


def test_joins_with_public_tables_are_tried_too(served: Served, tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1], "sex": ["F"]}), tmp_path / "births.parquet")
    pq.write_table(pa.table({"sex": ["F", "M"], "word": ["woman", "man"]}), tmp_path / "sexes.parquet")
    public = PublicTable(source=str(tmp_path / "sexes.parquet"), key=("sex",))
    served.guard.add_dataset(OWNER, "births", str(tmp_path / "births.parquet"), SCHEMA, public=[public], analysts=[])
    guard = served.connect("eva", "births")
    with guard, guard.dummy_session(budget=cl.PureDP(epsilon=1000)) as trial:
        release = trial.sql("SELECT word, COUNT(*) FROM births JOIN sexes USING (sex) GROUP BY word", epsilon=100)
        assert sum(release.to_arrow()["count"].to_pylist()) > 850


def test_sql_with_a_target_is_released_at_once(ana: Connection) -> None:
    assert 0 < ana.sql("SELECT COUNT(*) FROM deaths", epsilon=10).item() < 200
    assert ana.sql("SELECT COUNT(*) FROM deaths", error=20).guarantee.epsilon < 1  # type: ignore[attr-defined]


def test_a_budget_in_rho(ana: Connection) -> None:
    visits = ana.dataset("visits")
    release = visits.sql("SELECT SUM(cost), COUNT(DISTINCT who) FROM visits", rho="0.5")
    assert isinstance(release.guarantee, cl.ZCDP)
    assert visits.spent == release.guarantee
    assert [past.dataset for past in visits.history] == ["visits"]


def test_errors_are_those_of_a_session(served: Served, ana: Connection) -> None:
    plan = ana.query().count().plan
    for wrong in ({"epsilon": -1}, {"rho": 1}, {}, {"epsilon": float("nan")}, {"epsilon": 1, "error": 5}):
        with pytest.raises(ParameterError):
            ana.release(plan, **wrong)
    with pytest.raises(ParameterError, match="not 'seed'"):
        ana.preview(plan, seed=7)
    with pytest.raises(BudgetExceededError, match="data set 'deaths'"):
        ana.release(plan, epsilon=1_000)
    nowhere = Plan(relation=Base("births"), aggregates=(Aggregate(kind="count", name="count"),))
    with pytest.raises(QueryError, match="no table"):
        ana.release(nowhere, epsilon=1)
    with served.connect("eva") as eva, pytest.raises(NotAllowedError):
        eva.release(plan, epsilon=1)
    with Connection(Transport(served.url, key="celosia_000000000000_" + "0" * 64), dataset="deaths") as stranger:
        with pytest.raises(NotAllowedError):
            _ = stranger.tables
        with pytest.raises(NotAllowedError):
            _ = stranger.datasets


def test_a_key_is_one_question(ana: Connection) -> None:
    plan, other = ana.query().where("age > 30").count().plan, ana.query().where("age > 31").count().plan
    before = ana.spent
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ana.release(plan, epsilon=1, key="my-key"), range(20)))
    assert len({answer.item() for answer in answers}) == 1
    assert ana.spent == before + cl.PureDP(epsilon=1)
    with pytest.raises(RequestConflictError):
        ana.release(other, epsilon=1, key="my-key")
    for wrong in ("", "a b", "ñ", 7, "x" * 201):
        with pytest.raises(ParameterError, match="key must be"):
            ana.release(plan, epsilon=1, key=wrong)  # type: ignore[arg-type]


def test_what_is_left_is_the_least_of_all_that_bears(served: Served) -> None:
    served.guard.set_budget(OWNER, cl.PureDP(epsilon=2), analyst="ben", dataset="deaths")
    with served.connect("ben") as ben:
        assert ben.remaining == cl.PureDP(epsilon=2)
        ben.query().where("age = 7").count().release(epsilon="0.5")
        assert ben.remaining == cl.PureDP(epsilon="1.5")
        assert ben.query().count().preview(epsilon=2).affordable is False
        assert ben.query().count().preview(epsilon=1).remaining == cl.PureDP(epsilon="1.5")
        with pytest.raises(BudgetExceededError, match="analyst 'ben'"):
            ben.query().count().release(epsilon=2)
    with served.connect("ana") as ana:
        assert ana.remaining > cl.PureDP(epsilon=2)


# ---------------------------------------------------------------------------------------------------------- opening


class Page(BaseHTTPRequestHandler):
    """What listens and is no guard; the path says what it is."""

    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        name = self.path.split("/")[1]
        status, body = {
            "html": (200, b"<html></html>"),
            "json": (200, b'{"hello": 1}'),
            "missing": (404, b"nothing here"),
            "moved": (301, b""),
        }[name]
        self.send_response(status)
        self.send_header("Location", "https://guard.example/")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def listening(context: ssl.SSLContext | None = None) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(600)


def connect_error(error: type[CelosiaError], url: str, key: str = "celosia_0123456789ab_0123", **options: Any) -> str:
    with pytest.raises(error) as caught:
        connect(url, key=key, **options)
    assert key not in str(caught.value)
    return str(caught.value)


def test_opening_says_what_is_wrong_with_the_address(tmp_path: Path) -> None:
    chain, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        port = silent.getsockname()[1]
        assert "did not answer in time" in connect_error(GuardUnreachableError, f"http://127.0.0.1:{port}", timeout=0.2)
    assert "Nothing listens at" in connect_error(GuardUnreachableError, f"http://127.0.0.1:{port}")
    with listening() as place:
        for page in ("html", "json", "missing", "moved"):
            assert f"What answers at http://{place}/{page} is no guard" in connect_error(
                GuardUnreachableError, f"http://{place}/{page}"
            )
        assert "give the address that it leads to" in connect_error(GuardUnreachableError, f"http://{place}/moved")
        assert "does not speak TLS" in connect_error(GuardUnreachableError, f"https://{place}/html")
    with listening(context) as place:
        said = connect_error(GuardUnreachableError, f"https://{place}/json")
        assert "certificate of" in said
        assert "self-signed" in said
        assert "is no guard" in connect_error(GuardUnreachableError, f"https://{place}/json", verify=str(chain))
        elsewhere = place.replace("localhost", "127.0.0.1")  # the certificate has another name
        assert "certificate of" in connect_error(GuardUnreachableError, f"https://{elsewhere}/json", verify=str(chain))
        assert "begin with https://" in connect_error(GuardUnreachableError, f"http://{place}/json")


def test_the_path_of_a_page_is_not_the_address_of_a_guard(served: Served) -> None:
    for path in ("/foo", "/v1", "/datasets/deaths"):
        said = connect_error(GuardUnreachableError, f"{served.url}{path}")
        assert f"A server of Celosía answers at {served.url}{path}" in said


def test_opening_checks_key_data_set_and_version(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("celosia_000000000000_" + "0" * 64, "nonsense"):
        assert "does not accept this key" in connect_error(NotAllowedError, served.url, key, dataset="deaths")
    gone = served.guard.add_user(OWNER, "gone", "analyst")
    connect(served.url, key=gone).close()
    served.guard.revoke(OWNER, "gone")
    assert "expired or revoked. Ask the guard's owner" in connect_error(NotAllowedError, served.url, gone)
    said = connect_error(ParameterError, served.url, served.keys["ana"], dataset="births")
    assert said == "dataset: there is no data set 'births' that this key may see; there are deaths, visits."
    for formats in ({"plan": 2, "preview": 1, "release": 1}, {"plan": 1}, {}):
        monkeypatch.setattr("celosia.guard.api.endpoints.FORMATS", formats)
        assert "is of another version" in connect_error(FormatError, served.url, served.keys["ana"])


def test_opening_waits_for_a_busy_guard_and_gives_up_on_one_that_is_not_there() -> None:
    busy = httpx.Response(503, headers={"retry-after": "0"})
    card = {"name": "deaths", "title": "", "version": "1", "tables": []}
    replies = [busy, httpx.Response(200, json={"datasets": [card], "formats": FORMATS})]
    asked: list[float] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request.extensions["timeout"]["read"])
        return replies.pop(0)

    transport = Transport(
        "https://guard.example",
        key="celosia_0123",
        client=httpx.Client(transport=httpx.MockTransport(reply)),
        pause=lambda _: None,
    )
    connection = Connection(transport)
    connection.check()
    assert repr(connection).endswith("data set deaths>")
    assert len(asked) == 2
    assert max(asked) <= 15
    replies += [busy] * 3
    with pytest.raises(GuardUnreachableError):
        connection.check()
    assert len(replies) == 1


# ------------------------------------------------------------------------------------------------ what may go wrong


class Losing(httpx.HTTPTransport):
    """A way to the guard on which replies, or requests, are lost."""

    def __init__(self, losses: list[str]) -> None:
        super().__init__()
        self.losses, self.keys = losses, []  # type: ignore[var-annotated]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path not in {"/v1/queries", "/v1/models"} or request.method != "POST":
            return super().handle_request(request)
        self.keys.append(request.headers["idempotency-key"])
        loss = self.losses.pop(0) if self.losses else ""
        if loss == "request":
            message = "lost on the way there"
            raise httpx.ConnectError(message)
        reply = super().handle_request(request)
        if loss == "reply":
            reply.read()
            reply.close()
            message = "lost on the way back"
            raise httpx.ReadError(message)
        return reply


def losing(served: Served, losses: list[str]) -> tuple[Connection, Losing]:
    way = Losing(losses)
    client = httpx.Client(transport=way)
    transport = Transport(served.url, key=served.keys["ana"], client=client, pause=lambda _: None)
    return Connection(transport, dataset="deaths"), way


@pytest.mark.parametrize("losses", [["request"], ["reply"], ["reply", "request", "reply"]])
def test_what_is_lost_on_the_way_is_paid_for_once(served: Served, losses: list[str]) -> None:
    connection, way = losing(served, list(losses))
    before = connection.spent
    number = len(losses) * 10 + (losses[0] == "reply")  # a question of its own
    connection.query().where(f"age > {number}").count().release(epsilon=1)
    assert connection.spent == before + cl.PureDP(epsilon=1)
    assert len(way.keys) == len(losses) + 1
    assert len(set(way.keys)) == 1
    connection.query().where(f"age < {number}").count().release(epsilon=1)
    assert len(set(way.keys)) == 2
    connection.close()


def test_a_lost_question_can_be_gone_on_with_by_its_key(served: Served) -> None:
    connection, way = losing(served, ["reply"] * 6)
    before = connection.spent
    query = connection.query().where("age > 70").count()
    with pytest.raises(GuardUnreachableError, match=r"release\(\.\.\., key=") as caught:
        query.release(epsilon=1)
    [key] = set(way.keys)
    assert f"key={key!r}" in str(caught.value)
    connection.release(query.plan, epsilon=1, key=key)
    assert connection.spent == before + cl.PureDP(epsilon=1)
    assert len(key) == 32
    connection.close()


def test_nobody_there() -> None:
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json={"hello": 1})))
    transport = Transport("https://guard.example", key="celosia_0123", client=client, pause=lambda _: None)
    with Connection(transport, dataset="deaths") as odd:
        for look in ("tables", "datasets", "budget", "history"):
            with pytest.raises(FormatError):
                getattr(odd, look)
        plan = Plan(relation=Base("t"), aggregates=(Aggregate(kind="count", name="count"),))
        for ask in (odd.preview, odd.release):
            with pytest.raises(FormatError):
                ask(plan, epsilon=1)
    with pytest.raises(ParameterError, match="none that you may see"):
        Connection(transport_that_replies(transport, {"datasets": [], "formats": FORMATS})).query()


def transport_that_replies(transport: Transport, body: object) -> Transport:
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json=body)))
    return Transport(transport.url, key="celosia_0123", client=client, pause=lambda _: None)


def test_a_query_is_cancelled_by_its_id(served: Served, ana: Connection) -> None:
    ana.sql("SELECT COUNT(*) FROM deaths WHERE age > 33", epsilon="0.01")
    last = ana.history[-1]
    assert ana.cancel(last.id) == last  # it has been answered
    with served.connect("ben") as ben, pytest.raises(QueryError, match="no answer"):
        ben.cancel(last.id)
    with pytest.raises(ParameterError):
        ana.cancel("")


def test_a_question_without_an_answer_is_told() -> None:
    cases: list[str] = ["failed", "reserved"]
    for state in cases:
        reply = {
            "id": "0f",
            "state": state,
            "dataset": "deaths",
            "question": "",
            "at": "2026-01-01T00:00:00+00:00",
            "cost": record_to_json(cl.PureDP(epsilon=Fraction(1, 3))),
            "release": None,
            "repeated": False,
        }
        client = httpx.Client(transport=httpx.MockTransport(lambda _, reply=reply: httpx.Response(200, json=reply)))
        transport = Transport("https://guard.example", key="celosia_0123", client=client, pause=lambda _: None)
        with pytest.raises(EngineError, match=f"was {state}"):
            Connection(transport, dataset="deaths").answer("0f")


def test_the_key_is_not_shown(ana: Connection, served: Served) -> None:
    assert served.keys["ana"] not in repr(ana)
    transport = Transport("https://guard.example", key="celosia_0123")
    assert repr(Connection(transport)) == "<Connection to https://guard.example>"
