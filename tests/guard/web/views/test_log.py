from __future__ import annotations

import json
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
        older = re.search(r'href="(/log\?before=\d+)" rel="next"', text)
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


def test_lines_are_sentences_in_the_language_of_the_reader(site: Site) -> None:
    site.browser("analyst").ask("SELECT COUNT(*) FROM people WHERE note = '<b>'")
    english, spanish = (site.browser("auditor", lang=lang).get("/log").text for lang in ("en", "es"))
    assert "analyst-1 asked people, at a cost of ε = 0.5" in english.replace("\xa0", " ")
    assert "analyst-1 preguntó a people, con un coste de ε = 0,5" in spanish.replace("\xa0", " ")
    assert "&lt;b&gt;" in spanish
    assert "<b>" not in spanish
    assert "local dio a analyst-1 la clave" in spanish


def test_lines_are_found_and_exported(site: Site) -> None:
    site.browser("analyst").ask("SELECT COUNT(*) FROM people")
    browser = site.browser("auditor", lang="es")
    text = browser.get("/log?kind=&dataset=people&user=analyst-1&since=2000-01-01&until=&text=count").text
    assert re.findall(r'<span class="chip">([^<]*)<', text) == ["reservada"]
    assert 'value="analyst-1"' in text
    addresses = re.findall(r'href="(/log/export[^"]*)"', text)
    table, lines = (browser.get(address.replace("&amp;", "&")) for address in addresses)
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert table.headers["content-disposition"] == 'attachment; filename="celosia-log.csv"'
    assert table.text.count("\n") == 2
    assert "analyst-1 preguntó a people" in table.text
    assert json.loads(lines.text)["kind"] == "reserved"
    assert "No hay ninguna línea así." in browser.get("/log?user=nobody").text
    for _ in range(60):
        site.guard.ledger.record("note", {"by": "ana"})
    found = re.search(r'href="(/log\?user=ana&amp;before=\d+)" rel="next"', browser.get("/log?user=ana").text)
    assert found
    assert browser.get(found[1].replace("&amp;", "&")).text.count('class="number" data-label') == 10


def test_what_is_no_filter_is_told_on_the_page(site: Site) -> None:
    browser = site.browser("auditor", lang="es")
    reply = browser.get("/log?since=ayer")
    assert reply.status_code == 422
    assert "since debe ser un día, como 2026-01-31" in reply.text
    assert browser.get("/log/export?format=xml").status_code == 422
    assert browser.get("/log/export?format=csv&since=ayer").status_code == 422
    for role in ("owner", "curator", "analyst"):
        for path in ("/log", "/log/export?format=csv"):
            assert site.browser(role).get(path).status_code == 403
