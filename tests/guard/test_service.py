from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import celosia as cl
from celosia.core.errors import (
    ApprovalRequiredError,
    BudgetExceededError,
    CelosiaError,
    EngineError,
    LedgerError,
    NotAllowedError,
    ParameterError,
    QueryError,
    RequestConflictError,
    SchemaError,
)
from celosia.guard.auth.identity import Identity
from celosia.guard.config.sections import Limits
from celosia.guard.config.settings import Config
from celosia.guard.datasets.dataset import Dataset, PublicTable
from celosia.guard.queries.pace import delay_end, delay_until_visible
from celosia.guard.roles import Role
from celosia.guard.schema.requests import FitRequest, QueryRequest
from celosia.guard.service import Guard
from celosia.guard.storage.tables import APPROVALS
from celosia.ledger import Policy, Request, Window
from celosia.query import interruption
from celosia.query.answering import release_table as answering
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.serving.errors import NotFoundError
from tests.reliability.serving import add_expired_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("guard service")  # what is started for them is started once

SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 120

[columns.sex]
kind = "category"
values = ["F", "M"]
"""
COUNT = QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", epsilon="0.1")
BY_SEX = QueryRequest(dataset="deaths", sql="SELECT sex, COUNT(*) FROM deaths GROUP BY sex", epsilon="0.1")
LOCAL = Identity.local()
FOLDER = "CELOSIA_TEST_FOLDER"


def replace(value: Any, **changes: Any) -> Any:
    """Return a configuration or a request with other fields, checked again."""
    return (
        QueryRequest(**dict(value) | changes)
        if isinstance(value, QueryRequest)
        else dataclasses.replace(value, **changes)
    )


@dataclass
class Place:
    """A guard with a data set, a budget, and one user of each role."""

    guard: Guard
    folder: Path
    keys: dict[str, str]

    def who(self, name: str) -> Identity:
        return self.guard.authenticate(self.keys[name])

    def spent(self) -> Any:
        return self.guard.ledger.account("deaths").spent.epsilon  # type: ignore[attr-defined]


def write_rows(folder: Path, name: str = "deaths") -> None:
    lines = ["age,sex"] + [f"{20 + n % 60},{'FM'[n % 2]}" for n in range(1_000)]
    (folder / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")


def open_guard(folder: Path, store: str) -> Place:
    write_rows(folder)
    guard = Guard.open(Config(store=store, limits=Limits(cells=200)))
    names = {"olga": "owner", "cora": "curator", "ana": "analyst", "eva": "analyst", "alda": "auditor"}
    keys = {name: guard.add_user(LOCAL, name, role) for name, role in names.items()}
    guard.add_dataset(LOCAL, "deaths", f"${{{FOLDER}}}/deaths.csv", SCHEMA, title="Deaths in 2021")
    guard.set_budget(LOCAL, cl.PureDP(epsilon=1), dataset="deaths")
    return Place(guard, folder, keys)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A guard that is closed, to be copied: its data set is wherever the environment says."""
    folder = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(FOLDER, str(folder))
        there = open_guard(folder, f"sqlite:///{folder}/ledger.db")
        there.guard.close()
    return there


