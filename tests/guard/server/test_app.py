"""The layers around the application: that each request passes them, in the right order, whatever becomes of it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from celosia.core import PureDP
from celosia.core.errors import EngineError, LedgerError
from celosia.guard.auth.identity import Identity
from celosia.guard.config.sections import Limits
from celosia.guard.config.settings import Config
from celosia.guard.server.app import create_app
from celosia.guard.service import Guard
from celosia.serving.access_log import AccessLog
from tests.guard.copies import dump_store, open_copy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

FOLDER, DATASET = "CELOSIA_TEST_FOLDER", "people"
ROLES = ("owner", "curator", "analyst", "auditor")
SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 120

[columns.sex]
kind = "category"
values = ["F", "M"]
"""
ASK = {"dataset": DATASET, "sql": f"SELECT COUNT(*) FROM {DATASET}", "epsilon": "0.01"}
CANARY = "Ana García, 1943"


class Site:
    """An application in this process, with the lines of its access log."""

    def __init__(self, guard: Guard, keys: dict[str, str], portal: BlockingPortal) -> None:
        self.lines: list[str] = []
        self.guard, self.keys, self.portal = guard, keys, portal
        app = create_app(self.guard, access_log=AccessLog(self.lines.append))
        transport = httpx.ASGITransport(app, client=("192.0.2.77", 1))
        self.client = httpx.AsyncClient(transport=transport, base_url="https://guard")

    def send(self, method: str, path: str, who: str | None = "analyst", **kwargs: Any) -> httpx.Response:
        headers = kwargs.pop("headers", {}) | ({} if who is None else {"Authorization": f"Bearer {self.keys[who]}"})
        return self.portal.call(partial(self.client.request, method, path, headers=headers, **kwargs))

    def ask(self, key: str = "k", **kwargs: Any) -> httpx.Response:
        return self.send("POST", "/v1/queries", json=ASK, headers={"Idempotency-Key": key}, **kwargs)


Make = Callable[..., AbstractContextManager[Site]]


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as started:
        yield started


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, str]]:
    """The store of a guard that is set up, and a key for each role; its data set is where the environment says."""
    folder, local = tmp_path_factory.mktemp("template"), Identity.local()
    write_rows(folder)
    with pytest.MonkeyPatch.context() as environment, Guard.open(Config(store="memory://")) as guard:
        environment.setenv(FOLDER, str(folder))
        keys = {role: guard.add_user(local, role, role) for role in ROLES}
        guard.add_dataset(local, DATASET, f"${{{FOLDER}}}/{DATASET}.csv", SCHEMA)
        guard.set_budget(local, PureDP(epsilon=1), dataset=DATASET)
        return dump_store(guard), keys


