from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.cli.query.show import answer_object, csv_text, preview_object, print_table
from celosia.core import Event, Guarantee
from celosia.noise import Seeded

if TYPE_CHECKING:
    from celosia.query import Query
    from celosia.query.release import TableRelease

ROWS: dict[str, list[Any]] = {
    "age": [34, 71, 18, 50] * 500,
    "weight": [61.5, 80.25, 70.0, 55.5] * 500,
    "sex": ["F", "M", "F", "M"] * 500,
    "born": ["2001-05-06"] * 2000,
    "city": ["\x1b[2J\x07Åbo"] * 2000,
}


@pytest.fixture(scope="module")
def session() -> cl.Session:
    table = pa.table(ROWS).set_column(3, "born", pa.array(ROWS["born"]).cast(pa.date32()))
    schema = cl.Schema(
        age=cl.Integer(0, 120),
        weight=cl.Real(0, 300, grid="0.25"),
        sex=cl.Category("F", "M"),
        born=cl.Date("2001-05-05", "2001-05-07"),
        city=cl.Text(),
    )
    people = cl.table(table, schema=schema, name="people")
    return cl.Session(people, budget=cl.ApproxDP(epsilon=1000, delta="1e-3"), source=Seeded(7))


def released(session: cl.Session, sql: str) -> tuple[Query, TableRelease]:
    query = session.sql(sql)
    return query, query.release(epsilon=10, delta="1e-5")


def printed(release: TableRelease, capsys: pytest.CaptureFixture[str], level: str = "0.95") -> list[str]:
    print_table(release, level)
    return capsys.readouterr().out.splitlines()


def test_numbers_have_their_intervals_beside_them(session: cl.Session, capsys: pytest.CaptureFixture[str]) -> None:
    _, release = released(session, "SELECT sex, COUNT(*) FROM people GROUP BY sex")
    head, _, women, men = printed(release, capsys)
    assert head.split() == ["sex", "count", "95", "%", "interval"]
    assert women.split()[0] == "F"
    assert men.split()[0] == "M"
    low, high = (release.intervals["count"](0.95)[end][0] for end in (0, 1))
    assert f"{low:,} – {high:,}" in women
    assert "90 % interval" in printed(release, capsys, "0.9")[0]
    wider = {"count": lambda _: (np.array([0, 0]), np.array([987_654, 10]))}
    person = dataclasses.replace(release, true_intervals=wider)
    (head, _, women, _), again = printed(person, capsys), dataclasses.replace(release, true_intervals={})
    assert "95 % noise interval   95 % interval for the true value" in head
    assert women.endswith("0 – 987,654")
    assert printed(again, capsys)[0].endswith("95 % noise interval")


def test_a_count_stays_whole_beside_a_mean(session: cl.Session, capsys: pytest.CaptureFixture[str]) -> None:
    _, release = released(session, "SELECT COUNT(*) AS n, AVG(weight) AS w FROM people")
    row = printed(release, capsys)[-1].split()
    low, high = (float(end[0]) for end in release.intervals["n"](0.95))
    assert [int(row[place].replace(",", "")) for place in (1, 3)] == [math.floor(low), math.ceil(high)]
    assert "." not in row[0]


def test_a_mean_is_rounded_to_what_its_interval_allows(session: cl.Session, capsys: pytest.CaptureFixture[str]) -> None:
    _, release = released(session, "SELECT AVG(weight) AS w FROM people")
    row = printed(release, capsys)[-1]
    assert 1 <= len(row.split()[0].partition(".")[2]) <= 4
    assert f"{release.item():,.1f}"[:2] == row.split()[0][:2]


