from __future__ import annotations

import contextlib
import csv
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import celosia as cl
from celosia.cli.app import app
from celosia.cli.query.commands import OutputOptions, QueryArguments, Spending, query
from celosia.core import ZCDP, ApproxDP, ParameterError, PureDP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = f"""
[table]
name = "deaths"

[columns.age]
kind = "integer"
low = 0
high = 120

[columns.sex]
kind = "category"
values = ["F", "M"]

[columns.cause]
kind = "category"
values = {json.dumps(list(cl.data.CAUSES))}

[columns.state]
kind = "text"
"""
BY_SEX = "SELECT sex, COUNT(*), AVG(age) FROM deaths GROUP BY sex"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("query")
    pq.write_table(cl.data.deaths(), place / "deaths.parquet")
    (place / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    chapters = {code: ("violence" if code in cl.data.VIOLENCE else "illness") for code in cl.data.CAUSES}
    pq.write_table(pa.table({"cause": list(chapters), "chapter": list(chapters.values())}), place / "chapters.parquet")
    return place


def run(folder: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    command = ["query", "deaths.parquet", *arguments]
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, command, env={"COLUMNS": "100", "NO_COLOR": "1"})
    assert result.exit_code == code, result.stderr
    if code:
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
        assert "Traceback" not in result.stderr
    return result.stdout, result.stderr


def ask(folder: Path, sql: str, *arguments: str, code: int = 0) -> tuple[str, str]:
    return run(folder, sql, "--schema", "schema.toml", *arguments, code=code)


def test_the_answer_is_on_stdout_and_its_cost_on_stderr(folder: Path) -> None:
    answer, said = ask(folder, BY_SEX, "--epsilon", "0.5")
    assert "95 % interval" in answer
    assert [line.split()[0] for line in answer.splitlines()[2:]] == ["F", "M"]
    assert "\nSpent ε = 0.5 for each row (add-remove)." in said
    assert "Nothing is stored between calls: every call spends again" in said
    assert "Note: Values beyond their bounds are moved to them first (age)" in said
    assert said.count("\n") == 3


def test_each_call_draws_its_own_noise(folder: Path) -> None:
    assert ask(folder, BY_SEX, "--epsilon", "0.01")[0] != ask(folder, BY_SEX, "--epsilon", "0.01")[0]


def test_the_noise_is_that_of_the_epsilon(folder: Path) -> None:
    for epsilon, margin in (("0.001", 20_000), ("1", 20)):
        answer = json.loads(ask(folder, "SELECT COUNT(*) FROM deaths", "--epsilon", epsilon, "--json")[0])
        assert 0 < abs(answer["intervals"]["count"][0][0] - answer["rows"][0]["count"]) < margin
        assert abs(answer["rows"][0]["count"] - 200_000) < margin


def test_json_is_machine_readable(folder: Path) -> None:
    answer = json.loads(ask(folder, BY_SEX, "--epsilon", "0.5", "--json", "--confidence", "0.9")[0])
    assert [row["sex"] for row in answer["rows"]] == ["F", "M"]
    assert answer["level"] == 0.9
    assert set(answer["intervals"]) == {"count", "mean_age"}
    assert answer["guarantee"]["kind"] == "PureDP"
    assert answer["event"]["kind"] == "LaplaceEvent"


def test_csv_is_the_plain_table(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(ask(folder, BY_SEX, "--epsilon", "0.5", "--csv", "-")[0])))
    assert list(rows[0]) == ["sex", "count", "count_low", "count_high", "mean_age", "mean_age_low", "mean_age_high"]
    assert float(rows[0]["count_low"]) < float(rows[0]["count"]) < float(rows[0]["count_high"])


def test_a_preview_spends_nothing_and_says_so(folder: Path) -> None:
    answer, said = ask(folder, BY_SEX, "--epsilon", "0.5", "--preview")
    assert answer.startswith("Cost PureDP(epsilon=0.5): fits")
    assert "Laplace noise" in answer
    assert said == "Nothing was spent.\n"
    read = json.loads(ask(folder, BY_SEX, "--epsilon", "0.5", "--preview", "--json", "--rows", "80000")[0])
    assert read["cells"] == 2
    assert all(line["error"] is not None for line in read["aggregates"])


