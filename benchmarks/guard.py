"""The privacy guard under load: requests a second and how long they take, with 32 clients over loopback.

A real server (``celosia guard serve``, two workers, a SQLite store, no slots, so that what is measured is work) answers
about a million rows. Clients are sockets of one process of its own, which sends the next request when a reply is in.
Cached answers were asked before; previews read nothing; fresh queries are all different, so each is reserved, read,
noised and stored. The overhead is the time of one client against the same questions to a ``Session`` in this process,
with and without a ledger. Start-up is the time from ``celosia guard serve`` to the first reply of ``/v1/health``;
commands are timed as whole processes, beside the server.

``python -m benchmarks.guard load URL KEY WHAT CLIENTS REQUESTS`` is the process with the clients.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

import celosia as cl
from benchmarks.harness import Case
from benchmarks.peers.question import GROUPS, path
from benchmarks.query import SCHEMA, write

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = int(os.environ.get("CELOSIA_BENCH_ROWS", "1000000"))
CLIENTS = 32
REQUESTS = {"cached": 4_000, "preview": 2_000, "fresh": 1_000}
PATIENCE = 60.0  # seconds until the server must be there
FEW = 100  # questions of the comparison with a session
COMMANDS = ("user list", "dataset list", "budget show", "log", "approval list")
SMALL = "0.000001"  # what a question costs here: nobody is protected, and the budget is large


# ------------------------------------------------------------------------------------------------------- questions


def question(number: int) -> str:
    """One of many different questions about the table."""
    shown = f"age > {number % 100} AND weight < {number // 100}.5"
    return f"SELECT COUNT(*), SUM(age) FROM visits WHERE {shown}"  # noqa: S608 - numbers of ours


def costly_question(number: int) -> str:
    """Forty quantiles in three groupings, one after the other, of rows that differ from question to question."""
    quantiles = ", ".join(f"QUANTILE(weight, 0.{place:03}) AS q{place}" for place in range(100, 900, 20))
    keys = ("g", "code", "g, code")[number % 3]
    return f"SELECT {keys}, {quantiles} FROM visits WHERE age > {number % 97} GROUP BY {keys}"  # noqa: S608 - of ours


def body(what: str, number: int) -> tuple[str, bytes]:
    """The route of a request and what is sent."""
    sql = costly_question(number) if what == "costly" else question(number if what != "cached" else number % 10)
    asked = {"dataset": "visits", "sql": sql, "epsilon": SMALL}
    return ("/v1/previews" if what == "preview" else "/v1/queries"), json.dumps(asked).encode()


# --------------------------------------------------------------------------------------------------------- clients


async def client(url: str, key: str, what: str, numbers: Iterator[int], last: int) -> list[float]:
    """Ask until the numbers are used up, and return how long each request took."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    taken: list[float] = []
    for number in numbers:
        if number >= last:
            break
        route, content = body(what, number)
        head = (
            f"POST {route} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {key}\r\n"
            f"Idempotency-Key: {what}-{os.getpid()}-{number}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        begun = time.perf_counter()
        writer.write(head.encode() + content)
        answer = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"(?i)content-length: *(\d+)", answer)
        reply = await reader.readexactly(int(found[1]) if found else 0)
        taken.append(time.perf_counter() - begun)
        if not answer.startswith(b"HTTP/1.1 200"):
            sys.exit(f"{answer.splitlines()[0]!r}: {reply[:300]!r}")
    writer.close()
    return taken


async def load(url: str, key: str, what: str, clients: int, requests: int, first: int) -> None:
    """Run the clients and print the seconds of every request, and of all together."""
    numbers = itertools.count(first)
    begun = time.perf_counter()
    taken = await asyncio.gather(*(client(url, key, what, numbers, first + requests) for _ in range(clients)))
    print(json.dumps({"all": time.perf_counter() - begun, "each": list(itertools.chain(*taken))}))


# ---------------------------------------------------------------------------------------------------------- server


