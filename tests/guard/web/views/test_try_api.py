from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.serving.headers import PAGE_POLICY
from tests.guard.web.browser import ROLES, Document

if TYPE_CHECKING:
    from tests.guard.web.browser import Site


@pytest.mark.parametrize("role", ROLES)
def test_the_page_sends_nothing_by_itself(site: Site, role: str) -> None:
    browser = site.browser(role)
    reply = browser.get("/try-api")
    assert reply.headers["content-security-policy"] == PAGE_POLICY
    document = Document(reply.text)
    fields = [one for one in document.all("input", "select", "textarea") if one["id"].startswith("api-")]
    assert len(fields) == 6
    assert not [one for one in fields if one["name"]]  # without a script no form can send a key
    assert {form["action"] for form in document.all("form")} == {"/sign-out"}
    assert [one["src"].partition("?")[0] for one in document.all("script")] == ["/static/try_api.js"]
    assert site.keys[role] not in reply.text


def test_every_page_of_a_signed_in_user_leads_to_it(site: Site) -> None:
    assert "/try-api" in [one["href"] for one in Document(site.browser("analyst").get("/datasets").text).all("a")]
    assert "/try-api" not in site.anonymous_browser().get("/sign-in").text
    assert site.anonymous_browser().get("/try-api").headers["location"] == "/sign-in"
