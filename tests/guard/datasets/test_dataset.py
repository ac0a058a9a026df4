from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from celosia.core.errors import CelosiaError, ParameterError, SchemaError
from celosia.guard.auth.identity import Identity
from celosia.guard.datasets.dataset import Dataset, PublicTable
from celosia.guard.roles import Role

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n[columns.cause]\nkind = "text"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("age,cause\n34,A\n", encoding="utf-8")
    (tmp_path / "causes.csv").write_text("cause,chapter\nA,one\nB,two\n", encoding="utf-8")
    return tmp_path


def test_it_opens_under_its_own_name_with_public_tables_beside_it(folder: Path) -> None:
    public = PublicTable(source=str(folder / "causes.csv"), key=("cause",))
    dataset = Dataset(name="deaths", source=str(folder / "rows.csv"), schema=SCHEMA, public=(public,))
    private, causes = dataset.open_tables()
    assert (private.name, private.public, list(private.schema)) == ("deaths", False, ["age", "cause"])
    assert (causes.name, causes.public, causes.key) == ("causes", True, ("cause",))


def test_what_is_shown_opens_nothing() -> None:
    public = PublicTable(source="nowhere.csv", key=("cause",), schema='[columns.cause]\nkind = "text"\n')
    dataset = Dataset(name="deaths", source="nowhere.csv", schema=SCHEMA, public=(public,), title="Deaths", version=7)
    card = dataset.card()
    assert (card.name, card.title, card.version) == ("deaths", "Deaths", "7")
    assert [table.name for table in card.tables] == ["deaths", "nowhere"]
    assert [table.public for table in card.tables] == [False, True]


def test_a_public_table_protects_nobody_and_says_so(folder: Path) -> None:
    text = '[table]\nperson = "cause"\n[columns.cause]\nkind = "text"\n'
    public = PublicTable(source=str(folder / "causes.csv"), key=("cause",), schema=text)
    with pytest.raises(SchemaError, match=r"a section \[table\]"):
        public.open_tables()


def test_nothing_shown_has_a_password_or_a_path() -> None:
    source = "postgresql://ana:secret@db.example/registry"
    dataset = Dataset(name="deaths", source=source, schema=SCHEMA, relation="public.deaths")
    shown = repr(dataset) + json.dumps(dataset.card().to_json()) + repr(PublicTable(source=source, key=("a",)))
    assert not any(word in shown for word in ("secret", "db.example", "postgresql"))


def test_variables_are_looked_up_when_it_opens(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = Dataset(name="deaths", source="${CELOSIA_TEST_ROWS}/rows.csv", schema=SCHEMA)
    with pytest.raises(ParameterError, match="CELOSIA_TEST_ROWS, which is not set"):
        dataset.open_tables()
    monkeypatch.setenv("CELOSIA_TEST_ROWS", str(folder))
    assert dataset.open_tables()[0].name == "deaths"
    assert dataset.places()


def test_a_database_needs_its_table() -> None:
    source = "postgresql://db.example/registry"
    with pytest.raises(CelosiaError, match="name must be given for a database"):
        Dataset(name="deaths", source=source, schema=SCHEMA).open_tables()
    [table] = Dataset(name="deaths", source=source, schema=SCHEMA, relation="health.dead").open_tables()
    assert (table.name, repr(table.source)) == ("deaths", f"Database('{source}', 'dead', 'health')")


def test_only_analysts_are_kept_from_it() -> None:
    analysts_cases: list[tuple[str, ...] | None] = [None, (), ("ana",), ("eva", "ana")]
    for role in list(Role):
        for analysts in analysts_cases:
            dataset = Dataset(name="deaths", source="x.csv", schema=SCHEMA, analysts=analysts)
            expected = role is not Role.ANALYST or analysts is None or "ana" in analysts
            assert dataset.is_visible_to(Identity(name="ana", role=role)) is expected
