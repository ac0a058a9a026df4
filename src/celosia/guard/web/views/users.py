"""Users and their keys, for the owner.

A new key is shown once, on the reply to the form that made it, and is in no address and no cookie; the store has only
its hash. Revoking takes effect at once, for the API and for whoever is signed in.
"""

import datetime as dt
from typing import TYPE_CHECKING, Final

from celosia.core.errors import CelosiaError, ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.roles import Role
from celosia.guard.web.rendering import mendable, page, redirect
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from starlette.responses import Response

    from celosia.guard.web.web_session import WebSession

_MOST_DAYS: Final = 3_650


def _show(visit: "WebSession") -> "Response":
    return _page(visit, done=visit.asked("done") == "revoked")


def _page(
    visit: "WebSession", *, done: bool = False, problem: str = "", key: str = "", name: str = "", status: int = 200
) -> "Response":
    return page(
        visit,
        "users.html",
        status=status,
        users=visit.guard.users(visit.identity),
        roles=list(Role),
        now=dt.datetime.now(dt.UTC),
        done=done,
        problem=problem,
        key=key,
        name=name,
    )


def _expiry(visit: "WebSession") -> dt.datetime | None:
    days = visit.filled("days")
    if not days:
        return None
    if not (days.isascii() and days.isdigit() and 0 < int(days[:9]) <= _MOST_DAYS):
        raise ParameterError(f"days must be an integer from 1 to {_MOST_DAYS}, not {safe_repr(days)}.")
    return dt.datetime.now(dt.UTC) + dt.timedelta(days=int(days))


def _add(visit: "WebSession") -> "Response":
    name = visit.filled("name")
    try:
        if visit.filled("role"):
            key = visit.guard.add_user(visit.identity, name, visit.filled("role"), _expiry(visit))
        else:
            key = visit.guard.add_key(visit.identity, name, _expiry(visit))
    except CelosiaError as error:
        return _page(visit, problem=mendable(error).detail, status=422)
    return _page(visit, key=key, name=name)


def _revoke(visit: "WebSession") -> "Response":
    try:
        visit.guard.revoke(visit.identity, visit.filled("name"))
    except CelosiaError as error:
        return _page(visit, problem=mendable(error).detail, status=422)
    return redirect("/users", done="revoked")


def _back(_: "WebSession") -> "Response":
    return redirect("/users")


USER_PAGES: Final = (
    Page(path="/users", view=_show),
    Page(path="/users", view=_add, method="POST"),
    Page(path="/users/revoke", view=_revoke, method="POST"),
    Page(path="/users/revoke", view=_back),  # the reply to a form, opened again in another language
)
"""Users and keys."""
