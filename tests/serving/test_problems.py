"""Problems: every error of the tree has a status, ours speak, the unforeseen say nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
from starlette.exceptions import HTTPException

from celosia.core import errors
from celosia.core.messages.message import Message
from celosia.serving.access_log import AccessLog
from celosia.serving.errors import NotFoundError
from celosia.serving.problems import STATUSES, HttpError, Problems, problem_of, request_number, unexpected_problem

if TYPE_CHECKING:
    from starlette.types import Message as AsgiMessage
    from starlette.types import Receive, Scope, Send

SILENT = {"ConformanceError", "GuardUnreachableError"}  # never raised by a server


def test_every_error_of_the_tree_has_a_status() -> None:
    for name in sorted(
        {
            name
            for name, value in vars(errors).items()
            if isinstance(value, type) and issubclass(value, errors.CelosiaError)
        }
        - SILENT
    ):
        assert name in STATUSES
        problem = problem_of(getattr(errors, name)("Epsilon must be positive."))
        assert problem is not None
        assert problem.error == name
        assert 400 <= problem.status < 600
        assert problem.json("7")["request"] == "7"


def test_what_names_machines_is_told_in_fixed_words() -> None:
    for kind in (errors.LedgerError, errors.EngineError, errors.MissingExtraError):
        problem = problem_of(kind("postgresql://ana:secret@db.example/registry"))
        assert problem is not None
        assert "secret" not in problem.detail


def test_statuses() -> None:
    cases: list[tuple[Exception, int, str]] = [
        (errors.BudgetExceededError("No."), 403, "BudgetExceededError"),
        (errors.RequestConflictError("No."), 409, "RequestConflictError"),
        (errors.NotAllowedError("No."), 403, "NotAllowedError"),
        (errors.TooManyRequestsError("No."), 429, "TooManyRequestsError"),
        (errors.LedgerError("No."), 503, "LedgerError"),
        (NotFoundError("guard.no_dataset", name="deaths"), 404, "QueryError"),
        (HttpError(401, Message("No."), error="NotAllowedError"), 401, "NotAllowedError"),
        (HTTPException(404), 404, "CelosiaError"),
        (HTTPException(405, headers={"Allow": "GET", "X-Other": "no"}), 405, "CelosiaError"),
    ]
    for error, status, name in cases:
        problem = problem_of(error)
        assert problem is not None
        assert (problem.status, problem.error) == (status, name)
        assert "X-Other" not in (problem.headers or {})


def test_whoever_shall_come_back_is_told_when() -> None:
    for error in (errors.TooManyRequestsError("No."), errors.LedgerError("No.")):
        problem = problem_of(error)
        assert problem is not None
        assert problem.headers == {"Retry-After": "1"}


def caught(error: Exception, *, begun: bool = False) -> tuple[list[AsgiMessage], list[str]]:
    """What leaves the net, and what the access log has, when an application raises."""
    sent: list[AsgiMessage] = []
    lines: list[str] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error

    async def send(message: AsgiMessage) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "celosia.request": "8f0c"}
    layer: Any = Problems(app, access_log=AccessLog(lines.append))
    anyio.run(layer, scope, None, send)
    return sent, lines


def test_an_unexpected_error_shows_only_its_number() -> None:
    sent, lines = caught(KeyError("Ana García, 1943"))
    assert sent[0]["status"] == 500
    body = json.loads(sent[1]["body"])
    assert body == unexpected_problem().json("8f0c")
    assert "García" not in str(sent) + str(lines)
    assert "KeyError" in lines[0]
    assert "8f0c" in lines[0]


def test_the_expected_is_not_in_the_access_log() -> None:
    sent, lines = caught(errors.QueryError("There is no column 'agee'."))
    assert sent[0]["status"] == 422
    assert json.loads(sent[1]["body"])["detail"] == "There is no column 'agee'."
    assert dict(sent[0]["headers"])[b"content-type"] == b"application/problem+json"
    assert not lines


def test_a_reply_that_has_begun_is_not_begun_again() -> None:
    sent, lines = caught(KeyError("x"), begun=True)
    assert len(sent) == 1
    assert len(lines) == 1


def test_half_a_character_can_be_told() -> None:
    problem = problem_of(errors.ParameterError("name must be a text, not '\ud800'."))
    assert problem is not None
    assert json.loads(bytes(problem.response("-").body))["detail"].endswith("'\ud800'.")


def test_a_request_without_a_number() -> None:
    assert request_number({"celosia.request": 7}) == "-"
