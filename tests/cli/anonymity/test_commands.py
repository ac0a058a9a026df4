"""``celosia anonymity`` on a survey: plan, apply, measure, risk, report and attack."""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from typer.testing import CliRunner

import celosia as cl
from celosia.anonymity import load_plan
from celosia.anonymity.microdata.files import read_file
from celosia.cli.app import app
from celosia.data import JOBS, make_survey

if TYPE_CHECKING:
    from pathlib import Path

ROLES = [
    *("--identifier", "name", "--identifier", "postal code", "--household", "household", "--weight", "weight"),
    *("--quasi-identifier", "province", "--quasi-identifier", "sex", "--quasi-identifier", "age"),
    *("--sensitive", "illness", "--other", "pay", "--other", "job"),
]
PLAN = """\
[file]
input = "survey.parquet"
output = "release.csv"

[plan]
seed = 7

[roles]
identifiers = ["name", "postal code"]
quasi_identifiers = ["province", "sex", "age"]
sensitive = ["illness"]
others = ["pay", "job"]
household = "household"
weight = "weight"

[hierarchies]
age = {kind = "Intervals", low = 0, high = 100, widths = [10, 50]}

[[steps]]
kind = "Generalize"
levels = {age = 1}

[[steps]]
kind = "LocalSuppression"
k = 3

[[require]]
kind = "KAnonymity"
k = 3
"""


def run(folder: Path, *words: str, code: int = 0, lang: str = "en") -> tuple[str, str]:
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, ["--lang", lang, "anonymity", *words], env={"COLUMNS": "300"})
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    if code:
        assert result.stdout == ""
    return result.stdout, result.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(make_survey(150), tmp_path / "survey.parquet")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def test_a_plan_is_suggested_written_and_applied(folder: Path) -> None:
    words = ["plan", "survey.parquet", *ROLES, "--k", "3", "--output", "new.toml", "--chart", "plans.svg"]
    out, err = run(folder, *words)
    assert out.strip() == "new.toml"
    assert "Recommended:" in err
    assert (folder / "plans.svg").read_text().startswith("<svg")
    assert load_plan(folder / "new.toml").plan.require
    run(folder, *words, code=2)  # it is there
    out, _ = run(folder, "apply", "new.toml", "--output", "release.parquet")
    assert out.strip() == "release.parquet"
    names = pq.read_table(folder / "release.parquet").column_names
    assert names == ["household", "province", "sex", "age", "job", "pay", "illness", "weight"]


def test_a_plan_goes_to_standard_output(folder: Path) -> None:
    out, err = run(folder, "plan", "survey.parquet", *ROLES, lang="es")
    assert "[roles]" in out
    assert "Recomendado:" in err


def test_a_hierarchy_is_read_from_a_file(folder: Path) -> None:
    (folder / "jobs.csv").write_text("".join(f"{job};{sector}\n" for job, sector in JOBS.items()), encoding="utf-8")
    roles = ["--quasi-identifier" if word == "--other" else word for word in ROLES]
    out, _ = run(folder, "plan", "survey.parquet", *roles, "--hierarchy", "job=jobs.csv")
    assert "[hierarchies.job]" in out
    _, err = run(folder, "plan", "survey.parquet", *roles, "--hierarchy", "jobs.csv", code=2)
    assert "'jobs.csv'" in err
    (folder / "twice.csv").write_text("F;x\nF;y\n", encoding="utf-8")
    _, err = run(folder, "plan", "survey.parquet", *ROLES, "--hierarchy", "sex=twice.csv", code=2)
    assert "--hierarchy sex: The hierarchy has two lines" in err
    (folder / "gap.csv").write_text("F;any\n", encoding="utf-8")
    _, err = run(folder, "plan", "survey.parquet", *ROLES, "--hierarchy", "sex=gap.csv", code=2)
    assert "'sex' has values without a line in its hierarchy" in err


