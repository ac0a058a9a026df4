"""One request to a page, with everything a view may need, and one page with the view that answers it.

Views see neither the framework nor the cookies: they get a ``WebSession``, call the guard as the one who is signed in,
and return a reply. So what a page can do is what the guard allows, and nothing else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from celosia.core.errors import NotAllowedError
from celosia.guard.web.i18n.language import Language

if TYPE_CHECKING:
    from starlette.responses import Response

    from celosia.guard.auth.identity import Identity
    from celosia.guard.service import Guard


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSession:
    """A request.

    ``names`` are the parts of the path that stand for something, ``token`` is what forms must carry, ``fragment`` says
    that a part of a page is wanted, not a whole one.
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

    @property
    def identity(self) -> "Identity":
        """Whoever is signed in."""
        if self.signed_in is None:
            raise NotAllowedError("Sign in first.")
        return self.signed_in

    def query_field(self, name: str) -> str:
        """Return a field of the address, without blanks around it; empty if it is not there."""
        return self.query.get(name, "").strip()

    def form_field(self, name: str) -> str:
        """Return a field of the form, without blanks around it; empty if it is not there."""
        return self.form.get(name, "").strip()

    def text(self, name: str, /, **values: object) -> str:
        """Return a text in the visitor's language."""
        return self.language.text(name, **values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A path, a method and the view that answers.

    ``public`` pages are for those who are not signed in, too; ``costly`` ones may take long; one that ``spends`` reads
    data, so that its reply must leave on a tick of the clock.
    """

    path: str
    view: "Callable[[WebSession], Response]"
    method: str = "GET"
    public: bool = False
    costly: bool = False
    spends: bool = False
