"""Four clients race for a budget of some hundred questions, through two processes: so many are answered, no more."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from celosia.core import PureDP
from tests.reliability.serving import DATASET, start_server
from tests.reliability.stores import STORES, store_url

if TYPE_CHECKING:
    from pathlib import Path

CLIENTS = 4
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
