"""The HTTP API under ``/v1``: every endpoint asks the guard, and writes down what it says. Nothing is decided here.

A question is sent with an idempotency key, so that a retry is the same question and costs nothing more. If its twin is
still being answered, a request waits for it: as long as ``Prefer: wait=…`` (RFC 7240) says, 20 seconds at most; then it
is told where the answer will be (202).
"""

import datetime as dt
import re
import time
from typing import TYPE_CHECKING, Annotated, Final

import anyio
from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse, Response

from celosia.core.errors import EngineError
from celosia.guard.api import replies
from celosia.guard.api import writing as written
from celosia.guard.api.models import AskBody, BoundsBody, KeyBody, NewUserBody, PolicyBody
from celosia.guard.http.routing import BEARER, StrictRoute, Who, problems, shared
from celosia.query.serial.json_fields import FORMATS
from celosia.query.serial.preview import preview_to_json

if TYPE_CHECKING:
    from celosia.guard.queries.requests import Answer

_READING: Final = (401, 403, 422, 429, 500, 503)
_FINDING: Final = (*_READING, 404)
_WRITING: Final = (*_FINDING, 400, 408, 413, 415)
_LONGEST_WAIT: Final = 20.0
_WAIT: Final = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})\"?(?:$|[,;\s])", re.ASCII)
_PLAIN: Final = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]+$"  # a path with one of these leads nowhere

_Name = Annotated[str, Path(min_length=1, max_length=200, pattern=_PLAIN)]
_Named = Annotated[str | None, Query(min_length=1, max_length=200, pattern=_PLAIN)]
_Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[!-~]([ -~]*[!-~])?$",
        description="Drawn anew for each question, and sent again with each retry of it.",
    ),
]


def _operation(route: APIRoute) -> str:
    return route.name.strip("_")


ROUTER = APIRouter(
    prefix="/v1",
    route_class=StrictRoute,
    dependencies=[Depends(BEARER)],
    generate_unique_id_function=_operation,
)
"""The routes of the API; they find the guard in the application's state."""


def wait_preferred(prefer: str | None) -> float:
    """Return the seconds that a client is ready to wait for an answer that is under way."""
    found = _WAIT.search(prefer or "")
    return min(_LONGEST_WAIT, float(found[1])) if found else _LONGEST_WAIT


# ---------------------------------------------------------------------------------------------------------- data sets


@ROUTER.get(
    "/datasets", response_model=replies.DatasetsReply, responses=problems(*_READING), summary="List the data sets"
)
async def _datasets(request: Request, who: Who) -> Response:
    """What is declared of the data sets that you may see; never how many rows they have."""
    here = shared(request)
    cards = await here.threads.read(here.guard.datasets, who)
    return JSONResponse({"datasets": [card.to_json() for card in cards], "formats": FORMATS})


@ROUTER.get(
    "/datasets/{name}", response_model=replies.DatasetReply, responses=problems(*_FINDING), summary="Show a data set"
)
async def _dataset(request: Request, who: Who, name: _Name) -> Response:
    """What is declared of one data set: tables, columns, bounds, whom it protects."""
    here = shared(request)
    card = await here.threads.read(here.guard.dataset, who, name)
    return JSONResponse(card.to_json())


@ROUTER.put(
    "/datasets/{name}/columns/{column}/bounds",
    response_model=replies.DatasetReply,
    responses=problems(*_WRITING),
    summary="Set the bounds of a column",
)
async def _bounds(request: Request, who: Who, name: _Name, column: _Name, body: BoundsBody) -> Response:
    """Values are clipped to the bounds, which must be chosen without looking at the data. For curators."""
    here = shared(request)
    card = await here.threads.read(here.guard.set_bounds, who, name, column, body.low, body.high)
    return JSONResponse(card.to_json())


@ROUTER.post(
    "/datasets/{name}/versions",
    response_model=replies.DatasetReply,
    responses=problems(*_FINDING),
    summary="Declare that the data have changed",
)
async def _version(request: Request, who: Who, name: _Name) -> Response:
    """From now on answers to questions that were asked before are computed, and paid for, anew."""
    here = shared(request)
    card = await here.threads.read(here.guard.new_version, who, name)
    return JSONResponse(card.to_json())


# ---------------------------------------------------------------------------------------------------------- questions


@ROUTER.post(
    "/previews",
    response_model=replies.PreviewReply,
    responses=problems(*_WRITING, 502),
    summary="See what a question would cost",
)
async def _preview(request: Request, who: Who, body: AskBody) -> Response:
    """The cost of a question and how far off the answer would be. Spends nothing, and reads no data."""
    here = shared(request)
    with here.shares.held(who.name):
        preview = await here.threads.work(here.guard.preview, who, body.request())
    return JSONResponse(preview_to_json(preview))


@ROUTER.post(
    "/queries",
    response_model=replies.AnswerReply,
    responses=problems(*_WRITING, 409, 502)
    | {202: {"model": replies.AnswerReply, "description": "The same request is still being answered."}},
    summary="Ask a question",
)
async def _ask(
    request: Request, who: Who, body: AskBody, key: _Key, prefer: Annotated[str | None, Header()] = None
) -> Response:
    """The answer, with noise. It is paid for from the data set's budget and from yours, before the data are read."""
    here = shared(request)
    with here.shares.held(who.name):
        answer = await here.threads.ask(here.guard.ask, who, body.request(), key)
        until, pause = time.monotonic() + wait_preferred(prefer), 0.02
        while answer.state == "reserved" and time.monotonic() < until:
            await anyio.sleep(pause)
            pause = min(0.5, pause * 1.5)
            answer = await here.threads.read(here.guard.answer, who, answer.id)
    return _answered(answer)


