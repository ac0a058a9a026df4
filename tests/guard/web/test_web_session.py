from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from celosia.core.errors import NotAllowedError, ParameterError
from celosia.guard.auth.identity import Identity
from celosia.guard.web.web_session import WebSession, load_language, parse_days

if TYPE_CHECKING:
    from celosia.guard.service import Guard

NOBODY = WebSession(
    guard=cast("Guard", None), path="/", language=load_language("es"), form={"a": " b "}, secret="s3cret"
)


def test_fields_come_without_blanks_and_missing_ones_are_empty() -> None:
    assert (NOBODY.form_field("a"), NOBODY.form_field("z"), NOBODY.query_field("z")) == ("b", "", "")


def test_nobody_is_nobody() -> None:
    with pytest.raises(NotAllowedError):
        _ = NOBODY.identity
    web_session = WebSession(guard=NOBODY.guard, path="/", language=load_language("en"), signed_in=Identity.local())
    assert web_session.identity.name == "local"


def test_secrets_are_not_shown() -> None:
    assert "s3cret" not in repr(NOBODY)


def test_texts_are_in_the_visitors_language() -> None:
    assert NOBODY.text("nav.sign_out") == "Salir"


def test_days_are_a_number_within_bounds() -> None:
    assert (parse_days("1", 365), parse_days("365", 365), parse_days("007", 365)) == (1, 365, 7)
    for text in ("", "0", "366", "-1", "1.5", "٣", "1 ", "x", "0000000019999999999"):
        with pytest.raises(ParameterError):
            parse_days(text, 365)
