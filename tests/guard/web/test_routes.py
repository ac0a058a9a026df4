from __future__ import annotations

import re
from typing import TYPE_CHECKING

from celosia.guard.web.routes import PAGES

if TYPE_CHECKING:
    from tests.guard.web.browser import Site


def test_no_address_is_taken_twice() -> None:
    places = [(page.method, page.path) for page in PAGES]
    assert len(set(places)) == len(places)
    assert {method for method, _ in places} == {"GET", "POST"}


def test_what_needs_no_sign_in_is_the_door() -> None:
    assert {page.path for page in PAGES if page.public} == {"/", "/sign-in", "/sign-out"}


def test_every_page_that_asks_is_one_that_waits() -> None:
    asking = {page.path for page in PAGES if page.method == "POST" and page.path.endswith("/ask")}
    assert {re.sub(r"\{.*?\}", "x", path) for path in asking} == {"/datasets/x/ask", "/approvals/ask"}
    assert all(page.costly and page.spends for page in PAGES if page.path in asking and page.method == "POST")


def test_pages_are_not_part_of_the_api(site: Site) -> None:
    document = site.anonymous_browser().get("/v1/openapi.json").json()
    assert all(path.startswith("/v1/") for path in document["paths"])


def test_pages_take_no_bearer_and_the_api_no_cookie(site: Site) -> None:
    key = site.keys["analyst"]
    assert site.anonymous_browser().get("/datasets", authorization=f"Bearer {key}").headers["location"] == "/sign-in"
    assert site.browser("analyst").get("/v1/datasets").status_code == 401
