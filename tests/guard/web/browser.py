"""Browsers without windows, that visit the pages of a guard with one data set and a user of every role."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import anyio
import httpx

from celosia.guard.auth.identity import Identity
from celosia.guard.roles import Role
from celosia.guard.server.app import create_app
from celosia.serving.access_log import AccessLog

if TYPE_CHECKING:
    from celosia.guard.service import Guard

__all__ = ["HOST", "ROLES", "SCHEMA", "Browser", "Document", "Element", "Site"]

HOST = "https://guard.example"
ROLES = ("owner", "curator", "analyst", "auditor")
SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 120

[columns.weight]
kind = "real"
low = 0
high = 200
grid = "0.5"

[columns.sex]
kind = "category"
values = ["F", "M"]

[columns.born]
kind = "date"
low = "1900-01-01"
high = "2026-12-31"

[columns.note]
kind = "text"
"""


class Element:
    """A start tag with its attributes, and the text right after it."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes, self.text = tag, attributes, ""

    def __getitem__(self, name: str) -> str:
        return self.attributes.get(name, "")


class Document(HTMLParser):
    """A page as a flat list of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))
        self.open = True

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the parser's signature
        self.open = False

    def handle_data(self, data: str) -> None:
        if self.elements and self.open:
            self.elements[-1].text += data

    def all(self, *tags: str) -> list[Element]:
        """The elements of some kinds, in order."""
        return [element for element in self.elements if element.tag in tags]


class Browser:
    """Keeps cookies, and sends forms as a page would: with its token and its origin."""

    def __init__(self, app: Any, address: str = "192.0.2.1") -> None:
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(address, 1)), base_url=HOST)
        self.page = ""

    @property
    def cookies(self) -> httpx.Cookies:
        return self.client.cookies

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        return anyio.run(lambda: self.client.request(method, path, **request))

    def get(self, path: str, **headers: str) -> httpx.Response:
        reply = self._send("GET", path, headers=headers)
        if reply.headers.get("content-type", "").startswith("text/html"):
            self.page = reply.text
        return reply

    @property
    def token(self) -> str:
        match = re.search(r'name="token" value="([0-9a-f]{64})"', self.page)
        return match[1] if match else ""

    def post(self, path: str, **fields: str) -> httpx.Response:
        return self.send(path, {"token": self.token, **fields}, origin=HOST)

    def send(self, path: str, fields: dict[str, str], **headers: str) -> httpx.Response:
        """Send a form exactly so."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        reply = self._send("POST", path, data=fields, headers=named)
        if reply.headers.get("content-type", "").startswith("text/html") and "hx-request" not in named:
            self.page = reply.text
        return reply

    def sign_in(self, key: str, *, lang: str = "en") -> Browser:
        assert self.get(f"/sign-in?lang={lang}").status_code == 200
        reply = self.post("/sign-in", key=key)
        assert (reply.status_code, reply.headers["location"]) == (303, "/datasets")
        self.get("/datasets")
        return self

    def ask(self, sql: str, epsilon: str = "0.5") -> str:
        """Ask and return the path of the answer."""
        self.get("/datasets/people/ask")
        found = re.search(r'name="key" value="([0-9a-f]{32})"', self.page)
        assert found
        reply = self.post("/datasets/people/ask", tab="sql", sql=sql, epsilon=epsilon, key=found[1])
        assert reply.status_code == 303, reply.text
        path: str = reply.headers["location"]
        return path


class Site:
    """A guard, its application, and a key for each role."""

    def __init__(self, guard: Guard, keys: dict[str, str], lines: list[str]) -> None:
        self.guard, self.keys, self.lines = guard, keys, lines
        self.app = create_app(guard, access_log=AccessLog(write=lines.append))
        self.local = Identity.local()
        self.local_curator = Identity(name="curator-1", role=Role.CURATOR)

    def anonymous_browser(self) -> Browser:
        return Browser(self.app)

    def browser(self, role: str, *, lang: str = "en") -> Browser:
        return self.anonymous_browser().sign_in(self.keys[role], lang=lang)