@pytest.fixture
def place(template: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    for name in ("ledger.db", "deaths.csv"):
        shutil.copy(template.folder / name, tmp_path / name)
    with Guard.open(Config(store=f"sqlite:///{tmp_path}/ledger.db", limits=Limits(cells=200))) as guard:
        yield Place(guard, tmp_path, template.keys)


# ------------------------------------------------------------------------------------------- every role, every method

METHODS: dict[str, tuple[set[str], Callable[[Place, Identity], Any]]] = {
    "datasets": ({"owner", "curator", "analyst", "auditor"}, lambda p, w: p.guard.datasets(w)),
    "dataset": ({"owner", "curator", "analyst", "auditor"}, lambda p, w: p.guard.dataset(w, "deaths")),
    "dummy_rows": ({"owner", "curator", "analyst", "auditor"}, lambda p, w: p.guard.dummy_rows(w, "deaths")),
    "add_dataset": ({"owner", "curator"}, lambda p, w: p.guard.add_dataset(w, "births", _births(p), SCHEMA)),
    "data_files": ({"owner", "curator"}, lambda p, w: p.guard.data_files(w)),
    "inspect_file": ({"owner", "curator"}, lambda p, w: p.guard.inspect_file(w, _listed(p))),
    "draft_schema": ({"owner", "curator"}, lambda p, w: p.guard.draft_schema(w, _listed(p))),
    "add_file": ({"owner", "curator"}, lambda p, w: p.guard.add_file(w, "moves", _listed(p), SCHEMA)),
    "sharing": ({"owner", "curator"}, lambda p, w: p.guard.sharing(w, "deaths")),
    "schema": ({"curator"}, lambda p, w: p.guard.schema(w, "deaths")),
    "share_dataset": ({"owner", "curator"}, lambda p, w: p.guard.share_dataset(w, "deaths", ["ana"])),
    "update_dataset": ({"owner", "curator"}, lambda p, w: p.guard.update_dataset(w, "deaths", title=w.name)),
    "set_bounds": ({"curator"}, lambda p, w: p.guard.set_bounds(w, "deaths", "age", 0, 100)),
    "new_version": ({"owner", "curator"}, lambda p, w: p.guard.new_version(w, "deaths")),
    "preview": ({"analyst"}, lambda p, w: p.guard.preview(w, COUNT)),
    "ask": ({"analyst"}, lambda p, w: p.guard.ask(w, COUNT, "k")),
    "answer": ({"analyst"}, lambda p, w: p.guard.answer(w, p.guard.ask(p.who("ana"), COUNT, "a").id)),
    "answers": ({"analyst"}, lambda p, w: p.guard.answers(w)),
    "save_question": (
        {"analyst"},
        lambda p, w: p.guard.save_question(w, p.guard.ask(p.who("ana"), COUNT, "a").id, "all"),
    ),
    "saved_questions": ({"analyst"}, lambda p, w: p.guard.saved_questions(w)),
    "forget_question": ({"analyst"}, lambda p, w: p.guard.forget_question(w, _saved(p))),
    "cancel": ({"analyst"}, lambda p, w: p.guard.cancel(w, p.guard.ask(p.who("ana"), COUNT, "a").id)),
    "approvals": ({"owner", "curator", "analyst"}, lambda p, w: p.guard.approvals(w)),
    "decide_approval": (
        {"owner", "curator"},
        lambda p, w: p.guard.decide_approval(w, _file_approval(p), granted=True),
    ),
    "budget": ({"owner", "curator", "analyst", "auditor"}, lambda p, w: p.guard.budget(w)),
    "set_budget": ({"owner", "curator"}, lambda p, w: p.guard.set_budget(w, cl.PureDP(epsilon=9), dataset="deaths")),
    "users": ({"owner"}, lambda p, w: p.guard.users(w)),
    "add_user": ({"owner"}, lambda p, w: p.guard.add_user(w, "new", "owner")),
    "add_key": ({"owner"}, lambda p, w: p.guard.add_key(w, "olga")),
    "revoke": ({"owner"}, lambda p, w: p.guard.revoke(w, "eva")),
    "log": ({"auditor"}, lambda p, w: p.guard.log(w)),
    "export_log": ({"auditor"}, lambda p, w: "".join(p.guard.export_log(w, "csv"))),
    "verify": ({"auditor"}, lambda p, w: p.guard.verify(w)),
}
NOT_BY_ROLE = {"open_datasets", "authenticate", "close", "health", "open", "sign_in", "sign_out", "identify"}
PEOPLE = {"owner": "olga", "curator": "cora", "analyst": "ana", "auditor": "alda"}


def _file_approval(place: Place) -> str:
    costly = {"dataset": "deaths", "sql": "SELECT COUNT(*) FROM deaths"}
    request, cost = Request(key="k", digest="d"), cl.PureDP(epsilon=1)
    return place.guard._approvals.file("ana", request, costly, cost=cost, question="How many?").id


def _saved(place: Place) -> str:
    who = place.who("ana")
    place.guard.save_question(who, place.guard.ask(who, COUNT, "a").id, "all")
    return "all"


def _listed(place: Place) -> str:
    """The name of a file that is listed."""
    write_rows(place.folder, "moves")
    place.guard.config = replace(place.guard.config, data_folders=(place.folder,))
    return f"{place.folder.name}/moves.csv"


def _births(place: Place) -> str:
    write_rows(place.folder, "births")
    return str(place.folder / "births.csv")


def test_the_table_has_every_method() -> None:
    public = {
        name for name, value in vars(Guard).items() if not name.startswith("_") and callable(getattr(Guard, name))
    }
    assert public == METHODS.keys() | NOT_BY_ROLE


@pytest.mark.parametrize("role", PEOPLE)
def test_a_role_that_may_not_changes_and_learns_nothing(place: Place, role: str) -> None:
    identity = place.who(PEOPLE[role])
    place.guard.ask(place.who("ana"), COUNT, "a")
    _file_approval(place)  # what is there already is not filed again by the table
    head = place.guard.ledger.head
    for method, (allowed, call) in METHODS.items():
        if role not in allowed:
            with pytest.raises(NotAllowedError, match=f"An? {role} may not"):
                call(place, identity)
            assert place.guard.ledger.head == head, method


@pytest.mark.parametrize("method", METHODS)
def test_the_roles_that_may_do(place: Place, method: str) -> None:
    allowed, call = METHODS[method]
    identities = [place.who(PEOPLE[role]) for role in sorted(allowed)]
    for number, identity in enumerate(identities):
        if method in {"add_dataset", "add_file", "add_user"} and number:
            continue  # what is there cannot be added again
        call(place, identity)
    assert place.guard.ledger.verify().ok


# ------------------------------------------------------------------------------------------------------------ who it is


def test_keys_and_only_keys_let_in(place: Place) -> None:
    assert place.who("ana").role is Role.ANALYST
    wrong: list[Any] = ["", "x", "a.b.c", place.keys["ana"][:-1], "x" * 20_000, None, 7, b"celosia_"]
    for token in wrong:
        with pytest.raises(NotAllowedError):
            place.guard.authenticate(token)
    place.guard.revoke(place.who("olga"), "ana")
    with pytest.raises(NotAllowedError):
        place.who("ana")


def test_a_visit_is_opened_looked_up_and_ended(place: Place) -> None:
    secret, identity = place.guard.sign_in(place.keys["ana"])
    assert identity == place.who("ana") == place.guard.identify(secret)
    place.guard.sign_out(secret)
    with pytest.raises(NotAllowedError):
        place.guard.identify(secret)
    secret, _ = place.guard.sign_in(place.keys["ana"])
    place.guard.revoke(place.who("olga"), place.keys["ana"][8:20])
    with pytest.raises(NotAllowedError):
        place.guard.identify(secret)
    with pytest.raises(NotAllowedError):
        place.guard.sign_in(place.keys["ana"])


def test_an_expired_key_lets_nobody_in(place: Place) -> None:
    key = add_expired_user(place.guard, "late", "analyst")
    with pytest.raises(NotAllowedError):
        place.guard.authenticate(key)


def test_tokens_are_accepted_beside_keys(tmp_path: Path) -> None:
    import time

    import jwt
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(private.public_key())) | {"kid": "1"}
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [jwk]}), encoding="utf-8")
    (tmp_path / "guard.toml").write_text(
        'store = "sqlite:///ledger.db"\n[oidc]\nissuer = "i"\naudience = "a"\njwks = "keys.json"\n'
        'roles = {x = "analyst"}',
        encoding="utf-8",
    )
    claims = {"iss": "i", "aud": "a", "sub": "ana", "roles": ["x"], "exp": int(time.time()) + 60}
    token = jwt.encode(claims, private, algorithm="ES256", headers={"kid": "1"})
    with Guard.open(Config.read(tmp_path / "guard.toml")) as guard:
        key = guard.add_user(LOCAL, "ana", "analyst")
        local, foreign = guard.authenticate(key), guard.authenticate(token)
        assert (local.name, foreign.name) == ("ana", "oidc:ana")  # never the same person, so never one's budget
        secret, _ = guard.sign_in(token)
        assert guard.identify(secret).name == "oidc:ana"
        write_rows(tmp_path)
        guard.add_dataset(LOCAL, "deaths", str(tmp_path / "deaths.csv"), SCHEMA, analysts=["oidc:ana"])
        guard.set_budget(LOCAL, cl.PureDP(epsilon=1), dataset="deaths", analyst="oidc:ana")
        guard.set_budget(LOCAL, cl.PureDP(epsilon=1), dataset="deaths")
        assert guard.ask(foreign, COUNT, "k").state == "committed"
        with pytest.raises(NotFoundError):
            guard.ask(local, COUNT, "k")


# ------------------------------------------------------------------------------------------------------------ data sets


def test_a_data_set_that_is_not_there_and_one_that_may_not_be_seen_look_alike(place: Place) -> None:
    place.guard.share_dataset(LOCAL, "deaths", ["eva"])
    ana, guard = place.who("ana"), place.guard
    for call in (
        lambda name: guard.dataset(ana, name),
        lambda name: guard.dummy_rows(ana, name),
        lambda name: guard.preview(ana, replace(COUNT, dataset=name)),
        lambda name: guard.ask(ana, replace(COUNT, dataset=name), "k"),
        lambda name: guard.budget(ana, dataset=name),
    ):
        messages = []
        for name in ("deaths", "nothing"):
            with pytest.raises(NotFoundError) as caught:
                call(name)
            messages.append(str(caught.value).replace(name, "…"))
        assert messages[0] == messages[1]
    assert guard.datasets(ana) == ()
    assert guard.budget(ana) == ()
    assert [card.name for card in guard.datasets(place.who("eva"))] == ["deaths"]
    assert guard.ask(place.who("eva"), COUNT, "k").state == "committed"


def test_cards_say_what_was_declared_and_no_more(place: Place) -> None:
    card = place.guard.dataset(place.who("ana"), "deaths")
    assert (card.name, card.title, card.version) == ("deaths", "Deaths in 2021", "1")
    text = json.dumps(card.to_json())
    assert str(place.folder) not in text
    assert "1000" not in text


