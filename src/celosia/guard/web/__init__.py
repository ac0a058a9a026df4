"""The guard's web pages: sign in, browse data sets, preview and ask queries, read answers.

The server renders the pages, and they work without scripts; with scripts, previews follow the typing and answers have
charts. They load nothing from other servers. Each page calls ``Guard`` with the identity of its web session, so it can
do no more than the role allows.
"""

from celosia.guard.web.error_pages import error_page
from celosia.guard.web.routes import PAGES, router

__all__ = ["PAGES", "error_page", "router"]