def test_names_that_a_format_does_not_allow_are_refused_before_the_work(folder: Path) -> None:
    plan = PLAN.replace('["name", "postal code"]', '["name"]').replace(
        'others = ["pay"', 'others = ["postal code", "pay"'
    )
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    _, err = run(folder, "apply", "plan.toml", "--output", "release.sav", "--log", "log.json", code=2)
    assert "'postal code'" in err
    assert "Generalize" not in err
    assert not (folder / "log.json").exists()


def test_a_column_without_a_role_is_named(folder: Path) -> None:
    _, err = run(folder, "plan", "survey.parquet", "--quasi-identifier", "age", code=2)
    assert "'illness'" in err


def test_applying_logs_each_step_and_gives_the_same_file_again(folder: Path) -> None:
    out, err = run(folder, "apply", "plan.toml", "--log", "log.json")
    assert out.strip() == "release.csv"
    assert re.search(r"Generalize: .*risk", err)
    assert "not differential privacy" in err
    log = json.loads((folder / "log.json").read_text())
    assert [entry["step"]["kind"] for entry in log] == ["Generalize", "LocalSuppression"]
    assert log[-1]["after"]["k"] >= 3
    once = (folder / "release.csv").read_bytes()
    run(folder, "apply", "plan.toml", code=2)  # it is there
    run(folder, "apply", "plan.toml", "--force")
    assert (folder / "release.csv").read_bytes() == once
    assert "person 0" not in once.decode()


