from __future__ import annotations

import math

import numpy as np

from celosia.cli.answers import Bars
from celosia.cli.charts import age_histogram, laplace_neighbours


def test_two_settings_and_two_neighbours_are_drawn() -> None:
    spec = laplace_neighbours().to_dict()
    assert [panel["title"]["text"] for panel in spec["hconcat"]] == ["ε = 1", "ε = 0.1"]
    assert "108 and 107" in spec["title"]["text"]
    for panel in spec["hconcat"]:
        rule = next(layer for layer in panel["layer"] if layer["mark"]["type"] == "rule")
        assert {row["value"] for row in spec["datasets"][rule["data"]["name"]]} == {107, 108}


def test_the_curves_keep_the_promise_that_the_subtitle_states() -> None:
    spec = laplace_neighbours().to_dict()
    for panel, epsilon in zip(spec["hconcat"], (1.0, 0.1), strict=True):
        line = next(layer for layer in panel["layer"] if layer["mark"]["type"] == "line")
        rows = spec["datasets"][line["data"]["name"]]
        here, there = (np.array([row["mass"] for row in rows if row["neighbour"] == name]) for name in ("D", "D′"))
        assert np.abs(np.log(here / there)).max() <= epsilon * (1 + 1e-9)
        assert 0.98 < here.sum() <= 1
        assert f"{math.exp(epsilon):.2f}" in panel["title"]["subtitle"]


def test_the_histogram_says_what_was_promised_and_why_truth_is_shown() -> None:
    numbers = np.array([5, 7])
    bars = Bars(names=("0–9", "10–19"), values=numbers, low=numbers - 2, high=numbers + 2, true=numbers + 1)
    spec = age_histogram(bars, promise="ε = 1, δ = 1e-06").to_dict()
    assert "ε = 1, δ = 1e-06" in spec["title"]["subtitle"]
    assert "synthetic" in spec["title"]["subtitle"]
    assert [row["true"] for row in spec["datasets"][spec["data"]["name"]]] == [6, 8]
