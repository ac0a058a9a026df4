"""Presets stand where budgets are set and where epsilon is chosen, with what each means, in both languages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from celosia.accounting.presets import PRESETS
from celosia.core.errors import ParameterError
from celosia.core.guarantees import ZCDP, ApproxDP, PureDP
from celosia.core.messages.message import LANGUAGES
from celosia.guard.web.presets import PresetRow, guess_probability, parse_preset_budget, preset_rows
from celosia.guard.web.web_session import load_language
from tests.guard.web.browser import Document

if TYPE_CHECKING:
    from tests.guard.web.browser import Site


def test_rows_are_the_presets_with_the_game_s_bound() -> None:
    assert [(row.name, row.epsilon) for row in preset_rows()] == [(one.name, one.epsilon) for one in PRESETS.values()]
    for row in preset_rows():
        pure = 1 / (1 + math.exp(-row.epsilon))
        assert pure <= row.guess <= pure + 1e-6
        assert isinstance(row, PresetRow)
    assert guess_probability(PureDP(epsilon=0)) == pytest.approx(0.5)
    assert 0.5 < guess_probability(ZCDP(rho="0.1")) < 1


def test_what_a_preset_is_for_is_what_the_command_line_says() -> None:
    assert [load_language("en").text(f"preset.{name}_when") for name in PRESETS] == [
        one.when for one in PRESETS.values()
    ]
    assert [load_language("en").text(f"preset.{name}") for name in PRESETS] == list(PRESETS)


def test_a_form_makes_a_budget_or_says_why_not() -> None:
    assert parse_preset_budget({"preset": "generous", "persons": " 1000000 "}) == ApproxDP(epsilon=8, delta="1e-7")
    for persons in ("", "0", "-5", "1.5", "30,000", "٣", "1" * 14, str(10**12 + 1)):
        with pytest.raises(ParameterError, match="persons must be an integer"):
            parse_preset_budget({"preset": "usual", "persons": persons})
    with pytest.raises(ParameterError, match="preset must be one of cautious, usual, generous, not ''"):
        parse_preset_budget({"persons": "5"})


@pytest.mark.parametrize("lang", LANGUAGES)
def test_they_are_on_both_pages(site: Site, lang: str) -> None:
    said = load_language(lang)
    numbers = {"en": ("62.3", "88.1", "99.97"), "es": ("62,3", "88,1", "99,97")}[lang]
    for role, path in (("curator", "/budget"), ("owner", "/budget"), ("analyst", "/datasets/people/ask")):
        page = Document(site.browser(role, lang=lang).get(path).text)
        texts = [one.text.strip() for one in page.all("td", "th", "p")]
        for name, number in zip(PRESETS, numbers, strict=True):
            wanted = [f"preset.{name}", f"preset.{name}_when", "preset.lead"]
            assert {said.text(key) for key in wanted} <= set(texts)
            assert said.text("preset.at_most", percent=number) in texts
    assert 'id="presets"' not in site.browser("analyst", lang=lang).get("/budget").text  # who cannot set one


def test_a_preview_says_what_its_answer_gives_away(site: Site) -> None:
    browser = site.browser("analyst", lang="es")
    browser.get("/datasets/people/ask")
    asked = {"tab": "sql", "sql": "SELECT COUNT(*) FROM people", "epsilon": "0,1"}
    page = browser.post("/datasets/people/preview", **asked).text
    assert load_language("es").text("preview.guess", unit="fila", percent="52,5") in page
    site.guard.set_budget(site.local, ZCDP(rho=1), dataset="people")
    page = browser.post("/datasets/people/preview", **{**asked, "epsilon": "", "rho": "0.01"}).text
    assert 'id="guess"' in page
    assert 'id="presets"' not in page  # they are of epsilon
