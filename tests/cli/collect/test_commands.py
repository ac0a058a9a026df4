"""``celosia collect``, from its options to its files."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.collect.commands import Output
from celosia.core.errors import ParameterError
from celosia.local.catalogue import load_catalogue

if TYPE_CHECKING:
    from pathlib import Path


CATALOGUE = load_catalogue()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("collect") / "values.csv"
    values = np.repeat(np.arange(5), [400, 200, 100, 50, 25])
    path.write_text("v,other\n" + "".join(f"{value},{value / 2 + 0.25}\n" for value in values), encoding="utf-8")
    return str(path)


def run(*arguments: str, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["collect", *arguments], env={"COLUMNS": "120"})
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def test_simulate_says_that_it_is_a_simulation(data: str) -> None:
    out, _ = run("simulate", "--protocol", "hcms", "--epsilon", "2", "--data", data, "--column", "v")
    assert out.startswith("Simulation: true values are shown")
    assert "HadamardCountMeanSketch(epsilon=2" in out
    assert "775 reports" in out
    assert "Seed" not in out
    assert "Pearson" in out


def test_a_seed_repeats_and_is_owned_up_to(data: str) -> None:
    given = (
        "simulate",
        "--protocol",
        "grr",
        "--epsilon",
        "2",
        "--data",
        data,
        "--column",
        "v",
        "--json",
        "--seed",
        "7",
    )
    one, two = (json.loads(run(*given)[0]) for _ in range(2))
    assert one["runs"][0]["rows"] == two["runs"][0]["rows"]
    assert one["seed"] == 7
    assert one["runs"][0]["seeded"] is True
    assert one["remarks"] == ["the domain is the 5 values that occur"]
    assert one["note"].startswith("Simulation")
    out, _ = run(*given[:-3], "--seed", "7")
    assert "Not private" in out
    assert "Read from the data" in out


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.task != "words"])
def test_every_protocol_runs(data: str, name: str) -> None:
    epsilon = () if name == "rappor" else ("--epsilon", "4")
    small = ("--hashes", "16", "--width", "64") if "hashes" in CATALOGUE[name].options[:1] else ()
    out, _ = run("simulate", "--protocol", name, *epsilon, *small, "--data", data, "--column", "v", "--json")
    (told,) = json.loads(out)["runs"]
    assert told["reports"] == 775
    assert told["protocol"]["kind"] == CATALOGUE[name].kind.__name__


def test_words_that_nobody_listed(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text("value\n" + "sun\n" * 4000 + "rain\n" * 3000, encoding="utf-8")
    small = ("--hashes", "64", "--width", "64", "--fragment-hashes", "64", "--fragment-width", "64", "--length", "4")
    out, _ = run("simulate", "--protocol", "sfp", "--epsilon", "12", *small, "--data", str(path), "--seed", "1")
    assert "sun" in out
    out, _ = run("simulate", "--protocol", "pem", "--epsilon", "6", "--data", str(path), "--seed", "1")
    assert "texts are cut after 4 letters" in out


def test_a_sweep_writes_all_rows_and_a_chart(data: str, tmp_path: Path) -> None:
    rows, picture = tmp_path / "rows.csv", tmp_path / "sweep.svg"
    given = ("--epsilon", "0.5,1,2,4", "--csv", str(rows), "--chart", str(picture), "--data", data, "--column", "v")
    out, err = run("simulate", "--protocol", "oue", *given)
    assert "0.5" in out.splitlines()[4]
    written = list(csv.DictReader(rows.read_text(encoding="utf-8").splitlines()))
    assert len(written) == 4 * 5
    assert {row["epsilon"] for row in written} == {"0.5", "1", "2", "4"}
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert str(rows) in err
    assert str(picture) in err


def test_means_of_numbers_with_a_fraction(data: str, tmp_path: Path) -> None:
    given = ("--epsilon", "4", "--low", "0", "--high", "4", "--data", data, "--column", "other", "--json")
    out, _ = run("simulate", "--protocol", "piecewise", "--width", "least", *given, "--chart", str(tmp_path / "a.html"))
    (told,) = json.loads(out)["runs"]
    assert told["rows"][0]["true"] == pytest.approx(650 / 775 / 2 + 0.25)
    assert json.loads(out)["remarks"] == []
    assert (tmp_path / "a.html").exists()


def test_data_sets_by_name() -> None:
    out, _ = run("simulate", "--protocol", "dbitflip", "--epsilon", "8", "--data", "norm_distrib_300", "--json")
    assert json.loads(out)["runs"][0]["reports"] == 300


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--protocol", "md5", "--epsilon", "1"), "protocol must be one of"),
        (("--protocol", "hcms"), "hcms needs an epsilon"),
        (("--protocol", "hcms", "--epsilon", "x"), "epsilon must be a number"),
        (("--protocol", "hcms", "--epsilon", "1,1"), "different numbers"),
        (("--protocol", "hcms", "--epsilon", "1,"), "epsilon must be a number"),
        (("--protocol", "hcms", "--epsilon", "1", "--d", "4"), "not d"),
        (("--protocol", "hcms", "--epsilon", "1", "--width", "3"), "width must be a power of two"),
        (("--protocol", "rappor", "--epsilon", "1"), "epsilon of rappor follows"),
        (("--protocol", "hcms", "--epsilon", "1", "--column", "x"), "column must be one of v, other"),
        (("--protocol", "hcms", "--epsilon", "1", "--column", "other"), "values must be all integers"),
        (("--protocol", "grr", "--epsilon", "1", "--domain", "3"), "values must be integers from 0 to 2"),
        (("--protocol", "hcms", "--epsilon", "1", "--chart", "a.bmp"), "chart must end in"),
        (("--protocol", "hcms", "--epsilon", "1", "--csv", "nowhere/a.csv"), "no directory"),
        (("--protocol", "hcms", "--epsilon", "1", "--top", "0"), "top must be at least 1"),
        (("--protocol", "hcms", "--epsilon", "1", "--confidence", "2"), "confidence must be"),
        (("--protocol", "hcms", "--epsilon", "1", "--postprocess", "best"), "postprocess must be"),
    ],
)
def test_errors_are_one_line(data: str, arguments: tuple[str, ...], words: str) -> None:
    column = () if "--column" in arguments else ("--column", "v")
    out, err = run("simulate", "--data", data, *column, *arguments, code=2)
    assert words in err
    assert err.startswith("Error: ")
    assert len(err.strip().splitlines()) == 1
    assert not out


def test_choose() -> None:
    out, _ = run("choose", "--domain", "1000", "--epsilon", "1", "--bits", "16")
    assert "HadamardResponse" in out
    assert "too long" in out
    told = json.loads(run("choose", "--domain", "a,b,c", "--epsilon", "1", "--longitudinal", "--json")[0])
    assert told["protocol"]["domain"] == ["a", "b", "c"]
    assert all(one["lifetime"] for one in told["alternatives"])
    _, err = run("choose", "--domain", "1000", "--epsilon", "1", "--bits", "2", code=2)
    assert "bits must be at least" in err


def test_protocols_are_listed_with_their_options() -> None:
    out, _ = run("protocols")
    assert all(name in out for name in CATALOGUE)
    assert "--hash-seed" in out
    assert "--low --high" in out
    assert "simulate" in run()[0]


def test_what_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    Output().check()
    with pytest.raises(ParameterError, match="directory"):
        Output(csv=tmp_path).check()
    with pytest.raises(ParameterError, match="file with the values"):
        Output(csv=tmp_path / "v.csv").check(str(tmp_path / "v.csv"))
