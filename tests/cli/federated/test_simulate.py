"""``celosia federated simulate``, from its options to its table and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.federated.parties import SimulatedParties

if TYPE_CHECKING:
    from pathlib import Path

BOUNDS = ("--bounds", "0,100", "--target-bounds", "0,5000")
COLUMNS = ("--party", "clinic", "--features", "age,visits")
SCHEMA = """
[columns.age]
kind = "real"
low = 0
high = 100

[columns.visits]
kind = "integer"
low = 0
high = 9

[columns.cost]
kind = "real"
low = 0
high = 5000

[columns.ill]
kind = "category"
values = ["no", "yes"]
"""


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> str:
    rng = np.random.default_rng(5)
    clinics, ages, counts = rng.choice(["a", "b", "c"], 1200), rng.uniform(0, 100, 1200), rng.integers(0, 9, 1200)
    lines = [
        f"{clinic},{age:.1f},{count},{20 * age + 300 * count:.0f},{'yes' if age > 50 else 'no'},"
        for clinic, age, count in zip(clinics, ages, counts, strict=True)
    ]
    path = tmp_path_factory.mktemp("federated") / "visits.csv"
    path.write_text("clinic,age,visits,cost,ill,empty\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def run(*arguments: str, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["federated", "simulate", *arguments], env={"COLUMNS": "140"})
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def run_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--repeat", "2", "--json")[0])


def test_the_debt_is_simulated_without_any_option() -> None:
    out, err = run()
    assert out.startswith("Simulation: scores are computed without noise")
    assert "7 parties with 1,120 records; 280 other records" in out
    assert "ApproxDP(epsilon=1, delta='1e-05', adjacency=ReplaceOne)" in out
    assert "2.65 times the noise" in out
    assert "one-shot: 1 round, 168 bytes from each party." in out
    for name in ("one-shot", "sgd", "proximal", "one place, private", "without privacy"):
        assert sum(line.startswith(name + " ") for line in out.splitlines()) == 1
    assert "is best" in out
    assert "Seed" not in out
    assert not err


def test_a_seed_repeats_and_protects_nobody() -> None:
    one, two = (run_json("--method", "sgd", "--seed", "7", "--rounds", "5") for _ in range(2))
    assert [each["scores"] for each in one["results"]] == [each["scores"] for each in two["results"]]
    assert one["seed"] == 7
    assert one["previews"]["sgd"]["rounds"] == 5
    out, _ = run("--method", "sgd", "--seed", "7", "--rounds", "5", "--repeat", "1")
    assert "protects nobody" in out


def test_a_file_is_divided_by_a_column_and_bounded_by_options(visits: str) -> None:
    found = run_json(
        "--data",
        visits,
        *COLUMNS,
        "--target",
        "cost",
        *BOUNDS,
        "--method",
        "one-shot",
        "--epsilon",
        "500",
        "--seed",
        "1",
    )
    assert (found["parties"], found["records"] + found["test_records"]) == (3, 1200)
    assert found["test_records"] == pytest.approx(240, abs=3)
    assert [one["method"] for one in found["results"]] == ["one-shot", "one place", "no privacy"]
    assert all(one["score"] > 0.95 for one in found["results"])
    classes = run_json(
        "--data", visits, *COLUMNS, "--target", "ill", "--bounds", "0,100", "--classes", "no,yes", "--seed", "1"
    )
    assert classes["metric"] == "accuracy"
    assert classes["results"][-1]["score"] > 0.95


def test_a_schema_has_all_bounds(visits: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA, encoding="utf-8")
    records = SimulatedParties(data=visits, party="clinic", features="age,visits", target="cost", schema=path).read(0)
    assert records.bounds == ([0, 0], [100, 9])
    assert records.bounds_y == (0, 5000)
    given = (
        "--data",
        visits,
        *COLUMNS,
        "--schema",
        str(path),
        "--method",
        "one-shot",
        "--epsilon",
        "500",
        "--seed",
        "1",
    )
    assert run_json(*given, "--target", "cost")["results"][0]["score"] > 0.95
    assert run_json(*given, "--target", "ill")["metric"] == "accuracy"
    for arguments, words in (
        ((*given, "--target", "clinic"), "schema has no column 'clinic'"),
        ((*given, "--features", "ill", "--target", "cost"), "'ill' is no number"),
    ):
        assert words in run(*arguments, code=2)[1]


def test_charts_are_of_rounds_epsilons_and_bytes(tmp_path: Path) -> None:
    for what, epsilon, title in (
        (None, "1", "Error by round"),
        (None, "0.5,1", "Error by ε"),
        ("bytes", "0.5,1", "Error by bytes sent"),
    ):
        picture = tmp_path / "chart.svg"
        kind = () if what is None else ("--chart-of", what)
        given = ("--method", "sgd", "--rounds", "3", "--repeat", "2", "--epsilon", epsilon, *kind)
        _, err = run(*given, "--chart", str(picture))
        assert title in picture.read_text(encoding="utf-8")
        assert str(picture) in err


def test_the_output_is_spanish_too() -> None:
    out, _ = run("--method", "one-shot", "--epsilon", "0.5,1", "--seed", "3", "--lang", "es")
    for words in (
        "Simulación",
        "no protege a nadie",
        "Con el primer épsilon",
        "2,65 veces",
        "sin privacidad",
        "el mejor",
    ):
        assert words in out
    assert "privacy" not in out
    _, err = run("--method", "other", "--lang", "es", code=2)
    assert err.startswith("Error: method debe ser uno de one-shot")


def test_what_makes_no_sense_is_one_line_and_nothing_is_written(visits: str, tmp_path: Path) -> None:
    picture = tmp_path / "chart.svg"
    file = ("--data", visits, *COLUMNS)
    ill = (*file, "--target", "ill", "--bounds", "0,1")
    bad: list[tuple[tuple[str, ...], str]] = [
        (("--method", "other"), "method must be one of one-shot, sgd, proximal, all"),
        (("--epsilon", "0"), "epsilon must be greater than 0"),
        (("--epsilon", "1,1.0"), "different numbers"),
        (("--epsilon", "x"), "epsilon"),
        (("--delta", "2"), "delta"),
        (("--rounds", "0"), "rounds"),
        (("--repeat", "0"), "repeat"),
        (("--mu", "0", "--method", "proximal"), "mu"),
        (("--chart-of", "other"), "chart_of must be one of"),
        (("--chart-of", "epsilon"), "two epsilons"),
        (("--chart", "chart.bmp"), "must end in .html, .png or .svg"),
        (("--data", "none"), "debt, synthetic or a file"),
        (("--data", "none.csv", "--party", "a", "--target", "b"), "no file 'none.csv'"),
        (("--target", "cost"), "target goes with a file"),
        (("--data", visits), "needs --party"),
        ((*file, "--target", "cost"), "never read from the data"),
        ((*file, "--target", "cost", *BOUNDS, "--classes", "a,b"), "never read from the data"),
        ((*file, "--target", "cost", "--bounds", "0", "--target-bounds", "0,1"), "bounds must be two numbers"),
        ((*file, "--target", "cost", "--bounds", "1,0", "--target-bounds", "0,1"), "bounds"),
        ((*file, "--target", "none", *BOUNDS), "no column 'none'"),
        ((*file, "--target", "empty", *BOUNDS), "has nulls"),
        ((*file, "--features", "ill", "--target", "cost", *BOUNDS), "'ill' is no number"),
        (("--data", visits, "--party", "cost", *ill[4:], "--classes", "no,yes"), "too few records"),
        ((*ill, "--classes", "no,maybe"), "label that is not among"),
        ((*ill, "--classes", "no,yes,maybe", "--method", "sgd"), "two classes, not 3"),
        (
            ("--data", visits, "--party", "ill", *COLUMNS[2:], "--target", "cost", *BOUNDS, "--schema", "no.toml"),
            "no.toml",
        ),
    ]
    for arguments, words in bad:
        given = arguments if "--chart" in arguments else (*arguments, "--chart", str(picture))
        out, err = run(*given, code=2)
        assert not out
        assert err.startswith("Error: ")
        assert err.count("\n") == 1, err
        assert words in err, (arguments, err)
    assert not picture.exists()


def test_masked_trainings_stand_beside_the_others() -> None:
    given = ("--data", "debt", "--method", "one-shot", "--repeat", "2", "--seed", "3", "--masks")
    found = json.loads(run(*given, "--json")[0])
    scores = {one["method"]: one["score"] for one in found["results"]}
    assert scores["one-shot"] < scores["one-shot + masks"] < scores["no privacy"]
    assert found["previews"]["one-shot + masks"]["noise_ratio"] == pytest.approx((7 / 6) ** 0.5)
    assert "1.08 times the noise of a fit in one place" in run(*given)[0]


def test_trainings_over_a_graph_stand_beside_the_others(tmp_path: Path) -> None:
    given = ("--data", "debt", "--method", "one-shot", "--repeat", "2", "--seed", "3", "--masks")
    over = (*given, "--topology", "creditors")
    found = json.loads(run(*over, "--json")[0])
    scores = {one["method"]: one["score"] for one in found["results"]}
    ways = ["", " + creditors", " + masks", " + creditors + masks"]
    assert list(scores)[:4] == [f"one-shot{way}" for way in ways]
    ratios = {name: preview["noise_ratio"] for name, preview in found["previews"].items()}
    assert ratios["one-shot + masks"] < 2 < ratios["one-shot + creditors + masks"]  # a leaf needs a whole noise
    picture = tmp_path / "graph.svg"
    run(*over, "--chart", str(picture), "--chart-of", "topology")
    assert "creditor 5" in picture.read_text()
    for wrong, words in (((*given, "--chart-of", "topology"), "a graph"), ((*given, "--topology", "heap"), "shape")):
        assert words in run(*wrong, code=2)[1]
