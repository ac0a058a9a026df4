from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from celosia.core.messages.message import LANGUAGES
from celosia.guard.web.i18n.language import choose_language, load_language


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_languages_say_the_same_things() -> None:
    english, spanish = load_language("en").texts, load_language("es").texts
    assert list(english) == list(spanish)
    assert not {name for name in english if gaps(english[name]) != gaps(spanish[name])}
    assert not {name for name, text in spanish.items() if not text.strip()}


def test_hardly_anything_is_the_same_word_in_both() -> None:
    english, spanish = load_language("en").texts, load_language("es").texts
    same = {name for name in english if english[name] == spanish[name]}
    assert same <= {
        "site.name", "nav.who", "budget.delta", "budget.rho", "ask.tab_sql", "ask.delta", "preview.within",
        "preview.error",
    }  # fmt: skip


def test_the_language_follows_the_wish() -> None:
    cases: list[tuple[str | None, str | None, str | None, str]] = [
        (None, None, None, "en"),
        (None, None, "es", "es"),
        (None, None, "ES-mx", "es"),
        (None, None, "de, fr;q=0.9", "en"),
        (None, None, "en;q=0.1, es;q=0.2", "es"),
        (None, None, "es;q=0, en;q=0.2", "en"),
        (None, None, "es; q=0.5", "es"),
        (None, "es", "en", "es"),
        ("en", "es", "es", "en"),
        ("xx", "yy", "es", "es"),
    ]
    for asked, remembered, accepted, expected in cases:
        assert choose_language(asked, remembered, accepted) == expected


@given(st.text(), st.text(), st.text())
def test_anything_may_be_wished_for(asked: str, remembered: str, accepted: str) -> None:
    assert choose_language(asked, remembered, accepted) in LANGUAGES


def test_a_long_wish_is_not_read_to_its_end() -> None:
    assert choose_language(None, None, "fr," * 100_000 + "es") == "en"


def test_values_are_not_read_as_patterns() -> None:
    assert load_language("en").text("nav.who", name="{role}", role="{0}") == "{role}, {0}"