def test_dummy_rows_need_no_data_and_cost_nothing(place: Place) -> None:
    write_rows(place.folder, "births")
    place.guard.add_dataset(LOCAL, "births", str(place.folder / "births.csv"), SCHEMA)
    head, ana = place.guard.ledger.head, place.who("ana")
    drawn = b"".join(place.guard.dummy_rows(ana, "deaths", rows=5000, seed=7))
    assert drawn.startswith(b'"age","sex"\n')
    assert drawn.count(b"\n") == 5001
    (place.folder / "births.csv").write_text("age,sex\n1,F\n", encoding="utf-8")
    (place.folder / "deaths.csv").unlink()
    for name in ("deaths", "births"):  # of one declaration, and nothing else in common
        assert b"".join(place.guard.dummy_rows(ana, name, rows=5000, seed=7)) == drawn
    assert place.guard.ledger.head == head
    with pytest.raises(ParameterError, match="rows must be at least 1"):
        place.guard.dummy_rows(ana, "deaths", rows=0)


def test_an_updated_data_set_keeps_its_budget_and_answers_anew(place: Place) -> None:
    guard, ana, cora, olga = place.guard, place.who("ana"), place.who("cora"), place.who("olga")
    sharp = replace(COUNT, epsilon="0.2")
    first = guard.ask(ana, sharp, "1")
    (place.folder / "newer.csv").write_text("age,sex,year\n" + "34,F,2022\n" * 9_000, encoding="utf-8")
    with pytest.raises(NotAllowedError, match="An owner may not change schemas"):
        guard.update_dataset(olga, "deaths", schema=SCHEMA + '[columns.year]\nkind = "text"\n')
    with Guard.open(guard.config) as other:  # another process, with a session open
        assert other.ask(ana, sharp, "2").repeated
        card, notes = guard.update_dataset(olga, "deaths", source=str(place.folder / "newer.csv"))
        assert (card.version, card.title) == ("2", "Deaths in 2021")
        assert [note.code for note in notes] == [
            "guard.spending_stays",
            "guard.stored_answers_dropped",
            "guard.old_and_new_people",
        ]
        assert place.spent() == cl.PureDP(epsilon="0.2").epsilon
        anew = other.ask(ana, sharp, "3")
    assert not anew.repeated
    assert anew.release is not None
    assert anew.release["columns"][0]["values"][0] > 5_000  # of the new rows
    assert place.spent() == cl.PureDP(epsilon="0.4").epsilon
    wider = SCHEMA + '[columns.year]\nkind = "text"\n'
    assert [note.code for note in guard.update_dataset(cora, "deaths", schema=wider)[1]] == [
        "guard.spending_stays",
        "guard.answers_computed_again",
    ]
    assert not guard.ask(ana, sharp, "4").repeated
    guard.update_dataset(cora, "deaths", source=f"${{{FOLDER}}}/deaths.csv", schema=SCHEMA)
    assert not guard.ask(ana, sharp, "5").repeated  # the first rows again, and not the first version
    assert guard.ask(ana, sharp, "1") == first  # a retry gets what it paid for
    assert place.spent() == cl.PureDP(epsilon="0.8").epsilon
    assert guard.verify(place.who("alda")).ok


def test_changed_limits_of_persons_are_told(place: Place) -> None:
    (place.folder / "visits.csv").write_text("id,age\n1,34\n1,35\n", encoding="utf-8")
    limits = '[table]\nperson = "id"\nmax_groups_per_person = 1\nmax_rows_per_group = {}\n'
    ages = SCHEMA.partition("[columns.sex]")[0]
    place.guard.add_dataset(LOCAL, "visits", str(place.folder / "visits.csv"), limits.format(1) + ages)
    cora = place.who("cora")
    card, notes = place.guard.update_dataset(cora, "visits", schema=limits.format(2) + ages, title="Visits")
    assert card.tables[0].max_rows_per_group == 2
    assert "guard.person_limits_changed" in [note.code for note in notes]
    assert all(note.render("es") != str(note) for note in notes)
    with pytest.raises(SchemaError, match="must keep person and adjacency"):
        place.guard.update_dataset(cora, "visits", schema=ages)


def test_a_data_set_that_changes_while_a_question_comes_is_looked_up_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard, ana, cora = place.guard, place.who("ana"), place.who("cora")
    plain, titles = guard._sessions.open, ["First", "Second"]

    def open_late(dataset: Dataset, *policy: Any) -> Any:
        if titles:
            guard.update_dataset(cora, "deaths", title=titles.pop())
        return plain(dataset, *policy)

    monkeypatch.setattr(guard._sessions, "open", open_late)
    assert guard.ask(ana, COUNT, "k").state == "committed"
    titles.append("Third")
    assert guard.preview(ana, COUNT).affordable
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon

    def retire(dataset: Dataset, *policy: Any) -> Any:
        monkeypatch.setattr(guard._sessions, "open", plain)
        guard.update_dataset(cora, "deaths", retired=True)
        return plain(dataset, *policy)

    monkeypatch.setattr(guard._sessions, "open", retire)
    with pytest.raises(NotFoundError):
        guard.ask(ana, replace(COUNT, epsilon="0.2"), "k2")
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon


def test_a_retired_data_set_takes_no_questions_and_keeps_its_past(place: Place) -> None:
    guard, ana, cora = place.guard, place.who("ana"), place.who("cora")
    first = guard.ask(ana, COUNT, "1")
    with Guard.open(guard.config) as other:  # another process, with a session open
        other.open_datasets()
        card, notes = guard.update_dataset(cora, "deaths", retired=True)
        assert (card.retired, notes[-1].code) == (True, "guard.retirement_explained")
        for one in (guard, other):
            one.open_datasets()
            for call, *given in ((one.dataset, "deaths"), (one.preview, COUNT), (one.ask, COUNT, "2")):
                with pytest.raises(NotFoundError, match="no data set 'deaths'"):
                    call(ana, *given)
            assert one.datasets(ana) == ()
            assert [card.retired for card in one.datasets(cora)] == [True]
            assert one.ask(ana, COUNT, "1") == first == one.answer(ana, first.id)
            assert [answer.id for answer in one.answers(ana)] == [first.id]
    for who in (ana, cora, place.who("alda")):
        [line] = guard.budget(who, dataset="deaths")
        assert line.spent == cl.PureDP(epsilon="0.1")
    with pytest.raises(ParameterError, match="is part of the data set 'deaths' already"):
        guard.add_dataset(LOCAL, "again", str(place.folder / "deaths.csv"), SCHEMA)
    assert guard.verify(place.who("alda")).ok
    assert guard.update_dataset(LOCAL, "deaths", retired=False)[1][-1].code == "guard.restoring_explained"
    assert guard.ask(ana, COUNT, "3").repeated
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon


def test_names_of_users_are_checked_where_they_are_given(place: Place) -> None:
    guard = place.guard
    with pytest.raises(NotFoundError, match="no user 'nobody'"):
        guard.share_dataset(LOCAL, "deaths", ["ana", "nobody"])
    with pytest.raises(NotFoundError, match="no user 'nobody'"):
        guard.add_dataset(LOCAL, "births", _births(place), SCHEMA, analysts=["nobody"])
    with pytest.raises(NotFoundError, match="no user 'nobody'"):
        guard.set_budget(LOCAL, cl.PureDP(epsilon=1), analyst="nobody")


