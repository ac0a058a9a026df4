"""Rules of comparisons and choices: mistakes are named, and categories stay public lists."""

from __future__ import annotations

import datetime as dt
import itertools

import pytest

from celosia.core.errors import QueryError
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.plan.comparison import COMPARISON, bucket_labels
from celosia.query.plan.expressions import kind_of
from celosia.query.plan.operations import OPERATIONS
from celosia.query.sql.expressions import parse_expression

KINDS: dict[str, Kind] = {
    "age": Integer(0, 120),
    "visits": Integer(1, 5, null=1),
    "weight": Real(0, 300, grid="0.5"),
    "alive": Boolean(),
    "sure": Boolean(null=False),
    "sex": Category("F", "M"),
    "level": Category("low", "high", ordered=True),
    "grade": Category(1, 2),
    "other": Category(2, 3),
    "note": Text(),
    "day": Date("2021-01-01", "2021-12-31"),
    "seen": Timestamp("2021-01-01", "2021-12-31"),
    "code": Category([f"code {i}" for i in range(1000)]),
}


def test_results() -> None:
    cases: list[tuple[str, Kind]] = [
        ("age < 18", Boolean()),
        ("visits < 3", Boolean(null=False)),
        ("visits < 3.5 AND sure", Boolean(null=False)),
        ("visits < 3 OR alive", Boolean()),
        ("NOT sure", Boolean(null=False)),
        ("age IS NULL", Boolean(null=False)),
        ("alive IS TRUE", Boolean(null=False)),
        ("sex = 'F'", Boolean()),
        ("'F' = sex", Boolean()),
        ("sex IN ('F', 'M')", Boolean()),
        ("sex = note", Boolean()),
        ("note = 'anything'", Boolean()),
        ("grade = 2", Boolean()),
        ("2 = grade", Boolean()),
        ("grade IN (1, 2)", Boolean()),
        ("grade = other", Boolean()),
        ("alive = sure", Boolean()),
        ("day BETWEEN DATE '2021-01-01' AND DATE '2021-02-01'", Boolean()),
        ("seen >= TIMESTAMP '2021-01-01'", Boolean()),
        ("1 = 1", Boolean(null=False)),
        ("'a' = 'b'", Boolean(null=False)),
        ("LEAST(age, 65)", Integer(0, 65)),
        ("LEAST(age, visits, 3.5)", Real(0, "3.5")),
        ("GREATEST(visits, 3)", Integer(3, 5, null=3)),
        ("LEAST(day, DATE '2021-06-30')", Date("2021-01-01", "2021-06-30")),
        ("CLIP(age, 18, 65)", Integer(18, 65)),
        ("CLIP(age, visits, 10)", Integer(1, 10)),
        ("COALESCE(age, 0)", Integer(0, 120, null=0)),
        ("COALESCE(age, visits)", Integer(0, 120, null=0)),
        ("COALESCE(age, NULL)", Integer(0, 120)),
        ("COALESCE(sex, 'unknown')", Category("F", "M", "unknown", null="F")),
        ("COALESCE(note, 'unknown')", Text(null="")),
        ("COALESCE(grade, 0)", Category(1, 2, 0, null=1)),
        ("CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END", Category("minor", "adult", null="minor")),
        ("CASE WHEN age < 18 THEN 'minor' END", Category("minor")),
        ("CASE WHEN alive THEN 1 ELSE 0.5 END", Real("0.5", 1, null="0.5")),
        ("CASE WHEN alive THEN sex ELSE note END", Text()),
        ("CASE WHEN alive THEN grade ELSE other END", Category(1, 2, 3)),
        ("CASE WHEN alive THEN visits WHEN sure THEN 7 ELSE 9 END", Integer(1, 9, null=1)),
        ("NULLIF(visits, 3)", Integer(1, 5)),
        ("BUCKET(age, 0, 18, 120)", Category("[0, 18)", "[18, 120]")),
        ("BUCKET(visits, 0, 2, 9)", Category("[0, 2)", "[2, 9]", null="[0, 2)")),
        ("BUCKET(visits, 2, 3, 9)", Category("[2, 3)", "[3, 9]")),
        (
            "BUCKET(day, DATE '2021-01-01', DATE '2021-07-01', DATE '2022-01-01')",
            Category("[2021-01-01, 2021-07-01)", "[2021-07-01, 2022-01-01]"),
        ),
    ]
    for text, kind in cases:
        assert kind_of(parse_expression(text), KINDS) == kind


