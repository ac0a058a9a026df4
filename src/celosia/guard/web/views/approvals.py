"""Page of approvals: a curator grants or denies costly queries, and their analysts then ask them."""

from typing import TYPE_CHECKING, Final

from celosia.core.errors import ParameterError
from celosia.core.guarantees import Guarantee
from celosia.guard.schema.requests import FitRequest, QueryRequest
from celosia.guard.web.rendering import render_page
from celosia.guard.web.web_session import Page, Reply, WebSession
from celosia.query.serial.records import record_from_json
from celosia.serving.pages.templates import make_path, redirect

if TYPE_CHECKING:
    from celosia.guard.schema.replies import Approval


def _show(web_session: WebSession) -> Reply:
    found = web_session.guard.approvals(web_session.identity)
    costs = [record_from_json(Guarantee, dict(one.cost)) for one in found]  # type: ignore[type-abstract] # one of its kinds
    return render_page(web_session, "approvals.html", approvals=list(zip(found, costs, strict=True)))


def _decide(web_session: WebSession) -> Reply:
    decision = web_session.form_field("decision")
    if decision not in ("granted", "denied"):
        raise ParameterError("guard.unknown_approval_state", known="granted, denied", value=repr(decision[:60]))
    id, reason = web_session.form_field("id"), web_session.form_field("reason")  # noqa: A001 - its name in the API
    web_session.guard.decide_approval(web_session.identity, id, granted=decision == "granted", reason=reason)
    return redirect("/approvals", done=decision)


def _ask(web_session: WebSession) -> Reply:
    """Send the request of an approval again, with its key."""
    approval = _find_own(web_session)
    kind = FitRequest if "model" in approval.request else QueryRequest
    answer = web_session.guard.ask(web_session.identity, kind(**approval.request), approval.key)
    return redirect(make_path("answers", answer.id))


def _find_own(web_session: WebSession) -> "Approval":
    wanted = web_session.form_field("id")
    for approval in web_session.guard.approvals(web_session.identity, limit=1_000):
        if approval.id == wanted and approval.analyst == web_session.identity.name:
            return approval
    raise ParameterError("guard.no_approval", name=repr(wanted[:60]))


PAGES: Final = (
    Page(path="/approvals", view=_show),
    Page(path="/approvals", view=_decide, method="POST", form=_show),
    Page(path="/approvals/ask", view=_ask, method="POST", form=_show, costly=True, spends=True),
    Page.redirect("/approvals/ask", to="/approvals"),
)
"""Approvals."""
