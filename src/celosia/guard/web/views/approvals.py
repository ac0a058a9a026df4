"""Page of approvals: a curator grants or denies costly queries, and their analysts then ask them."""

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from celosia.core.errors import CelosiaError, ParameterError
from celosia.core.guarantees import Guarantee
from celosia.guard.schema.requests import FitRequest, QueryRequest
from celosia.guard.web.rendering import form_problem, redirect, render_page
from celosia.guard.web.web_session import Page
from celosia.query.serial.records import record_from_json

if TYPE_CHECKING:
    from starlette.responses import Response

    from celosia.guard.schema.replies import Approval
    from celosia.guard.web.web_session import WebSession


def _show(web_session: "WebSession") -> "Response":
    return _render(web_session, done=web_session.query_field("done"))


def _render(web_session: "WebSession", *, done: str = "", problem: str = "", status: int = 200) -> "Response":
    found = web_session.guard.approvals(web_session.identity)
    return render_page(
        web_session,
        "approvals.html",
        status=status,
        approvals=[(one, record_from_json(Guarantee, dict(one.cost))) for one in found],  # type: ignore[type-abstract] # one of its kinds
        done=done if done in ("granted", "denied") else "",
        problem=problem,
    )


def _decide(web_session: "WebSession") -> "Response":
    decision = web_session.form_field("decision")
    try:
        if decision not in ("granted", "denied"):
            raise ParameterError("guard.unknown_approval_state", known="granted, denied", value=repr(decision[:60]))
        web_session.guard.decide_approval(
            web_session.identity,
            web_session.form_field("id"),
            granted=decision == "granted",
            reason=web_session.form_field("reason"),
        )
    except CelosiaError as error:
        return _render(web_session, problem=form_problem(error).detail, status=422)
    return redirect("/approvals", done=decision)


def _ask(web_session: "WebSession") -> "Response":
    """Send the request of an approval again, with its key."""
    approval = _find_own(web_session)
    try:
        kind = FitRequest if "model" in approval.request else QueryRequest
        request = kind(**approval.request)
        answer = web_session.guard.ask(web_session.identity, request, approval.key)
    except CelosiaError as error:
        return _render(web_session, problem=form_problem(error).detail, status=422)
    return redirect(f"/answers/{quote(answer.id, safe='')}")


def _find_own(web_session: "WebSession") -> "Approval":
    wanted = web_session.form_field("id")
    for approval in web_session.guard.approvals(web_session.identity, limit=1_000):
        if approval.id == wanted and approval.analyst == web_session.identity.name:
            return approval
    raise ParameterError("guard.no_approval", name=repr(wanted[:60]))


APPROVAL_PAGES: Final = (
    Page(path="/approvals", view=_show),
    Page(path="/approvals", view=_decide, method="POST"),
    Page(path="/approvals/ask", view=_ask, method="POST", costly=True, spends=True),
    Page.redirect("/approvals/ask", to="/approvals"),
)
"""Approvals."""
