"""The access log: what a line holds, and what can never get into one."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from starlette.responses import Response
from starlette.routing import Route

from celosia.core.errors import ParameterError
from celosia.core.exact import exact
from celosia.serving.access_log import AccessLog, AccessLogMiddleware, LibraryLogHandler, locate_error

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Message, Receive, Scope, Send

SECRET = "Ana García, 1943"


def raise_and_catch() -> BaseException:
    try:
        exact("nonsense", name="epsilon")
    except ParameterError as error:
        return error
    raise AssertionError


def test_where_is_the_innermost_line_of_ours() -> None:
    assert locate_error(raise_and_catch().__traceback__).startswith("core/exact.py:")
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int(SECRET)
    assert locate_error(caught.value.__traceback__).startswith("test_access_log.py:")


def test_an_exception_is_told_without_its_words() -> None:
    lines: list[str] = []
    with pytest.raises(KeyError) as caught:
        dict[str, str]()[SECRET]
    AccessLog(lines.append).error(caught.value, request="8f0c")
    assert lines[0].split()[1:3] == ["unforeseen", "KeyError"]
    assert lines[0].endswith(" 8f0c\n")
    assert "García" not in lines[0]


@pytest.mark.parametrize(("method", "told"), [("GET", "GET"), ("POST", "POST"), (f"GET{SECRET}", "OTHER")])
def test_methods_are_of_a_list(method: str, told: str) -> None:
    lines: list[str] = []
    AccessLog(lines.append).request(method, "/v1/queries", 200, request="8f0c")
    assert lines[0].split()[1:] == [told, "/v1/queries", "200", "8f0c"]


def test_requests_are_numbered_and_their_paths_kept_out() -> None:
    lines: list[str] = []
    sent: list[Message] = []

    async def page(_request: Request) -> Response:
        return Response()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Message) -> None:
        sent.append(message)

    routes = [Route("/v1/datasets/{name}", page)]
    layer: Any = AccessLogMiddleware(app, access_log=AccessLog(lines.append), routes=routes)
    for _ in range(2):
        scope = {"type": "http", "method": "GET", "path": f"/v1/datasets/{SECRET}"}
        anyio.run(layer, scope, None, send)
    assert [line.split()[1:4] for line in lines] == [["GET", "/v1/datasets/{name}", "404"]] * 2
    numbers = [line.split()[4] for line in lines]
    assert len(set(numbers)) == 2
    assert dict(sent[0]["headers"])[b"x-request-id"].decode() == numbers[0]


def test_libraries_speak_without_words() -> None:
    lines: list[str] = []
    handler = LibraryLogHandler(AccessLog(lines.append))
    error = raise_and_catch()
    record = logging.LogRecord("asyncio", logging.ERROR, "f.py", 1, SECRET, (), (type(error), error, None))
    handler.emit(record)
    assert lines[0].split()[1:5] == ["library", "asyncio", "ERROR", "ParameterError"]
    assert "García" not in lines[0]


SCRIPT = f"""
import logging, sys, threading, warnings
from celosia.serving.access_log import AccessLog, redirect_output
redirect_output(AccessLog())
logging.getLogger("uvicorn.error").error("%s", "{SECRET}", exc_info=ValueError("{SECRET}"))
warnings.warn("{SECRET}")
thread = threading.Thread(target=lambda: int("{SECRET}"))
thread.start()
thread.join()
class Broken:
    def __del__(self):
        raise ValueError("{SECRET}")
Broken()
raise KeyError("{SECRET}")
"""


def test_a_quiet_process_prints_nothing_but_types_and_places() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=600, check=False, env=dict(os.environ)
    )
    assert done.returncode == 1
    assert "García" not in done.stdout + done.stderr
    assert not done.stderr
    told = [line.split(maxsplit=1)[1].split(" at ")[0] for line in done.stdout.splitlines()]
    assert told == [
        "library uvicorn ERROR ValueError",
        "library py WARNING",
        "unforeseen ValueError",
        "unforeseen ValueError",
        "unforeseen KeyError",
    ]


def test_a_pipe_that_nobody_empties_stops_nobody() -> None:
    script = """
from celosia.serving.access_log import AccessLog
for number in range(5_000):
    AccessLog().request("GET", "/v1/health", 200, request=f"{number:016x}")
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        try:
            assert process.wait(600) == 0  # although nobody reads
            assert process.stdout is not None
            lines = process.stdout.read().splitlines()
        finally:
            process.kill()
    assert 100 < len(lines) < 5_000
    assert all(line.endswith(f"GET /v1/health 200 {number:016x}".encode()) for number, line in enumerate(lines))
