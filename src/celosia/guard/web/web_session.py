"""A request to a page with its session, and a page with its view.

Views do not see the framework or the cookies. They get a ``WebSession``, call the guard with its identity, and return a
reply. So a page can do only what the guard allows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from celosia.core.errors import NotAllowedError, ParameterError
from celosia.core.exact import safe_repr
from celosia.serving.pages.cookies import LANGUAGE_COOKIE
from celosia.serving.pages.languages import Language, choose_language, load_texts
from celosia.serving.pages.templates import redirect

if TYPE_CHECKING:
    from celosia.guard.auth.identity import Identity
    from celosia.guard.service import Guard
    from celosia.serving.problems import Problem

Reply: TypeAlias = Response
"""What a view returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSession:
    """A request within a web session.

    ``names`` are the parameters of the path, ``token`` is the CSRF token of forms, ``fragment`` is true if only a part
    of a page is requested, and ``problem`` is what must be corrected in the form.
    """

    guard: "Guard"
    path: str
    language: Language
    token: str = field(default="", repr=False)
    secret: str | None = field(default=None, repr=False)
    signed_in: "Identity | None" = None
    names: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    form: Mapping[str, str] = field(default_factory=dict, repr=False)
    fragment: bool = False
    problem: "Problem | None" = None

    @property
    def identity(self) -> "Identity":
        """The signed-in identity; raises ``NotAllowedError`` if there is none."""
        if self.signed_in is None:
            raise NotAllowedError("guard.sign_in_first")
        return self.signed_in

    def query_field(self, name: str) -> str:
        """Return a stripped field of the query string; empty if absent."""
        return self.query.get(name, "").strip()

    def form_field(self, name: str) -> str:
        """Return a stripped field of the form; empty if absent."""
        return self.form.get(name, "").strip()

    def number_field(self, name: str) -> str:
        """Return a number of the form with a decimal point; Spanish uses a comma."""
        number = self.form_field(name)
        return number.replace(",", ".") if self.language.code == "es" and number.count(",") == 1 else number

    def text(self, name: str, /, **values: object) -> str:
        """Return a text in the session's language."""
        return self.language.text(name, **values)


def load_language(code: str) -> Language:
    """Return the texts of the pages in the language of a code."""
    return load_texts("celosia.guard.web", code)


def open_web_session(guard: "Guard", request: Request, path: str) -> WebSession:
    """Return the web session of a request before sign-in, in the language that it asks for."""
    asked, remembered = request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE)
    language = load_language(choose_language(asked, remembered, request.headers.get("accept-language")))
    fragment = request.headers.get("hx-request") == "true"
    return WebSession(guard=guard, path=path, language=language, fragment=fragment)


def parse_days(text: str, most: int) -> int:
    """Return a number of days from 1 to ``most``."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 0 < int(text) <= most):
        raise ParameterError("guard.days_out_of_range", most=most, value=safe_repr(text))
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A path, a method and a view.

    If the view raises an error that the user can correct, ``form`` shows the form again, with the problem. ``public``
    pages need no sign-in; ``costly`` ones may take long; one that ``spends`` reads data, so its reply is delayed to a
    slot.
    """

    path: str
    view: Callable[[WebSession], Reply]
    method: str = "GET"
    form: Callable[[WebSession], Reply] | None = None
    public: bool = False
    costly: bool = False
    spends: bool = False

    @classmethod
    def redirect(cls, path: str, *, to: str) -> "Page":
        """Return a page that leads to another: a change of language opens the address of a form again."""
        return cls(path=path, view=lambda _: redirect(to))
