"""The route of a request is that of the router, found once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Mount, Route

from celosia.serving.routes import find_route

if TYPE_CHECKING:
    import pytest
    from starlette.requests import Request


async def reply(_: Request) -> Response:
    return Response()


READ, WRITE = Route("/items/{name}", reply, methods=["GET"]), Route("/items/{name}", reply, methods=["POST"])
ROUTES = [Mount("/static", routes=[]), READ, WRITE]


def scope(method: str, path: str) -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path, "root_path": ""}


def test_the_method_and_the_path_decide() -> None:
    assert find_route(ROUTES, scope("GET", "/items/one")) is READ
    assert find_route(ROUTES, scope("POST", "/items/one")) is WRITE
    assert find_route(ROUTES, scope("PUT", "/items/one")) is None
    assert find_route(ROUTES, scope("GET", "/items")) is None
    assert find_route(ROUTES, scope("GET", "/static/style.css")) is None


def test_a_request_is_matched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = scope("GET", "/items/one"), scope("PUT", "/items/one")
    assert (find_route(ROUTES, one), find_route(ROUTES, other)) == (READ, None)
    monkeypatch.setattr(Route, "matches", None)
    assert (find_route(ROUTES, one), find_route(ROUTES, other)) == (READ, None)
