"""What every route of the API has in common: who asks is established first, and only then is a body read, narrowly.

Nobody without a valid key gets as far as having a body parsed. The guard's blocking calls run in threads, questions,
long work and short work each in their own, so that none starves. A call goes on when its asker hangs up, so that the
answer that was paid for is kept.
"""

import os
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final, ParamSpec, TypeVar

import anyio
from anyio import to_thread
from fastapi import Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import Response

from celosia.core.errors import FormatError, NotAllowedError
from celosia.core.strict_json import DecimalText, read_json
from celosia.guard.auth.identity import Identity
from celosia.guard.http.limits import Rates, Shares, too_many
from celosia.guard.http.problems import MEDIA_TYPE, HttpError
from celosia.guard.queries.requests import MAX_NUMBER_LENGTH
from celosia.guard.service import Guard

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """Where blocking calls run."""

    def __init__(self) -> None:
        self._asking = anyio.CapacityLimiter(256)
        self._working = anyio.CapacityLimiter(max(4, os.cpu_count() or 1))
        self._reading = anyio.CapacityLimiter(16)

    async def ask(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a question: most of its time it waits, for its turn to read data and for the clock."""
        return await to_thread.run_sync(lambda: call(*args, **kwargs), limiter=self._asking)

    async def work(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run what may take long."""
        return await to_thread.run_sync(lambda: call(*args, **kwargs), limiter=self._working)

    async def read(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run what is quick."""
        return await to_thread.run_sync(lambda: call(*args, **kwargs), limiter=self._reading)


class Shared:
    """What the routes of one application share.

    The guard, the table of rates, the places for questions, the threads.
    """

    __slots__ = ("guard", "rates", "shares", "threads")

    def __init__(self, guard: Guard, *, rates: Rates, places: int = 64) -> None:
        self.guard = guard
        self.rates = rates
        self.shares = Shares(max(1, places // 4))
        self.threads = Threads()


def shared(request: Request) -> Shared:
    """Return what the routes share."""
    found: Shared = request.app.state.shared
    return found


class _StrictRequest(Request):
    """A request whose JSON is read narrowly."""

    async def json(self) -> Any:
        try:
            return read_json(
                await self.body(), name="The body", decimal=DecimalText, max_number_length=MAX_NUMBER_LENGTH
            )
        except FormatError as error:
            raise HttpError(400, str(error), error="FormatError") from None


class StrictRoute(APIRoute):
    """A route for those who show a valid key, which takes JSON and nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what serves the route."""
        handle = super().get_route_handler()
        takes_body = self.body_field is not None

        async def strictly(request: Request) -> Response:
            request.scope["celosia.identity"] = await _recognised(request)
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if takes_body and kind != "application/json":
                raise HttpError(415, "The body must be JSON, with Content-Type: application/json.", error="FormatError")
            return await handle(_StrictRequest(request.scope, request.receive))

        return strictly


async def _recognised(request: Request) -> Identity:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    unknown = HttpError(
        401,
        "Send a valid key: Authorization: Bearer celosia_… If it is mistyped, expired or revoked, ask the owner.",
        error="NotAllowedError",
        headers={"WWW-Authenticate": "Bearer"},
    )
    if scheme.lower() != "bearer" or not token or not token.isascii():
        raise unknown
    here = shared(request)
    try:
        identity = await here.threads.read(here.guard.authenticate, token)
    except NotAllowedError:
        raise unknown from None
    who = f"key {identity.key_id or identity.name}"
    wait = here.rates.take(who, per_minute=here.guard.config.limits.requests_per_minute)
    if wait:
        raise too_many(wait)
    return identity


async def _identity(request: Request) -> Identity:
    identity: Identity = request.scope["celosia.identity"]
    return identity


Who = Annotated[Identity, Depends(_identity)]
"""The parameter of an endpoint that says who asks."""

BEARER: Final = HTTPBearer(
    auto_error=False, scheme_name="key", description="An API key (celosia_…), or a token of the identity provider."
)
"""How a key is sent, for the document."""

_MEANINGS: Final = {
    400: "The body is no JSON that is read here, or the idempotency key is missing.",
    401: "No valid key.",
    403: "The role does not include this, or the budget does not allow it.",
    404: "There is no such thing that you may see.",
    408: "The body did not arrive in time.",
    409: "The idempotency key was used for another request.",
    413: "The body is too long.",
    415: "The body is not declared as JSON.",
    422: "The request is not what is expected here; the detail says why.",
    429: "Too many requests; Retry-After says when to come back.",
    500: "Something unforeseen; the server's log has its number.",
    502: "The database did not answer; what was reserved stays spent.",
    503: "Too much is going on, or the ledger is not available; Retry-After says when to come back.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the entries of the document for what can go wrong."""
    schema = {"$ref": "#/components/schemas/ProblemReply"}
    retry = {"headers": {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}}
    return {
        status: {"description": _MEANINGS[status], "content": {MEDIA_TYPE: {"schema": schema}}}
        | (retry if status in {429, 503} else {})
        for status in sorted(statuses)
    }
