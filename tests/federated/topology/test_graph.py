"""Graphs of parties: what they fall apart into, compared with a search by hand, and what is no graph."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.federated import Graph, make_graph
from celosia.federated.topology.graph import read_coalition
from celosia.noise import Seeded

NAMES = "abcdefgh"


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(2, 8))
    tree = [(draw(st.integers(0, place - 1)), place) for place in range(1, count)]
    more = draw(st.sets(st.sampled_from(list(itertools.combinations(range(count), 2)))))
    order = draw(st.permutations(NAMES[:count]))
    return Graph([(order[a], order[b]) for a, b in {*tree, *more}], list(NAMES[:count]))


def search(graph: Graph, without: set[str], cut: tuple[str, str] | None = None) -> set[frozenset[str]]:
    """The components, found by a walk over the edges."""
    edges = [edge for edge in graph.edges if edge != cut and not without & set(edge)]
    found = {frozenset([name]) for name in graph.parties if name not in without}
    for edge in edges:
        joined = {part for part in found if part & set(edge)}
        found = (found - joined) | {frozenset().union(*joined)}
    return found


@given(graphs(), st.data())
def test_components_cut_vertices_and_bridges_are_those_of_a_walk(graph: Graph, data: st.DataObject) -> None:
    without = data.draw(st.sets(st.sampled_from(graph.parties)))
    assert {frozenset(part) for part in graph.find_components(without)} == search(graph, without)
    cuts = [name for name in graph.parties if len(search(graph, {name})) > 1]
    assert list(graph.cut_vertices) == cuts
    assert list(graph.bridges) == [edge for edge in graph.edges if len(search(graph, set(), edge)) > 1]


@given(graphs())
def test_matrices_are_those_of_the_edges(graph: Graph) -> None:
    laplacian = graph.laplacian
    assert (laplacian.sum(axis=1) == 0).all()
    assert (laplacian == laplacian.T).all()
    assert laplacian.trace() == 2 * len(graph.edges)
    for a, b in itertools.product(graph.parties, repeat=2):
        linked = (a, b) in graph.edges or (b, a) in graph.edges
        assert (b in graph.get_neighbours(a)) is linked
    assert graph == Graph([(b, a) for a, b in reversed(graph.edges)], graph.parties)
    assert hash(graph) == hash(Graph(graph.edges, graph.parties))
    with pytest.raises(ValueError, match="read-only"):
        graph.adjacency[0, 0] = True


def test_shapes_are_what_they_are_called() -> None:
    degrees = {
        "ring": [2] * 12,
        "star": [11] + [1] * 11,
        "path": [1] + [2] * 10 + [1],
        "grid": [2, 3, 3, 2, 3, 4, 4, 3, 2, 3, 3, 2],
        "complete": [11] * 12,
        "binary tree": [2, 3, 3, 3, 3, 2, 1, 1, 1, 1, 1, 1],
    }
    for shape, expected in degrees.items():
        assert make_graph(shape, 12).adjacency.sum(axis=1).tolist() == expected, shape
    assert make_graph("creditors").edges == tuple(
        (pair[0], pair[1]) for pair in ("12", "13", "16", "23", "34", "45", "47", "67")
    )
    worlds = [make_graph("small world", 12, shortcuts=4, source=Seeded(seed)) for seed in (0, 0, 1)]
    assert worlds[0] == worlds[1] != worlds[2]
    assert all(len(world.edges) == 16 and set(make_graph("ring", 12).edges) < set(world.edges) for world in worlds)
    for shape in ("ring", "star", "path", "grid", "complete", "binary tree"):
        assert [len(make_graph(shape, count).parties) for count in range(2, 12)] == list(range(2, 12))
    assert make_graph("grid", 7).find_components() == (tuple("1234567"),)
    assert make_graph("path", ["x", "y"]).parties == ("x", "y")


def test_what_is_no_graph_is_named() -> None:
    bad: list[tuple[Any, Any, str]] = [
        ([("a", "b"), ("c", "d")], None, "no path leads from 'a' to 'c'"),
        ([("a", "b")], ["a", "b", "c"], "no path"),
        ([("a", "a")], None, "edge to itself"),
        ([("a", "b"), ("b", "a")], None, "named twice"),
        ([("a", "b")], ["a", "b", "a"], "Two parties have the name 'a'"),
        ([("a", "b")], ["a", "c"], "no party 'b'"),
        ([], ["a"], "2 to 1000 parties, not 1"),
        ([], None, "2 to 1000 parties, not 0"),
        ([("a", 2)], None, "name of a party"),
        ([("a", "")], None, "name of a party"),
        ([("a", "b", "c")], None, "pairs of names"),
        (["ab"], None, "pairs of names"),
        ("ab", None, "pairs of names"),
        (7, None, "pairs of names"),
        ([("a", "b")], "ab", "list of names"),
        ([("a", "b")], [["a"], "b"], "name of a party"),
    ]
    for edges, parties, words in bad:
        with pytest.raises(ParameterError, match=words):
            Graph(edges, parties)
    graph = make_graph("path", 3)
    for name in ("9", 3, None):
        with pytest.raises(ParameterError, match="no party"):
            graph.get_neighbours(name)  # type: ignore[arg-type]
    for coalition, words in [("9", "no party '9'"), (["1", "2", "3"], "leave out"), (3, "must be a party's name")]:
        with pytest.raises(ParameterError, match=words):
            read_coalition(graph, coalition)
    assert read_coalition(graph, ["3", "1", "3"]) == ("1", "3")
    shapes: list[tuple[Any, Any, dict[str, Any], str]] = [
        ("cube", 8, {}, "one of 'ring', 'star'"),
        (None, 8, {}, "one of 'ring', 'star'"),
        ("ring", 1, {}, "2 to 1000 parties, not 1"),
        ("complete", 10**9, {}, "2 to 1000 parties"),
        ("ring", 2.5, {}, "parties must be an integer"),
        ("ring", "abc", {}, "parties must be an integer"),
        ("creditors", 8, {}, "has 7 parties, not 8"),
        ("small world", 5, {"shortcuts": 6}, "room for 5 shortcuts, not 6"),
        ("small world", 5, {"shortcuts": -1}, "shortcuts"),
    ]
    for shape, parties, options, words in shapes:
        with pytest.raises(ParameterError, match=words):
            make_graph(shape, parties, **options)


def test_a_graph_of_many_parties_is_no_table() -> None:
    graph = make_graph("complete", 30)
    assert repr(graph) == "Graph(30 parties, 435 edges)"
    assert graph.bridges == ()
    assert np.array_equal(graph.adjacency, ~np.eye(30, dtype=np.bool_))
