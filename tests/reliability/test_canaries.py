"""Canaries stand in the data, in keys and in passwords: after everything was asked of a server, none has left it.

Every route of the API and every page is asked, by every role, rightly and wrongly, while the data are there and after
they were taken away, spoilt or dropped; then replies, logs, the ledger and the file of the store are searched.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import shutil
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import pytest

from celosia.core import ApproxDP
from celosia.guard.web.routes import PAGES
from celosia.learn.io.model_file import model_from_json
from celosia.ledger import Policy
from tests.reliability.canaries import (
    FOLDER,
    NUMBERS,
    PASSWORD,
    SCHEMA,
    TEXTS,
    Exchange,
    RecordingClient,
    leaks,
    write_rows,
)
from tests.reliability.inside import LOCAL
from tests.reliability.serving import ROLES, start_server

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.reliability.serving import Served

pytestmark = pytest.mark.xdist_group("canaries")  # what is started for them is started once

SMALL = "0.0000001"  # so that a noisy number is a canary with a chance of less than one in a million
MARK = "asked_zz81"
QUESTIONS = [
    "SELECT COUNT(*) AS {mark} FROM {name}",
    "SELECT sex, COUNT(*) AS {mark} FROM {name} GROUP BY sex",
    "SELECT MEDIAN(income) AS {mark} FROM {name}",
    "SELECT name, COUNT(*) AS {mark} FROM {name} GROUP BY name",
]
MODELS = ["PCA", "GaussianNB", "CategoricalNB"]  # the last is refused: a name is no category
WRONG = [
    "SELECT * FROM {name}",
    "SELECT MAX(name) AS {mark} FROM {name}",
    "SELECT COUNT(*) AS {mark} FROM {name} WHERE name LIKE 'E%'",
    "SELECT nobody FROM {name}",
    "SELECT SUM(income / (income - income)) AS {mark} FROM {name}",
    "SELECT COUNT(*) FROM nowhere",
    "'",
]


@dataclass
class Everything:
    """A server and all who ask it."""

    served: Served
    names: list[str]
    watchers: dict[str, RecordingClient]
    shown: dict[str, Exchange] = field(default_factory=dict)
    stored: bytes = b""
    exported: str = ""

    @property
    def exchanges(self) -> Iterator[Exchange]:
        return itertools.chain.from_iterable(watcher.kept for watcher in self.watchers.values())

    @property
    def secrets(self) -> list[str]:
        """The secret parts of all keys, and what browsers were given to be known by."""
        keys = [key.rpartition("_")[2] for key in (*self.served.keys.values(), *self.shown)]
        return keys + [value for one in self.watchers.values() for value in one.cookies.values() if len(value) == 64]

    def may_see(self, exchange: Exchange) -> set[str]:
        """The secrets that a reply is there to tell: a new key, this once, and the browser's own cookies."""
        new = {key.rpartition("_")[2] for key, shown in self.shown.items() if shown is exchange}
        return new | set(self.watchers[exchange.who].cookies.values())


def _postgres(request: pytest.FixtureRequest) -> str | None:
    """An address with a password in it, of a database with the same rows; None where there is no PostgreSQL."""
    try:
        address: str = request.getfixturevalue("postgres")
    except pytest.skip.Exception:
        return None
    parts = urlsplit(address)
    user = parts.username or "postgres"
    return urlunsplit(parts._replace(netloc=f"{user}:{PASSWORD}@{parts.hostname or ''}"))


