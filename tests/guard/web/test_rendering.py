from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.guard.web.browser import Document, Site

if TYPE_CHECKING:
    from tests.guard.web.browser import Browser

PATHS = {
    "owner": ["/datasets", "/datasets/people", "/datasets/people/curation", "/new-dataset", "/budget", "/users",
              "/log"],
    "curator": ["/datasets", "/datasets/people", "/datasets/people/curation", "/datasets/people/schema",
                "/budget", "/users"],
    "analyst": ["/datasets", "/datasets/people", "/datasets/people/ask", "/datasets/people/ask?tab=form", "/answers",
                "/budget", "/log", "/datasets/nobody", "/try-api", "/dashboard"],
    "auditor": ["/datasets", "/datasets/people", "/budget", "/log"],
}  # fmt: skip
LINKS = ("href", "src", "action", "formaction", "srcset", "data-chart", "data-image", "hx-post", "poster")
VOID_TEXT = ("option", "input", "meta", "link")


def pages(site: Site, role: str, lang: str) -> list[str]:
    """Every page that a role can open, and some replies to forms."""
    browser = site.browser(role, lang=lang)
    found = [site.anonymous_browser().get(f"/sign-in?lang={lang}").text]
    if role == "analyst":
        found += ask_all(browser)
    if role == "owner":
        browser.get("/users")
        found.append(browser.post("/users", name="<b>new", role="analyst", days="9").text)
        browser.get("/users")
        found.append(browser.post("/users", name="new-1", role="analyst", days="9").text)
    if role == "curator":
        browser.get("/budget")
        found.append(browser.post("/budget", dataset="people", kind="pure", epsilon='"><script>').text)
        browser.get("/datasets/people/curation")
        found.append(browser.post("/datasets/people/bounds", column="age", low="9", high="1").text)
    if role == "auditor":
        browser.get("/log")
        found.append(browser.post("/log").text)
        found.append(browser.post("/log", head="<img>").text)
    return found + [browser.get(path).text for path in PATHS[role]]


def ask_all(browser: Browser) -> list[str]:
    path = browser.ask("SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex")
    found = [browser.get(path).text]
    browser.post("/dashboard", id=path.rpartition("/")[2], name="<script>")
    sql = "SELECT COUNT(*) FROM people WHERE note = '<script>alert(1)</script>'"
    browser.get("/datasets/people/ask")
    for tab, fields in (("sql", {"sql": sql}), ("sql", {"sql": "SELECT <img onerror=x>"}), ("form", {"group": "sex"})):
        found.append(browser.post("/datasets/people/preview", tab=tab, epsilon="0.1", **fields).text)
    found.append(browser.post("/datasets/people/ask", tab="sql", sql=sql, epsilon="99", key="k").text)
    return found


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("role", PATHS)
def test_every_page_is_clean_and_accessible(site: Site, role: str, lang: str) -> None:
    for text in pages(site, role, lang):
        document = Document(text)
        check_policy(document)
        check_accessible(document, lang)
        assert "{{" not in text
        assert "Undefined" not in text


def check_policy(document: Document) -> None:
    """Nothing that the policy would refuse, and nothing from elsewhere."""
    for element in document.elements:
        assert element.tag not in ("style", "iframe", "object", "embed", "base", "applet")
        assert not [name for name in element.attributes if name.startswith("on") or name == "style"], element.attributes
        if element.tag == "script":
            assert element["src"].startswith("/static/")
            assert not element.text.strip()
        for name in LINKS:
            address = urlsplit(element[name])
            assert not address.scheme, element[name]
            assert not address.netloc, element[name]
            assert not element[name] or element[name].startswith(("/", "#")), element[name]
    for form in document.all("form"):
        if form["method"] == "post":
            following = document.elements[document.elements.index(form) :]
            hidden = next(element for element in following if element["name"] == "token")
            assert re.fullmatch("[0-9a-f]{64}", hidden["value"])


def check_accessible(document: Document, lang: str) -> None:
    """One heading, a language, a label for every control, no identifier twice, a caption or header for every table."""
    assert document.all("html")[0]["lang"] == lang
    assert document.all("title")[0].text.strip()
    assert len(document.all("h1")) == 1
    levels = [int(element.tag[1]) for element in document.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    names = [element["id"] for element in document.elements if element["id"]]
    assert len(names) == len(set(names))
    labels = {element["for"] for element in document.all("label")}
    for control in document.all("input", "select", "textarea"):
        if control["type"] != "hidden":
            assert control["id"] in labels or control["aria-label"], control.attributes
        for described in control["aria-describedby"].split():
            assert described in names
    for element in document.elements:
        if element["aria-labelledby"]:
            assert element["aria-labelledby"] in names
    assert all("alt" in image.attributes for image in document.all("img"))
    assert all(cell["scope"] for cell in document.all("th"))
    assert document.all("main")[0]["id"] == "content"
    assert document.all("a")[0]["href"] == "#content"


def test_the_check_sees_what_is_planted() -> None:
    for text in (
        "<script>1</script>",
        "<script src='https://cdn.example/x.js'></script>",
        "<p style='color: red'>",
        "<p onclick='x()'>",
        "<a href='//evil.example'>",
        "<a href='javascript:x'>",
        "<form method='post'>",
    ):
        with pytest.raises((AssertionError, StopIteration)):
            check_policy(Document(text))


def test_templates_have_no_words_of_their_own(site: Site) -> None:
    """Whatever is said is in the files of texts: the same page in two languages shares no sentence."""
    spoken = []
    for lang in ("en", "es"):
        text = site.browser("analyst", lang=lang).get("/datasets/people/ask").text
        body = re.sub(r"<(textarea|code|script|select)\b.*?</\1>", "", text, flags=re.DOTALL)
        spoken.append(
            {part.strip() for part in re.split(r"<[^>]*>", body) if len(re.findall(r"[^\W\d]{2,}", part)) > 2}
        )
    assert len(spoken[0]) > 10
    assert spoken[0] & spoken[1] <= {"People &amp; others"}


def test_the_menu_shows_what_can_be_done(site: Site) -> None:
    menus = {}
    for role in PATHS:
        document = Document(site.browser(role).get("/datasets").text)
        menus[role] = [a["href"] for a in document.all("a") if re.fullmatch("/[a-z]+", a["href"])]
    assert menus["analyst"] == ["/datasets", "/answers", "/dashboard", "/approvals", "/budget"]
    assert menus["curator"] == ["/datasets", "/approvals", "/budget"]
    assert menus["auditor"] == ["/datasets", "/budget", "/log"]
    assert menus["owner"] == ["/datasets", "/approvals", "/budget", "/users"]


def test_changing_the_language_keeps_the_page(site: Site) -> None:
    document = Document(site.browser("analyst").get("/datasets/people/ask?tab=form&x=<b>").text)
    links = {a["hreflang"]: a["href"] for a in document.all("a") if a["hreflang"]}
    assert links["es"] == "/datasets/people/ask?tab=form&x=%3Cb%3E&lang=es"
