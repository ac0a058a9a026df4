"""From a request to a view and back: who it is, in which language, whether the form is ours, and what to say of errors.

The order matters. A form is refused before anything else is looked at unless it was sent from here and carries the
visit's token; only then is its content read by a view. Whoever is not signed in is sent to the sign-in page, and never
learns whether what was asked for exists. An error of ours is shown in its own words; of any other the page says
nothing but the number under which the server's journal has it.
"""

import hmac
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from celosia.core.errors import NotAllowedError, TooManyRequestsError
from celosia.guard.errors import NotFoundError
from celosia.guard.http.problems import HttpError, problem_of, request_number
from celosia.guard.http.routing import shared
from celosia.guard.web.cookies import SIGNED_IN, VISITOR, forget, form_token, fresh_secret, from_here, keep, secret_in
from celosia.guard.web.i18n.language import LANGUAGE_COOKIE, LANGUAGES, chosen_language, language
from celosia.guard.web.i18n.wording import worded
from celosia.guard.web.rendering import error_title, page, redirect
from celosia.guard.web.web_session import WebSession

if TYPE_CHECKING:
    from celosia.guard.service import Guard
    from celosia.guard.web.web_session import Page

_MOST_FIELDS: Final = 200
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrival:
    """What a request says, before anybody believes it."""

    path: str
    names: Mapping[str, str]
    query: Mapping[str, str]
    cookies: Mapping[str, str] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    form: Mapping[str, str] | None = field(repr=False)

    @property
    def token(self) -> str:
        return (self.form or {}).get("token", "") or self.headers.get("x-csrf-token", "")

    @property
    def trusted(self) -> bool:
        """Whether a form was sent from one of our pages, in this visit."""
        # Either secret is known to nobody but this browser; the first may have ended while a page stood open.
        secrets = [secret for name in (SIGNED_IN, VISITOR) if (secret := secret_in(self.cookies, name))]
        token = self.token.encode("utf-8", "surrogatepass")
        known = [hmac.compare_digest(form_token(secret).encode(), token) for secret in secrets]
        return any(known) and from_here(self.headers)


def endpoint(one: "Page", guard: "Guard") -> Callable[[Request], Awaitable[Response]]:
    """Return what serves a page."""

    async def serve(request: Request) -> Response:
        arrival = _Arrival(
            path=request.url.path,
            names=request.path_params,
            query=dict(request.query_params),
            cookies=request.cookies,
            headers=request.headers,
            form=await _form(request) if one.method == "POST" else None,
        )
        threads = shared(request).threads
        run = threads.ask if one.spends else threads.work if one.costly else threads.read
        reply = await run(_reply, one, guard, arrival, request)
        if arrival.query.get("lang") in LANGUAGES:
            keep(reply, LANGUAGE_COOKIE, arrival.query["lang"])
        return reply

    return serve


async def _form(request: Request) -> dict[str, str]:
    if not request.headers.get("content-type", "").startswith(_FORM):
        return {}
    async with request.form(max_files=0, max_fields=_MOST_FIELDS) as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


def _reply(one: "Page", guard: "Guard", arrival: _Arrival, request: Request) -> Response:
    visit = _visit(guard, arrival)
    try:
        if arrival.form is not None and not arrival.trusted:
            return page(visit, "refused.html", status=403)
        visit, lapsed = _recognised(visit, arrival)
        _count(visit, request)
        if visit.signed_in is None and not one.public:
            return _to_sign_in(visit, lapsed=lapsed)
        held = shared(request).shares.held(visit.identity.name) if one.costly else nullcontext()
        with held:
            reply = one.view(visit)
    except Exception as error:  # noqa: BLE001 - nothing but these words may reach a browser
        reply = _mistake(visit, error, request)
    if visit.signed_in is None and secret_in(arrival.cookies, VISITOR) is None and visit.secret is not None:
        keep(reply, VISITOR, visit.secret)
    return reply


def _visit(guard: "Guard", arrival: _Arrival) -> WebSession:
    code = chosen_language(
        arrival.query.get("lang"), arrival.cookies.get(LANGUAGE_COOKIE), arrival.headers.get("accept-language")
    )
    secret = secret_in(arrival.cookies, VISITOR) or fresh_secret()
    return WebSession(
        guard=guard,
        path=arrival.path,
        language=language(code),
        secret=secret,
        token=form_token(secret),
        names=arrival.names,
        query=arrival.query,
        form=arrival.form or {},
        fragment=arrival.headers.get("hx-request") == "true",
    )


def _recognised(visit: WebSession, arrival: _Arrival) -> tuple[WebSession, bool]:
    """The visit with whoever is signed in, and whether a sign-in has ended."""
    secret = secret_in(arrival.cookies, SIGNED_IN)
    if secret is None:
        return visit, False
    try:
        identity = visit.guard.signed_in(secret)
    except NotAllowedError:
        return visit, True
    return replace(visit, signed_in=identity, secret=secret, token=form_token(secret)), False


def _count(visit: WebSession, request: Request) -> None:
    """One request of a key, as over the API: whoever signs in from many addresses asks no more often."""
    if visit.signed_in is None:
        return
    limit = visit.guard.config.limits.requests_per_minute
    wait = shared(request).rates.take(f"key {visit.signed_in.key_id or visit.signed_in.name}", per_minute=limit)
    if wait:
        raise TooManyRequestsError(f"Too many requests in a minute: wait {math.ceil(wait)} s.")


def _to_sign_in(visit: WebSession, *, lapsed: bool) -> Response:
    reply = redirect("/sign-in", **({"ended": "1"} if lapsed else {}))
    if visit.fragment:  # htmx would put the sign-in page where the fragment was wanted
        reply = Response(status_code=204, headers={"HX-Redirect": reply.headers["location"]})
    if lapsed:
        forget(reply, SIGNED_IN)
    return reply


def _mistake(visit: WebSession, error: Exception, request: Request) -> Response:
    problem = problem_of(error) if isinstance(error, HttpError) or not isinstance(error, HTTPException) else None
    if problem is None:
        number = request_number(request.scope)
        request.app.state.journal.unforeseen(error, request=number)
        return page(visit, "error.html", status=500, title=visit.text("error.title"), detail="", journal=number)
    status = 404 if isinstance(error, NotFoundError) else problem.status
    title = visit.text("error.missing") if status == 404 else error_title(visit, problem)
    told = worded(problem.detail, visit.language)
    values: dict[str, Any] = {"title": title, "detail": told.text, "spoken": told.code}
    if visit.fragment:
        return page(visit, "error_fragment.html", **values)
    return page(visit, "error.html", status=status, journal="", **values)
