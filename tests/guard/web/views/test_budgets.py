from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from celosia.core import GaussianEvent, ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.guarantees import ZCDP, ApproxDP, PureDP
from celosia.guard.auth.identity import Identity
from celosia.guard.web.views.budgets import parse_limit, parse_policy
from celosia.ledger import Policy, Window
from celosia.local import DirectEncoding, collect
from tests.guard.web.browser import Document

if TYPE_CHECKING:
    from tests.guard.web.browser import Site


def test_budgets_are_bars(site: Site) -> None:
    analyst = site.browser("analyst")
    analyst.ask("SELECT COUNT(*) FROM people", epsilon="0.75")
    for role in ("analyst", "curator", "auditor", "owner"):
        text = site.browser(role).get("/budget").text
        assert 'data-spent="0.2500"' in text
        assert 'aria-label="25 % spent"' in text
        assert ('action="/budget"' in text) is (role in ("curator", "owner"))


KIND_WORDS = {
    "en": ("Spent by kind", "Queries", "Models", "Local collections", "Federated training", "need not add up"),
    "es": (
        "Gasto por clases",
        "Consultas",
        "Modelos",
        "Recogidas locales",
        "Entrenamiento federado",
        "no tienen por qué",
    ),
}


@pytest.mark.parametrize("lang", ["en", "es"])
def test_everything_that_leaves_is_on_one_page(site: Site, lang: str) -> None:
    heading, queries, models, local, federated, note = KIND_WORDS[lang]
    protocol = DirectEncoding(domain=4, epsilon=1)
    site.browser("analyst").ask("SELECT COUNT(*) FROM people", epsilon="0.75")
    page = site.browser("auditor", lang=lang).get("/budget").text
    assert page.count(heading) == 1
    assert note not in page
    assert local not in page
    ledger = site.guard.ledger
    ledger.set_budget(PureDP(epsilon=4, adjacency=ReplaceOne, unit="person"), dataset="phones")
    for _ in range(3):
        with collect(protocol, budget=ledger.account("phones")) as aggregate:
            aggregate.absorb(protocol.privatize([0, 3]))
    event = GaussianEvent(variance=1600, sensitivity_squared=1)
    ledger.reserve(event, dataset="people", question="rounds", kind="federated")
    text = site.browser("auditor", lang=lang).get("/budget").text
    row = r'<th scope="row">([^<]*) <span class="muted">\(([0-9]+)\)</span></th><td class="figure">([^<]*)</td>'
    rows = re.findall(row, text)
    assert [found[:2] for found in rows] == [(queries, "1"), (federated, "1"), (local, "3")]
    assert rows[2][2].replace("\xa0", " ") == "ε = 3"
    assert models not in text
    assert text.count(note) == 1  # the sums of epsilons add up
    assert heading not in site.browser("analyst", lang=lang).get("/budget").text


def test_an_analyst_sees_no_other_analysts_budget(site: Site) -> None:
    site.guard.add_user(site.local, "rival-1", "analyst")
    site.guard.set_budget(site.local, PureDP(epsilon=1), analyst="rival-1")
    assert "rival-1" not in site.browser("analyst").get("/budget").text
    assert "rival-1" in site.browser("curator").get("/budget").text


def test_a_curator_sets_a_budget(site: Site) -> None:
    browser = site.browser("curator")
    browser.get("/budget")
    fields = {"dataset": "people", "analyst": "analyst-1", "kind": "approx", "epsilon": "1", "delta": "1e-7"}
    reply = browser.post("/budget", **fields, days="7", share="0.25")
    assert reply.headers["location"] == "/budget?done=budget"
    assert "The budget was set" in browser.get("/budget?done=budget").text
    line = next(line for line in site.guard.ledger.statement() if line.scope.analyst == "analyst-1")
    assert line.policy.limit.epsilon == 1  # type: ignore[attr-defined]
    assert line.policy.window is not None
    assert line.policy.window.seconds == 7 * 86_400
    assert line.policy.window.limit.epsilon == Fraction(1, 4)  # type: ignore[attr-defined]
    assert "In this period" in site.browser("analyst").get("/budget").text


def test_a_curator_sets_a_preset(site: Site) -> None:
    browser = site.browser("curator", lang="es")
    page = Document(browser.get("/budget").text)
    options = {one["value"] for one in page.all("option")}
    assert {"preset", "cautious", "usual", "generous"} <= options
    form = {"dataset": "people", "kind": "preset", "preset": "cautious", "persons": "30000"}
    before = site.guard.ledger.head
    asked = browser.post("/budget", **form)
    assert "El presupuesto es ahora ε = 3; δ = 10⁻⁶" in asked.text.replace("\xa0", " ").replace("1 × ", "")
    assert site.guard.ledger.head == before
    reply = browser.post("/budget", **form, confirm="yes")
    assert reply.headers["location"] == "/budget?done=budget"
    [line] = site.guard.ledger.statement()
    assert line.policy.limit == ApproxDP(epsilon="0.5", delta="1e-6")
    wrong = browser.post("/budget", dataset="people", kind="preset", preset="usual", persons="30.000")
    assert wrong.status_code == 422
    assert "El número de personas debe ser un número entero de 1 a 10^12, y es &#39;30.000&#39;." in wrong.text
    assert 'value="30.000"' in wrong.text


