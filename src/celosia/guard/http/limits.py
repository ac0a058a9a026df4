"""How much may be asked at a time: requests per minute, bytes of a body, questions in flight.

Requests are counted by the generic cell rate algorithm (a token bucket that needs one number for each asker: the time
at which the bucket is full again; ITU-T I.371). The numbers live in a table of fixed size that the server's processes
share, so that a limit is the same however many serve, and no flood of addresses can fill the memory. Bodies are counted
as they arrive, whatever their headers say.
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
from celosia.guard.http.problems import HttpError
from celosia.noise.source import SYSTEM

try:
    import fcntl
except ImportError:  # a system without it does not fork either: there is one process, and its own lock is enough
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ROW = struct.Struct("<QQ")
_WAYS = 8
_MINUTE = 60_000_000_000
_DRAINED_BYTES = 1 << 20
_DRAINED_SECONDS = 5


class Rates:
    """Requests per minute of many askers, in a table of fixed size that forked processes share.

    Each asker may ask as often as the limit says at once, and then as fast as the limit refills. The table is keyed
    by a secret: nobody can choose names that push each other out. Where a bucket of eight rows is full, the asker who
    has been quiet for longest is forgotten.

    Parameters
    ----------
    rows
        How many askers are remembered at a time.
    clock
        Nanoseconds of a clock that all processes share.
    """

    def __init__(self, rows: int = 1 << 16, *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._buckets = max(1, exact_integer(rows, name="rows") // _WAYS)
        self._table = mmap.mmap(-1, self._buckets * _WAYS * _ROW.size)
        self._secret = b"".join(SYSTEM.word().to_bytes(8, "little") for _ in range(4))
        self._clock = clock
        self._mutex = threading.Lock()
        with tempfile.TemporaryFile() as file:
            self._file = os.dup(file.fileno())  # kept for its locks, as long as the table
        weakref.finalize(self, os.close, self._file)

    def take(self, who: str, *, per_minute: int, cost: int = 1) -> float:
        """Count a request of ``who`` and return 0, or return the seconds to wait, and count nothing.

        A ``cost`` of 0 only looks.
        """
        step = _MINUTE // per_minute
        name, bucket = self._place(who)
        with self._alone(bucket):
            now = self._clock()
            row, full = self._find(name, bucket, now)
            # The bucket is full again at ``full``: it holds one request less for each step that this is away.
            wait = max(full, now) + step - now - step * per_minute
            if wait > 0:
                return wait / 1e9
            if cost:
                _ROW.pack_into(self._table, row * _ROW.size, name, max(full, now) + cost * step)
        return 0.0

    def _place(self, who: str) -> tuple[int, int]:
        digest = hashlib.blake2b(who.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=16).digest()
        name = int.from_bytes(digest[:8], "little") or 1  # 0 marks an empty row
        return name, int.from_bytes(digest[8:], "little") % self._buckets

    def _find(self, name: int, bucket: int, now: int) -> tuple[int, int]:
        """Return the row of ``name`` and when it is full again; a row to be used anew is full now."""
        rows = range(bucket * _WAYS, (bucket + 1) * _WAYS)
        held = [_ROW.unpack_from(self._table, row * _ROW.size) for row in rows]
        for row, (owner, full) in zip(rows, held, strict=True):
            if owner == name:
                return row, full
        return rows[min(range(_WAYS), key=lambda way: held[way][1])], now

    @contextlib.contextmanager
    def _alone(self, bucket: int) -> Iterator[None]:
        # A lock on the file is released by the system when its process dies, so a kill cannot leave it behind.
        with self._mutex:
            if fcntl is not None:
                fcntl.lockf(self._file, fcntl.LOCK_EX, 1, bucket)
            try:
                yield
            finally:
                if fcntl is not None:
                    fcntl.lockf(self._file, fcntl.LOCK_UN, 1, bucket)


def address_of(scope: "Scope") -> str:
    """Return whom an address stands for: itself, or the network of 2^64 addresses that one household is given."""
    text = (scope.get("client") or ("-", 0))[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "-"
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))
    return str(address)


def too_many(seconds: float) -> HttpError:
    """Return the refusal of somebody who asked too often, with the time after which to ask again."""
    wait = max(1, -int(-seconds // 1))
    detail = f"Too many requests in a minute: wait {wait} s."
    return HttpError(429, detail, error="TooManyRequestsError", headers={"Retry-After": str(wait)})


class AddressLimit:
    """Count the requests of each address that shows no key, and those whose key was not good (ASGI).

    Requests with a good key are counted by the key, where one is asked for (``keyed``): elsewhere nobody looks at it,
    and a made-up one counts as none. Every reply of 401 counts as a failed sign-in of its address; after a twentieth
    of the limit for requests, everything from there waits.
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
        address = address_of(scope)
        wait = self._rates.take(f"failed {address}", per_minute=self._failures, cost=0)
        key_shown = any(name == b"authorization" for name, _ in scope["headers"])
        if not wait and not (key_shown and self._keyed(scope)):
            wait = self._rates.take(f"address {address}", per_minute=self._per_minute)
        if wait:
            raise too_many(wait)

        async def sending(message: "Message") -> None:
            if message["type"] == "http.response.start" and message["status"] == 401:
                self._rates.take(f"failed {address}", per_minute=self._failures)
            await send(message)

        await self._app(scope, receive, sending)


