from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import ParameterError
from celosia.plots import Curve, Labels, curves, save
from celosia.plots.style import DASHES, PALETTE

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

LABELS = Labels(title="Growth", subtitle="of two things", x="Releases", y="Epsilon")
LINES = [Curve(name="basic", x=[1, 10, 100], y=[0.1, 1, 10]), Curve(name="pld", x=[1, 10], y=[0.1, 0.5])]


def rows(spec: dict[str, Any], layer: int = 0) -> list[dict[str, Any]]:
    data = spec["layer"][layer].get("data", spec.get("data"))  # Altair lifts the data of a single layer
    found: list[dict[str, Any]] = spec["datasets"][data["name"]]
    return found


def encoding(spec: dict[str, Any], layer: int = -1) -> dict[str, Any]:
    found: dict[str, Any] = spec["layer"][layer]["encoding"]
    return found


def test_the_chart_holds_the_points_in_their_order() -> None:
    spec = curves(LINES, labels=LABELS).to_dict()
    assert [(row["name"], row["place"], row["x"], row["y"]) for row in rows(spec)] == [
        ("basic", 0, 1, 0.1),
        ("basic", 1, 10, 1),
        ("basic", 2, 100, 10),
        ("pld", 0, 1, 0.1),
        ("pld", 1, 10, 0.5),
    ]
    assert encoding(spec)["order"]["field"] == "place"
    assert spec["title"] == {"text": "Growth", "subtitle": ["of two things"]}


def test_lines_are_told_apart_by_colour_and_by_dashes_in_one_legend() -> None:
    look = encoding(curves(LINES, labels=LABELS).to_dict())
    assert look["color"]["scale"] == {"domain": ["basic", "pld"], "range": list(PALETTE[:2])}
    assert look["strokeDash"]["scale"] == {"domain": ["basic", "pld"], "range": [list(dash) for dash in DASHES[:2]]}
    assert look["color"]["legend"] == look["strokeDash"]["legend"]
    assert {item["field"] for item in look["tooltip"]} == {"name", "x", "y"}


def test_a_look_is_kept_between_charts_and_the_solid_line_lies_below() -> None:
    dashed = Curve(name="basic", x=[1, 2], y=[1, 2], look=6)
    solid = Curve(name="pld", x=[1, 2], y=[1, 1], look=0)
    spec = curves([dashed, solid], labels=LABELS).to_dict()
    assert encoding(spec)["color"]["scale"] == {"domain": ["basic", "pld"], "range": [PALETTE[6], PALETTE[0]]}
    assert [row["name"] for row in rows(spec)] == ["pld", "pld", "basic", "basic"]


@pytest.mark.parametrize(("low", "high"), [(1e-12, 1e-2), (1, 1e6), (20, 90), (0.2, 30), (5, 5)])
def test_logarithmic_axes_name_some_round_numbers_within_their_domain(low: float, high: float) -> None:
    line = Curve(name="a", x=np.geomspace(low, high, 9), y=np.geomspace(low, high, 9))
    spec = encoding(curves([line], labels=LABELS, x_log=True, y_log=True).to_dict())
    for axis in ("x", "y"):
        first, last = spec[axis]["scale"]["domain"]
        assert first <= low <= high <= last
        assert spec[axis]["scale"]["type"] == "log"
        ticks = spec[axis]["axis"]["values"]
        assert 2 <= len(ticks) <= 10 or low == high
        assert all(first * (1 - 1e-6) <= tick <= last * (1 + 1e-6) for tick in ticks)
        assert all(round(tick / 10 ** np.floor(np.log10(tick)), 6) in range(1, 11) for tick in ticks)


def test_a_band_lies_behind_the_lines() -> None:
    spec = curves(LINES, labels=LABELS, band=([0, 200], [1, 2], [20, 40]), y_log=True).to_dict()
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["area", "line"]
    assert rows(spec)[1] == {"name": "band", "place": 1, "x": 200, "y": 2, "y_high": 40}
    assert encoding(spec)["y"]["scale"]["domain"][1] >= 40


