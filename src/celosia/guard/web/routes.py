"""All pages and their routes."""

from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import Response

from celosia.guard.web.rendering import FILES
from celosia.guard.web.serving import make_endpoint
from celosia.guard.web.views.adding import ADDING_PAGES
from celosia.guard.web.views.answers import ANSWER_PAGES
from celosia.guard.web.views.approvals import APPROVAL_PAGES
from celosia.guard.web.views.ask import ASK_PAGES
from celosia.guard.web.views.budgets import BUDGET_PAGES
from celosia.guard.web.views.curation import CURATION_PAGES
from celosia.guard.web.views.dashboard import DASHBOARD_PAGES
from celosia.guard.web.views.datasets import DATASET_PAGES
from celosia.guard.web.views.log import LOG_PAGES
from celosia.guard.web.views.sign_in import SIGN_IN_PAGES
from celosia.guard.web.views.try_api import TRY_API_PAGES
from celosia.guard.web.views.users import USER_PAGES

if TYPE_CHECKING:
    from fastapi import APIRouter

    from celosia.guard.service import Guard
    from celosia.guard.web.web_session import Page

PAGES: "Final[tuple[Page, ...]]" = (
    *SIGN_IN_PAGES,
    *DATASET_PAGES,
    *CURATION_PAGES,
    *ADDING_PAGES,
    *ASK_PAGES,
    *ANSWER_PAGES,
    *DASHBOARD_PAGES,
    *APPROVAL_PAGES,
    *BUDGET_PAGES,
    *LOG_PAGES,
    *USER_PAGES,
    *TRY_API_PAGES,
)
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
