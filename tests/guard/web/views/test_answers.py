from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP
from celosia.guard.schema.replies import Answer
from celosia.guard.schema.requests import QueryRequest
from celosia.guard.web.views.answers import explain_guarantee, payment_text, restore_person
from celosia.guard.web.web_session import load_language
from celosia.mechanisms import Laplace
from tests.guard.web.test_charts import drawn

if TYPE_CHECKING:
    from pathlib import Path

    from tests.guard.web.browser import Site

SQL = "SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex"


def test_an_answer_is_shown_with_its_price_and_its_meaning(site: Site) -> None:
    browser = site.browser("analyst")
    path = browser.ask(SQL)
    text = browser.get(path).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "ε = 0.5" in text
    assert "95 % interval" in text
    assert "at most 1.649 times as likely" in text
    assert text.count("data-chart=") == 2
    assert f'{path}/chart.svg?column=count&amp;level=0.95&amp;lang=en"' in text
    assert "80 % interval" in browser.get(f"{path}?level=0.8").text
    assert "95 % interval" in browser.get(f"{path}?level=0.1234").text


def test_charts_and_files(site: Site) -> None:
    browser = site.browser("analyst")
    path = browser.ask(SQL)
    spec = browser.get(f"{path}/chart.json?column=mean_age&level=0.9").json()
    assert len(drawn(spec)) == 2
    picture = browser.get(f"{path}/chart.svg?column=count")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert picture.text.startswith("<svg")
    assert browser.get(f"{path}/chart.json?column=sex").status_code == 404
    table = browser.get(f"{path}/answer.csv")
    assert table.headers["content-disposition"].startswith('attachment; filename="celosia-')
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["sex"] for row in rows] == ["F", "M"]
    assert float(rows[0]["count_low"]) < float(rows[0]["count"]) < float(rows[0]["count_high"])
    whole = browser.get(f"{path}/answer.json").json()
    assert whole["release"]["version"] == 3
    assert whole["state"] == "committed"


def test_an_answer_is_the_same_every_time_and_nobody_elses(site: Site) -> None:
    browser = site.browser("analyst")
    path = browser.ask(SQL)
    assert browser.get(f"{path}/answer.json").text == browser.get(f"{path}/answer.json").text
    other = site.anonymous_browser().sign_in(site.guard.add_user(site.local, "other-1", "analyst"))
    for end in ("", "/chart.json", "/chart.svg", "/answer.csv", "/answer.json"):
        assert other.get(path + end).status_code == 404


def test_the_list_has_the_latest_first(site: Site) -> None:
    browser = site.browser("analyst")
    assert "not asked anything yet" in browser.get("/answers").text
    first = browser.ask(SQL)
    second = browser.ask("SELECT COUNT(*) FROM people")
    assert re.findall(r'href="(/answers/[0-9a-f]+)"', browser.get("/answers").text) == [second, first]


def test_the_same_question_again_says_that_the_data_set_did_not_pay(site: Site) -> None:
    path = site.browser("analyst").ask(SQL)
    other = site.anonymous_browser().sign_in(site.guard.add_user(site.local, "other-1", "analyst"))
    again = other.ask(SQL)
    assert again != path
    text = other.get(again).text
    if "asked before" in text:  # files that do not change have a version
        assert site.guard.ledger.statement()[0].spent.epsilon == 0.5  # type: ignore[attr-defined]


def test_a_guarantee_is_said_in_symbols(site: Site) -> None:
    browser = site.browser("analyst")
    text = browser.get(browser.ask(SQL)).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "ε = 0.5, for every row (one more or one less)" in text
    assert "DP(" not in text


