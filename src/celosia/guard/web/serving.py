"""Serve a page: language, CSRF check, authentication, view, and errors.

The order matters. A form is refused first, unless it came from this host with the token of its session; only then does
a view read it. A browser that is not signed in is redirected to the sign-in page, and does not learn whether the page
exists. A ``CelosiaError`` is shown with its message; of any other exception the page shows only its number in the
access log.
"""

import hmac
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from celosia.core.errors import CelosiaError, NotAllowedError, TooManyRequestsError
from celosia.core.messages.message import LANGUAGES
from celosia.guard.auth.directory import draw_hexadecimal
from celosia.guard.routing import get_shared
from celosia.guard.web.rendering import error_title, form_problem, render_error, render_page
from celosia.guard.web.web_session import WebSession, open_web_session
from celosia.serving.errors import NotFoundError
from celosia.serving.pages.cookies import (
    ANONYMOUS_COOKIE,
    LANGUAGE_COOKIE,
    SESSION_COOKIE,
    delete_cookie,
    form_token,
    is_same_origin,
    read_secret,
    set_cookie,
)
from celosia.serving.pages.languages import translate
from celosia.serving.pages.templates import redirect
from celosia.serving.problems import HttpError, problem_of, request_number

if TYPE_CHECKING:
    from celosia.guard.service import Guard
    from celosia.guard.web.web_session import Page

_MAX_FIELDS: Final = 1000
_FORM: Final = "application/x-www-form-urlencoded"


def make_endpoint(page: "Page", guard: "Guard") -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a page."""

    async def serve(request: Request) -> Response:
        form = await _read_form(request) if page.method == "POST" else None
        threads = get_shared(request).threads
        run = threads.ask if page.costly else threads.read
        reply = await run(_serve_page, page, guard, request, form)
        if request.query_params.get("lang") in LANGUAGES:
            set_cookie(reply, LANGUAGE_COOKIE, request.query_params["lang"])
        return reply

    return serve


async def _read_form(request: Request) -> dict[str, str]:
    if not request.headers.get("content-type", "").startswith(_FORM):
        return {}
    async with request.form(max_files=0, max_fields=_MAX_FIELDS) as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


def _serve_page(page: "Page", guard: "Guard", request: Request, form: Mapping[str, str] | None) -> Response:
    known = read_secret(request.cookies, ANONYMOUS_COOKIE)
    secret = known or draw_hexadecimal(64)
    web_session = replace(
        open_web_session(guard, request, request.url.path),
        secret=secret,
        token=form_token(secret),
        names=request.path_params,
        query=dict(request.query_params),
        form=form or {},
    )
    try:
        if form is not None and not _is_trusted(request, form):
            return render_page(web_session, "refused.html", status=403)
        web_session, has_ended = _authenticate(web_session, request)
        _check_rate(web_session, request)
        if web_session.signed_in is None and not page.public:
            return _redirect_to_sign_in(web_session, has_ended=has_ended)
        place = get_shared(request).user_limit.hold(web_session.identity.name) if page.costly else nullcontext()
        with place:
            reply = _run_view(page, web_session)
    except Exception as error:  # noqa: BLE001 - no other message may reach a browser
        reply = _render_error(web_session, error, request)
    if web_session.signed_in is None and known is None:
        set_cookie(reply, ANONYMOUS_COOKIE, secret)
    return reply


def _is_trusted(request: Request, form: Mapping[str, str]) -> bool:
    """Whether a form was sent from one of our pages, by this browser."""
    # Only this browser knows either secret; the session may have ended while a page was open.
    secrets = [read_secret(request.cookies, name) for name in (SESSION_COOKIE, ANONYMOUS_COOKIE)]
    token = (form.get("token", "") or request.headers.get("x-csrf-token", "")).encode("utf-8", "surrogatepass")
    known = [hmac.compare_digest(form_token(secret).encode(), token) for secret in secrets if secret]
    return any(known) and is_same_origin(request.headers)


def _run_view(page: "Page", web_session: WebSession) -> Response:
    try:
        return page.view(web_session)
    except CelosiaError as error:
        if page.form is None:
            raise
        return page.form(replace(web_session, problem=form_problem(error)))


def _authenticate(web_session: WebSession, request: Request) -> tuple[WebSession, bool]:
    """Return the web session with its identity, and whether a sign-in has ended."""
    secret = read_secret(request.cookies, SESSION_COOKIE)
    if secret is None:
        return web_session, False
    try:
        identity = web_session.guard.identify(secret)
    except NotAllowedError:
        return web_session, True
    return replace(web_session, signed_in=identity, secret=secret, token=form_token(secret)), False


def _check_rate(web_session: WebSession, request: Request) -> None:
    """Count the request by key, as over the API: many addresses do not raise the limit."""
    who, limit = web_session.signed_in, web_session.guard.config.limits.requests_per_minute
    if who is None:
        return
    wait = get_shared(request).rates.take(f"key {who.key_id or who.name}", per_minute=limit)
    if wait:
        raise TooManyRequestsError("serving.too_many_requests", seconds=math.ceil(wait))


def _redirect_to_sign_in(web_session: WebSession, *, has_ended: bool) -> Response:
    reply = redirect("/sign-in", **({"ended": "1"} if has_ended else {}))
    if web_session.fragment:  # htmx would insert the sign-in page in place of the fragment
        reply = Response(status_code=204, headers={"HX-Redirect": reply.headers["location"]})
    if has_ended:
        delete_cookie(reply, SESSION_COOKIE)
    return reply


def _render_error(web_session: WebSession, error: Exception, request: Request) -> Response:
    problem = problem_of(error) if isinstance(error, HttpError) or not isinstance(error, HTTPException) else None
    if problem is None:
        number = request_number(request.scope)
        request.app.state.access_log.error(error, request=number)
        title = web_session.text("error.title")
        return render_page(web_session, "error.html", status=500, title=title, detail="", request_number=number)
    status = 404 if isinstance(error, NotFoundError) else problem.status
    title = web_session.text("error.missing") if status == 404 else error_title(web_session, problem)
    return render_error(web_session, status=status, title=title, detail=translate(problem.detail, web_session.language))