@pytest.fixture
def site(
    template: tuple[bytes, dict[str, str]], portal: BlockingPortal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Make:
    """Open a site with some settings and limits."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    write_rows(tmp_path)

    @contextmanager
    def make(*, limits: Mapping[str, int] | None = None, **settings: Any) -> Iterator[Site]:
        most = Limits(**{"requests_per_minute": 1_000_000, "waiting": 1000} | dict(limits or {}))
        given: dict[str, Any] = {"workers": 2, "slot_milliseconds": 0} | settings
        config = Config(store="memory://", limits=most, **given)
        dumped, keys = template
        with open_copy(dumped, config) as guard:
            yield Site(guard, keys, portal)

    return make


def write_rows(folder: Path) -> None:
    rows = [f"{number % 90},{'FM'[number % 2]}" for number in range(60)]
    (folder / f"{DATASET}.csv").write_text("\n".join(["age,sex", *rows]) + "\n")


def test_every_reply_is_adorned_and_numbered(site: Make) -> None:
    with site() as here:
        for reply in (
            here.ask(),
            here.send("GET", "/v1/datasets", None),
            here.send("GET", "/nowhere"),
            here.send("PATCH", "/v1/budget"),
            here.send("GET", "/v1/docs", None),
            here.send("GET", "/sign-in", None),
        ):
            assert reply.headers["x-frame-options"] == "DENY"
            assert reply.headers["cache-control"] == "no-store"
            assert "default-src 'none'" in reply.headers["content-security-policy"]
            assert len(reply.headers["x-request-id"]) == 16
        assert len(here.lines) == 6
        assert [line.split()[1:4] for line in here.lines] == [
            ["POST", "/v1/queries", "200"],
            ["GET", "/v1/datasets", "401"],
            ["GET", "-", "404"],
            ["PATCH", "/v1/budget", "405"],
            ["GET", "/v1/docs", "200"],
            ["GET", "/sign-in", "200"],
        ]


def test_the_unexpected_has_no_details_everywhere(site: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_kwargs: object) -> None:
        raise KeyError(CANARY)

    with site() as here:
        monkeypatch.setattr(here.guard, "ask", broken)
        monkeypatch.setattr(here.guard, "datasets", broken)
        for reply in (here.ask(), here.send("GET", "/v1/datasets")):
            assert reply.status_code == 500
            assert reply.headers["content-type"] == "application/problem+json"
            assert reply.json()["request"] == reply.headers["x-request-id"]
            assert CANARY not in reply.text
        told = "".join(here.lines)
        assert CANARY not in told
        assert told.count("unforeseen KeyError at") == 2


@pytest.mark.parametrize(("error", "status"), [(LedgerError("host=db password=x"), 503), (EngineError("rows"), 502)])
def test_failures_of_stores_are_told_in_fixed_words(
    site: Make, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def broken(*_args: object, **_kwargs: object) -> None:
        raise error

    with site() as here:
        monkeypatch.setattr(here.guard, "ask", broken)
        reply = here.ask()
        assert reply.status_code == status
        assert str(error) not in reply.text
        assert ("retry-after" in reply.headers) == (status == 503)


def test_a_question_that_failed_before_stays_failed(site: Make, tmp_path: Path) -> None:
    with site() as here:
        (tmp_path / f"{DATASET}.csv").unlink()
        first, second = here.ask("lost"), here.ask("lost")
        assert first.status_code == second.status_code == 502
        assert first.json()["detail"] == second.json()["detail"]


def test_spending_replies_leave_on_ticks_whatever_they_are(site: Make) -> None:
    slot = 50
    with site(slot_milliseconds=slot, limits={"requests_per_minute": 20}) as here:
        here.ask("warm")
        seen = []
        for key, who in (("warm", "analyst"), ("", "analyst"), ("warm", "owner"), ("warm", None), ("warm", "analyst")):
            before = time.monotonic_ns()
            reply = here.ask(key, who=who)
            after = time.monotonic_ns()
            seen.append(reply.status_code)
            assert after // (slot * 10**6) > before // (slot * 10**6)  # a tick lies between
        assert seen == [200, 400, 403, 401, 429]


SPELLINGS = {
    "as it is": ("/v1/queries", 200),
    "escaped letters": ("/v1/%71ueries", 200),
    "an escaped slash": ("/v1%2Fqueries", 200),
    "a line break": ("/v1/queries%0A", 404),
    "a return": ("/v1/queries%0D", 404),
    "nothing": ("/v1/queries%00", 404),
    "two slashes": ("//v1/queries", 404),
    "two slashes within": ("/v1//queries", 404),
    "a last slash": ("/v1/queries/", 404),
    "capitals": ("/V1/Queries", 404),
    "a dot": ("/v1/%2E/queries", 404),
    "a parameter": ("/v1/queries;x", 404),
    "a blank": ("/v1/queries%20", 404),
    "a separator of lines": ("/v1/queries%E2%80%A8", 404),
}


def test_no_spelling_of_a_path_escapes_the_clock(site: Make) -> None:
    slot = 30
    with site(slot_milliseconds=slot) as here:
        for spelling, (path, status) in SPELLINGS.items():
            known = len(here.guard.ledger.reservations())
            body = ASK | {"sql": f'SELECT COUNT(*) AS "{spelling}" FROM {DATASET}'}
            before = time.monotonic_ns()
            reply = here.send("POST", path, json=body, headers={"Idempotency-Key": spelling})
            after = time.monotonic_ns()
            assert reply.status_code == status
            asked = len(here.guard.ledger.reservations()) > known
            assert asked == (status == 200)
            assert not asked or after // (slot * 10**6) > before // (slot * 10**6)


def test_a_line_break_leads_nowhere(site: Make) -> None:
    with site() as here:
        for path in ("/v1/queries%0A", f"/datasets/{DATASET}/ask%0A", "/v1/previews%0A", "/%0A"):
            assert here.send("POST", path, json=ASK, headers={"Idempotency-Key": "k"}).status_code == 404
            assert here.send("GET", path).status_code == 404


def test_a_header_that_is_there_twice_is_refused(site: Make) -> None:
    with site() as here:
        key = f"Bearer {here.keys['analyst']}"
        once = {"Authorization": key, "Content-Type": "application/json", "Idempotency-Key": "k"}
        for name, value in once.items():
            headers = [*once.items(), (name, value)]
            post = partial(here.client.request, "POST", "/v1/queries", json=ASK, headers=headers)
            reply = here.portal.call(post)
            assert reply.status_code == 400
            assert name in reply.json()["detail"]
            assert not here.guard.ledger.reservations()


def test_requests_are_limited_by_key_and_by_address(site: Make) -> None:
    with site(limits={"requests_per_minute": 5}) as here:
        statuses = [here.send("GET", "/v1/budget").status_code for _ in range(7)]
        assert statuses == [200] * 5 + [429] * 2
        limited = here.send("GET", "/v1/budget")
        assert int(limited.headers["retry-after"]) >= 1
        assert limited.json()["error"] == "TooManyRequestsError"
        assert here.send("GET", "/v1/budget", "owner").status_code == 200
        assert [here.send("GET", "/v1/health", None).status_code for _ in range(6)] == [200] * 5 + [429]


@pytest.mark.parametrize("path", ["/v1/health", "/v1/openapi.json", "/sign-in", "/nowhere", "/v1/nowhere"])
def test_a_made_up_key_does_not_switch_the_limit_of_an_address_off(site: Make, path: str) -> None:
    with site(limits={"requests_per_minute": 3}) as here:
        replies = [here.send("GET", path, None, headers={"Authorization": "x"}) for _ in range(5)]
        assert [reply.status_code == 429 for reply in replies] == [False] * 3 + [True] * 2


def test_one_analyst_leaves_places_to_others(site: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with site(limits={"waiting": 8}, workers=1) as here:
        started, go_on, preview = threading.Semaphore(0), threading.Event(), here.guard.preview

        def slow(*args: Any) -> Any:
            started.release()
            assert go_on.wait(600)
            return preview(*args)

        monkeypatch.setattr(here.guard, "preview", slow)
        ask = partial(here.send, "POST", "/v1/previews", json=ASK)
        with ThreadPoolExecutor(2) as pool:
            held = [pool.submit(ask) for _ in range(2)]
            assert all(started.acquire(timeout=600) for _ in held)
            assert (ask().status_code, here.ask().status_code) == (503, 503)
            go_on.set()
            assert [one.result().status_code for one in held] == [200, 200]
        assert ask().status_code == 200


def test_wrong_keys_are_limited_more_strictly(site: Make) -> None:
    with site(limits={"requests_per_minute": 60}) as here:
        headers = {"Authorization": "Bearer celosia_000000000000_" + "0" * 64}
        statuses = [here.send("GET", "/v1/budget", None, headers=headers).status_code for _ in range(5)]
        assert statuses == [401, 401, 401, 429, 429]


def test_wrong_keys_on_the_sign_in_page_count_too(site: Make) -> None:
    with site(limits={"requests_per_minute": 60}) as here:
        page = here.send("GET", "/sign-in", None)
        [token] = re.findall(r'name="token" value="([^"]+)"', page.text)[:1]
        headers = {"Origin": "https://guard", "Sec-Fetch-Site": "same-origin"}
        form = {"key": "wrong", "token": token}
        statuses = [here.send("POST", "/sign-in", None, data=form, headers=headers).status_code for _ in range(5)]
        assert statuses == [401, 401, 401, 429, 429]


def test_bodies_are_limited(site: Make) -> None:
    with site(limits={"body_bytes": 1024}) as here:
        long = {"Content-Type": "application/json", "Idempotency-Key": "long"}
        assert here.send("POST", "/v1/queries", content=b" " * 1025, headers=long).status_code == 413
        assert here.send("POST", "/sign-in", None, data={"key": "x" * 2000}).status_code == 413


def test_behind_a_proxy_addresses_are_those_of_askers(site: Make) -> None:
    with site(behind_proxy=True, limits={"requests_per_minute": 2}) as here:

        def ask(address: str) -> int:
            headers = {"X-Forwarded-For": f"203.0.113.5, {address}", "X-Forwarded-Proto": "https"}
            reply = here.send("GET", "/v1/health", None, headers=headers)
            assert "strict-transport-security" in reply.headers
            return int(reply.status_code)

        assert [ask("192.0.2.1") for _ in range(3)] == [200, 200, 429]
        assert ask("192.0.2.2") == 200
