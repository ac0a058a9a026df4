"""Every chart that we return saves HTML pages that need no network."""

from __future__ import annotations

import io
import pickle
import re
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pytest

import celosia as cl
from celosia.cli.demo.charts import laplace_neighbours
from celosia.core import ParameterError
from celosia.learn.charts.layers import Frame, marks, together
from celosia.plots import Curve, Labels, curves, intervals
from celosia.plots.offline import HConcatChart, LayerChart

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "</script><script>alert(1)</script>"


def charts() -> list[alt.TopLevelMixin]:
    deaths = cl.table(cl.data.deaths(), schema=cl.Schema(sex=cl.Category("F", "M")), name="deaths")
    release = cl.Session(deaths, budget=cl.PureDP(epsilon=1)).query().group_by("sex").count().release(epsilon=1)
    frame = Frame(low=np.zeros(2), high=np.ones(2), titles=("x", "y"), names=("a",))
    return [
        intervals([HOSTILE, "b"], [1, 2], ([0, 1], [2, 3]), labels=Labels(title=HOSTILE)),
        curves([Curve(name=HOSTILE, x=[1, 2], y=[1, 2])], labels=Labels(title="Growth")).properties(width=100),
        laplace_neighbours(),
        release.plot(),
        together([marks(frame, np.array([[0.5, 0.5]]))], "Centres", ""),
    ]


def test_pages_carry_all_that_they_need(tmp_path: Path) -> None:
    first, *others = charts()
    for path in (str(tmp_path / "chart.html"), tmp_path / "chart.HTML"):
        first.save(path)
    text = io.StringIO()
    first.save(text, "html", inline=True)
    page = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "chart.HTML").read_text(encoding="utf-8") == text.getvalue()
    for place, chart in enumerate(others):
        chart.save(tmp_path / f"{place}.html")
    for path in (tmp_path / "chart.html", *(tmp_path / f"{place}.html" for place in range(len(others)))):
        page = path.read_text(encoding="utf-8")
        assert not re.search(r"<(script|link)[^>]*\b(src|href)=", page)
        assert page.count("</script>") == 2  # the libraries, and the chart
        assert "default-src 'none'" in page


def test_other_formats_are_those_of_altair(tmp_path: Path) -> None:
    chart = charts()[0]
    chart.save(tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text(encoding="utf-8").startswith("<svg")
    chart.save(tmp_path / "chart.json")
    assert type(alt.Chart.from_json((tmp_path / "chart.json").read_text(encoding="utf-8"))) is alt.LayerChart


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    chart = charts()[0]
    wrong: list[dict[str, Any]] = [{"inline": False}, {"embed_options": {}}, {"scale_factor": 2}]
    for options in wrong:
        with pytest.raises(ParameterError, match="takes no options"):
            chart.save(tmp_path / "chart.html", **options)
    with pytest.raises(ParameterError, match="no directory"):
        chart.save(tmp_path / "none" / "chart.html")
    assert not list(tmp_path.iterdir())


def test_charts_stay_what_they_are() -> None:
    layered, _, beside, *_ = charts()
    assert type(layered) is LayerChart
    assert type(beside) is HConcatChart
    assert pickle.loads(pickle.dumps(layered)).to_dict() == layered.to_dict()
    assert isinstance(layered.interactive(), LayerChart)
