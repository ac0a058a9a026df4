"""From a template and values to a page. Everything is escaped, and a name that a template misspells is an error.

Templates have no script and no style of their own: the pages' policy would not run them.
"""

import datetime as dt
import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from starlette.responses import HTMLResponse, RedirectResponse

from celosia.core.errors import BudgetExceededError, CelosiaError
from celosia.guard.http.problems import problem_of
from celosia.guard.roles import Permission
from celosia.guard.web.i18n.language import LANGUAGES
from celosia.guard.web.i18n.numerals import numeral, promise, share
from celosia.guard.web.i18n.wording import worded
from celosia.guard.web.static_files import address_of_file

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from starlette.responses import Response

    from celosia.guard.http.problems import Problem
    from celosia.guard.web.web_session import WebSession

HTMX: Final = json.dumps(
    {
        "allowEval": False,
        "allowScriptTags": False,
        "includeIndicatorStyles": False,
        "selfRequestsOnly": True,
        "historyEnabled": False,
        "historyCacheSize": 0,
        "refreshOnHistoryMiss": True,
        "timeout": 30_000,
    }
)
"""What htmx may do: no code from text, no requests elsewhere, nothing of a page kept in the browser's storage."""

_MENDABLE: Final = (404, 409, 422)
_MENU: Final = (
    ("datasets", "/datasets", (Permission.READ_SCHEMAS,)),
    ("answers", "/answers", (Permission.READ_ANSWERS,)),
    ("budget", "/budget", (Permission.READ_OWN_BUDGET, Permission.READ_BUDGETS)),
    ("log", "/log", (Permission.READ_LOG,)),
    ("users", "/users", (Permission.MANAGE_USERS,)),
)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("celosia.guard.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"moment": moment, "day": day}
    environment.globals.update(share=share, languages=LANGUAGES, htmx_config=HTMX, file=address_of_file)
    return environment


def moment(at: dt.datetime) -> str:
    """Return a time as every language reads it: the day, the hour and the minute, in UTC."""
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def day(at: dt.datetime) -> str:
    """Return the day of a time, in UTC."""
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d")


def page(visit: "WebSession", template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """Return a page, or a part of one, in the visitor's language."""
    return HTMLResponse(_environment().get_template(template).render(_common(visit), **values), status_code=status)


def _common(visit: "WebSession") -> dict[str, Any]:
    code, who = visit.language.code, visit.signed_in
    return {
        "visit": visit,
        "t": visit.text,
        "lang": code,
        "number": lambda value, **how: numeral(value, code, **how),
        "promise": lambda guarantee, **how: promise(guarantee, code, **how),
        "may": lambda name: who is not None and who.may(Permission[name]),
        "menu": [entry for entry in _MENU if who is not None and any(who.may(right) for right in entry[2])],
        "typed": lambda text: text.replace(".", ",") if code == "es" else text,
        "token": lambda: _hidden(visit.token),
        "title_of": lambda problem: error_title(visit, problem),
        "said": lambda text: _said(visit, text),
        "other_language": lambda other: _address(visit.path, {**visit.query, "lang": other}),
    }


def _said(visit: "WebSession", text: str) -> tuple[str, str, str]:
    """A sentence for whoever visits, its language, and a remark if that is not the visitor's."""
    sentence = worded(text, visit.language)
    return sentence.text, sentence.code, "" if sentence.code == visit.language.code else visit.text("error.in_english")


def _hidden(token: str) -> "Markup":
    from markupsafe import Markup

    return Markup('<input type="hidden" name="token" value="{}">').format(token)


def error_title(visit: "WebSession", problem: "Problem") -> str:
    """Return in a few words what kind of problem it is, in the visitor's language."""
    name = f"error.{problem.error}"
    return visit.text(name if visit.language.has(name) else "error.title")


def mendable(error: CelosiaError) -> "Problem":
    """Return what to tell about an error beside the form that caused it, or raise it if the form cannot mend it."""
    problem = problem_of(error)
    if problem is None or not (problem.status in _MENDABLE or isinstance(error, BudgetExceededError)):
        raise error
    return problem


def _address(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}"


def redirect(path: str, **query: str) -> "Response":
    """Return a reply that sends the browser to another page of this host, by GET."""
    return RedirectResponse(_address(path, query) if query else path, status_code=303)
