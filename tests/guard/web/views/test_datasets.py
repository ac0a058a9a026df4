from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from celosia.core import ZCDP
from celosia.guard.datasets.dataset import PublicTable
from tests.guard.web.browser import Document

if TYPE_CHECKING:
    from pathlib import Path

    from tests.guard.web.browser import Site


def test_a_data_set_shows_what_was_declared_and_no_number_of_rows(site: Site) -> None:
    text = site.browser("analyst").get("/datasets/people").text
    assert "People &amp; others" in text
    assert "0 – 120" in text
    assert "integer" in text
    assert "1900-01-01 – 2026-12-31" in text
    assert "in steps of 0.5" in text
    assert not re.search(r"\b400\b", text)  # rows of the file
    assert ".csv" not in text  # where it is


def test_a_hidden_data_set_looks_like_none(site: Site) -> None:
    site.guard.share_dataset(site.local, "people", ())
    browser = site.browser("analyst")
    hidden = browser.get("/datasets/people")
    missing = browser.get("/datasets/nothing")
    assert hidden.status_code == missing.status_code == 404
    assert hidden.text.replace("&#39;people&#39;", "&#39;nothing&#39;").replace("/people", "/nothing") == missing.text
    assert "People" not in browser.get("/datasets").text


@pytest.mark.parametrize(("lang", "words"), [("en", "Dummy rows"), ("es", "Filas ficticias")])
def test_dummy_rows_are_downloaded_from_the_page(site: Site, lang: str, words: str) -> None:
    browser = site.browser("analyst", lang=lang)
    page = browser.get("/datasets/people").text
    assert words in page
    [link] = [one["href"] for one in Document(page).all("a") if one["href"].endswith("/dummy")]
    reply = browser.get(link)
    assert reply.headers["content-disposition"] == 'attachment; filename="celosia-people-dummy.csv"'
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.content == b"".join(site.guard.dummy_rows(site.local, "people"))
    site.guard.share_dataset(site.local, "people", ())
    assert browser.get(link).status_code == browser.get("/datasets/nothing/dummy").status_code == 404


