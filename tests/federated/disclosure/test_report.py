"""The report of who learns what: its guarantees, its words and pictures, and the edge that it suggests."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.accounting import best
from celosia.core import AddRemove, GaussianEvent, ParameterError, ReplaceOne
from celosia.federated import (
    EdgeSuggestion,
    FreshNoise,
    GossipOnce,
    Graph,
    MaskedSums,
    make_graph,
    suggest_edge,
    who_learns_what,
)
from celosia.plots.save import render
from tests.federated.topology.test_graph import graphs

CREDITORS = make_graph("creditors")
EVENT = GaussianEvent(variance=25, sensitivity_squared=1)
MASKED = MaskedSums(event=EVENT)
REAL = GaussianEvent(variance=25, sensitivity_squared=1, arithmetic="real", unit="person", adjacency=ReplaceOne)


def test_a_report_has_a_guarantee_for_each_party_against_each_observer() -> None:
    report = who_learns_what(CREDITORS, MASKED, delta="1e-6", coalitions=[["7", "3"], ["4"]])
    assert report.observers == (*((name,) for name in CREDITORS.parties), ("3", "7"), ())
    assert report.epsilons.shape == report.exposures.shape == (9, 7)
    assert report.most_exposed == ("5", ("4",))
    assert report.get("5", against="4") == best(EVENT, "1e-6").guarantee
    assert report.get("1", against=["7", "3"]) == MASKED.price(1 / 3, Fraction(1, 10**6))
    assert report.get("1", against=()) == MASKED.price(1 / 7, Fraction(1, 10**6))
    for name in CREDITORS.parties:
        row = CREDITORS.parties.index(name)
        assert np.isnan(report.epsilons[row, row])
        assert report.epsilons[row, (row + 1) % 7] == float(
            report.get(CREDITORS.parties[(row + 1) % 7], against=name).epsilon
        )
    for party, against, words in [
        ("1", ["1", "2"], "no coalition"),
        ("1", "1", "observer there"),
        ("3", ["3", "7"], "observer there"),
        ("9", "1", "no party '9'"),
        ("1", "9", "no party '9'"),
    ]:
        with pytest.raises(ParameterError, match=words):
            report.get(party, against=against)


def test_scope_of_the_noise_is_that_of_the_guarantees() -> None:
    report = who_learns_what(CREDITORS, GossipOnce(event=REAL, steps=1), delta="1e-6")
    near, far = report.get("4", against="5"), report.get("1", against="5")
    assert near == best(REAL, "1e-6").guarantee
    assert far == cl.ApproxDP(epsilon=0, delta=0, unit="person", adjacency=ReplaceOne)
    assert report.suggestion is None
    assert () not in report.observers
    local = who_learns_what(CREDITORS, FreshNoise(event=EVENT, rounds=3), delta="1e-6")
    assert np.nanmin(local.epsilons) == np.nanmax(local.epsilons) == best([EVENT] * 3, "1e-6").epsilon
    assert local.get("1", against="2").adjacency is AddRemove


def test_a_report_can_be_read_and_seen() -> None:
    report = who_learns_what(CREDITORS, MASKED, delta="1e-6", coalitions=[["3", "7"]])
    text = str(report)
    assert text.splitlines()[0] == "Epsilon at delta = 1e-06 of each party (columns) against each observer (rows)"
    assert "Most exposed: 5 against 4, ApproxDP(epsilon=0.83" in text
    assert "Cut vertices, without which others are not connected: 4." in text
    assert "An edge between 1 and 5 lowers the largest epsilon from 0.835 to 0.352" in text
    assert "<td" in report._repr_html_()
    large = who_learns_what(make_graph("binary tree", 40), MASKED, delta="1e-6")
    assert len(str(large).splitlines()) == 4
    for language, title, outside in (("en", "Who learns what", "outsider"), ("es", "Quién averigua qué", "ajeno")):
        chart: Any = report.draw(language=language)
        assert chart.to_dict()["title"]["text"] == title
        assert {row["row"] for row in chart.data.values} == {*CREDITORS.parties, "3 + 7", outside}
        assert render(chart.to_dict(), ".svg").startswith(b"<svg")
    drawn: Any = report.draw_topology()
    lines = drawn.layer[0].data.values
    assert sorted({line["text"] for line in lines}) == ["0.32", "0.352", "0.835"]


def count_exposures(graph: Graph, coalitions: list[list[str]]) -> tuple[int, int]:
    """The smallest component that an observer sees, and how many sums all observers see."""
    observers = {*((name,) for name in graph.parties), *(tuple(sorted(set(one))) for one in coalitions)}
    parts = [part for one in observers for part in graph.find_components(one)]
    return min(map(len, parts)), -len(parts)


@given(graphs(), st.data())
def test_the_suggested_edge_is_the_best_of_all(graph: Graph, data: st.DataObject) -> None:
    # Without any stated coalition of all but one, which sees that one alone whatever is added.
    most = max(1, len(graph.parties) - 2)
    coalitions = data.draw(st.lists(st.lists(st.sampled_from(graph.parties), min_size=1, max_size=most), max_size=2))
    found = suggest_edge(graph, MASKED, delta="1e-6", coalitions=coalitions)
    missing = [
        (a, b)
        for place, a in enumerate(graph.parties)
        for b in graph.parties[place + 1 :]
        if b not in graph.get_neighbours(a)
    ]
    before = count_exposures(graph, coalitions)
    after = {edge: count_exposures(graph.add_edge(*edge), coalitions) for edge in missing}
    if not after or max(after.values())[1] == before[1]:
        assert found is None
        return
    assert isinstance(found, EdgeSuggestion)
    assert after[found.edge] == max(score for score in after.values() if score[1] > before[1])
    delta = Fraction(1, 10**6)
    assert found.before == MASKED.price(1 / before[0], delta)
    assert found.after == MASKED.price(1 / after[found.edge][0], delta)
    assert found.after <= found.before
    assert len(found.observers) == after[found.edge][1] - before[1]


def test_what_cannot_be_reported_is_refused() -> None:
    bad: list[tuple[Any, Any, dict[str, Any], str]] = [
        ("graph", MASKED, {}, "Graph"),
        (CREDITORS, EVENT, {}, "GossipOnce, FreshNoise or MaskedSums"),
        (CREDITORS, MASKED, {"delta": 0}, "delta"),
        (CREDITORS, MASKED, {"delta": 1}, "delta"),
        (CREDITORS, MASKED, {"coalitions": "12"}, "list of coalitions"),
        (CREDITORS, MASKED, {"coalitions": [["1", "9"]]}, "no party '9'"),
        (CREDITORS, MASKED, {"coalitions": [list("1234567")]}, "leave out"),
        (CREDITORS, MASKED, {"coalitions": 3}, "list of coalitions"),
    ]
    for graph, method, options, words in bad:
        with pytest.raises(ParameterError, match=words):
            who_learns_what(graph, method, **({"delta": "1e-6"} | options))
    with pytest.raises(ParameterError, match="MaskedSums only"):
        suggest_edge(CREDITORS, FreshNoise(event=EVENT), delta="1e-6")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="Graph"):
        suggest_edge("graph", MASKED, delta="1e-6")  # type: ignore[arg-type]
    assert suggest_edge(make_graph("complete", 4), MASKED, delta="1e-6") is None
    assert suggest_edge(make_graph("ring", 5), MASKED, delta="1e-6") is None
