from __future__ import annotations

import contextlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.guard.datasets import DatasetOptions, print_card
from celosia.guard.auth.identity import Identity
from celosia.guard.config.settings import Config
from celosia.guard.datasets.dataset import Dataset
from celosia.guard.service import Guard

SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 120
null = 0

[columns.sex]
kind = "category"
values = ["F", "M"]
"""
ADD = ("add", "deaths", "deaths.parquet", "--schema", "schema.toml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Config(store="sqlite:///ledger.db").write(tmp_path / "guard.toml")
    with Guard.open(Config.read(tmp_path / "guard.toml")) as guard:
        guard.add_user(Identity.local(), "owner", "owner")
    pq.write_table(pa.table({"age": [34, 71], "sex": ["F", "M"], "id": [1, 2]}), tmp_path / "deaths.parquet")
    (tmp_path / "sexes.csv").write_text("sex,word\nF,woman\nM,man\n", encoding="utf-8")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, ["guard", "dataset", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def test_what_analysts_will_see_is_shown(folder: Path) -> None:
    out, err = run(folder, *ADD, "--title", "Deaths", "--public", "sexes.csv", "--key", "sex")
    assert "deaths: one row is protected (add-remove)" in out
    assert "0 to 120" in out
    assert "taken as 0" in out
    assert "sexes: public, joined by sex" in out
    assert "34" not in out
    assert "celosia guard budget set --dataset deaths" in err
    again, _ = run(folder, "show", "deaths")
    assert again == out


def test_data_sets_are_listed_without_passwords(folder: Path) -> None:
    run(folder, *ADD)
    with Guard.open(Config.read(folder / "guard.toml")) as guard:
        guard.catalogue._change(  # a database that is not at hand
            guard.catalogue._require("deaths"),
            Dataset(
                name="deaths",
                source="postgresql://ana:secret@db.example/registry",
                relation="public.deaths",
                schema=SCHEMA,
                analysts=(),
            ),
            "dataset moved",
            "local",
        )
    out, _ = run(folder, "list")
    assert "postgresql://ana:***@db.example/registry (public.deaths)" in out
    assert "none" in out
    assert "secret" not in out


def test_data_sets_are_checked(folder: Path) -> None:
    run(folder, *ADD)
    out, _ = run(folder, "check")
    assert "can be opened" in out
    (folder / "deaths.parquet").unlink()
    out, _ = run(folder, "check", code=1)
    assert "there is no file" in out


def test_versions_and_sharing(folder: Path) -> None:
    run(folder, *ADD)
    _, err = run(folder, "version", "deaths", code=2)
    assert "say --yes if it is meant" in err
    _, err = run(folder, "version", "deaths", "--yes")
    assert "deaths is now version 2" in err
    with Guard.open(Config.read(folder / "guard.toml")) as guard:
        guard.add_user(Identity.local(), "ana", "analyst")
    _, err = run(folder, "share", "deaths", "--analyst", "ana")
    assert "can be seen by ana" in err
    out, _ = run(folder, "list")
    assert "ana" in out
    _, err = run(folder, "share", "deaths")
    assert "all analysts" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "deaths", "nowhere.parquet", "--schema", "schema.toml"), "there is no file 'nowhere.parquet'"),
        (("add", "deaths", "deaths.parquet", "--schema", "nowhere.toml"), "There is no schema file 'nowhere.toml'"),
        (("add", "deaths", "deaths.parquet", "--schema", "."), "cannot be read as a text"),
        (("add", "deaths", "deaths.parquet"), "Missing option '--schema'"),
        (("add", "two words", "deaths.parquet", "--schema", "schema.toml"), "name must be letters, digits"),
        ((*ADD, "--public", "sexes.csv"), "key must be given once for each --public"),
        ((*ADD, "--public", "sexes.csv", "--key", "age"), "key names 'age'"),
        ((*ADD, "--public", "deaths.parquet", "--key", "id"), "the same name"),
        ((*ADD, "--analyst", "nobody"), "There is no user 'nobody'"),
        (("add", "d", "postgresql://ana:secret@127.0.0.1:1/x", "--schema", "schema.toml"), "name must be given"),
        (
            ("add", "d", "postgresql://ana:secret@127.0.0.1:1/x", "--table", "t", "--schema", "schema.toml"),
            "could not open the tables",
        ),
        (("version", "births", "--yes"), "There is no data set 'births'"),
        (("update", "births", "--title", "x"), "There is no data set 'births'"),
        (("retire", "births", "--yes"), "There is no data set 'births'"),
        (("restore", "births"), "There is no data set 'births'"),
        (
            ("retire", "births"),
            "This retires births: it takes no more questions until it is restored. Nothing was done",
        ),
        (("update", "births", "--source", "x.csv"), "Nothing was done: without a terminal to ask on, say --yes"),
        (("update", "births", "--schema", "nowhere.toml", "--yes"), "There is no schema file 'nowhere.toml'"),
        (("show", "births"), "There is no data set 'births'"),
        (("share", "births"), "There is no data set 'births'"),
    ],
)
def test_mistakes_are_told_in_a_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    hidden = words.startswith(("There is no data set", "There is no user"))  # as for somebody who may not see it
    _, err = run(folder, *arguments, code=3 if hidden else 1 if words == "could not open the tables" else 2)
    assert words in err
    assert "secret" not in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_a_data_set_is_updated_retired_and_restored(folder: Path) -> None:
    run(folder, *ADD)
    pq.write_table(pa.table({"age": [3], "sex": ["F"], "id": [9]}), folder / "newer.parquet")
    (folder / "schema.toml").write_text(SCHEMA.replace('"F", "M"', '"F", "M", "X"'), encoding="utf-8")
    update = ("update", "deaths", "--source", "newer.parquet", "--schema", "schema.toml")
    out, err = run(folder, *update, "--yes")
    assert "F, M, X" in out
    for words in (
        "still counts in full",
        "deaths is now version 2",
        "one total for everybody in the old and in the new",
    ):
        assert words in err
    _, err = run(folder, *update, "--yes", code=2)
    assert "Nothing of the data set 'deaths' would change" in err
    _, err = run(folder, "update", "deaths", "--title", "Deaths")
    assert "still counts in full" in err
    _, err = run(folder, "add", "again", "deaths.parquet", "--schema", "schema.toml", code=2)
    assert "is part of the data set 'deaths' already" in err
    _, err = run(folder, "retire", "deaths", "--yes")
    assert "It takes no more questions." in err
    out, _ = run(folder, "list")
    assert "2 (retired)" in out
    (folder / "newer.parquet").unlink()
    run(folder, "check")  # a retired one need not be there
    _, err = run(folder, "share", "deaths", code=2)
    assert "celosia guard dataset restore deaths" in err
    _, err = run(folder, "restore", "deaths")
    assert "It takes questions again" in err


def test_a_question_on_the_terminal_is_answered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(folder, *ADD)
    monkeypatch.setattr("celosia.cli.guard.opening.has_terminal", lambda: True)
    for answer, code in (("n", 1), ("", 1), ("y", 0)):
        with contextlib.chdir(folder):
            result = CliRunner().invoke(app, ["guard", "dataset", "retire", "deaths"], input=f"{answer}\n")
        assert "takes no more questions until it is restored. Go on?" in result.stderr
        assert result.exit_code == code, result.output
        out, _ = run(folder, "list")
        assert ("retired" in out) is (answer == "y")


def test_a_schema_that_does_not_fit_is_refused(folder: Path) -> None:
    (folder / "schema.toml").write_text(SCHEMA.replace("sex", "height"), encoding="utf-8")
    _, err = run(folder, *ADD, code=2)
    assert "'height'" in err


def test_a_person_and_long_lists_are_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    schema = (
        '[table]\nperson = "id"\nmax_groups_per_person = 2\nmax_rows_per_group = 3\n'
        f"[columns.code]\nkind = 'category'\nvalues = {[f'c{n}' for n in range(100)]}\n"
        "[columns.size]\nkind = 'real'\nlow = 0\nhigh = 1\ngrid = 0.1\n[columns.words]\nkind = 'text'\n"
    )
    print_card(Dataset(name="visits", source="x.csv", schema=schema).card())
    out = capsys.readouterr().out
    assert "one person (id) is protected (add-remove), with at most 3 rows in each of 2 groups" in out
    assert "..." not in out
    assert all(f"c{n}" in out for n in range(100))
    assert "0 to 1 in steps of 0.1" in out


def test_the_options_are_those_of_a_data_set() -> None:
    given = DatasetOptions(name="d", source="d.csv", schema=Path("s"), public=["a.csv", "b.csv"], key=["x", "y,z"])
    assert [(one.name, one.key) for one in given.tables()] == [("a", ("x",)), ("b", ("y", "z"))]
    assert DatasetOptions(name="d", source="d.csv", schema=Path("s")).tables() == []
