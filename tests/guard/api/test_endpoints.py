"""Every endpoint for every role, for nobody, and for those whose key is no more: who may do what, over real HTTP."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from celosia.core import PureDP
from celosia.guard.api.endpoints import ROUTER, parse_wait
from celosia.guard.auth.identity import Identity
from celosia.ledger import Request
from tests.reliability.serving import DATASET, ROLES, SCHEMA, Client, Served, add_expired_user, start_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.guard.service import Guard
    from tests.reliability.serving import Reply

pytestmark = pytest.mark.xdist_group("guard api")  # what is started for them is started once

SQL = f"SELECT COUNT(*) FROM {DATASET}"
ASK = {"dataset": DATASET, "sql": SQL, "epsilon": "0.01"}
FIT = {"dataset": DATASET, "model": "StandardScaler", "parameters": {"epsilon": 0.01}, "features": ["age"]}
FRESH = itertools.count()
GOOD = {200, 201, 204}

# Method, path, body, and who may: o(wner), c(urator), a(nalyst), u (auditor).
ENDPOINTS: list[tuple[str, str, Any, str]] = [
    ("GET", "/v1/datasets", None, "ocau"),
    ("GET", f"/v1/datasets/{DATASET}", None, "ocau"),
    ("GET", f"/v1/datasets/{DATASET}/dummy?rows=3", None, "ocau"),
    ("PATCH", f"/v1/datasets/{DATASET}", {"title": "Deaths {fresh}"}, "oc"),
    ("PATCH", f"/v1/datasets/{DATASET}", {"title": "Deaths {fresh}", "schema": SCHEMA}, "c"),
    ("PUT", f"/v1/datasets/{DATASET}/columns/age/bounds", {"low": 0, "high": "110"}, "c"),
    ("GET", f"/v1/datasets/{DATASET}/schema", None, "c"),
    ("POST", f"/v1/datasets/{DATASET}/versions", None, "oc"),
    ("POST", "/v1/previews", ASK, "a"),
    ("POST", "/v1/queries", ASK, "a"),
    ("POST", "/v1/models", FIT, "a"),
    ("GET", "/v1/queries", None, "a"),
    ("GET", "/v1/queries/{id}", None, "a"),
    ("DELETE", "/v1/queries/{id}", None, "a"),
    ("GET", "/v1/approvals", None, "oca"),
    ("PUT", "/v1/approvals/{approval}", {"granted": True}, "oc"),
    ("GET", "/v1/budget", None, "ocau"),
    ("GET", f"/v1/budget?dataset={DATASET}", None, "ocau"),
    ("PUT", "/v1/budget", {"dataset": DATASET, "epsilon": 100}, "oc"),
    ("PUT", "/v1/budget", {"analyst": "analyst", "epsilon": "50"}, "oc"),
    ("GET", "/v1/log", None, "u"),
    ("GET", "/v1/log?after=1&limit=2", None, "u"),
    ("GET", "/v1/log?format=csv&user=analyst&until=2999-01-01", None, "u"),
    ("GET", "/v1/log/verify", None, "u"),
    ("GET", "/v1/users", None, "o"),
    ("POST", "/v1/users", {"name": "user{fresh}", "role": "analyst", "days": 1}, "o"),
    ("POST", "/v1/users/curator/keys", {}, "o"),
    ("DELETE", "/v1/users/expendable{fresh}", None, "o"),
]
LETTERS = dict(zip(ROLES, "ocau", strict=True))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with start_server(tmp_path_factory.mktemp("guard"), budget=PureDP(epsilon=100), workers=1) as server:
        yield server


@pytest.fixture(scope="module")
def guard(served: Served) -> Iterator[Guard]:
    """The store of the server, opened here too."""
    with served.guard() as opened:
        yield opened


@pytest.fixture(scope="module")
def answer(served: Served) -> str:
    """The number of an answer that the analyst was given."""
    return str(served.client().ask(ASK, "the first").json["id"])


def send(guard: Guard, client: Client, endpoint: tuple[str, str, Any, str], answer: str) -> Reply:
    method, path, body, _ = endpoint
    fresh = next(FRESH)
    if "expendable" in path:
        guard.add_user(Identity.local(), f"expendable{fresh}", "analyst")
    if "{approval}" in path:
        filed = Request(key=f"approval {fresh}", digest="0")
        asked = {"dataset": DATASET, "sql": "SELECT"}
        approval = guard._approvals.file("analyst", filed, asked, cost=PureDP(epsilon=9), question="How many?")
        path = path.replace("{approval}", approval.id)
    path = path.replace("{id}", answer).replace("{fresh}", str(fresh))
    if isinstance(body, dict):
        body = {
            name: value.replace("{fresh}", str(fresh)) if name in ("name", "title") else value
            for name, value in body.items()
        }
    return client.send(method, path, body, headers={"Idempotency-Key": f"key {fresh}"})


def names(endpoint: tuple[str, str, Any, str]) -> str:
    return f"{endpoint[0]} {endpoint[1]}"


def test_the_table_has_every_route() -> None:
    declared = {(method, route.path) for route in ROUTER.routes for method in getattr(route, "methods", ())}  # type: ignore[attr-defined]
    tried = {
        (method, template)
        for method, path, _, _ in ENDPOINTS
        for known, template in declared
        if method == known and fits(path.partition("?")[0].split("/"), template.split("/"))
    }
    assert tried == declared


def fits(parts: list[str], template: list[str]) -> bool:
    return len(parts) == len(template) and all(
        wanted in (part, "{" + wanted[1:]) for part, wanted in zip(parts, template, strict=True)
    )


def test_a_role_may_do_what_the_table_says(served: Served, guard: Guard, answer: str) -> None:
    for role in ROLES:
        for endpoint in ENDPOINTS:
            reply = send(guard, served.client(role), endpoint, answer)
            if LETTERS[role] in endpoint[3]:
                assert reply.status in GOOD, reply.body
            else:
                assert reply.status == 403, reply.body
                assert reply.json["error"] == "NotAllowedError"
                assert reply.headers["content-type"] == "application/problem+json"


@pytest.fixture(scope="module")
def outsiders(served: Served, guard: Guard) -> dict[str, str | None]:
    """Keys that are no good, one of each kind."""
    local = Identity.local()
    revoked = guard.add_user(local, "leaver", "owner")
    guard.revoke(local, "leaver")
    expired = add_expired_user(guard, "late", "owner")
    good = served.keys["owner"]
    changed = good[:-1] + ("0" if good[-1] != "0" else "1")
    return {"none": None, "revoked": revoked, "expired": expired, "changed": changed, "empty": "", "odd": "a b\tc"}


def test_nobody_gets_in_without_a_valid_key(
    served: Served, guard: Guard, answer: str, outsiders: dict[str, str | None]
) -> None:
    kind_cases: list[str] = ["none", "revoked", "expired", "changed", "empty", "odd"]
    for kind in kind_cases:
        for endpoint in ENDPOINTS:
            client = Client(served.url, outsiders[kind])
            reply = send(guard, client, endpoint, answer)
            client.close()
            assert reply.status == 401
            assert reply.headers["www-authenticate"] == "Bearer"
            assert reply.json["error"] == "NotAllowedError"


def test_a_key_is_looked_at_before_a_body(served: Served) -> None:
    reply = served.client(None).send("POST", "/v1/queries", content=b"{", headers={"Content-Type": "application/json"})
    assert reply.status == 401


def test_an_answer_belongs_to_whoever_asked(served: Served, guard: Guard, answer: str) -> None:
    key = guard.add_user(Identity.local(), "neighbour", "analyst")
    client = Client(served.url, key)
    other, nobody = client.send("GET", f"/v1/queries/{answer}"), client.send("GET", f"/v1/queries/{'0' * 32}")
    assert client.send("GET", "/v1/queries").json == {"queries": []}
    client.close()
    assert other.status == nobody.status == 404
    assert other.json["detail"].replace(answer, "0" * 32) == nobody.json["detail"]


def test_a_schema_file_is_read_and_sent_back(served: Served) -> None:
    curator, path = served.client("curator"), f"/v1/datasets/{DATASET}"
    schema = curator.send("GET", f"{path}/schema").json["schema"]
    same = curator.send("PATCH", path, {"schema": schema})
    assert (same.status, same.json["code"]) == (422, "guard.nothing_to_change")
    assert curator.send("PATCH", path, {"schema": f"{schema}\n[columns.extra]\nkind = 'text'\n"}).status == 422
    assert curator.send("GET", f"{path}/schema").json["schema"] == schema


def test_a_put_budget_keeps_the_rules_that_are_left_out(served: Served) -> None:
    client, body = served.client("curator"), {"dataset": DATASET, "epsilon": 100}

    def put(**rules: object) -> list[object]:
        reply = client.send("PUT", "/v1/budget", body | rules)
        [line] = [one for one in reply.json["lines"] if one["analyst"] is None]
        return [line[name] for name in ("least_cost", "analyst_share", "approval_above")]

    assert put(least_cost="0.000001", approval_above=99) == ["1/1000000", None, "99"]
    assert put() == ["1/1000000", None, "99"]
    assert put(least_cost=0, approval_above=None) == [None, None, None]


def test_dummy_rows_are_a_stream_of_csv_and_bounded(served: Served) -> None:
    client, path = served.client(), f"/v1/datasets/{DATASET}/dummy"
    before = client.send("GET", "/v1/budget").json
    many = client.send("GET", f"{path}?rows=10000&seed=1")
    assert (many.status, many.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert many.headers["transfer-encoding"] == "chunked"
    assert many.headers["cache-control"] == "no-store"
    lines = many.body.decode().splitlines()
    assert (lines[0], len(lines)) == ('"age","income","sex"', 10_001)
    assert client.send("GET", f"{path}?seed=1").body.startswith(b'"age"')
    assert client.send("GET", path).body.count(b"\n") == 1001
    assert client.send("GET", path).body == client.send("GET", f"{path}?rows=1000&seed=0").body
    assert client.send("GET", "/v1/datasets/elsewhere/dummy").status == 404
    for wrong in ("rows=0", "rows=10001", "rows=x", "rows=1.5", "seed=-1", f"seed={2**64}"):
        assert client.send("GET", f"{path}?{wrong}").status == 422, wrong
    assert client.send("GET", "/v1/budget").json == before
    assert f"GET {path.replace(DATASET, '{name}')} 200" in served.output()


def test_a_retry_is_free_and_another_body_is_a_conflict(served: Served) -> None:
    client = served.client()
    first, second = (client.ask(ASK | {"epsilon": 0.125}, "twice") for _ in range(2))
    assert first.status == second.status == 200
    assert first.json == second.json
    assert first.json["cost"]["epsilon"] == "1/8"
    assert client.ask(ASK | {"epsilon": "0.5"}, "twice").status == 409


def test_numbers_mean_what_is_written(served: Served) -> None:
    client = served.client()
    for number, sent in enumerate(("0.1", '"0.1"', "1e-1", '"1/10"', "0.10")):
        body = f'{{"dataset": "{DATASET}", "sql": "{SQL}", "epsilon": {sent}}}'.encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": f"tenth {number}"}
        reply = client.send("POST", "/v1/queries", content=body, headers=headers)
        assert reply.status == 200
        assert reply.json["cost"]["epsilon"] == "1/10"


@pytest.mark.parametrize("key", [None, "", " ", "a" * 201, "caf\xe9"])
def test_a_question_needs_an_idempotency_key(served: Served, key: str | None) -> None:
    headers = {} if key is None else {"Idempotency-Key": key}
    reply = served.client().send("POST", "/v1/queries", ASK, headers=headers)
    assert reply.status == 400
    assert reply.json["error"] == "FormatError"
    assert "Idempotency-Key" in reply.json["detail"]


def test_a_bad_question_is_told_what_is_wrong_and_costs_nothing(served: Served) -> None:
    cases: list[tuple[bytes, int]] = [
        (b"", 422),
        (b"{", 400),
        (b"[]", 422),
        (b"null", 422),
        (b'{"dataset": "people", "dataset": "people"}', 400),
        (b'{"dataset": "people", "sql": "SELECT 1", "epsilon": NaN}', 400),
        (b'{"dataset": "people", "sql": "SELECT 1", "epsilon": true}', 422),
        (b'{"dataset": "people", "sql": "SELECT 1", "epsilon": "NaN"}', 422),
        (b'{"dataset": "people", "sql": "SELECT COUNT(*) FROM people", "epsilon": "1e-400"}', 422),
        (b'{"dataset": "people", "sql": "SELECT COUNT(*) FROM people", "epsilon": 5e-324}', 422),
        (b'{"dataset": "people", "sql": "SELECT COUNT(*) FROM people", "epsilon": 1e308}', 422),
        (b'{"dataset": "people", "sql": "SELECT COUNT(*) FROM people", "epsilon": 0}', 422),
        (b'{"dataset": "people", "sql": "SELECT COUNT(*) FROM people", "epsilon": -1}', 422),
        (b'{"dataset": "people", "sql": "SELECT * FROM people", "epsilon": 1}', 422),
        (b'{"dataset": "people", "sql": "SELECT COUNT(*) FROM people", "epsilon": 1, "extra": 1}', 422),
        (b'{"dataset": "people", "epsilon": 1}', 422),
        (b'{"dataset": "people", "sql": "SELECT 1", "plan": {}, "epsilon": 1}', 422),
        (b'{"dataset": "people", "plan": {}, "epsilon": 1}', 422),
        (b'{"dataset": "elsewhere", "sql": "SELECT COUNT(*) FROM people", "epsilon": 1}', 404),
        (b'{"dataset": "\\u0000", "sql": "SELECT 1", "epsilon": 1}', 422),
        (b'{"dataset": "people", "sql": "\\ud800", "epsilon": 1}', 400),
        (b'{"dataset": "people", "sql": "SELECT COUNT(*) FROM people", "epsilon": 1000}', 403),
        (b'{"a":' * 5000, 400),
        (b" " * 70_000, 413),
    ]
    for body, status in cases:
        client = served.client()
        before = client.send("GET", "/v1/budget").json
        headers = {"Content-Type": "application/json", "Idempotency-Key": f"bad {next(FRESH)}"}
        reply = client.send("POST", "/v1/queries", content=body, headers=headers)
        assert reply.status == status, reply.body
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json["detail"]
        assert client.send("GET", "/v1/budget").json == before


def test_a_body_is_json_or_nothing(served: Served) -> None:
    cases: list[str | None] = [None, "text/plain", "application/x-www-form-urlencoded", "application/xml"]
    for kind in cases:
        headers = {"Idempotency-Key": "x"} | ({} if kind is None else {"Content-Type": kind})
        assert served.client().send("POST", "/v1/queries", content=b"{}", headers=headers).status == 415


def test_chunks_are_counted(served: Served) -> None:
    client = served.client()
    client._connection.request(
        "POST",
        "/v1/queries",
        iter([b" " * 10_000] * 8),
        {
            "Authorization": f"Bearer {served.keys['analyst']}",
            "Content-Type": "application/json",
            "Idempotency-Key": "c",
        },
        encode_chunked=True,
    )
    assert client._connection.getresponse().status == 413


def test_what_is_not_there_is_a_problem_too(served: Served) -> None:
    cases: list[tuple[str, str, int, str | None]] = [
        ("GET", "/v1/nothing", 404, None),
        ("GET", "/v1/queries/", 404, None),
        ("HEAD", "/v1/queries", 405, "GET, POST"),
        ("OPTIONS", "/v1/queries", 405, "GET, POST"),
        ("DELETE", "/v1/budget", 405, "GET, PUT"),
        ("BREW", "/v1/health", 405, "GET"),
        ("GET", "/v1/users/ana", 405, "DELETE"),
        ("GET", "/v1/datasets/%00", 404, None),
        ("GET", "/v1/budget?dataset=%00", 422, None),
        ("GET", "/v1/log?limit=0", 422, None),
        ("GET", "/v1/log/verify?head=x", 422, None),
    ]
    for method, path, status, allow in cases:
        reply = served.client("auditor").send(method, path)
        assert reply.status == status
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.headers.get("allow") == allow


def test_health_and_the_document_need_no_key(served: Served) -> None:
    client = served.client(None)
    assert client.send("GET", "/v1/health").json == {"status": "ok"}
    assert client.send("GET", "/v1/openapi.json").json["openapi"].startswith("3.")
    page = client.send("GET", "/v1/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert client.send("GET", "/v1/docs.css").headers["content-type"].startswith("text/css")


def test_a_user_can_be_added_and_revoked(served: Served) -> None:
    owner = served.client("owner")
    made = owner.send("POST", "/v1/users", {"name": "passing", "role": "auditor"})
    second = owner.send("POST", "/v1/users/passing/keys", {"days": 30})
    assert made.status == second.status == 201
    clients = [Client(served.url, reply.json["key"]) for reply in (made, second)]
    assert [client.send("GET", "/v1/log?limit=1").status for client in clients] == [200, 200]
    assert owner.send("DELETE", "/v1/users/passing").status == 204
    assert [client.send("GET", "/v1/log?limit=1").status for client in clients] == [401, 401]
    assert owner.send("DELETE", "/v1/users/nobody_of_this_name").status == 404
    for client in clients:
        client.close()


def test_the_log_verifies_against_a_head_that_was_kept(served: Served) -> None:
    auditor = served.client("auditor")
    head = auditor.send("GET", "/v1/log/verify").json["head"]
    assert auditor.send("GET", f"/v1/log/verify?head={head}").json["ok"]
    forged = head.partition(":")[0] + ":" + "0" * 64
    assert not auditor.send("GET", f"/v1/log/verify?head={forged}").json["ok"]


def test_how_long_a_client_waits_is_bounded() -> None:
    assert parse_wait("") == 20
    assert parse_wait("wait=0") == 0
    assert parse_wait('foo; wait="7"') == 7
    assert parse_wait("await=5") == 20
    assert parse_wait("wait=99999999999") == 20


def test_nothing_was_unexpected(served: Served) -> None:
    told = served.output()
    assert "unforeseen" not in told
    assert " 500 " not in told
    assert served.errors.read_text().count("\n") == 1
