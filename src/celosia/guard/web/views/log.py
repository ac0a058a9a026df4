"""The log, for auditors: its lines, its head, and whether the chain of hashes holds.

The lines say what was done, by whom and at what price; never what was answered. Whoever keeps the head elsewhere can
have it compared here later: a log that was written anew does not contain it.
"""

import json
from typing import TYPE_CHECKING, Final

from celosia.core.errors import ParameterError
from celosia.guard.roles import Permission
from celosia.guard.web.rendering import page
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from celosia.guard.web.web_session import WebSession
    from celosia.ledger import Verification

_SIZE: Final = 50


def _show(visit: "WebSession") -> "Response":
    return _page(visit)


def _page(
    visit: "WebSession",
    *,
    verification: "Verification | None" = None,
    wanted: str = "",
    problem: str = "",
    status: int = 200,
) -> "Response":
    visit.identity.require(Permission.READ_LOG)
    head = visit.guard.ledger.head
    newest = max(0, head.sequence - _SIZE)
    asked = visit.asked("after")
    after = min(int(asked[:18]), head.sequence) if asked.isascii() and asked.isdigit() else newest
    lines = visit.guard.log(visit.identity, after=after, limit=_SIZE)
    return page(
        visit,
        "log.html",
        status=status,
        head=head,
        lines=[(line, _json(line.body), _json(line.body, indent=2)) for line in reversed(lines)],
        older=max(0, after - _SIZE) if after > 0 else None,
        newer=after + _SIZE if after < newest else None,
        verification=verification,
        wanted=wanted,
        problem=problem,
    )


def _json(body: "Mapping[str, object]", indent: int | None = None) -> str:
    return json.dumps(body, ensure_ascii=False, sort_keys=True, indent=indent)


def _verify(visit: "WebSession") -> "Response":
    wanted = visit.filled("head")
    try:
        verification = visit.guard.verify(visit.identity, wanted or None)
    except ParameterError as error:  # what was typed is no head
        return _page(visit, wanted=wanted, problem=str(error), status=422)
    return _page(visit, verification=verification, wanted=wanted)


LOG_PAGES: Final = (
    Page(path="/log", view=_show),
    Page(path="/log", view=_verify, method="POST"),
)
"""The log."""
