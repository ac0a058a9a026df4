"""The picture of a graph: its edges, its cut vertices, and places that show the distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csgraph

from celosia.core import ParameterError
from celosia.federated import Graph, draw_topology, make_graph
from celosia.federated.topology.layout import place_parties
from tests.federated.topology.test_graph import graphs


@given(graphs())
def test_parties_have_places_of_their_own(graph: Graph) -> None:
    points = place_parties(graph)
    assert np.isfinite(points).all()
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    assert apart[~np.eye(len(points), dtype=np.bool_)].min() > 0.05
    assert np.array_equal(points, place_parties(graph))


def test_a_path_is_a_line_and_a_grid_a_rectangle() -> None:
    points = place_parties(make_graph("path", 6))
    assert (np.diff(points[:, 0]) > 0.5).all()
    for shape, count in (("grid", 12), ("ring", 8), ("path", 6)):
        graph = make_graph(shape, count)
        points = place_parties(graph)
        apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
        distances = csgraph.shortest_path(graph.adjacency, directed=False, unweighted=True)
        assert np.corrcoef(apart.ravel(), distances.ravel())[0, 1] > 0.95, shape


def test_the_picture_shows_epsilons_and_cut_vertices() -> None:
    graph = make_graph("creditors")
    chart: Any = draw_topology(graph, {("5", "4"): 1.5, ("1", "2"): 0.5}, language="es")
    assert chart.to_dict()["title"]["text"] == "Quién habla con quién"
    lines, _, texts, dots, *_ = (layer.data.values for layer in chart.layer)
    assert len(lines) == len(graph.edges)
    assert sorted(row["text"] for row in texts) == ["0.5", "1.5"]
    kinds = {row["name"]: row["kind"] for row in dots}
    assert {name for name, kind in kinds.items() if kind == "punto de corte"} == {"4"}
    assert max(row["width"] for row in lines) == 6.5
    bad: list[tuple[Any, Any, str]] = [
        ("graph", None, "Graph"),
        (graph, {("1", "5"): 1.0}, "no edge"),
        (graph, {("1", "2"): float("nan")}, "finite"),
        (graph, {("1", "2"): -1.0}, "finite"),
    ]
    for given_, epsilons, words in bad:
        with pytest.raises(ParameterError, match=words):
            draw_topology(given_, epsilons)
