"""The ASGI application: the API, its documentation and the pages, inside middleware.

From the outside in: the client address behind a proxy, the access log, the security headers, the slots of replies,
problem details for exceptions, then the limits on requests, bodies and concurrent queries. The order matters: errors
get the same delay, headers and logging as successes.
"""

from functools import partial
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from celosia.core.errors import CelosiaError
from celosia.guard.api.endpoints import ROUTER
from celosia.guard.api.openapi_page import STYLE, openapi_document, render
from celosia.guard.routing import Shared, SharedState, get_shared, problems
from celosia.guard.schema.replies import HealthReply
from celosia.guard.web import PAGES, error_page
from celosia.guard.web import router as pages_router
from celosia.serving.access_log import AccessLog, AccessLogMiddleware
from celosia.serving.errors import find_problem
from celosia.serving.headers import BehindProxy, SecurityHeaders
from celosia.serving.limits import AddressLimit, BodyLimit, ConcurrencyLimit, Rates
from celosia.serving.problems import HttpError, Problems, problem_of, request_number
from celosia.serving.request_validation import RequestValidation
from celosia.serving.routes import find_route
from celosia.serving.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Scope

    from celosia.guard.service import Guard


def create_app(guard: "Guard", *, rates: Rates | None = None, access_log: AccessLog | None = None) -> FastAPI:
    """Return the application that serves a guard.

    Parameters
    ----------
    guard
        The guard, opened in this process.
    rates
        The table of requests per minute, shared by the processes of a server; a new one by default.
    access_log
        The access log; by default on standard output.

    Examples
    --------
    >>> from celosia.guard.config.settings import Config
    >>> from celosia.guard.service import Guard
    >>> with Guard.open(Config(store="memory://")) as guard:
    ...     create_app(guard).title
    'Celosía privacy guard'
    """
    rates, access_log = rates or Rates(), access_log or AccessLog()
    app = FastAPI(
        title="Celosía privacy guard", version="1", openapi_url=None, docs_url=None, redoc_url=None,
        redirect_slashes=False,
    )  # fmt: skip
    app.state.shared, app.state.access_log = SharedState(guard, rates=rates, places=_query_places(guard)), access_log
    _add_open_routes(app)
    # Including the routers would build each of their routes again, and leave it out of the application's list.
    app.router.routes.extend((*ROUTER.routes, *pages_router(guard).routes))
    app.state.routes = tuple(app.routes)
    _add_problems(app)
    _add_layers(app, guard, rates=rates, access_log=access_log)
    return app


def _add_layers(app: FastAPI, guard: "Guard", *, rates: Rates, access_log: AccessLog) -> None:
    config = guard.config
    own = [route for route in ROUTER.routes if isinstance(route, Route)]
    keyed = _match_routes(app, *((method, route.path) for route in own for method in route.methods or ()))
    asking = [("POST", "/v1/queries"), ("POST", "/v1/models")]
    spending = [*asking, *((one.method, one.path) for one in PAGES if one.spends)]
    # The last middleware added is the outermost.
    costly = _match_routes(
        app, ("POST", "/v1/previews"), *((one.method, one.path) for one in PAGES if one.costly), *spending
    )
    app.add_middleware(ConcurrencyLimit, most=_query_places(guard), costly=costly)
    app.add_middleware(BodyLimit, most=config.limits.body_bytes)
    app.add_middleware(AddressLimit, rates=rates, per_minute=config.limits.requests_per_minute, keyed=keyed)
    app.add_middleware(RequestValidation)
    app.add_middleware(Problems, access_log=access_log, error_page=partial(error_page, guard))
    app.add_middleware(Slots, milliseconds=config.slot_milliseconds, is_delayed=_match_routes(app, *spending))
    app.add_middleware(SecurityHeaders)
    app.add_middleware(AccessLogMiddleware, access_log=access_log, routes=app.state.routes)
    if config.behind_proxy:
        app.add_middleware(BehindProxy)


def _query_places(guard: "Guard") -> int:
    """Return how many concurrent queries this process allows: its share of the limit."""
    return -(-guard.config.limits.waiting // guard.config.workers)


def _match_routes(app: FastAPI, *wanted: tuple[str, str]) -> "Callable[[Scope], bool]":
    """Return a predicate: whether a request goes to one of the routes, given by method and template."""
    routes = [route for route in app.state.routes if isinstance(route, Route)]
    found = {id(route) for route in routes if any((method, route.path) in wanted for method in route.methods or ())}
    assert len(found) == len(set(wanted))  # noqa: S101 - a renamed route must not lose its limits silently
    return lambda scope: id(find_route(routes, scope)) in found


# ------------------------------------------------------------------------------------------------- public routes


def _add_open_routes(app: FastAPI) -> None:
    app.add_api_route(
        "/v1/health",
        _health,
        responses=problems(429, 500, 503),
        operation_id="health",
        summary="Ask whether the server can serve",
    )
    app.add_route("/v1/openapi.json", _openapi, methods=["GET"], include_in_schema=False)
    app.add_route("/v1/docs", _docs, methods=["GET"], include_in_schema=False)
    app.add_route("/v1/docs.css", _style, methods=["GET"], include_in_schema=False)


async def _health(here: Shared) -> HealthReply:
    """Whether the store can be reached. Needs no key."""
    return HealthReply(**await here.threads.read(here.guard.health))


async def _openapi(request: Request) -> Response:
    return JSONResponse(openapi_document(request.app))


async def _docs(request: Request) -> Response:
    return HTMLResponse(render(openapi_document(request.app)))


async def _style(_: Request) -> Response:
    return Response(STYLE, media_type="text/css")


# ------------------------------------------------------------------------------------------------------- problems


def _add_problems(app: FastAPI) -> None:
    app.add_exception_handler(HTTPException, _respond)
    app.add_exception_handler(CelosiaError, _respond)
    app.add_exception_handler(RequestValidationError, _invalid)


async def _respond(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and error.status_code == 405:
        error = HTTPException(405, headers={"Allow": ", ".join(_allowed_methods(request))})
    problem = problem_of(error)
    if problem is None:
        raise error
    shown = error_page(get_shared(request).guard, request.scope, problem)
    return shown or problem.response(request_number(request.scope))


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods of an address: each is its own route, and the framework names only the first."""
    methods: set[str] = set()
    for route in request.app.state.routes:
        if isinstance(route, Route) and route.path_regex.match(request.scope["path"]):
            methods |= route.methods or set()
    return sorted(methods)


async def _invalid(request: Request, error: Exception) -> Response:
    """Return which fields of a request are invalid and why, without repeating their values."""
    found = error.errors() if isinstance(error, RequestValidationError) else ()
    status = 400 if any(one["loc"][:1] == ("header",) for one in found) else 422
    return await _respond(request, HttpError(status, find_problem(found).message, error="FormatError"))
