from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP
from celosia.guard.web.views.ask import BudgetSummary, remaining_after
from celosia.ledger import Policy, Scope, StatementLine, Window
from tests.guard.web.browser import HOST, Document

if TYPE_CHECKING:
    from tests.guard.web.browser import Browser, Site

SQL = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
ASK = "/datasets/people/ask"
PREVIEW = "/datasets/people/preview"


def key_in(browser: Browser) -> str:
    found = re.search(r'name="key" value="([0-9a-f]{32})"', browser.page)
    assert found
    return found[1]


def fragment(browser: Browser, **fields: str) -> str:
    browser.get(ASK)
    reply = browser.send(PREVIEW, {"token": browser.token, "tab": "sql", **fields}, origin=HOST, hx_request="true")
    assert reply.status_code == 200
    assert "<html" not in reply.text
    return " ".join(reply.text.split()).replace("\N{NO-BREAK SPACE}", " ")


def test_a_preview_tells_cost_error_and_what_is_left(site: Site) -> None:
    text = fragment(site.browser("analyst"), sql=SQL, epsilon="0.5")
    assert "ε = 0.5" in text
    assert "± 6" in text
    assert "ε = 2.5; δ = 2 × 10⁻⁷" in text
    assert "Laplace noise of scale 2" in text
    assert site.guard.ledger.statement()[0].spent.epsilon == 0  # type: ignore[attr-defined]


def test_a_preview_says_what_the_rules_do_to_the_question(site: Site) -> None:
    limit = ApproxDP(epsilon=3, delta="1e-6")
    policy = Policy(limit=limit, least_cost=Fraction(1, 100), approval_above=Fraction(1, 2))
    site.guard.set_budget(site.local, policy, dataset="people")
    words = {"0.001": "it will be refused.", "0.1": "Fits into the budget.", "1": "needs an approval first."}
    for epsilon, verdict in words.items():
        text = fragment(site.browser("analyst"), sql=SQL, epsilon=epsilon)
        assert [one for one in words.values() if one in text] == [verdict]
    assert "Does not fit" in fragment(site.browser("analyst"), sql=SQL, epsilon="4")


def test_a_preview_in_spanish_takes_a_comma(site: Site) -> None:
    text = fragment(site.browser("analyst", lang="es"), sql=SQL, epsilon="0,5")
    assert "ε = 0,5" in text
    assert "ruido de Laplace de escala 2" in text


def test_a_preview_of_the_form_shows_its_sql(site: Site) -> None:
    text = fragment(site.browser("analyst"), tab="form", aggregate="mean", column="age", rows="100", epsilon="0.5")
    assert "SELECT AVG(age) FROM people" in text
    assert "±" in text


def test_an_error_can_be_asked_for(site: Site) -> None:
    text = fragment(site.browser("analyst"), sql=SQL, epsilon="0.5", error="20", confidence="0.9")
    cost = re.search(r"ε = ([\d.]+)", text)
    assert cost
    assert 0.05 < float(cost[1]) < 0.2


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sql": "SELECT * FROM people", "epsilon": "0.1"}, "cannot be answered privately"),
        ({"sql": SQL, "epsilon": "-1"}, "A value makes no sense"),
        ({"sql": SQL, "epsilon": "nan"}, "A value makes no sense"),
        ({"sql": SQL, "epsilon": ""}, "A value makes no sense"),
        ({"tab": "form", "aggregate": "sum", "epsilon": "1"}, "Choose a column"),
    ],
)
def test_what_is_wrong_is_told_where_the_preview_would_be(site: Site, fields: dict[str, str], words: str) -> None:
    text = fragment(site.browser("analyst"), **fields)
    assert words in text
    assert 'role="alert"' in text


def test_an_empty_question_has_no_preview_and_is_no_mistake(site: Site) -> None:
    text = fragment(site.browser("analyst"), sql="  ", epsilon="0.1")
    assert "Write a question to see" in text
    assert "cost" not in Document(text).elements[0].attributes.values()
    assert 'role="alert"' not in text


def test_a_form_with_an_empty_question_is_not_held_back_by_the_browser(site: Site) -> None:
    browser = site.browser("analyst")
    [form] = [form for form in Document(browser.get(ASK).text).all("form") if form["id"] == "question"]
    assert "novalidate" in form.attributes
    assert browser.post(ASK, tab="sql", sql="", epsilon="0.1", key=key_in(browser)).status_code == 422


