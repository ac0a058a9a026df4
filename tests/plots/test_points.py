"""Named points on two axes, and bars before and after."""

from __future__ import annotations

from typing import Any

import pytest

from celosia.core import ParameterError
from celosia.plots import Labels, Point, pairs, points
from celosia.plots.save import render

LABELS = Labels(title="Title", x="across", y="up", language="es")


def test_points_have_their_names_groups_and_levels() -> None:
    marks = [Point(name="a", x=0.1, y=0.5, group="g"), Point(name="b", x=0.2, y=0.4, group="h")]
    chart: Any = points(marks, labels=LABELS, levels={"limit": 0.15}, chosen="b")
    assert [(row["name"], row["x"], row["group"]) for row in chart.data.values] == [("a", 0.1, "g"), ("b", 0.2, "h")]
    assert len(chart.layer) >= 5
    assert render(chart.to_dict(), ".svg").startswith(b"<svg")


def test_pairs_have_two_bars_for_each_name() -> None:
    chart: Any = pairs(["F", "M"], [1, 2], [2, 1], labels=LABELS)
    bars = {(row["name"], row["series"]): row["value"] for row in chart.data.values}
    assert bars == {("F", "antes"): 1, ("M", "antes"): 2, ("F", "después"): 2, ("M", "después"): 1}
    assert render(chart.to_dict(), ".svg").startswith(b"<svg")
    named: Any = pairs(["F"], [1], [2], labels=LABELS, series=("last", "this"))
    assert {row["series"] for row in named.data.values} == {"last", "this"}


def test_bad_points_and_pairs_are_refused() -> None:
    bad: list[list[Point]] = [
        [],
        [Point(name="a", x=0, y=0), Point(name="a", x=1, y=1)],
        [Point(name="a", x=float("nan"), y=0)],
        [Point(name=str(place), x=0, y=0, group=str(place)) for place in range(9)],
    ]
    for marks in bad:
        with pytest.raises(ParameterError):
            points(marks, labels=LABELS)
    for names, before, after in (([], [], []), (["a"], [1], [1, 2]), (["a"], [-1], [1]), (["a", "a"], [1, 1], [1, 1])):
        with pytest.raises(ParameterError):
            pairs(names, before, after, labels=LABELS)


def test_names_do_not_cover_each_other() -> None:
    near = [Point(name=f"a long name {place}", x=1 + place / 50, y=1) for place in range(4)]
    chart: Any = points(near, labels=LABELS)
    assert len({row["side"] for row in chart.data.values}) == 4
    apart = [Point(name="left", x=0, y=0), Point(name="right", x=1, y=1)]
    far: Any = points(apart, labels=LABELS)
    assert [row["side"] for row in far.data.values] == ["a", "a"]
