from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import ParameterError
from celosia.plots import Labels, Panel, densities

if TYPE_CHECKING:
    from numpy.typing import NDArray

OUTPUTS = np.arange(100, 116)
LABELS = Labels(title="Neighbours 108 and 107", x="Released", y="Probability")


def masses(centre: int) -> NDArray[np.float64]:
    weights = np.exp(-np.abs(OUTPUTS - centre).astype(float))
    normalised: NDArray[np.float64] = weights / weights.sum()
    return normalised


def panel(title: str = "ε = 1") -> Panel:
    return Panel(title=title, outputs=OUTPUTS, masses=(masses(108), masses(107)), subtitle="exp(1)")


def layers(spec: dict[str, Any], position: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = spec["hconcat"][position]["layer"]
    return found


def rows(spec: dict[str, Any], layer: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = spec["datasets"][layer["data"]["name"]]
    return found


def test_the_chart_holds_the_given_masses() -> None:
    spec = densities([panel()], values=(108, 107), labels=LABELS).to_dict()
    lines = [layer for layer in layers(spec) if layer["mark"]["type"] == "line"]
    assert len(lines) == 1
    drawn = rows(spec, lines[0])
    for name, centre in (("D", 108), ("D′", 107)):
        of_one = {row["output"]: row["mass"] for row in drawn if row["neighbour"] == name}
        assert list(of_one) == OUTPUTS.tolist()
        assert np.array_equal(list(of_one.values()), masses(centre))


def test_both_true_values_have_a_line_and_a_name() -> None:
    spec = densities([panel()], values=(108, 107), labels=LABELS).to_dict()
    rules = [layer for layer in layers(spec) if layer["mark"]["type"] == "rule"]
    assert sorted(row["value"] for row in rows(spec, rules[0])) == [107, 108]
    texts = [layer for layer in layers(spec) if layer["mark"]["type"] == "text"]
    sides = {rows(spec, text)[0]["text"]: text["mark"]["align"] for text in texts}
    assert sides == {"f(D′) = 107": "right", "f(D) = 108": "left"}


def test_the_lesser_value_is_named_on_the_left_whichever_comes_first() -> None:
    spec = densities([panel()], values=(107, 108), labels=LABELS, neighbours=("A", "B")).to_dict()
    texts = [layer for layer in layers(spec) if layer["mark"]["type"] == "text"]
    sides = {rows(spec, text)[0]["text"]: text["mark"]["align"] for text in texts}
    assert sides == {"f(A) = 107": "right", "f(B) = 108": "left"}


def test_panels_stand_side_by_side_under_one_title() -> None:
    spec = densities([panel("ε = 1"), panel("ε = 0.1")], values=(108, 107), labels=LABELS).to_dict()
    assert spec["title"]["text"] == "Neighbours 108 and 107"
    assert [part["title"]["text"] for part in spec["hconcat"]] == ["ε = 1", "ε = 0.1"]
    axes = layers(spec, 1)[0]["encoding"]
    assert (axes["x"]["title"], axes["y"]["title"]) == ("Released", "Probability")


def test_panels_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[Panel, str]] = [
        (Panel(title="", outputs=[1, 2], masses=([0.5], [0.5, 0.5])), "one length"),
        (Panel(title="", outputs=[], masses=([], [])), "one length"),
        (Panel(title="", outputs=[[1]], masses=([[1]], [[1]])), "one length"),
        (Panel(title="", outputs=[1], masses=([float("nan")], [0.5])), "finite"),
        (Panel(title="", outputs=[1], masses=([0.5], [-0.5])), "0 or greater"),
        (Panel(title="", outputs=[float("inf")], masses=([0.5], [0.5])), "finite"),
    ]
    for wrong, message in cases:
        with pytest.raises(ParameterError, match=message):
            densities([wrong], values=(108, 107), labels=LABELS)


def test_at_least_one_panel_and_two_names_are_needed() -> None:
    with pytest.raises(ParameterError, match="at least one panel"):
        densities([], values=(108, 107), labels=LABELS)
    with pytest.raises(ParameterError, match="two different names"):
        densities([panel()], values=(108, 107), labels=LABELS, neighbours=("D", "D"))
