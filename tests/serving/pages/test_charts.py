from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from celosia.plots.style import INK
from celosia.serving.pages.charts import adapt_chart, chart_picture

SPEC = {
    "title": "count",
    "config": {"legend": {}, "axis": {"labelColor": INK}},
    "data": {"values": [{"name": "old word", "value": 3.5, "ink": INK}]},
    "mark": {"type": "bar", "tooltip": True},
    "encoding": {
        "x": {"field": "name", "type": "nominal", "title": "old word"},
        "y": {"field": "value", "type": "quantitative"},
    },
}


@pytest.mark.parametrize("dark", [False, True])
def test_words_and_colours_change_and_data_do_not(dark: bool) -> None:  # noqa: FBT001
    adapted = adapt_chart(SPEC, {"old word": "palabra"}, code="es", dark=dark)
    assert adapted["encoding"]["x"]["title"] == "palabra"
    assert adapted["data"] == SPEC["data"]
    assert adapted["mark"] == {"type": "bar"}
    assert "title" not in adapted
    assert (adapted["config"]["axis"]["labelColor"] == INK) is not dark
    assert adapted["usermeta"]["locale"]["decimal"] == ","
    assert SPEC["title"] == "count"
    json.dumps(adapted, allow_nan=False)


def test_a_picture_has_the_same_words_and_no_script() -> None:
    picture = chart_picture(adapt_chart(SPEC, {"old word": "palabra"}, code="es"))
    assert ET.fromstring(picture).tag.endswith("svg")
    assert "palabra" in picture
    assert "<script" not in picture
