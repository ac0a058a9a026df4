"""Static files of an application's pages: style, script, images, and vendored libraries.

Names are looked up in a list, never joined into a path. A file's address contains part of its hash, so browsers may
cache it, and load the new one when it changes.
"""

import gzip
import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOLDERS: Final = ("", "vendor/")


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """A file, also compressed, with its media type and the hash of its content."""

    content: bytes = field(repr=False)
    packed: bytes = field(repr=False)
    media_type: str
    digest: str


class StaticFiles:
    """The files in the folder ``static`` of a package, served below ``/static/``."""

    def __init__(self, package: str) -> None:
        self._package = package

    @cached_property
    def files(self) -> dict[str, StaticFile]:
        """The files by their names."""
        root = resources.files(self._package).joinpath("static")
        found = {}
        for folder in _FOLDERS:
            for file in root.joinpath(folder).iterdir() if folder else root.iterdir():
                suffix = file.name.rpartition(".")[2]
                if suffix in _TYPES:
                    content = file.read_bytes()
                    found[f"{folder}{file.name}"] = StaticFile(
                        content=content,
                        packed=gzip.compress(content, mtime=0),
                        media_type=_TYPES[suffix],
                        digest=hashlib.sha256(content).hexdigest(),
                    )
        return found

    def address_of(self, name: str) -> str:
        """Return the address of a file."""
        return f"/static/{name}?v={self.files[name].digest[:16]}"

    async def serve(self, request: Request) -> Response:
        """Return a file, or 304 if the browser has it."""
        file = self.files.get(request.path_params["name"])
        if file is None:
            return Response(status_code=404)
        held = request.query_params.get("v") == file.digest[:16]
        headers = {
            "ETag": f'"{file.digest[:32]}"',
            "Vary": "Accept-Encoding",
            "Cache-Control": "public, max-age=31536000, immutable" if held else "public, max-age=3600",
        }
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        packed = "gzip" in request.headers.get("accept-encoding", "")
        if packed:
            headers["Content-Encoding"] = "gzip"
        return Response(file.packed if packed else file.content, media_type=file.media_type, headers=headers)
