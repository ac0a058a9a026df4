"""Templates of pages, and replies that are no page: redirects and downloads.

Values are escaped, and an undefined name is an error. Templates have no inline script or style: the Content Security
Policy refuses them.
"""

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from starlette.responses import RedirectResponse, Response, StreamingResponse

if TYPE_CHECKING:
    from jinja2 import Environment

HTMX: Final = json.dumps(
    {
        "allowEval": False,
        "allowScriptTags": False,
        "includeIndicatorStyles": False,
        "selfRequestsOnly": True,
        "historyEnabled": False,
        "historyCacheSize": 0,
        "refreshOnHistoryMiss": True,
        "timeout": 30_000,
    }
)
"""Settings of htmx: no evaluation of code, no requests to other hosts, no page in the browser's storage."""


def open_templates(package: str) -> "Environment":
    """Return the templates in the folder ``templates`` of a package."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"timestamp": format_time, "day": format_day}
    found.globals["htmx_config"] = HTMX
    return found


def format_time(at: dt.datetime) -> str:
    """Return a time to the minute, in UTC, the same in every language."""
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def format_day(at: dt.datetime) -> str:
    """Return the date of a time, in UTC."""
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d")


def make_path(*parts: str) -> str:
    """Return the path of names, each quoted: a name may contain any character."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def make_address(path: str, query: Mapping[str, object]) -> str:
    """Return a path with its query."""
    return f"{path}?{urlencode(query)}" if query else path


def redirect(path: str, **query: str) -> Response:
    """Return a reply that sends the browser to another page of this host, by GET."""
    return RedirectResponse(make_address(path, query), status_code=303)


def download(content: str | Iterable[bytes] | Iterable[str], media_type: str, name: str) -> Response:
    """Return a reply that a browser saves as a file; content in parts is sent as it is made."""
    safe = "".join(letter for letter in name if letter.isascii() and (letter.isalnum() or letter in "._-"))
    headers = {"Content-Disposition": f'attachment; filename="celosia-{safe}"'}
    if isinstance(content, str):
        return Response(content, media_type=media_type, headers=headers)
    return StreamingResponse(content, media_type=media_type, headers=headers)
