"""All the pages, and the addresses they are found under."""

from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import Response

from celosia.guard.pages.answer_views import ANSWER_PAGES
from celosia.guard.pages.ask_views import ASK_PAGES
from celosia.guard.pages.budget_views import BUDGET_PAGES
from celosia.guard.pages.dataset_views import DATASET_PAGES
from celosia.guard.pages.log_views import LOG_PAGES
from celosia.guard.pages.serving import endpoint
from celosia.guard.pages.sign_in_views import SIGN_IN_PAGES
from celosia.guard.pages.static_files import serve_file
from celosia.guard.pages.user_views import USER_PAGES

if TYPE_CHECKING:
    from fastapi import APIRouter

    from celosia.guard.pages.visit import Page
    from celosia.guard.service import Guard

__all__ = ["PAGES", "router"]

PAGES: "Final[tuple[Page, ...]]" = (
    *SIGN_IN_PAGES,
    *DATASET_PAGES,
    *ASK_PAGES,
    *ANSWER_PAGES,
    *BUDGET_PAGES,
    *LOG_PAGES,
    *USER_PAGES,
)
"""Every page that there is."""


def router(guard: "Guard") -> "APIRouter":
    """Return the routes of all pages and of their files; none of them is part of the API's document.

    >>> sorted({route.path for route in router(None).routes})[:4]
    ['/', '/answers', '/answers/{id}', '/answers/{id}/answer.csv']
    """
    from fastapi import APIRouter

    made = APIRouter()
    made.add_route("/static/{name:path}", serve_file, methods=["GET"], include_in_schema=False)
    made.add_route("/favicon.ico", _icon, methods=["GET"], include_in_schema=False)
    for one in PAGES:
        made.add_route(one.path, endpoint(one, guard), methods=[one.method], include_in_schema=False)
    return made


async def _icon(_: Request) -> Response:
    return Response(status_code=308, headers={"Location": "/static/icon.svg"})
