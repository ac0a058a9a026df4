"""Rules of arithmetic: what each operation gives, and what it refuses in which words."""

from __future__ import annotations

import pytest

from celosia.core.errors import QueryError
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.plan.arithmetic import ARITHMETIC
from celosia.query.plan.expressions import kind_of
from celosia.query.plan.operations import OPERATIONS
from celosia.query.sql.expressions import parse_expression

KINDS: dict[str, Kind] = {
    "age": Integer(0, 120),
    "visits": Integer(1, 5, null=1),
    "weight": Real(0, 300, grid="0.5"),
    "change": Real(-2, 4, null=0),
    "alive": Boolean(),
    "sex": Category("F", "M"),
    "grade": Category(1, 2),
    "note": Text(),
    "day": Date("2021-01-01", "2021-12-31"),
    "born": Date("1900-01-01", "2021-12-31", null="1900-01-01"),
    "seen": Timestamp("2021-01-01", "2021-12-31"),
    "large": Integer(0, 2**61),
}


def test_results() -> None:
    cases: list[tuple[str, Kind]] = [
        ("age + 1", Integer(1, 121)),
        ("age + 0.5", Real("0.5", "120.5")),
        ("age - visits", Integer(-5, 119)),
        ("visits + visits", Integer(2, 10, null=2)),
        ("visits * change", Real(-10, 20, null=0)),
        ("-age", Integer(-120, 0)),
        ("-(age)", Integer(-120, 0)),
        ("age / 2", Real(0, 60)),
        ("age / visits", Real(0, 120)),
        ("visits / age", Real(1 / 120, 5)),  # a whole divisor: zero gives null, and the others are at least one
        ("1 / visits", Real("0.2", 1, null="0.2")),
        ("age % 10", Integer(0, 9)),
        ("(age - 60) % 7", Integer(-6, 6)),
        ("ABS(change)", Real(0, 4, null=0)),
        ("ABS(age - 60)", Integer(0, 60)),
        ("FLOOR(weight / 10)", Integer(0, 30)),
        ("CEIL(change)", Integer(-2, 4, null=0)),
        ("FLOOR(age)", Integer(0, 120)),
        ("CAST(alive AS INTEGER)", Integer(0, 1)),
        ("CAST(age < 18 AS BIGINT)", Integer(0, 1)),
        ("CAST(age AS INT)", Integer(0, 120)),
        ("CAST(age AS DOUBLE)", Real(0, 120)),
        ("day + 31", Date("2021-02-01", "2022-01-31")),
        ("31 + day", Date("2021-02-01", "2022-01-31")),
        ("day - 1", Date("2020-12-31", "2021-12-30")),
        ("day + visits", Date("2021-01-02", "2022-01-05")),
        ("day - INTERVAL '1' DAY", Date("2020-12-31", "2021-12-30")),
        ("day - DATE '2021-01-01'", Integer(0, 364)),
        ("day - born", Integer(-364, 44559)),
    ]
    for text, kind in cases:
        found = kind_of(parse_expression(text), KINDS)
        if isinstance(kind, Real):
            assert isinstance(found, Real)
            # Ends are doubles: 0.2 is the double next to one fifth.
            assert (float(found.low), float(found.high)) == (float(kind.low), float(kind.high))
            assert found.nullable == kind.nullable
        else:
            assert found == kind


def test_refusals() -> None:
    cases: list[tuple[str, str]] = [
        ("sex + 1", r"\+ computes with numbers, not with sex \(a text\)"),
        ("grade * 2", r"not with grade \(a category\)"),
        ("alive + 1", r"CAST\(… AS INTEGER\) makes it 0 or 1"),
        ("-note", "computes with numbers"),
        ("ABS(day)", "computes with numbers"),
        ("1 - seen", "computes with numbers"),
        ("seen - seen", "computes with numbers"),
        ("seen + 0.5", "Only whole days"),
        ("seen - 800000", "years 1 to 9999"),
        ("day + day", "computes with numbers"),
        ("1 - day", "computes with numbers"),
        ("day * 2", "computes with numbers"),
        ("day + 0.5", "Only whole days"),
        ("day + large", "years 1 to 9999"),
        ("born - 800000", "years 1 to 9999"),
        ("large * 4", r"2\^62"),
        ("large + large + large", r"2\^62"),
        ("age / 0", "division by zero"),
        ("age / 0.0", "division by zero"),
        ("weight % 2", "% takes an integer"),
        ("age % 2.0", "% takes an integer"),
        ("age % 0", "% takes an integer"),
        ("age % -3", "% takes an integer"),
        ("age % visits", "% takes an integer"),
        ("CAST(weight AS INTEGER)", "FLOOR or CEIL"),
        ("CAST(sex AS INTEGER)", "Only a boolean"),
        ("CAST(sex AS DOUBLE)", "computes with numbers"),
        ("age + NULL", "computes with numbers, not with NULL"),
        ("age / change", "no bounds"),
        ("FLOOR(age / change)", "no bounds"),
        ("weight * 1e90", "could not|cannot be a column"),
        ("weight * 1e99", "1e100"),
    ]
    for text, sentence in cases:
        with pytest.raises(QueryError, match=sentence):
            kind_of(parse_expression(text), KINDS)


def test_open_quotients_can_be_bounded() -> None:
    cases: list[tuple[str, Kind]] = [
        ("CLIP(age / change, 0, 10)", Real(0, 10)),
        ("CLIP(FLOOR(age / change), 0, 10)", Integer(0, 10)),
        ("LEAST(GREATEST(age / change, -1), 1)", Real(-1, 1)),
        ("LEAST(age / ABS(change), 10)", Real(0, 10)),
        ("GREATEST(-age / ABS(change), -10)", Real(-10, 0)),
        ("CLIP(large * 1.0, 0, 10)", Real(0, 10)),
    ]
    for text, kind in cases:
        assert kind_of(parse_expression(text), KINDS) == kind


def test_the_rules_are_those_of_the_table() -> None:
    assert all(OPERATIONS[name].rule is rule for name, rule in ARITHMETIC.items())
