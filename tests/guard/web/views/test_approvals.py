from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from celosia.core import ApproxDP
from celosia.core.errors import ApprovalRequiredError
from celosia.guard.auth.identity import Identity
from celosia.guard.schema.requests import FitRequest
from celosia.ledger import Policy

if TYPE_CHECKING:
    from tests.guard.web.browser import Browser, Site


def ask_costly(site: Site) -> Browser:
    limit = Policy(limit=ApproxDP(epsilon=3, delta="1e-6"), approval_above=Fraction(1, 2))
    site.guard.set_budget(Identity.local(), limit, dataset="people")
    analyst = site.browser("analyst")
    key = re.search(r'name="key" value="(.*?)"', analyst.get("/datasets/people/ask").text)
    assert key is not None
    reply = analyst.post("/datasets/people/ask", tab="sql", sql="SELECT COUNT(*) FROM people", epsilon="1", key=key[1])
    assert reply.status_code == 403
    assert "was requested" in reply.text
    return analyst


def test_a_curator_grants_and_the_analyst_asks(site: Site) -> None:
    analyst, curator = ask_costly(site), site.browser("curator")
    page = curator.get("/approvals").text
    assert "analyst-1 asks about people" in page
    assert "SELECT COUNT(*) FROM people" in page
    found = re.search(r'name="id" value="(.*?)"', page)
    assert found is not None
    assert "Ask now" not in analyst.get("/approvals").text
    reply = curator.post("/approvals", id=found[1], decision="granted", reason="<b>once</b>")
    assert reply.headers["location"] == "/approvals?done=granted"
    assert "is granted" in curator.get("/approvals?done=granted").text
    page = analyst.get("/approvals").text
    assert "&lt;b&gt;once&lt;/b&gt;" in page
    assert "Grant" not in page
    reply = analyst.post("/approvals/ask", id=found[1])
    assert re.fullmatch("/answers/[0-9a-f]+", reply.headers["location"])
    assert analyst.get(reply.headers["location"]).status_code == 200
    assert "See the answer" in analyst.get("/approvals").text


def test_an_approved_fit_is_made_from_the_page(site: Site) -> None:
    analyst, local = ask_costly(site), Identity.local()
    fit = FitRequest(dataset="people", model="PCA", parameters={"epsilon": "1"}, features=["age"])
    with pytest.raises(ApprovalRequiredError):
        site.guard.ask(site.guard.authenticate(site.keys["analyst"]), fit, "a fit")
    [approval] = [one for one in site.guard.approvals(local) if one.key == "a fit"]
    site.guard.decide_approval(site.guard.authenticate(site.keys["curator"]), approval.id, granted=True)
    assert "PCA" in analyst.get("/approvals").text
    reply = analyst.post("/approvals/ask", id=approval.id)
    assert "components_" in analyst.get(reply.headers["location"]).text


def test_in_spanish(site: Site) -> None:
    ask_costly(site)
    page = site.browser("curator").get("/approvals?lang=es").text
    assert "analyst-1 pregunta a people" in page
    assert "Conceder" in page
    assert "Grant" not in page


def test_what_is_wrong_is_told_on_the_page(site: Site) -> None:
    analyst, curator = ask_costly(site), site.browser("curator")
    [approval], head = site.guard.approvals(Identity.local()), site.guard.ledger.head
    curator.get("/approvals")
    for fields in ({"id": approval.id, "decision": "perhaps"}, {"id": "0f", "decision": "granted"}, {}):
        assert curator.post("/approvals", **fields).status_code in (404, 422)
    for wrong in ("0f", "", approval.id):  # not there, or not granted
        assert analyst.post("/approvals/ask", id=wrong).status_code in (403, 422)
    assert analyst.post("/approvals", id=approval.id, decision="granted").status_code == 403
    assert site.guard.ledger.head == head
