"""Page of the log for auditors: its lines as sentences, its head, the check of its hash chain, and its export.

The lines record actions, users and costs, never answers. An auditor who keeps the head elsewhere can compare it here
later: a rewritten log does not contain it.
"""

import json
from typing import TYPE_CHECKING, Final

from celosia.guard.log.export import FORMATS
from celosia.guard.log.search import LogFilter
from celosia.guard.log.sentences import KINDS, say_lines
from celosia.guard.roles import Permission
from celosia.guard.web.rendering import render_page
from celosia.guard.web.web_session import Page, Reply, WebSession
from celosia.serving.pages.templates import download, make_address

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.ledger import LogLine, Verification

_PAGE_SIZE: Final = 50


def _show(web_session: WebSession, verification: "Verification | None" = None) -> Reply:
    web_session.identity.require(Permission.READ_LOG)
    guard, head = web_session.guard, web_session.guard.ledger.head
    language = web_session.language.code
    wanted = LogFilter.parse(web_session.query) if web_session.problem is None else LogFilter()

    def read(limit: int = _PAGE_SIZE, **place: int) -> "tuple[LogLine, ...]":
        return guard.log(web_session.identity, limit=limit, wanted=wanted, language=language, **place)

    lines = _find_page(web_session, head.sequence, read)
    fields = wanted.given
    return render_page(
        web_session,
        "log.html",
        head=head,
        lines=[
            (said, json.dumps(said.line.body, ensure_ascii=False, sort_keys=True, indent=2))
            for said in say_lines(guard.ledger, lines)
        ],
        older=_address(fields, before=lines[-1].sequence) if lines and read(1, before=lines[-1].sequence) else "",
        newer=_address(fields, after=lines[0].sequence) if lines and read(1, after=lines[0].sequence) else "",
        exports={form: _address(fields, "/export", format=form) for form in FORMATS},
        kinds=KINDS,
        verification=verification,
    )


def _find_page(web_session: WebSession, last: int, read: "Callable[..., tuple[LogLine, ...]]") -> "tuple[LogLine, ...]":
    """Return a page of lines, latest first: before or after a number, or the latest ones."""
    after, before = (_parse_number(web_session.query_field(name)) for name in ("after", "before"))
    if after is not None and after < last:
        return read(after=after)[::-1]
    return read(before=last + 1 if before is None else min(before, last + 1))


def _parse_number(text: str) -> int | None:
    return int(text[:18]) if text.isascii() and text.isdigit() else None


def _address(fields: dict[str, str], path: str = "", **more: object) -> str:
    return make_address(f"/log{path}", {**fields, **more})


def _export(web_session: WebSession) -> Reply:
    form = web_session.query_field("format")
    wanted = LogFilter.parse(web_session.query)
    pieces = web_session.guard.export_log(web_session.identity, form, wanted=wanted, language=web_session.language.code)
    return download(pieces, FORMATS[form], f"log.{form}")


def _verify(web_session: WebSession) -> Reply:
    kept = web_session.form_field("head") or None
    return _show(web_session, web_session.guard.verify(web_session.identity, kept))


PAGES: Final = (
    Page(path="/log", view=_show, form=_show),
    Page(path="/log", view=_verify, method="POST", form=_show),
    Page(path="/log/export", view=_export),
)
"""The log."""
