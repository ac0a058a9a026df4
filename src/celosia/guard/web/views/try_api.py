"""A page that sends requests to the API, with a key that the user types into it.

The web session is not used: the API takes no cookies, so that no other site can send a request in a user's name.
"""

from typing import Final

from celosia.guard.auth.directory import draw_hexadecimal
from celosia.guard.web.rendering import render_page
from celosia.guard.web.web_session import Page, Reply, WebSession


def _show(web_session: WebSession) -> Reply:
    return render_page(web_session, "try_api.html", repeat=draw_hexadecimal(32))


PAGES: Final = (Page(path="/try-api", view=_show),)
"""The API by hand."""