def test_refusals() -> None:
    cases: list[tuple[str, str]] = [
        ("sex = 'f'", r"sex is never 'f'. Did you mean F\?"),
        ("sex = 'female'", r"sex is never 'female'. There are F, M\."),
        ("'X' = sex", "sex is never 'X'"),
        ("sex <> 'X'", "sex is never 'X'"),
        ("sex IN ('F', 'X')", "sex is never 'X'"),
        ("sex NOT IN ('X')", "sex is never 'X'"),
        ("grade = 7", "grade is never 7. There are 1, 2"),
        ("grade IN (1, 7)", "grade is never 7"),
        ("grade = 1.0", "cannot be compared"),
        ("code = 'cod 12'", "Did you mean code 12"),
        ("sex < 'F'", r"x IN \(…\)"),
        ("level > level", r"x IN \(…\)"),
        ("note < note", r"x IN \(…\)"),
        ("grade < 2", r"x IN \(…\)"),
        ("alive < sure", "can order numbers, dates and times"),
        ("age = '18'", r"age \(a number\) cannot be compared with '18' \(a text\)"),
        ("age < '18'", "a number 18"),
        ("day > '2021-01-01'", "DATE '2021-12-31'"),
        ("seen > DATE '2021-01-01'", "cannot mix"),
        ("day = TIMESTAMP '2021-01-01'", "cannot be compared"),
        ("sex = grade", "cannot be compared"),
        ("sex = 1", "cannot be compared"),
        ("age = alive", "cannot be compared"),
        ("age = NULL", "x IS NULL"),
        ("age IN (1, NULL)", "x IS NULL"),
        ("age BETWEEN NULL AND 3", "x IS NULL"),
        ("age IN (visits)", "list of literals"),
        ("age IN (1 + 1)", "list of literals"),
        ("age AND alive", r"not age \(a number\)"),
        ("NOT age", "connect conditions"),
        ("1 OR alive", "connect conditions"),
        ("NULL OR alive", "connect conditions"),
        ("LEAST(age, day)", "cannot mix"),
        ("LEAST(sex, 'F')", "LEAST can"),
        ("CLIP(age, 10, 5)", "low to be at most high"),
        ("CLIP(sex, 1, 2)", "CLIP can order"),
        ("COALESCE(age, 'x')", "COALESCE cannot mix"),
        ("COALESCE(NULL, NULL)", "at least one value"),
        ("CASE WHEN age THEN 1 END", "CASE WHEN needs a condition"),
        ("CASE WHEN alive THEN 1 ELSE 'x' END", "CASE cannot mix"),
        ("CASE WHEN alive THEN 'drop' ELSE 'x' END", "null rule"),
        ("CASE WHEN alive THEN NULL END", "at least one value"),
        ("CASE WHEN alive THEN grade ELSE 1.5 END", "cannot mix"),
        ("BUCKET(age, 18, 0)", "each greater than the one before"),
        ("BUCKET(age, 0, visits)", "literal edges"),
        ("BUCKET(sex, 'a', 'b')", "BUCKET can"),
    ]
    for text, sentence in cases:
        with pytest.raises(QueryError, match=sentence):
            kind_of(parse_expression(text), KINDS)


def test_labels_of_buckets_are_different_and_in_order() -> None:
    edges = [dt.datetime(2021, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3)]
    assert bucket_labels(edges)[0] == "[2021-01-01 00:00:00, 2021-01-02 00:00:00)"
    labels = bucket_labels([0.5 * i for i in range(100)])
    assert len(labels) == len(set(labels)) == 99
    assert all(a.split(", ")[1][:-1] == b.split(", ")[0][1:] for a, b in itertools.pairwise(labels))


def test_the_rules_are_those_of_the_table() -> None:
    assert all(OPERATIONS[name].rule is rule for name, rule in COMPARISON.items())
