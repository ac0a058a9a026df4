"""The HTTP API under ``/v1``: each endpoint calls the guard and returns a reply. It decides nothing itself.

A query carries an idempotency key, so that a retry is the same query and costs nothing more. If the first request is
still being answered, a retry waits for it: as long as ``Prefer: wait=…`` (RFC 7240) allows, at most 20 seconds. Then
the reply is 202 with the address of the answer.
"""

import json
import re
import time
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import anyio
from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.routing import APIRoute
from starlette.responses import Response, StreamingResponse

from celosia.core.errors import EngineError
from celosia.guard.log import export, search
from celosia.guard.routing import BEARER, Caller, Shared, SharedState, StrictRoute, problems
from celosia.guard.schema import replies
from celosia.guard.schema.requests import (
    BoundsBody,
    DatasetBody,
    DecisionBody,
    FitRequest,
    KeyBody,
    NewUserBody,
    PolicyBody,
    QueryRequest,
)
from celosia.query.serial.json_fields import FORMATS
from celosia.query.serial.messages import message_to_json
from celosia.query.serial.preview import preview_to_json

if TYPE_CHECKING:
    from celosia.guard.auth.identity import Identity

_READ_STATUSES: Final = (401, 403, 422, 429, 500, 503)
_FIND_STATUSES: Final = (*_READ_STATUSES, 404)
_WRITE_STATUSES: Final = (*_FIND_STATUSES, 400, 408, 413, 415)
_READ: Final = problems(*_READ_STATUSES)
_FIND: Final = problems(*_FIND_STATUSES)
_WRITE: Final = problems(*_WRITE_STATUSES)
_MAX_WAIT_SECONDS: Final = 20.0
_MAX_DUMMY_ROWS: Final = 10_000
_WAIT: Final = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})\"?(?:$|[,;\s])", re.ASCII)
_NO_CONTROLS: Final = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]+$"  # no path contains one of these

_Name = Annotated[str, Path(min_length=1, max_length=200, pattern=_NO_CONTROLS)]
_AnswerId = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[0-9a-f]+$")]
_OptionalName = Annotated[str | None, Query(min_length=1, max_length=200, pattern=_NO_CONTROLS)]
_Limit = Annotated[int, Query(ge=1, le=1000)]
_Prefer = Annotated[str | None, Header()]
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
    prefix="/v1", route_class=StrictRoute, dependencies=[Depends(BEARER)], generate_unique_id_function=_operation
)
"""The routes of the API; the guard is in the application's state."""


def parse_wait(prefer: str | None) -> float:
    """Return the seconds that a client is willing to wait for an answer in progress."""
    found = _WAIT.search(prefer or "")
    return min(_MAX_WAIT_SECONDS, float(found[1])) if found else _MAX_WAIT_SECONDS


# ---------------------------------------------------------------------------------------------------------- data sets


@ROUTER.get("/datasets", responses=_READ, summary="List the data sets")
async def _datasets(here: Shared, who: Caller) -> replies.DatasetsReply:
    """The declarations of the data sets that you may see; never their number of rows."""
    return replies.DatasetsReply(datasets=await here.threads.read(here.guard.datasets, who), formats=FORMATS)


@ROUTER.get("/datasets/{name}", responses=_FIND, summary="Show a data set")
async def _dataset(here: Shared, who: Caller, name: _Name) -> replies.DatasetCard:
    """The declarations of one data set: tables, columns, bounds, privacy units."""
    return await here.threads.read(here.guard.dataset, who, name)