# ------------------------------------------------------------------------------------------------------------ questions


def test_a_question_is_previewed_paid_for_and_answered(place: Place) -> None:
    ana = place.who("ana")
    told = place.guard.preview(ana, BY_SEX)
    assert told.cost == cl.PureDP(epsilon="0.1")
    assert told.affordable
    assert place.spent() == 0
    answer = place.guard.ask(ana, BY_SEX, "k1")
    assert (answer.state, answer.dataset, answer.repeated) == ("committed", "deaths", False)
    assert answer.release is not None
    values = {column["name"]: column["values"] for column in answer.release["columns"]}
    assert values["sex"] == ["F", "M"]
    assert all(abs(count - 500) < 400 for count in values["count"])
    assert answer.cost == answer.release["guarantee"]
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon
    assert place.guard.answer(ana, answer.id) == answer


def test_plans_are_taken_as_json_too(place: Place) -> None:
    from celosia.query.serial.plan import plan_to_json
    from celosia.query.sql.parser import parse_sql

    table = cl.data.parse_schema_file(SCHEMA).table(str(place.folder / "deaths.csv"), name="deaths")
    plan = plan_to_json(parse_sql(str(COUNT.sql), {"deaths": table}))
    ask = QueryRequest(dataset="deaths", plan=plan, epsilon="0.1")
    first = place.guard.ask(place.who("ana"), ask, "k1")
    again = place.guard.ask(place.who("ana"), COUNT, "k2")  # the same question in SQL
    assert again.repeated
    assert again.release == first.release


def test_targets_are_as_in_a_session(place: Place) -> None:
    ana = place.who("ana")
    within = replace(COUNT, epsilon=None, error="50", confidence="0.9")
    assert place.guard.preview(ana, within).cost < cl.PureDP(epsilon="0.1")
    mean = QueryRequest(dataset="deaths", sql="SELECT AVG(age) FROM deaths", epsilon="0.1", rows="1000", level="0.5")
    preview = place.guard.preview(ana, mean)
    assert preview.level == 0.5
    assert preview.lines[0].error is not None
    for wrong in (
        {"epsilon": None},
        {"epsilon": "0"},
        {"epsilon": "-1"},
        {"epsilon": "nan"},
        {"epsilon": "inf"},
        {"epsilon": "1e-400"},
        {"epsilon": "5e-324"},
        {"epsilon": "1e308"},
        {"rho": "0.1"},
        {"delta": "0.1"},
        {"rows": "-1"},
        {"level": "2"},
        {"error": "5"},
    ):
        changed: Any = wrong
        with pytest.raises(ParameterError):
            place.guard.preview(ana, replace(COUNT, **changed))
        if "level" not in wrong:
            with pytest.raises(ParameterError):
                place.guard.ask(ana, replace(COUNT, **changed), "k")
    assert place.spent() == 0


def test_what_cannot_be_asked_costs_nothing(place: Place) -> None:
    cases: list[str] = [
        "SELECT * FROM deaths",
        "SELECT age FROM deaths",
        "DROP TABLE deaths",
        "SELECT COUNT(*) FROM births",
        "SELECT COUNT(*) FROM deaths; SELECT 1",
        "SELECT COUNT(*) FROM read_csv('deaths.csv')",
        "(((((",
        "SELECT COUNT(*) FROM deaths WHERE weight > 1",
    ]
    for sql in cases:
        with pytest.raises(QueryError):
            place.guard.ask(place.who("ana"), replace(COUNT, sql=sql), "k")
        assert place.spent() == 0
    assert place.guard.ask(place.who("ana"), COUNT, "k").state == "committed"  # the key is still unused


def test_limits_are_looked_at_before_anything_is_spent(place: Place) -> None:
    ana = place.who("ana")
    with pytest.raises(QueryError, match="would have 242 cells, and 200 are allowed"):
        place.guard.ask(ana, replace(COUNT, sql="SELECT sex, age, COUNT(*) FROM deaths GROUP BY sex, age"), "k")
    long = f"SELECT COUNT(*) FROM deaths WHERE {' OR '.join(f'age = {n}' for n in range(400))}"
    with pytest.raises(QueryError, match="more than 500 parts"):
        place.guard.preview(ana, replace(COUNT, sql=long))
    assert place.spent() == 0


def test_a_key_of_a_request_is_printable(place: Place) -> None:
    cases: list[Any] = ["", "x" * 201, "é", "a\nb", "a\0", None, 7]
    for key in cases:
        with pytest.raises(ParameterError, match="An idempotency key is 1 to 200"):
            place.guard.ask(place.who("ana"), COUNT, key)


def test_a_repeated_request_gets_the_stored_reply_whatever_has_changed(place: Place) -> None:
    ana, guard = place.who("ana"), place.guard
    first = guard.ask(ana, COUNT, "k")
    guard.set_bounds(place.who("cora"), "deaths", "age", 0, 90)
    guard.new_version(LOCAL, "deaths")
    (place.folder / "deaths.csv").unlink()
    guard.share_dataset(LOCAL, "deaths", [])
    assert guard.ask(ana, COUNT, "k") == first
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon
    with pytest.raises(RequestConflictError, match="'k' was used before for another request"):
        guard.ask(ana, replace(COUNT, epsilon="0.2"), "k")


def test_keys_of_requests_are_everybodys_own(place: Place) -> None:
    one = place.guard.ask(place.who("ana"), COUNT, "k")
    other = place.guard.ask(place.who("eva"), BY_SEX, "k")
    assert one.id != other.id
    with pytest.raises(NotFoundError):
        place.guard.answer(place.who("eva"), one.id)
    assert [answer.id for answer in place.guard.answers(place.who("eva"))] == [other.id]


def test_the_same_question_about_the_same_version_is_free_for_the_data_set(place: Place) -> None:
    guard, ana, eva = place.guard, place.who("ana"), place.who("eva")
    for name in ("ana", "eva"):
        guard.set_budget(LOCAL, cl.PureDP(epsilon="0.15"), dataset="deaths", analyst=name)
    first, again, other = guard.ask(ana, COUNT, "1"), guard.ask(ana, COUNT, "2"), guard.ask(eva, COUNT, "1")
    assert first.release == again.release == other.release
    assert (first.repeated, again.repeated, other.repeated) == (False, True, True)
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon
    own = {line.scope.analyst: line.spent.epsilon for line in guard.budget(LOCAL) if line.scope.analyst}  # type: ignore[attr-defined]
    assert own == {"ana": place.spent(), "eva": place.spent()}
    guard.new_version(LOCAL, "deaths")
    with pytest.raises(BudgetExceededError, match="analyst 'ana' on data set 'deaths'"):
        guard.ask(ana, COUNT, "3")


def test_bounds_change_the_next_answer(place: Place) -> None:
    ana = place.who("ana")
    mean = QueryRequest(dataset="deaths", sql="SELECT AVG(age) FROM deaths", epsilon="0.4")
    place.guard.ask(ana, mean, "1")
    place.guard.set_bounds(place.who("cora"), "deaths", "age", 0, 1)
    answer = place.guard.ask(ana, mean, "2")
    assert not answer.repeated
    assert answer.release is not None
    assert answer.release["columns"][0]["values"][0] < 2