def test_a_line_has_a_band_in_its_colour_beside_a_strong_legend() -> None:
    line, other = (Curve(name=name, x=[1, 2], y=[3, 4], band=([2, 3], [6, 50])) for name in ("a", "b"))
    spec = curves([line, other, Curve(name="c", x=[1, 2], y=[3, 4])], labels=LABELS, y_log=True).to_dict()
    marks = [layer["mark"] for layer in spec["layer"]]
    assert [mark["type"] for mark in marks] == ["area", "area", "line"]
    assert [mark["color"] for mark in marks[:2]] == list(PALETTE[:2])
    assert all("color" not in layer["encoding"] for layer in spec["layer"][:2])  # the legend would be as pale
    assert rows(spec)[1] == {"name": "a", "place": 1, "x": 2, "y": 3, "y_high": 50}
    assert encoding(spec)["y"]["scale"]["domain"][1] >= 50
    with pytest.raises(ParameterError, match="finite"):
        curves([Curve(name="a", x=[1, 2], y=[3, 4], band=([2, 3], [6, np.nan]))], labels=LABELS)


def test_a_long_subtitle_is_wrapped() -> None:
    words = "steps of the sensitivity, add-remove, " * 9
    spec = curves(LINES, labels=Labels(title="Long", subtitle=words)).to_dict()
    lines = spec["title"]["subtitle"]
    assert len(lines) > 2
    assert max(map(len, lines)) <= 100
    assert " ".join(lines) == words.strip()


def test_without_a_subtitle_there_is_no_gap() -> None:
    assert curves(LINES, labels=Labels(title="Short")).to_dict()["title"]["subtitle"] == ""


def test_it_is_drawn_in_all_three_forms(tmp_path: Path) -> None:
    chart = curves(LINES, labels=LABELS, x_log=True, y_log=True)
    svg = save(chart, tmp_path / "growth.svg").read_text(encoding="utf-8")
    assert all(word in svg for word in ("Growth", "of two things", "basic", "pld", "Releases", "stroke-dasharray"))
    assert save(chart, tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
    assert "vegaEmbed" in save(chart, tmp_path / "growth.html").read_text(encoding="utf-8")


def test_points_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[ArrayLike, ArrayLike, str]] = [
        ([], [], "two points or more"),
        ([1], [1], "two points or more"),
        ([1, 2], [1], "of one length"),
        ([[1, 2]], [[1, 2]], "of one length"),
        ([1, np.nan], [1, 2], "basic: x must hold finite numbers"),
        ([1, 2], [1, np.inf], "basic: y must hold finite numbers"),
        ([0, 1], [1, 2], "basic: x must be greater than 0 on a logarithmic axis"),
    ]
    for x, y, message in cases:
        with pytest.raises(ParameterError, match=message):
            curves([Curve(name="basic", x=x, y=y)], labels=LABELS, x_log=True)


def test_names_must_differ_and_be_few() -> None:
    cases: list[list[str]] = [[], ["a", "a"], [""], list("abcdefgh")]
    for names in cases:
        with pytest.raises(ParameterError, match="series must be 1 to 7 curves with different names"):
            curves([Curve(name=name, x=[1, 2], y=[1, 2]) for name in names], labels=LABELS)


def test_a_look_that_is_not_there_is_refused() -> None:
    cases: list[int] = [-1, 7]
    for look in cases:
        with pytest.raises(ParameterError, match="look must be from 0 to 6"):
            curves([Curve(name="a", x=[1, 2], y=[1, 2], look=look)], labels=LABELS)


def test_whole_numbers_have_no_ticks_between() -> None:
    labels = Labels(title="Records", x="Place", y="Epsilon")
    whole = curves([Curve(name="a", x=[1, 2], y=[0.1, 0.2])], labels=labels).to_dict()["layer"][0]["encoding"]
    assert whole["x"]["axis"]["tickMinStep"] == 1
    assert "tickMinStep" not in whole["y"]["axis"]