def test_the_bar_is_that_of_the_tightest_budget(site: Site) -> None:
    """Limit, spent and left of one and the same: a week's ε = 1 here, not the data set's ε = 3."""
    limit = ApproxDP(epsilon=3, delta="1e-6")
    week = Window(seconds=7 * 86_400, limit=ApproxDP(epsilon=1, delta="1e-6"))
    site.guard.set_budget(site.local, Policy(limit=limit, window=week), dataset="people")
    browser = site.browser("analyst")
    browser.ask("SELECT COUNT(*) FROM people", epsilon="0.46")
    text = fragment(browser, sql=SQL, epsilon="0.1")
    [bar] = [element for element in Document(text).all("svg") if element["class"] == "bar"]
    assert float(bar["data-spent"]) == pytest.approx(0.46)
    assert bar["aria-label"] == "46.0 % spent, 10.0 % for this question"
    assert "Data set people, in this period · spent ε = 0.46 · limit ε = 1; δ = 1 × 10⁻⁶" in text
    assert "Left afterwards: <strong" in text
    assert "ε = 0.44; δ = 2 × 10⁻⁷" in text
    assert "only ε = 0.54; δ = 2 × 10⁻⁷ is left" in fragment(browser, sql=SQL, epsilon="0.6")


def test_shares_of_one_measurement_are_told_once(site: Site) -> None:
    text = fragment(site.browser("analyst"), sql="SELECT note, COUNT(*), AVG(age) FROM people GROUP BY note",
                    epsilon="0.5", rows="100")  # fmt: skip
    shares = [int(share) for share in re.findall(r"Share of the cost(?: for choosing the keys)?: (\d+) %", text)]
    assert len(shares) == 2
    assert sum(shares) == 100
    assert "The same measurement as count" in text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sql": "SELECT AVG(gender) FROM people"}, "No hay ninguna columna &#39;gender&#39;."),
        ({"sql": "SELECT COUNT(*) FROM peopel"}, "¿Se quería decir people?"),
        ({"sql": SQL, "epsilon": "x"}, "debe ser un número"),
        ({"tab": "form", "aggregate": "sum"}, "Hay que elegir una columna"),
    ],
)
def test_what_is_wrong_is_explained_in_spanish(site: Site, fields: dict[str, str], words: str) -> None:
    text = fragment(site.browser("analyst", lang="es"), **{"epsilon": "0.1", **fields})
    assert words in text
    assert 'lang="en"' not in text


def test_a_refusal_speaks_of_epsilon_and_not_of_python(site: Site) -> None:
    for lang, words in (("en", "costs ε = 5, and data set &#39;people&#39; has ε = 3"), ("es", "cuesta ε = 5, y en")):
        browser = site.browser("analyst", lang=lang)
        browser.get(ASK)
        reply = browser.post(ASK, tab="sql", sql=SQL, epsilon="5", key=key_in(browser))
        assert words in reply.text.replace("\N{NO-BREAK SPACE}", " ")
        assert "DP(" not in reply.text


