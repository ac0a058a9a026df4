"""A guard that serves in processes of its own, for tests: started, asked, killed, and always ended.

``start_server`` sets up a store with a tiny table, users of every role and a budget, and serves it on a free port of
this machine. ``Client`` is a light HTTP client that keeps its connection.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from celosia.core import PureDP
from celosia.core.errors import ParameterError
from celosia.guard.auth.identity import Identity
from celosia.guard.config.sections import Limits
from celosia.guard.config.settings import Config
from celosia.guard.server.serve import serve
from celosia.guard.service import Guard
from tests.reliability.forked import ForkedProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from celosia.core import Guarantee
    from celosia.ledger import Policy

__all__ = [
    "COMMAND",
    "DATASET",
    "LOCAL",
    "ROLES",
    "Client",
    "Reply",
    "Served",
    "fit",
    "question",
    "set_up",
    "start_server",
]

COMMAND = (sys.executable, "-m", "celosia", "guard", "serve", "--config")

LOCAL = Identity.local()
ROLES = ("owner", "curator", "analyst", "auditor")
DATASET = "people"
SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 120

[columns.income]
kind = "integer"
low = 0
high = 1000

[columns.sex]
kind = "category"
values = ["F", "M"]
"""
PATIENCE = 600.0  # seconds to wait for a server or a reply: a busy machine is slow, and only a hang takes this long


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection to a server, opened again when it was closed."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = PATIENCE) -> None:
        place = urlsplit(url)
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=timeout)
        self._key = key

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Reply:
        """Send one request; OSError or HTTPException if the server went away."""
        sent = dict(headers or {})
        if self._key is not None:
            sent.setdefault("Authorization", f"Bearer {self._key}")
        if body is not None:
            content = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        try:
            self._connection.request(method, path, content, sent)
            response = self._connection.getresponse()
            reply = Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        return reply

    def ask(self, body: object, key: str, *, wait: int = 20, path: str = "/v1/queries") -> Reply:
        """Ask a question under an idempotency key."""
        return self.send("POST", path, body, headers={"Idempotency-Key": key, "Prefer": f"wait={wait}"})

    def close(self) -> None:
        self._connection.close()


def question(number: int, *, epsilon: str = "0.001", dataset: str = DATASET) -> dict[str, str]:
    """A question that differs from all others, so that no stored answer fits."""
    condition = f" WHERE income < {1 + number % 1000}" if number % 10 == 0 else ""
    sql = f"SELECT COUNT(*) AS n{number} FROM {dataset}{condition}"
    return {"dataset": dataset, "sql": sql, "epsilon": epsilon}


def fit(number: int, *, epsilon: str = "0.001") -> dict[str, Any]:
    """A fit that differs from all others."""
    where = f"income < {1 + number}"
    return {
        "dataset": DATASET,
        "model": "PCA",
        "features": ["age", "income"],
        "where": where,
        "parameters": {"epsilon": epsilon},
    }


@dataclass(slots=True)
class Served:
    """A running server."""

    url: str
    config: Path
    keys: Mapping[str, str]
    process: subprocess.Popen[bytes] | ForkedProcess
    log: Path
    errors: Path
    _clients: list[Client] = field(default_factory=list)

    def client(self, who: str | None = "analyst", *, timeout: float = PATIENCE) -> Client:
        """A client with the key of a role, or of nobody."""
        made = Client(self.url, None if who is None else self.keys[who], timeout=timeout)
        self._clients.append(made)
        return made

    def workers(self) -> list[int]:
        """The processes that answer: the children of the supervisor."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        try:
            return [int(pid) for pid in children.read_text().split()]
        except OSError:
            return []

    def guard(self) -> Guard:
        """The same store, opened in this process: to look at what the server has written."""
        return Guard.open(Config.read(self.config))

    def wait_until_serving(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                client = Client(self.url, timeout=5)
                try:
                    if client.send("GET", "/v1/health").status == 200:
                        return
                finally:
                    client.close()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.02)

    def output(self) -> str:
        """All that it printed."""
        return self.errors.read_text() + self.log.read_text()

    def stop(self) -> int:
        """End it politely, then not, and return its exit code."""
        for client in self._clients:
            client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()  # its workers notice, and end
                self.process.wait(PATIENCE)
        assert self.process.returncode is not None
        return self.process.returncode


def add_expired_user(guard: Guard, name: str, role: str) -> str:
    """Add a user whose key has expired by the time this returns; a slow machine gets a longer validity."""
    for seconds in (0.1, 1.0, 10.0, 60.0):
        expires = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)
        with contextlib.suppress(ParameterError):  # expired before it was stored
            key = guard.add_user(LOCAL, name, role, expires)
            while dt.datetime.now(dt.UTC) <= expires:
                time.sleep(0.05)
            return key
    raise AssertionError


def set_up(
    folder: Path,
    store: str | None = None,
    *,
    budget: Guarantee | Policy | None = None,
    analysts: Sequence[str] = (),
    rows: int = 60,
    **config: Any,
) -> tuple[Path, dict[str, str]]:
    """Write a configuration and fill a store; return its path, and a key for each role and for each other analyst."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / f"{DATASET}.csv"
    lines = [f"{number % 90},{7 * number % 900},{'FM'[number % 2]}" for number in range(rows)]
    data.write_text("\n".join(["age,income,sex", *lines]) + "\n")
    limits = Limits(**{"requests_per_minute": 1_000_000, "waiting": 1000} | config.pop("limits", {}))
    settings: dict[str, Any] = {"port": 0, "workers": 2, "slot_milliseconds": 0, "limits": limits} | config
    path = folder / "guard.toml"
    Config(store=store or f"sqlite:///{folder / 'ledger.db'}", **settings).write(path)
    with Guard.open(Config.read(path)) as guard:
        keys = {role: guard.add_user(LOCAL, role, role) for role in ROLES}
        keys |= {name: guard.add_user(LOCAL, name, "analyst") for name in analysts}
        guard.add_dataset(LOCAL, DATASET, str(data), SCHEMA)
        guard.set_budget(LOCAL, budget or PureDP(epsilon=1), dataset=DATASET)
    return path, keys


@contextlib.contextmanager
def start_server(
    folder: Path,
    store: str | None = None,
    *,
    serve: Callable[[Path], None] = serve,
    command: Sequence[str] = (),
    **setup: Any,
) -> Iterator[Served]:
    """Set up a guard and serve it, by a function or by a command; what it started is ended whatever happens."""
    path, keys = set_up(folder, store, **setup)
    log, errors = folder / "server.log", folder / "server.err"
    log.touch()
    errors.touch()
    process: subprocess.Popen[bytes] | ForkedProcess
    if command:
        with log.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen([*command, str(path)], stdout=out, stderr=err, stdin=subprocess.DEVNULL)
    else:
        process = ForkedProcess(serve, path, log, errors)
    served = Served("", path, keys, process, log, errors)
    try:
        deadline = time.monotonic() + PATIENCE
        while "Serving at " not in (told := errors.read_text()):
            assert process.poll() is None, served.output()
            assert time.monotonic() < deadline, served.output()
            time.sleep(0.02)
        served.url = told.partition("Serving at ")[2].split()[0]
        yield served
    finally:
        served.stop()
