"""The document says what the routes do, and its page loads nothing from anywhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from celosia.guard.api.openapi_page import STYLE, openapi_document, render
from celosia.guard.config.settings import Config
from celosia.guard.server.app import create_app
from celosia.guard.service import Guard
from celosia.serving.problems import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def made() -> Iterator[dict[str, Any]]:
    with Guard.open(Config(store="memory://")) as guard:
        yield openapi_document(create_app(guard))


def operations(made: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_every_operation_declares_its_problems_and_its_key(made: dict[str, Any]) -> None:
    seen = 0
    for path, method, operation in operations(made):
        seen += 1
        statuses = set(operation["responses"])
        assert {"429", "500", "503"} <= statuses
        if path == "/v1/health":
            assert "security" not in operation
            continue
        assert operation["security"] == [{"key": []}]
        assert {"401", "403", "422"} <= statuses
        if "requestBody" in operation:
            assert {"400", "413", "415"} <= statuses
            assert list(operation["requestBody"]["content"]) == ["application/json"]
        for status, reply in operation["responses"].items():
            if int(status) >= 400:
                assert list(reply["content"]) == ["application/problem+json"], (path, method, status)
    assert seen >= 16
    assert made["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_questions_need_their_key(made: dict[str, Any]) -> None:
    ask = made["paths"]["/v1/queries"]["post"]
    [key] = [one for one in ask["parameters"] if one["name"] == "Idempotency-Key"]
    assert key["required"]
    assert {"200", "202", "409", "502"} <= set(ask["responses"])


def test_every_reference_leads_somewhere(made: dict[str, Any]) -> None:
    schemas = made["components"]["schemas"]
    named = set(re.findall(r"#/components/schemas/(\w+)", str(made)))
    assert named <= set(schemas)
    assert "HTTPValidationError" not in schemas


def test_operations_have_names_of_their_own(made: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(made)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)


class Links(HTMLParser):
    """All addresses and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: set[str] = set()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            assert name != "style"
            if name in {"href", "src"}:
                self.addresses.append(value or "")
            if name == "id":
                self.anchors.add(value or "")


def test_the_page_loads_nothing_from_elsewhere(made: dict[str, Any]) -> None:
    page = Links()
    page.feed(render(made))
    assert "script" not in page.tags
    assert all(address.startswith(("#", "/v1/")) for address in page.addresses)
    assert {address[1:] for address in page.addresses if address.startswith("#")} <= page.anchors
    assert set(STATUSES) <= page.anchors
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_what_a_document_says_is_escaped() -> None:
    evil = "<script>alert(1)</script>"
    operation = {
        "operationId": f'"{evil}',
        "summary": evil,
        "description": evil,
        "parameters": [{"name": evil, "in": "query", "schema": {"x": evil}}],
        "responses": {evil: {"description": evil}},
    }
    text = render({"info": {"title": evil}, "paths": {evil: {"get": operation}}, "components": {"schemas": {evil: {}}}})
    assert "<script" not in text
