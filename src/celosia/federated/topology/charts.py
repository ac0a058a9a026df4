"""The picture of a graph of parties: what its edges reveal, and which parties hold the others together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message
from celosia.federated.topology.graph import Edge, Graph
from celosia.federated.topology.layout import place_parties
from celosia.plots import Labels, Link, networks

if TYPE_CHECKING:
    import altair as alt


def draw_topology(
    graph: Graph, epsilons: Mapping[Edge, float] | None = None, *, about: str = "", language: str = "en"
) -> "alt.LayerChart":
    """Draw a graph, its cut vertices as squares, and what stands on its edges.

    Parameters
    ----------
    graph
        The graph.
    epsilons
        A number for each edge or for some, such as the larger epsilon of its two ends against each other;
        ``Disclosure.draw_topology`` gives it. Lines are wider the larger it is.
    about
        The subtitle.
    language
        The language of title and legend.

    Examples
    --------
    >>> from celosia.federated import make_graph
    >>> draw_topology(make_graph("creditors"), {("4", "5"): 1.5}).to_dict()["title"]["text"]
    'Who talks to whom'
    """
    if not isinstance(graph, Graph):
        raise ParameterError("federated.not_a_graph", graph=safe_repr(graph))
    given = {} if epsilons is None else {frozenset(edge): float(value) for edge, value in epsilons.items()}
    if unknown := set(given) - {frozenset(edge) for edge in graph.edges}:
        raise ParameterError("federated.edge_not_in_graph", edge=safe_repr(tuple(sorted(unknown.pop()))))
    if not all(np.isfinite(value) and value >= 0 for value in given.values()):
        raise ParameterError("federated.edge_value_not_finite")
    top = max(given.values(), default=0.0) or 1.0
    links = []
    for start, end in graph.edges:
        value = given.get(frozenset((start, end)))
        text, width = ("", 0.0) if value is None else (f"{value:.3g}", value / top)
        links.append(Link(start=start, end=end, text=text, width=width))
    labels = Labels(
        title=Message("federated.topology_title"),
        subtitle=about or (Message("federated.topology_subtitle") if given else ""),
        x=Message("federated.party"),
        y=Message("federated.cut_vertex"),
        language=language,
    )
    return networks(graph.parties, place_parties(graph), links, labels=labels, marked=graph.cut_vertices)
