"""More than a thousand hostile requests: always a clear refusal, never a fault of ours, and nothing is spent."""

from __future__ import annotations

import contextlib
import http
import json
import socket
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from unittest import mock
from urllib.parse import urlsplit

import pytest

import celosia as cl
from celosia.core import ApproxDP, PureDP
from celosia.core.messages.message import Message
from celosia.guard.datasets.dataset import PublicTable
from celosia.query.serial.messages import message_from_json
from celosia.serving.problems import STATUSES
from tests.reliability.hostile import HONEST, Hostile, hostile_bodies, hostile_requests
from tests.reliability.inside import LOCAL, Inside, open_guard, serve_inside
from tests.reliability.serving import DATASET, PATIENCE, question, start_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.reliability.serving import Reply

pytestmark = pytest.mark.xdist_group("hostile")  # what is started for them is started once

SCHEMA = cl.Schema(
    age=cl.Integer(0, 120),
    weight=cl.Real(0, 300, grid="0.1"),
    sex=cl.Category("F", "M"),
    cause=cl.Category("E10", "E11", "I21"),
    day=cl.Date("2021-01-01", "2021-12-31"),
    alive=cl.Boolean(),
    seen=cl.Timestamp("2021-01-01", "2021-12-31"),
    note=cl.Text(),
    grade=cl.Category(1, 2, 3),
)
PERSON = "[table]\nperson = 'person_id'\nmax_groups_per_person = 2\nmax_rows_per_group = 3\n\n"
ROW = {
    "person_id": 1, "age": 34, "weight": 71.5, "sex": "F", "cause": "E10", "day": "2021-01-01", "alive": True,
    "seen": "2021-01-01 00:00:00", "note": "x", "grade": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """A guard with one data set of persons, and a budget that nothing here may touch."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    (folder / "deaths.csv").write_text("\n".join([",".join(ROW), *[",".join(map(str, ROW.values()))] * 3]))
    (folder / "icd.csv").write_text("code,chapter,sex\nE10,I,F\nE11,II,M\n")
    guard, keys = open_guard()
    with serve_inside(guard, keys) as inside:
        book = PublicTable(source=str(folder / "icd.csv"), key=("code",), name="icd")
        guard.add_dataset(LOCAL, "deaths", str(folder / "deaths.csv"), PERSON + SCHEMA.to_toml(), public=[book])
        guard.set_budget(LOCAL, PureDP(epsilon=100), dataset="deaths")
        yield inside


def send(world: Inside, hostile: Hostile) -> Reply:
    client = world.client(hostile.who)
    return client.send(hostile.method, hostile.path, headers=hostile.sent, content=hostile.content)


STATIC = (
    "/static/%2e%2e/%2e%2e/pyproject.toml", "/static/..%2f..%2fservice.py", "/static/",
    "/static//etc/passwd", "/static/%00", "/static/vendor", "/static/%5c..%5cservice.py",
)  # fmt: skip
GIVEN_AWAY = (
    "Traceback",
    'File "',
    "pydantic",
    "sqlglot",
    "sqlalchemy",
    "duckdb",
    "object at 0x",
    ".py",
    "errno",
    "\x1b",
)


def check_refusal(reply: Reply, sent: bytes = b"") -> None:
    """Raise AssertionError unless a reply is a clear refusal, whose words are ours or those that were sent."""
    assert 400 <= reply.status < 500, (reply.status, reply.body[:300])
    assert reply.headers["content-type"] == "application/problem+json"
    told = reply.json
    assert told.keys() == {"type", "title", "status", "detail", "error", "code", "fields", "request"}
    assert Message(told["detail"]) == message_from_json(
        {"code": told["code"], "fields": told["fields"], "text": told["detail"]}
    )
    assert told["status"] == reply.status
    assert told["error"] in STATUSES
    assert told["title"]
    detail = told["detail"]
    assert 10 < len(detail) <= 1_000, detail
    for word in GIVEN_AWAY:
        assert word not in json.dumps(told, ensure_ascii=False) or word.encode() in sent, (word, told)
    assert reply.headers["x-request-id"] == told["request"]


def check_all(world: Inside, corpus: list[Hostile], send: Callable[[Inside, Hostile], Reply] = send) -> None:
    """Send all; AssertionError if one is not refused, costs something or is written into the log."""
    head, before = world.guard.ledger.head, world.guard.ledger.statement()
    wrong = []
    for hostile in corpus:
        try:
            check_refusal(send(world, hostile), hostile.content or b"")
            assert world.guard.ledger.head == head, "something was written"
        except AssertionError as error:
            wrong.append(f"{hostile.name}: {error}")
            head = world.guard.ledger.head
    assert not wrong, "\n".join(wrong)
    assert world.guard.ledger.statement() == before
    assert not [line for line in world.lines if "unforeseen" in line or "library" in line]


def test_there_are_more_than_a_thousand() -> None:
    bodies = [hostile.content for hostile in hostile_bodies()]
    assert len(set(bodies)) >= 1_000


def test_the_honest_question_is_answered(world: Inside) -> None:
    assert send(world, Hostile("honest", json.dumps(HONEST).encode())).status == 200


def test_hostile_bodies_are_refused_for_nothing(world: Inside, *, thorough: bool) -> None:
    check_all(world, list(hostile_bodies())[:: 1 if thorough else 5])


def test_hostile_requests_are_refused_for_nothing(world: Inside) -> None:
    check_all(world, list(hostile_requests()))


def test_no_file_is_served_but_the_pages_own(world: Inside) -> None:
    for path in STATIC:
        reply = world.client(None).send("GET", path)
        assert reply.status == 404, path
        assert b"[" not in reply.body.removeprefix(b"{"), path


def test_hostile_bodies_get_no_preview_either(world: Inside, *, thorough: bool) -> None:
    some = [one for one in hostile_bodies() if one.content is not None][1 :: 5 if thorough else 25]
    check_all(world, [Hostile(one.name, one.content, path="/v1/previews") for one in some])


# ------------------------------------------------------------------------------------------- the arithmetic of budgets

AMOUNTS: list[tuple[object, Fraction]] = [
    (0.1, Fraction(1, 10)),
    ("0.1", Fraction(1, 10)),
    ("1/3", Fraction(1, 3)),
    ("0.1000000000000000000000000000000000000001", Fraction(10**39 + 1, 10**40)),
    ("0.09999999999999999999999999999999999999999999", Fraction(10**43 - 1, 10**44)),
    (5e-324, Fraction(5, 10**324)),
    ("5e-324", Fraction(5, 10**324)),
    ("1e-400", Fraction(1, 10**400)),
    ("1e-300", Fraction(1, 10**300)),
    ("1e-100", Fraction(1, 10**100)),
    ("1e-12", Fraction(1, 10**12)),
    (1e308, Fraction(10**308)),
    (3, Fraction(3)),
    ("2.9999999999999999999999999", Fraction(3 * 10**25 - 1, 10**25)),
]


def spent(world: Inside) -> Fraction:
    [line] = world.guard.ledger.statement("deaths")
    assert isinstance(line.spent, PureDP)
    return line.spent.epsilon


@pytest.mark.parametrize(("written", "meant"), AMOUNTS, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("aggregate", ["COUNT(*)", "AVG(age)", "MEDIAN(weight)", "SUM(age), MODE(sex)"])
@pytest.mark.sampled(4)
def test_an_epsilon_is_charged_in_full_or_refused(
    written: object, meant: Fraction, aggregate: str, world: Inside
) -> None:
    """Threat 12: rounded up or refused, never down."""
    before = spent(world)
    # The names make it another question each time, which no stored answer fits.
    name = f"a{AMOUNTS.index((written, meant))}"
    body = {"dataset": "deaths", "sql": f"SELECT {aggregate} AS {name} FROM deaths", "epsilon": written}
    reply = world.client().ask(body, f"{name} {aggregate}")
    if reply.status == 200:
        assert spent(world) - before >= meant
        cost = reply.json["cost"]["epsilon"]
        assert Fraction(cost) == spent(world) - before
    else:
        check_refusal(reply)
        assert spent(world) == before


def test_what_is_left_is_never_more_than_it_was(tmp_path: Path) -> None:
    """Thirds add up to one exactly: a fourth is refused, however small it is."""
    guard, keys = open_guard()
    (tmp_path / "a.csv").write_text("age\n1\n")
    schema = cl.Schema(age=cl.Integer(0, 9)).to_toml()
    with serve_inside(guard, keys) as world:
        guard.add_dataset(LOCAL, "a", str(tmp_path / "a.csv"), schema)
        guard.set_budget(LOCAL, ApproxDP(epsilon=1, delta="1e-9"), dataset="a")
        asked = [
            world.client().ask({"dataset": "a", "sql": f"SELECT COUNT(*) AS n{n} FROM a", "epsilon": "1/3"}, str(n))
            for n in range(3)
        ]
        assert [reply.status for reply in asked] == [200, 200, 200]
        before = guard.ledger.statement()
        for epsilon in ("1/3", "1e-9", "1e-100"):
            body = {"dataset": "a", "sql": "SELECT COUNT(*) AS more FROM a", "epsilon": epsilon}
            reply = world.client().ask(body, f"more {epsilon}")
            check_refusal(reply)
            assert reply.json["error"] == "BudgetExceededError" or epsilon == "1e-100", "or too small to be meant"
            assert guard.ledger.statement() == before


# ---------------------------------------------------------------------------------------------- as bytes on the wire


def wire(
    body: bytes = b"{}", *headers: bytes, line: bytes = b"POST /v1/queries HTTP/1.1", length: bool = True
) -> bytes:
    """A request as it is, however wrong."""
    fixed = [line, b"Host: guard", b"Connection: close", *([b"Content-Length: %d" % len(body)] if length else [])]
    return b"\r\n".join([*fixed, *headers]) + b"\r\n\r\n" + body


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


def on_the_wire(key: str) -> dict[str, bytes]:
    """Requests that a library would not send."""
    auth, kind = f"Authorization: Bearer {key}".encode(), b"Content-Type: application/json"
    honest = json.dumps(question(1)).encode()
    one = b"Idempotency-Key: never"
    chunks = b"Transfer-Encoding: chunked"
    return {
        "too long, in chunks": wire(chunked(*[b"x" * 8_192] * 20), auth, kind, one, chunks, length=False),
        "broken JSON in chunks": wire(chunked(honest[:9], honest[10:]), auth, kind, one, chunks, length=False),
        "a chunk of no size": wire(b"zz\r\nx\r\n0\r\n\r\n", auth, kind, one, chunks, length=False),
        "a chunk of great size": wire(b"f" * 40 + b"\r\nx", auth, kind, one, chunks, length=False),
        "length and chunks": wire(chunked(honest), auth, kind, one, chunks),
        "length and chunks, kept alive": wire(chunked(honest), auth, kind, one, chunks).replace(
            b"Connection: close", b"X: y"
        ),
        "two lengths": wire(honest, auth, kind, one, b"Content-Length: 3"),
        "a length below zero": wire(honest, auth, kind, one, b"Content-Length: -3", length=False),
        "a length of words": wire(honest, auth, kind, one, b"Content-Length: many", length=False),
        "a length that is too long": wire(b"", auth, kind, one, b"Content-Length: 99999999999", length=False),
        "no body": wire(b"", auth, kind, one),
        "no length": wire(b"", auth, kind, one, length=False),
        "no host": b"POST /v1/queries HTTP/1.1\r\nConnection: close\r\n\r\n",
        "two keys": wire(honest, auth, kind, one, b"Idempotency-Key: \xff"),
        "no key": wire(honest, auth, kind),
        "a key on two lines": wire(honest, auth, kind, b"Idempotency-Key: a\r\n \r\n\tb\x00"),
        "a key that ends the headers": wire(honest, auth, kind, b"Idempotency-Key: a\rb"),
        "a NUL in a header": wire(honest, auth, kind, b"Idempotency-Key: a\x00b"),
        "a long header": wire(honest, auth, kind, b"Idempotency-Key: " + b"x" * 100_000),
        "many headers": wire(honest, auth, kind, *[b"X-%d: y" % number for number in range(20_000)]),
        "a header without a name": wire(honest, auth, kind, b": y"),
        "a blank before the colon": wire(honest, auth, kind, b"Idempotency-Key : y"),
        "HTTP/0.9": b"GET /v1/datasets\r\n\r\n",
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "HTTP/9": wire(honest, auth, kind, line=b"POST /v1/queries HTTP/9.9"),
        "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64 + b"\r\n\r\n",
        "nothing": b"\r\n\r\n\r\n\r\n",
        "an absolute address": wire(b"", auth, line=b"GET http://elsewhere/etc/passwd HTTP/1.1"),
        "a way up": wire(b"", auth, line=b"GET /static/../../../../etc/passwd HTTP/1.1"),
        "a long address": wire(b"", auth, line=b"GET /v1/datasets/" + b"a" * 70_000 + b" HTTP/1.1"),
        "an address of bytes": wire(b"", auth, line=b"GET /v1/datasets/\xff\xfe HTTP/1.1"),
        "a header in the address": wire(b"", auth, line=b"GET /v1/datasets/a%0d%0aSet-Cookie:%20x=1 HTTP/1.1"),
        "an upgrade": wire(
            b"", auth, b"Upgrade: websocket", b"Sec-WebSocket-Key: x", line=b"GET /v1/queries/x HTTP/1.1"
        ),
    }


HALF = "a length that is too long"  # the rest of it would be waited for


def exchanged(url: str, request: bytes, *, hang_up: bool = False) -> bytes:
    """All that comes back for these bytes until the connection closes."""
    place = urlsplit(url)
    told = b""
    connection = socket.create_connection((place.hostname or "", place.port or 0), timeout=PATIENCE)
    with connection, contextlib.suppress(ConnectionError):  # the other side may hang up before all is said
        connection.sendall(request)
        if hang_up:
            connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(65_536):
            told += piece
    return told


def test_a_server_refuses_what_is_no_request(tmp_path: Path) -> None:
    with start_server(tmp_path, workers=1) as served:
        with served.guard() as guard:
            head = guard.ledger.head
        for name, request in on_the_wire(served.keys["analyst"]).items():
            told = exchanged(served.url, request, hang_up=name == HALF)
            assert told or name == HALF, name
            if told:
                status = int(told.split(b" ", 2)[1])
                assert 400 <= status < 500, (name, told[:300])
                assert b"Set-Cookie" not in told, name
                assert http.HTTPStatus(status), name
        assert served.client().send("GET", "/v1/health").status == 200
        with served.guard() as guard:
            assert guard.ledger.head == head
            assert not guard.ledger.reservations(analyst="analyst", limit=10)
            assert guard.catalogue.find(DATASET) is not None
        printed = served.log.read_text() + served.errors.read_text()
        assert "unforeseen" not in printed
        assert "Traceback" not in printed


# ------------------------------------------------------------------------------------------- faults that must be found


def _reply(world: Inside, told: Mapping[str, Any]) -> Reply:
    reply = send(world, Hostile("nothing", b"{}"))
    changed = json.dumps(reply.json | told).encode()
    return type(reply)(reply.status, reply.headers, changed)


UNCLEAR: list[dict[str, Any]] = [
    {"detail": ""},
    {"detail": 'Traceback (most recent call last):\n  File "x", line 1.'},
    {"detail": "duckdb.ConversionException: Could not convert 'x'."},
    {"error": "KeyError"},
    {"status": 200},
    {"rows": 7},
    {"request": "0"},
]


def test_an_unclear_refusal_is_found(world: Inside) -> None:
    check_refusal(_reply(world, {}))
    for told in UNCLEAR:
        with pytest.raises(AssertionError):
            check_refusal(_reply(world, told))


def test_a_fault_and_a_charge_are_found(world: Inside) -> None:
    hostile = Hostile("words", b'{"dataset": "deaths", "sql": "SELECT 1", "epsilon": "1"}')
    check_all(world, [hostile])
    with (
        mock.patch.object(world.guard, "ask", side_effect=KeyError("a name")),
        pytest.raises(AssertionError, match="500"),
    ):
        check_all(world, [hostile])
    world.lines.clear()
    with pytest.raises(AssertionError, match="200"):
        check_all(world, [Hostile("honest", json.dumps(dict(HONEST) | {"epsilon": "0.2"}).encode())])
    refused = send(world, hostile)

    def charged(*_: object) -> Reply:
        world.guard.ledger.record("surprise", {})
        return refused

    with pytest.raises(AssertionError, match="written"):
        check_all(world, [hostile], charged)
