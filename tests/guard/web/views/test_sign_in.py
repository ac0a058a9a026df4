from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.serving.pages.cookies import ANONYMOUS_COOKIE, SESSION_COOKIE
from tests.reliability.serving import add_expired_user

if TYPE_CHECKING:
    from tests.guard.web.browser import Site


def test_a_key_opens_the_door(site: Site) -> None:
    browser = site.anonymous_browser()
    assert browser.get("/").headers["location"] == "/sign-in"
    browser.get("/sign-in")
    assert len(browser.cookies[ANONYMOUS_COOKIE]) == 64
    reply = browser.post("/sign-in", key=f" {site.keys['analyst']} ")
    assert (reply.status_code, reply.headers["location"]) == (303, "/datasets")
    assert len(browser.cookies[SESSION_COOKIE]) == 64
    assert ANONYMOUS_COOKIE not in browser.cookies
    assert "analyst-1" in browser.get("/datasets").text
    assert browser.get("/").headers["location"] == "/datasets"
    assert browser.get("/sign-in").headers["location"] == "/datasets"


def test_the_secret_is_neither_the_anonymous_one_nor_in_the_store(site: Site) -> None:
    browser = site.anonymous_browser()
    browser.get("/sign-in")
    before = browser.cookies[ANONYMOUS_COOKIE]
    browser.post("/sign-in", key=site.keys["analyst"])
    secret = browser.cookies[SESSION_COOKIE]
    assert secret != before
    with site.guard.ledger.store.reading() as connection:
        stored = "\n".join(connection.connection.iterdump())
    assert secret not in stored
    assert site.keys["analyst"] not in stored


def test_why_a_key_is_not_valid_is_not_told(site: Site) -> None:
    site.guard.add_user(site.local, "gone", "analyst")
    revoked = site.guard.add_key(site.local, "gone")
    site.guard.revoke(site.local, "gone")
    expired = add_expired_user(site.guard, "late", "analyst")
    good = site.keys["analyst"]
    wrong = [
        "",
        "x",
        good[:-1],
        good[:-1] + ("0" if good[-1] != "0" else "1"),
        revoked,
        expired,
        "ü" * 100,
        "k" * 20_000,
    ]
    pages = set()
    for key in wrong:
        browser = site.anonymous_browser()
        browser.get("/sign-in")
        reply = browser.post("/sign-in", key=key)
        assert reply.status_code == 401
        assert SESSION_COOKIE not in browser.cookies
        assert "not valid" in reply.text
        assert "The owner of this guard can give you a new one." in reply.text
        pages.add(reply.text.replace(browser.token, ""))
    assert len(pages) == 1


def test_signing_out_ends_the_session(site: Site) -> None:
    browser = site.browser("analyst")
    secret = browser.cookies[SESSION_COOKIE]
    assert browser.post("/sign-out").headers["location"] == "/sign-in"
    assert SESSION_COOKIE not in browser.cookies
    other = site.anonymous_browser()
    other.cookies.set(SESSION_COOKIE, secret, domain="guard.example", path="/")
    assert other.get("/datasets").headers["location"] == "/sign-in?ended=1"
    assert "session has ended" in other.get("/sign-in?ended=1").text
    assert other.post("/sign-in", key=site.keys["analyst"]).status_code == 303


@pytest.mark.parametrize("how", ["key", "user"])
def test_revoking_the_key_ends_the_session(site: Site, how: str) -> None:
    browser = site.browser("analyst")
    name = "analyst-1" if how == "user" else site.keys["analyst"].split("_")[1]
    site.guard.revoke(site.local, name)
    reply = browser.get("/datasets")
    assert (reply.status_code, reply.headers["location"]) == (303, "/sign-in?ended=1")
    assert "Max-Age=0" in reply.headers["set-cookie"]


def test_nobody_is_sent_elsewhere_after_signing_in(site: Site) -> None:
    browser = site.anonymous_browser()
    browser.get("/sign-in?next=https://evil.example&url=//evil.example")
    reply = browser.post("/sign-in?next=https://evil.example", key=site.keys["analyst"], next="//evil.example")
    assert reply.headers["location"] == "/datasets"