def test_an_error_decides_what_is_spent(folder: Path) -> None:
    sql = "SELECT COUNT(*) FROM deaths"
    answer = json.loads(ask(folder, sql, "--epsilon", "3", "--error", "50", "--json")[0])
    assert 0.055 < answer["spent"]["epsilon"] < 0.065  # ln(1/0.05) / 50 for Laplace noise
    low, high = answer["intervals"]["count"][0]
    assert high - low <= 100
    named = json.loads(ask(folder, sql, "--epsilon", "3", "--error", "count=50", "--json")[0])
    assert named["guarantee"] == answer["guarantee"]
    assert "whole budget" in ask(folder, sql, "--epsilon", "0.01", "--error", "50", code=4)[1]


def test_private_keys_need_a_delta(folder: Path) -> None:
    sql = "SELECT state, COUNT(*) FROM deaths GROUP BY state"
    assert "delta" in ask(folder, sql, "--epsilon", "1", code=3)[1]
    answer, said = ask(folder, sql, "--epsilon", "1", "--delta", "1e-6")
    assert "Jalisco" in answer
    assert "Spent ε = 1, δ " in said


def test_a_rho_is_spent_as_one(folder: Path) -> None:
    answer, said = ask(folder, BY_SEX, "--rho", "0.01", "--json")
    assert "Spent ρ = 0.01 for each row" in said
    assert json.loads(answer)["guarantee"]["kind"] == "ZCDP"


def test_a_public_table_is_joined_by_its_key(folder: Path) -> None:
    sql = "SELECT chapter, COUNT(*) FROM deaths JOIN chapters USING (cause) GROUP BY chapter"
    arguments = ("--epsilon", "1", "--public", "chapters.parquet", "--key", "cause", "--json")
    rows = json.loads(ask(folder, sql, *arguments)[0])["rows"]
    truth = sum(code.as_py() in cl.data.VIOLENCE for code in cl.data.deaths()["cause"])
    assert abs(next(row["count"] for row in rows if row["chapter"] == "violence") - truth) < 30


def test_a_chart_is_drawn_beside_the_answer(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "chart.svg"
    answer, said = ask(folder, BY_SEX, "--epsilon", "0.5", "--chart", str(file))
    assert "95 % interval" in answer
    assert str(file) in said
    assert file.read_text(encoding="utf-8").startswith("<svg")


def test_a_table_goes_by_the_name_that_is_given(folder: Path) -> None:
    answer, _ = run(folder, "SELECT COUNT(*) FROM dead", "--schema", "schema.toml", "--table", "dead", "--epsilon", "1")
    assert "count" in answer


def test_persons_are_protected_with_all_their_rows(tmp_path: Path) -> None:
    rows = {"who": [i // 5 for i in range(5000)], "cost": [float(i % 50) for i in range(5000)]}
    pq.write_table(pa.table(rows), tmp_path / "deaths.parquet")
    (tmp_path / "schema.toml").write_text(
        '[table]\nperson = "who"\nmax_groups_per_person = 1\nmax_rows_per_group = 2\n'
        '[columns.cost]\nkind = "real"\nlow = 0\nhigh = 100\ngrid = "0.5"\n'
    )
    answer, said = ask(tmp_path, "SELECT COUNT(*) FROM deaths", "--epsilon", "1", "--json")
    assert "for each person" in said
    assert abs(json.loads(answer)["rows"][0]["count"] - 2000) < 50  # two for each person's five rows


def test_from_a_draft_to_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deaths.csv").write_text("age;sex\n" + "34;F\n71;M\n" * 300, encoding="utf-8")
    runner = CliRunner()
    assert runner.invoke(app, ["schema", "deaths.csv", "--output", "schema.toml"]).exit_code == 0
    draft = (tmp_path / "schema.toml").read_text()
    question = ["query", "deaths.csv", "SELECT sex, AVG(age) FROM deaths GROUP BY sex", "--schema", "schema.toml"]
    refused = runner.invoke(app, [*question, "--epsilon", "5"])
    assert refused.exit_code == 2
    assert "The schema is not filled in: [columns.age] needs low and high." in refused.stderr
    filled = draft.replace("# low = ?", "low = 0").replace("# high = ?", "high = 120")
    filled = filled.replace('kind = "text"', 'kind = "category"\nvalues = ["F", "M"]')
    (tmp_path / "schema.toml").write_text(filled)
    assert runner.invoke(app, ["schema", "deaths.csv", "--check", "schema.toml"]).exit_code == 0
    answer = runner.invoke(app, [*question, "--epsilon", "5", "--json"])
    assert answer.exit_code == 0, answer.stderr
    women, men = json.loads(answer.stdout)["rows"]
    assert abs(women["mean_age"] - 34) < 2
    assert abs(men["mean_age"] - 71) < 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give --epsilon or --rho, one of them"),
        (["--epsilon", "1", "--rho", "1"], "rho='1' stands alone"),
        (["--epsilon", "0"], "epsilon must be greater than 0, not '0'."),
        (["--epsilon", "much"], "epsilon must be a number"),
        (["--epsilon", "nan"], "epsilon must be a number"),
        (["--epsilon", "1", "--delta", "1"], "delta must be 0, or at least 1e-200 and below 1"),
        (["--epsilon", "1", "--delta", "-1"], "delta must"),
        (["--rho", "1", "--delta", "1e-6"], "rho='1' stands alone"),
        (["--rho", "0"], "rho must be greater than 0"),
        (["--epsilon", "1", "--confidence", "95"], "level must"),
        (["--epsilon", "1", "--rows", "0"], "rows must be greater than 0"),
        (["--epsilon", "1", "--error", "sex=3"], "error must name aggregates"),
        (["--epsilon", "1", "--error", "3", "--error", "4"], "error must be one number, or NAME=NUMBER"),
        (["--epsilon", "1", "--json", "--csv", "-"], "json and csv cannot both be printed"),
        (["--epsilon", "1", "--preview", "--csv", "-"], "preview releases nothing"),
        (["--epsilon", "1", "--chart", "chart.bmp"], "chart must end in .html, .png or .svg, not 'chart.bmp'."),
        (["--epsilon", "1", "--chart", "nowhere/chart.svg"], "chart: there is no directory 'nowhere'"),
        (["--epsilon", "1", "--public", "chapters.parquet"], "key must be given once for each --public"),
        (["--epsilon", "1", "--public", "chapters.parquet", "--key", "code"], "'code'"),
        (["--epsilon", "1", "--public", "nowhere.csv", "--key", "code"], "there is no file 'nowhere.csv'"),
    ],
)
def test_what_is_wrong_is_one_line(folder: Path, arguments: list[str], message: str) -> None:
    before = sorted(folder.iterdir())
    assert message in ask(folder, BY_SEX, *arguments, code=2)[1]
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT * FROM deaths",
        "SELECT age FROM deaths",
        "DROP TABLE deaths",
        "SELECT COUNT(*) FROM elsewhere",
        "SELECT AVG(weight) FROM deaths",
        "SELECT AVG(sex) FROM deaths",
        "SELECT COUNT(*) FROM 'deaths.parquet'",
        "SELECT COUNT(*) FROM read_parquet('deaths.parquet')",
        "SELECT COUNT(*) FROM deaths; SELECT 1",
    ],
)
def test_what_cannot_be_asked_is_one_line(folder: Path, sql: str) -> None:
    ask(folder, sql, "--epsilon", "1", code=3)


