"""Pages to sign in with a key, and to sign out.

A failed sign-in shows one message for every reason. Its status lets the server count failures.
"""

from typing import Final

from celosia.core.errors import NotAllowedError
from celosia.guard.web.rendering import render_page
from celosia.guard.web.web_session import Page, Reply, WebSession
from celosia.serving.pages.cookies import ANONYMOUS_COOKIE, SESSION_COOKIE, delete_cookie, set_cookie
from celosia.serving.pages.templates import redirect

_HOME: Final = "/datasets"


def _home(web_session: WebSession) -> Reply:
    return redirect(_HOME if web_session.signed_in else "/sign-in")


def _show(web_session: WebSession) -> Reply:
    return redirect(_HOME) if web_session.signed_in else render_page(web_session, "sign_in.html", failed=False)


def _sign_in(web_session: WebSession) -> Reply:
    key = web_session.form_field("key")
    try:
        secret, _ = web_session.guard.sign_in(key)
    except NotAllowedError:
        return render_page(web_session, "sign_in.html", status=401, failed=True)
    reply = redirect(_HOME)
    set_cookie(reply, SESSION_COOKIE, secret)
    delete_cookie(reply, ANONYMOUS_COOKIE)
    return reply


def _sign_out(web_session: WebSession) -> Reply:
    if web_session.signed_in is not None and web_session.secret is not None:
        web_session.guard.sign_out(web_session.secret)
    reply = redirect("/sign-in")
    delete_cookie(reply, SESSION_COOKIE)
    return reply


PAGES: Final = (
    Page(path="/", view=_home, public=True),
    Page(path="/sign-in", view=_show, public=True),
    Page(path="/sign-in", view=_sign_in, method="POST", public=True),
    Page(path="/sign-out", view=_sign_out, method="POST", public=True),
)
"""Pages of signing in and out."""
