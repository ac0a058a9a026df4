from __future__ import annotations

import datetime as dt
import json
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.guard.web.charts import chart_columns, chart_specification
from celosia.guard.web.web_session import load_language
from celosia.serving.pages.charts import chart_picture
from tests.guard.web.test_answer_table import release

TWO = release({"sex": ["F", "M"], "count": [10, 20], "mean": [1.5, 2.5]}, ("sex",), {"count": 3, "mean": 0.5})


def drawn(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The data, wherever Altair put them."""
    found: list[dict[str, Any]] = (
        spec["datasets"][spec["data"]["name"]] if "name" in spec["data"] else spec["data"]["values"]
    )
    return found


def texts(part: Any) -> list[str]:
    if isinstance(part, dict):
        return [text for name, value in part.items() for text in [name, *texts(value)]]
    return [text for value in part for text in texts(value)] if isinstance(part, list) else [str(part)]


@pytest.mark.parametrize("code", ["en", "es"])
@pytest.mark.parametrize("dark", [False, True])
def test_a_chart_speaks_the_language_and_has_no_tooltip(code: str, dark: bool) -> None:  # noqa: FBT001
    spec = chart_specification(TWO, "count", level=0.9, language=load_language(code), dark=dark)
    said = texts(spec)
    assert "tooltip" not in said
    assert load_language(code).text("chart.value") in said
    assert any("90" in text for text in said)
    assert ("private value" in said) is False
    assert spec["usermeta"]["locale"]["decimal"] == ("." if code == "en" else ",")
    assert ("#222222" in said) is not dark
    assert [row["value"] for row in drawn(spec)] == [10, 20]
    assert [row["low"] for row in drawn(spec)] == pytest.approx([7.3, 17.3])
    json.dumps(spec, allow_nan=False)


def test_the_data_are_not_taken_for_words() -> None:
    odd = release({"key": ["private value", "#222222"], "count": [1, 2]}, ("key",), {"count": 1})
    spec = chart_specification(odd, "count", level=0.95, language=load_language("es"), dark=True)
    assert [row["name"] for row in drawn(spec)] == ["private value", "#222222"]


def test_what_cannot_be_drawn_is_not_offered() -> None:
    schema = cl.Schema(day=cl.Date("2020-01-01", "2022-01-01"), risk=cl.Category("low", "high", ordered=True))
    rows = pa.table({"day": [dt.date(2021, 1, 1)] * 3, "risk": ["low"] * 3})
    asked = cl.Session(cl.table(rows, schema=schema, name="rows"), budget=cl.PureDP(epsilon=1))
    mixed = asked.sql("SELECT MIN(day), MEDIAN(risk), COUNT(*) FROM rows", epsilon=1)
    assert set(mixed.intervals) == {"min_day", "median_risk", "count"}
    assert chart_columns(mixed) == ["count"]
    assert chart_columns(TWO) == ["count", "mean"]
    assert chart_columns(release({"sex": ["F"]}, ("sex",), {})) == []
    many = {"key": list(range(201)), "count": list(range(201))}
    assert chart_columns(release(many, ("key",), {"count": 1})) == []
    assert chart_columns(release({"mean": [np.nan]}, (), {"mean": 1})) == []
    assert chart_columns(release({"mean": [1.0]}, (), {"mean": np.inf})) == []
    wide = {f"c{i}": [1] for i in range(9)}
    assert len(chart_columns(release(wide, (), dict.fromkeys(wide, 1.0)))) == 4


def test_the_picture_is_an_svg_with_a_bar_for_each_row() -> None:
    picture = chart_picture(chart_specification(TWO, "count", level=0.95, language=load_language("es")))
    root = ET.fromstring(picture)
    assert root.tag.endswith("svg")
    assert "<script" not in picture
    assert "respuesta con ruido" in picture
    bars = [path for path in root.iter() if path.attrib.get("aria-roledescription") == "bar"]
    assert len(bars) == 2
