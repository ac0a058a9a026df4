from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

import celosia as cl
from celosia.core.errors import CelosiaError, EngineError, ParameterError, SchemaError
from celosia.guard.datasets.catalogue import Catalogue
from celosia.guard.datasets.changes import explain_change
from celosia.guard.datasets.dataset import Dataset, PublicTable
from celosia.guard.storage.tables import create_tables
from celosia.query.serial.messages import message_to_json
from celosia.serving.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from celosia.ledger import Ledger

SCHEMA = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("deaths", "births"):
        (tmp_path / f"{name}.csv").write_text("id,age,cause\n1,34,A\n", encoding="utf-8")
    (tmp_path / "causes.csv").write_text("cause,chapter\nA,one\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with cl.open_ledger("memory://") as opened:
        create_tables(opened)
        yield opened


@pytest.fixture
def catalogue(ledger: Ledger) -> Catalogue:
    return Catalogue(ledger)


def deaths(folder: Path, **changed: Any) -> Dataset:
    plain: dict[str, Any] = {"name": "deaths", "source": str(folder / "deaths.csv"), "schema": SCHEMA}
    return Dataset(**plain | changed)


def lines(ledger: Ledger) -> list[tuple[str, dict[str, Any]]]:
    bodies = [(line.kind, dict(line.body)) for line in ledger.entries(after=1)]
    assert all(len(str(body.pop("digest"))) == 64 for _, body in bodies)
    return bodies


def test_a_data_set_is_added_with_its_line_in_the_log(catalogue: Catalogue, ledger: Ledger, folder: Path) -> None:
    public = PublicTable(source=str(folder / "causes.csv"), key=("cause",))
    added = catalogue.add(deaths(folder, title="Deaths", public=(public,), analysts=("eva", "ana")), by="cora")
    assert catalogue.find("deaths") == added
    assert catalogue.all() == (added,)
    assert added.analysts == ("ana", "eva")
    assert "chapter" in added.public[0].schema
    [(kind, body)] = lines(ledger)
    assert kind == "dataset added"
    assert body["by"] == "cora"
    assert body["schema"] == added.schema
    assert body["public"] == [{"key": ["cause"], "name": "causes", "source": str(folder / "causes.csv")}]


def test_a_path_is_kept_as_it_is_from_everywhere(
    catalogue: Catalogue, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert catalogue.add(deaths(folder, source="deaths.csv"), by="x").source == str(folder / "deaths.csv")


def test_names_are_identifiers(catalogue: Catalogue, folder: Path) -> None:
    cases: list[Any] = ["", "two words", "1st", "a" * 64, "a-b", "a;b", None, 7, "\ud800", "a\0"]
    for name in cases:
        with pytest.raises(ParameterError, match="name must be letters, digits and underscores"):
            catalogue.add(deaths(folder, name=name), by="x")
        assert catalogue.find(name) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"source": ""},
        {"source": "nowhere.csv"},
        {"source": "mysql://db/x"},
        {"source": "postgresql://db.example/x"},
        {"schema": ""},
        {"schema": "no toml"},
        {"schema": SCHEMA.replace("age", "height")},
        {"schema": SCHEMA.replace("120", "?")},
        {"title": "x" * 10_001},
        {"title": "two\nlines"},
        {"title": "\x1b[31mred"},
        {"public": (PublicTable(source="nowhere.csv", key=("cause",)),)},
        {"public": (PublicTable(source="nowhere.csv", key=()),)},
    ],
)
def test_what_cannot_be_opened_is_not_added(
    catalogue: Catalogue, ledger: Ledger, folder: Path, changed: dict[str, Any]
) -> None:
    with pytest.raises(CelosiaError):
        catalogue.add(deaths(folder, **changed), by="x")
    assert catalogue.all() == ()
    assert lines(ledger) == []


def test_types_of_columns_are_looked_at(catalogue: Catalogue, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"age": pa.array([30], pa.date32())}), tmp_path / "words.parquet")
    with pytest.raises(SchemaError, match="cannot be read as Integer"):
        catalogue.add(Dataset(name="words", source=str(tmp_path / "words.parquet"), schema=SCHEMA), by="x")