def test_a_data_set_without_a_budget_answers_nothing(place: Place) -> None:
    place.guard.add_dataset(LOCAL, "births", _births(place), SCHEMA)
    ask = QueryRequest(dataset="births", sql="SELECT COUNT(*) FROM births", epsilon="0.1")
    for call in (place.guard.preview, lambda who, what: place.guard.ask(who, what, "k")):
        with pytest.raises(BudgetExceededError, match="has no budget yet"):
            call(place.who("ana"), ask)


def test_a_failure_after_the_reserve_stays_paid_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ana = place.who("ana")

    def broken(*_: object) -> None:
        raise RuntimeError("row 7 of deaths.csv: secret")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("celosia.query.session.answer", broken)
        with pytest.raises(EngineError) as caught:
            place.guard.ask(ana, COUNT, "k")
    assert "secret" not in str(caught.value)
    again = place.guard.ask(ana, COUNT, "k")
    assert (again.state, again.release) == ("failed", None)
    assert again.cost is not None
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon
    assert place.guard.ask(ana, COUNT, "other").state == "committed"
    assert [answer.state for answer in place.guard.answers(ana)] == ["committed", "failed"]


def test_a_data_set_that_is_gone_is_told_without_where_it_was(place: Place) -> None:
    (place.folder / "deaths.csv").rename(place.folder / "away.csv")
    with pytest.raises(EngineError, match=r"cannot be opened now.*Nothing was spent") as caught:
        place.guard.ask(place.who("ana"), COUNT, "k")
    assert str(place.folder) not in str(caught.value)
    assert place.spent() == 0
    (place.folder / "away.csv").rename(place.folder / "deaths.csv")
    assert place.guard.ask(place.who("ana"), COUNT, "k").state == "committed"


def test_a_request_on_its_way_elsewhere_is_reserved(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ana, started, go_on = place.who("ana"), threading.Event(), threading.Event()

    def answer_later(*args: Any) -> Any:
        started.set()
        assert go_on.wait(300)
        return answering.answer(*args)

    monkeypatch.setattr("celosia.query.session.answer", answer_later)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(place.guard.ask(ana, COUNT, "k")))
    thread.start()
    assert started.wait(300)
    pending = place.guard.ask(ana, COUNT, "k")
    assert (pending.state, pending.release) == ("reserved", None)
    assert place.guard.answer(ana, pending.id).state == "reserved"
    go_on.set()
    thread.join()
    assert found[0].state == "committed"
    assert found[0].id == pending.id
    assert place.guard.ask(ana, COUNT, "k") == found[0] == place.guard.answer(ana, pending.id)
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon


@pytest.mark.parametrize("fails", [False, True])
def test_the_end_of_the_work_is_seen_after_half_a_slot_or_more(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    fails: bool,  # noqa: FBT001
) -> None:
    slot, times = 40_000_000, {}

    def record_call(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*args: Any, **kwargs: Any) -> Any:
            times[f"{name} begun"] = time.monotonic_ns()
            try:
                return call(*args, **kwargs)
            finally:
                times[f"{name} ended"] = time.monotonic_ns()

        return noting

    read = "celosia.query.session.answer"
    monkeypatch.setattr(read, record_call("read", (lambda *_: 1 / 0) if fails else answering.answer))
    monkeypatch.setattr("celosia.guard.service.delay_end", record_call("work", delay_end))
    config = replace(place.guard.config, slot_milliseconds=40)
    with Guard.open(config) as guard:
        for name in ("commit", "fail"):
            monkeypatch.setattr(guard.ledger, name, record_call(name, getattr(guard.ledger, name)))
        with suppress(EngineError):
            guard.ask(place.who("ana"), COUNT, "k")
        [answer] = guard.answers(place.who("ana"))
    closed = "fail" if fails else "commit"
    assert answer.state == {"fail": "failed", "commit": "committed"}[closed]
    assert times[f"{closed} begun"] >= times["work begun"] + delay_until_visible(
        times["read ended"] - times["work begun"], slot
    )


