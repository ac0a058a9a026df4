from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sqlalchemy as sa

from celosia.ledger.store.tables import ANSWERS

if TYPE_CHECKING:
    from tests.guard.web.browser import Site


def test_an_auditor_reads_and_verifies(site: Site) -> None:
    site.browser("analyst").ask("SELECT COUNT(*) FROM people")
    browser = site.browser("auditor")
    text = browser.get("/log").text
    assert "reserved" in text
    assert "committed" in text
    head = re.search(r'id="head-hash">(\d+:[0-9a-f]{64})<', text)
    assert head
    assert head[1] == str(site.guard.ledger.head)
    assert "The log holds." in browser.post("/log").text
    assert "The log holds." in browser.post("/log", head=head[1]).text
    other = browser.post("/log", head=f"1:{'0' * 64}")
    assert "The log does not hold." in other.text
    assert browser.post("/log", head="nonsense").status_code == 422


def test_what_was_tampered_with_is_found(site: Site) -> None:
    site.browser("analyst").ask("SELECT COUNT(*) FROM people")
    with site.guard.ledger.store.transaction() as connection:
        connection.execute(sa.update(ANSWERS).values(**{_text_column(): "forged"}))
    browser = site.browser("auditor")
    browser.get("/log")
    assert "The log does not hold." in browser.post("/log").text


def _text_column() -> str:
    return next(column.name for column in ANSWERS.columns if isinstance(column.type, sa.Text))


def test_the_log_has_pages(site: Site) -> None:
    for number in range(60):
        site.guard.ledger.record("note", {"number": number})
    last = site.guard.ledger.head.sequence
    browser = site.browser("auditor")
    seen: list[int] = []
    path = "/log"
    while path:
        text = browser.get(path).text
        seen += [int(number) for number in re.findall(r'<td class="number"[^>]*>(\d+)</td>', text)]
        older = re.search(r'href="(/log\?after=\d+)" rel="next"', text)
        path = older[1] if older else ""
    assert sorted(set(seen)) == list(range(1, last + 1))
    assert seen[0] == last
    first = browser.get("/log?after=0").text
    assert 'rel="prev"' in first


def test_a_number_that_is_none_shows_the_newest(site: Site) -> None:
    browser = site.browser("auditor")
    newest = browser.get("/log").text
    for after in ("-1", "x", "٣", ""):
        assert browser.get(f"/log?after={after}").text.count("<tr>") == newest.count("<tr>")
    assert browser.get("/log?after=999999999999999999999999").status_code == 200


def test_answers_are_not_in_the_log(site: Site) -> None:
    analyst = site.browser("analyst")
    path = analyst.ask("SELECT COUNT(*) FROM people")
    value = analyst.get(f"{path}/answer.json").json()["release"]["columns"][0]["values"][0]
    assert f">{value}<" not in site.browser("auditor").get("/log").text


def test_kinds_of_lines_are_said_in_spanish(site: Site) -> None:
    site.browser("analyst").ask("SELECT COUNT(*) FROM people")
    site.guard.ledger.record("note", {"number": 1})
    text = site.browser("auditor", lang="es").get("/log").text
    kinds = re.findall(r'<span class="chip"([^>]*)>([^<]*)</span>', text)
    assert {name for mark, name in kinds if not mark} >= {
        "reservada",
        "contestada",
        "presupuesto fijado",
        "clave añadida",
    }
    assert [name for mark, name in kinds if mark] == ["note"]
