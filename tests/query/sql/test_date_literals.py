"""Texts beside dates and times make the same plan as literal dates and times, in SQL and in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Call
from celosia.query.sql.date_literals import read_date_literals, read_dates
from celosia.query.sql.expressions import parse_expression

if TYPE_CHECKING:
    from celosia.data.schema.columns import Kind

KINDS: dict[str, Kind] = {
    "day": cl.Date("2020-01-01", "2021-12-31"),
    "seen": cl.Timestamp("2020-01-01", "2022-01-01"),
    "city": cl.Text(),
}
PAIRS = [
    ("day >= '2021-01-01'", "day >= DATE '2021-01-01'"),
    ("'2021-01-01' = day", "DATE '2021-01-01' = day"),
    ("day = '2021-01-01 00:00:00'", "day = DATE '2021-01-01'"),
    ("day < TIMESTAMP '2021-01-01 00:00:00'", "day < DATE '2021-01-01'"),
    ("day BETWEEN '2021-01-01' AND '2021-02-01'", "day BETWEEN DATE '2021-01-01' AND DATE '2021-02-01'"),
    ("NOT (day IN ('2021-01-01') OR city = '2021-01-01')", "NOT (day IN (DATE '2021-01-01') OR city = '2021-01-01')"),
    ("seen < '2021-01-01'", "seen < TIMESTAMP '2021-01-01 00:00:00'"),
    ("seen < DATE '2021-01-01'", "seen < TIMESTAMP '2021-01-01 00:00:00'"),
    ("seen > '2021-01-01 10:30'", "seen > TIMESTAMP '2021-01-01 10:30:00'"),
    ("DATE_TRUNC('month', seen) = '2021-01-01'", "DATE_TRUNC('month', seen) = TIMESTAMP '2021-01-01 00:00:00'"),
    ("COALESCE(day, '2021-01-01') < day + 1", "COALESCE(day, DATE '2021-01-01') < day + 1"),
]


def test_texts_are_read_as_dates() -> None:
    for written, meant in PAIRS:
        assert read_dates(parse_expression(written), KINDS) == parse_expression(meant)


def test_everything_else_stays() -> None:
    for text in ("city = '2021-01-01'", "day = seen", "nobody = '2021-01-01'", "day + 1 = day"):
        expression = parse_expression(text)
        assert read_dates(expression, KINDS) == expression


def test_what_is_no_date_is_refused() -> None:
    cases: list[tuple[str, str]] = [
        ("day = '2021-02-30'", "DATE '2021-12-31'"),
        ("day = 'today'", "DATE '2021-12-31'"),
        ("day < '2021-01-01 12:00'", "has a time of day"),
        ("day < TIMESTAMP '2021-01-01 12:00:00'", "write the date only"),
        ("seen < 'noon'", "in UTC"),
    ]
    for text, sentence in cases:
        with pytest.raises(QueryError, match=sentence):
            read_dates(parse_expression(text), KINDS)


def test_only_the_literals_of_an_operation_itself_are_read() -> None:
    outer = parse_expression("day = '2021-01-01' OR city = 'x'")
    assert isinstance(outer, Call)
    assert read_date_literals(outer, KINDS) == outer


@pytest.fixture
def session() -> cl.Session:
    rows = pa.table(
        {"day": pa.array([], pa.date32()), "seen": pa.array([], pa.timestamp("us")), "city": pa.array([], pa.string())}
    )
    return cl.Session(cl.table(rows, schema=cl.Schema(KINDS), name="t"), budget=cl.PureDP(epsilon=1))


def test_sql_and_builder_make_equal_plans(session: cl.Session) -> None:
    for written, meant in PAIRS:
        plans = [session.sql(f"SELECT COUNT(*) FROM t WHERE {text}").plan for text in (written, meant)]
        plans += [session.query().where(text).count().plan for text in (written, meant)]
        assert all(plan == plans[0] for plan in plans)


def test_everywhere_in_a_select(session: cl.Session) -> None:
    inner = "SELECT day AS d, seen > {time}'2021-01-01 00:00:00' AS late FROM t WHERE day > {date}'2020-12-31'"
    outer = "SELECT DATE_TRUNC('month', d) AS m, COUNT(*) FILTER (WHERE late) FROM ("
    text = f"{outer}{inner}) GROUP BY m HAVING m >= {{date}}'2021-03-01'"
    texts = [text.format(time="", date=""), text.format(time="TIMESTAMP ", date="DATE ")]
    assert session.sql(texts[0]).plan == session.sql(texts[1]).plan
    grouped = session.query().group_by(m="DATE_TRUNC('month', day)").count()
    assert grouped.having("m > '2021-01-01'").plan == grouped.having("m > DATE '2021-01-01'").plan