def test_what_was_given_again_is_not_shown_as_paid(site: Site) -> None:
    browser = site.browser("analyst")
    first = browser.ask(SQL)
    again = browser.ask(SQL)
    answer = site.guard.answer(site.guard.authenticate(site.keys["analyst"]), again.rpartition("/")[2])
    assert answer.repeated
    rows = re.findall(r"<tr>\s*<td.*?</tr>", browser.get("/answers").text, re.DOTALL)
    assert len(rows) == 2
    assert "repeated: nothing spent" in rows[0]
    assert "ε" not in rows[0]
    assert "answered" in rows[1]
    assert "ε" in rows[1]
    text = browser.get(again).text
    assert 'id="cost">Nothing<' in text
    assert "neither the data set nor you paid" in text
    assert 'id="cost">ε' in browser.get(first).text
    assert site.guard.ledger.statement()[0].spent.epsilon == 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("repeated", "charged", "name"),
    [
        (False, True, ""),
        (True, None, "repeated_unknown"),
        (True, True, "repeated_charged"),
        (True, False, "repeated"),
    ],
)
def test_who_paid(repeated: bool, charged: bool | None, name: str) -> None:  # noqa: FBT001
    answer: Any = SimpleNamespace(repeated=repeated, charged=charged)
    assert payment_text(answer) == name
    assert payment_text(answer, own_budget=False) == name.replace("_unknown", "")
    for code in ("en", "es"):
        assert not name or load_language(code).has(f"state.{name}")
        assert not name or load_language(code).has("answer.repeated_cost" if name == "repeated" else f"answer.{name}")


def test_persons_are_called_as_they_were_asked_for(site: Site, tmp_path: Path) -> None:
    data = tmp_path / "visits.csv"
    data.write_text("person_id,age\n" + "".join(f"{n},{n % 90}\n" for n in range(200)))
    limits = '[table]\nperson = "person_id"\nmax_groups_per_person = 1\nmax_rows_per_group = 1\n'
    schema = f'{limits}[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'
    site.guard.add_dataset(site.local, "visits", str(data), schema)
    site.guard.set_budget(site.local, ApproxDP(epsilon=3, delta="1e-6"), dataset="visits")
    analyst = site.guard.authenticate(site.keys["analyst"])
    asked = "SELECT COUNT(DISTINCT person_id) FROM visits"
    answer = site.guard.ask(analyst, QueryRequest(dataset="visits", sql=asked, epsilon="0.5"), "k1")
    browser = site.browser("analyst")
    for path in ("/answers", f"/answers/{answer.id}"):
        text = browser.get(path).text
        assert asked in text
        assert "PERSON" not in text


def answer_about_persons(site: Site, folder: Path, declared: str = "") -> tuple[str, str, str]:
    """Ask about a table of persons, and return the path of the answer and its pages in English and Spanish."""
    data = folder / "visits.csv"
    data.write_text("person_id,age\n" + "".join(f"{n // 3},{n % 90}\n" for n in range(200)))
    limits = f'[table]\nperson = "person_id"\nmax_groups_per_person = 1\nmax_rows_per_group = 1\n{declared}'
    schema = f'{limits}[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'
    site.guard.add_dataset(site.local, "stays", str(data), schema)
    site.guard.set_budget(site.local, ApproxDP(epsilon=3, delta="1e-6"), dataset="stays")
    analyst = site.guard.authenticate(site.keys["analyst"])
    answer = site.guard.ask(
        analyst, QueryRequest(dataset="stays", sql="SELECT COUNT(*) FROM stays", epsilon="0.5"), "k1"
    )
    browser, path = site.browser("analyst"), f"/answers/{answer.id}"
    english, spanish = (
        browser.get(f"{path}?lang={code}").text.replace("\N{NO-BREAK SPACE}", " ") for code in ("en", "es")
    )
    return path, english, spanish


def test_true_values_of_persons_have_intervals_where_owners_declare_enough(site: Site, tmp_path: Path) -> None:
    _, english, spanish = answer_about_persons(site, tmp_path, "max_rows_per_person = 3\n")
    assert "95 % interval for the true value" in english
    assert "the limits keep " in english
    assert "it holds if no person has more rows than the owner declares" in english
    assert "intervalo del 95 % para el valor verdadero" in spanish
    assert "los límites conservan entre el " in spanish


