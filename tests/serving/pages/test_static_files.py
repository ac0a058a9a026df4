from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import anyio
import pytest
from starlette.requests import Request

from celosia.serving.pages.static_files import StaticFiles

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.responses import Response


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StaticFiles:
    name = f"files_of_{abs(hash(tmp_path))}"
    (tmp_path / name / "static" / "vendor").mkdir(parents=True)
    (tmp_path / name / "__init__.py").touch()
    (tmp_path / name / "static" / "pages.css").write_text("p {}")
    (tmp_path / name / "static" / "notes.txt").write_text("hidden")
    (tmp_path / name / "static" / "vendor" / "x.js").write_text("1")
    monkeypatch.syspath_prepend(tmp_path)
    return StaticFiles(name)


def get(files: StaticFiles, name: str, query: str = "", **headers: str) -> Response:
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "path_params": {"name": name}, "query_string": query.encode(), "headers": given}
    return anyio.run(files.serve, Request(scope))


def test_only_files_of_known_kinds_are_served(files: StaticFiles) -> None:
    assert set(files.files) == {"pages.css", "vendor/x.js"}
    for name in ("notes.txt", "../__init__.py", "vendor", ""):
        assert get(files, name).status_code == 404


def test_a_file_is_kept_as_long_as_its_address_stays(files: StaticFiles) -> None:
    path, _, query = files.address_of("pages.css").partition("?")
    assert path == "/static/pages.css"
    reply = get(files, "pages.css", query, accept_encoding="gzip")
    assert gzip.decompress(bytes(reply.body)) == b"p {}"
    assert "immutable" in reply.headers["cache-control"]
    assert "immutable" not in get(files, "pages.css", "v=0").headers["cache-control"]
    assert get(files, "pages.css", if_none_match=reply.headers["etag"]).status_code == 304
