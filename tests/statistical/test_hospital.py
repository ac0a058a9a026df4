"""The first real user's way: a hospital's messy file, its schema, fifteen questions, and intervals that hold the truth.

Truths come from plain DuckDB, asked the same on the same rows before they were made a mess. The rows are read once, for
exact numbers; what is repeated is the noise.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from typer.testing import CliRunner

import celosia as cl
from celosia.cli.app import app
from celosia.data import read_schema_file
from celosia.noise import Seeded
from tests.query.hospital import ENGLISH, MOST, SPANISH, WARDS, Dialect, Hospital, admit, frame_of, texts_of, write_csv
from tests.query.samples import Remembering

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from celosia.query.builder import Query

LIMITS = f"""
person = "patient"
max_groups_per_person = 3
max_rows_per_group = 10
max_rows_per_person = {MOST}
"""
BUILDINGS = pa.table({"ward": list(WARDS), "building": ["North", "South", "East", "North"] * 2})
BY_PATIENT = "SELECT {} FROM (SELECT patient, {} FROM admissions GROUP BY patient)"
QUESTIONS = {
    "admissions": "SELECT COUNT(*) AS n FROM admissions",
    "patients": "SELECT COUNT(DISTINCT patient) AS n FROM admissions",
    "wards": "SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward",
    "patients of wards": "SELECT ward, COUNT(DISTINCT patient) AS n FROM admissions GROUP BY ward",
    "months": "SELECT DATE_TRUNC('month', admitted) AS month, COUNT(*) AS n FROM admissions GROUP BY month",
    "stays": "SELECT sex, COUNT(days) AS n, AVG(days) AS days FROM admissions GROUP BY sex",
    "costs": "SELECT SUM(cost) AS total, AVG(cost) AS one, COUNT(cost) AS n FROM admissions",
    "join": "SELECT building, COUNT(*) AS n, SUM(cost) AS cost FROM admissions JOIN buildings USING (ward) "
    "GROUP BY building",
    "readmitted": "SELECT ROUND(100.0 * COUNT(*) FILTER (WHERE readmitted) / COUNT(*), 1) AS share FROM admissions",
    "infections": "SELECT COUNT(*) AS n FROM admissions WHERE TRIM(LOWER(diagnosis)) LIKE 'infec%' "
    "AND admitted >= '2021-07-01'",
    "median age": BY_PATIENT.format("MEDIAN(age) AS age", "MAX(age) AS age"),
    "longest stays": BY_PATIENT.format("QUANTILE(days, 0.9) AS days, MAX(days) AS most", "MAX(days) AS days"),
    "correlation": BY_PATIENT.format("CORR(age, n) AS r", "MAX(age) AS age, CLIP(COUNT(*), 0, 50) AS n"),
    "cost of a patient": BY_PATIENT.format("AVG(cost) AS cost", "CLIP(SUM(cost), 0, 50000) AS cost"),
}
EVERY_COLUMN = {
    "numbers": "SELECT sex, building, COUNT(*) AS n, COUNT(days) AS known, AVG(days) AS days, AVG(age) AS age, "
    "SUM(cost) AS cost, COUNT(*) FILTER (WHERE readmitted) AS again FROM admissions JOIN buildings USING (ward) "
    "GROUP BY sex, building",
    "dates": "SELECT DATE_TRUNC('month', admitted) AS month, COUNT(*) AS n, "
    "COUNT(*) FILTER (WHERE TRIM(LOWER(diagnosis)) LIKE 'infec%') AS infections FROM admissions GROUP BY month",
}
WHOLE = {"patients", "median age", "longest stays", "correlation", "cost of a patient"}  # nothing is cut off
DIAGNOSES = (
    "SELECT UPPER(TRIM(diagnosis)) AS name, COUNT(*) AS n FROM admissions GROUP BY name ORDER BY n DESC LIMIT 10"
)


Held = dict[tuple[str, str], int]


@dataclass(frozen=True, kw_only=True)
class Walk:
    """A hospital's file with its schema, and the truths about its rows."""

    folder: Path
    dialect: Dialect
    truth: duckdb.DuckDBPyConnection

    @classmethod
    def begin(cls, folder: Path, hospital: Hospital, dialect: Dialect = ENGLISH) -> Walk:
        """Write the file and what its owner declares."""
        write_csv(hospital, folder / "admissions.csv", dialect)
        (folder / "schema.toml").write_text(dialect.schema(LIMITS), encoding="utf-8")
        truth = duckdb.connect()
        truth.register("admissions", hospital.clean())
        truth.register("buildings", BUILDINGS)
        truth.execute(
            "CREATE MACRO clip(x, low, high) AS CASE WHEN x < low THEN low WHEN x > high THEN high ELSE x END"
        )
        return cls(folder=folder, dialect=dialect, truth=truth)

    def spoken(self, text: str) -> str:
        """A question in the words of the file: a boolean is yes or no, and what another language says is a category."""
        yes = self.dialect.words[0]
        return text if yes == "yes" else text.replace("WHERE readmitted", f"WHERE readmitted = '{yes}'")

    def open(self, seed: int, delta: str | None = None, source: Any = None) -> cl.Session:
        """A session on the file, or on the same rows from another source."""
        declared = read_schema_file(self.folder / "schema.toml")
        admissions = declared.table(self.folder / "admissions.csv" if source is None else source, name="admissions")
        buildings = cl.table(BUILDINGS, name="buildings", public=True, key="ward")
        budget = cl.PureDP(epsilon=10**6) if delta is None else cl.ApproxDP(epsilon=10**6, delta=delta)
        return cl.Session([admissions, buildings], budget=budget, source=Seeded(seed))

    def true_rows(self, sql: str, keys: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
        """What plain DuckDB answers on the clean rows, by key."""
        rows = self.truth.sql(sql).to_arrow_table().to_pylist()
        return {tuple(_day(row[key]) for key in keys): row for row in rows}

    def held(self, runs: int, epsilon: str) -> tuple[Held, Held]:
        """In how many runs a column's interval for the true value holds the truth, and its noise interval."""
        session = self.open(seed=16)
        asked = {name: session.sql(self.spoken(text)) for name, text in QUESTIONS.items()}
        asked["diagnoses"] = self._diagnoses(session)
        asked["admissions"].release(epsilon=epsilon)
        session._context.engine = Remembering(session._context.engine)  # type: ignore[arg-type] # it is open
        found: tuple[Held, Held] = ({}, {})
        for name, query in asked.items():
            true: dict[tuple[Any, ...], dict[str, Any]] = {}
            for run in range(runs):
                answer = query.release(epsilon=epsilon)
                true = true or self.true_rows((QUESTIONS | {"diagnoses": DIAGNOSES})[name], answer.keys)
                place = run % answer.value.num_rows  # one cell of each run, so that misses are independent
                truth = true[tuple(answer.value[key][place].as_py() for key in answer.keys)]
                for held, (low, high) in zip(
                    found, (answer.true_interval(), answer.confidence_interval()), strict=True
                ):
                    for column in set(answer.value.column_names) - set(answer.keys):
                        inside = low[column][place].as_py() <= truth[column] <= high[column][place].as_py()
                        held[name, column] = held.get((name, column), 0) + inside
        return found

    def _diagnoses(self, session: cl.Session) -> Query:
        """The diagnoses that were released as the ten most frequent are public; they are counted by name."""
        private = self.open(seed=1, delta="1e-6")
        names = private.sql(DIAGNOSES, epsilon=1).to_arrow()["name"].to_pylist()
        return session.query().group_by(name="UPPER(TRIM(diagnosis))", keys=names).count(name="n")


def _day(value: Any) -> Any:
    return value.date() if isinstance(value, dt.datetime) else value


@pytest.fixture(scope="module")
def hospital() -> Hospital:
    """A small one, of three thousand patients."""
    return admit(3_000)


def check_held(walk: Walk, runs: int) -> None:
    """Hold the intervals for true values to 93 %, and each to its level; noise intervals must fail where limits cut."""
    held, by_noise = walk.held(runs, "1")
    assert len({name for name, _ in held}) == 15
    assert sum(held.values()) >= 0.93 * runs * len(held)
    least = runs - int(stats.binom.isf(1e-6, runs, 0.05))
    assert {which: count for which, count in held.items() if count < least} == {}
    cut = {which for which in held if which[0] not in WHOLE}
    assert len(cut) == 14
    assert max(by_noise[which] for which in cut) < least


def test_true_values_of_a_hospital_are_held(hospital: Hospital, tmp_path: Path, *, thorough: bool) -> None:
    check_held(Walk.begin(tmp_path, hospital), 200 if thorough else 20)


@pytest.mark.thorough
def test_true_values_of_a_large_hospital_are_held(tmp_path: Path) -> None:
    check_held(Walk.begin(tmp_path, admit(30_000), SPANISH), 200)


def test_the_same_rows_answer_alike_in_every_format(tmp_path: Path, *, thorough: bool) -> None:
    """Decimal commas in Latin-1, texts in Parquet, date objects in a frame: with equal noise, equal answers."""
    hospital = admit(3_000 if thorough else 500)
    walk = Walk.begin(tmp_path, hospital)
    (tmp_path / "es").mkdir()
    spanish = Walk.begin(tmp_path / "es", hospital, SPANISH)
    file = spanish.open(seed=7)
    texts = pa.table({name: cells.tolist() for name, cells in texts_of(hospital, ENGLISH).items()})
    pq.write_table(texts, tmp_path / "admissions.parquet")
    sources = (None, tmp_path / "admissions.parquet", frame_of(hospital))
    english, *others = (walk.open(seed=7, source=source) for source in sources)
    for text in (EVERY_COLUMN | QUESTIONS if thorough else EVERY_COLUMN).values():
        expected = english.sql(text, epsilon=1).to_arrow(0.95)
        assert [other.sql(text, epsilon=1).to_arrow(0.95) == expected for other in others] == [True, True], text
        assert file.sql(spanish.spoken(text), epsilon=1).to_arrow(0.95) == expected, text


@pytest.mark.parametrize("dialect", [ENGLISH, SPANISH], ids=["English", "Spanish"])
def test_the_owner_learns_that_the_file_fits(dialect: Dialect, hospital: Hospital, tmp_path: Path) -> None:
    walk = Walk.begin(tmp_path, hospital, dialect)
    files = [str(walk.folder / name) for name in ("admissions.csv", "schema.toml")]
    result = CliRunner().invoke(app, ["schema", files[0], "--check", files[1]], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "fits: 8 columns of admissions can be asked about" in result.stdout
    counts = [line.split() for line in result.stdout.splitlines() if line.split()[:1] == ["cost"]]
    assert counts == [["cost", "Real", "19,998", "647", "0", "0", "%"]]