def celosia(*arguments: str) -> str:
    """Run the command and return what it prints."""
    command = [sys.executable, "-m", "celosia", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def schema_file(folder: Path) -> Path:
    """Write the schema of the table."""
    file = folder / "schema.toml"
    file.write_text(f'[table]\nname = "visits"\n\n{cl.Schema(SCHEMA).to_toml()}', encoding="utf-8")
    return file


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def served() -> Iterator[tuple[str, tuple[str, str], Path, float]]:
    """Start a guard in a folder of its own; yields its address, two keys, its configuration and the start-up time."""
    folder = Path(tempfile.mkdtemp(prefix="celosia-bench"))
    config = folder / "guard.toml"
    port = free_port()
    celosia("guard", "init", str(folder))
    text = config.read_text(encoding="utf-8")
    for line in ("slot_milliseconds = 0", "requests_per_minute = 1000000", "workers = 2", f"port = {port}"):
        text = re.sub(rf"(?m)^{line.partition(' ')[0]} = \d+", line, text)
    config.write_text(text, encoding="utf-8")
    here = ("--config", str(config))
    celosia("guard", "dataset", "add", "visits", str(path(ROWS)), "--schema", str(schema_file(folder)), *here)
    celosia("guard", "budget", "set", "--dataset", "visits", "--epsilon", "1000", *here)
    keys = [celosia("guard", "user", "add", name, "--role", "analyst", *here).strip() for name in ("ana", "eva")]
    command = [sys.executable, "-m", "celosia", "guard", "serve", *here]
    begun = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            await_health(url)
            yield url, (keys[0], keys[1]), config, time.perf_counter() - begun
        finally:
            server.terminate()
            server.wait(PATIENCE)
            shutil.rmtree(folder, ignore_errors=True)


def await_health(url: str) -> None:
    """Wait until the server is there."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(f"{url}/v1/health", timeout=5).close()  # noqa: S310 - of this machine
        except (OSError, urllib.error.URLError):
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def asked(url: str, key: str, what: str, clients: int, requests: int, first: int) -> dict[str, Any]:
    """Start the clients in a process of their own and return what they measured."""
    words = ["load", url, key, what, str(clients), str(requests), str(first)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.guard", *words], check=True, stdout=subprocess.PIPE, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@cache
def measured() -> dict[str, dict[str, float]]:
    """Everything that needs the server, in one go: requests a second, and quantiles of their time."""
    write(ROWS)
    found: dict[str, dict[str, float]] = {}
    with served() as (url, (key, other), config, started):
        found["seconds"] = {"start-up": started} | {one: command_seconds(one, config) for one in COMMANDS}
        first = itertools.count(0, 100_000)
        asked(url, key, "cached", 1, 20, next(first))  # whatever is done once is done, and the answers are stored
        for what, requests in REQUESTS.items():
            times = asked(url, key, what, CLIENTS, requests, 0 if what == "cached" else next(first))
            found[what] = {
                "rate": requests / times["all"],
                "p50": float(np.quantile(times["each"], 0.5)),
                "p99": float(np.quantile(times["each"], 0.99)),
            }
            alone = asked(url, key, what, 1, FEW, 0 if what == "cached" else next(first))
            found[what]["alone"] = float(np.median(alone["each"]))
        with asking_much(url, other, next(first)):
            beside = asked(url, key, "fresh", 1, FEW, next(first))
        found["fresh"]["beside"] = float(np.median(beside["each"])) / found["fresh"]["alone"]
    return found


def command_seconds(command: str, config: Path) -> float:
    """Return the least time of three runs of a command of the guard."""
    taken = []
    for _ in range(3):
        begun = time.perf_counter()
        celosia("guard", *command.split(), "--config", str(config))
        taken.append(time.perf_counter() - begun)
    return min(taken)


@contextlib.contextmanager
def asking_much(url: str, key: str, first: int) -> Iterator[None]:
    """Let eight clients of an analyst ask costly questions meanwhile."""
    words = ["load", url, key, "costly", "8", "100000", str(first)]
    command = [sys.executable, "-m", "benchmarks.guard", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as clients:
        time.sleep(2)  # all have asked
        assert clients.poll() is None  # noqa: S101 - a benchmark says what it sees
        yield
        clients.kill()


# --------------------------------------------------------------------------------------------------------- session


@cache
def session(*, ledger: bool) -> float:
    """The median time of one fresh question to a session in this process."""
    write(ROWS)
    table = cl.table(path(ROWS), schema=cl.Schema(SCHEMA), name="visits")
    with tempfile.TemporaryDirectory() as folder:
        extra: dict[str, Any] = (
            {"ledger": cl.open_ledger(f"sqlite:///{folder}/budget.db"), "analyst": "ana"} if ledger else {}
        )
        with cl.Session(table, budget=cl.PureDP(epsilon=1000), **extra) as asking:
            asking.sql(question(9_999), epsilon=SMALL)
            taken = []
            for number in range(FEW):
                begun = time.perf_counter()
                asking.sql(question(number), epsilon=SMALL)
                taken.append(time.perf_counter() - begun)
        if ledger:
            extra["ledger"].close()
    return float(np.median(taken))


def cases() -> list[Case]:
    """Return the cases of the room."""
    given: dict[str, object] = {"rows": ROWS, "groups": GROUPS, "clients": CLIENTS}
    names = {"cached": "cached answers", "preview": "previews", "fresh": "fresh queries"}
    found = [
        Case.number(
            name if part == "rate" else f"{name}, {part}",
            partial(_under_load, what, part),
            unit="requests/s" if part == "rate" else "ms",
            parameters=given,
        )
        for what, name in names.items()
        for part in ("rate", "p50", "p99")
    ]
    alone = {"rows": ROWS, "clients": 1}
    return [
        *found,
        *(
            Case.number(f"{names[what]}, alone", partial(_under_load, what, "alone"), unit="ms", parameters=alone)
            for what in ("cached", "fresh")
        ),
        *(
            Case.number(
                f"fresh query to a Session, {'SQLite ledger' if ledger else 'no ledger'}",
                partial(_milliseconds, ledger=ledger),
                unit="ms",
                parameters={"rows": ROWS},
            )
            for ledger in (True, False)
        ),
        Case.number(
            "fresh query beside 40 quantiles in three groupings of another, over alone",
            lambda: measured()["fresh"]["beside"],
            unit="x",
            parameters=alone,
        ),
        *(
            Case(
                what=f"guard {name}",
                measure=partial(_seconds, name),
                unit="s",
                parameters={"rows": ROWS},
                aim="2 s" if name == "start-up" else "1 s",
            )
            for name in ("start-up", *COMMANDS)
        ),
        Case.number(
            "guard over Session with a ledger",
            lambda: measured()["fresh"]["alone"] / session(ledger=True),
            unit="x",
            parameters=alone,
        ),
    ]


def _under_load(what: str, part: str) -> float:
    return measured()[what][part] * (1 if part == "rate" else 1000)


def _seconds(name: str) -> float:
    return measured()["seconds"][name]


def _milliseconds(*, ledger: bool) -> float:
    return 1000 * session(ledger=ledger)


if __name__ == "__main__":
    _, _, url_, key_, what_, clients_, requests_, first_ = sys.argv
    asyncio.run(load(url_, key_, what_, int(clients_), int(requests_), int(first_)))
