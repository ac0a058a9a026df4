"""Matrices as tiles, and graphs as points and lines."""

from __future__ import annotations

from typing import Any

import pytest

from celosia.core import ParameterError
from celosia.plots import Labels, Link, matrices, networks
from celosia.plots.save import render

NAN = float("nan")
LABELS = Labels(title="Title", x="across", y="up")


def test_a_matrix_has_a_tile_for_each_number() -> None:
    chart: Any = matrices(["a", "b"], ["c", "d"], [[1.0, NAN], [0.25, 4.0]], labels=LABELS)
    cells = {(row["row"], row["column"]): row["text"] for row in chart.data.values}
    assert cells == {("a", "c"): "1", ("b", "c"): "0.25", ("b", "d"): "4"}
    assert render(chart.to_dict(), ".svg").startswith(b"<svg")
    named: Any = matrices(["a"], ["c"], [[0.0]], labels=LABELS, texts=[["none"]])
    assert [row["text"] for row in named.data.values] == ["none"]
    large = matrices(list(map(str, range(40))), list(map(str, range(40))), [[1.0] * 40] * 40, labels=LABELS)
    assert len(large.to_dict()["layer"]) == 1  # without numbers, which would overlap


def test_a_network_has_points_and_lines_in_one_scale() -> None:
    links = [Link(start="a", end="b", text="1"), Link(start="b", end="c", width=1)]
    chart: Any = networks(["a", "b", "c"], [[0, 0], [4, 0], [4, 2]], links, labels=LABELS, marked=["b"])
    spec = chart.to_dict()
    places = {row["name"]: (row["x"], row["y"]) for row in chart.layer[3].data.values}
    across, up = places["b"][0] - places["a"][0], places["c"][1] - places["b"][1]
    assert across == pytest.approx(2 * up)
    assert all(0 < x < spec["width"] and 0 < y < spec["height"] for x, y in places.values())
    assert render(spec, ".svg").startswith(b"<svg")
    one = networks(["a"], [[3, 3]], [], labels=Labels(title="One"))
    assert render(one.to_dict(), ".svg").startswith(b"<svg")


def test_bad_matrices_and_networks_are_refused() -> None:
    bad: list[tuple[Any, Any, Any, str]] = [
        (["a"], ["b"], [[-1.0]], "0 or more"),
        (["a"], ["b"], [[float("inf")]], "0 or more"),
        (["a"], ["b"], [[1.0, 2.0]], "1 rows and 1 columns"),
        ([], ["b"], [], "all different"),
        (["a", "a"], ["b"], [[1], [2]], "all different"),
    ]
    for rows, columns, values, words in bad:
        with pytest.raises(ParameterError, match=words):
            matrices(rows, columns, values, labels=LABELS)
    networks_: list[tuple[Any, Any, Any, str]] = [
        ([], [], [], "all different"),
        (["a", "a"], [[0, 0], [1, 1]], [], "all different"),
        (["a", "b"], [[0, 0]], [], "two finite numbers"),
        (["a", "b"], [[0, 0], [NAN, 1]], [], "two finite numbers"),
        (["a", "b"], [[0, 0], [1, 1]], [Link(start="a", end="z")], "'z'"),
    ]
    for names, points, links, words in networks_:
        with pytest.raises(ParameterError, match=words):
            networks(names, points, links, labels=LABELS)
