"""An undirected graph of parties: an edge is a channel over which two of them exchange messages.

The graph is public. It decides what each party can see, so a party that holds others together matters for privacy: a
*cut vertex* is a party without which some of the others cannot reach each other, a *bridge* such an edge. Graphs are
connected, because parties that cannot reach each other learn nothing together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.federated.parties.party import check_party_name

Edge = tuple[str, str]

_MIN_PARTIES: Final = 2
_MAX_PARTIES: Final = 1_000  # weights are dense matrices


@dataclass(frozen=True, slots=True)
class Graph:
    """A connected graph of parties.

    Parameters
    ----------
    edges
        Pairs of names; each edge once, in either direction.
    parties
        The names in their order; by default in the order in which the edges name them.

    Examples
    --------
    >>> graph = Graph([("north", "west"), ("west", "south")])
    >>> graph.parties, graph.get_neighbours("west")
    (('north', 'west', 'south'), ('north', 'south'))
    >>> graph.cut_vertices, graph.bridges
    (('west',), (('north', 'west'), ('west', 'south')))
    """

    edges: tuple[Edge, ...]
    parties: tuple[str, ...]
    adjacency: NDArray[np.bool_] = field(init=False, compare=False)
    """Whether two parties are neighbours, as a matrix in the order of the parties."""

    def __init__(self, edges: Iterable[Edge], parties: Iterable[str] | None = None) -> None:
        pairs = _read_edges(edges)
        named = dict.fromkeys(name for pair in pairs for name in pair)
        names = _read_names(named if parties is None else parties)
        places = {name: place for place, name in enumerate(names)}
        if unknown := [name for name in named if name not in places]:
            raise ParameterError("federated.party_not_in_graph", name=safe_repr(unknown[0]))
        found = sorted({(min(a, b), max(a, b)) for a, b in ((places[a], places[b]) for a, b in pairs)})
        if len(found) < len(pairs):
            raise ParameterError("federated.edge_named_twice")
        object.__setattr__(self, "parties", names)
        object.__setattr__(self, "edges", tuple((names[a], names[b]) for a, b in found))
        object.__setattr__(self, "adjacency", _make_matrix(len(names), found))
        if len(apart := self.find_components()) > 1:
            raise ParameterError(
                "federated.graph_not_connected", one=safe_repr(apart[0][0]), other=safe_repr(apart[1][0])
            )

    def __repr__(self) -> str:
        return f"Graph({len(self.parties)} parties, {len(self.edges)} edges)"

    @property
    def laplacian(self) -> NDArray[np.int64]:
        """The Laplacian: degrees on the diagonal, -1 for each edge."""
        adjacent = self.adjacency.astype(np.int64)
        return np.diag(adjacent.sum(axis=1)) - adjacent

    @property
    def cut_vertices(self) -> tuple[str, ...]:
        """The parties without which the others are not connected."""
        return tuple(name for name in self.parties if len(self.find_components([name])) > 1)

    @property
    def bridges(self) -> tuple[Edge, ...]:
        """The edges without which the graph is not connected."""
        # Only an edge of a spanning tree can be a bridge.
        tree = csgraph.breadth_first_tree(self.adjacency.astype(np.int8), 0, directed=False).tocoo()
        found = []
        for start, end in zip(tree.row.tolist(), tree.col.tolist(), strict=True):
            cut = self.adjacency.copy()
            cut[start, end] = cut[end, start] = False
            if _label(cut).max() > 0:
                found.append((min(start, end), max(start, end)))
        return tuple((self.parties[a], self.parties[b]) for a, b in sorted(found))

    def find_places(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the places of parties in ``parties``."""
        places = {name: place for place, name in enumerate(self.parties)}
        listed: list[object] = [names] if isinstance(names, str) else list(names)
        for name in listed:
            if not isinstance(name, str) or name not in places:
                raise ParameterError("federated.party_not_in_graph", name=safe_repr(name))
        return np.array([places[str(name)] for name in listed], dtype=np.int64)

    def get_neighbours(self, name: str) -> tuple[str, ...]:
        """Return the parties that exchange messages with one."""
        [place] = self.find_places([name])
        return tuple(self.parties[other] for other in np.flatnonzero(self.adjacency[place]))

    def find_components(self, without: Iterable[str] = ()) -> tuple[tuple[str, ...], ...]:
        """Return the connected components that are left without some parties.

        >>> Graph([("a", "b"), ("b", "c"), ("b", "d"), ("c", "d")]).find_components(without=["b"])
        (('a',), ('c', 'd'))
        """
        labels = self.label_components(self.find_places(without))
        return tuple(
            tuple(self.parties[place] for place in np.flatnonzero(labels == label))
            for label in range(labels.max(initial=-1) + 1)
        )

    def label_components(self, without: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each party's component when the parties at some places are left out; for those, -1."""
        kept = np.setdiff1d(np.arange(len(self.parties)), without)
        labels = np.full(len(self.parties), -1, dtype=np.int64)
        labels[kept] = _label(self.adjacency[np.ix_(kept, kept)])
        return labels

    def add_edge(self, start: str, end: str) -> "Graph":
        """Return the graph with one more edge."""
        return Graph([*self.edges, (start, end)], self.parties)


def read_coalition(graph: Graph, coalition: object) -> tuple[str, ...]:
    """Return the parties of a coalition in the graph's order; a text is a coalition of one."""
    if not isinstance(coalition, Iterable):
        raise ParameterError("federated.not_a_coalition", coalition=safe_repr(coalition))
    places = np.unique(graph.find_places(coalition))
    if len(places) == len(graph.parties):
        raise ParameterError("federated.coalition_of_all")
    return tuple(graph.parties[place] for place in places)


def check_size(parties: int) -> int:
    """Return the number of parties if a graph can have so many."""
    if not _MIN_PARTIES <= parties <= _MAX_PARTIES:
        raise ParameterError("federated.graph_size", least=_MIN_PARTIES, most=_MAX_PARTIES, found=parties)
    return parties


def _read_edges(edges: object) -> list[Edge]:
    if not isinstance(edges, Iterable) or isinstance(edges, str | Mapping):
        raise ParameterError("federated.not_edges", edges=safe_repr(edges))
    found = []
    for edge in edges:
        if not isinstance(edge, tuple | list) or len(edge) != 2:
            raise ParameterError("federated.not_edges", edges=safe_repr(edge))
        start, end = map(check_party_name, edge)
        if start == end:
            raise ParameterError("federated.edge_to_itself", name=safe_repr(start))
        found.append((start, end))
    return found


def _read_names(parties: object) -> tuple[str, ...]:
    if not isinstance(parties, Iterable) or isinstance(parties, str):
        raise ParameterError("federated.graph_parties_not_names", parties=safe_repr(parties))
    names = tuple(map(check_party_name, parties))
    check_size(len(names))
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise ParameterError("federated.party_named_twice", name=safe_repr(twice[0]))
    return names


def _label(matrix: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of each row's connected component."""
    _, labels = csgraph.connected_components(matrix, directed=False)
    return np.asarray(labels, dtype=np.int64)


def _make_matrix(size: int, edges: list[tuple[int, int]]) -> NDArray[np.bool_]:
    matrix = np.zeros((size, size), dtype=np.bool_)
    for start, end in edges:
        matrix[start, end] = matrix[end, start] = True
    matrix.flags.writeable = False
    return matrix