def test_an_explanation_that_is_in_english_says_so(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        message = "A sentence of tomorrow."
        raise QueryError(message)

    monkeypatch.setattr(site.guard, "preview", refuse)
    text = fragment(site.browser("analyst", lang="es"), sql=SQL, epsilon="0.1")
    assert '<p lang="en">A sentence of tomorrow.</p>' in text
    assert "Esta explicación solo está en inglés." in text


def test_what_does_not_fit_is_told_before_asking(site: Site) -> None:
    assert "Does not fit: only ε = 3" in fragment(site.browser("analyst"), sql=SQL, epsilon="4")


def test_without_a_script_the_preview_is_a_page(site: Site) -> None:
    browser = site.browser("analyst")
    browser.get(ASK)
    reply = browser.post(PREVIEW, tab="sql", sql=SQL, epsilon="0.5", rows="70", key=key_in(browser))
    assert reply.status_code == 200
    document = Document(reply.text)
    values = {control["name"]: control["value"] for control in document.all("input")}
    assert (values["epsilon"], values["rows"]) == ("0.5", "70")
    assert document.all("textarea")[0].text == SQL
    assert "Fits into the budget" in reply.text


def test_choices_go_on_in_sql(site: Site) -> None:
    browser = site.browser("analyst")
    browser.get(f"{ASK}?tab=form")
    fields = {"tab": "form", "aggregate": "mean", "column": "age", "group": "sex", "epsilon": "0.5"}
    reply = browser.post(f"{PREVIEW}?tab=sql", **fields)
    assert Document(reply.text).all("textarea")[0].text == "SELECT sex, AVG(age) FROM people GROUP BY sex"


def test_asking_twice_with_one_form_pays_once(site: Site) -> None:
    browser = site.browser("analyst")
    browser.get(ASK)
    fields = {"tab": "sql", "sql": SQL, "epsilon": "0.5", "key": key_in(browser)}
    first = browser.post(ASK, **fields)
    again = browser.post(ASK, **fields)
    assert first.status_code == again.status_code == 303
    assert first.headers["location"] == again.headers["location"]
    [line] = site.guard.ledger.statement()
    assert line.spent.epsilon == Fraction(1, 2)  # type: ignore[attr-defined]
    browser.get(ASK)
    other = browser.post(ASK, **{**fields, "sql": "SELECT COUNT(*) FROM people"})
    assert other.status_code == 409
    assert "sent before, with another question" in other.text
    assert key_in(browser) != fields["key"]


def test_each_form_has_its_own_key(site: Site) -> None:
    browser = site.browser("analyst")
    keys = set()
    for _ in range(5):
        browser.get(ASK)
        keys.add(key_in(browser))
    assert len(keys) == 5


def test_more_than_there_is_is_refused_and_the_question_kept(site: Site) -> None:
    browser = site.browser("analyst")
    browser.get(ASK)
    reply = browser.post(ASK, tab="sql", sql=SQL, epsilon="3.5", key=key_in(browser))
    assert reply.status_code == 403
    assert "The budget does not allow this" in reply.text
    assert Document(reply.text).all("textarea")[0].text == SQL
    assert site.guard.ledger.statement()[0].spent.epsilon == 0  # type: ignore[attr-defined]


def line(limit: PureDP | ApproxDP | ZCDP, left: PureDP | ApproxDP | ZCDP, **scope: str) -> StatementLine:
    return StatementLine(scope=Scope(**scope), policy=Policy(limit=limit), spent=limit, remaining=left)


def test_the_slider_ends_where_the_least_budget_ends() -> None:
    whole, part = PureDP(epsilon=3), PureDP(epsilon="0.789")
    account = BudgetSummary.of([line(whole, whole, dataset="d"), line(whole, part, dataset="d", analyst="a")])
    assert (account.unit, account.high, account.low, account.default, account.delta) == (
        "epsilon",
        "0.78",
        "0.01",
        "0.1",
        False,
    )
    account = BudgetSummary.of([line(ZCDP(rho=1), ZCDP(rho=1), dataset="d")])
    assert (account.unit, account.high, account.default) == ("rho", "1", "0.005")
    approx = ApproxDP(epsilon=1, delta="1e-6")
    assert BudgetSummary.of([line(approx, approx, dataset="d")]).delta
    assert BudgetSummary.of([]).high == "0"
    window = Policy(limit=whole, window=Window(seconds=60, limit=PureDP(epsilon=1)))
    low = StatementLine(
        scope=Scope(dataset="d"), policy=window, spent=whole, remaining=whole, window_remaining=PureDP(epsilon="0.2")
    )
    assert BudgetSummary.of([low]).high == "0.2"


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**6))
def test_the_slider_never_offers_more_than_there_is(left: Fraction) -> None:
    account = BudgetSummary(unit="epsilon", left=left)
    assert 0 < Fraction(account.low) <= Fraction(account.high) <= left
    assert 0 < Fraction(account.default) <= left


def test_what_is_left_never_falls_below_nothing() -> None:
    assert remaining_after(PureDP(epsilon=1), PureDP(epsilon=2)) == PureDP(epsilon=0)
    assert remaining_after(PureDP(epsilon=1), ZCDP(rho=1)) is None
    assert remaining_after(GaussianDP(mu=1), GaussianDP(mu=1)) is None
    assert remaining_after(ZCDP(rho=1), ZCDP(rho="1/4")) == ZCDP(rho="3/4")


FIT = {"tab": "model", "model": "Ridge", "target": "weight", "feature age": "yes", "epsilon": "0.5"}


def test_the_preview_of_a_fit_tells_its_cost_and_spends_nothing(site: Site) -> None:
    text = fragment(site.browser("analyst"), **FIT)
    assert "ε = 0.5" in text
    assert "Fits into the budget. Left afterwards: <strong" in text
    assert "The error of a model depends on the data" in text
    text = fragment(site.browser("analyst", lang="es"), **{**FIT, "epsilon": "0,25"})
    assert "ε = 0,25" in text
    assert "El error de un modelo depende de los datos" in text
    assert site.guard.ledger.statement()[0].spent.epsilon == 0  # type: ignore[attr-defined]


