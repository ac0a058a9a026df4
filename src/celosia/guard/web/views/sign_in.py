"""Signing in with a key, and out again.

A sign-in that fails says nothing but that the key is not valid, whatever the reason, and is told apart only by its
status, by which the server counts failures.
"""

from typing import TYPE_CHECKING, Final

from celosia.core.errors import NotAllowedError
from celosia.guard.web.cookies import SIGNED_IN, VISITOR, forget, keep
from celosia.guard.web.rendering import page, redirect
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from starlette.responses import Response

    from celosia.guard.web.web_session import WebSession

_HOME: Final = "/datasets"


def _home(visit: "WebSession") -> "Response":
    return redirect(_HOME if visit.signed_in else "/sign-in")


def _show(visit: "WebSession") -> "Response":
    return redirect(_HOME) if visit.signed_in else page(visit, "sign_in.html", failed=False)


def _sign_in(visit: "WebSession") -> "Response":
    key = visit.filled("key")
    try:
        secret, _ = visit.guard.sign_in(key)
    except NotAllowedError:
        return page(visit, "sign_in.html", status=401, failed=True)
    reply = redirect(_HOME)
    keep(reply, SIGNED_IN, secret)
    forget(reply, VISITOR)
    return reply


def _sign_out(visit: "WebSession") -> "Response":
    if visit.signed_in is not None and visit.secret is not None:
        visit.guard.sign_out(visit.secret)
    reply = redirect("/sign-in")
    forget(reply, SIGNED_IN)
    return reply


SIGN_IN_PAGES: Final = (
    Page(path="/", view=_home, public=True),
    Page(path="/sign-in", view=_show, public=True),
    Page(path="/sign-in", view=_sign_in, method="POST", public=True),
    Page(path="/sign-out", view=_sign_out, method="POST", public=True),
)
"""The account."""
