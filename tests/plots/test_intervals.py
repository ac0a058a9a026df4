from __future__ import annotations

from typing import Any

import pytest

from celosia.core import ParameterError
from celosia.plots import Labels, intervals

LABELS = Labels(title="Deaths by age", subtitle="private", x="Age", y="Deaths")
NAMES = ["0–9", "10–19", "20–29"]


def rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = spec["datasets"][spec["data"]["name"]]
    return found


def kinds(spec: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in spec["layer"]]


def test_the_chart_holds_values_bounds_and_truth() -> None:
    spec = intervals(NAMES, [5, 7, -1], ([2, 4, -4], [8, 10, 2]), true=[6, 7, 0], labels=LABELS).to_dict()
    assert rows(spec) == [
        {"name": "0–9", "value": 5, "low": 2, "high": 8, "true": 6},
        {"name": "10–19", "value": 7, "low": 4, "high": 10, "true": 7},
        {"name": "20–29", "value": -1, "low": -4, "high": 2, "true": 0},
    ]
    assert kinds(spec) == ["bar", "rule", "tick", "tick", "point"]
    assert spec["title"]["text"] == "Deaths by age"


def test_no_truth_is_drawn_when_none_is_given() -> None:
    spec = intervals(NAMES, [5, 7, 1], ([2, 4, 0], [8, 10, 2]), labels=LABELS).to_dict()
    assert kinds(spec) == ["bar", "rule", "tick", "tick"]
    assert "true" not in rows(spec)[0]
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["private value", "95 % interval"]


def test_points_are_drawn_over_their_intervals() -> None:
    spec = intervals(NAMES, [5, 7, 1], ([2, 4, 0], [8, 10, 2]), labels=LABELS, mark="point").to_dict()
    assert kinds(spec) == ["rule", "tick", "tick", "circle"]


def test_names_keep_their_order() -> None:
    spec = intervals(["b", "a"], [1, 2], ([0, 1], [2, 3]), labels=LABELS).to_dict()
    assert spec["layer"][0]["encoding"]["x"]["sort"] is None


def test_values_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[tuple[list[str], list[float], tuple[list[float], list[float]]], str]] = [
        (([], [], ([], [])), "at least one"),
        ((["a", "a"], [1, 2], ([0, 0], [3, 3])), "all different"),
        ((["a"], [1, 2], ([0], [3])), "value must hold one"),
        ((["a"], [1], ([0], [float("inf")])), "high must hold one"),
        ((["a"], [1], ([2], [0])), "lower ends"),
    ]
    for arguments, message in cases:
        with pytest.raises(ParameterError, match=message):
            intervals(*arguments, labels=LABELS)


def test_an_unknown_mark_is_refused() -> None:
    with pytest.raises(ParameterError, match="'bar' or 'point', not 'pie'"):
        intervals(["a"], [1], ([0], [2]), labels=LABELS, mark="pie")  # type: ignore[arg-type]


def test_long_names_are_slanted_and_short_ones_are_not() -> None:
    def angle(names: list[str]) -> int:
        count = len(names)
        chart = intervals(names, [1.0] * count, ([0.0] * count, [2.0] * count), labels=Labels(title="Ages"))
        return int(chart.to_dict()["layer"][0]["encoding"]["x"]["axis"]["labelAngle"])

    assert angle(["0-9", "10-19"]) == 0
    assert angle([f"female, between {i} and {i + 10}" for i in range(12)]) == -45
