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
