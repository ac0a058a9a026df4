from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.guard.web.browser import Site

KEY = re.compile(r"celosia_[0-9a-f]{12}_[0-9a-f]{64}")


def test_a_new_key_is_shown_once_and_opens_the_door(site: Site) -> None:
    browser = site.browser("owner")
    browser.get("/users")
    reply = browser.post("/users", name="bea", role="analyst", days="30")
    [key] = KEY.findall(reply.text)
    assert not KEY.search(browser.get("/users").text)
    assert site.guard.authenticate(key).name == "bea"
    site.anonymous_browser().sign_in(key)


def test_another_key_and_its_end(site: Site) -> None:
    browser = site.browser("owner")
    browser.get("/users")
    [key] = KEY.findall(browser.post("/users", name="analyst-1").text)
    assert site.guard.authenticate(key).role.value == "analyst"
    browser.get("/users")
    asked = browser.post("/users/revoke", name=key.split("_")[1])
    assert (asked.status_code, key.split("_")[1] in asked.text) == (200, True)
    assert site.guard.authenticate(key).name == "analyst-1"
    reply = browser.post("/users/revoke", name=key.split("_")[1], confirm="yes")
    assert reply.headers["location"] == "/users?done=revoked"
    assert "no longer valid" in browser.get("/users?done=revoked").text
    assert site.guard.authenticate(site.keys["analyst"]).name == "analyst-1"
    browser.get("/users")
    browser.post("/users/revoke", name="analyst-1", confirm="yes")
    assert "revoked" in browser.get("/users").text
    visitor = site.anonymous_browser()
    visitor.get("/sign-in")
    assert visitor.post("/sign-in", key=site.keys["analyst"]).status_code == 401


def test_what_is_wrong_is_told_on_the_page(site: Site) -> None:
    cases: list[dict[str, str]] = [
        {"name": "", "role": "analyst"},
        {"name": "analyst-1", "role": "analyst"},
        {"name": "<b>", "role": "analyst"},
        {"name": "bea", "role": "king"},
        {"name": "bea", "role": "analyst", "days": "0"},
        {"name": "bea", "role": "analyst", "days": "9999999"},
        {"name": "nobody-1"},
    ]
    for fields in cases:
        browser = site.browser("owner")
        browser.get("/users")
        before = site.guard.ledger.head
        reply = browser.post("/users", **fields)
        assert reply.status_code == 422
        assert 'role="alert"' in reply.text
        assert not KEY.search(reply.text)
        assert site.guard.ledger.head == before


def test_nobody_can_be_revoked_who_is_not_there(site: Site) -> None:
    browser = site.browser("owner")
    browser.get("/users")
    for name in ("nobody-1", "owner-1"):  # nobody, and the last owner
        reply = browser.post("/users/revoke", name=name, confirm="yes")
        assert reply.status_code == 422
        assert 'role="alert"' in reply.text


@pytest.mark.parametrize("role", ["analyst", "auditor", "curator"])
def test_only_the_owner_makes_keys(site: Site, role: str) -> None:
    browser = site.browser(role)
    before = site.guard.ledger.head
    for path, fields in (("/users", {"name": "bea", "role": "owner"}), ("/users/revoke", {"name": "owner-1"})):
        assert browser.post(path, **fields).status_code == 403
    assert site.guard.ledger.head == before
