"""``celosia learn`` from end to end: fit, predict and show, pay once, and say in one line what is wrong."""

from __future__ import annotations

import contextlib
import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import celosia as cl
from celosia.cli.app import app
from celosia.cli.learn.commands import Learned, Price
from celosia.cli.learn_models import MODELS
from celosia.core.errors import ParameterError

SCHEMA = """
[table]
name = "people"

[columns.age]
kind = "integer"
low = 0
high = 100

[columns.dose]
kind = "real"
low = 0
high = 1

[columns.ward]
kind = "category"
values = [1, 2, 3]

[columns.cost]
kind = "real"
low = 0
high = 10

[columns.ill]
kind = "category"
values = ["no", "yes"]
"""
ROWS = 4000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("learn")
    random = np.random.default_rng(5)
    age, dose = random.integers(-5, 105, ROWS), random.random(ROWS)
    cost = age / 25 + 3 * dose + random.normal(0, 0.3, ROWS)
    table = pa.table(
        {
            "who": pa.array(np.arange(ROWS) // 2),
            "age": pa.array([None if n % 50 == 0 else int(a) for n, a in enumerate(age)], pa.int64()),
            "dose": pa.array(dose),
            "ward": pa.array(random.integers(1, 4, ROWS)),
            "cost": pa.array(cost),
            "ill": pa.array(["yes" if a > 50 else "no" for a in age]),
        }
    )
    from pyarrow import csv as arrow_csv

    arrow_csv.write_csv(table, place / "people.csv")
    pq.write_table(table, place / "people.parquet")
    (place / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    persons = '[table]\nname = "people"\nperson = "who"\nmax_groups_per_person = 1\nmax_rows_per_group = 2\n'
    (place / "persons.toml").write_text(SCHEMA.replace('[table]\nname = "people"\n', persons), encoding="utf-8")
    replaced = '[table]\nname = "people"\nadjacency = "replace-one"\n'
    (place / "replaced.toml").write_text(SCHEMA.replace('[table]\nname = "people"\n', replaced), encoding="utf-8")
    full = (place / "replaced.toml").read_text().replace("high = 100", "high = 100\nnull = 50")
    full = full.replace("high = 1\n", "high = 1\nnull = 0\n").replace("high = 10\n", "high = 10\nnull = 5\n")
    (place / "full.toml").write_text(full.replace('["no", "yes"]', '["no", "yes"]\nnull = "no"'), encoding="utf-8")
    (place / "new.csv").write_text("dose,age,ward,more\n0.5,80,1,x\n0.5,,2,y\n0.1,10,9,z\n", encoding="utf-8")
    return place


def run(folder: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, ["learn", *arguments])
    assert result.exit_code == code, result.stderr + result.stdout
    if code:
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
        assert "Traceback" not in result.stderr
    return result.stdout, result.stderr


def fit(folder: Path, model: str, *more: str, out: str = "model.json", code: int = 0) -> tuple[str, str]:
    price = () if any(word in more for word in ("--epsilon", "--rho")) else ("--epsilon", "50")
    schema = () if "--schema" in more else ("--schema", "schema.toml")
    given = (
        "fit",
        "people.csv",
        "--model",
        model,
        *schema,
        *price,
        *more,
        "--output",
        out,
        *(() if code else ("--force",)),
    )
    return run(folder, *given, code=code)


def predicted(folder: Path, out: str = "model.json") -> list[dict[str, str]]:
    text, _ = run(folder, "predict", out, "new.csv")
    return list(csv.DictReader(text.splitlines()))


def test_a_line_is_fitted_inside_the_engine(folder: Path) -> None:
    stdout, stderr = fit(folder, "linear", "--target", "cost", "--features", "age,dose")
    assert stdout == "model.json\n"
    assert stderr.startswith("Spent ε = 50 for each row (add-remove). Nothing is stored")
    model = cl.learn.load(folder / "model.json")
    assert model.coef_ == pytest.approx([1 / 25, 3], abs=0.3)
    assert (model.provenance_["table"], model.seeded_) == ("people", False)
    first, second, third = predicted(folder)
    assert float(first["prediction"]) == pytest.approx(80 / 25 + 1.5, abs=0.5)
    assert second["prediction"] == ""
    assert float(third["prediction"]) == pytest.approx(10 / 25 + 0.3, abs=0.5)


@pytest.mark.parametrize("method", ["auto", "functional"])
def test_classes_are_learned_in_memory_and_in_the_engine(folder: Path, method: str) -> None:
    fit(folder, "logistic", "--target", "ill", "--features", "age,dose", "--method", method, "--delta", "1e-6",
        "--epsilon", "50")  # fmt: skip
    model = cl.learn.load(folder / "model.json")
    assert ("table" in model.provenance_) == (method == "functional")
    assert model.classes_.tolist() == ["no", "yes"]
    assert [row["prediction"] for row in predicted(folder)] == ["yes", "", "no"]


FULL = ("--rho", "5", "--schema", "full.toml")
CASES: dict[str, tuple[str, ...]] = {
    "ridge": ("--target", "cost", "--features", "age,dose", "--set", "alpha=0.5"),
    "gaussian-nb": ("--target", "ill", "--features", "age,dose"),
    "categorical-nb": ("--target", "ill", "--features", "ward"),
    "kmeans": ("--features", "age,dose", "--set", "n_clusters=2"),
    "fuzzy-c-means": ("--features", "age,dose", "--set", "n_clusters=2"),
    "pca": ("--features", "age,dose", "--set", "n_components=1"),
    "scaler": ("--features", "age,dose", "--rho", "0.5"),
    "pnsgd-regressor": ("--target", "cost", "--features", "age,dose", *FULL),
    "pnsgd-classifier": ("--target", "ill", "--features", "age,dose", *FULL),
}


@pytest.mark.parametrize("model", CASES)
def test_every_model_is_fitted_and_predicts(folder: Path, model: str) -> None:
    fit(folder, model, *CASES[model])
    rows = predicted(folder)
    assert len(rows) == 3
    if model != "categorical-nb":
        assert set(rows[1].values()) == {""}
    assert all(rows[0].values())
    text, _ = run(folder, "card", "model.json")
    assert text.startswith(f"# {MODELS[model].estimator}, fitted with differential privacy")


def test_every_model_is_tried() -> None:
    assert {*CASES, "linear", "logistic"} == set(MODELS)


def test_all_columns_but_the_target_are_features(folder: Path) -> None:
    fit(folder, "linear", "--target", "cost", "--features", "dose , age")
    assert cl.learn.load(folder / "model.json").feature_names_in_.tolist() == ["dose", "age"]
    _, stderr = fit(folder, "scaler", code=2, out="x.json")
    assert "features: 'ward' is no number" in stderr


def test_some_rows(folder: Path) -> None:
    fit(folder, "scaler", "--features", "dose", "--where", "age > 50")
    assert cl.learn.load(folder / "model.json").provenance_["where"] == "age > 50"
    _, stderr = fit(folder, "kmeans", "--features", "dose", "--where", "age > 50", code=2, out="x.json")
    assert "where: kmeans is fitted in memory" in stderr


def test_persons_are_protected_or_refused(folder: Path) -> None:
    _, stderr = fit(folder, "scaler", "--features", "age", "--schema", "persons.toml")
    assert "for each person (add-remove)" in stderr
    _, stderr = fit(folder, "kmeans", "--features", "age", "--schema", "persons.toml", code=2, out="x.json")
    assert "protects persons" in stderr


def test_a_public_number_of_rows_stays_public(folder: Path) -> None:
    _, stderr = fit(folder, "kmeans", "--features", "age", "--schema", "replaced.toml", code=2, out="x.json")
    assert "would make it private" in stderr
    _, stderr = fit(folder, "scaler", "--features", "age", "--schema", "replaced.toml")
    assert "for each row (replace-one)" in stderr


def test_a_ledger_remembers(folder: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    keeper = ("--ledger", url, "--analyst", "ana")
    _, stderr = fit(folder, "scaler", "--features", "age", "--epsilon", "1", *keeper, code=2, out="x.json")
    assert "no budget for 'people'" in stderr
    with cl.open_ledger(url) as ledger:
        ledger.set_budget(cl.ApproxDP(epsilon=3, delta="1e-5"), dataset="people")
    _, stderr = fit(folder, "scaler", "--features", "age", "--epsilon", "1", *keeper)
    assert "Spent ε = 1" in stderr
    assert "ε = 2" in stderr
    _, stderr = fit(folder, "kmeans", "--features", "age", "--epsilon", "1", "--delta", "1e-6", *keeper)
    assert "is left in the ledger" in stderr
    _, stderr = fit(folder, "scaler", "--features", "age", "--epsilon", "2", *keeper, code=4, out="x.json")
    assert "Error: The question costs" in stderr
    with cl.open_ledger(url) as ledger:
        states = [(each.state, each.analyst) for each in ledger.reservations(dataset="people")]
    assert states == [("committed", "ana")] * 2
    assert not (folder / "x.json").exists()


def test_a_model_is_not_overwritten(folder: Path) -> None:
    fit(folder, "scaler", "--features", "age", out="kept.json")
    before = (folder / "kept.json").read_bytes()
    _, stderr = fit(folder, "scaler", "--features", "age", out="kept.json", code=2)
    assert "add --force to replace it" in stderr
    assert (folder / "kept.json").read_bytes() == before


def test_predictions_and_cards_go_to_files(folder: Path) -> None:
    fit(folder, "scaler", "--features", "age,dose")
    stdout, _ = run(folder, "predict", "model.json", "new.csv", "--output", "predictions.csv")
    assert stdout == "predictions.csv\n"
    assert (folder / "predictions.csv").read_text().splitlines()[0] == "age,dose"
    assert "add --force" in run(folder, "predict", "model.json", "new.csv", "--output", "predictions.csv", code=2)[1]
    run(folder, "card", "model.json", "--html", "--output", "card.html")
    assert (folder / "card.html").read_text().startswith("<!doctype html>")
    text, _ = run(folder, "card", "model.json", "--rows", "5000")
    assert "| 5,000 |" in text


def test_parquet_is_read_too(folder: Path) -> None:
    fit(folder, "categorical-nb", "--target", "ill", "--features", "ward")
    table = pa.table({"ward": [1, None, 3], "more": ["x", "y", "z"]})
    pq.write_table(table, folder / "new.parquet")
    text, _ = run(folder, "predict", "model.json", "new.parquet")
    assert len(text.splitlines()) == 4


def test_the_models_are_listed(folder: Path) -> None:
    stdout, stderr = run(folder, "models")
    assert all(word in stdout for word in MODELS)
    assert "star" in stderr
    stdout, _ = run(folder)
    assert "predict" in stdout


WRONG: dict[str, tuple[str, ...]] = {
    "model must be one of": ("forest",),
    "target: linear needs --target": ("linear",),
    "target: pca has no target": ("pca", "--target", "cost"),
    "no column 'size'": ("linear", "--target", "cost", "--features", "size"),
    "no column 'height'": ("linear", "--target", "height"),
    "different columns": ("linear", "--target", "cost", "--features", "cost"),
    "has no parameter 'depth'": ("linear", "--target", "cost", "--features", "age", "--set", "depth=3"),
    "set must be NAME=VALUE": ("linear", "--target", "cost", "--set", "alpha"),
    "set must be NAME=VALUE of": ("linear", "--target", "cost", "--set", "budget=1"),
    "method must be one of": ("linear", "--target", "cost", "--features", "age", "--method", "magic"),
    "n_clusters": ("kmeans", "--features", "age", "--set", "n_clusters=0"),
    "stands alone": ("linear", "--target", "cost", "--epsilon", "1", "--rho", "1"),
    "epsilon": ("linear", "--target", "cost", "--epsilon", "-1"),
    "delta": ("linear", "--target", "cost", "--features", "age", "--epsilon", "1", "--delta", "2"),
    "leave epsilon and delta out": ("linear", "--target", "cost", "--rho", "1", "--delta", "0.1"),
    "analyst goes with --ledger": ("linear", "--target", "cost", "--analyst", "ana"),
    "no schema file": ("linear", "--target", "cost", "--schema", "nowhere.toml"),
    "target: 'cost' must be a category": ("logistic", "--target", "cost", "--features", "age"),
    "The target must be a Category": ("gaussian-nb", "--target", "cost", "--features", "age"),
    "features: 'ward' is no number": ("linear", "--target", "cost"),
    "no column 'agge'": ("scaler", "--features", "age", "--where", "agge > 3"),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_said_in_one_line(folder: Path, words: str) -> None:
    refused = words in ("no column 'agge'", "different columns")  # by the query that it would be
    _, stderr = fit(folder, *WRONG[words], out="never.json", code=3 if refused else 2)
    assert words in stderr
    assert not (folder / "never.json").exists()


def test_files_that_are_no_models_or_rows(folder: Path) -> None:
    (folder / "broken.json").write_text("{}", encoding="utf-8")
    assert "holds no model" in run(folder, "card", "broken.json", code=2)[1]
    assert "No such file" in run(folder, "card", "nowhere.json", code=2)[1]
    fit(folder, "scaler", "--features", "age,dose")
    assert "no file 'nowhere.csv'" in run(folder, "predict", "model.json", "nowhere.csv", code=2)[1]
    (folder / "short.csv").write_text("age\n3\n", encoding="utf-8")
    assert "needs the columns age, dose" in run(folder, "predict", "model.json", "short.csv", code=2)[1]
    (folder / "texts.csv").write_text("age,dose\n3,secret\n", encoding="utf-8")
    _, stderr = run(folder, "predict", "model.json", "texts.csv", code=2)
    assert "could not be read" in stderr
    assert "secret" not in stderr
    assert "no directory" in fit(folder, "scaler", "--features", "age", out="nowhere/m.json", code=2)[1]


def test_settings_are_read_as_what_they_are() -> None:
    settings = ["a=1", "b=0.5", "c=true", "d=None", "e=word", "f=a=b"]
    given = Learned(file="x", model="linear", schema=Path("y"), setting=settings)
    assert given.settings() == {"a": 1, "b": 0.5, "c": True, "d": None, "e": "word", "f": "a=b"}
    with pytest.raises(ParameterError):
        Price().parameters()


def test_nothing_heavy_is_loaded_for_help() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from celosia.cli.app import app; "
        "CliRunner().invoke(app, ['learn', '--help']); "
        "print(sorted({'sklearn', 'duckdb', 'ibis', 'pyarrow', 'pandas'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert json.loads(found.stdout.replace("'", '"')) == []
