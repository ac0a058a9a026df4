"""What can be read in two ways is refused: paths with what is not seen, headers that are there twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.serving.problems import HttpError
from celosia.serving.request_validation import RequestValidation

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


def let_in(path: str = "/v1/queries", *headers: tuple[bytes, bytes]) -> bool | int:
    """True, or the status with which it is refused."""
    came: list[bool] = []

    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        came.append(True)

    scope: dict[str, Any] = {"type": "http", "path": path, "headers": list(headers)}
    try:
        anyio.run(RequestValidation(app), scope, None, None)  # type: ignore[arg-type]
    except HttpError as error:
        assert not came
        return error.status_code
    return came == [True]


@given(st.characters(max_codepoint=0x9F, categories=["Cc"]), st.text(max_size=3), st.text(max_size=3))
def test_a_path_with_a_control_character_leads_nowhere(control: str, before: str, after: str) -> None:
    assert let_in(f"/v1/queries{before}{control}{after}") == 404


@pytest.mark.parametrize("path", ["/datasets/españa", "/datasets/a b", "/datasets/\N{NO-BREAK SPACE}", "/", ""])
def test_other_paths_are_looked_at(path: str) -> None:
    assert let_in(path) is True


@pytest.mark.parametrize("name", [b"authorization", b"content-type", b"idempotency-key", b"host"])
def test_a_header_that_decides_is_there_once(name: bytes) -> None:
    assert let_in("/", (name, b"one")) is True
    assert let_in("/", (name, b"one"), (b"accept", b"x"), (name, b"two")) == 400
    assert let_in("/", (name, b"one"), (name, b"one")) == 400


def test_headers_that_are_lists_may_come_in_pieces() -> None:
    assert let_in("/", (b"accept", b"one"), (b"accept", b"two")) is True


def test_a_body_has_one_length() -> None:
    length, chunks = (b"content-length", b"5"), (b"transfer-encoding", b"chunked")
    assert let_in("/", length) is True
    assert let_in("/", chunks) is True
    for two in ((length, chunks), (chunks, length), (length, length), (chunks, chunks)):
        assert let_in("/", *two) == 400
    assert let_in("/", chunks, (b"accept", b"x"), length) == 400
