"""Four clients race for a budget of some hundred questions, through two processes: so many are answered, no more.

The same request races with decisions about its approval, and curators race with their changes of a data set.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from celosia.core import PureDP
from celosia.ledger import Policy
from tests.reliability.serving import DATASET, LOCAL, question, start_server
from tests.reliability.stores import STORES, store_url

if TYPE_CHECKING:
    from pathlib import Path

    from tests.reliability.serving import Client, Served

CLIENTS = 4
ASKED = 5  # times that each client asks or changes the same
REFUSALS = {"ApprovalRequiredError", "NotAllowedError"}
UNIT = Fraction(1, 1000)

RACER = """
import json, sys
from tests.reliability.racing import race
print(json.dumps(race(*sys.argv[1:])))
"""


@pytest.mark.parametrize("kind", STORES)
def test_a_budget_of_many_questions_answers_so_many(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, *, thorough: bool
) -> None:
    store = store_url(kind, request)
    each, units = (400, 1000) if thorough else (10, 24)
    with start_server(tmp_path, store, budget=PureDP(epsilon=units * UNIT), workers=2) as served:
        racers = [
            subprocess.Popen(
                [sys.executable, "-c", RACER, served.url, served.keys["analyst"], str(number), str(each)],
                stdout=subprocess.PIPE,
                cwd=request.config.rootpath,
            )
            for number in range(CLIENTS)
        ]
        told = [json.loads(racer.communicate(timeout=600)[0]) for racer in racers]
        statuses = Counter(status for one in told for status, _ in one["replies"])
        assert statuses == {200: units, 403: CLIENTS * each - units}
        assert {error for one in told for status, error in one["replies"] if status == 403} == {"BudgetExceededError"}
        numbers = [number for one in told for number in one["ids"]]
        assert len(set(numbers)) == units
        with served.guard() as guard:
            [line] = guard.ledger.statement(dataset=DATASET)
            assert line.spent == PureDP(epsilon=units * UNIT)
            assert line.remaining == PureDP(epsilon=0)
            assert guard.ledger.verify().ok
            assert not guard.ledger.open_reservations()
            guard.set_budget(LOCAL, Policy(limit=PureDP(epsilon=1), approval_above=UNIT), dataset=DATASET)
        race_for_an_approval(served, units)
        race_for_changes(served)


def race_for_an_approval(served: Served, units: int) -> None:
    """One request of many clients, while a curator changes his mind: it is paid and answered once, or not at all."""
    dear = question(1, epsilon=str(float(7 * UNIT)))

    def ask(client: Client) -> list[str]:
        replies = [client.ask(dear, "dear") for _ in range(ASKED)]
        assert {reply.status for reply in replies} <= {200, 403}
        assert {reply.json["error"] for reply in replies if reply.status == 403} <= REFUSALS
        return [reply.json["id"] for reply in replies if reply.status == 200]

    def decide(client: Client, approval: str) -> None:
        statuses = [
            client.send("PUT", f"/v1/approvals/{approval}", {"granted": turn % 2 == 1}).status for turn in range(ASKED)
        ]
        assert set(statuses) <= {200, 422}  # what is answered is decided

    clients = [served.client() for _ in range(CLIENTS)]
    assert clients[0].ask(dear, "dear").status == 403
    curator = served.client("curator")
    [waiting] = curator.send("GET", "/v1/approvals").json["approvals"]
    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        deciding = pool.submit(decide, curator, waiting["id"])
        answers = [answer for found in pool.map(ask, clients) for answer in found]
        deciding.result()
    curator.send("PUT", f"/v1/approvals/{waiting['id']}", {"granted": True})
    answers.append(clients[0].ask(dear, "dear").json["id"])
    assert len(set(answers)) == 1
    with served.guard() as guard:
        [line] = guard.ledger.statement(dataset=DATASET)
        assert line.spent == PureDP(epsilon=(units + 7) * UNIT)
        assert guard.verify(guard.authenticate(served.keys["auditor"])).ok


def race_for_changes(served: Served) -> None:
    """Curators change a data set at once: every change is made whole, or refused because of another."""

    def change(number: int) -> Counter[int]:
        client = served.client("curator")
        bodies = ({"title": f"People {number} {turn}"} for turn in range(ASKED))
        return Counter(client.send("PATCH", f"/v1/datasets/{DATASET}", body).status for body in bodies)

    with ThreadPoolExecutor(CLIENTS) as pool:
        statuses = sum(pool.map(change, range(CLIENTS)), Counter())
    assert statuses.keys() <= {200, 422}
    with served.guard() as guard:
        found = guard.catalogue.find(DATASET)
        assert found is not None
        assert found.revision == 1 + statuses[200]
        assert guard.verify(guard.authenticate(served.keys["auditor"])).ok
