from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from celosia.core.errors import EngineError, LedgerError
from celosia.guard.config.sections import Limits
from celosia.guard.server.app import create_app
from celosia.guard.web.routes import PAGES
from celosia.serving.access_log import AccessLog
from celosia.serving.pages.cookies import ANONYMOUS_COOKIE, LANGUAGE_COOKIE, SESSION_COOKIE, form_token
from tests.guard.web.browser import HOST, Browser

if TYPE_CHECKING:
    from tests.guard.web.browser import Site

FORMS = [page for page in PAGES if page.method == "POST"]


def path_of(pattern: str) -> str:
    return pattern.format(name="people", id="0" * 32)


@pytest.mark.parametrize("page", FORMS, ids=lambda page: page.path)
def test_no_form_is_taken_without_its_token_and_origin(site: Site, page: object) -> None:
    path = path_of(page.path)  # type: ignore[attr-defined]
    browser = site.browser("analyst")
    token = browser.token
    foreign = site.browser("curator").token
    before = site.guard.ledger.head
    sent: list[tuple[dict[str, str], dict[str, str]]] = [
        ({}, {"origin": HOST}),
        ({"token": ""}, {"origin": HOST}),
        ({"token": "0" * 64}, {"origin": HOST}),
        ({"token": foreign}, {"origin": HOST}),
        ({"token": token}, {}),
        ({"token": token}, {"origin": "https://evil.example"}),
        ({"token": token}, {"origin": "null"}),
        ({"token": token}, {"origin": HOST, "sec_fetch_site": "cross-site"}),
        ({"token": "ü\ud800".encode("utf-8", "replace").decode()}, {"origin": HOST}),
    ]
    for fields, headers in sent:
        reply = browser.send(path, fields, **headers)
        assert reply.status_code == 403, (fields, headers)
        assert "did not come from a page of this site" in reply.text
    assert site.guard.ledger.head == before
    assert browser.get("/datasets").status_code == 200  # still signed in


def test_a_form_that_is_no_form_is_not_taken(site: Site) -> None:
    browser = site.browser("analyst")
    headers = {"origin": HOST, "content-type": "multipart/form-data; boundary=x"}
    body = f'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n{browser.token}\r\n--x--\r\n'
    reply = browser._send("POST", "/sign-out", content=body.encode(), headers=headers)
    assert reply.status_code == 403


def test_the_token_may_come_in_a_header(site: Site) -> None:
    browser = site.browser("analyst")
    assert browser.send("/sign-out", {}, origin=HOST, x_csrf_token=browser.token).status_code == 303


def test_a_sign_in_form_needs_the_anonymous_cookie(site: Site) -> None:
    browser = site.anonymous_browser()
    browser.get("/sign-in")
    token = browser.token
    browser.cookies.clear()
    assert browser.send("/sign-in", {"token": token, "key": site.keys["analyst"]}, origin=HOST).status_code == 403
    browser.cookies.set(ANONYMOUS_COOKIE, "0" * 64, domain="guard.example", path="/")
    right = {"token": form_token("0" * 64), "key": site.keys["analyst"]}
    assert browser.send("/sign-in", right, origin=HOST).status_code == 303


def test_a_browser_without_a_session_is_sent_to_sign_in(site: Site) -> None:
    cases: list[object] = [page for page in PAGES if not page.public]
    for page in cases:
        browser = site.anonymous_browser()
        browser.get("/sign-in")
        path = path_of(page.path)  # type: ignore[attr-defined]
        reply = browser.get(path) if page.method == "GET" else browser.post(path)  # type: ignore[attr-defined]
        assert (reply.status_code, reply.headers["location"]) == (303, "/sign-in")


def test_a_fragment_redirects_the_whole_page_to_sign_in(site: Site) -> None:
    browser = site.browser("analyst")
    site.guard.sign_out(browser.cookies[SESSION_COOKIE])
    fields = {"token": browser.token}
    reply = browser.send("/datasets/people/preview", fields, origin=HOST, hx_request="true")
    assert (reply.status_code, reply.headers["hx-redirect"]) == (204, "/sign-in?ended=1")