def test_a_model_without_columns_has_no_preview_and_is_no_mistake(site: Site) -> None:
    text = fragment(site.browser("analyst"), tab="model", model="Ridge", epsilon="0.5")
    assert "Choose a model and at least one column" in text
    assert 'role="alert"' not in text


def test_a_model_is_fitted_from_its_form_and_paid_for_once(site: Site) -> None:
    browser = site.browser("analyst")
    fields = {**FIT, "condition": "age >= 18", "key": key_in(_open(browser))}
    first, again = (browser.post(ASK, **fields) for _ in range(2))
    assert first.status_code == again.status_code == 303
    assert first.headers["location"] == again.headers["location"]
    [line] = site.guard.ledger.statement()
    assert line.spent.epsilon == Fraction(1, 2)  # type: ignore[attr-defined]
    page = browser.get(first.headers["location"]).text
    assert "coef_" in page
    assert "age &gt;= 18" in page
    scaler = {"tab": "model", "model": "StandardScaler", "target": "weight", "feature age": "yes", "epsilon": "0.1"}
    reply = browser.post(ASK, **scaler, key=key_in(_open(browser)))
    assert "mean_" in browser.get(reply.headers["location"]).text


def _open(browser: Browser) -> Browser:
    browser.get(f"{ASK}?tab=model")
    return browser


def test_a_fit_beyond_the_threshold_waits_for_its_approval(site: Site) -> None:
    policy = Policy(limit=ApproxDP(epsilon=3, delta="1e-6"), approval_above=Fraction(1, 4))
    site.guard.set_budget(site.local, policy, dataset="people")
    for lang, words in (("en", "on the page Approvals"), ("es", "desde la página Aprobaciones")):
        browser = site.browser("analyst", lang=lang)
        reply = browser.post(ASK, **FIT, key=key_in(_open(browser)))
        assert reply.status_code == 403
        assert words in reply.text
        assert 'href="/approvals">' in reply.text
    assert {one.request["model"] for one in site.guard.approvals(site.local)} == {"Ridge"}
    assert site.guard.ledger.statement()[0].spent.epsilon == 0  # type: ignore[attr-defined]


def test_a_fit_that_is_refused_keeps_its_choices_and_spends_nothing(site: Site) -> None:
    wrong = [
        {"model": "SVC"},
        {"target": ""},
        {"target": "age"},
        {"feature nothing": "yes"},
        {"feature note": "yes"},
        {"condition": "age >"},
        {"condition": "age > (SELECT MAX(age) FROM people)"},
        {"epsilon": ""},
        {"epsilon": "-1"},
        {"epsilon": "inf"},
        {"delta": "2"},
    ]
    browser = site.browser("analyst")
    for fields in wrong:
        reply = browser.post(ASK, **{**FIT, **fields}, key=key_in(_open(browser)))
        assert reply.status_code == 422, fields
        boxes = {box["name"]: box.attributes for box in Document(reply.text).all("input") if box["type"] == "checkbox"}
        assert "checked" in boxes["feature age"], fields
        assert "checked" not in boxes["feature weight"], fields
    reply = browser.post(ASK, tab="model", model="Ridge", target="weight", epsilon="1", key=key_in(_open(browser)))
    assert reply.status_code == 422
    reply = browser.post(ASK, **{**FIT, "epsilon": "3.5"}, key=key_in(_open(browser)))
    assert reply.status_code == 403
    assert site.guard.ledger.statement()[0].spent.epsilon == 0  # type: ignore[attr-defined]


def test_only_analysts_fit(site: Site) -> None:
    for role in ("owner", "curator", "auditor"):
        browser = site.browser(role)
        assert browser.get(f"{ASK}?tab=model").status_code == 403
        assert browser.post(ASK, **FIT, key="a" * 32).status_code == 403
        assert browser.post(PREVIEW, **FIT).status_code == 403


def test_a_budget_in_rho_pays_for_a_fit(site: Site) -> None:
    site.guard.set_budget(site.local, ZCDP(rho=1), dataset="people")
    browser = site.browser("analyst")
    fields = {name: value for name, value in FIT.items() if name != "epsilon"}
    assert browser.post(ASK, **fields, rho="0.1", key=key_in(_open(browser))).status_code == 303
    assert browser.post(ASK, **fields, rho="", key=key_in(_open(browser))).status_code == 422
