"""Errors as problem details (RFC 9457, ``application/problem+json``).

The message of a ``CelosiaError`` describes the query, the schema and the budget, so it may be sent. Any other exception
may quote the data: its reply carries only a number to look up in the server's log. Failures of the ledger and of
databases have fixed messages, because their own may name machines.
"""

import http
import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from celosia.core.errors import CelosiaError
from celosia.core.messages.message import Message
from celosia.query.serial.messages import message_to_json
from celosia.serving.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send
    from starlette.types import Message as AsgiMessage

    from celosia.serving.access_log import AccessLog

MEDIA_TYPE = "application/problem+json"
"""The media type of error replies."""

STATUSES: Mapping[str, tuple[int, str]] = {
    "ApprovalRequiredError": (403, "The question needs an approval"),
    "BudgetExceededError": (403, "The budget does not allow this question"),
    "CelosiaError": (400, "The request cannot be served"),
    "EngineError": (502, "The database did not answer"),
    "ExhaustedError": (403, "The declared number of answers has been given"),
    "FormatError": (422, "The body is not what is expected here"),
    "GuaranteeMismatchError": (422, "Guarantees of different kinds do not add"),
    "InfeasibleError": (422, "Nothing can satisfy this request"),
    "InputError": (422, "A value cannot be used"),
    "LedgerError": (503, "The ledger is not available"),
    "MissingExtraError": (501, "A part of the server is not installed"),
    "NoIntervalError": (422, "The answer has no error bar"),
    "NotAllowedError": (403, "This is not allowed"),
    "NotPricedError": (422, "The question has no price"),
    "ParameterError": (422, "A parameter makes no sense"),
    "QueryError": (422, "The question cannot be answered privately"),
    "RequestConflictError": (409, "The idempotency key was used for another request"),
    "SchemaError": (422, "The schema does not fit"),
    "TooManyRequestsError": (429, "Too many requests"),
    "UnboundedDataError": (422, "Bounds or labels are missing"),
}
"""The status and the title of each error that is sent to clients."""

_FIXED_DETAILS = {
    "EngineError": "serving.answer_failed",
    "LedgerError": "serving.ledger_unavailable",
    "MissingExtraError": "serving.library_missing",
}


class HttpError(HTTPException):
    """An HTTP error with its status, the name of its error class, and headers."""

    def __init__(
        self, status: int, message: Message, *, error: str = "CelosiaError", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, str(message), dict(headers or {}))
        self.message = message
        self.error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Problem details of one error."""

    status: int
    title: str
    detail: Message
    error: str
    headers: Mapping[str, str] | None = None

    def json(self, request: str) -> dict[str, Any]:
        """Return the fields of RFC 9457, class, code and fields of the error, and the number of the request."""
        message = message_to_json(self.detail)
        return {
            "type": f"/v1/docs#{self.error}",
            "title": self.title,
            "status": self.status,
            "detail": message["text"],
            "error": self.error,
            "code": message["code"],
            "fields": message["fields"],
            "request": request,
        }

    def response(self, request: str) -> Response:
        """Return the reply."""
        body = json.dumps(self.json(request)).encode("ascii")
        return Response(body, status_code=self.status, headers=dict(self.headers or {}), media_type=MEDIA_TYPE)


def problem_of(error: Exception) -> Problem | None:
    """Return the problem details of an error; None for an unexpected exception."""
    if isinstance(error, HttpError):
        return Problem(
            status=error.status_code,
            title=_title(error.error, error.status_code),
            detail=error.message,
            error=error.error,
            headers=error.headers,
        )
    if isinstance(error, HTTPException):
        return _framework_problem(error)
    if not isinstance(error, CelosiaError):
        return None
    # A subclass that is not in the table uses its nearest ancestor in it.
    name = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in STATUSES), "CelosiaError")
    status, title = (404, "There is no such thing") if isinstance(error, NotFoundError) else STATUSES[name]
    retry = {"Retry-After": "1"} if status in {429, 503} else {}
    detail = Message(_FIXED_DETAILS[name]) if name in _FIXED_DETAILS else error.message
    return Problem(status=status, title=title, detail=detail, error=name, headers=retry)


def _framework_problem(error: HTTPException) -> Problem:
    """Return the problem of an error of the framework: an unknown path, a method, an unreadable body."""
    phrase = http.HTTPStatus(error.status_code).phrase
    codes = {404: "serving.no_such_address", 405: "serving.method_not_accepted"}
    detail = Message(codes.get(error.status_code, f"{phrase}."))
    headers = {name: value for name, value in (error.headers or {}).items() if name.lower() in {"allow", "retry-after"}}
    return Problem(status=error.status_code, title=phrase, detail=detail, error="CelosiaError", headers=headers)


def _title(error: str, status: int) -> str:
    known = STATUSES.get(error)
    return known[1] if known and known[0] == status else http.HTTPStatus(status).phrase


def unexpected_problem() -> Problem:
    """Return the problem of an unexpected exception, without details."""
    return Problem(
        status=500, title="Internal Server Error", detail=Message("serving.unexpected_error"), error="CelosiaError"
    )


class Problems:
    """Middleware that turns exceptions into problem details, and logs unexpected ones.

    Starlette's own handler is outermost and passes the exception to the server, which would print it. ``error_page``
    may return a page instead of the problem details.
    """

    def __init__(
        self,
        app: "ASGIApp",
        *,
        access_log: "AccessLog",
        error_page: "Callable[[Scope, Problem], Response | None]" = lambda _scope, _problem: None,
    ) -> None:
        self._app = app
        self._access_log = access_log
        self._error_page = error_page

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_started = False

        async def send_and_note(message: "AsgiMessage") -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        except Exception as error:  # noqa: BLE001 - an exception that passes here would be printed
            number = request_number(scope)
            problem = problem_of(error)
            if problem is None:
                self._access_log.error(error, request=number)
                problem = unexpected_problem()
            if not has_started:
                reply = self._error_page(scope, problem) or problem.response(number)
                await reply(scope, receive, send)


def request_number(scope: "MutableMapping[str, Any]") -> str:
    """Return the number of a request in the access log."""
    number = scope.get("celosia.request", "-")
    return number if isinstance(number, str) else "-"
