"""What goes out fits the shapes that the document declares."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import BaseModel

from celosia.core.messages.message import Message
from celosia.guard.api import replies
from celosia.guard.http.problems import Problem
from celosia.guard.queries.requests import Answer

AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_answers_and_problems() -> None:
    answer = Answer(id="0f", state="reserved", dataset="deaths", question="SELECT COUNT(*) FROM deaths", at=AT)
    replies.AnswerReply.model_validate(answer.to_json())
    problem = Problem(status=404, title="Not Found", detail=Message("Nothing."), error="CelosiaError")
    replies.ProblemReply.model_validate(problem.json("8f0c"))


def test_nothing_but_the_declared_fields_goes_out() -> None:
    for model in vars(replies).values():
        if isinstance(model, type) and issubclass(model, BaseModel) and model.__module__ == replies.__name__:
            assert model.model_json_schema()["additionalProperties"] is False
