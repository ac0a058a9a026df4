"""Limits: the rate by an oracle that keeps a list, the table in several processes, bodies counted as they arrive."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.serving.limits import (
    AddressLimit,
    BodyLimit,
    ConcurrencyLimit,
    Rates,
    UserConcurrencyLimit,
    client_network,
    too_many_requests,
)
from celosia.serving.problems import HttpError

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

MINUTE = 60 * 10**9
START = 10**15


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now


@given(st.integers(1, 12), st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, MINUTE // 4)), max_size=60))
def test_rates_are_token_buckets(per_minute: int, requests: list[tuple[str, int]]) -> None:
    clock = Clock()
    rates = Rates(64, clock=clock)
    step = MINUTE // per_minute
    tokens = {"a": per_minute * step, "b": per_minute * step}  # in time: a request costs a step
    for who, pause in requests:
        clock.now += pause
        tokens = {name: min(per_minute * step, left + pause) for name, left in tokens.items()}
        wait = rates.take(who, per_minute=per_minute)
        assert (wait == 0) == (tokens[who] >= step)
        if wait == 0:
            tokens[who] -= step
        else:
            assert wait == pytest.approx((step - tokens[who]) / 1e9)


def test_nobody_gets_more_than_the_limit_twice_in_a_minute() -> None:
    clock = Clock()
    rates = Rates(clock=clock)
    admitted = 0
    for _ in range(6000):
        clock.now += MINUTE // 6000
        admitted += rates.take("ana", per_minute=100) == 0
    assert 100 <= admitted <= 201


def test_looking_costs_nothing() -> None:
    rates = Rates(clock=Clock())
    assert [rates.take("ana", per_minute=1, cost=0) for _ in range(5)] == [0.0] * 5
    assert rates.take("ana", per_minute=1) == 0
    assert rates.take("ana", per_minute=1, cost=0) == 60


def test_a_flood_of_names_fills_no_memory_and_forgets_those_who_were_quiet() -> None:
    clock = Clock()
    rates = Rates(8, clock=clock)
    size = len(rates._table)
    rates.take("quiet", per_minute=10)
    for name in range(1000):
        clock.now += 1
        assert rates.take(f"asker {name}", per_minute=10) == 0
    assert len(rates._table) == size == 8 * 16


def test_a_name_may_be_any_text() -> None:
    rates = Rates()
    assert rates.take("\ud800 half a character", per_minute=1) == 0
    assert rates.take("", per_minute=1) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_processes_share_one_limit() -> None:
    rates = Rates()
    read, write = os.pipe()
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            try:
                taken = sum(rates.take("ana", per_minute=100) == 0 for _ in range(100))
                os.write(write, bytes([taken]))
            finally:
                os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    os.close(write)
    taken = sum(os.read(read, 100))
    os.close(read)
    assert taken == 100


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("::ffff:192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8:0:1:2:3:4:5", 1), "2001:db8:0:1::/64"),
        (("2001:db8:0:1:ffff::", 1), "2001:db8:0:1::/64"),
        (("testclient", 1), "-"),
        (None, "-"),
    ],
)
def test_addresses_of_one_household_are_one(client: tuple[str, int] | None, expected: str) -> None:
    assert client_network({"client": client}) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(0.001, "1"), (1.0, "1"), (1.2, "2"), (60.0, "60")])
def test_whoever_asked_too_often_is_told_when_to_come_back(seconds: float, expected: str) -> None:
    assert too_many_requests(seconds).headers == {"Retry-After": expected}


# --------------------------------------------------------------------------------------------------------- layers


def run(layer: Any, scope: dict[str, Any], chunks: tuple[bytes, ...] = ()) -> int:
    """The status of the reply to one request."""
    statuses: list[int] = []
    parts = list(chunks)

    async def receive() -> Message:
        body = parts.pop(0) if parts else b""
        return {"type": "http.request", "body": body, "more_body": bool(parts)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    try:
        anyio.run(
            layer, {"type": "http", "method": "POST", "path": "/", "headers": [], "client": None} | scope, receive, send
        )
    except HttpError as error:
        return error.status_code
    return statuses[0]


def replying(status: int) -> Any:
    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": status, "headers": []})

    return app


@pytest.mark.parametrize(
    ("chunks", "headers", "expected"),
    [
        ((b"12345", b"67890"), [], 200),
        ((b"12345", b"678901"), [], 413),
        ((b"",), [(b"content-length", b"10")], 200),
        ((b"",), [(b"content-length", b"11")], 413),
        ((b"",), [(b"content-length", b"9" * 1000)], 413),
        ((b"",), [(b"content-length", b"-5")], 413),
        ((b"x" * 11,), [(b"content-length", b"1")], 413),
    ],
)
def test_bodies_are_counted_as_they_arrive(
    chunks: tuple[bytes, ...], headers: list[tuple[bytes, bytes]], expected: int
) -> None:
    headers = headers or [(b"transfer-encoding", b"chunked")]
    assert run(BodyLimit(replying(200), most=10), {"headers": headers}, chunks) == expected


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def slow() -> int:
        async def receive() -> Message:
            await anyio.sleep(0.01)
            return {"type": "http.request", "body": b".", "more_body": True}

        async def send(_message: Message) -> None:
            raise AssertionError

        layer = BodyLimit(replying(200), most=1000, seconds=0.1)
        scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", b"1000")]}
        with pytest.raises(HttpError) as caught:
            await layer(scope, receive, send)
        return caught.value.status_code

    assert anyio.run(slow) == 408


def test_what_comes_after_a_body_is_heard() -> None:
    async def heard() -> list[str]:
        messages: list[Message] = [
            {"type": "http.disconnect"},
            {"type": "http.request", "body": b"b", "more_body": False},
            {"type": "http.request", "body": b"a", "more_body": True},
        ]
        seen: list[str] = []

        async def receive() -> Message:
            return messages.pop()

        async def send(_message: Message) -> None:
            raise AssertionError

        async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
            for _ in range(2):
                message = await receive()
                seen.append(message.get("body", b"").decode() or message["type"])

        scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", b"2")]}
        await BodyLimit(app, most=10)(scope, receive, send)
        return seen

    assert anyio.run(heard) == ["ab", "http.disconnect"]


def test_failed_sign_ins_are_counted_more_strictly() -> None:
    rates = Rates(clock=Clock())
    bad = AddressLimit(replying(401), rates=rates, per_minute=60)
    good = AddressLimit(replying(200), rates=rates, per_minute=60)
    with_key = {"headers": [(b"authorization", b"Bearer x")], "client": ("192.0.2.7", 1)}
    assert [run(bad, with_key) for _ in range(4)] == [401, 401, 401, 429]
    assert run(good, with_key) == 429
    assert run(good, with_key | {"client": ("192.0.2.8", 1)}) == 200


def test_requests_without_a_key_are_counted_by_address() -> None:
    layer = AddressLimit(replying(200), rates=Rates(clock=Clock()), per_minute=3)
    assert [run(layer, {"client": ("192.0.2.7", 1)}) for _ in range(5)] == [200, 200, 200, 429, 429]
    assert run(layer, {"client": ("192.0.2.7", 1), "path": "/static/pages.css"}) == 200
    assert run(layer, {"client": ("192.0.2.9", 1)}) == 200


def test_a_key_where_nobody_looks_at_it_counts_as_none() -> None:
    layer = AddressLimit(
        replying(200), rates=Rates(clock=Clock()), per_minute=3, keyed=lambda scope: scope["path"] == "/v1"
    )
    made_up = {"client": ("192.0.2.7", 1), "headers": [(b"authorization", b"x")]}
    assert [run(layer, made_up | {"path": "/v1/health"}) for _ in range(5)] == [200, 200, 200, 429, 429]
    assert run(layer, made_up | {"path": "/v1"}) == 200


def test_nobody_has_more_than_a_share_in_flight() -> None:
    shares = UserConcurrencyLimit(2)
    with shares.hold("ana"), shares.hold("ana"), shares.hold("eva"):
        with pytest.raises(HttpError) as caught, shares.hold("ana"):
            pass
        assert (caught.value.status_code, caught.value.headers) == (503, {"Retry-After": "1"})
        with shares.hold("eva"):
            pass
    with pytest.raises(ZeroDivisionError), shares.hold("ana"):
        _ = 1 / 0
    assert not shares._held


def test_only_so_many_questions_are_in_flight() -> None:
    async def race() -> list[int]:
        inside = anyio.Event()
        statuses: list[int] = []

        async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
            await inside.wait()
            await send({"type": "http.response.start", "status": 200})

        layer = ConcurrencyLimit(app, most=2, costly=lambda scope: scope["path"] == "/ask")

        async def one(path: str) -> None:
            async def send(message: Message) -> None:
                statuses.append(message["status"])

            try:
                await layer({"type": "http", "method": "POST", "path": path}, None, send)  # type: ignore[arg-type]
            except HttpError as error:
                statuses.append(error.status_code)

        async with anyio.create_task_group() as group:
            for path in ("/ask", "/ask", "/ask", "/ask", "/other"):
                group.start_soon(one, path)
            await anyio.sleep(0.01)
            inside.set()
        async with anyio.create_task_group() as group:
            group.start_soon(one, "/ask")
        return statuses

    assert sorted(anyio.run(race)) == [200, 200, 200, 200, 503, 503]