def test_rules_are_shown_and_asked_about_and_take_a_comma(site: Site) -> None:
    browser = site.browser("curator", lang="es")
    assert " selected>people</option>" in browser.get("/budget?dataset=people").text
    form = {"dataset": "people", "kind": "approx", "epsilon": "2,5", "delta": "1e-6", "approval_above": "0,5"}
    asked = browser.post("/budget", **form).text.replace("\xa0", " ")
    assert "ε = 2,5; δ = 1 × 10⁻⁶ (una pregunta que cueste más de 0,5 necesita aprobación)" in asked
    assert browser.post("/budget", **form, confirm="yes").status_code == 303
    [line] = site.guard.ledger.statement()
    assert line.policy.approval_above == Fraction(1, 2)
    for path in ("/budget", "/datasets/people", "/datasets/people/ask"):
        assert "a question that costs more than 0.5 needs an approval." in site.browser("analyst").get(path).text


def test_a_budget_of_another_kind_keeps_its_rules(site: Site) -> None:
    policy = Policy(limit=PureDP(epsilon=3), analyst_share=Fraction(1, 10))
    site.guard.set_budget(Identity.local(), policy, dataset="people")
    site.browser("curator").post("/budget", dataset="people", kind="approx", epsilon="3", delta="1e-6", confirm="yes")
    [line] = site.guard.ledger.statement()
    assert line.policy.limit == ApproxDP(epsilon=3, delta="1e-6")
    assert line.policy.analyst_share == Fraction(1, 10)


@pytest.mark.parametrize("role", ["analyst", "auditor"])
def test_others_may_not(site: Site, role: str) -> None:
    browser = site.browser(role)
    browser.get("/budget")
    before = site.guard.ledger.head
    assert browser.post("/budget", dataset="people", kind="pure", epsilon="100").status_code == 403
    assert site.guard.ledger.head == before


def test_what_is_no_budget_is_told_on_the_page(site: Site) -> None:
    cases: list[dict[str, str]] = [
        {},
        {"kind": "pure"},
        {"kind": "pure", "epsilon": "nan"},
        {"kind": "pure", "epsilon": "-1"},
        {"kind": "approx", "epsilon": "1"},
        {"kind": "zcdp", "epsilon": "1"},
        {"kind": "preset"},
        {"kind": "preset", "preset": "usual"},
        {"kind": "preset", "preset": "usual", "persons": "0"},
        {"kind": "preset", "preset": "usual", "persons": "1" * 5000},
        {"kind": "preset", "preset": "lavish", "persons": "30000"},
        {"kind": "pure", "epsilon": "1", "days": "0", "share": "1"},
        {"kind": "pure", "epsilon": "1", "days": "x", "share": "1"},
        {"kind": "pure", "epsilon": "1", "days": "7"},
        {"kind": "approx", "epsilon": "1", "delta": "1e-6", "analyst": "nobody-1"},
    ]
    for fields in cases:
        browser = site.browser("curator")
        browser.get("/budget")
        before = site.guard.ledger.head
        reply = browser.post("/budget", dataset="people", **fields)
        assert reply.status_code in (404, 422)
        assert 'role="alert"' in reply.text
        assert site.guard.ledger.head == before


def test_what_a_policy_has_besides_stays() -> None:
    present = Policy(limit=ApproxDP(epsilon=1, delta="1e-6", unit="person"), allow_real=True)
    changed = parse_policy({"kind": "approx", "epsilon": "2", "delta": "1e-7"}, present)
    assert changed.allow_real
    assert changed.limit == ApproxDP(epsilon=2, delta="1e-7", unit="person")
    other = parse_policy({"kind": "zcdp", "rho": "0.5"}, present)
    assert other.limit == ZCDP(rho="0.5")
    assert not other.allow_real


def test_a_limit_needs_its_kind() -> None:
    with pytest.raises(ParameterError, match="kind"):
        parse_limit({"kind": "renyi"})


def test_a_period_has_a_bar_of_its_own(site: Site) -> None:
    week = Window(seconds=7 * 86_400, limit=PureDP(epsilon=1))
    site.guard.set_budget(site.local, Policy(limit=PureDP(epsilon=4), window=week), dataset="people")
    analyst = site.browser("analyst")
    analyst.ask("SELECT COUNT(*) FROM people", epsilon="0.5")
    bars = [bar for bar in Document(analyst.get("/budget").text).all("svg") if bar["class"] == "bar"]
    assert [(bar["data-spent"], bar["aria-label"]) for bar in bars] == [
        ("0.1250", "13 % spent"),
        ("0.5000", "50 % of this period spent"),
    ]
