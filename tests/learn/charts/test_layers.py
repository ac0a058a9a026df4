from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.learn.charts.layers import Frame, cloud, ellipses, ground, marks, middles, together, with_loose_axis, words
from celosia.plots import Curve, Labels, curves, save

if TYPE_CHECKING:
    from pathlib import Path

FRAME = Frame(low=np.array([0.0, 10.0]), high=np.array([1.0, 40.0]), titles=("x", "y"), names=("a", "b"))


def rows(chart: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart.data["values"]
    return found


def test_the_ground_covers_the_frame_and_nothing_else() -> None:
    grid = FRAME.grid
    half = FRAME.step / 2
    np.testing.assert_allclose(grid.min(axis=0) - half, FRAME.low)
    np.testing.assert_allclose(grid.max(axis=0) + half, FRAME.high)
    assert len(np.unique(grid, axis=0)) == len(grid) == 1600


def test_what_is_weaker_is_paler() -> None:
    found = rows(ground(FRAME, [0] * 1600, np.linspace(0, 1, 1600)))
    brightness = [sum(int(row["fill"][place : place + 2], 16) for place in (1, 3, 5)) for row in found]
    assert brightness == sorted(brightness, reverse=True)
    assert brightness[0] > 700
    assert brightness[-1] > 380  # still ground: dots are seen on it


def test_names_stand_in_their_regions() -> None:
    places = [0 if x < 0.25 else 1 for x, _ in FRAME.grid]
    left, right = middles(FRAME, places)
    assert left[0] < 0.25 < right[0]
    assert [row["name"] for row in rows(words(FRAME, middles(FRAME, places))[0])] == ["a", "b"]
    assert [row["name"] for row in rows(words(FRAME, middles(FRAME, [1] * 1600))[0])] == ["b"]


def test_a_cloud_of_many_is_thinned_and_kept_in_step() -> None:
    many = np.arange(100_000.0)
    found = rows(cloud({"x": many, "y": -many}))
    assert len(found) <= 2000
    assert all(row["x"] == -row["y"] for row in found)
    assert found[0]["x"] == 0
    assert found[-1]["x"] == 99_999
    assert rows(cloud({"x": [0.5], "y": [20.0], "name": ["a"]}, FRAME)) == [{"x": 0.5, "y": 20.0, "name": "a"}]


def test_ellipses_are_at_one_and_two_deviations() -> None:
    found = rows(ellipses(FRAME, np.array([[0.5, 20.0], [0.2, 30.0]]), np.array([[0.01, 4.0], [0.04, 9.0]])))
    for row in found:
        mean, deviation = ((0.5, 20.0), (0.1, 2.0)) if row["name"] == "a" else ((0.2, 30.0), (0.2, 3.0))
        away = np.hypot((row["x"] - mean[0]) / deviation[0], (row["y"] - mean[1]) / deviation[1])
        assert away == pytest.approx(int(row["ring"][-1]))


def test_centres_that_are_not_private_look_otherwise() -> None:
    both = marks(FRAME, np.array([[0.5, 20.0]]), np.array([[0.4, 21.0]])).to_dict()
    assert both["encoding"]["shape"]["scale"]["range"] == ["cross", "diamond"]
    assert both["encoding"]["fill"]["scale"]["range"][1] == "transparent"
    alone = marks(FRAME, np.array([[0.5, 20.0]])).to_dict()
    assert alone["encoding"]["shape"]["scale"]["domain"] == ["private centre"]


def test_everything_together_is_a_chart_that_can_be_drawn(tmp_path: Path) -> None:
    layers = [
        ground(FRAME, [0, 1] * 800, np.full(1600, 0.5)),
        ellipses(FRAME, np.array([[0.5, 20.0], [0.2, 30.0]]), np.full((2, 2), 0.1)),
        cloud({"x": [0.5], "y": [20.0], "name": ["a"]}, FRAME),
        marks(FRAME, np.array([[0.5, 20.0]]), np.array([[0.4, 21.0]])),
        *words(FRAME, np.array([[0.5, 20.0], [0.2, 30.0]])),
    ]
    path = save(together(layers, "All", "of them"), tmp_path / "all.svg")
    text = path.read_text()
    assert "private centre" in text
    assert "All" in text


def test_a_line_need_not_stand_on_the_ground() -> None:
    chart = curves(
        [Curve(name="a", x=[0, 1], y=[100, 101])], labels=Labels(title="High"), band=([0, 1], [99, 99], [102, 103])
    )
    for layer in with_loose_axis(chart).to_dict()["layer"]:
        assert layer["encoding"]["y"]["scale"]["zero"] is False


def test_centres_alone_are_drawn_too(tmp_path: Path) -> None:
    picture = together([marks(FRAME, np.array([[0.5, 20.0], [0.2, 30.0]]))], "Centres", "")
    drawn = save(picture, tmp_path / "centres.svg").read_text()
    assert len(re.findall(r'aria-roledescription="point" [^>]*d="M-6', drawn)) == 2
