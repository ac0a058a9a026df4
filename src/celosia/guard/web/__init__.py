"""The guard's web pages: sign in, look at data sets, see what a question would cost, ask it, read the answer.

The pages are rendered here and work without a script; with one, the cost follows while a question is being written,
and answers are drawn. They load nothing from anywhere else. Everything goes through ``Guard``, as whoever is signed
in, so a page can do no more than the role allows.
"""

from celosia.guard.web.error_pages import error_page
from celosia.guard.web.routes import PAGES, router

__all__ = ["PAGES", "error_page", "router"]
