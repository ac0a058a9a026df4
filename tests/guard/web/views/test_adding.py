from __future__ import annotations

import html
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.guard.web.browser import HOST, Document

if TYPE_CHECKING:
    from pathlib import Path

    from tests.guard.web.browser import Browser, Site

PLACE = "/new-dataset"
SCHEMA = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'


@pytest.fixture
def data(site: Site, tmp_path: Path) -> Path:
    """An allowed folder with a file, and one beside it that is not allowed."""
    for path in ("data/more people.csv", "secret/x.csv"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text("patient_id,age,sex\n1,34,F\n2,71,M\n")
    (tmp_path / "data/link.csv").symlink_to(tmp_path / "secret/x.csv")
    site.guard.config = replace(site.guard.config, data_folders=(tmp_path / "data",))
    return tmp_path / "data"


def fields_of(page: str) -> dict[str, str]:
    """What a browser without scripts would send: the chosen options come first in nothing else."""
    fields, select = {}, ""
    for one in Document(page).elements:
        if one.tag == "input":
            fields[one["name"]] = one["value"]
        elif one.tag == "select":
            select = one["name"]
            fields[select] = ""
        elif one.tag == "option" and "selected" in one.attributes:
            fields[select] = one["value"]
        elif one.tag == "textarea":
            fields[one["name"]] = one.text.removeprefix("\n")
    return fields


def send(browser: Browser, fields: dict[str, str]) -> str:
    reply = browser.send(PLACE, fields, origin=HOST)
    assert reply.status_code == 200, reply.text
    return reply.text


@pytest.mark.parametrize(("lang", "words"), [("en", "data_folders"), ("es", "Ninguna carpeta")])
def test_without_a_folder_the_page_says_how_to_allow_one(site: Site, lang: str, words: str) -> None:
    browser = site.browser("owner", lang=lang)
    assert PLACE in [one["href"] for one in Document(browser.get("/datasets").text).all("a")]
    assert words in browser.get(PLACE).text
    assert browser.get(f"{PLACE}?file=data/x.csv").status_code == 422


@pytest.mark.parametrize(("role", "lang"), [("owner", "en"), ("curator", "es")])
@pytest.mark.usefixtures("data")
def test_a_file_becomes_a_data_set(site: Site, role: str, lang: str) -> None:
    browser = site.browser(role, lang=lang)
    [link] = [one["href"] for one in Document(browser.get(PLACE).text).all("a") if "?file=" in one["href"]]
    fields = fields_of(browser.get(link).text)
    assert fields["person"] == "patient_id"
    assert (fields["kind-0"], fields["kind-1"], fields["high-1"], fields["kind-2"]) == ("", "integer", "120", "text")
    head = site.guard.ledger.head
    fields = fields_of(send(browser, fields | {"kind-2": "category", "values-2": "F, M"}))
    assert site.guard.ledger.head == head
    assert fields["name"] == "more_people"
    assert 'values = ["F", "M"]' in fields["schema"]
    reply = browser.send(PLACE, fields | {"title": "More <b>"}, origin=HOST)
    assert reply.headers["location"] == "/datasets/more_people/curation?done=added"
    assert 'role="status"' in browser.get(reply.headers["location"]).text
    card = site.guard.dataset(site.local, "more_people")
    assert (card.title, card.tables[0].person) == ("More <b>", "patient_id")
    again = browser.send(PLACE, fields | {"name": "other"}, origin=HOST)  # the same file
    assert again.status_code == 422
    assert fields_of(again.text)["name"] == "other"


@pytest.mark.usefixtures("data")
def test_what_does_not_fit_is_told_and_kept(site: Site) -> None:
    for lang, words in (("en", "The schema does not fit"), ("es", "El esquema no encaja")):
        browser = site.browser("curator", lang=lang)
        fields = fields_of(browser.get(f"{PLACE}?file=data/more people.csv").text)
        head = site.guard.ledger.head
        reply = browser.send(PLACE, fields | {"high-1": "-1", "values-2": "<b>"}, origin=HOST)
        assert reply.status_code == 422
        assert words in reply.text
        assert fields_of(reply.text) == fields | {"high-1": "-1", "values-2": "<b>"}
        text = fields_of(browser.get(f"{PLACE}?file=data/more people.csv&as=text").text)
        assert "# low = ?" in text["schema"]
        for change in ({}, {"schema": ""}, {"schema": SCHEMA, "name": "no name"}, {"schema": SCHEMA, "name": "people"}):
            reply = browser.send(PLACE, text | change, origin=HOST)
            assert reply.status_code == 422, change
            assert 'role="alert"' in reply.text
        assert site.guard.ledger.head == head


def test_files_that_are_not_listed_cannot_be_added(site: Site, data: Path) -> None:
    browser = site.browser("owner")
    browser.get(PLACE)
    head = site.guard.ledger.head
    inside = str(data / "more people.csv")
    outside = str(data.parent / "secret/x.csv")
    for file in (inside, outside, "../secret/x.csv", "data/../secret/x.csv", "data/link.csv", "data/*.csv", "data/[m]*",
                 "data/more people.csv\0", "\0", "${HOME}", "~", "postgresql://host/db", "data"):  # fmt: skip
        assert browser.get(f"{PLACE}?file={quote(file)}").status_code == 422
        for step in ("add", ""):
            reply = browser.post(PLACE, step=step, file=file, name="more", schema=SCHEMA)
            assert reply.status_code == 422, file
            assert "one of the list" in reply.text
    assert site.guard.ledger.head == head
    assert len(site.guard.datasets(site.local)) == 1


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("role", ["analyst", "auditor"])
def test_others_add_nothing_and_see_no_files(site: Site, role: str) -> None:
    browser = site.browser(role)
    assert PLACE not in browser.page
    for step in ("add", ""):
        assert browser.post(PLACE, step=step, file="data/more people.csv", name="m", schema=SCHEMA).status_code == 403
    for query in ("", "?file=data/more people.csv"):
        reply = browser.get(f"{PLACE}{query}")
        assert reply.status_code == 403
        assert "more people.csv" not in reply.text.replace(html.escape(query), "")