def _write_table(address: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS canary_rows")
        connection.execute("CREATE TABLE canary_rows (who BIGINT, income DOUBLE PRECISION, name TEXT, sex TEXT)")
        connection.execute(
            "INSERT INTO canary_rows SELECT n, n %% 9000 + 0.25, 'Ana', CASE WHEN n <= %s THEN 'F' ELSE 'M' END "
            "FROM generate_series(1, %s) AS n",
            [NUMBERS[1], NUMBERS[0]],
        )
        connection.execute(
            "UPDATE canary_rows SET who = %s, income = %s, name = %s WHERE who = 77",
            [int(TEXTS[2]), float(TEXTS[0]), TEXTS[1]],
        )


def _drop_table(address: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE canary_rows")


# ---------------------------------------------------------------------------------------------------- asking everything


@dataclass(frozen=True, slots=True)
class Turn:
    """What is asked, and of which data sets: of those in ``full`` everything that is wrong as well."""

    number: int  # part of every question, so that no stored answer fits
    names: list[str]
    full: list[str]
    roles: tuple[str, ...] = (*ROLES, "nobody")

    def questions(self, one: RecordingClient, dataset: str) -> list[str]:
        """All of them by those who may ask; to the others one is refused as the next."""
        if one.who != "analyst" or dataset not in self.names:
            return [QUESTIONS[0], WRONG[0]]
        # While data are there, all data sets of an engine answer alike; what is wrong is refused before they are read.
        right = QUESTIONS if dataset in self.full or not self.full else QUESTIONS[:1]
        return [*right, *(WRONG if dataset in self.full else WRONG[:1])]

    def questions_on_pages(self, one: RecordingClient, dataset: str) -> list[str]:
        """All of them of one data set: a page shows what the API tells."""
        return self.questions(one, dataset) if dataset in self.full[:1] else [QUESTIONS[0], WRONG[0]]


def ask_the_api(one: RecordingClient, turn: Turn) -> None:
    """Every route with something right and something wrong."""
    names = turn.names
    one.api("GET", "/v1/health")
    one.api("GET", "/v1/datasets")
    for name in (*names, "nowhere"):
        one.api("GET", "/v1/datasets/{name}", name=name)
        one.api("GET", "/v1/datasets/{name}/dummy", name=name)
        for place, sql in enumerate(turn.questions(one, name)):
            asked = {
                "dataset": name,
                "sql": sql.format(name=name, mark=f"{MARK}_{turn.number}_{place}"),
                "epsilon": SMALL,
            }
            delta = {"delta": "1e-9"} if "GROUP BY name" in sql else {}
            one.api("POST", "/v1/previews", asked | delta)
            one.api("POST", "/v1/queries", asked | delta, key=f"{turn.number} {name} {place}")
        one.api("GET", "/v1/budget", query=f"dataset={name}")
    for place, (features, target) in enumerate([(["income"], None), (["income"], "sex"), (["name"], "sex")]):
        fit = {"dataset": names[0], "model": MODELS[place], "parameters": {"epsilon": "0.001"}, "features": features}
        where = {"where": f"income <> {turn.number}"}  # so that no stored answer fits
        one.api("POST", "/v1/models", fit | where | {"target": target}, key=f"{turn.number} model {place}")
    one.api("POST", "/v1/models", fit | {"parameters": {"source": "Seeded(7)"}}, key="wrong model")
    one.api("POST", "/v1/queries", b"{", key="broken")
    one.api("POST", "/v1/queries", {"dataset": names[0], "sql": "SELECT 1", "epsilon": "x"}, key="wrong")
    one.api("POST", "/v1/queries", {"dataset": names[0]})
    listed = one.api("GET", "/v1/queries", query="limit=50")
    ids = [answer["id"] for answer in listed.json["queries"]] if listed.status == 200 else []
    for number in [*(ids if turn.full else ids[:2]), "0" * 32]:  # what was answered before stays as it was
        one.api("GET", "/v1/queries/{id}", id=number)
        one.api("DELETE", "/v1/queries/{id}", id=number)
    costly = {"dataset": names[0], "sql": f"SELECT SUM(income) FROM {names[0]}", "epsilon": "0.9", "delta": "1e-9"}
    one.api("POST", "/v1/queries", costly, key=f"{turn.number} costly")
    listed = one.api("GET", "/v1/approvals")
    filed = [approval["id"] for approval in listed.json["approvals"]] if listed.status == 200 else []
    for number in [*filed[:1], "0" * 12]:
        one.api("PUT", "/v1/approvals/{id}", {"granted": False, "reason": "too much"}, id=number)
    one.api("GET", "/v1/queries", query="limit=x")
    one.api("GET", "/v1/budget")
    one.api("PUT", "/v1/budget", {"analyst": "analyst", "epsilon": "0.5", "delta": "1e-6"})
    one.api("PUT", "/v1/budget", {"dataset": names[0], "epsilon": "nan"})
    one.api(
        "PUT", "/v1/datasets/{name}/columns/{column}/bounds", {"low": 0, "high": 10000}, name=names[0], column="income"
    )
    one.api("PUT", "/v1/datasets/{name}/columns/{column}/bounds", {"low": 9, "high": 1}, name=names[0], column="income")
    one.api("POST", "/v1/datasets/{name}/versions", name=names[0])
    for change in ({"title": f"Canaries {turn.number}"}, {"schema": SCHEMA}, {"schema": "no toml"}, {"retired": False}):
        one.api("PATCH", "/v1/datasets/{name}", change, name=names[0])
    for name in (names[0], "nowhere"):
        one.api("GET", "/v1/datasets/{name}/schema", name=name)
    for query in ("limit=1000", "format=csv", f"format=jsonl&dataset={names[0]}", "text=Eva&since=x"):
        one.api("GET", "/v1/log", query=query)
    one.api("GET", "/v1/log/verify")
    one.api("GET", "/v1/log/verify", query="head=x")
    one.api("GET", "/v1/users")
    one.api("POST", "/v1/users", {"name": "ana", "role": "root"})
    one.api("POST", "/v1/users/{name}/keys", {"days": 0}, name="analyst")
    one.api("DELETE", "/v1/users/{name}", name="nobody")
    for path in ("/v1/docs", "/v1/docs.css", "/v1/openapi.json", "/v1/nowhere"):
        one.api("GET", path)


def ask_the_pages(one: RecordingClient, turn: Turn) -> None:
    """Every page with something right and something wrong."""
    names = turn.names
    pages = [page.path for page in PAGES if page.method == "GET" and "{id}" not in page.path]
    for path in pages:
        if "{name}" not in path:
            one.look(path)
    for name in ("nowhere", *reversed(names)):
        for path in pages:
            if "{name}" in path:
                one.look(path, name=name)
        one.look("/datasets/{name}/ask", name=name)
        for place, sql in enumerate(turn.questions_on_pages(one, name)):
            form = {"tab": "sql", "sql": sql.format(name=name, mark=f"{MARK}_{turn.number}_{place}"), "epsilon": SMALL}
            form |= {"delta": "1e-9"} if "GROUP BY name" in sql else {}
            one.fill("/datasets/{name}/preview", form, name=name, fragment=place % 2 == 0)
            one.fill("/datasets/{name}/ask", form | {"key": f"page {turn.number} {name} {place}"}, name=name)
        chosen = {"tab": "form", "aggregate": "mean", "column": "income", "group": "sex", "epsilon": "0.0001"}
        one.fill("/datasets/{name}/preview", chosen, name=name)
        one.fill("/datasets/{name}/bounds", {"column": "income", "low": "0", "high": "10000"}, name=name)
        one.fill("/datasets/{name}/bounds", {"column": "income", "low": "9", "high": "1"}, name=name)
        one.fill("/datasets/{name}/versions", {"confirm": "yes"}, name=name)
        for form in ({"retired": "yes"}, {"retired": "yes", "confirm": "yes"}, {"retired": "no"}):
            one.fill("/datasets/{name}/retirement", form, name=name)
        one.fill("/datasets/{name}/sharing", {"who": "some", "others": "nobody"}, name=name)
        one.fill("/datasets/{name}/schema", {"schema": "no toml", "was": "0"}, name=name)
    answers = one.look("/answers")
    ids = [part[:32] for part in answers.body.decode().split('href="/answers/')[1:]]
    for number in [*ids[: 5 if turn.full else 1], "0" * 32]:  # the last are one of each question
        for part in (
            "/answers/{id}",
            "/answers/{id}/cancel",
            *(f"/answers/{{id}}/{kind}" for kind in ("chart.json", "chart.svg", "answer.csv", "answer.json")),
        ):
            one.look(part, id=number)
        one.fill("/answers/{id}/cancel", {}, id=number)
    one.fill("/budget", {"dataset": names[0], "kind": "approx", "epsilon": "x", "delta": "1e-6"})
    one.fill("/approvals", {"id": "0" * 12, "decision": "denied"})
    one.fill("/approvals/ask", {"id": "x"})
    one.fill("/new-dataset", {"file": "../canaries.csv", "step": "add", "name": "more", "schema": "no toml"})
    one.fill("/dashboard", {"id": ids[0] if ids else "0" * 32, "name": f"saved {turn.number}"})
    one.fill("/dashboard/forget", {"name": "nothing"})
    one.fill("/log", {"head": ""})
    one.fill("/log", {"head": "x"})
    one.fill("/users", {"name": "ana", "role": "root", "days": "x"})
    one.look("/log/export", query="format=csv&user=analyst")
    one.fill("/users/revoke", {"name": "nobody"})
    one.fill("/users/revoke", {"name": "nobody", "confirm": "yes"})
    one.send("POST", "/sign-out", content=b"token=0", headers={"Content-Type": "application/x-www-form-urlencoded"})


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Everything]:
    folder = tmp_path_factory.mktemp("canaries")
    (folder / FOLDER).mkdir()
    files = {name: folder / FOLDER / f"{name}.parquet" for name in ("kept", "taken", "spoilt")}
    write_rows(files["kept"])
    for name in ("taken", "spoilt"):
        shutil.copy(files["kept"], files[name])
    address = _postgres(request)
    names = [*files]
    with start_server(folder, workers=1) as served:
        with served.guard() as guard:
            for name, path in files.items():
                guard.add_dataset(LOCAL, name, str(path), SCHEMA)
            if address is not None:
                _write_table(address)
                guard.add_dataset(LOCAL, "dropped", address, SCHEMA, table="canary_rows")
                names.append("dropped")
            for name in names:
                budget = Policy(limit=ApproxDP(epsilon=1, delta="1e-6"), approval_above=Fraction(1, 2))
                guard.set_budget(LOCAL, budget, dataset=name)
        watchers = {role: RecordingClient(served.url, role, served.keys[role]) for role in ROLES}
        watchers["nobody"] = RecordingClient(served.url, "nobody")
        asked = Everything(served, names, watchers)
        ask(asked, Turn(1, names, [names[0], names[-1]]))
        files["taken"].unlink()
        files["spoilt"].write_bytes(b"PAR1" + TEXTS[1].encode() * 1_000 + b"PAR1")
        if address is not None:
            _drop_table(address)
        ask(asked, Turn(2, names[1:], [], ("owner", "curator", "analyst")))  # to the others data sets are names
        add_users(asked)
        with served.guard() as guard:
            written = io.StringIO()
            guard.ledger.export(written)
            asked.exported = written.getvalue()
            assert guard.ledger.verify().ok
        asked.stored = b"".join(path.read_bytes() for path in folder.glob("ledger.db*"))
        for path in folder.glob("ledger.db*"):
            path.write_bytes(TEXTS[1].encode() * 1_000)
        ask(asked, Turn(3, names[:1], [], ("analyst", "nobody")))  # no key is known any more
        yield asked


def add_users(asked: Everything) -> None:
    """Add users as a program and on a page: their keys are shown once, and belong nowhere else from then on."""
    owner = asked.watchers["owner"]
    reply = owner.api("POST", "/v1/users", {"name": "eva", "role": "analyst"})
    asked.shown[reply.json["key"]] = reply
    owner.look("/users")
    page = owner.fill("/users", {"name": "ada", "role": "auditor", "days": "7"})
    found = re.search(r"celosia_[0-9a-f]{12}_[0-9a-f]{64}", page.body.decode())
    assert found
    asked.shown[found[0]] = page
    for one in ("/v1/users", "/v1/log", "/users", "/log"):
        owner.api("GET", one)
        owner.look(one)
        asked.watchers["auditor"].look(one)
    asked.watchers["auditor"].api("GET", "/v1/log", query="limit=1000")


def ask(asked: Everything, turn: Turn) -> None:
    # All of it by those who may ask; one data set is enough to see what others are told.
    short = replace(turn, names=turn.names[:1])
    for who in turn.roles:
        watcher = asked.watchers[who]
        if turn.full and watcher.key:
            watcher.sign_in("es" if who in {"curator", "analyst"} else "en")
        ask_the_api(watcher, turn if who == "analyst" else short)
        ask_the_pages(watcher, turn if who == "analyst" else short)


# ------------------------------------------------------------------------------------------------------ finding nothing


def found_in_replies(asked: Everything, exchanges: Iterable[Exchange]) -> list[str]:
    """The leaks in replies, each with where it was."""
    found, all_secrets = [], set(asked.secrets)
    for one in exchanges:
        secrets = sorted(all_secrets - asked.may_see(one))
        told = list(leaks(one.text, secrets=secrets, pictures=one.is_picture))
        told += [FOLDER] if one.who in {"analyst", "nobody"} and FOLDER in one.text else []
        found += [f"{one.who} {one.method} {one.route} {one.status}: {leak}" for leak in told]
    return found


def test_everything_was_asked(everything: Everything) -> None:
    document = everything.watchers["owner"].api("GET", "/v1/openapi.json").json
    routes = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    routes |= {(page.method, page.path) for page in PAGES}
    for who in everything.watchers:
        asked = {(one.method, one.route) for one in everything.watchers[who].kept}
        missing = (
            routes
            - asked
            - ({("POST", "/sign-in"), ("GET", "/sign-in"), ("GET", "/datasets")} if who == "nobody" else set())
        )
        assert not missing, (who, missing)
    statuses = {one.status for one in everything.exchanges}
    assert {200, 201, 303, 400, 401, 403, 404, 422, 502, 503} <= statuses
    assert 500 not in statuses, [(one.method, one.route) for one in everything.exchanges if one.status == 500]


def test_questions_were_answered_and_then_failed(everything: Everything) -> None:
    asked = [one for one in everything.watchers["analyst"].kept if (one.method, one.route) == ("POST", "/v1/queries")]
    answered = [one for one in asked if one.status == 200]
    failed = [one for one in asked if one.status == 502]
    assert len(answered) >= 2 * len(QUESTIONS) + len(everything.names) - 2  # two data sets in full, one of the others
    assert len(failed) >= (len(everything.names) - 1) * len(QUESTIONS)
    assert len({one.json["detail"] for one in failed}) == 1


def test_models_were_fitted_and_their_arrays_hold_no_canary(everything: Everything) -> None:
    asked = [one for one in everything.watchers["analyst"].kept if (one.method, one.route) == ("POST", "/v1/models")]
    fitted = [one.json["release"] for one in asked if one.status == 200]
    assert {"PCA", "GaussianNB"} <= {document["model"] for document in fitted}
    assert {422, 502} <= {one.status for one in asked}
    for document in fitted:  # arrays are written in base64
        learned = vars(model_from_json(document))
        assert list(leaks(repr({name: np.asarray(value).tolist() for name, value in learned.items()}))) == []


def test_no_canary_is_in_any_reply(everything: Everything) -> None:
    assert found_in_replies(everything, everything.exchanges) == []


def test_dummy_rows_are_the_same_whatever_became_of_the_data(everything: Everything) -> None:
    kept = [one for one in everything.exchanges if one.route.endswith("/dummy") and one.status == 200]
    assert len(kept) > 2 * len(everything.names)  # as programs and on pages, before and after the data were spoilt
    assert len({one.body for one in kept}) == 1


def test_no_canary_is_in_the_servers_log(everything: Everything) -> None:
    printed = everything.served.log.read_text() + everything.served.errors.read_text()
    assert "POST /v1/queries 200" in printed
    assert list(leaks(printed, secrets=[*everything.secrets, FOLDER, MARK, "SELECT"])) == []


def test_no_canary_is_in_the_ledger(everything: Everything) -> None:
    assert len(everything.exported.splitlines()) > 50
    assert list(leaks(everything.exported, secrets=everything.secrets)) == []


def test_keys_are_in_the_store_only_as_hashes(everything: Everything) -> None:
    stored = everything.stored
    assert len(stored) > 10_000
    for secret in (*everything.secrets, *TEXTS):
        assert secret.encode() not in stored
    for key in (*everything.served.keys.values(), *everything.shown):
        assert key.encode() not in stored
        assert bytes.fromhex(key.rpartition("_")[2]) not in stored
        assert key.split("_")[1].encode() in stored, "the id by which a key is revoked"


# -------------------------------------------------------------------------------------------- leaks that must be found


def _told(text: str, who: str = "analyst", kind: str = "application/json") -> Exchange:
    return Exchange(who, "GET", "/v1/datasets", 200, [("content-type", kind)], text.encode())


PLANTED = [
    f"There are {NUMBERS[0]} rows.",
    json.dumps({"rows": NUMBERS[0]}),
    f"<td>{NUMBERS[1]:,}</td>",
    f"<td>{NUMBERS[1]:,}</td>".replace(",", "."),
    f"{NUMBERS[2]:,}".replace(",", "\u202f"),
    f"n={NUMBERS[2]}.",
    f"Could not convert '{TEXTS[1]}' to INT64",
    f'{{"values": [{TEXTS[0]}]}}',
    f"person {TEXTS[2]}",
    'Traceback (most recent call last):\n  File "x.py", line 1, in y',
    f"connection to postgresql://postgres:{PASSWORD}@db failed",
    f"No files found that match /srv/{FOLDER}/kept.parquet",
]


def test_a_planted_leak_is_found(everything: Everything) -> None:
    for text in PLANTED:
        assert found_in_replies(everything, [_told(text)]), text
    assert not found_in_replies(everything, [_told("There are no rows.")])


def test_a_planted_key_is_found_in_replies_and_logs(everything: Everything) -> None:
    key = everything.served.keys["owner"]
    line = f"2026-01-01T00:00:00Z GET /v1/users 200 Authorization: Bearer {key}\n"
    assert list(leaks(line, secrets=everything.secrets))
    headers = Exchange("owner", "GET", "/v1/users", 200, [("location", f"/users?key={key}")], b"")
    assert found_in_replies(everything, [headers])


def test_numbers_that_only_look_alike_are_no_leak() -> None:
    alike = ["1047290", "0.104729", "104729a", "ab104729", "1104729", "104729.5", "2026-01-01T00:00:00.104729+00:00"]
    for text in alike:
        assert list(leaks(text)) == [], text
