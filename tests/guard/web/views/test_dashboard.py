from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from celosia.guard.auth.identity import Identity
from celosia.guard.queries import saved
from celosia.guard.roles import Role
from tests.guard.web.browser import HOST, Document

if TYPE_CHECKING:
    from tests.guard.web.browser import Site

SQL = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
ANALYST = Identity(name="analyst-1", role=Role.ANALYST)


@pytest.mark.parametrize(("lang", "words"), [("en", "Preview again"), ("es", "Nueva vista previa")])
def test_a_question_is_saved_shown_and_previewed_again_for_nothing(site: Site, lang: str, words: str) -> None:
    browser = site.browser("analyst", lang=lang)
    path = browser.ask(SQL)
    head = site.guard.ledger.head
    browser.get(path)
    reply = browser.post("/dashboard", id=path.rpartition("/")[2], name="<b>Sexes")
    assert reply.headers["location"] == "/dashboard"
    page = browser.get("/dashboard").text
    assert words in page
    assert "&lt;b&gt;Sexes" in page
    assert path in [one["href"] for one in Document(page).all("a")]
    assert (
        browser.get(next(one["src"] for one in Document(page).all("img") if "chart" in one["src"])).status_code == 200
    )
    form = re.search(r'action="(/datasets/people/preview)">(.*?)</form>', page, re.DOTALL)
    assert form is not None
    fields = {one["name"]: one["value"] for one in Document(form[2]).all("input")}
    preview = browser.send(form[1], fields, origin=HOST)
    assert preview.status_code == 200
    assert 'id="cost"' in preview.text
    assert site.guard.ledger.head == head
    browser.get("/dashboard")
    assert browser.post("/dashboard/forget", name="<b>Sexes").headers["location"] == "/dashboard"
    assert "Sexes" not in browser.get("/dashboard").text
    assert site.guard.ledger.head == head


def test_the_latest_answer_is_shown_also_when_the_data_set_is_not(site: Site) -> None:
    browser = site.browser("analyst")
    first = browser.ask(SQL).rpartition("/")[2]
    site.guard.save_question(ANALYST, first, "sexes")
    second = browser.ask(SQL, epsilon="0.25").rpartition("/")[2]
    browser.ask("SELECT COUNT(*) FROM people")
    assert [(name, answer.id) for name, answer in site.guard.saved_questions(ANALYST)] == [("sexes", second)]
    site.guard.share_dataset(site.local, "people", ())  # what was paid for stays readable
    page = browser.get("/dashboard").text
    assert second in page
    assert "/preview" not in page


def test_what_cannot_be_saved_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = site.browser("analyst")
    mine = browser.ask("SELECT COUNT(*) FROM people").rpartition("/")[2]
    browser.get("/dashboard")
    for given, name in ((mine, ""), (mine, "x" * 101), (mine, "a\0"), ("nothing", "x"), ("", "x"), ("x" * 9999, "x")):
        reply = browser.post("/dashboard", id=given, name=name)
        assert reply.status_code == 422, (given, name)
        assert 'role="alert"' in reply.text
    assert browser.post("/dashboard/forget", name="nothing").status_code == 422
    monkeypatch.setattr(saved, "MAX_SAVED", 1)
    for name, status in (("one", 303), ("one", 303), ("two", 422)):
        browser.get("/dashboard")
        assert browser.post("/dashboard", id=mine, name=name).status_code == status
    assert [name for name, _ in site.guard.saved_questions(ANALYST)] == ["one"]


def test_others_see_and_save_nothing_of_it(site: Site) -> None:
    mine = site.browser("analyst").ask(SQL).rpartition("/")[2]
    site.guard.save_question(ANALYST, mine, "secret")
    key = site.guard.add_user(site.local, "berta", "analyst")
    other = site.anonymous_browser().sign_in(key)
    assert "secret" not in other.get("/dashboard").text
    assert other.post("/dashboard", id=mine, name="stolen").status_code == 422
    assert other.post("/dashboard/forget", name="secret").status_code == 422
    for role in ("owner", "curator", "auditor"):
        browser = site.browser(role)
        assert browser.post("/dashboard", id=mine, name="x").status_code == 403
        assert browser.get("/dashboard").status_code == 403
    assert len(site.guard.saved_questions(ANALYST)) == 1