def _answered(answer: "Answer") -> Response:
    if answer.state == "failed":
        raise EngineError(answer.id)  # its words are those of every failure; they do not tell what kind it was
    if answer.state == "reserved":
        headers = {"Retry-After": "1", "Location": f"/v1/queries/{answer.id}"}
        return Response(answer.to_text(), status_code=202, headers=headers, media_type="application/json")
    return Response(answer.to_text(), media_type="application/json")


@ROUTER.get(
    "/queries", response_model=replies.AnswersReply, responses=problems(*_READING), summary="List your questions"
)
async def _answers(request: Request, who: Who, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
    """The questions that you have asked, the latest first, without the answers."""
    here = shared(request)
    answers = await here.threads.read(here.guard.answers, who, limit)
    return JSONResponse({"queries": [answer.to_json() for answer in answers]})


@ROUTER.get(
    "/queries/{id}", response_model=replies.AnswerReply, responses=problems(*_FINDING), summary="Read an answer again"
)
async def _answer(
    request: Request,
    who: Who,
    number: Annotated[str, Path(alias="id", min_length=1, max_length=64, pattern=r"^[0-9a-f]+$")],
) -> Response:
    """An answer that you were given, or what became of the question. Costs nothing."""
    here = shared(request)
    answer = await here.threads.read(here.guard.answer, who, number)
    return Response(answer.to_text(), media_type="application/json")


# ------------------------------------------------------------------------------------------------------------ budgets


@ROUTER.get("/budget", response_model=replies.BudgetReply, responses=problems(*_FINDING), summary="Show budgets")
async def _budget(request: Request, who: Who, dataset: _Named = None, analyst: _Named = None) -> Response:
    """What may be spent, is spent and is left; an analyst sees the data sets' budgets and the own."""
    here = shared(request)
    lines = await here.threads.read(here.guard.budget, who, dataset=dataset, analyst=analyst)
    return JSONResponse({"lines": [written.budget_line(line) for line in lines]})


@ROUTER.put("/budget", response_model=replies.BudgetReply, responses=problems(*_WRITING), summary="Set a budget")
async def _set_budget(request: Request, who: Who, body: PolicyBody) -> Response:
    """Set the budget of a data set, an analyst or both. What was spent stays spent. For owners and curators."""
    here = shared(request)
    scope = {"dataset": body.dataset, "analyst": body.analyst}
    await here.threads.read(here.guard.set_budget, who, body.policy(), **scope)
    lines = await here.threads.read(here.guard.budget, who, **scope)
    return JSONResponse({"lines": [written.budget_line(line) for line in lines]})


# ---------------------------------------------------------------------------------------------------------------- log


@ROUTER.get("/log", response_model=replies.LogReply, responses=problems(*_READING), summary="Read the log")
async def _log(
    request: Request,
    who: Who,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Lines of the hash-chained log, the oldest first. For auditors."""
    here = shared(request)
    lines = await here.threads.read(here.guard.log, who, after, limit)
    return JSONResponse({"lines": [written.log_line(line) for line in lines]})


@ROUTER.get(
    "/log/verify", response_model=replies.VerificationReply, responses=problems(*_READING), summary="Verify the log"
)
async def _verify(
    request: Request,
    who: Who,
    head: Annotated[str | None, Query(pattern=r"^[0-9]{1,18}:[0-9a-f]{64}$")] = None,
) -> Response:
    """Whether the log is as it was written, and continues the head that you have kept. For auditors."""
    here = shared(request)
    found = await here.threads.work(here.guard.verify, who, head)
    return JSONResponse(written.verification(found))


# -------------------------------------------------------------------------------------------------------------- users


@ROUTER.get("/users", response_model=replies.UsersReply, responses=problems(*_READING), summary="List the users")
async def _users(request: Request, who: Who) -> Response:
    """All users and their keys, without the secrets. For owners."""
    here = shared(request)
    cards = await here.threads.read(here.guard.users, who)
    return JSONResponse({"users": [written.user(card) for card in cards]})


@ROUTER.post(
    "/users",
    status_code=201,
    response_model=replies.NewKeyReply,
    responses=problems(*_WRITING),
    summary="Add a user",
)
async def _add_user(request: Request, who: Who, body: NewUserBody) -> Response:
    """Add a user; the key is shown this once. For owners."""
    here = shared(request)
    expires = KeyBody(days=body.days).expires(dt.datetime.now(dt.UTC))
    key = await here.threads.read(here.guard.add_user, who, body.name, body.role, expires)
    return JSONResponse({"name": body.name, "key": key}, status_code=201)


@ROUTER.post(
    "/users/{name}/keys",
    status_code=201,
    response_model=replies.NewKeyReply,
    responses=problems(*_WRITING),
    summary="Add a key",
)
async def _add_key(request: Request, who: Who, name: _Name, body: KeyBody) -> Response:
    """Give a user one more key, which is shown this once; those given before stay valid. For owners."""
    here = shared(request)
    key = await here.threads.read(here.guard.add_key, who, name, body.expires(dt.datetime.now(dt.UTC)))
    return JSONResponse({"name": name, "key": key}, status_code=201)


@ROUTER.delete("/users/{name}", status_code=204, responses=problems(*_FINDING), summary="Revoke keys")
async def _revoke(request: Request, who: Who, name: _Name) -> Response:
    """Revoke all keys of a user, or the one key with this id, at once and for good. For owners."""
    here = shared(request)
    await here.threads.read(here.guard.revoke, who, name)
    return Response(status_code=204)
