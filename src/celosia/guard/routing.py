"""Common parts of the API's routes: authentication first, then strict reading of the body.

A body is parsed only after its key is checked.
"""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import Response

from celosia.core.errors import FormatError, NotAllowedError
from celosia.core.messages.message import Message
from celosia.core.strict_json import DecimalText, read_json
from celosia.guard.auth.identity import Identity
from celosia.guard.service import Guard
from celosia.serving.limits import Rates, UserConcurrencyLimit, too_many_requests
from celosia.serving.problems import MEDIA_TYPE, HttpError
from celosia.serving.threads import Threads


class SharedState:
    """State shared by the routes of an application: the guard, rates, limits and threads."""

    __slots__ = ("guard", "rates", "threads", "user_limit")

    def __init__(self, guard: Guard, *, rates: Rates, places: int = 64) -> None:
        self.guard = guard
        self.rates = rates
        self.user_limit = UserConcurrencyLimit(max(1, places // 4))
        self.threads = Threads()


def get_shared(request: Request) -> SharedState:
    """Return the shared state of an application."""
    found: SharedState = request.app.state.shared
    return found


class _StrictRequest(Request):
    """A request whose JSON is read by the strict reader."""

    async def json(self) -> Any:
        try:
            return read_json(await self.body(), name="core.the_body", decimal=DecimalText)
        except FormatError as error:
            raise HttpError(400, error.message, error="FormatError") from None


class StrictRoute(APIRoute):
    """A route that needs a valid key, and takes only JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route."""
        handle = super().get_route_handler()
        takes_body = self.body_field is not None

        async def serve_strictly(request: Request) -> Response:
            request.scope["celosia.identity"] = await _authenticate(request)
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if takes_body and kind != "application/json":
                raise HttpError(415, Message("guard.body_not_json"), error="FormatError")
            return await handle(_StrictRequest(request.scope, request.receive))

        return serve_strictly


async def _authenticate(request: Request) -> Identity:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    unknown = HttpError(
        401, Message("guard.send_valid_key"), error="NotAllowedError", headers={"WWW-Authenticate": "Bearer"}
    )
    if scheme.lower() != "bearer" or not token or not token.isascii():
        raise unknown
    here = get_shared(request)
    try:
        identity = await here.threads.read(here.guard.authenticate, token)
    except NotAllowedError:
        raise unknown from None
    who = f"key {identity.key_id or identity.name}"
    wait = here.rates.take(who, per_minute=here.guard.config.limits.requests_per_minute)
    if wait:
        raise too_many_requests(wait)
    return identity


async def _identity(request: Request) -> Identity:
    identity: Identity = request.scope["celosia.identity"]
    return identity


async def _shared(request: Request) -> SharedState:
    return get_shared(request)


Caller = Annotated[Identity, Depends(_identity)]
"""The identity of the caller, as a parameter of an endpoint."""

Shared = Annotated[SharedState, Depends(_shared)]
"""The shared state, as a parameter of an endpoint."""

BEARER: Final = HTTPBearer(
    auto_error=False, scheme_name="key", description="An API key (celosia_…), or a token of the identity provider."
)
"""The security scheme in the OpenAPI document."""

_STATUS_DESCRIPTIONS: Final = {
    400: "The body is not strict JSON, or the idempotency key is missing.",
    401: "No valid key.",
    403: "The role does not include this, or the budget does not allow it.",
    404: "It does not exist, or you may not see it.",
    408: "The body did not arrive in time.",
    409: "The idempotency key was used for another request.",
    413: "The body is too long.",
    415: "The body is not declared as JSON.",
    422: "The request is not valid; the detail has the reason.",
    429: "Too many requests; Retry-After has the seconds to wait.",
    500: "Unexpected error; the server's log has its number.",
    502: "The database did not answer; the reservation stays spent.",
    503: "Too many concurrent queries, or the ledger is not available; Retry-After has the seconds to wait.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the entries of the OpenAPI document for error statuses."""
    schema = {"$ref": "#/components/schemas/ProblemReply"}
    retry = {"headers": {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}}
    return {
        status: {"description": _STATUS_DESCRIPTIONS[status], "content": {MEDIA_TYPE: {"schema": schema}}}
        | (retry if status in {429, 503} else {})
        for status in sorted(statuses)
    }
