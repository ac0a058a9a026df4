"""Limits on requests per minute, on the bytes of a body, and on concurrent queries.

Requests are counted by the generic cell rate algorithm (ITU-T I.371): a token bucket that stores one number for each
client, the time at which the bucket is full again. The numbers live in a table of fixed size that the server's
processes share, so a limit does not depend on the number of workers, and a flood of addresses cannot fill the memory.
Bodies are counted as they arrive; their headers are not trusted.
"""

import contextlib
import hashlib
import ipaddress
import mmap
import os
import struct
import tempfile
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import anyio

from celosia.core.exact import exact_integer
from celosia.core.messages.message import Message
from celosia.noise.source import SYSTEM
from celosia.serving.problems import HttpError

try:
    import fcntl
except ImportError:  # such a system cannot fork: the lock of its one process is enough
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send
    from starlette.types import Message as AsgiMessage

_ROW = struct.Struct("<QQ")
_BUCKET_ROWS = 8
_MINUTE_NANOSECONDS = 60_000_000_000
_MAX_DRAINED_BYTES = 1 << 20
_MAX_DRAIN_SECONDS = 5


class Rates:
    """Requests per minute of many clients, in a table of fixed size that forked processes share.

    Each client may send a burst of the whole limit, then continues at the rate of the limit. Keys are hashed with a
    secret, so clients cannot choose names that collide. A full bucket of eight rows evicts the client that has been
    idle longest.

    Parameters
    ----------
    rows
        How many clients the table holds.
    clock
        A clock in nanoseconds that all processes share.
    """

    def __init__(self, rows: int = 1 << 16, *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._buckets = max(1, exact_integer(rows, name="rows") // _BUCKET_ROWS)
        self._table = mmap.mmap(-1, self._buckets * _BUCKET_ROWS * _ROW.size)
        self._secret = b"".join(SYSTEM.word().to_bytes(8, "little") for _ in range(4))
        self._clock = clock
        self._mutex = threading.Lock()
        with tempfile.TemporaryFile() as file:
            self._file = os.dup(file.fileno())  # kept for its locks, as long as the table
        weakref.finalize(self, os.close, self._file)

    def take(self, who: str, *, per_minute: int, cost: int = 1) -> float:
        """Count a request of ``who`` and return 0; or return the seconds to wait and count nothing.

        A ``cost`` of 0 checks without counting.
        """
        step = _MINUTE_NANOSECONDS // per_minute
        name, bucket = self._locate(who)
        with self._lock_bucket(bucket):
            now = self._clock()
            row, full = self._find(name, bucket, now)
            # The bucket is full again at ``full``; each step until then is one request less.
            wait = max(full, now) + step - now - step * per_minute
            if wait > 0:
                return wait / 1e9
            if cost:
                _ROW.pack_into(self._table, row * _ROW.size, name, max(full, now) + cost * step)
        return 0.0

    def _locate(self, who: str) -> tuple[int, int]:
        digest = hashlib.blake2b(who.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=16).digest()
        name = int.from_bytes(digest[:8], "little") or 1  # 0 marks an empty row
        return name, int.from_bytes(digest[8:], "little") % self._buckets

    def _find(self, name: int, bucket: int, now: int) -> tuple[int, int]:
        """Return the row of ``name`` and the time when its bucket is full; a reused row is full now."""
        rows = range(bucket * _BUCKET_ROWS, (bucket + 1) * _BUCKET_ROWS)
        held = [_ROW.unpack_from(self._table, row * _ROW.size) for row in rows]
        for row, (owner, full) in zip(rows, held, strict=True):
            if owner == name:
                return row, full
        return rows[min(range(_BUCKET_ROWS), key=lambda way: held[way][1])], now

    @contextlib.contextmanager
    def _lock_bucket(self, bucket: int) -> Iterator[None]:
        # The system releases a file lock when its process dies, so a kill cannot leave it locked.
        with self._mutex:
            if fcntl is not None:
                fcntl.lockf(self._file, fcntl.LOCK_EX, 1, bucket)
            try:
                yield
            finally:
                if fcntl is not None:
                    fcntl.lockf(self._file, fcntl.LOCK_UN, 1, bucket)


def client_network(scope: "Scope") -> str:
    """Return an IPv4 address, or the /64 network of an IPv6 address, which belongs to one client."""
    text = (scope.get("client") or ("-", 0))[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "-"
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))
    return str(address)


def too_many_requests(seconds: float) -> HttpError:
    """Return the error 429 with the seconds to wait."""
    wait = max(1, -int(-seconds // 1))
    detail = Message("serving.too_many_requests", seconds=wait)
    return HttpError(429, detail, error="TooManyRequestsError", headers={"Retry-After": str(wait)})


def _busy(detail: Message) -> HttpError:
    return HttpError(503, detail, error="TooManyRequestsError", headers={"Retry-After": "1"})


class AddressLimit:
    """Middleware that limits requests of each address without a valid key, and failed sign-ins.

    Routes that need a key (``keyed``) count requests by key; elsewhere a key is ignored. Each reply 401 counts as a
    failed sign-in of its address. After a twentieth of the request limit in failures, all its requests wait.
    """

    def __init__(
        self, app: "ASGIApp", *, rates: Rates, per_minute: int, keyed: "Callable[[Scope], bool]" = lambda _: True
    ) -> None:
        self._app = app
        self._rates = rates
        self._keyed = keyed
        self._per_minute = per_minute
        self._failures = max(1, per_minute // 20)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"].startswith("/static/"):
            await self._app(scope, receive, send)
            return
        address = client_network(scope)
        wait = self._rates.take(f"failed {address}", per_minute=self._failures, cost=0)
        key_shown = any(name == b"authorization" for name, _ in scope["headers"])
        if not wait and not (key_shown and self._keyed(scope)):
            wait = self._rates.take(f"address {address}", per_minute=self._per_minute)
        if wait:
            raise too_many_requests(wait)

        async def send_and_count(message: "AsgiMessage") -> None:
            if message["type"] == "http.response.start" and message["status"] == 401:
                self._rates.take(f"failed {address}", per_minute=self._failures)
            await send(message)

        await self._app(scope, receive, send_and_count)


class BodyLimit:
    """Middleware that reads the whole body first, and refuses one that is too long or too slow.

    A slow client therefore holds a connection only: no thread and no place for a query.
    """

    def __init__(self, app: "ASGIApp", *, most: int, seconds: float = 20.0) -> None:
        self._app = app
        self._limit = most
        self._seconds = seconds

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        names = dict(scope["headers"]) if scope["type"] == "http" else {}
        if b"content-length" not in names and b"transfer-encoding" not in names:
            await self._app(scope, receive, send)
            return
        declared = names.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared[:20]) > self._limit:
            await _drain(receive)
            raise self._body_too_long()
        kept: list[AsgiMessage] = [{"type": "http.request", "body": await self._read_body(receive), "more_body": False}]

        async def replay() -> "AsgiMessage":
            return kept.pop() if kept else await receive()

        await self._app(scope, replay, send)

    async def _read_body(self, receive: "Receive") -> bytes:
        body = bytearray()
        with anyio.move_on_after(self._seconds):
            while True:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > self._limit:
                    if more:
                        await _drain(receive)
                    raise self._body_too_long()
                if not more:
                    return bytes(body)
        late = Message("serving.body_too_late", seconds=self._seconds)
        raise HttpError(408, late, headers={"Connection": "close"})

    def _body_too_long(self) -> HttpError:
        detail = Message("serving.body_too_long", most=self._limit)
        return HttpError(413, detail, error="ParameterError", headers={"Connection": "close"})


async def _drain(receive: "Receive") -> None:
    """Discard part of a body: a client that is still sending would be cut off before it reads the reply."""
    passed = 0
    with anyio.move_on_after(_MAX_DRAIN_SECONDS):
        while passed <= _MAX_DRAINED_BYTES:
            message = await receive()
            passed += len(message.get("body", b""))
            if not message.get("more_body"):
                return


class UserConcurrencyLimit:
    """Limits the concurrent costly requests of each user, so that one user cannot take all places."""

    def __init__(self, most: int) -> None:
        self._limit = most
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def hold(self, who: str) -> Iterator[None]:
        """Hold one place of a user; raise ``HttpError`` if all are taken."""
        with self._lock:
            if self._held[who] >= self._limit:
                raise _busy(Message("serving.user_busy"))
            self._held[who] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held -= Counter([who])  # forgets users who hold nothing


class ConcurrencyLimit:
    """Middleware that limits the concurrent costly requests of the process; others get 503."""

    def __init__(self, app: "ASGIApp", *, most: int, costly: "Callable[[Scope], bool]") -> None:
        self._app = app
        self._limit = most
        self._costly = costly
        self._in_flight = 0

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] != "http" or not self._costly(scope):
            await self._app(scope, receive, send)
            return
        if self._in_flight >= self._limit:
            raise _busy(Message("serving.server_busy"))
        self._in_flight += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._in_flight -= 1
