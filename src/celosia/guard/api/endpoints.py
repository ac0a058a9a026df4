"""The HTTP API under ``/v1``: each endpoint calls the guard and serializes its result. It decides nothing itself.

A query carries an idempotency key, so that a retry is the same query and costs nothing more. If the first request is
still being answered, a retry waits for it: as long as ``Prefer: wait=…`` (RFC 7240) allows, at most 20 seconds. Then
the reply is 202 with the address of the answer.
"""

import datetime as dt
import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import anyio
from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response, StreamingResponse

from celosia.core.errors import EngineError
from celosia.guard.api import replies, serializers
from celosia.guard.api.models import (
    AskBody,
    BoundsBody,
    DatasetBody,
    DecisionBody,
    FitBody,
    KeyBody,
    NewUserBody,
    PolicyBody,
)
from celosia.guard.http.routing import BEARER, Caller, StrictRoute, get_shared, problems
from celosia.guard.log import export, search
from celosia.query.serial.json_fields import FORMATS
from celosia.query.serial.messages import message_to_json
from celosia.query.serial.preview import preview_to_json

if TYPE_CHECKING:
    from celosia.guard.auth.identity import Identity
    from celosia.guard.datasets.cards import DatasetCard
    from celosia.guard.queries.requests import Answer

_READ_STATUSES: Final = (401, 403, 422, 429, 500, 503)
_FIND_STATUSES: Final = (*_READ_STATUSES, 404)
_WRITE_STATUSES: Final = (*_FIND_STATUSES, 400, 408, 413, 415)
_MAX_WAIT_SECONDS: Final = 20.0
_MAX_DUMMY_ROWS: Final = 10_000
_WAIT: Final = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})\"?(?:$|[,;\s])", re.ASCII)
_NO_CONTROLS: Final = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]+$"  # no path contains one of these

_Name = Annotated[str, Path(min_length=1, max_length=200, pattern=_NO_CONTROLS)]
_AnswerId = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[0-9a-f]+$")]
_OptionalName = Annotated[str | None, Query(min_length=1, max_length=200, pattern=_NO_CONTROLS)]
_Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[!-~]([ -~]*[!-~])?$",
        description="Drawn for each query, and sent again with each retry.",
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
"""The routes of the API; the guard is in the application's state."""


def _describe(reply: type[BaseModel], statuses: Iterable[int], summary: str) -> dict[str, Any]:
    """Return what the OpenAPI page says of an endpoint: its reply, its problems, and a line."""
    return {"response_model": reply, "responses": problems(*statuses), "summary": summary}


def parse_wait(prefer: str | None) -> float:
    """Return the seconds that a client is willing to wait for an answer in progress."""
    found = _WAIT.search(prefer or "")
    return min(_MAX_WAIT_SECONDS, float(found[1])) if found else _MAX_WAIT_SECONDS


# ---------------------------------------------------------------------------------------------------------- data sets


@ROUTER.get("/datasets", **_describe(replies.DatasetsReply, _READ_STATUSES, "List the data sets"))
async def _datasets(request: Request, who: Caller) -> Response:
    """The declarations of the data sets that you may see; never their number of rows."""
    state = get_shared(request)
    cards = await state.threads.read(state.guard.datasets, who)
    return JSONResponse({"datasets": [card.to_json() for card in cards], "formats": FORMATS})


def _reply_card(card: "DatasetCard") -> Response:
    return JSONResponse(card.to_json())


@ROUTER.get("/datasets/{name}", **_describe(replies.DatasetReply, _FIND_STATUSES, "Show a data set"))
async def _dataset(request: Request, who: Caller, name: _Name) -> Response:
    """The declarations of one data set: tables, columns, bounds, privacy units."""
    state = get_shared(request)
    return _reply_card(await state.threads.read(state.guard.dataset, who, name))