def test_a_schema_that_is_not_there_or_does_not_fit(folder: Path, tmp_path: Path) -> None:
    assert "There is no schema file" in run(folder, BY_SEX, "--schema", "none.toml", "--epsilon", "1", code=2)[1]
    other = tmp_path / "schema.toml"
    other.write_text('[columns.weight]\nkind = "real"\nlow = 0\nhigh = 1\n')
    assert "'weight'" in run(folder, BY_SEX, "--schema", str(other), "--epsilon", "1", code=2)[1]


def test_a_database_needs_the_name_of_a_table(folder: Path, tmp_path: Path) -> None:
    nameless = tmp_path / "schema.toml"
    nameless.write_text(SCHEMA.replace('[table]\nname = "deaths"', ""))
    arguments = ["query", "postgresql://a:secret@127.0.0.1:1/x", "SELECT COUNT(*) FROM deaths", "--epsilon", "1"]
    result = CliRunner().invoke(app, [*arguments, "--schema", str(nameless)])
    assert "table must be given for a database" in result.stderr
    result = CliRunner().invoke(app, [*arguments, "--schema", str(folder / "schema.toml")])
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "secret" not in result.stderr


def test_a_chart_of_choices_is_refused_before_it_is_paid_for(folder: Path, tmp_path: Path) -> None:
    sql = "SELECT MODE(cause) FROM deaths"
    said = ask(folder, sql, "--epsilon", "1", "--chart", str(tmp_path / "c.svg"), code=2)[1]
    assert "nothing in this answer has an interval" in said
    assert list(tmp_path.iterdir()) == []


def test_quantiles_and_computed_columns_are_drawn(folder: Path, tmp_path: Path) -> None:
    for place, sql in enumerate(
        ("SELECT sex, MEDIAN(age) FROM deaths GROUP BY sex", "SELECT 2 * COUNT(*) FROM deaths")
    ):
        ask(folder, sql, "--epsilon", "1", "--chart", str(tmp_path / f"{place}.svg"))
        assert "95 % interval" in (tmp_path / f"{place}.svg").read_text(encoding="utf-8")


