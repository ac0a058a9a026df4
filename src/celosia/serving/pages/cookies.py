"""Cookies of a web session, and CSRF tokens of its forms.

A signed-in browser holds one random secret of 256 bits, of which the guard stores the hash. Before sign-in it holds
another, which only proves the origin of the sign-in form. The token in a form is an HMAC of the secret (RFC 2104), so
it needs no storage and ends with the secret. All cookies begin with ``__Host-``: browsers accept them only over a
secure connection, for this host alone. A request that changes something must also come from this host (Barth, Jackson
and Mitchell 2008).
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.responses import Response

SESSION_COOKIE: Final = "__Host-celosia"
"""The cookie of a signed-in browser."""

ANONYMOUS_COOKIE: Final = "__Host-celosia-visitor"
"""The cookie of a browser before sign-in."""

LANGUAGE_COOKIE: Final = "__Host-celosia-language"
"""The cookie of the chosen language."""

_SECRET: Final = re.compile(r"[0-9a-f]{64}")
_MAX_AGE_SECONDS: Final = {SESSION_COOKIE: 12 * 3600, ANONYMOUS_COOKIE: 3600, LANGUAGE_COOKIE: 365 * 86_400}


def read_secret(cookies: Mapping[str, str], name: str) -> str | None:
    """Return the secret of a cookie; None if it is malformed, so that it never reaches the store."""
    value = cookies.get(name, "")
    return value if _SECRET.fullmatch(value) else None


def form_token(secret: str) -> str:
    """Return the CSRF token of a secret."""
    return hmac.new(secret.encode(), b"celosia.guard.pages/form/1", hashlib.sha256).hexdigest()


def is_same_origin(headers: Mapping[str, str]) -> bool:
    """Whether a request was sent by a page of this host.

    Browsers send two headers; some omit the first, and referrer policies blank the other. Each that is present must
    match, and one must be present.
    """
    origin, site = headers.get("origin", "null"), headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    if origin == "null":
        return site == "same-origin"
    return bool(urlsplit(origin).netloc) and urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


def set_cookie(response: "Response", name: str, value: str) -> None:
    """Set a cookie for this host only, over secure connections, hidden from scripts and other sites."""
    response.set_cookie(
        name, value, max_age=_MAX_AGE_SECONDS[name], path="/", secure=True, httponly=True, samesite="strict"
    )


def delete_cookie(response: "Response", name: str) -> None:
    """Delete a cookie."""
    response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="strict")