class BodyLimit:
    """Take a body in whole before anybody looks at the request, and refuse it if it is too long or too slow (ASGI).

    Whoever sends slowly so holds nothing but a connection: no thread, and none of the places for questions.
    """

    def __init__(self, app: "ASGIApp", *, most: int, seconds: float = 20.0) -> None:
        self._app = app
        self._most = most
        self._seconds = seconds

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        names = dict(scope["headers"]) if scope["type"] == "http" else {}
        if b"content-length" not in names and b"transfer-encoding" not in names:
            await self._app(scope, receive, send)
            return
        declared = names.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared[:20]) > self._most:
            await _drain(receive)
            raise self._too_long()
        kept: list[Message] = [{"type": "http.request", "body": await self._body(receive), "more_body": False}]

        async def receiving() -> "Message":
            return kept.pop() if kept else await receive()

        await self._app(scope, receiving, send)

    async def _body(self, receive: "Receive") -> bytes:
        body = bytearray()
        with anyio.move_on_after(self._seconds):
            while True:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > self._most:
                    if more:
                        await _drain(receive)
                    raise self._too_long()
                if not more:
                    return bytes(body)
        raise HttpError(
            408, f"The body did not arrive within {self._seconds:g} seconds.", headers={"Connection": "close"}
        )

    def _too_long(self) -> HttpError:
        detail = f"The body is longer than {self._most} bytes, which is the most that is read here."
        return HttpError(413, detail, error="ParameterError", headers={"Connection": "close"})


async def _drain(receive: "Receive") -> None:
    """Let some of a body go by unread: whoever is still sending would be cut off before the reply arrives."""
    passed = 0
    with anyio.move_on_after(_DRAINED_SECONDS):
        while passed <= _DRAINED_BYTES:
            message = await receive()
            passed += len(message.get("body", b""))
            if not message.get("more_body"):
                return


class Shares:
    """How many costly requests each asker has in flight; one who has many leaves the other places to others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def held(self, who: str) -> Iterator[None]:
        """Hold one place of somebody, or refuse."""
        with self._lock:
            if self._held[who] >= self._most:
                raise HttpError(
                    503,
                    "As many of your questions as are allowed at a time are being answered: ask again in a moment.",
                    error="TooManyRequestsError",
                    headers={"Retry-After": "1"},
                )
            self._held[who] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[who] -= 1
                if not self._held[who]:
                    del self._held[who]


class Waiting:
    """Let only so many costly requests be in flight; the rest come back later (ASGI)."""

    def __init__(self, app: "ASGIApp", *, most: int, costly: "Callable[[Scope], bool]") -> None:
        self._app = app
        self._most = most
        self._costly = costly
        self._inside = 0

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] != "http" or not self._costly(scope):
            await self._app(scope, receive, send)
            return
        if self._inside >= self._most:
            raise HttpError(
                503,
                "As many questions as are allowed at a time are being answered: ask again in a moment.",
                error="TooManyRequestsError",
                headers={"Retry-After": "1"},
            )
        self._inside += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._inside -= 1
