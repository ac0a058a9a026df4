from __future__ import annotations

import html
from typing import TYPE_CHECKING

import pytest

from tests.guard.web.browser import HOST, Document

if TYPE_CHECKING:
    import httpx

    from tests.guard.web.browser import Browser, Site


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


def send_again(browser: Browser, page: str, path: str, **fields: str) -> httpx.Response:
    """Send the hidden fields of a page, as its button does without scripts."""
    sent = {one["name"]: one["value"] for one in Document(page).all("input") if one["type"] == "hidden"}
    return browser.send(path, sent | fields, origin=HOST)


SHARING = "/datasets/people/sharing"


@pytest.mark.parametrize(("role", "lang"), [("curator", "en"), ("owner", "es")])
def test_a_data_set_is_shared_after_a_second_look(site: Site, role: str, lang: str) -> None:
    site.guard.add_user(site.local, "berta", "analyst")
    browser = site.browser(role, lang=lang)
    boxes = Document(browser.get("/datasets/people/curation").text).all("input")
    assert [box["name"] for box in boxes if box["type"] == "checkbox"] == ["analyst analyst-1", "analyst berta"]
    head = site.guard.ledger.head
    asked = browser.post(SHARING, **{"who": "some", "analyst berta": "yes", "others": "oidc:ana, ,oidc:ana"})
    assert ("Only these analysts" if lang == "en" else "estos analistas") in asked.text
    assert "berta, oidc:ana" in asked.text
    assert site.guard.ledger.head == head
    reply = send_again(browser, asked.text, SHARING)
    assert reply.headers["location"] == "/datasets/people/curation?done=shared"
    assert site.guard.sharing(site.local, "people") == (("berta", "oidc:ana"), ("analyst-1", "berta", "oidc:ana"))
    assert site.browser("analyst").get("/datasets/people").status_code == 404
    page = browser.get(reply.headers["location"]).text
    ticked = [box["name"] for box in Document(page).all("input") if "checked" in box.attributes]
    assert ticked == ["who", "analyst berta", "analyst oidc:ana"]
    for form, allowed in (({"who": "some"}, ()), ({"who": "all", "analyst berta": "yes"}, None)):
        asked = browser.post(SHARING, **form)
        assert send_again(browser, asked.text, SHARING).status_code == 303
        assert site.guard.sharing(site.local, "people")[0] == allowed
    assert site.browser("analyst").get("/datasets/people").status_code == 200


def test_sharing_with_nobody_known_changes_nothing(site: Site) -> None:
    browser = site.browser("curator")
    browser.get("/datasets/people/curation")
    head = site.guard.ledger.head
    for others in ("nobody", "x" * 3000, "ana\0", "<b>"):
        for confirm in ("", "yes"):
            reply = browser.post(SHARING, who="some", others=others, confirm=confirm)
            assert reply.status_code == 422
            assert 'role="alert"' in reply.text
            assert f'value="{html.escape(others)}"' in reply.text.replace("&#34;", "&quot;") or "\0" in others
    assert site.guard.ledger.head == head


@pytest.mark.parametrize("role", ["analyst", "auditor"])
def test_others_share_nothing_and_do_not_read_with_whom(site: Site, role: str) -> None:
    browser = site.browser(role)
    for form in ({"who": "all"}, {"who": "all", "confirm": "yes"}):
        assert browser.post(SHARING, **form).status_code == 403
    assert site.guard.sharing(site.local, "people")[0] is None


SCHEMA = "/datasets/people/schema"


def edited(browser: Browser) -> tuple[str, str]:
    """The schema in the editor, and the mark of what it began with."""
    document = Document(browser.get(SCHEMA).text)
    [text] = [one.text for one in document.all("textarea")]
    return text.removeprefix("\n"), next(one["value"] for one in document.all("input") if one["name"] == "was")


@pytest.mark.parametrize(("lang", "words"), [("en", "still counts in full"), ("es", "sigue contando por completo")])
def test_a_curator_edits_the_schema_and_reads_what_it_means(site: Site, lang: str, words: str) -> None:
    browser = site.browser("curator", lang=lang)
    text, was = edited(browser)
    assert text == site.guard.schema(site.local_curator, "people")
    head = site.guard.ledger.head
    asked = browser.post(SCHEMA, schema=text.replace("high = 120", "high = 99").replace("\n", "\r\n"), was=was)
    assert words in html.unescape(asked.text)
    assert site.guard.ledger.head == head
    again = send_again(browser, asked.text, SCHEMA, confirm="edit")
    assert "high = 99" in Document(again.text).all("textarea")[0].text
    assert site.guard.ledger.head == head
    reply = send_again(browser, asked.text, SCHEMA)
    assert reply.headers["location"] == "/datasets/people/curation?done=schema"
    assert 'role="status"' in browser.get(reply.headers["location"]).text
    assert "0 – 99" in site.browser("analyst").get("/datasets/people").text


def test_a_schema_that_does_not_fit_is_told_beside_it(site: Site) -> None:
    for lang, title in (("en", "The schema does not fit"), ("es", "El esquema no encaja")):
        browser = site.browser("curator", lang=lang)
        text, was = edited(browser)
        head = site.guard.ledger.head
        for given in (
            text,  # nothing to change
            "",
            "<b>",
            "x" * 10,
            text.replace("high = 120", "high = ?"),
            text.replace("high = 120", "high = -1"),
            text.replace("columns.age", "columns.nowhere"),
            '[table]\nperson = "note"\nmax_groups_per_person = 1\nmax_rows_per_group = 1\n' + text,
        ):
            reply = browser.post(SCHEMA, schema=given, was=was, confirm="yes")
            assert reply.status_code == 422, given
            assert Document(reply.text).all("textarea")[0].text.strip() == given.strip()
        assert title in reply.text
        assert site.guard.ledger.head == head


def test_a_schema_that_another_curator_changed_is_not_overwritten(site: Site) -> None:
    browser = site.browser("curator")
    text, was = edited(browser)
    site.guard.set_bounds(site.local_curator, "people", "age", 0, 110)
    reply = browser.post(SCHEMA, schema=text.replace("high = 200", "high = 300"), was=was, confirm="yes")
    assert reply.status_code == 422
    assert "was changed by another user meanwhile" in reply.text
    assert "high = 110" in site.guard.schema(site.local_curator, "people")


@pytest.mark.parametrize("role", ["analyst", "auditor", "owner"])
def test_others_edit_no_schema(site: Site, role: str) -> None:
    browser = site.browser(role)
    assert browser.get(SCHEMA).status_code == 403
    browser.get("/datasets")
    assert browser.post(SCHEMA, schema="", confirm="yes").status_code == 403
