from __future__ import annotations

import pytest
from starlette.responses import Response

from celosia.guard.auth.directory import draw_hexadecimal
from celosia.serving.pages.cookies import (
    ANONYMOUS_COOKIE,
    LANGUAGE_COOKIE,
    SESSION_COOKIE,
    delete_cookie,
    form_token,
    is_same_origin,
    read_secret,
    set_cookie,
)


def test_what_is_no_secret_is_none() -> None:
    cases: list[str] = ["", "0" * 63, "0" * 65, "G" * 64, "A" * 64, "0" * 63 + "\n", "٠" * 64]
    for value in cases:
        assert read_secret({SESSION_COOKIE: value}, SESSION_COOKIE) is None
        assert read_secret({}, SESSION_COOKIE) is None


def test_a_token_tells_nothing_of_its_secret() -> None:
    secret, other = draw_hexadecimal(64), draw_hexadecimal(64)
    assert form_token(secret) != secret
    assert form_token(secret) == form_token(secret)
    assert form_token(secret) != form_token(other)


def test_only_this_host_may_send_forms() -> None:
    cases: list[tuple[dict[str, str], bool]] = [
        ({"origin": "https://guard.example"}, True),
        ({"origin": "https://GUARD.example"}, True),
        ({"origin": "https://guard.example", "sec-fetch-site": "same-origin"}, True),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({}, False),
        ({"origin": "null"}, False),
        ({"origin": ""}, False),
        ({"origin": "https://guard.example.evil.example"}, False),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "https://guard.example:444"}, False),
        ({"origin": "https://evil@guard.example"}, False),
        ({"origin": "https://guard.example", "sec-fetch-site": "cross-site"}, False),
        ({"origin": "https://guard.example", "sec-fetch-site": "same-site"}, False),
        ({"origin": "https://guard.example", "sec-fetch-site": "none"}, False),
        ({"origin": "https://evil.example", "sec-fetch-site": "same-origin"}, False),
    ]
    for headers, expected in cases:
        assert is_same_origin({"host": "guard.example"} | headers) is expected


@pytest.mark.parametrize("name", [SESSION_COOKIE, ANONYMOUS_COOKIE, LANGUAGE_COOKIE])
def test_cookies_are_for_this_host_alone(name: str) -> None:
    reply = Response()
    set_cookie(reply, name, "value")
    delete_cookie(reply, name)
    for cookie in reply.headers.getlist("set-cookie"):
        assert cookie.startswith("__Host-")
        parts = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert {"secure", "httponly", "samesite=strict", "path=/"} <= parts
        assert not any(part.startswith("domain") for part in parts)


def test_a_sign_in_lasts_twelve_hours() -> None:
    reply = Response()
    set_cookie(reply, SESSION_COOKIE, "value")
    assert "Max-Age=43200" in reply.headers["set-cookie"]