def test_what_one_may_not_is_refused_in_a_page(site: Site) -> None:
    cases: list[tuple[str, str, int]] = [
        ("analyst", "/log", 403),
        ("analyst", "/users", 403),
        ("analyst", "/datasets/people/curation", 403),
        ("curator", "/datasets/people/ask", 403),
        ("curator", "/answers", 403),
        ("curator", "/users", 403),
        ("auditor", "/datasets/people/ask", 403),
        ("auditor", "/datasets/people/curation", 403),
        ("owner", "/datasets/people/schema", 403),
        ("owner", "/new-dataset", 200),
        ("analyst", "/new-dataset", 403),
        ("owner", "/log", 403),
        ("owner", "/datasets/people/ask", 403),
        ("analyst", "/datasets/nobody", 404),
        ("analyst", "/datasets/%3Cscript%3E", 404),
        ("analyst", "/answers/0", 404),
        ("analyst", "/answers/0/chart.json", 404),
    ]
    for role, path, status in cases:
        reply = site.browser(role).get(path)
        assert reply.status_code == status
        assert reply.headers["content-type"].startswith("text/html")
        assert "<h1>" in reply.text
        assert "<script>" not in reply.text


def test_the_unforeseen_is_told_without_words(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("canary")

    browser = site.browser("analyst")
    monkeypatch.setattr(site.guard, "datasets", broken)
    for headers in ({}, {"hx-request": "true"}):
        reply = browser.get("/datasets", **headers)
        assert reply.status_code == 500
        assert "canary" not in reply.text
        assert "Traceback" not in reply.text
        assert reply.headers["x-request-id"] in reply.text
    assert not [line for line in site.lines if "canary" in line]
    assert any("RuntimeError" in line for line in site.lines)


@pytest.mark.parametrize("error", [LedgerError("host=10.0.0.7"), EngineError("host=10.0.0.7")])
def test_failures_of_the_store_name_no_machine(site: Site, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def broken(*_: object) -> None:
        raise error

    browser = site.browser("analyst")
    monkeypatch.setattr(site.guard, "datasets", broken)
    reply = browser.get("/datasets")
    assert reply.status_code >= 500
    assert "10.0.0.7" not in reply.text


def test_a_key_asks_no_more_often_from_many_addresses(site: Site) -> None:
    limits = Limits(requests_per_minute=20)
    site.guard.config = replace(site.guard.config, limits=limits)  # before the application is made
    app = create_app(site.guard, access_log=AccessLog(site.lines.append))
    replies = []
    for number in range(4):
        browser = Browser(app, f"192.0.2.{number + 1}")
        browser.sign_in(site.keys["analyst"])
        replies += [browser.get("/datasets") for _ in range(8)]
    assert [reply.status_code for reply in replies[:16]] == [200] * 16
    assert replies[-1].status_code == 429
    assert "<h1>Too many requests</h1>" in replies[-1].text


@pytest.mark.parametrize(
    ("role", "path", "place"),
    [
        ("analyst", "/datasets/people/preview", "/datasets/people/ask"),
        ("analyst", "/answers/0a/cancel", "/answers/0a"),
        ("curator", "/datasets/people/bounds", "/datasets/people/curation"),
        ("curator", "/datasets/people/versions", "/datasets/people/curation"),
        ("owner", "/datasets/people/retirement", "/datasets/people/curation"),
        ("owner", "/datasets/people/sharing", "/datasets/people/curation"),
        ("owner", "/users/revoke", "/users"),
    ],
)
def test_the_reply_to_a_form_can_be_opened_in_another_language(site: Site, role: str, path: str, place: str) -> None:
    reply = site.browser(role).get(f"{path}?lang=es")
    assert (reply.status_code, reply.headers["location"]) == (303, place)
    assert LANGUAGE_COOKIE in reply.headers["set-cookie"]


def test_the_language_is_remembered(site: Site) -> None:
    browser = site.anonymous_browser()
    assert '<html lang="es">' in browser.get("/sign-in", **{"accept-language": "es"}).text
    assert '<html lang="en">' in browser.get("/sign-in?lang=en", **{"accept-language": "es"}).text
    assert browser.cookies[LANGUAGE_COOKIE] == "en"
    assert '<html lang="en">' in browser.get("/sign-in", **{"accept-language": "es"}).text
    assert '<html lang="es">' in browser.get("/sign-in?lang=es").text
    assert '<html lang="es">' in browser.get("/sign-in?lang=%0d%0aSet-Cookie:x").text


def test_pages_are_not_kept_and_have_a_strict_policy(site: Site) -> None:
    reply = site.browser("analyst").get("/datasets")
    assert reply.headers["cache-control"] == "no-store"
    policy = reply.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