def test_a_real_process_prints_only_the_answer_into_a_pipe(folder: Path) -> None:
    command = [sys.executable, "-m", "celosia", "query", "deaths.parquet", BY_SEX]
    command += ["--schema", "schema.toml", "--epsilon", "0.5", "--csv", "-"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("sex,count,count_low")
    assert "\x1b" not in done.stdout + done.stderr
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["Note:", "Note:", "Spent"]


def test_budgets_and_targets_are_what_the_options_say() -> None:
    assert Spending(epsilon="0.1").budget() == PureDP(epsilon="0.1")
    assert Spending(epsilon="0.1", delta="0").budget() == PureDP(epsilon="0.1")
    assert Spending(epsilon="0.1", delta="1e-6").budget() == ApproxDP(epsilon="0.1", delta="1e-6")
    assert Spending(rho="0.1").budget() == ZCDP(rho="0.1")
    assert Spending(rho="0.1", rows="10").target() == {"rho": "0.1", "rows": 10.0}
    assert Spending(epsilon="1", error=["a=1", "b=2"]).target()["error"] == {"a": "1", "b": "2"}


def test_the_function_takes_the_options_by_name() -> None:
    with pytest.raises(ParameterError, match="what may the answer cost"):
        query(file="deaths.parquet", sql="", schema=None)


def test_public_tables_and_keys_come_in_pairs(folder: Path) -> None:
    asked = QueryArguments(
        file=str(folder / "deaths.parquet"),
        sql=BY_SEX,
        schema=folder / "schema.toml",
        public=[str(folder / "chapters.parquet")],
        key=["cause"],
    )
    private, public = asked.tables()
    assert (private.name, public.name, public.key) == ("deaths", "chapters", ("cause",))
    OutputOptions(chart=folder / "chart.png").check()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pgserver = pytest.importorskip("pgserver")
    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    server.psql(
        "CREATE TABLE deaths (age int, sex text);"
        "INSERT INTO deaths SELECT 20 + i % 60, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END "
        "FROM generate_series(1, 5000) i;"
    )
    yield str(server.get_uri())
    server.cleanup()


def test_a_database_is_drafted_and_asked(postgres: str, tmp_path: Path) -> None:
    runner = CliRunner()
    drafted = runner.invoke(app, ["schema", postgres, "--table", "public.deaths"])
    assert drafted.exit_code == 0, drafted.stderr
    assert "[columns.age] needs low and high" in drafted.stderr
    filled = drafted.stdout.replace("# low = ?", "low = 0").replace("# high = ?", "high = 120")
    filled = filled.replace('kind = "text"', 'kind = "category"\nvalues = ["F", "M"]')
    (tmp_path / "schema.toml").write_text(filled)
    command = ["query", postgres, "SELECT sex, COUNT(*) FROM deaths GROUP BY sex", "--epsilon", "1", "--json"]
    asked = runner.invoke(app, [*command, "--schema", str(tmp_path / "schema.toml")])
    assert asked.exit_code == 0, asked.stderr
    assert all(abs(row["count"] - 2500) < 40 for row in json.loads(asked.stdout)["rows"])


# ---- ledgers


def test_a_ledger_remembers_between_calls(folder: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    with cl.open_ledger(url) as ledger:
        ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    paid = ask(folder, BY_SEX, "--epsilon", "0.6", "--ledger", url, "--analyst", "ana", "--json")
    assert "ε = 0.4 is left in the ledger" in paid[1]
    again = ask(folder, BY_SEX, "--epsilon", "0.6", "--ledger", url, "--analyst", "ana", "--json")
    assert again[0] == paid[0]  # the answer of before, which costs nothing
    assert "ε = 0.4 is left in the ledger" in again[1]
    refused = ask(folder, "SELECT COUNT(*) FROM deaths", "--epsilon", "0.6", "--ledger", url, code=4)[1]
    assert "0.4" in refused
    with cl.open_ledger(url) as ledger:
        assert [entry.analyst for entry in ledger.account("deaths", "ana").history] == ["ana", "ana"]


def test_a_ledger_that_has_no_budget_says_what_to_do(folder: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    assert "budget" in ask(folder, BY_SEX, "--epsilon", "1", "--ledger", url, code=2)[1]
    assert "goes with --ledger" in ask(folder, BY_SEX, "--epsilon", "1", "--analyst", "ana", code=2)[1]
