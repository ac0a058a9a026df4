from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.messages.message import LANGUAGES, Message
from celosia.serving.pages.languages import Sentence, choose_language, load_texts, translate

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "en": '[a]\nhello = "Hello, {who}"\n[message]\n"query.noise" = "our {kind}"\n',
    "es": '[a]\nhello = "Hola, {who}"\n[message]\n"query.noise" = "nuestro {kind}"\n',
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with texts in two languages, the name of which no other test has."""
    name = f"texts_of_{abs(hash(tmp_path))}"
    (tmp_path / name / "texts").mkdir(parents=True)
    (tmp_path / name / "__init__.py").touch()
    for code, text in TEXTS.items():
        (tmp_path / name / "texts" / f"{code}.toml").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return name


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


def test_texts_are_found_by_their_dotted_names(package: str) -> None:
    spanish = load_texts(package, "es")
    assert load_texts(package, "es") is spanish
    assert spanish.text("a.hello", who="Ana") == "Hola, Ana"
    assert (spanish.has("a.hello"), spanish.has("a")) == (True, False)
    with pytest.raises(KeyError):
        spanish.text("a")


def test_values_are_not_read_as_patterns(package: str) -> None:
    assert load_texts(package, "en").text("a.hello", who="{who}") == "Hello, {who}"


def test_messages_are_said_in_the_language_of_the_page(package: str) -> None:
    spanish = load_texts(package, "es")
    assert translate("A sentence.", spanish) == Sentence("A sentence.", "en")
    assert translate(Message("query.exponential_choice", candidates=1025), spanish).text.endswith("1.025 candidatos")


def test_pages_may_have_their_own_words_for_a_message(package: str) -> None:
    noise = Message("query.noise", kind="Laplace", size=2.0)
    assert translate(noise, load_texts(package, "en")) == Sentence("our Laplace", "en")
    assert translate(noise, load_texts(package, "es")) == Sentence("nuestro Laplace", "es")