def test_persons_have_noise_intervals(site: Site, tmp_path: Path) -> None:
    path, english, spanish = answer_about_persons(site, tmp_path)
    browser = site.browser("analyst")
    assert "95 % noise interval" in english
    assert "interval for the true value" not in english
    assert "as the limits for each person leave it" in english
    assert "The limits may cut off more: the true number can lie outside the noise interval." in english
    assert "intervalo de ruido del 95 %" in spanish
    assert "Los límites pueden recortar más" in spanish
    chart = browser.get(f"{path}/chart.json?column=count&level=0.95&lang=es").json()
    assert "intervalo de ruido del 95 %" in str(chart).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("SELECT COUNT(DISTINCT PERSON) FROM t", "SELECT COUNT(DISTINCT who) FROM t"),
        ("a JOIN b USING (PERSON) WHERE x = 'PERSON'", "a JOIN b USING (who) WHERE x = 'PERSON'"),
        ('SELECT "a PERSON", PERSONS FROM t', 'SELECT "a PERSON", PERSONS FROM t'),
        ("x = 'it''s PERSON' AND PERSON", "x = 'it''s PERSON' AND who"),
    ],
)
def test_only_the_word_for_the_person_is_replaced(question: str, shown: str) -> None:
    assert restore_person(question, "who") == shown
    assert restore_person(question, None) == question


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("state", ["reserved", "failed"])
def test_what_has_no_answer_says_why(site: Site, monkeypatch: pytest.MonkeyPatch, state: str, lang: str) -> None:
    answer = Answer(
        id="0f",
        state=state,
        dataset="people",
        question=SQL,
        at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        cost=json.loads(PureDP(epsilon="0.25").to_json()),
        release=None,
        repeated=False,
    )
    monkeypatch.setattr(site.guard, "answer", lambda *_: answer)
    monkeypatch.setattr(site.guard, "answers", lambda *_: (answer,))
    browser = site.browser("analyst", lang=lang)
    text = browser.get("/answers/0f").text
    assert load_language(lang).text(f"answer.{state}") in text
    assert ('http-equiv="refresh"' in text) is (state == "reserved")
    assert ('action="/answers/0f/cancel"' in text) is (state == "reserved")
    assert "ε" in text
    assert "data-chart" not in text
    assert browser.get("/answers/0f/answer.csv").status_code == 404
    assert load_language(lang).text(f"state.{state}") in browser.get("/answers").text


def test_a_question_is_cancelled_by_its_analyst(site: Site) -> None:
    event = Laplace(epsilon="0.25", sensitivity=1).event
    reserved = site.guard.ledger.reserve(event, dataset="people", analyst="analyst-1", question=SQL)
    path, body = f"/answers/{reserved.id}/cancel", {"id": reserved.id, "by": "analyst-1"}
    for role, status in (("curator", 403), ("analyst", 303), ("analyst", 303)):
        reply = site.browser(role).post(path)
        assert reply.status_code == status
    assert reply.headers["location"] == f"/answers/{reserved.id}"
    assert [line.body for line in site.guard.ledger.entries() if line.kind == "query cancelled"] == [body]
    assert site.browser("analyst").post(f"/answers/{'0' * 32}/cancel").status_code == 404


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (PureDP(epsilon=0), "at most 1 times"),
        (PureDP(epsilon=100), "e^ε times"),
        (PureDP(epsilon=1, unit="person"), "one person"),
        (ApproxDP(epsilon=1, delta="1e-3"), "chance of 0.001"),
        (ZCDP(rho=1), "limit that ρ sets"),
    ],
)
def test_guarantees_are_said_in_words(guarantee: PureDP, words: str) -> None:
    assert words in explain_guarantee(guarantee, load_language("en"))
    assert explain_guarantee(guarantee, load_language("es"))


def test_what_has_no_words_has_none() -> None:
    assert explain_guarantee(GaussianDP(mu=1), load_language("en")) == ""
