"""Render the pages in the language of a web session, with what its role may do."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import HTMLResponse

from celosia.core.errors import ApprovalRequiredError, BudgetExceededError, CelosiaError
from celosia.core.messages.message import LANGUAGES
from celosia.core.messages.numerals import compute_share, format_guarantee, format_number
from celosia.guard.log.sentences import describe_rules
from celosia.guard.roles import Permission
from celosia.serving.pages.languages import translate
from celosia.serving.pages.static_files import StaticFiles
from celosia.serving.pages.templates import make_address, open_templates
from celosia.serving.problems import problem_of

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from celosia.guard.web.web_session import WebSession
    from celosia.ledger import Policy
    from celosia.serving.pages.languages import Sentence
    from celosia.serving.problems import Problem

FILES: Final = StaticFiles("celosia.guard.web")
"""The static files of the pages."""

_CORRECTABLE_STATUSES: Final = (404, 409, 422)
_REFUSALS: Final = (ApprovalRequiredError, BudgetExceededError)  # another cost is a correction
_MENU: Final = (
    ("datasets", "/datasets", (Permission.READ_SCHEMAS,)),
    ("answers", "/answers", (Permission.READ_ANSWERS,)),
    ("dashboard", "/dashboard", (Permission.READ_ANSWERS,)),
    ("approvals", "/approvals", (Permission.APPROVE, Permission.ASK)),
    ("budget", "/budget", (Permission.READ_OWN_BUDGET, Permission.READ_BUDGETS)),
    ("log", "/log", (Permission.READ_LOG,)),
    ("users", "/users", (Permission.MANAGE_USERS,)),
)


@cache
def _templates() -> "Environment":
    found = open_templates("celosia.guard.web")
    found.globals.update(share=compute_share, languages=LANGUAGES, file=FILES.address_of)
    return found


def render_page(web_session: "WebSession", template: str, *, status: int = 0, **values: object) -> HTMLResponse:
    """Return a page, or a fragment of one, in the session's language; with status 422 if the session has a problem."""
    text = _templates().get_template(template).render(_template_values(web_session), **values)
    return HTMLResponse(text, status_code=status or (200 if web_session.problem is None else 422))


def _template_values(web_session: "WebSession") -> dict[str, Any]:
    code, who = web_session.language.code, web_session.signed_in
    return {
        "web_session": web_session,
        "problem": web_session.problem,
        "done": web_session.query_field("done"),
        "t": web_session.text,
        "lang": code,
        "number": lambda value, **how: format_number(value, code, **how),
        "format_guarantee": lambda guarantee, **how: format_guarantee(guarantee, code, **how),
        "may": lambda name: who is not None and who.may(Permission[name]),
        "menu": [entry for entry in _MENU if who is not None and any(who.may(right) for right in entry[2])],
        "typed": lambda text: text.replace(".", ",") if code == "es" else text,
        "token": lambda: _token_field(web_session.token),
        "rules_of": lambda policy: write_rules(web_session, policy),
        "title_of": lambda problem: error_title(web_session, problem),
        "translate": lambda text: _translate_sentence(web_session, text),
        "other_language": lambda other: make_address(web_session.path, {**web_session.query, "lang": other}),
    }


def _translate_sentence(web_session: "WebSession", text: str) -> tuple[str, str, str]:
    """Return a sentence, its language, and a remark if that is not the session's language."""
    sentence = translate(text, web_session.language)
    remark = "" if sentence.code == web_session.language.code else web_session.text("error.in_english")
    return sentence.text, sentence.code, remark


def _token_field(token: str) -> "Markup":
    from markupsafe import Markup

    return Markup('<input type="hidden" name="token" value="{}">').format(token)


def confirm(
    web_session: "WebSession", sentence: str, *, back: str, notes: Sequence[str] = (), editable: bool = False
) -> HTMLResponse | None:
    """Return a page that asks whether a form is meant, and sends it again; None if the form says that it is.

    An ``editable`` form can also be sent back to its page, with ``confirm`` as ``edit``.
    """
    if web_session.form_field("confirm") == "yes":
        return None
    fields = {name: value for name, value in web_session.form.items() if name not in ("token", "confirm")}
    shown: dict[str, Any] = {"sentence": sentence, "fields": fields, "back": back, "notes": notes}
    return render_page(web_session, "confirm.html", **shown, editable=editable)


def write_rules(web_session: "WebSession", policy: "Policy") -> list[str]:
    """Return the rules of a budget for analysts, in the session's language."""
    return [translate(rule, web_session.language).text for rule in describe_rules(policy)]


def error_title(web_session: "WebSession", problem: "Problem") -> str:
    """Return a short title of a problem in the session's language."""
    name = f"error.{problem.error}"
    return web_session.text(name if web_session.language.has(name) else "error.title")


def render_error(web_session: "WebSession", *, status: int, title: str, detail: "Sentence") -> HTMLResponse:
    """Return the page of an error; or a fragment, which htmx inserts only with status 200."""
    values: dict[str, Any] = {"title": title, "detail": detail.text, "spoken": detail.code}
    if web_session.fragment:
        return render_page(web_session, "error_fragment.html", **values)
    return render_page(web_session, "error.html", status=status, request_number="", **values)


def form_problem(error: CelosiaError) -> "Problem":
    """Return the problem to show beside the form; raise the error if changing the form cannot correct it."""
    problem = problem_of(error)
    if problem is None or not (problem.status in _CORRECTABLE_STATUSES or isinstance(error, _REFUSALS)):
        raise error
    return problem
