from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING

import anyio
import pytest
from jinja2 import UndefinedError
from starlette.responses import StreamingResponse

from celosia.serving.pages.templates import (
    HTMX,
    download,
    format_day,
    format_time,
    make_address,
    make_path,
    open_templates,
    redirect,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_htmx_may_run_no_code_and_keep_nothing() -> None:
    told = json.loads(HTMX)
    assert told["allowEval"] is False
    assert told["selfRequestsOnly"] is True
    assert told["includeIndicatorStyles"] is False
    assert told["historyCacheSize"] == 0


def test_values_are_escaped_and_none_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"templates_of_{abs(hash(tmp_path))}"
    (tmp_path / name / "templates").mkdir(parents=True)
    (tmp_path / name / "__init__.py").touch()
    (tmp_path / name / "templates" / "page.html").write_text("<p>{{ text }}, {{ at | day }}</p>")
    monkeypatch.syspath_prepend(tmp_path)
    page, at = open_templates(name).get_template("page.html"), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    assert page.render(text="<b>", at=at) == "<p>&lt;b&gt;, 2026-01-01</p>"
    with pytest.raises(UndefinedError):
        page.render(at=at)


def test_times_are_utc() -> None:
    at = dt.datetime(2026, 1, 1, 0, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    assert (format_time(at), format_day(at)) == ("2025-12-31 23:30 UTC", "2025-12-31")


def test_names_cannot_leave_their_place_in_an_address() -> None:
    assert make_path("datasets", "a/../b?c#d", "ask") == "/datasets/a%2F..%2Fb%3Fc%23d/ask"
    assert (make_address("/log", {}), make_address("/log", {"a": "b&c=d"})) == ("/log", "/log?a=b%26c%3Dd")
    reply = redirect("/log", text="\r\nSet-Cookie: x")
    assert (reply.status_code, reply.headers["location"]) == (303, "/log?text=%0D%0ASet-Cookie%3A+x")


@pytest.mark.parametrize("content", ["text", [b"te", b"xt"], ["te", "xt"]])
def test_a_download_has_a_safe_name(content: str | list[bytes] | list[str]) -> None:
    reply = download(content, "text/csv", 'a"b\r\n/é.csv')
    assert reply.headers["content-disposition"] == 'attachment; filename="celosia-ab.csv"'
    if isinstance(reply, StreamingResponse):
        assert b"".join(part.encode() if isinstance(part, str) else bytes(part) for part in _read(reply)) == b"text"
    else:
        assert reply.body == b"text"


def _read(reply: StreamingResponse) -> list[str | bytes | memoryview]:
    async def collect() -> list[str | bytes | memoryview]:
        return [part async for part in reply.body_iterator]

    return anyio.run(collect)
