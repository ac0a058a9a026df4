"""The shapes of what goes out: nothing but what is declared, and exact numbers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import celosia as cl
from celosia.core import ZCDP, PureDP
from celosia.core.messages.message import Message
from celosia.guard.schema import replies
from celosia.guard.schema.replies import Answer
from celosia.ledger import Policy, Window
from celosia.serving.problems import Problem

ANSWER: dict[str, Any] = {
    "id": "0f",
    "state": "committed",
    "dataset": "deaths",
    "question": 'say "ñ"',
    "at": datetime(2026, 1, 1, tzinfo=UTC),
    "cost": {"kind": "PureDP"},
    "release": {"version": 1},
    "repeated": True,
}


def test_an_answer_is_read_as_it_was_written() -> None:
    written = json.loads(json.dumps(Answer(**ANSWER).to_json()))
    assert written == ANSWER | {"at": "2026-01-01T00:00:00+00:00"}
    assert Answer.read(written) == Answer(**ANSWER)
    assert json.loads(Answer(**ANSWER).to_text()) == written


def test_a_stored_release_is_put_into_the_text_as_it_is() -> None:
    stored = '{"guarantee":{"epsilon":"0.1"},"name":"Espa\\u00f1a"}'
    spliced = Answer(**ANSWER | {"release": json.loads(stored)}, stored=stored)
    assert stored in spliced.to_text()
    assert json.loads(spliced.to_text()) == spliced.to_json()
    assert "stored" not in spliced.to_json()


def test_problems() -> None:
    problem = Problem(status=404, title="Not Found", detail=Message("Nothing."), error="CelosiaError")
    assert replies.ProblemReply.read(problem.json("8f0c")).request == "8f0c"


def test_budgets_with_and_without_a_window() -> None:
    with cl.open_ledger("memory://") as ledger:
        ledger.set_budget(PureDP(epsilon=3), dataset="deaths")
        window = Window(seconds=60, limit=ZCDP(rho="0.1"))
        ledger.set_budget(Policy(limit=ZCDP(rho=1), window=window), analyst="ana")
        ledger.reserve(cl.mechanisms.Laplace(epsilon=1, sensitivity=1).event, dataset="deaths", kind="local")
        ledger.set_budget(PureDP(epsilon=4), dataset="deaths")
        lines = [line.to_json() for line in ledger.statement()]
    read = replies.BudgetReply.read({"lines": lines})
    by_analyst = {line.analyst: line for line in read.lines}
    assert by_analyst[None].window is None
    assert by_analyst[None].remaining["epsilon"] == "3"
    window_line = by_analyst["ana"].window
    assert window_line is not None
    assert window_line.limit["rho"] == "1/10"
    assert window_line.renews is not None
    assert read.to_json() == {"lines": lines}
    assert [(one.kind, one.releases) for one in by_analyst[None].kinds or ()] == [("local", 1)]
    older = [{name: value for name, value in line.items() if name != "kinds"} for line in lines]
    assert [line.kinds for line in replies.BudgetReply.read({"lines": older}).lines] == [None, None]


def test_nothing_but_the_declared_fields_goes_out() -> None:
    shapes = [one for one in vars(replies).values() if isinstance(one, type) and one.__module__ == replies.__name__]
    assert len(shapes) > 20
    for shape in shapes:
        schema = shape.model_json_schema(mode="serialization")  # type: ignore[attr-defined]
        assert schema["additionalProperties"] is False
        assert set(schema.get("required", ())) == set(schema.get("properties", ()))
