"""What is refused before any page has it: a page to a browser, a problem to a program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from celosia.guard.config.sections import Limits
from celosia.guard.server.app import create_app
from celosia.serving.access_log import AccessLog
from tests.guard.web.browser import Browser

if TYPE_CHECKING:
    from tests.guard.web.browser import Site

HTML = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("path", ["/nowhere", "/datasets/people/", "/datasets//people", "/datasets/x%0A"])
def test_an_unknown_address_is_a_page_in_the_language_of_the_visitor(site: Site, path: str) -> None:
    reply = site.anonymous_browser().get(path, accept=HTML)
    spanish = site.anonymous_browser().get(path, **{"accept": HTML, "accept-language": "es"})
    assert reply.status_code == spanish.status_code == 404
    assert "There is nothing here" in reply.text
    assert '<html lang="es">' in spanish.text
    assert "Aquí no hay nada" in spanish.text
    assert "Ninguna página tiene esta dirección" in spanish.text
    assert "script-src 'self'" in spanish.headers["content-security-policy"]


def test_a_choice_of_language_is_remembered_here_too(site: Site) -> None:
    browser = site.anonymous_browser()
    browser.get("/sign-in?lang=es")
    assert "Aquí no hay nada" in browser.get("/nowhere", accept=HTML).text
    assert "There is nothing here" in browser.get("/nowhere?lang=en", accept=HTML).text


@pytest.mark.parametrize("path", ["/v1/nowhere", "/v1", "/nowhere"])
def test_programs_are_told_a_problem(site: Site, path: str) -> None:
    accept = HTML if path.startswith("/v1") else "*/*"
    reply = site.anonymous_browser().get(path, accept=accept)
    assert reply.status_code == 404
    assert reply.headers["content-type"] == "application/problem+json"


def test_too_many_requests_from_an_address_are_told_on_a_page(site: Site) -> None:
    site.guard.config = replace(site.guard.config, limits=Limits(requests_per_minute=20))
    browser = Browser(create_app(site.guard, access_log=AccessLog(write=site.lines.append)))
    replies = [browser.get("/sign-in", **{"accept": HTML, "accept-language": "es"}) for _ in range(21)]
    assert [reply.status_code for reply in replies] == [200] * 20 + [429]
    assert "Demasiadas peticiones" in replies[-1].text
    assert f"Espere {replies[-1].headers['retry-after']} s" in replies[-1].text
    assert browser.get("/v1/health", accept=HTML).headers["content-type"] == "application/problem+json"


def test_a_method_that_a_page_does_not_take_keeps_its_headers(site: Site) -> None:
    reply = site.anonymous_browser()._send("DELETE", "/sign-in", headers={"accept": HTML})
    assert (reply.status_code, reply.headers["allow"]) == (405, "GET, HEAD, POST")
    assert reply.headers["content-type"].startswith("text/html")


def test_a_part_of_a_page_stays_a_part(site: Site) -> None:
    reply = site.anonymous_browser().get("/nowhere", **{"accept": HTML, "hx-request": "true"})
    assert "<html" not in reply.text
    assert "There is nothing here" in reply.text
    spanish = site.anonymous_browser().get("/nowhere?lang=es", **{"accept": HTML, "hx-request": "true"})
    assert '<p lang="es">' in spanish.text
