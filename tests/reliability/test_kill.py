"""Workers are killed while they answer: what was released is paid for, the log holds, and the server serves again.

Questions, fits and questions that need an approval are asked, while a curator approves, changes the data set and reads
dummy rows; what is lost is cancelled.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import signal
import threading
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from celosia.core import PureDP
from celosia.ledger import Policy
from tests.reliability.dying_server import serve_until_told_to_die
from tests.reliability.serving import DATASET, LOCAL, PATIENCE, Served, fit, question, start_server
from tests.reliability.stores import STORES, store_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reliability.serving import Client, Reply

ASKERS = 3
UNIT = Fraction(1, 1000)
COSTLY = 3 * UNIT  # what a question that needs an approval costs
BUDGET = PureDP(epsilon=100)
POLICY = Policy(limit=BUDGET, approval_above=UNIT)
GONE = (OSError, http.client.HTTPException)
EXPECTED = {"reserved": 202, "committed": 200, "failed": 502}


def send(client: Client, key: str, *, wait: int = 20) -> Reply:
    """Ask the question of a key: one in four is a fit, one in four needs an approval."""
    number = int(key)
    if number % 4 == 2:
        return client.ask(fit(number), key, wait=wait, path="/v1/models")
    return client.ask(question(number, epsilon=str(float(COSTLY if number % 4 == 3 else UNIT))), key, wait=wait)


@dataclass
class Asker(threading.Thread):
    """Asks one question after the other, each until there is a reply; what is lost stays lost."""

    client: Client
    number: int
    enough: threading.Event
    answered: dict[str, dict[str, Any]] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)  # keys of requests, and their reservations
    odd: list[Reply] = field(default_factory=list)
    begun: int = 0

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        while not self.enough.is_set():
            key = str(self.begun * ASKERS + self.number)
            self.begun += 1
            self.settle(key)

    def settle(self, key: str) -> None:
        while not self.enough.is_set():
            try:
                reply = send(self.client, key, wait=0)
            except GONE:
                continue
            if reply.status == 403 and reply.json["error"] == "ApprovalRequiredError":
                time.sleep(0.01)
                continue
            if reply.status == 200:
                self.answered[key] = reply.json
            elif reply.status == 202:  # reserved by a process that was killed, or has not answered yet
                self.unanswered[key] = reply.json["id"]
                with contextlib.suppress(*GONE):
                    self.client.send("DELETE", f"/v1/queries/{reply.json['id']}")
            else:
                self.odd.append(reply)
            return


@dataclass
class Curator(threading.Thread):
    """Approves what waits, renames the data set and reads dummy rows, again and again."""

    client: Client
    enough: threading.Event
    odd: list[Reply] = field(default_factory=list)
    titles: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        while not self.enough.is_set():
            with contextlib.suppress(*GONE):
                waiting = self.send("GET", "/v1/approvals?state=pending").json["approvals"]
                for one in waiting:
                    self.send("PUT", f"/v1/approvals/{one['id']}", {"granted": True})
                self.titles.add(title := f"People {len(self.titles)}")
                self.send("PATCH", f"/v1/datasets/{DATASET}", {"title": title})
                self.send("GET", f"/v1/datasets/{DATASET}/dummy?rows=5")

    def send(self, method: str, path: str, body: object = None) -> Reply:
        reply = self.client.send(method, path, body)
        # The change of a worker that was killed may still be committed, between the look and the change of another.
        if reply.status != 200 and reply.json["code"] != "guard.dataset_changed_meanwhile":
            self.odd.append(reply)
        return reply


def kill_at_random(served: Served, kills: int, replies: Callable[[], int], chance: random.Random) -> None:
    """Kill one worker after the other, every second time only after some reply, so that both sides get on."""
    killed = 0
    while killed < kills:
        before, deadline = replies(), time.monotonic() + PATIENCE
        while killed % 2 and replies() == before and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.1))
        workers = served.workers()
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(workers), signal.SIGKILL)
                killed += 1
        assert served.process.poll() is None


@pytest.mark.parametrize("kind", STORES)
def test_kills_lose_no_charge_and_no_service(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, *, thorough: bool
) -> None:
    kills = 100 if thorough else 6
    with start_server(tmp_path, store_url(kind, request), budget=POLICY, workers=2) as served:
        enough = threading.Event()
        askers = [Asker(served.client(), number, enough) for number in range(ASKERS)]
        curator = Curator(served.client("curator"), enough)
        for thread in (*askers, curator):
            thread.start()
        kill_at_random(served, kills, lambda: sum(asker.begun for asker in askers), random.Random(20))
        enough.set()
        for thread in (*askers, curator):
            thread.join(PATIENCE)
            assert not thread.is_alive()
        served.wait_until_serving()
        odd = [*curator.odd, *(reply for asker in askers for reply in asker.odd)]
        assert not odd, [reply.body for reply in odd]
        answered = {key: told for asker in askers for key, told in asker.answered.items()}
        unanswered = {key: paid for asker in askers for key, paid in asker.unanswered.items()}
        assert len(answered) >= kills / 5
        check_books(served, answered, unanswered, sum(asker.begun for asker in askers))
        check_retries(served, answered, unanswered)
        check_books(served, answered, unanswered, sum(asker.begun for asker in askers))
        assert served.client().ask(question(10**6), "one more").status == 200


def check_books(served: Served, answered: dict[str, dict[str, Any]], unanswered: dict[str, str], begun: int) -> None:
    """Spent is what was reserved, which is at least what was released; each request paid once; the chain holds."""
    with served.guard() as guard:
        reservations = guard.ledger.reservations(analyst="analyst", limit=10_000)
        [line] = guard.ledger.statement(dataset=DATASET)
        account = guard.ledger.account(DATASET, "analyst")
        costs = [account.cost(one.event).to_json() for one in reservations]
        dear = costs.count(PureDP(epsilon=COSTLY).to_json())
        assert costs.count(PureDP(epsilon=UNIT).to_json()) == len(costs) - dear
        assert line.spent == PureDP(epsilon=(len(costs) + 2 * dear) * UNIT)
        granted = guard.approvals(LOCAL, state="granted", limit=10_000)
        assert dear == sum(one.answer is not None for one in granted)
        assert len(answered) + len(unanswered) <= len(reservations) <= begun
        committed = {one.id for one in reservations if one.state == "committed"}
        assert {told["id"] for told in answered.values()} <= committed
        assert len({told["id"] for told in answered.values()}) == len(answered)
        found = guard.verify(guard.authenticate(served.keys["auditor"]))
        assert found.ok, found.problem


def check_retries(served: Served, answered: dict[str, dict[str, Any]], unanswered: dict[str, str]) -> None:
    """A retry gives the same answer, or the same silence: what the ledger holds decides which.

    An asker gives up after its timeout, so on a busy machine a worker that lives may commit after the 202.
    """
    client = served.client()
    for key in sorted(answered)[:30]:
        reply = send(client, key)
        assert reply.status == 200
        assert reply.json == answered[key]
    with served.guard() as guard:
        for key in sorted(unanswered)[:10]:
            before = guard.ledger.reservation(unanswered[key])
            reply = send(client, key, wait=0)
            after = guard.ledger.reservation(unanswered[key])
            assert before is not None
            assert after is not None
            assert reply.status == 502 or reply.json["id"] == unanswered[key]
            assert reply.status in {EXPECTED[before.state], EXPECTED[after.state]}


@pytest.mark.parametrize("kind", STORES)
def test_a_kill_between_commit_and_reply_costs_nothing_twice(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, *, thorough: bool
) -> None:
    times = 5 if thorough else 1
    store = store_url(kind, request)
    with start_server(tmp_path, store, serve=serve_until_told_to_die, budget=BUDGET, workers=2) as served:
        client = served.client()
        for number in range(times):
            (tmp_path / "die after commit").touch()
            with pytest.raises(GONE):
                client.ask(question(number), str(number))
            first, second = (client.ask(question(number), str(number)) for _ in range(2))
            assert first.status == second.status == 200
            assert first.json == second.json
            assert spent(served) == (number + 1) * UNIT
        (tmp_path / "die before commit").touch()
        with pytest.raises(GONE):
            client.ask(question(times), "lost")
        lost = [client.ask(question(times), "lost", wait=0) for _ in range(2)]
        assert [reply.status for reply in lost] == [202, 202]
        assert lost[0].json == lost[1].json
        assert lost[0].json["release"] is None
        assert lost[0].headers["location"] == f"/v1/queries/{lost[0].json['id']}"
        assert spent(served) == (times + 1) * UNIT
        assert client.ask(question(times), "another key").status == 200
        with served.guard() as guard:
            assert [one.id for one in guard.ledger.open_reservations()] == [lost[0].json["id"]]
            assert guard.ledger.verify().ok


def spent(served: Served) -> Fraction:
    with served.guard() as guard:
        [line] = guard.ledger.statement(dataset=DATASET)
    assert isinstance(line.spent, PureDP)
    return line.spent.epsilon


def test_workers_do_not_outlive_their_supervisor(tmp_path: Path) -> None:
    with start_server(tmp_path, workers=2) as served:
        workers = served.workers()
        assert len(workers) == 2
        served.process.kill()
        served.process.wait(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while any(Path(f"/proc/{pid}/exe").exists() and is_running(pid) for pid in workers):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process runs, and is not only waiting to be reaped by whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
