"""The layers around the application: that each request passes them, in the right order, whatever becomes of it."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from celosia.core.errors import EngineError, LedgerError
from celosia.guard.config.settings import Config
from celosia.guard.http.access_log import AccessLog
from celosia.guard.server.app import create_app
from celosia.guard.service import Guard
from tests.reliability.serving import DATASET, set_up

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

ASK = {"dataset": DATASET, "sql": f"SELECT COUNT(*) FROM {DATASET}", "epsilon": "0.01"}
CANARY = "Ana García, 1943"


class Site:
    """An application in this process, with the lines of its access log."""

    def __init__(self, path: Path, keys: dict[str, str], portal: BlockingPortal) -> None:
        self.lines: list[str] = []
        self.keys = keys
        self.guard = Guard.open(Config.read(path))
        self.portal = portal
        app = create_app(self.guard, access_log=AccessLog(self.lines.append))
        transport = httpx.ASGITransport(app, client=("192.0.2.77", 1))
        self.client = httpx.AsyncClient(transport=transport, base_url="https://guard")

    def send(self, method: str, path: str, who: str | None = "analyst", **kwargs: Any) -> httpx.Response:
        headers = kwargs.pop("headers", {}) | ({} if who is None else {"Authorization": f"Bearer {self.keys[who]}"})
        return self.portal.call(partial(self.client.request, method, path, headers=headers, **kwargs))

    def ask(self, key: str = "k", **kwargs: Any) -> httpx.Response:
        return self.send("POST", "/v1/queries", json=ASK, headers={"Idempotency-Key": key}, **kwargs)


@contextmanager
def site(folder: Path, **config: Any) -> Iterator[Site]:
    with start_blocking_portal() as portal:
        made = Site(*set_up(folder, **config), portal)
        with made.guard:
            yield made


def test_every_reply_is_adorned_and_numbered(tmp_path: Path) -> None:
    with site(tmp_path) as here:
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


def test_the_unexpected_has_no_details_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_kwargs: object) -> None:
        raise KeyError(CANARY)

    with site(tmp_path) as here:
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def broken(*_args: object, **_kwargs: object) -> None:
        raise error

    with site(tmp_path) as here:
        monkeypatch.setattr(here.guard, "ask", broken)
        reply = here.ask()
        assert reply.status_code == status
        assert str(error) not in reply.text
        assert ("retry-after" in reply.headers) == (status == 503)


def test_a_question_that_failed_before_stays_failed(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        (tmp_path / f"{DATASET}.csv").unlink()
        first, second = here.ask("lost"), here.ask("lost")
        assert first.status_code == second.status_code == 502
        assert first.json()["detail"] == second.json()["detail"]


def test_spending_replies_leave_on_ticks_whatever_they_are(tmp_path: Path) -> None:
    slot = 50
    with site(tmp_path, slot_milliseconds=slot, limits={"requests_per_minute": 20}) as here:
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


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_a_path_escapes_the_clock(tmp_path: Path, spelling: str) -> None:
    slot, (path, status) = 30, SPELLINGS[spelling]
    with site(tmp_path, slot_milliseconds=slot) as here:
        before = time.monotonic_ns()
        reply = here.send("POST", path, json=ASK, headers={"Idempotency-Key": "k"})
        after = time.monotonic_ns()
        assert reply.status_code == status
        asked = bool(here.guard.ledger.reservations())
        assert asked == (status == 200)
        assert not asked or after // (slot * 10**6) > before // (slot * 10**6)


@pytest.mark.parametrize("path", ["/v1/queries%0A", f"/datasets/{DATASET}/ask%0A", "/v1/previews%0A", "/%0A"])
def test_a_line_break_leads_nowhere(tmp_path: Path, path: str) -> None:
    with site(tmp_path) as here:
        assert here.send("POST", path, json=ASK, headers={"Idempotency-Key": "k"}).status_code == 404
        assert here.send("GET", path).status_code == 404


@pytest.mark.parametrize("name", ["Authorization", "Content-Type", "Idempotency-Key"])
def test_a_header_that_is_there_twice_is_refused(tmp_path: Path, name: str) -> None:
    with site(tmp_path) as here:
        key = f"Bearer {here.keys['analyst']}"
        once = {"Authorization": key, "Content-Type": "application/json", "Idempotency-Key": "k"}
        headers = [*once.items(), (name, once[name])]
        post = partial(here.client.request, "POST", "/v1/queries", json=ASK, headers=headers)
        reply = here.portal.call(post)
        assert reply.status_code == 400
        assert name in reply.json()["detail"]
        assert not here.guard.ledger.reservations()


def test_requests_are_limited_by_key_and_by_address(tmp_path: Path) -> None:
    with site(tmp_path, limits={"requests_per_minute": 5}) as here:
        statuses = [here.send("GET", "/v1/budget").status_code for _ in range(7)]
        assert statuses == [200] * 5 + [429] * 2
        limited = here.send("GET", "/v1/budget")
        assert int(limited.headers["retry-after"]) >= 1
        assert limited.json()["error"] == "TooManyRequestsError"
        assert here.send("GET", "/v1/budget", "owner").status_code == 200
        assert [here.send("GET", "/v1/health", None).status_code for _ in range(6)] == [200] * 5 + [429]


@pytest.mark.parametrize("path", ["/v1/health", "/v1/openapi.json", "/sign-in", "/nowhere", "/v1/nowhere"])
def test_a_made_up_key_does_not_switch_the_limit_of_an_address_off(tmp_path: Path, path: str) -> None:
    with site(tmp_path, limits={"requests_per_minute": 3}) as here:
        replies = [here.send("GET", path, None, headers={"Authorization": "x"}) for _ in range(5)]
        assert [reply.status_code == 429 for reply in replies] == [False] * 3 + [True] * 2


def test_one_analyst_leaves_places_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with site(tmp_path, limits={"waiting": 8}, workers=1) as here:
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


def test_wrong_keys_are_limited_more_strictly(tmp_path: Path) -> None:
    with site(tmp_path, limits={"requests_per_minute": 60}) as here:
        headers = {"Authorization": "Bearer celosia_000000000000_" + "0" * 64}
        statuses = [here.send("GET", "/v1/budget", None, headers=headers).status_code for _ in range(5)]
        assert statuses == [401, 401, 401, 429, 429]


def test_wrong_keys_on_the_sign_in_page_count_too(tmp_path: Path) -> None:
    with site(tmp_path, limits={"requests_per_minute": 60}) as here:
        page = here.send("GET", "/sign-in", None)
        [token] = re.findall(r'name="token" value="([^"]+)"', page.text)[:1]
        headers = {"Origin": "https://guard", "Sec-Fetch-Site": "same-origin"}
        form = {"key": "wrong", "token": token}
        statuses = [here.send("POST", "/sign-in", None, data=form, headers=headers).status_code for _ in range(5)]
        assert statuses == [401, 401, 401, 429, 429]


def test_bodies_are_limited(tmp_path: Path) -> None:
    with site(tmp_path, limits={"body_bytes": 1024}) as here:
        long = {"Content-Type": "application/json", "Idempotency-Key": "long"}
        assert here.send("POST", "/v1/queries", content=b" " * 1025, headers=long).status_code == 413
        assert here.send("POST", "/sign-in", None, data={"key": "x" * 2000}).status_code == 413


def test_behind_a_proxy_addresses_are_those_of_askers(tmp_path: Path) -> None:
    with site(tmp_path, behind_proxy=True, limits={"requests_per_minute": 2}) as here:

        def ask(address: str) -> int:
            headers = {"X-Forwarded-For": f"203.0.113.5, {address}", "X-Forwarded-Proto": "https"}
            reply = here.send("GET", "/v1/health", None, headers=headers)
            assert "strict-transport-security" in reply.headers
            return int(reply.status_code)

        assert [ask("192.0.2.1") for _ in range(3)] == [200, 200, 429]
        assert ask("192.0.2.2") == 200