@ROUTER.get(
    "/datasets/{name}/dummy",
    response_class=StreamingResponse,
    responses=_FIND | {200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "The rows."}},
    summary="Draw dummy rows",
)
async def _dummy(
    here: Shared,
    who: Caller,
    name: _Name,
    rows: Annotated[int, Query(ge=1, le=_MAX_DUMMY_ROWS)] = 1000,
    seed: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:
    """Rows drawn from the declarations alone, to try code on. Reads no data and costs nothing."""
    parts = await here.threads.read(here.guard.dummy_rows, who, name, rows=rows, seed=seed)
    return StreamingResponse(parts, media_type="text/csv")


@ROUTER.patch("/datasets/{name}", responses=_WRITE, summary="Update or retire a data set")
async def _update(here: Shared, who: Caller, name: _Name, body: DatasetBody) -> replies.ChangedDatasetReply:
    """Change the schema or the title, retire or restore, under the same budget. The notes say what it means.

    Schemas are for curators, the rest also for owners. Files are changed on the machine itself.
    """
    given = body.model_dump(by_alias=True, exclude_unset=True)
    card, notes = await here.threads.read(here.guard.update_dataset, who, name, **given)
    shown = [replies.MessageReply(**message_to_json(note)) for note in notes]
    return replies.ChangedDatasetReply(**dict(card), notes=shown)


@ROUTER.get("/datasets/{name}/schema", responses=_FIND, summary="Read the schema file of a data set")
async def _schema(here: Shared, who: Caller, name: _Name) -> replies.SchemaReply:
    """The schema file as a change of the data set takes it. For curators."""
    return replies.SchemaReply(schema=await here.threads.read(here.guard.schema, who, name))


@ROUTER.put("/datasets/{name}/columns/{column}/bounds", responses=_WRITE, summary="Set the bounds of a column")
async def _bounds(here: Shared, who: Caller, name: _Name, column: _Name, body: BoundsBody) -> replies.DatasetCard:
    """Values are clipped to the bounds, which must be chosen without the data. For curators."""
    return await here.threads.read(here.guard.set_bounds, who, name, column, body.low, body.high)


@ROUTER.post("/datasets/{name}/versions", responses=_FIND, summary="Declare that the data have changed")
async def _version(here: Shared, who: Caller, name: _Name) -> replies.DatasetCard:
    """From now on, repeated queries are computed, and paid for, again."""
    return await here.threads.read(here.guard.new_version, who, name)


# ---------------------------------------------------------------------------------------------------------- questions


@ROUTER.post("/previews", responses=problems(*_WRITE_STATUSES, 502), summary="Preview the cost of a query")
async def _preview(here: Shared, who: Caller, body: QueryRequest) -> replies.PreviewReply:
    """The cost and the expected error of a query. Spends nothing, and reads no data."""
    with here.user_limit.hold(who.name):
        return replies.PreviewReply(**preview_to_json(await here.threads.ask(here.guard.preview, who, body)))


_ASK: Final[dict[str, Any]] = {
    "response_model": replies.Answer,
    "responses": problems(*_WRITE_STATUSES, 409, 502)
    | {202: {"model": replies.Answer, "description": "The same request is still being answered."}},
}


@ROUTER.post("/queries", summary="Ask a query", **_ASK)
async def _ask(here: Shared, who: Caller, body: QueryRequest, key: _Key, prefer: _Prefer = None) -> Response:
    """The answer, with noise. Its cost is reserved from the data set's budget and from yours before data are read."""
    return await _answer_once(here, who, body, key, prefer)


@ROUTER.post("/models", summary="Fit a model", **_ASK)
async def _fit(here: Shared, who: Caller, body: FitRequest, key: _Key, prefer: _Prefer = None) -> Response:
    """The fitted model, with noise, as a document that ``celosia.learn.load`` reads. It is listed beside queries."""
    return await _answer_once(here, who, body, key, prefer)


async def _answer_once(
    here: SharedState, who: "Identity", body: QueryRequest | FitRequest, key: str, prefer: str | None
) -> Response:
    with here.user_limit.hold(who.name):
        answer = await here.threads.ask(here.guard.ask, who, body, key)
        until, pause = time.monotonic() + parse_wait(prefer), 0.02
        while answer.state == "reserved" and time.monotonic() < until:
            await anyio.sleep(pause)
            pause = min(0.5, pause * 1.5)
            answer = await here.threads.read(here.guard.answer, who, answer.id)
    if answer.state == "failed":
        raise EngineError("serving.answer_failed")  # the same message for every failure
    if answer.state == "reserved":
        return _respond(answer, status=202, headers={"Retry-After": "1", "Location": f"/v1/queries/{answer.id}"})
    return _respond(answer)


def _respond(answer: replies.Answer, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(answer.to_text(), status_code=status, headers=headers, media_type="application/json")


@ROUTER.get("/queries", responses=_READ, summary="List your queries")
async def _answers(here: Shared, who: Caller, limit: _Limit = 100) -> replies.AnswersReply:
    """Your queries and fits, latest first, without the answers."""
    return replies.AnswersReply(queries=await here.threads.read(here.guard.answers, who, limit))


@ROUTER.get("/queries/{id}", response_model=replies.Answer, responses=_FIND, summary="Read an answer again")
async def _answer(here: Shared, who: Caller, id: _AnswerId) -> Response:  # noqa: A002 - its name in the path
    """One of your answers, or the state of its query. Costs nothing."""
    return _respond(await here.threads.read(here.guard.answer, who, id))


@ROUTER.delete("/queries/{id}", response_model=replies.Answer, responses=_FIND, summary="Cancel a query")
async def _cancel(here: Shared, who: Caller, id: _AnswerId) -> Response:  # noqa: A002 - its name in the path
    """Interrupt one of your queries while its data are read. Its cost stays spent."""
    return _respond(await here.threads.read(here.guard.cancel, who, id))


@ROUTER.get("/approvals", responses=_READ, summary="List approvals")
async def _approvals(
    here: Shared, who: Caller, state: Literal["pending", "granted", "denied"] | None = None, limit: _Limit = 100
) -> replies.ApprovalsReply:
    """Queries that cost more than one query may: yours, or for curators those of all analysts."""
    found = await here.threads.read(here.guard.approvals, who, state=state, limit=limit)
    return replies.ApprovalsReply(approvals=found)


@ROUTER.put("/approvals/{id}", responses=_WRITE, summary="Grant or deny an approval")
async def _decide(here: Shared, who: Caller, id: _AnswerId, body: DecisionBody) -> replies.Approval:  # noqa: A002 - its name in the path
    """Decide about a query of an analyst, who then sends it again with the same key. For curators."""
    return await here.threads.read(here.guard.decide_approval, who, id, **dict(body))


# ------------------------------------------------------------------------------------------------------------ budgets


@ROUTER.get("/budget", responses=_FIND, summary="Show budgets")
async def _budget(
    here: Shared, who: Caller, dataset: _OptionalName = None, analyst: _OptionalName = None
) -> replies.BudgetReply:
    """Limits, spent and remaining amounts; analysts see the budgets of their data sets and their own."""
    lines = await here.threads.read(here.guard.budget, who, dataset=dataset, analyst=analyst)
    return replies.BudgetReply(lines=[replies.BudgetLine(**line.to_json()) for line in lines])


@ROUTER.put("/budget", responses=_WRITE, summary="Set a budget")
async def _set_budget(here: Shared, who: Caller, body: PolicyBody) -> replies.BudgetReply:
    """Set the budget of a data set, an analyst or both. Earlier spending still counts. For owners and curators.

    The limit, the window and the accountant are replaced: left out, there is no window. A rule (`least_cost`,
    `analyst_share`, `approval_above`) that is left out stays as it is; 0 or null removes it.
    """
    scope = {"dataset": body.dataset, "analyst": body.analyst}
    await here.threads.read(here.guard.set_budget, who, body.policy(), rules=body.rules(), **scope)
    return await _budget(here, who, body.dataset, body.analyst)


# ---------------------------------------------------------------------------------------------------------------- log


_EXPORTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in export.FORMATS.values()}}
}