def test_the_same_people_cannot_have_two_budgets(catalogue: Catalogue, folder: Path) -> None:
    catalogue.add(deaths(folder), by="x")
    (folder / "alias.csv").symlink_to(folder / "deaths.csv")
    for source in ("deaths.csv", "alias.csv", "*ths.csv"):
        with pytest.raises(ParameterError, match="is part of the data set 'deaths' already"):
            catalogue.add(deaths(folder, name="again", source=str(folder / source)), by="x")
    with pytest.raises(ParameterError, match="There is a data set 'DEATHS' already"):
        catalogue.add(deaths(folder, name="DEATHS", source=str(folder / "births.csv")), by="x")


def test_what_is_private_cannot_be_offered_as_public(catalogue: Catalogue, folder: Path) -> None:
    own = PublicTable(source=str(folder / "deaths.csv"), key=("id",), name="codes")
    with pytest.raises(ParameterError, match="rows about people stay private"):
        catalogue.add(deaths(folder, public=(own,)), by="x")
    catalogue.add(deaths(folder), by="x")
    with pytest.raises(ParameterError, match="rows about people stay private"):
        catalogue.add(deaths(folder, name="births", source=str(folder / "births.csv"), public=(own,)), by="x")
    causes = PublicTable(source=str(folder / "causes.csv"), key=("cause",))
    catalogue.add(deaths(folder, name="births", source=str(folder / "births.csv"), public=(causes,)), by="x")
    schema = '[columns.chapter]\nkind = "text"\n'
    with pytest.raises(ParameterError, match="rows about people stay private"):
        catalogue.add(Dataset(name="causes", source=str(folder / "causes.csv"), schema=schema), by="x")


def test_tables_of_a_data_set_have_different_names(catalogue: Catalogue, folder: Path) -> None:
    causes = PublicTable(source=str(folder / "causes.csv"), key=("cause",), name="Deaths")
    with pytest.raises(ParameterError, match="the same name"):
        catalogue.add(deaths(folder, public=(causes,)), by="x")


def test_passwords_are_in_no_log_and_no_error(catalogue: Catalogue, ledger: Ledger, postgres: str) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS people (age integer)")
        connection.execute("DO $$ BEGIN CREATE ROLE ana LOGIN SUPERUSER; EXCEPTION WHEN duplicate_object THEN END $$")
    address = postgres.replace("postgresql://postgres:", "postgresql://ana:s3cret")
    assert "s3cret" in address
    added = catalogue.add(Dataset(name="people", source=address, relation="people", schema=SCHEMA), by="x")
    assert added.source == address  # what the driver needs
    assert "s3cret" not in json.dumps(lines(ledger))
    wrong = address.replace("?", "x?") if "?" in address else address + "x"
    with pytest.raises(EngineError) as caught:
        catalogue.add(Dataset(name="nobody", source=wrong, relation="people", schema=SCHEMA), by="x")
    assert "s3cret" not in str(caught.value)
    _, rotated = catalogue.update("people", source=address.replace("s3cret", "n3w"), by="x")
    assert (rotated.version, rotated.former) == (1, None)  # another password, and the same rows
    _, moved = catalogue.update("people", source=postgres, table="public.people", by="x")
    assert moved.version == 2
    assert "n3w" not in str(moved.former)
    assert "n3w" not in json.dumps(lines(ledger))
    text = SCHEMA.replace("age", "height")
    with pytest.raises(SchemaError, match="no column 'height'"):
        catalogue.add(Dataset(name="tall", source=postgres, relation="public.people", schema=text), by="x")


def test_bounds_are_changed_and_logged(catalogue: Catalogue, ledger: Ledger, folder: Path) -> None:
    catalogue.add(deaths(folder), by="x")
    changed = catalogue.set_bounds("deaths", "age", 0, "100", by="cora")
    assert changed == catalogue.find("deaths")
    assert (changed.revision, changed.version) == (2, 1)
    assert changed.schema_file.schema == cl.Schema(age=cl.Integer(0, 100))
    assert lines(ledger)[-1] == (
        "bounds changed",
        {
            "by": "cora",
            "column": "age",
            "dataset": "deaths",
            "declared": "Integer(0, 100)",
            "revision": 2,
            "was": "Integer(0, 120)",
        },
    )
    with pytest.raises(ParameterError):
        catalogue.set_bounds("deaths", "age", 100, 0, by="cora")
    with pytest.raises(NotFoundError):
        catalogue.set_bounds("births", "age", 0, 100, by="cora")
    assert len(lines(ledger)) == 2


