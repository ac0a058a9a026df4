"""All pages and their routes."""

from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import Response

from celosia.guard.web.rendering import FILES
from celosia.guard.web.serving import make_endpoint
from celosia.guard.web.views import (
    adding,
    answers,
    approvals,
    ask,
    budgets,
    curation,
    dashboard,
    datasets,
    log,
    sign_in,
    try_api,
    users,
)

if TYPE_CHECKING:
    from fastapi import APIRouter

    from celosia.guard.service import Guard
    from celosia.guard.web.web_session import Page

_VIEWS: Final = (sign_in, datasets, curation, adding, ask, answers, dashboard, approvals, budgets, log, users, try_api)
PAGES: "Final[tuple[Page, ...]]" = tuple(page for views in _VIEWS for page in views.PAGES)
"""All pages."""


def router(guard: "Guard") -> "APIRouter":
    """Return the routes of the pages and static files, which are not in the OpenAPI document."""
    from fastapi import APIRouter

    made = APIRouter()
    made.add_route("/static/{name:path}", FILES.serve, methods=["GET"], include_in_schema=False)
    made.add_route("/favicon.ico", _icon, methods=["GET"], include_in_schema=False)
    for one in PAGES:
        made.add_route(one.path, make_endpoint(one, guard), methods=[one.method], include_in_schema=False)
    return made


async def _icon(_: Request) -> Response:
    return Response(status_code=308, headers={"Location": "/static/icon.svg"})
