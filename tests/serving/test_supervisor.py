"""The supervisor: one line when it serves, workers that come back, a configuration that changes, an end in order."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.guard.config.settings import Config
from celosia.guard.server.serve import serve, serve_guard
from celosia.serving import supervisor
from celosia.serving.listening import listen
from celosia.serving.supervisor import Supervisor, pause_after
from tests.reliability.forked import ForkedProcess
from tests.reliability.serving import COMMAND, PATIENCE, question, set_up, start_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def wait_until(holds: Callable[[], bool], output: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, output()
        time.sleep(0.02)


def test_one_life(tmp_path: Path) -> None:
    with start_server(tmp_path, command=COMMAND, workers=2) as served:
        # One line, and it is the address.
        assert served.errors.read_text() == f"Serving at {served.url}\n"
        wait_until(lambda: len(served.workers()) == 2, served.output)
        before = set(served.workers())

        # A worker that is killed is replaced.
        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(set(served.workers()) - {min(before)}) == 2, served.output)
        assert served.client().ask(question(1), "k").status == 200

        # A configuration that cannot be read changes nothing.
        text = served.config.read_text()
        served.config.write_text(text.replace("workers = 2", "workers = two"))
        running = set(served.workers())
        served.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "stays as it was" in served.errors.read_text(), served.output)
        assert set(served.workers()) == running

        # Nor one whose workers do not come up.
        served.config.write_text(text.replace("ledger.db", "no folder here/ledger.db"))
        served.process.send_signal(signal.SIGHUP)
        wait_until(lambda: served.errors.read_text().count("stays as it was") == 2, served.output)
        wait_until(lambda: set(served.workers()) == running, served.output)
        assert served.client().ask(question(2), "k2").status == 200

        # A good one is taken, by new workers; then the old ones leave.
        served.config.write_text(
            text.replace("workers = 2", "workers = 1").replace(
                "requests_per_minute = 1000000", "requests_per_minute = 1"
            )
        )
        served.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(served.workers()) == 1 and not set(served.workers()) & running, served.output)
        client = served.client("auditor")
        assert [client.send("GET", "/v1/log/verify").status for _ in range(2)] == [200, 429]

        # It ends in order, with its workers.
        last = served.workers()
        assert served.stop() == 0
        assert not [pid for pid in last if os.path.exists(f"/proc/{pid}")]  # noqa: PTH110 - a process, no file


def test_questions_under_way_are_answered_before_the_end(tmp_path: Path) -> None:
    with start_server(tmp_path, workers=1, slot_milliseconds=1000) as served:
        client = served.client()
        body = b'{"dataset": "people", "sql": "SELECT COUNT(*) FROM people", "epsilon": "0.1"}'
        headers = {
            "Authorization": f"Bearer {served.keys['analyst']}",
            "Content-Type": "application/json",
            "Idempotency-Key": "k",
        }
        client._connection.request("POST", "/v1/queries", body, headers)
        with served.guard() as guard:
            wait_until(lambda: bool(guard.ledger.reservations(analyst="analyst", limit=1)), served.output)
        served.process.send_signal(signal.SIGTERM)
        assert client._connection.getresponse().status == 200
        assert served.process.wait(PATIENCE) == 0


def serve_without_workers(path: Path) -> None:
    supervisor.run_worker = lambda *_, **__: os._exit(1)  # type: ignore[attr-defined]
    serve(path)


def test_it_gives_up_when_nothing_comes_up(tmp_path: Path) -> None:
    path, _ = set_up(tmp_path)
    server = ForkedProcess(serve_without_workers, path, tmp_path / "server.log", tmp_path / "server.err")
    assert server.wait(PATIENCE) not in {0, -9}
    assert (tmp_path / "server.log").read_text().count("ended") >= 5


def test_a_store_that_is_none_is_said_at_once(tmp_path: Path) -> None:
    path, _ = set_up(tmp_path)
    command = ["guard", "serve", "--config", str(path)]
    (tmp_path / "ledger.db").write_bytes(b"this is no database any more" * 400)
    junk = CliRunner().invoke(app, command)
    (tmp_path / "ledger.db").unlink()
    none = CliRunner().invoke(app, command)
    assert (junk.exit_code, none.exit_code) == (1, 2)
    assert "is not a database, or is damaged" in junk.stderr
    assert "there is no ledger" in none.stderr
    assert not (tmp_path / "ledger.db").exists()


def test_pauses_grow_and_end() -> None:
    pauses = [pause_after(failures) for failures in range(200)]
    assert pauses[:3] == [0, 0, 0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 30


def test_a_ledger_in_memory_has_one_worker() -> None:
    config = Config(store="memory://", port=0, workers=4)
    with listen(config) as listening:
        assert Supervisor(serve_guard, lambda: config, config, listening)._count_missing() == 1