def test_what_has_no_answer_for_long_is_told_as_failed_and_shown_if_it_comes_after_all(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, commit = place.who("ana"), place.guard.ledger.commit
    held: list[Callable[[], Any]] = []

    def die(*args: Any, **kwargs: Any) -> Any:
        held.append(lambda: commit(*args, **kwargs))
        raise KeyboardInterrupt

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(place.guard.ledger, "commit", die)
        with pytest.raises(KeyboardInterrupt):
            place.guard.ask(ana, COUNT, "k")
    [asked] = place.guard.answers(ana)
    later = asked.at + dt.timedelta(seconds=899)
    monkeypatch.setattr("celosia.guard.service.now", lambda: later)
    looks: list[Callable[[], Any]] = [
        lambda: place.guard.answer(ana, asked.id),
        lambda: place.guard.ask(ana, COUNT, "k"),
        lambda: place.guard.answers(ana)[0],
    ]
    assert [look().state for look in looks] == ["reserved"] * 3
    later += dt.timedelta(seconds=2)
    assert [look().state for look in looks] == ["failed"] * 3
    assert all(look().cost is not None for look in looks)
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon
    assert place.guard.ask(ana, COUNT, "another").state == "committed"
    assert place.spent() == cl.PureDP(epsilon="0.2").epsilon
    held[0]()
    assert [look().state for look in looks] == ["committed"] * 3


def test_one_request_from_twenty_threads_is_charged_once(place: Place) -> None:
    ana, found = place.who("ana"), []
    threads = [threading.Thread(target=lambda: found.append(place.guard.ask(ana, COUNT, "k"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer.id for answer in found}) == 1
    assert len(found) == 20
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon


def test_many_threads_never_spend_more_than_there_is(place: Place) -> None:
    ana, eva, found, refused = place.who("ana"), place.who("eva"), [], []

    def work(number: int) -> None:
        ask = QueryRequest(
            dataset="deaths", sql=f"SELECT COUNT(*) FROM deaths WHERE age < {number + 20}", epsilon="0.1"
        )
        try:
            found.append(place.guard.ask((ana, eva)[number % 2], ask, f"k{number}"))
        except BudgetExceededError:
            refused.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(refused)) == (10, 6)
    assert place.spent() == 1
    assert place.guard.verify(place.who("alda")).ok


def test_two_processes_agree(place: Place) -> None:
    with Guard.open(place.guard.config) as other:
        ana = place.who("ana")
        first = place.guard.ask(ana, COUNT, "1")
        assert other.ask(ana, COUNT, "1") == first
        other.set_bounds(place.who("cora"), "deaths", "age", 0, 50)
        assert place.guard.dataset(ana, "deaths").tables[0].columns[0].fields["high"] == 50
        place.guard.set_budget(LOCAL, cl.PureDP(epsilon="0.1"), dataset="deaths")
        with pytest.raises(BudgetExceededError):
            other.ask(ana, BY_SEX, "2")


def test_a_forked_process_opens_the_guard_for_itself(place: Place) -> None:
    config, key = place.guard.config, place.keys["ana"]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with Guard.open(config) as guard:
                code = 0 if guard.ask(guard.authenticate(key), COUNT, "child").state == "committed" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert place.guard.ask(place.who("ana"), COUNT, "child").state == "committed"
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon


def test_answers_are_listed_latest_first_without_releases(place: Place) -> None:
    ana = place.who("ana")
    ids = [place.guard.ask(ana, replace(COUNT, epsilon=f"0.0{n}"), f"k{n}").id for n in range(1, 5)]
    listed = place.guard.answers(ana, limit=3)
    assert [answer.id for answer in listed] == ids[::-1][:3]
    assert all(answer.release is None and answer.cost is not None for answer in listed)
    for wrong in (0, -1, True, "3", None, 10**9):
        with pytest.raises(ParameterError, match="limit must be"):
            place.guard.answers(ana, limit=wrong)  # type: ignore[arg-type]


def test_an_answer_that_is_not_there_is_not_found(place: Place) -> None:
    cases: list[Any] = ["", "0" * 32, "x", "\ud800", "a\0b", None, 7]
    for wrong in cases:
        with pytest.raises(NotFoundError, match="no answer"):
            place.guard.answer(place.who("ana"), wrong)


def test_public_tables_can_be_joined(place: Place) -> None:
    (place.folder / "sexes.csv").write_text("sex,word\nF,woman\nM,man\n", encoding="utf-8")
    write_rows(place.folder, "births")
    public = PublicTable(source=str(place.folder / "sexes.csv"), key=("sex",))
    card = place.guard.add_dataset(LOCAL, "births", str(place.folder / "births.csv"), SCHEMA, public=[public])
    assert [table.name for table in card.tables] == ["births", "sexes"]
    place.guard.set_budget(LOCAL, cl.PureDP(epsilon=1), dataset="births")
    sql = "SELECT word, COUNT(*) FROM births JOIN sexes USING (sex) GROUP BY word"
    answer = place.guard.ask(place.who("ana"), QueryRequest(dataset="births", sql=sql, epsilon="0.5"), "k")
    assert answer.release is not None
    assert sorted(answer.release["columns"][0]["values"]) == ["man", "woman"]


# -------------------------------------------------------------------------------------------------------------- budgets


def test_an_analyst_sees_the_own_budgets_and_those_of_data_sets(place: Place) -> None:
    guard = place.guard
    for name in ("ana", "eva"):
        guard.set_budget(LOCAL, cl.PureDP(epsilon="0.5"), dataset="deaths", analyst=name)
        guard.set_budget(LOCAL, cl.PureDP(epsilon="0.7"), analyst=name)
    seen = {str(line.scope) for line in guard.budget(place.who("ana"))}
    assert seen == {"data set 'deaths'", "analyst 'ana'", "analyst 'ana' on data set 'deaths'"}
    assert guard.budget(place.who("ana"), analyst="ana") == guard.budget(place.who("ana"))
    for name in ("eva", "nobody"):
        with pytest.raises(NotFoundError):
            guard.budget(place.who("ana"), analyst=name)
    assert len(guard.budget(place.who("alda"))) == 5
    assert len(guard.budget(place.who("alda"), analyst="eva")) == 3


def test_an_analyst_sees_the_kinds_of_the_own_spending_alone(place: Place) -> None:
    guard = place.guard
    guard.set_budget(LOCAL, cl.PureDP(epsilon="0.5"), dataset="deaths", analyst="ana")
    guard.ask(place.who("ana"), COUNT, "1")
    guard.ask(place.who("eva"), BY_SEX, "2")
    event = cl.core.GuaranteedEvent(guarantee=cl.PureDP(epsilon="0.125"))
    with cl.open_ledger(guard.config.store, create=False) as other:  # another process
        other.reserve(event, dataset="deaths", kind="local")
    shown = {}
    for name in ("ana", "alda", "cora", "olga"):
        lines = guard.budget(place.who(name))
        shown[name] = {
            line.scope.analyst: line.kinds and [(total.kind, total.releases) for total in line.kinds] for line in lines
        }
    assert shown.pop("ana") == {None: None, "ana": [("query", 1)]}
    assert guard.budget(place.who("ana"))[0].to_json()["kinds"] is None
    for seen in shown.values():
        assert seen == {None: [("query", 2), ("local", 1)], "ana": [("query", 1)]}


def test_a_window_holds_beside_the_whole(place: Place) -> None:
    window = Window(seconds=365 * 86_400 * 50, limit=cl.PureDP(epsilon="0.15"))
    place.guard.set_budget(place.who("cora"), Policy(limit=cl.PureDP(epsilon=1), window=window), dataset="deaths")
    place.guard.ask(place.who("ana"), COUNT, "1")
    with pytest.raises(BudgetExceededError, match="left until"):
        place.guard.ask(place.who("ana"), BY_SEX, "2")
    [line] = place.guard.budget(place.who("ana"))
    assert line.window_remaining == cl.PureDP(epsilon="0.05")


def test_budgets_are_for_whom_the_table_protects(place: Place) -> None:
    (place.folder / "visits.csv").write_text("id,age\n1,34\n1,35\n", encoding="utf-8")
    schema = (
        '[table]\nperson = "id"\nmax_groups_per_person = 1\nmax_rows_per_group = 2\n'
        + SCHEMA.partition("[columns.sex]")[0]
    )
    place.guard.add_dataset(LOCAL, "visits", str(place.folder / "visits.csv"), schema)
    place.guard.set_budget(LOCAL, cl.ApproxDP(epsilon=2, delta="1e-6"), dataset="visits")
    [line] = place.guard.budget(LOCAL, dataset="visits")
    assert line.policy.limit.unit == "person"
    answer = place.guard.ask(
        place.who("ana"), QueryRequest(dataset="visits", sql="SELECT COUNT(*) FROM visits", epsilon="0.5"), "k"
    )
    assert answer.cost is not None
    assert answer.cost["unit"] == "person"
    with pytest.raises(ParameterError, match="protect different units"):
        place.guard.set_budget(LOCAL, cl.PureDP(epsilon=1), analyst="ana")


# -------------------------------------------------------------------------------------------------------- log, the rest


def test_everything_that_was_changed_is_in_the_log_with_who_did_it(place: Place) -> None:
    guard = place.guard
    guard.set_bounds(place.who("cora"), "deaths", "age", 0, 99)
    guard.add_key(place.who("olga"), "ana")
    lines = guard.log(place.who("alda"), limit=1_000)
    assert [line.sequence for line in lines] == list(range(1, len(lines) + 1))
    assert [line.body["by"] for line in lines[-2:]] == ["cora", "olga"]
    text = json.dumps([line.body for line in lines])
    assert not any(key.rpartition("_")[2] in text for key in place.keys.values())
    assert guard.log(place.who("alda"), after=lines[-2].sequence) == lines[-1:]
    head = str(guard.ledger.head)
    assert guard.verify(place.who("alda"), head).ok
    assert not guard.verify(place.who("alda"), "0" * 64).ok
    for wrong in (0, True, 10**9):
        with pytest.raises(ParameterError):
            guard.log(place.who("alda"), limit=wrong)


def test_health_tells_that_the_store_answers_and_nothing_else(place: Place) -> None:
    assert place.guard.health() == {"status": "ok"}


def test_a_store_that_does_not_answer_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(b"this is no database " * 100)
    with pytest.raises(LedgerError) as caught:
        Guard.open(Config(store=f"sqlite:///{tmp_path}/ledger.db"))
    assert "this is no" not in str(caught.value)
    with pytest.raises(ParameterError, match="CELOSIA_NO_SUCH, which is not set"):
        Guard.open(Config(store="postgresql://ana:${CELOSIA_NO_SUCH}@db.example/x"))


def test_the_whole_works_on_postgresql_too(tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    place = open_guard(tmp_path, postgres)
    try:
        first = place.guard.ask(place.who("ana"), COUNT, "k")
        assert place.guard.ask(place.who("ana"), COUNT, "k") == first
        secret, _ = place.guard.sign_in(place.keys["eva"])
        assert place.guard.identify(secret).name == "eva"
        place.guard.set_bounds(place.who("cora"), "deaths", "age", 0, 99)
        for wrong in ("a\0b", "\ud800", "x" * 1_000):
            with pytest.raises(NotFoundError):
                place.guard.dataset(place.who("ana"), wrong)
            with pytest.raises(NotAllowedError):
                place.guard.authenticate(wrong)
            with pytest.raises(NotFoundError):
                place.guard.revoke(LOCAL, wrong)
            with pytest.raises(CelosiaError):
                place.guard.ask(place.who("ana"), COUNT, wrong)
        assert place.guard.verify(place.who("alda")).ok
    finally:
        place.guard.close()


# --------------------------------------------------------------------------------------- fairness, limits, approvals


def test_one_analyst_who_asks_much_does_not_stop_another(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty questions of one analyst wait, one of them in the engine; the count of another is answered."""
    ana, eva, inside, go_on = place.who("ana"), place.who("eva"), threading.Event(), threading.Event()
    other = threading.current_thread()

    def answer_slowly(*args: Any) -> Any:
        if threading.current_thread() is not other:
            inside.set()
            assert go_on.wait(600)
        return answering.answer(*args)

    monkeypatch.setattr("celosia.query.session.answer", answer_slowly)
    questions = [replace(BY_SEX, epsilon=f"0.000001{number:02}") for number in range(40)]
    threads = [
        threading.Thread(target=place.guard.ask, args=(ana, question, f"k{number}"), daemon=True)
        for number, question in enumerate(questions)
    ]
    for thread in threads:
        thread.start()
    assert inside.wait(600)
    assert place.guard.ask(eva, COUNT, "k").state == "committed"
    assert place.guard.preview(eva, COUNT).affordable
    go_on.set()
    for thread in threads:
        thread.join()
    assert {answer.state for answer in place.guard.answers(ana)} == {"committed"}


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600_000):
        if holds():
            return
        time.sleep(0.001)
    raise AssertionError


def test_rights_that_end_while_a_question_waits_have_ended(place: Place) -> None:
    """A key revoked, a data set retired or taken back, an approval denied: what waits for its turn is not answered."""
    limit_costs(place, approval_above="0.2")
    ana, cora, costly = place.who("ana"), place.who("cora"), replace(COUNT, epsilon="0.3")
    with pytest.raises(ApprovalRequiredError):
        place.guard.ask(ana, costly, "approved")
    [approval] = place.guard.approvals(cora)
    place.guard.decide_approval(cora, approval.id, granted=True)
    until = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=0.2)
    late = replace(ana, until=until)
    endings: list[tuple[Identity, QueryRequest, str, Callable[[], object], type[CelosiaError]]] = [
        (
            ana,
            costly,
            "approved",
            lambda: place.guard.decide_approval(cora, approval.id, granted=False),
            NotAllowedError,
        ),
        (ana, COUNT, "shared", lambda: place.guard.share_dataset(cora, "deaths", ["eva"]), NotFoundError),
        (late, COUNT, "expired", lambda: wait_until(lambda: dt.datetime.now(dt.UTC) > until), NotAllowedError),
        (ana, COUNT, "retired", lambda: place.guard.update_dataset(cora, "deaths", retired=True), NotFoundError),
        (ana, COUNT, "revoked", lambda: place.guard.revoke(LOCAL, "ana"), NotAllowedError),
    ]
    for who, query, key, end, error in endings:
        caught: list[CelosiaError] = []

        def ask(who: Identity = who, query: QueryRequest = query, key: str = key) -> None:
            try:
                place.guard.ask(who, query, key)
            except CelosiaError as found:
                caught.append(found)  # noqa: B023 - it ends within the loop

        with place.guard._turns.take("ana"):
            thread = threading.Thread(target=ask)
            thread.start()
            wait_until(lambda: bool(place.guard._turns._waiting) or bool(caught))  # noqa: B023 - it ends within the loop
            assert not caught, key
            end()
        thread.join()
        assert [type(found) for found in caught] == [error], key
        if key == "retired":
            place.guard.update_dataset(cora, "deaths", retired=False)
        place.guard.share_dataset(cora, "deaths", None)
    assert place.spent() == 0


def test_a_question_is_cancelled_from_another_process(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process is another guard on the same store. Only the analyst's own question ends; it stays paid."""
    monkeypatch.setattr(interruption, "_POLL_SECONDS", 0.01)
    ana, reading = place.who("ana"), threading.Event()
    plain = DuckDBEngine.execute

    def run_endlessly(engine: DuckDBEngine, *args: Any, **options: Any) -> Any:
        reading.set()
        engine.backend.con.execute("SELECT max(hash(a.range, b.range)) FROM range(1000000000) a, range(1000000000) b")
        yield from plain(engine, *args, **options)

    monkeypatch.setattr(DuckDBEngine, "execute", run_endlessly)
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            place.guard.ask(ana, COUNT, "k")
        except EngineError as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert reading.wait(600)
    with Guard.open(place.guard.config) as other:
        [answer] = other.answers(ana)
        with pytest.raises(NotFoundError):
            other.cancel(place.who("eva"), answer.id)
        assert other.cancel(ana, answer.id).state == "reserved"
        thread.join()
        assert other.answer(ana, answer.id).state == "failed"
        assert other.cancel(ana, answer.id).state == "failed"  # it has ended
        lines = [line.body for line in other.ledger.entries() if line.kind == "query cancelled"]
    assert [getattr(error, "code", "") for error in caught] == ["query.question_cancelled"]
    assert lines == [{"id": answer.id, "by": "ana"}]
    assert place.spent() == cl.PureDP(epsilon="0.1").epsilon
    monkeypatch.setattr(DuckDBEngine, "execute", plain)
    assert place.guard.ask(ana, COUNT, "other").state == "committed"  # by the same session


def test_a_question_that_takes_too_long_is_interrupted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait_long(engine: DuckDBEngine, *_: Any, **__: Any) -> Any:
        engine.backend.con.execute("SELECT max(hash(a.range, b.range)) FROM range(1000000000) a, range(1000000000) b")
        yield from ()

    monkeypatch.setattr(DuckDBEngine, "execute", wait_long)
    with Guard.open(replace(place.guard.config, limits=Limits(query_seconds=1))) as guard:
        with pytest.raises(EngineError, match="longer than 1 seconds"):
            guard.ask(place.who("ana"), COUNT, "k")
        assert guard.ask(place.who("ana"), COUNT, "k").state == "failed"


def test_points_of_complexity_are_shown_and_limited(place: Place) -> None:
    ana, many = place.who("ana"), ", ".join(f"QUANTILE(age, 0.{n:02})" for n in range(1, 40))
    quantiles = replace(COUNT, sql=f"SELECT sex, {many} FROM deaths GROUP BY sex")
    small, large = (place.guard.preview(ana, query).complexity for query in (COUNT, quantiles))
    assert small == 1_001
    assert large > small
    with Guard.open(replace(place.guard.config, limits=Limits(complexity=large - 1))) as guard:
        for call in (guard.preview, lambda who, query: guard.ask(who, query, "k")):
            with pytest.raises(QueryError, match="points of complexity"):
                call(ana, quantiles)
        assert guard.preview(ana, COUNT).complexity == small
    assert place.spent() == 0


def limit_costs(place: Place, **rules: str) -> None:
    place.guard.set_budget(LOCAL, Policy(limit=cl.PureDP(epsilon=1), **rules), dataset="deaths")  # type: ignore[arg-type]


def test_a_costly_question_is_answered_once_it_is_approved(place: Place) -> None:
    limit_costs(place, approval_above="0.2")
    ana, cora, costly = place.who("ana"), place.who("cora"), replace(COUNT, epsilon="0.3")
    for _ in range(2):
        with pytest.raises(ApprovalRequiredError) as caught:
            place.guard.ask(ana, costly, "k")
    assert place.spent() == 0
    [pending] = place.guard.approvals(cora, state="pending")
    assert pending == place.guard.approvals(ana)[0]
    assert (pending.id, pending.analyst, pending.question) == (caught.value.fields["name"], "ana", costly.sql)
    assert not place.guard.approvals(place.who("eva"))
    place.guard.decide_approval(cora, pending.id, granted=False, reason="too much")
    with pytest.raises(NotAllowedError, match=r"cora denied .* too much"):
        place.guard.ask(ana, costly, "k")
    place.guard.decide_approval(cora, pending.id, granted=True)
    with pytest.raises(RequestConflictError):
        place.guard.ask(ana, replace(costly, epsilon="0.9"), "k")  # not what was approved
    for who, key in ((ana, "other key"), (place.who("eva"), "k")):
        with pytest.raises(ApprovalRequiredError):
            place.guard.ask(who, costly, key)
    last, middle = (one for one in place.guard.approvals(cora) if one.state == "pending")
    place.guard.decide_approval(cora, last.id, granted=False)
    assert [one.id for one in place.guard.approvals(cora)] == [middle.id, last.id, pending.id]  # what waits comes first
    answer = place.guard.ask(ana, costly, "k")
    assert answer.state == "committed"
    assert place.guard.ask(ana, costly, "k") == answer  # a retry pays once
    assert place.spent() == cl.PureDP(epsilon="0.3").epsilon
    [used] = [one for one in place.guard.approvals(ana) if one.key == "k"]
    assert used.answer == answer.id
    with pytest.raises(ParameterError, match="has been answered"):
        place.guard.decide_approval(cora, pending.id, granted=False)
    assert place.guard.ask(ana, COUNT, "cheap").state == "committed"
    assert place.guard.verify(place.who("alda")).ok


def test_a_costly_fit_is_made_once_it_is_approved(place: Place) -> None:
    limit_costs(place, approval_above="0.2")
    ana, cora = place.who("ana"), place.who("cora")
    fit = FitRequest(dataset="deaths", model="StandardScaler", parameters={"epsilon": "0.3"}, features=["age"])
    with pytest.raises(ApprovalRequiredError):
        place.guard.ask(ana, fit, "k")
    [pending] = place.guard.approvals(cora, state="pending")
    assert (pending.question, pending.request) == ("StandardScaler().fit(age) FROM deaths", fit.to_json())
    assert place.spent() == 0
    place.guard.decide_approval(cora, pending.id, granted=True)
    answer = place.guard.ask(ana, fit, "k")
    assert (answer.state, answer.is_model, place.guard.ask(ana, fit, "k")) == ("committed", True, answer)
    assert place.spent() == cl.PureDP(epsilon="0.3").epsilon
    assert place.guard.verify(place.who("alda")).ok


def test_approvals_that_nobody_gave_are_found(place: Place) -> None:
    limit_costs(place, approval_above="0.2")
    with pytest.raises(ApprovalRequiredError):
        place.guard.ask(place.who("ana"), replace(COUNT, epsilon="0.3"), "k")
    [approval] = place.guard.approvals(LOCAL)
    with place.guard.ledger.store.transaction() as connection:
        connection.execute(APPROVALS.update().values(state="granted"))
    found = place.guard.verify(place.who("alda"))
    assert not found.ok
    assert "does not agree with the log" in str(found.problem)
    for changed in ({"state": "pending", "digest": "0" * 64}, {"digest": approval.digest, "key": "another"}):
        with place.guard.ledger.store.transaction() as connection:
            connection.execute(APPROVALS.update().values(**changed))
        assert not place.guard.verify(place.who("alda")).ok  # the approval of another request
    with place.guard.ledger.store.transaction() as connection:
        connection.execute(APPROVALS.update().values(key=approval.key))
    assert place.guard.verify(place.who("alda")).ok


def test_bad_approvals_change_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_costs(place, approval_above="0.2")
    monkeypatch.setattr("celosia.guard.queries.approvals._MAX_PENDING", 1)
    ana, cora, costly = place.who("ana"), place.who("cora"), replace(COUNT, epsilon="0.3")
    with pytest.raises(ApprovalRequiredError):
        place.guard.ask(ana, costly, "k")
    [pending], head = place.guard.approvals(cora), place.guard.ledger.head
    with pytest.raises(ParameterError, match="waiting for an approval"):
        place.guard.ask(ana, costly, "k2")
    for reason in ("x" * 1_001, "\0", 7, "\x1b[31mred", "two\nlines"):
        with pytest.raises(ParameterError, match="reason"):
            place.guard.decide_approval(cora, pending.id, granted=True, reason=reason)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError):
        place.guard.decide_approval(cora, "0f", granted=True)
    with pytest.raises(ParameterError, match="state must be one of"):
        place.guard.approvals(cora, state="open")
    assert place.guard.ledger.head == head


def test_the_least_cost_and_the_share_of_an_analyst(place: Place) -> None:
    limit_costs(place, least_cost="0.01", analyst_share="0.3", approval_above="0.9")
    ana = place.who("ana")
    notes = {
        epsilon: [note.code for note in place.guard.preview(ana, replace(COUNT, epsilon=epsilon)).notes]
        for epsilon in ("0.001", "0.01", "0.9", "1")
    }
    assert notes == {"0.001": ["guard.below_least_cost"], "0.01": [], "0.9": [], "1": ["guard.needs_approval"]}
    with pytest.raises(ParameterError, match="least cost"):
        place.guard.ask(ana, replace(COUNT, epsilon="1e-6"), "k")
    assert place.spent() == 0
    place.guard.ask(ana, replace(COUNT, epsilon="0.3"), "k")
    with pytest.raises(BudgetExceededError):
        place.guard.ask(ana, COUNT, "k2")
    assert place.guard.ask(place.who("eva"), COUNT, "k").state == "committed"
    assert [line.scope.analyst for line in place.guard.budget(ana)] == [None, "ana"]
