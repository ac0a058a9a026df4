"""Page of users and their keys, for the owner.

A new key is shown once, in the reply to its form, and is in no address or cookie; the store has only its hash. Revoking
takes effect at once, for the API and for web sessions.
"""

import datetime as dt
from typing import TYPE_CHECKING, Final

from celosia.core.errors import CelosiaError, ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.roles import Permission, Role
from celosia.guard.web.rendering import confirm, form_problem, redirect, render_page
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from starlette.responses import Response

    from celosia.guard.web.web_session import WebSession

_MAX_DAYS: Final = 3_650


def _show(web_session: "WebSession") -> "Response":
    return _render(web_session, done=web_session.query_field("done") == "revoked")


def _render(
    web_session: "WebSession",
    *,
    done: bool = False,
    problem: str = "",
    key: str = "",
    name: str = "",
    status: int = 200,
) -> "Response":
    return render_page(
        web_session,
        "users.html",
        status=status,
        users=web_session.guard.users(web_session.identity),
        roles=list(Role),
        now=dt.datetime.now(dt.UTC),
        done=done,
        problem=problem,
        key=key,
        name=name,
    )


def _parse_expiry(web_session: "WebSession") -> dt.datetime | None:
    days = web_session.form_field("days")
    if not days:
        return None
    if not (days.isascii() and days.isdigit() and 0 < int(days[:9]) <= _MAX_DAYS):
        raise ParameterError("guard.days_out_of_range", most=_MAX_DAYS, value=safe_repr(days))
    return dt.datetime.now(dt.UTC) + dt.timedelta(days=int(days))


def _add(web_session: "WebSession") -> "Response":
    name = web_session.form_field("name")
    try:
        if web_session.form_field("role"):
            key = web_session.guard.add_user(
                web_session.identity, name, web_session.form_field("role"), _parse_expiry(web_session)
            )
        else:
            key = web_session.guard.add_key(web_session.identity, name, _parse_expiry(web_session))
    except CelosiaError as error:
        return _render(web_session, problem=form_problem(error).detail, status=422)
    return _render(web_session, key=key, name=name)


def _revoke(web_session: "WebSession") -> "Response":
    web_session.identity.require(Permission.MANAGE_USERS)
    name = web_session.form_field("name")
    asked = confirm(web_session, web_session.text("confirm.revoke", name=name), back="/users")
    if asked is not None:
        return asked
    try:
        web_session.guard.revoke(web_session.identity, name)
    except CelosiaError as error:
        return _render(web_session, problem=form_problem(error).detail, status=422)
    return redirect("/users", done="revoked")


USER_PAGES: Final = (
    Page(path="/users", view=_show),
    Page(path="/users", view=_add, method="POST"),
    Page(path="/users/revoke", view=_revoke, method="POST"),
    Page.redirect("/users/revoke", to="/users"),
)
"""Users and keys."""