def test_what_cannot_be_applied_writes_nothing(folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    (folder / "plan.toml").write_text(
        PLAN.replace("k = 3\n", "k = 3\n", 1).replace('kind = "KAnonymity"\nk = 3', 'kind = "KAnonymity"\nk = 9999')
    )
    run(folder, "apply", "plan.toml", "--log", "log.json", code=2)
    (folder / "plan.toml").write_text(PLAN.replace('output = "release.csv"\n', ""))
    run(folder, "apply", "plan.toml", code=2)
    run(folder, "apply", "none.toml", code=2)
    run(folder, "apply", "plan.toml", "--output", "a.sas7bdat", code=2)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_files_of_statistical_packages_come_and_go(folder: Path) -> None:
    plan = PLAN.replace('"postal code"', '"postal"')
    (folder / "plan.toml").write_text(plan.replace("release.csv", "release.sav"), encoding="utf-8")
    import pyreadstat

    frame = make_survey(150).rename_columns(
        [name.replace("postal code", "postal") for name in make_survey(1).column_names]
    )
    pyreadstat.write_sav(frame.to_pandas(), str(folder / "survey.sav"))
    run(folder, "apply", "plan.toml", "--data", "survey.sav")
    table, _ = read_file(folder / "release.sav")
    assert table.num_rows == frame.num_rows
    assert "name" not in table.column_names


def test_measures_and_risks_of_both_files(folder: Path) -> None:
    run(folder, "apply", "plan.toml")
    out, _ = run(folder, "measure", "plan.toml", "--json")
    assert json.loads(out)["k"] == 1
    out, _ = run(folder, "measure", "plan.toml", "--released", "release.csv", "--json")
    assert json.loads(out)["k"] >= 3
    out, _ = run(folder, "measure", "plan.toml", lang="es")
    assert "registros únicos" in out
    out, _ = run(folder, "risk", "plan.toml", "--special-uniques", "2")
    assert "re-identif" in out
    before, _ = run(folder, "risk", "plan.toml", "--json")
    after, _ = run(folder, "risk", "plan.toml", "--released", "release.csv", "--json")
    assert json.loads(after)["rate"] < json.loads(before)["rate"]


def test_reports_are_for_inside_and_outside(folder: Path) -> None:
    words = ["report", "plan.toml", "--inside", "in.html", "--outside", "out.html", "--title", "Survey"]
    out, _ = run(folder, *words, lang="es")
    assert out.split() == ["in.html", "out.html"]
    inside, outside = ((folder / name).read_text("utf-8") for name in out.split())
    assert "Riesgo" in inside
    assert "Riesgo" not in outside
    assert "Survey" in outside
    run(folder, *words, code=2)
    run(folder, "report", "plan.toml", code=2)


def test_attacks_on_the_original_and_on_the_result(folder: Path) -> None:
    survey = make_survey(150)
    csv.write_csv(survey.select(["name", "province", "sex", "age"]).slice(0, 20), folder / "register.csv")
    out, _ = run(folder, "attack", "plan.toml", "--register", "register.csv", "--identity", "name")
    assert "The original file" in out
    assert "After the plan" in out
    assert not re.search(r"person \d", out)  # the owner looks names up in Python
    run(folder, "apply", "plan.toml")
    words = ["attack", "plan.toml", "--released", "release.csv", "--last-year", "release.csv"]
    run(folder, *words, code=2)
    out, _ = run(folder, *words, "--register", "register.csv", "--identity", "name", lang="es")
    assert "El fichero publicado" in out


def test_a_register_of_other_columns_is_refused(folder: Path) -> None:
    csv.write_csv(pa.table({"name": ["a"]}), folder / "register.csv")
    run(folder, "attack", "plan.toml", "--register", "register.csv", "--identity", "name", code=2)


PRIVATE = """\
[file]
input = "survey.parquet"
output = "release.csv"

[roles]
identifiers = ["name", "postal code"]
quasi_identifiers = ["province", "sex", "age"]
sensitive = ["illness"]
others = ["pay", "job"]
household = "household"
weight = "weight"

[columns.sex]
kind = "category"
values = ["F", "M"]

[columns.age]
kind = "integer"
low = 0
high = 99

[[steps]]
kind = "NoisyHistogramSampling"
epsilon = "0.5"
bins = {age = 10}
"""


def test_a_private_plan_is_paid_from_the_ledger_each_time(folder: Path) -> None:
    (folder / "plan.toml").write_text(PRIVATE, encoding="utf-8")
    with cl.open_ledger(f"sqlite:///{folder}/budget.db") as ledger:
        ledger.set_budget(cl.PureDP(epsilon=1), dataset="survey")
    words = ["apply", "plan.toml", "--ledger", "sqlite:///budget.db", "--force"]
    _, err = run(folder, *words, "--outside", "out.html")
    assert "ε = 0.5" in err
    assert "records 351" not in err  # how many there are is private
    assert "not differential privacy" not in err
    assert "satisfies differential privacy" in (folder / "out.html").read_text("utf-8")
    run(folder, *words)
    run(folder, *words, code=4)
    out, _ = run(folder, "measure", "plan.toml", "--released", "release.csv")
    assert "unique records" in out
    run(folder, "attack", "plan.toml", "--released", "release.csv")
    run(folder, "report", "plan.toml", "--outside", "again.html", code=2)
    run(folder, "attack", "plan.toml", code=2)
    run(folder, "apply", "plan.toml", "--force", "--dataset", "survey", code=2)  # without a ledger
    run(folder, *words, "--dataset", "other", code=2)


def test_private_plans_are_tried_with_a_schema(folder: Path) -> None:
    text = PRIVATE[PRIVATE.index("[columns.sex]") : PRIVATE.index("[[steps]]")]
    (folder / "schema.toml").write_text(text, encoding="utf-8")
    _, err = run(folder, "plan", "survey.parquet", *ROLES, "--schema", "schema.toml")
    assert "epsilon = 1" in err


def test_a_report_of_a_plan_without_a_seed_says_so(folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN.replace("seed = 7\n", ""), encoding="utf-8")
    _, err = run(folder, "report", "plan.toml", "--outside", "out.html")
    assert "another draw" in err
    run(folder, "apply", "plan.toml", "--inside", "in.html")
    assert (folder / "in.html").is_file()