@ROUTER.get("/log", response_model=replies.LogReply, responses=_READ | _EXPORTS, summary="Read the log")
async def _log(  # noqa: PLR0913, PLR0917 - the parameters of the address
    here: Shared,
    who: Caller,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[_Limit, Query(description="For JSON; an export has all lines.")] = 100,
    kind: _OptionalName = None,
    dataset: _OptionalName = None,
    user: _OptionalName = None,
    since: _OptionalName = None,
    until: _OptionalName = None,
    text: _OptionalName = None,
    form: Annotated[Literal["json", "csv", "jsonl"], Query(alias="format")] = "json",
) -> Any:
    """Lines of the hash-chained log, oldest first; with filters, or as an export. For auditors."""
    wanted = search.LogFilter(kind=kind, dataset=dataset, user=user, since=since, until=until, text=text)
    if form != "json":
        pieces = await here.threads.read(here.guard.export_log, who, form, after=after, wanted=wanted)
        return StreamingResponse(pieces, media_type=export.FORMATS[form])
    lines = await here.threads.read(here.guard.log, who, after, limit, wanted=wanted)
    return replies.LogReply(lines=[replies.LogLineReply(**json.loads(line.to_json())) for line in lines])


@ROUTER.get("/log/verify", responses=_READ, summary="Verify the log")
async def _verify(
    here: Shared, who: Caller, head: Annotated[str | None, Query(pattern=r"^[0-9]{1,18}:[0-9a-f]{64}$")] = None
) -> replies.VerificationReply:
    """Whether the log is intact, and contains the head that you have kept. For auditors."""
    found = await here.threads.work(here.guard.verify, who, head)
    last = None if found.head is None else str(found.head)
    return replies.VerificationReply(ok=found.ok, lines=found.lines, head=last, problem=found.problem)


# -------------------------------------------------------------------------------------------------------------- users


@ROUTER.get("/users", responses=_READ, summary="List the users")
async def _users(here: Shared, who: Caller) -> replies.UsersReply:
    """All users and their keys, without the secrets. For owners."""
    cards = await here.threads.read(here.guard.users, who)
    return replies.UsersReply(users=[replies.UserReply.model_validate(card, from_attributes=True) for card in cards])


@ROUTER.post("/users", status_code=201, responses=_WRITE, summary="Add a user")
async def _add_user(here: Shared, who: Caller, body: NewUserBody) -> replies.NewKeyReply:
    """Add a user; the key is shown only once. For owners."""
    key = await here.threads.read(here.guard.add_user, who, body.name, body.role, body.expires)
    return replies.NewKeyReply(name=body.name, key=key)


@ROUTER.post("/users/{name}/keys", status_code=201, responses=_WRITE, summary="Add a key")
async def _add_key(here: Shared, who: Caller, name: _Name, body: KeyBody) -> replies.NewKeyReply:
    """Add a key to a user, shown only once; earlier keys stay valid. For owners."""
    key = await here.threads.read(here.guard.add_key, who, name, body.expires)
    return replies.NewKeyReply(name=name, key=key)


@ROUTER.delete("/users/{name}", status_code=204, responses=_FIND, summary="Revoke keys")
async def _revoke(here: Shared, who: Caller, name: _Name) -> None:
    """Revoke all keys of a user, or the key with this id, permanently. For owners."""
    await here.threads.read(here.guard.revoke, who, name)