def test_a_data_set_without_a_budget_says_so(site: Site, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("age\n1\n")
    schema = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'
    site.guard.add_dataset(site.local, "more", str(tmp_path / "more.csv"), schema)
    browser = site.browser("analyst")
    assert "No budget has been set" in browser.get("/datasets").text
    assert "No budget has been set" in browser.get("/datasets/more").text
    assert browser.get("/datasets/more/ask").status_code == 200


def test_people_and_public_tables_are_shown_as_declared(site: Site, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("who,region,level\n1,a,low\n")
    (tmp_path / "regions.csv").write_text("region,area\na,12\n")
    schema = """
[table]
person = "who"
max_groups_per_person = 2
max_rows_per_group = 3
[columns.region]
kind = "category"
values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
[columns.level]
kind = "category"
values = ["low", "high"]
ordered = true
null = "low"
"""
    public = [PublicTable(source=str(tmp_path / "regions.csv"), key=("region",))]
    site.guard.add_dataset(site.local, "visits", str(tmp_path / "visits.csv"), schema, public=public)
    site.guard.set_budget(site.local, ZCDP(rho="0.5"), dataset="visits")
    browser = site.browser("analyst")
    text = browser.get("/datasets/visits").text
    for words in (
        "every person",
        "at most 3 rows in each of at most 2 groups",
        "and 2 more",
        "in this order",
        "counts as low",
        "Public table",
        "Joined by <code>region</code>",
    ):
        assert words in text, words
    ask = browser.get("/datasets/visits/ask").text
    assert 'name="rho"' in ask
    assert 'name="delta"' not in ask
    assert "regions.area" in ask


def test_a_curator_changes_bounds(site: Site) -> None:
    browser = site.browser("curator")
    text = browser.get("/datasets/people/curation").text
    assert "Never take bounds from the data" in text
    columns = [control["value"] for control in Document(text).all("input") if control["name"] == "column"]
    assert columns == ["age", "weight", "born"]
    reply = browser.post("/datasets/people/bounds", column="age", low="0", high="110")
    assert reply.headers["location"] == "/datasets/people/curation?done=bounds"
    assert "The bounds were changed" in browser.get(reply.headers["location"]).text
    assert "0 – 110" in site.browser("analyst").get("/datasets/people").text


@pytest.mark.parametrize(
    ("low", "high"), [("9", "1"), ("", "1"), ("x", "1"), ("0", "nan"), ("0", "1e400"), ("0", "<b>")]
)
def test_bounds_that_are_none_are_told_on_the_page(site: Site, low: str, high: str) -> None:
    browser = site.browser("curator")
    browser.get("/datasets/people/curation")
    before = site.guard.ledger.head
    reply = browser.post("/datasets/people/bounds", column="age", low=low, high=high)
    assert reply.status_code == 422
    assert 'role="alert"' in reply.text
    assert site.guard.ledger.head == before


def test_a_new_version_is_declared(site: Site) -> None:
    browser = site.browser("curator")
    browser.get("/datasets/people/curation")
    before = site.guard.dataset(site.local, "people").version
    asked = browser.post("/datasets/people/versions")
    assert asked.status_code == 200
    assert "the same questions are paid for anew" in asked.text
    assert site.guard.dataset(site.local, "people").version == before
    reply = browser.post("/datasets/people/versions", confirm="yes")
    assert "A new version was declared" in browser.get(reply.headers["location"]).text
    assert site.guard.dataset(site.local, "people").version != before


def test_a_data_set_is_retired_after_a_second_look_and_restored(site: Site) -> None:
    path = site.browser("analyst").ask("SELECT COUNT(*) FROM people")
    for role, lang in (("curator", "en"), ("owner", "es")):
        browser = site.browser(role, lang=lang)
        browser.get("/datasets/people/curation")
        head = site.guard.ledger.head
        asked = Document(browser.post("/datasets/people/retirement", retired="yes").text)
        assert site.guard.ledger.head == head
        sent = {one["name"]: one["value"] for one in asked.all("input")}  # as the browser would, without scripts
        reply = browser.send("/datasets/people/retirement", sent, origin="https://guard.example")
        assert reply.headers["location"] == "/datasets/people/curation?done=retired"
        page = browser.get(reply.headers["location"]).text
        assert ("takes no questions" if lang == "en" else "no admite preguntas") in page
        assert "/versions" not in page
        analyst = site.browser("analyst")
        for place in ("/datasets/people", "/datasets/people/ask"):
            assert analyst.get(place).status_code == 404
        assert "People" not in analyst.get("/datasets").text
        assert analyst.get(path).status_code == analyst.get(f"{path}/answer.csv").status_code == 200
        assert "people" in analyst.get("/budget").text
        assert browser.post("/datasets/people/versions", confirm="yes").status_code == 422
        browser.get("/datasets/people/curation")
        browser.post("/datasets/people/retirement", retired="no")
        assert analyst.get("/datasets/people/ask").status_code == 200


@pytest.mark.parametrize("role", ["analyst", "auditor"])
def test_others_retire_nothing(site: Site, role: str) -> None:
    browser = site.browser(role)
    for form in ({"retired": "yes"}, {"retired": "yes", "confirm": "yes"}, {"retired": "no"}):
        assert browser.post("/datasets/people/retirement", **form).status_code == 403
    assert browser.post("/datasets/people/versions").status_code == 403
    assert not site.guard.dataset(site.local, "people").retired


@pytest.mark.parametrize("role", ["analyst", "auditor", "owner"])
def test_others_change_no_bounds(site: Site, role: str) -> None:
    browser = site.browser(role)
    before = site.guard.ledger.head
    reply = browser.post("/datasets/people/bounds", column="age", low="0", high="1")
    assert reply.status_code == 403
    assert site.guard.ledger.head == before
