"""Page of the log for auditors: its lines, its head, and the check of its hash chain.

The lines record actions, users and costs, never answers. An auditor who keeps the head elsewhere can compare it here
later: a rewritten log does not contain it.
"""

import json
from typing import TYPE_CHECKING, Final

from celosia.core.errors import ParameterError
from celosia.guard.roles import Permission
from celosia.guard.web.rendering import render_page
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from celosia.guard.web.web_session import WebSession
    from celosia.ledger import Verification

_PAGE_SIZE: Final = 50


def _show(web_session: "WebSession") -> "Response":
    return _render(web_session)


def _render(
    web_session: "WebSession",
    *,
    verification: "Verification | None" = None,
    wanted: str = "",
    problem: str = "",
    status: int = 200,
) -> "Response":
    web_session.identity.require(Permission.READ_LOG)
    head = web_session.guard.ledger.head
    newest = max(0, head.sequence - _PAGE_SIZE)
    requested = web_session.query_field("after")
    after = min(int(requested[:18]), head.sequence) if requested.isascii() and requested.isdigit() else newest
    lines = web_session.guard.log(web_session.identity, after=after, limit=_PAGE_SIZE)
    return render_page(
        web_session,
        "log.html",
        status=status,
        head=head,
        lines=[(line, _json(line.body), _json(line.body, indent=2)) for line in reversed(lines)],
        older=max(0, after - _PAGE_SIZE) if after > 0 else None,
        newer=after + _PAGE_SIZE if after < newest else None,
        verification=verification,
        wanted=wanted,
        problem=problem,
    )


def _json(body: "Mapping[str, object]", indent: int | None = None) -> str:
    return json.dumps(body, ensure_ascii=False, sort_keys=True, indent=indent)


def _verify(web_session: "WebSession") -> "Response":
    wanted = web_session.form_field("head")
    try:
        verification = web_session.guard.verify(web_session.identity, wanted or None)
    except ParameterError as error:  # not a head
        return _render(web_session, wanted=wanted, problem=error.message, status=422)
    return _render(web_session, verification=verification, wanted=wanted)


LOG_PAGES: Final = (
    Page(path="/log", view=_show),
    Page(path="/log", view=_verify, method="POST"),
)
"""The log."""
