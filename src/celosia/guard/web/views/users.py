"""Page of users and their keys, for the owner.

A new key is shown once, in the reply to its form, and is in no address or cookie; the store has only its hash. Revoking
takes effect at once, for the API and for web sessions.
"""

import datetime as dt
from typing import Final

from celosia.guard.roles import Permission, Role
from celosia.guard.web.rendering import confirm, render_page
from celosia.guard.web.web_session import Page, Reply, WebSession, parse_days
from celosia.serving.pages.templates import redirect

_MAX_DAYS: Final = 3_650


def _show(web_session: WebSession, key: str = "") -> Reply:
    users = web_session.guard.users(web_session.identity)
    return render_page(web_session, "users.html", users=users, roles=list(Role), now=dt.datetime.now(dt.UTC), key=key)


def _parse_expiry(web_session: WebSession) -> dt.datetime | None:
    days = web_session.form_field("days")
    return dt.datetime.now(dt.UTC) + dt.timedelta(days=parse_days(days, _MAX_DAYS)) if days else None


def _add(web_session: WebSession) -> Reply:
    guard, who, expires = web_session.guard, web_session.identity, _parse_expiry(web_session)
    name, role = web_session.form_field("name"), web_session.form_field("role")
    key = guard.add_user(who, name, role, expires) if role else guard.add_key(who, name, expires)
    return _show(web_session, key)


def _revoke(web_session: WebSession) -> Reply:
    web_session.identity.require(Permission.MANAGE_USERS)
    name = web_session.form_field("name")
    asked = confirm(web_session, web_session.text("confirm.revoke", name=name), back="/users")
    if asked is None:
        web_session.guard.revoke(web_session.identity, name)
    return asked or redirect("/users", done="revoked")


PAGES: Final = (
    Page(path="/users", view=_show),
    Page(path="/users", view=_add, method="POST", form=_show),
    Page(path="/users/revoke", view=_revoke, method="POST", form=_show),
    Page.redirect("/users/revoke", to="/users"),
)
"""Users and keys."""
