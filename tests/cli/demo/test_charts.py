from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from celosia.cli.demo.answers import Bars, Ranks
from celosia.cli.demo.attack import Attack, Try
from celosia.cli.demo.charts import age_histogram, age_quantiles, draw_attack, draw_charts, laplace_neighbours
from celosia.core import PureDP

if TYPE_CHECKING:
    from celosia.cli.demo.story import Story

pytestmark = pytest.mark.xdist_group("cli demo")  # the story is told once for all of them


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
    spec = age_histogram(bars, guarantee="ε = 1, δ = 1e-06").to_dict()
    assert "ε = 1, δ = 1e-06" in spec["title"]["subtitle"]
    assert "synthetic" in spec["title"]["subtitle"]
    assert [row["true"] for row in spec["datasets"][spec["data"]["name"]]] == [6, 8]


def test_the_quantiles_are_drawn_beside_the_true_ones() -> None:
    ranks = Ranks(shares=(10, 50, 90), values=(39, 64, 84), true=(39, 65, 84))
    spec = age_quantiles(ranks, guarantee="ε = 1").to_dict()
    rows = [row for rows in spec["datasets"].values() for row in rows]
    assert {row["name"] for row in rows if "name" in row} >= {"private", "true"}
    assert "synthetic" in " ".join(spec["title"]["subtitle"])


def test_the_attack_is_drawn_with_the_age_that_was_looked_for() -> None:
    tries = (Try(age=90.0, low=-300.0, high=400.0), Try(age=-71.0, low=-500.0, high=300.0))
    found = Attack(plain=(61.9, 61.9), rows=9, revealed=24.0, tries=tries, cost=PureDP(epsilon=2))
    spec = draw_attack(found).to_dict()
    rows = spec["datasets"][spec["data"]["name"]]
    assert [(row["value"], row["true"]) for row in rows] == [(90.0, 24.0), (-71.0, 24.0)]
    assert "ε = 2" in spec["title"]["subtitle"]


def test_all_charts_of_a_story_go_by_the_names_of_their_files(story: Story) -> None:
    charts = draw_charts(story)
    assert list(charts) == ["laplace-neighbours", "age-histogram", "age-quantiles", "attack"]