def test_a_schema_is_changed_for_the_same_people_alone(catalogue: Catalogue, ledger: Ledger, folder: Path) -> None:
    catalogue.add(deaths(folder), by="x")
    wider = SCHEMA + '[columns.cause]\nkind = "text"\n'
    before, changed = catalogue.update("deaths", schema=wider, by="cora")
    assert list(changed.schema_file.schema) == ["age", "cause"]
    assert (changed.version, changed.revision) == (1, 2)  # the declarations are in the fingerprint of every query
    person = '[table]\nperson = "id"\nmax_groups_per_person = 1\nmax_rows_per_group = 1\n' + SCHEMA
    for wrong in (person, SCHEMA.replace("age", "height"), "", '[table]\nadjacency = "replace-one"\n' + SCHEMA):
        with pytest.raises(CelosiaError):
            catalogue.update("deaths", schema=wrong, by="cora")
    assert catalogue.find("deaths") == changed
    assert [kind for kind, _ in lines(ledger)] == ["dataset added", "dataset changed"]
    notes = [message_to_json(note) for note in explain_change(before, changed)]
    assert lines(ledger)[-1][1] == {
        "by": "cora",
        "dataset": "deaths",
        "notes": notes,
        "revision": 2,
        "was": {"schema": before.schema},
        "now": {"schema": changed.schema},
    }


def test_a_new_source_is_a_new_version_and_the_old_one_stays_taken(
    catalogue: Catalogue, ledger: Ledger, folder: Path
) -> None:
    catalogue.add(deaths(folder), by="x")
    public = PublicTable(source=str(folder / "causes.csv"), key=("cause",))
    catalogue.add(deaths(folder, name="causes_of", source=str(folder / "births.csv"), public=(public,)), by="x")
    (folder / "newer.csv").write_text("id,age,cause\n9,3,B\n", encoding="utf-8")
    for taken in ("births.csv", "causes.csv"):  # the rows of another data set, and public ones
        with pytest.raises(CelosiaError):
            catalogue.update("deaths", source=str(folder / taken), schema=SCHEMA.replace("age", "cause"), by="x")
    _, after = catalogue.update("deaths", source=str(folder / "newer.csv"), title="Deaths", by="cora")
    assert (after.version, after.revision, after.former) == (2, 2, ((str(folder / "deaths.csv"), None),))
    assert lines(ledger)[-1][1]["was"] == {"source": str(folder / "deaths.csv"), "title": "", "version": 1}
    for source in ("deaths.csv", "newer.csv"):  # either would be a second budget for the same people
        with pytest.raises(ParameterError, match="is part of the data set 'deaths' already"):
            catalogue.add(deaths(folder, name="again", source=str(folder / source)), by="x")
    (folder / "alone.csv").write_text("id,age\n1,1\n", encoding="utf-8")
    own = PublicTable(source=str(folder / "deaths.csv"), key=("id",), name="codes")
    with pytest.raises(ParameterError, match="rows about people stay private"):
        catalogue.add(deaths(folder, name="more", source=str(folder / "alone.csv"), public=(own,)), by="x")
    _, back = catalogue.update("deaths", source=str(folder / "deaths.csv"), by="cora")
    assert back.version == 3  # not 1: what was stored for the first version is not given again
    assert {source for source, _ in back.former or ()} == {str(folder / "deaths.csv"), str(folder / "newer.csv")}


def test_a_change_of_nothing_or_of_something_wrong_changes_nothing(
    catalogue: Catalogue, ledger: Ledger, folder: Path
) -> None:
    added = catalogue.add(deaths(folder, title="Deaths"), by="x")
    (folder / "other.csv").write_text("id,cause\n1,A\n", encoding="utf-8")
    cases: list[dict[str, Any]] = [
        {},
        {"title": "Deaths"},
        {"schema": SCHEMA},
        {"source": str(folder / "deaths.csv")},
        {"table": "deaths"},
        {"retired": False},
        {"title": "x" * 10_001},
        {"title": "two\nlines"},
        {"title": "\x1b[31mred"},
        {"source": str(folder / "other.csv")},  # without the column of the schema
        {"source": str(folder / "nowhere.csv")},
        {"source": ""},
        {"schema": "no toml", "title": "y"},
    ]
    for change in cases:
        with pytest.raises(CelosiaError):
            catalogue.update("deaths", by="x", **change)
    with pytest.raises(NotFoundError):
        catalogue.update("births", by="x", title="y")
    assert catalogue.all() == (added,)
    assert len(lines(ledger)) == 1


