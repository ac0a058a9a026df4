"""Long ledgers: verifying one, and opening one, as multiples of a plain chain of hashes over the same lines.

A ledger in a SQLite file holds lines as a guard writes them: three data sets, five analysts, keyed requests, answers of
half a kilobyte, reservations that fail or stay open, answers that are repeated. One ledger has thirty distinct events,
the other a new one for each reservation. The plain operation reads the same rows with ``sqlite3`` and computes SHA-256
over them, each hash with the one before: the least that a verification must do. Times are seconds of the processor, the
least of a few.

``python -m benchmarks ledger``; ``--rows`` is the number of lines (100,000).
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

import celosia as cl
from benchmarks.harness import Case
from celosia.ledger.log.chain import canonical_json, format_timestamp, line_hash
from celosia.ledger.log.lines import read_head
from celosia.ledger.reservations.records import digest_answer
from celosia.ledger.reservations.reserving import SpendRequest
from celosia.ledger.store.tables import ANSWERS, HEAD, LOG, REQUESTS, RESERVATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.ledger.log.chain import JSON

LINES = int(os.environ.get("CELOSIA_BENCH_ROWS", "100000"))
DATASETS = ("births", "deaths", "visits")
ANALYSTS = ("ana", "eve", "joe", "kim", "lea")
REPEATS = 3
WEEK = 7 * 86_400
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


class Writer:
    """Writes many lines at once, with the rows derived from them, as ``reserve`` and ``commit`` write one."""

    def __init__(self, ledger: cl.ledger.Ledger, distinct: int) -> None:
        with ledger.store.reading() as connection:
            self.head, _ = read_head(connection)
        self.sequence, self.hash, self.at = self.head.sequence, self.head.hash, ""
        self.rows: dict[Any, list[dict[str, Any]]] = {LOG: [], RESERVATIONS: [], REQUESTS: [], ANSWERS: []}
        self.events = [cl.core.LaplaceEvent(scale=100_000 + number, sensitivity=1) for number in range(distinct)]

    def append(self, kind: str, body: dict[str, JSON]) -> int:
        """Write a line, a minute after the one before."""
        self.sequence += 1
        self.at = format_timestamp(BEGUN + timedelta(minutes=self.sequence))
        text = canonical_json(body)
        given = {"sequence": self.sequence, "at": self.at, "kind": kind, "body": text, "previous": self.hash}
        self.hash = line_hash(sequence=self.sequence, at=self.at, kind=kind, body=text, previous=self.hash)
        self.rows[LOG].append(given | {"hash": self.hash})
        return self.sequence

    def ask(self, number: int) -> None:
        """Write a question: reserved and committed, or failed, or left open; every twentieth is repeated."""
        identity, text = f"{number:032x}", f"{number:0500d}"
        analyst = ANALYSTS[number % len(ANALYSTS)]
        spend = SpendRequest(
            event=self.events[number % len(self.events)],
            dataset=DATASETS[number % len(DATASETS)],
            analyst=analyst,
            text=f"SELECT COUNT(*), AVG(age) FROM visits WHERE weight < {number}.5 GROUP BY region",  # noqa: S608
            fingerprint=f"{number:064x}",
            request=cl.ledger.Request(key=f"key-{number}", digest=f"{number:064x}"),
        )
        row: dict[str, Any] = {
            "id": identity,
            "dataset": spend.dataset,
            "analyst": analyst,
            "opened": self.append("reserved", spend.body(identity)),
            "closed": None,
            "state": ("failed", "reserved")[number % 2] if number % 50 == 0 else "committed",
            "fingerprint": spend.fingerprint,
            "source": None,
        }
        self.rows[REQUESTS].append(
            {"analyst": analyst, "key": f"key-{number}", "digest": f"{number:064x}", "reservation": identity}
        )
        self.rows[RESERVATIONS].append(row)
        if row["state"] == "failed":
            row["closed"] = self.append("failed", {"id": identity})
        elif row["state"] == "committed":
            row["closed"] = self.append("committed", {"id": identity, "answer": digest_answer(text)})
            self.rows[ANSWERS].append({"id": identity, "digest": digest_answer(text), "text": text.encode()})
        if row["state"] == "committed" and number % 20 == 1:
            again = f"{number:031x}r"
            body = spend.body(again) | {"request": None, "answer": identity, "charged": False}
            opened = self.append("repeated", body)
            changes = {"id": again, "opened": opened, "closed": None, "state": "repeated", "source": identity}
            self.rows[RESERVATIONS].append(row | changes)

    def store(self, ledger: cl.ledger.Ledger) -> None:
        """Store the lines and the rows."""
        with ledger.store.transaction() as connection:
            for table, rows in self.rows.items():
                connection.execute(insert(table), rows)
            connection.execute(HEAD.update(), {"sequence": self.sequence, "at": self.at, "hash": self.hash})


def write(url: str, lines: int, distinct: int) -> None:
    """Write a ledger of so many lines (or a few more) with so many distinct events."""
    week = cl.ledger.Window(seconds=WEEK, limit=cl.ApproxDP(epsilon=10, delta="1e-6"))
    with cl.open_ledger(url, clock=lambda: BEGUN) as ledger:
        ledger.set_budget(cl.PureDP(epsilon=100), dataset="births")
        ledger.set_budget(cl.ZCDP(rho=1), dataset="deaths")
        weekly = cl.ledger.Policy(limit=cl.ApproxDP(epsilon=100, delta="1e-6"), window=week)
        ledger.set_budget(weekly, dataset="visits")
        for analyst in ANALYSTS:
            ledger.set_budget(cl.PureDP(epsilon=10), analyst=analyst)
        writer, number = Writer(ledger, distinct), 0
        while writer.sequence < lines:
            writer.ask(number)
            number += 1
        writer.store(ledger)


def hash_plainly(file: Path) -> None:
    """Read the lines and chain their hashes, and nothing else."""
    with closing(sqlite3.connect(file)) as database:
        cursor = database.execute("SELECT sequence, at, kind, body, previous, hash FROM celosia_log ORDER BY sequence")
        previous = ""
        while rows := cursor.fetchmany(2_000):
            for sequence, at, kind, body, _, _ in rows:
                text = f'[{sequence},"{at}","{kind}",{body},"{previous}"]'
                previous = hashlib.sha256(text.encode()).hexdigest()


def verify(url: str) -> None:
    """Verify a ledger."""
    with cl.open_ledger(url, create=False) as ledger:
        found = ledger.verify()
    assert found.ok, found.problem  # noqa: S101 - a benchmark says what it sees


def open_account(url: str) -> None:
    """Open a ledger and read what an analyst has left."""
    with cl.open_ledger(url, create=False) as ledger:
        _ = ledger.account("births", "ana").remaining


def seconds(action: Callable[[], None]) -> float:
    """Return the least time of the processor."""
    taken = []
    for _ in range(REPEATS):
        begun = time.process_time()
        action()
        taken.append(time.process_time() - begun)
    return min(taken)


@cache
def measured(distinct: int) -> dict[str, float]:
    """Everything about a ledger with so many distinct events, in one go."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "budget.db"
        url = f"sqlite:///{file}"
        write(url, LINES, distinct)
        return {
            "plain": seconds(partial(hash_plainly, file)),
            "verify": seconds(partial(verify, url)),
            "open": seconds(partial(open_account, url)),
        }


def cases() -> list[Case]:
    """Return the cases of the package."""
    names = {"verify": "verify a ledger", "open": "open a ledger and read an account"}
    found = []
    for distinct in (30, LINES):
        given = {"lines": LINES, "distinct events": "30" if distinct == 30 else "all"}
        plain = partial(_get, "plain", distinct)
        found.append(Case(what="plain chain of hashes", measure=plain, unit="s", parameters=given))
        for part, name in names.items():
            found.append(Case(what=name, measure=partial(_get, part, distinct), unit="s", parameters=given))
            found.append(
                Case.number(
                    f"{name}, over the plain chain", partial(_ratio, part, distinct), unit="x", parameters=given
                )
            )
    return found


def _get(part: str, distinct: int) -> float:
    return measured(distinct)[part]


def _ratio(part: str, distinct: int) -> float:
    return measured(distinct)[part] / measured(distinct)["plain"]