@ROUTER.get(
    "/datasets/{name}/dummy",
    response_class=StreamingResponse,
    responses=problems(*_FIND_STATUSES)
    | {200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "The rows."}},
    summary="Draw dummy rows",
)
async def _dummy(
    request: Request,
    who: Caller,
    name: _Name,
    rows: Annotated[int, Query(ge=1, le=_MAX_DUMMY_ROWS)] = 1000,
    seed: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:
    """Rows drawn from the declarations alone, to try code on. Reads no data and costs nothing."""
    state = get_shared(request)
    parts = await state.threads.read(state.guard.dummy_rows, who, name, rows=rows, seed=seed)
    return StreamingResponse(parts, media_type="text/csv")


@ROUTER.patch(
    "/datasets/{name}", **_describe(replies.ChangedDatasetReply, _WRITE_STATUSES, "Update or retire a data set")
)
async def _update(request: Request, who: Caller, name: _Name, body: DatasetBody) -> Response:
    """Change the schema or the title, retire or restore, under the same budget. The notes say what it means.

    Schemas are for curators, the rest also for owners. Files are changed on the machine itself.
    """
    state = get_shared(request)
    given = body.model_dump(by_alias=True, exclude_unset=True)
    card, notes = await state.threads.read(state.guard.update_dataset, who, name, **given)
    return JSONResponse(card.to_json() | {"notes": [message_to_json(note) for note in notes]})


@ROUTER.put(
    "/datasets/{name}/columns/{column}/bounds",
    **_describe(replies.DatasetReply, _WRITE_STATUSES, "Set the bounds of a column"),
)
async def _bounds(request: Request, who: Caller, name: _Name, column: _Name, body: BoundsBody) -> Response:
    """Values are clipped to the bounds, which must be chosen without the data. For curators."""
    state = get_shared(request)
    return _reply_card(await state.threads.read(state.guard.set_bounds, who, name, column, body.low, body.high))


@ROUTER.post(
    "/datasets/{name}/versions", **_describe(replies.DatasetReply, _FIND_STATUSES, "Declare that the data have changed")
)
async def _version(request: Request, who: Caller, name: _Name) -> Response:
    """From now on, repeated queries are computed, and paid for, again."""
    state = get_shared(request)
    return _reply_card(await state.threads.read(state.guard.new_version, who, name))


# ---------------------------------------------------------------------------------------------------------- questions


@ROUTER.post("/previews", **_describe(replies.PreviewReply, (*_WRITE_STATUSES, 502), "Preview the cost of a query"))
async def _preview(request: Request, who: Caller, body: AskBody) -> Response:
    """The cost and the expected error of a query. Spends nothing, and reads no data."""
    state = get_shared(request)
    with state.user_limit.hold(who.name):
        preview = await state.threads.work(state.guard.preview, who, body.request())
    return JSONResponse(preview_to_json(preview))


_ASK: Final[dict[str, Any]] = {
    "response_model": replies.AnswerReply,
    "responses": problems(*_WRITE_STATUSES, 409, 502)
    | {202: {"model": replies.AnswerReply, "description": "The same request is still being answered."}},
}


@ROUTER.post("/queries", summary="Ask a query", **_ASK)
async def _ask(
    request: Request, who: Caller, body: AskBody, key: _Key, prefer: Annotated[str | None, Header()] = None
) -> Response:
    """The answer, with noise. Its cost is reserved from the data set's budget and from yours before data are read."""
    return await _answer_once(request, who, body, key, prefer)


@ROUTER.post("/models", summary="Fit a model", **_ASK)
async def _fit(
    request: Request, who: Caller, body: FitBody, key: _Key, prefer: Annotated[str | None, Header()] = None
) -> Response:
    """The fitted model, with noise, as a document that ``celosia.learn.load`` reads. It is listed beside queries."""
    return await _answer_once(request, who, body, key, prefer)


async def _answer_once(
    request: Request, who: "Identity", body: AskBody | FitBody, key: str, prefer: str | None
) -> Response:
    state = get_shared(request)
    with state.user_limit.hold(who.name):
        answer = await state.threads.ask(state.guard.ask, who, body.request(), key)
        until, pause = time.monotonic() + parse_wait(prefer), 0.02
        while answer.state == "reserved" and time.monotonic() < until:
            await anyio.sleep(pause)
            pause = min(0.5, pause * 1.5)
            answer = await state.threads.read(state.guard.answer, who, answer.id)
    return _respond(answer)


def _respond(answer: "Answer") -> Response:
    if answer.state == "failed":
        raise EngineError("guard.answer_failed")  # the same message for every failure
    if answer.state == "reserved":
        headers = {"Retry-After": "1", "Location": f"/v1/queries/{answer.id}"}
        return Response(answer.to_text(), status_code=202, headers=headers, media_type="application/json")
    return Response(answer.to_text(), media_type="application/json")


@ROUTER.get("/queries", **_describe(replies.AnswersReply, _READ_STATUSES, "List your queries"))
async def _answers(request: Request, who: Caller, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
    """Your queries and fits, latest first, without the answers."""
    state = get_shared(request)
    answers = await state.threads.read(state.guard.answers, who, limit)
    return JSONResponse({"queries": [answer.to_json() for answer in answers]})


@ROUTER.get("/queries/{id}", **_describe(replies.AnswerReply, _FIND_STATUSES, "Read an answer again"))
async def _answer(request: Request, who: Caller, id: _AnswerId) -> Response:  # noqa: A002 - its name in the path
    """One of your answers, or the state of its query. Costs nothing."""
    state = get_shared(request)
    answer = await state.threads.read(state.guard.answer, who, id)
    return Response(answer.to_text(), media_type="application/json")


@ROUTER.delete("/queries/{id}", **_describe(replies.AnswerReply, _FIND_STATUSES, "Cancel a query"))
async def _cancel(request: Request, who: Caller, id: _AnswerId) -> Response:  # noqa: A002 - its name in the path
    """Interrupt one of your queries while its data are read. Its cost stays spent."""
    state = get_shared(request)
    answer = await state.threads.read(state.guard.cancel, who, id)
    return Response(answer.to_text(), media_type="application/json")


@ROUTER.get("/approvals", **_describe(replies.ApprovalsReply, _READ_STATUSES, "List approvals"))
async def _approvals(
    request: Request,
    who: Caller,
    state: Annotated[Literal["pending", "granted", "denied"] | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Queries that cost more than one query may: yours, or for curators those of all analysts."""
    shared = get_shared(request)
    found = await shared.threads.read(shared.guard.approvals, who, state=state, limit=limit)
    return JSONResponse({"approvals": [approval.to_json() for approval in found]})


@ROUTER.put("/approvals/{id}", **_describe(replies.ApprovalReply, _WRITE_STATUSES, "Grant or deny an approval"))
async def _decide(request: Request, who: Caller, id: _AnswerId, body: DecisionBody) -> Response:  # noqa: A002 - its name in the path
    """Decide about a query of an analyst, who then sends it again with the same key. For curators."""
    state = get_shared(request)
    decide = state.guard.decide_approval
    approval = await state.threads.read(decide, who, id, granted=body.granted, reason=body.reason)
    return JSONResponse(approval.to_json())


# ------------------------------------------------------------------------------------------------------------ budgets


@ROUTER.get("/budget", **_describe(replies.BudgetReply, _FIND_STATUSES, "Show budgets"))
async def _budget(
    request: Request, who: Caller, dataset: _OptionalName = None, analyst: _OptionalName = None
) -> Response:
    """Limits, spent and remaining amounts; analysts see the budgets of their data sets and their own."""
    state = get_shared(request)
    lines = await state.threads.read(state.guard.budget, who, dataset=dataset, analyst=analyst)
    return JSONResponse({"lines": [line.to_json() for line in lines]})


@ROUTER.put("/budget", **_describe(replies.BudgetReply, _WRITE_STATUSES, "Set a budget"))
async def _set_budget(request: Request, who: Caller, body: PolicyBody) -> Response:
    """Set the budget of a data set, an analyst or both. Earlier spending still counts. For owners and curators."""
    state = get_shared(request)
    scope = {"dataset": body.dataset, "analyst": body.analyst}
    await state.threads.read(state.guard.set_budget, who, body.policy(), **scope)
    lines = await state.threads.read(state.guard.budget, who, **scope)
    return JSONResponse({"lines": [line.to_json() for line in lines]})


# ---------------------------------------------------------------------------------------------------------------- log


_EXPORTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in export.FORMATS.values()}}
}


@ROUTER.get(
    "/log", response_model=replies.LogReply, responses=problems(*_READ_STATUSES) | _EXPORTS, summary="Read the log"
)
async def _log(  # noqa: PLR0913, PLR0917 - the parameters of the address
    request: Request,
    who: Caller,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="For JSON; an export has all lines.")] = 100,
    kind: _OptionalName = None,
    dataset: _OptionalName = None,
    user: _OptionalName = None,
    since: _OptionalName = None,
    until: _OptionalName = None,
    text: _OptionalName = None,
    form: Annotated[Literal["json", "csv", "jsonl"], Query(alias="format")] = "json",
) -> Response:
    """Lines of the hash-chained log, oldest first; with filters, or as an export. For auditors."""
    state = get_shared(request)
    wanted = search.LogFilter(kind=kind, dataset=dataset, user=user, since=since, until=until, text=text)
    if form != "json":
        pieces = await state.threads.read(state.guard.export_log, who, form, after=after, wanted=wanted)
        return StreamingResponse(pieces, media_type=export.FORMATS[form])
    lines = await state.threads.read(state.guard.log, who, after, limit, wanted=wanted)
    return JSONResponse({"lines": [serializers.log_line(line) for line in lines]})


@ROUTER.get("/log/verify", **_describe(replies.VerificationReply, _READ_STATUSES, "Verify the log"))
async def _verify(
    request: Request,
    who: Caller,
    head: Annotated[str | None, Query(pattern=r"^[0-9]{1,18}:[0-9a-f]{64}$")] = None,
) -> Response:
    """Whether the log is intact, and contains the head that you have kept. For auditors."""
    state = get_shared(request)
    found = await state.threads.work(state.guard.verify, who, head)
    return JSONResponse(serializers.verification(found))


# -------------------------------------------------------------------------------------------------------------- users


@ROUTER.get("/users", **_describe(replies.UsersReply, _READ_STATUSES, "List the users"))
async def _users(request: Request, who: Caller) -> Response:
    """All users and their keys, without the secrets. For owners."""
    state = get_shared(request)
    cards = await state.threads.read(state.guard.users, who)
    return JSONResponse({"users": [serializers.user(card) for card in cards]})


@ROUTER.post("/users", status_code=201, **_describe(replies.NewKeyReply, _WRITE_STATUSES, "Add a user"))
async def _add_user(request: Request, who: Caller, body: NewUserBody) -> Response:
    """Add a user; the key is shown only once. For owners."""
    state = get_shared(request)
    expires = KeyBody(days=body.days).expires(dt.datetime.now(dt.UTC))
    key = await state.threads.read(state.guard.add_user, who, body.name, body.role, expires)
    return JSONResponse({"name": body.name, "key": key}, status_code=201)


@ROUTER.post("/users/{name}/keys", status_code=201, **_describe(replies.NewKeyReply, _WRITE_STATUSES, "Add a key"))
async def _add_key(request: Request, who: Caller, name: _Name, body: KeyBody) -> Response:
    """Add a key to a user, shown only once; earlier keys stay valid. For owners."""
    state = get_shared(request)
    key = await state.threads.read(state.guard.add_key, who, name, body.expires(dt.datetime.now(dt.UTC)))
    return JSONResponse({"name": name, "key": key}, status_code=201)


@ROUTER.delete("/users/{name}", status_code=204, responses=problems(*_FIND_STATUSES), summary="Revoke keys")
async def _revoke(request: Request, who: Caller, name: _Name) -> Response:
    """Revoke all keys of a user, or the key with this id, permanently. For owners."""
    state = get_shared(request)
    await state.threads.read(state.guard.revoke, who, name)
    return Response(status_code=204)
