"""What notebooks show: well-formed, escaped, without a network, and without data that were not released."""

from __future__ import annotations

import datetime as dt
from html.parser import HTMLParser
from typing import Any

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.html_table import draw_table, write_value
from celosia.guard.client.connection import Connection
from celosia.guard.client.transport import Transport
from celosia.noise import Seeded

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e&amp;'
SECRET = "4711"
ALLOWED = {"p", "b", "table", "thead", "tbody", "tr", "th", "td"}


class Page(HTMLParser):
    """The texts of a page whose tags are all known and closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        assert all(name == "style" for name, _ in attrs)
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(thing: Any) -> list[str]:
    return Page(thing._repr_html_()).texts


def visits(**options: Any) -> cl.data.Table:
    columns = {
        "who": [int(SECRET) + row // 4 for row in range(800)],
        "name": [HOSTILE, SECRET] * 400,
        "age": [30, 47] * 400,
    }
    declared = cl.Schema({"name": cl.Category(HOSTILE, SECRET), "age": cl.Integer(0, 120), HOSTILE[:20]: cl.Text()})
    columns[HOSTILE[:20]] = [SECRET] * 800
    return cl.table(pa.table(columns), schema=declared, name="visits", **options)


PERSONS: dict[str, Any] = {"person": "who", "max_groups_per_person": 2, "max_rows_per_group": 2}


@pytest.fixture(scope="module")
def session() -> cl.Session:
    return cl.Session(visits(**PERSONS), budget=cl.ApproxDP(epsilon=100, delta="1e-6"), source=Seeded(1))


def test_what_was_declared_is_shown_and_nothing_else(session: cl.Session) -> None:
    table = visits(**PERSONS)
    for thing in (table, table.schema, session):
        texts = shown(thing)
        assert "age" in texts
        assert "Integer(0, 120)" in texts
        assert not any("800" in text or "who=" in text for text in texts)
    assert "visits, unit person: who, 2 groups, 2 rows in each" in shown(session)
    assert "ApproxDP(epsilon=100, delta='1e-06', unit='person')" in shown(session)
    assert "towns, public by town" in shown(cl.table(pa.table({"town": ["A"]}), name="towns", public=True, key="town"))
    # No word comes from the rows: a table of other rows has the same face.
    other = cl.table(
        pa.table({"who": [1], "name": ["x"], "age": [1], HOSTILE[:20]: ["x"]}),
        schema=table.schema,
        name="visits",
        **PERSONS,
    )
    assert other._repr_html_() == table._repr_html_()
    again = cl.Session(other, budget=cl.ApproxDP(epsilon=100, delta="1e-6"), source=Seeded(1))
    assert shown(again.query().count().preview(epsilon=1)) == shown(session.query().count().preview(epsilon=1))


def test_a_preview_has_cost_errors_and_notes(session: cl.Session) -> None:
    preview = session.query().group_by("name").mean("age").count().preview(epsilon=1, rows=100)
    texts = shown(preview)
    assert texts[0].startswith("Cost ApproxDP")
    assert {"mean_age", "count", "aggregate", "error", *preview.notes} <= set(texts)
    assert any("noise within ±" in text for text in texts)


def test_answers_have_their_intervals_beside_them(session: cl.Session) -> None:
    release = session.query().group_by("name").count().mean("age").release(epsilon=10)
    texts = shown(release)
    assert texts.count("95 % noise interval") == 2
    low, high = (end["count"].to_pylist()[0] for end in release.confidence_interval(0.95))
    assert f"{write_value(low)} – {write_value(high)}" in texts
    assert str(release.guarantee) in texts
    escaped = HOSTILE.encode("unicode_escape").decode()
    assert escaped in texts  # as a text, and not as tags
    dated = cl.Session(
        cl.table(
            pa.table({"day": [dt.date(2021, 1, 1)] * 9}), schema=cl.Schema(day=cl.Date("2020-01-01", "2022-01-01"))
        ),
        budget=cl.PureDP(epsilon=100),
    )
    assert any("2021" in text for text in shown(dated.query().median("day").release(epsilon=100)))
    many = cl.Session(visits(), budget=cl.PureDP(epsilon=100)).query().group_by("age").count().release(epsilon=1)
    assert "… 101 more rows" in shown(many)


def test_limits_and_what_they_cut_off(session: cl.Session) -> None:
    suggestion = session.suggest_limits("name", epsilon=10)
    assert {"groups", "bias", *suggestion.notes} <= set(shown(suggestion))
    bounded = cl.Session(visits(**PERSONS, max_rows_per_person=100), budget=cl.PureDP(epsilon=100))
    release = bounded.query().group_by("name").count().release(epsilon=100)
    assert {"95 % noise interval", "95 % interval for the true value"} <= set(shown(release))
    assert release.cut_off is not None
    assert release.cut_off.describe() in shown(release)
    assert "rows" in shown(release.cut_off)


def test_a_guard_that_does_not_answer_is_no_error() -> None:
    connection = Connection(Transport("http://127.0.0.1:1", key="celosia_0123", timeout=0.1), dataset="deaths")
    assert shown(connection) == ["<Connection to http://127.0.0.1:1, data set deaths>"]
    connection.close()
    assert shown(connection) == ["<Connection to http://127.0.0.1:1, data set deaths>"]


def test_any_text_is_one() -> None:
    for odd in (HOSTILE, "\x00\x1b[31m", "<!--", "]]>", "</table>", "\ud800", "x" * 10_000, ""):
        texts = Page(draw_table([odd], [[odd, 1, None]], title=odd, notes=[odd])).texts
        assert "–" in texts
        assert max(map(len, texts)) <= 60_000
    assert Page(draw_table(["n"], [[row] for row in range(30)])).texts[-1] == "… 10 more rows"