def test_a_retired_data_set_stays_and_can_be_restored(catalogue: Catalogue, ledger: Ledger, folder: Path) -> None:
    catalogue.add(deaths(folder), by="x")
    (folder / "deaths.csv").rename(folder / "away.csv")  # rows that are gone are a reason to retire
    catalogue.update("deaths", retired=True, by="cora")
    (folder / "away.csv").rename(folder / "deaths.csv")
    changes: list[Callable[[], Any]] = [
        lambda: catalogue.update("deaths", title="x", by="x"),
        lambda: catalogue.update("deaths", retired=True, by="x"),
        lambda: catalogue.set_bounds("deaths", "age", 0, 1, by="x"),
        lambda: catalogue.new_version("deaths", by="x"),
        lambda: catalogue.share("deaths", None, by="x"),
    ]
    for change in changes:
        with pytest.raises(ParameterError, match="celosia guard dataset restore deaths"):
            change()
    for again in ({"name": "Deaths", "source": str(folder / "births.csv")}, {"name": "again"}):
        with pytest.raises(ParameterError, match="already"):
            catalogue.add(deaths(folder, **again), by="x")
    _, restored = catalogue.update("deaths", retired=False, title="Back", by="olga")
    assert (restored.retired, restored.version, restored.revision) == (False, 1, 3)
    assert [(kind, body["by"]) for kind, body in lines(ledger)[1:]] == [
        ("dataset retired", "cora"),
        ("dataset restored", "olga"),
    ]


def test_a_version_is_declared_and_public_tables_are_read_again(
    catalogue: Catalogue, ledger: Ledger, folder: Path
) -> None:
    public = PublicTable(source=str(folder / "causes.csv"), key=("cause",))
    before = catalogue.add(deaths(folder, public=(public,)), by="x")
    (folder / "causes.csv").write_text("cause,chapter\nA,one\nB,two\n", encoding="utf-8")
    after = catalogue.new_version("deaths", by="cora")
    assert (after.version, after.revision) == (2, 2)
    assert "B" not in before.public[0].schema
    assert "B" in after.public[0].schema
    assert lines(ledger)[-1] == ("version changed", {"by": "cora", "dataset": "deaths", "revision": 2, "version": 2})


def test_who_may_see_it_can_be_changed(catalogue: Catalogue, ledger: Ledger, folder: Path) -> None:
    catalogue.add(deaths(folder), by="x")
    assert catalogue.share("deaths", ["eva", "ana", "ana"], by="x").analysts == ("ana", "eva")
    assert catalogue.share("deaths", None, by="x").analysts is None
    assert [body["analysts"] for kind, body in lines(ledger) if kind == "dataset shared"] == [["ana", "eva"], None]


def test_what_was_changed_meanwhile_is_not_overwritten(
    catalogue: Catalogue, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue.add(deaths(folder), by="x")
    find = catalogue.find

    def slow(name: str) -> Dataset | None:
        found = find(name)
        monkeypatch.setattr(catalogue, "find", find)
        catalogue.set_bounds("deaths", "age", 0, 90, by="another")
        return found

    monkeypatch.setattr(catalogue, "find", slow)
    with pytest.raises(ParameterError, match="changed by another user meanwhile"):
        catalogue.set_bounds("deaths", "age", 0, 80, by="cora")
    assert find("deaths").schema_file.schema["age"] == cl.Integer(0, 90)  # type: ignore[union-attr]


def test_two_who_add_at_once_do_not_both_succeed(catalogue: Catalogue, folder: Path) -> None:
    problems: list[Exception] = []

    def add() -> None:
        try:
            catalogue.add(deaths(folder), by="x")
        except ParameterError as error:
            problems.append(error)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(problems) == 3
    assert len(catalogue.all()) == 1


def test_what_is_wrong_with_a_data_set_is_told_to_its_keepers(catalogue: Catalogue, folder: Path) -> None:
    catalogue.add(deaths(folder), by="x")
    catalogue.check("deaths")
    (folder / "deaths.csv").unlink()
    with pytest.raises(ParameterError, match="there is no file"):
        catalogue.check("deaths")
