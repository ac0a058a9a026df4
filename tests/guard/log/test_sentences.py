"""Every kind of line is a sentence in both languages, and nothing in a line can break the page that shows it."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core.messages.message import Message
from celosia.guard.auth.identity import Identity
from celosia.guard.config.settings import Config
from celosia.guard.log.sentences import KINDS, say_lines
from celosia.guard.roles import Role
from celosia.guard.schema.requests import QueryRequest
from celosia.guard.service import Guard
from celosia.guard.storage.tampering import DATASET_LINES
from celosia.ledger import LogLine, Policy, Window
from celosia.query.serial.messages import message_to_json

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = Identity.local()
SCHEMA = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(["by", "dataset", "analyst", "policy", "event", "question", "id", "now", "user", "role", "key"])


def make_line(kind: str, body: dict[str, Any]) -> LogLine:
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return LogLine(sequence=1, at=at, kind=kind, body=body, previous="", hash="")


def test_what_was_done_is_said(tmp_path: Path) -> None:
    for name in ("deaths", "newer"):
        (tmp_path / f"{name}.csv").write_text("age\n" + "7\n" * 9)
    ana, eva, cora = (
        Identity(name=n, role=r) for n, r in (("ana", Role.ANALYST), ("eva", Role.ANALYST), ("cora", Role.CURATOR))
    )
    count = QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", epsilon="0.1")
    with Guard.open(Config(store="memory://", slot_milliseconds=0)) as guard:
        guard.add_user(LOCAL, "ana", "analyst")
        key = guard.add_user(LOCAL, "eva", "analyst", dt.datetime(2999, 1, 2, tzinfo=dt.UTC))
        guard.add_dataset(LOCAL, "deaths", str(tmp_path / "deaths.csv"), SCHEMA)
        window = Window(seconds=86_400 * 7, limit=cl.PureDP(epsilon=1))
        guard.set_budget(cora, Policy(limit=cl.PureDP(epsilon=3), window=window), dataset="deaths")
        guard.set_budget(cora, cl.PureDP(epsilon=2), dataset="deaths", analyst="eva")
        guard.set_budget(cora, Policy(limit=cl.PureDP(epsilon=3), approval_above=Fraction(1, 2)), dataset="deaths")
        for who, number in ((ana, "1"), (ana, "2"), (eva, "3")):
            guard.ask(who, count, number)
        guard.set_bounds(cora, "deaths", "age", 0, 99)
        guard.new_version(cora, "deaths")
        newer = str(tmp_path / "newer.csv")
        told = {"changed": guard.update_dataset(cora, "deaths", source=newer, title="x", schema=SCHEMA)[1]}
        guard.share_dataset(cora, "deaths", ["eva"])
        guard.share_dataset(cora, "deaths", None)
        told["retired"] = guard.update_dataset(cora, "deaths", retired=True)[1]
        told["restored"] = guard.update_dataset(cora, "deaths", retired=False)[1]
        guard.revoke(LOCAL, "eva")
        lines = list(guard.ledger.entries())
        said = say_lines(guard.ledger, lines)
    sentences = [str(one.sentence) for one in said]
    # The log says what the curator was told, word for word.
    notes = {kind: " ".join(map(str, those)) for kind, those in told.items()}
    assert "What was spent on deaths so far still counts in full" in notes["changed"]
    for kind, those in told.items():
        [line] = [one for one in lines if one.kind == f"dataset {kind}"]
        assert line.body["notes"] == [message_to_json(note) for note in those]
    for words in (
        "local added the user ana, as analyst.",
        f"local gave eva the key {key[8:20]}, which ends on 2999-01-02.",
        f"local added the data set deaths, from {tmp_path}/deaths.csv.",
        "ana asked deaths, at a cost of PureDP(epsilon='0.1'): SELECT COUNT(*) FROM deaths",
        "The question of ana to deaths in line 10 was answered.",
        "ana asked deaths again and got the stored answer, for nothing: SELECT COUNT(*) FROM deaths",
        "cora changed the bounds of age in deaths, from Integer(0, 120) to Integer(0, 99).",
        "cora declared version 2 of deaths.",
        f"cora changed the data set deaths: the title, the source, the schema, the version. {notes['changed']}",
        "cora let these analysts alone see deaths: eva.",
        "cora let all analysts see deaths.",
        f"cora retired the data set deaths. {notes['retired']}",
        f"cora restored the data set deaths. {notes['restored']}",
        f"local revoked the key {key[8:20]} of eva.",
    ):
        assert words in sentences, words
    assert any("at most PureDP(epsilon=1) in 7 days" in one for one in sentences)
    assert any("Rules for analysts: a question that costs more than 0.5 needs an approval." in one for one in sentences)
    assert any("which only their own budget paid for" in one for one in sentences)
    assert all(one.sentence.code != "guard.log_other" for one in said)
    assert all(one.sentence.has_language("es") and one.sentence.render("es") != str(one.sentence) for one in said)
    asked = [one for one in said if one.line.kind in ("reserved", "committed", "repeated")]
    assert {(one.user, one.dataset) for one in asked} == {("ana", "deaths"), ("eva", "deaths")}


def say(ledger: cl.Ledger, kind: str, **body: Any) -> tuple[str, str]:
    [said] = say_lines(ledger, [make_line(kind, body)])
    return said.write("en"), said.write("es")


def test_a_question_without_an_analyst_is_the_owners() -> None:
    event = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event
    with cl.open_ledger("memory://") as ledger:
        ledger.set_budget(cl.PureDP(epsilon=1), dataset="big")
        ledger.fail(ledger.reserve(event, dataset="big", question="?"))
        asked, failed = (one.write("en") for one in say_lines(ledger, list(ledger.entries())[-2:]))
        spanish = [one.write("es") for one in say_lines(ledger, list(ledger.entries())[-2:])]
    assert asked == "The owner asked big, at a cost of ε = 0.1: ?"
    assert failed == "The question of the owner to big in line 3 failed. It stays paid for."
    assert spanish[0].startswith("La persona responsable preguntó a big")
    assert "la pregunta de la persona responsable a big" in spanish[1]


def test_a_decision_is_said_with_its_reason() -> None:
    body = {"by": "cora", "approval": "a1", "analyst": "ana", "dataset": "big"}
    with cl.open_ledger("memory://") as ledger:
        for state, word in (("granted", "concedió"), ("denied", "denegó")):
            english, spanish = (
                f"cora {state} approval a1 of ana on big.",
                f"cora {word} la aprobación a1 de ana sobre big.",
            )
            assert say(ledger, f"approval {state}", **body, reason="") == (english, spanish)
            with_reason = say(ledger, f"approval {state}", **body, reason="for the report")
            assert with_reason == (f"{english} The reason: for the report", f"{spanish} El motivo: for the report")


def test_a_change_says_what_it_means_for_past_spending() -> None:
    with cl.open_ledger("memory://") as ledger:
        notes = [message_to_json(Message("guard.spending_stays", name="big"))]
        body = {"by": "cora", "dataset": "big", "was": {}, "now": {"schema": "x"}}
        english, spanish = say(ledger, "dataset changed", **body, notes=notes)
        title, _ = say(ledger, "dataset changed", by="cora", dataset="big", was={}, now={"title": "x"})
    assert "changed the data set big: the schema. What was spent on big so far still counts in full" in english
    assert "Lo gastado hasta ahora en big sigue contando por completo" in spanish
    assert title == "cora changed the data set big: the title."


def test_every_kind_of_a_line_about_data_sets_has_a_sentence() -> None:
    assert set(DATASET_LINES) <= set(KINDS)


@given(st.sampled_from([*KINDS, "note"]), st.dictionaries(NAMES, JSON, max_size=6))
def test_a_line_of_any_content_is_said(kind: str, body: dict[str, Any]) -> None:
    with cl.open_ledger("memory://") as ledger:
        [said] = say_lines(ledger, [make_line(kind, body)])
    for language in ("en", "es"):
        text = said.sentence.render(language)
        assert text.count("\n") == 0 or "\n" in kind
        assert len(text) < 3_000


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_long_question_is_cut(language: str) -> None:
    with cl.open_ledger("memory://") as ledger:
        ledger.set_budget(cl.ZCDP(rho=1), dataset="deaths")
        event = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event
        ledger.reserve(event, dataset="deaths", analyst="ana", question="SELECT " + "x" * 90_000)
        [*_, said] = say_lines(ledger, list(ledger.entries()))
    assert len(said.sentence.render(language)) < 500