def test_keys_cannot_play_tricks_on_a_terminal(session: cl.Session, capsys: pytest.CaptureFixture[str]) -> None:
    _, release = released(session, "SELECT city, COUNT(*) FROM people GROUP BY city")
    text = "\n".join(printed(release, capsys))
    assert release.value["city"].to_pylist() == [ROWS["city"][0]]
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\\x1b[2J\\x07Åbo" in text


def test_no_column_is_cut_on_a_narrow_terminal(
    session: cl.Session, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    sql = "SELECT city, sex, COUNT(*) AS a, SUM(age) AS b, AVG(age) AS c, AVG(weight) AS d, MAX(age) AS e FROM people"
    _, release = released(session, f"{sql} GROUP BY city, sex")
    lines = printed(release, capsys)
    assert "…" not in "".join(lines)
    assert len(release.value) == 2
    expected = ["city", "sex", *(title for name in "abcde" for title in (name, "95 % interval"))]
    assert [line.partition(":")[0] for line in lines[:12]] == expected


def test_what_has_no_interval_is_shown_without(session: cl.Session, capsys: pytest.CaptureFixture[str]) -> None:
    _, release = released(session, "SELECT MODE(sex) AS usual FROM people")
    head, _, row = printed(release, capsys)
    assert "interval" not in head
    assert row.split()[0] in ("F", "M")


def test_dates_have_intervals_beside_them(session: cl.Session, capsys: pytest.CaptureFixture[str]) -> None:
    query, release = released(session, "SELECT MEDIAN(born) AS middle, MEDIAN(age) AS age FROM people")
    head, _, row = printed(release, capsys)
    assert head.split()[:4] == ["middle", "95", "%", "interval"]
    first = release.to_arrow("0.95").to_pylist()[0]
    assert f"{first['middle_low']} – {first['middle_high']}" in row
    written: Any = answer_object(query, release, "0.95")["intervals"]
    assert written["middle"] == [[first["middle_low"].isoformat(), first["middle_high"].isoformat()]]


def test_an_answer_without_rows_is_a_table_without_rows(
    session: cl.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    query, release = released(session, "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING n > 100000")
    assert len(printed(release, capsys)) == 2
    assert csv_text(release, "0.95") == "sex,n,n_low,n_high\n"
    assert answer_object(query, release, "0.95")["rows"] == []


def test_csv_is_read_back(session: cl.Session) -> None:
    _, release = released(session, "SELECT city, born, COUNT(*) AS n FROM people GROUP BY city, born")
    rows = list(csv.DictReader(io.StringIO(csv_text(release, "0.95"))))
    table = release.to_arrow("0.95").to_pylist()
    assert [row["city"] for row in rows] == [row["city"] for row in table]
    assert [row["born"] for row in rows] == [row["born"].isoformat() for row in table]
    assert [int(row["n_low"]) for row in rows] == [row["n_low"] for row in table]


def test_lists_stay_in_one_cell_of_csv(session: cl.Session) -> None:
    _, release = released(session, "SELECT TOP_K(sex, 2) AS most FROM people")
    assert csv_text(release, "0.95") in ("most\nF M\n", "most\nM F\n")


def test_json_holds_all_of_it(session: cl.Session) -> None:
    query, release = released(session, "SELECT born, COUNT(*) AS n, TOP_K(sex, 2) AS most FROM people GROUP BY born")
    read = json.loads(json.dumps(answer_object(query, release, "0.9"), allow_nan=False))
    assert [row["born"] for row in read["rows"]] == ["2001-05-05", "2001-05-06", "2001-05-07"]
    assert sorted(read["rows"][1]["most"]) == ["F", "M"]
    assert read["level"] == 0.9
    low, high = release.intervals["n"](0.9)
    assert read["intervals"] == {"n": [list(pair) for pair in zip(low.tolist(), high.tolist(), strict=True)]}
    assert Event.from_json(json.dumps(read["event"])) == release.event
    assert Guarantee.from_json(json.dumps(read["guarantee"])) == release.guarantee
    assert read["question"].startswith("SELECT born, COUNT(*) AS n")


def test_json_of_a_preview(session: cl.Session) -> None:
    query = session.sql("SELECT AVG(age) FROM people")
    read = json.loads(json.dumps(preview_object(query, query.preview(epsilon=1)), allow_nan=False))
    assert read["affordable"] is True
    assert read["aggregates"][0]["name"] == "mean_age"
    assert read["guarantee"]["kind"] == "ApproxDP"
