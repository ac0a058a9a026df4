"""Error pages for requests that no page serves: an unknown address, too many requests.

Programs get problem details; a browser requests a page by its ``Accept`` header. The page looks up no identity: an
error page for too many requests must be cheap.
"""

from typing import TYPE_CHECKING

from starlette.requests import Request

from celosia.guard.web.rendering import error_title, render_error
from celosia.guard.web.web_session import open_web_session
from celosia.serving.pages.languages import Sentence, translate

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Scope

    from celosia.guard.service import Guard
    from celosia.serving.problems import Problem


def error_page(guard: "Guard", scope: "Scope", problem: "Problem") -> "Response | None":
    """Return the page of a problem in the browser's language; None if the client does not accept HTML."""
    request = Request(scope)
    if scope["path"].startswith("/v1") or "text/html" not in request.headers.get("accept", "").lower():
        return None
    web_session = open_web_session(guard, request, "/")
    code = web_session.language.code
    title, detail = error_title(web_session, problem), translate(problem.detail, web_session.language)
    if problem.status == 404:
        title, detail = web_session.text("error.missing"), Sentence(web_session.text("error.nowhere"), code)
    elif problem.status == 429:
        seconds = (problem.headers or {}).get("Retry-After", "60")
        detail = Sentence(web_session.text("error.wait", seconds=seconds), code)
    reply = render_error(web_session, status=problem.status, title=title, detail=detail)
    reply.headers.update(problem.headers or {})
    return reply
