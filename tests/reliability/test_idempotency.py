"""One request, sent a dozen times at once: one answer, one charge. Another body under its key: a conflict."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from celosia.core import PureDP
from tests.reliability.serving import DATASET, question, start_server
from tests.reliability.stores import STORES, store_url

if TYPE_CHECKING:
    from pathlib import Path

    from tests.reliability.serving import Reply, Served

TIMES = 12
UNIT = Fraction(1, 1000)


def at_once(served: Served, bodies: list[dict[str, str]], key: str, who: str = "analyst") -> list[Reply]:
    """Send bodies under one key, each over a connection of its own, all at the same time."""
    gate = threading.Barrier(len(bodies))
    replies: list[Reply] = []

    def send(body: dict[str, str]) -> None:
        client = served.client(who)
        gate.wait(30)
        replies.append(client.ask(body, key))

    threads = [threading.Thread(target=send, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return replies


def charged(served: Served) -> Fraction:
    with served.guard() as guard:
        [line] = guard.ledger.statement(dataset=DATASET)
        assert guard.ledger.verify().ok
    assert isinstance(line.spent, PureDP)
    return line.spent.epsilon


@pytest.mark.parametrize("kind", STORES)
def test_one_key_is_one_question(kind: str, tmp_path: Path, request: pytest.FixtureRequest, *, thorough: bool) -> None:
    questions = 3 if thorough else 1
    with start_server(tmp_path, store_url(kind, request), workers=2, analysts=["second"]) as served:
        for number in range(questions):
            replies = at_once(served, [question(number)] * TIMES, f"key {number}")
            assert [reply.status for reply in replies] == [200] * TIMES
            assert len({reply.body for reply in replies}) == 1
            assert charged(served) == (number + 1) * UNIT

        other = served.client().ask(question(7), "key 0")
        assert other.status == 409
        assert other.json["error"] == "RequestConflictError"
        assert other.headers["content-type"] == "application/problem+json"

        # Two bodies race for one key: one of them is the question, whoever asks the other is told so.
        replies = at_once(served, [question(8), question(9)] * (TIMES // 2), "key 8")
        assert sorted(reply.status for reply in replies) == [200] * (TIMES // 2) + [409] * (TIMES // 2)
        assert charged(served) == (questions + 1) * UNIT

        # Keys belong to whoever drew them; the answer itself is known, and free for the data set.
        own = at_once(served, [question(0)] * 2, "key 0", who="second")
        assert [reply.status for reply in own] == [200, 200]
        assert own[0].json["release"] == replies_of(served, 0)["release"]
        assert charged(served) == (questions + 1) * UNIT


def replies_of(served: Served, number: int) -> dict[str, object]:
    told: dict[str, object] = served.client().ask(question(number), f"key {number}").json
    return told
