"""Graphs by name, to compare who learns what on them."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.federated.topology.graph import Graph, check_size
from celosia.noise import Seeded, permutation

if TYPE_CHECKING:
    from celosia.core import Source

Places = Iterable[tuple[int, int]]

_CREDITORS: Final = 7


def make_graph(
    shape: str, parties: int | Iterable[str] = _CREDITORS, *, shortcuts: int = 2, source: "Source | None" = None
) -> Graph:
    """Return a graph of some shape.

    Parameters
    ----------
    shape
        "ring", "star" (the first party is its centre), "path", "grid", "complete", "small world" (a ring with
        shortcuts between random parties, Newman and Watts 1999), "binary tree", or "creditors", the graph of seven
        parties of the source document (figure 4.11).
    parties
        Their names, or how many: they are then called "1", "2", and so on.
    shortcuts
        How many a small world has.
    source
        Where its shortcuts come from: by default ``Seeded(0)``. They are public.

    Examples
    --------
    >>> make_graph("star", ["centre", "north", "south"]).edges
    (('centre', 'north'), ('centre', 'south'))
    >>> make_graph("creditors").cut_vertices
    ('4',)
    """
    names, given = _read_names(parties), str(shape)
    if given not in _SHAPES:
        raise ParameterError("federated.unknown_shape", known=", ".join(map(repr, _SHAPES)), shape=safe_repr(shape))
    if given == "creditors" and len(names) != _CREDITORS:
        raise ParameterError("federated.creditors_are_seven", most=_CREDITORS, found=len(names))
    edges = {(min(edge), max(edge)) for edge in _SHAPES[given](len(names)) if edge[0] != edge[1]}
    if given == "small world":
        edges |= _draw_shortcuts(len(names), edges, exact_integer(shortcuts, name="shortcuts", least=0), source)
    return Graph([(names[a], names[b]) for a, b in sorted(edges)], names)


def _read_names(parties: object) -> list[str]:
    if isinstance(parties, Iterable) and not isinstance(parties, str):
        names = list(parties)
        check_size(len(names))
        return names
    count = exact_integer(parties, name="parties")  # type: ignore[arg-type] # it is checked there
    return [str(number + 1) for number in range(check_size(count))]


def _make_ring(count: int) -> Places:
    return ((place, (place + 1) % count) for place in range(count))


def _make_grid(count: int) -> Places:
    """Return the edges of a grid that is nearly square; its last row may be shorter."""
    columns = math.isqrt(count - 1) + 1
    along = ((place, place + 1) for place in range(count - 1) if (place + 1) % columns)
    return itertools.chain(along, ((place, place + columns) for place in range(count - columns)))


_SHAPES: Final[Mapping[str, Callable[[int], Places]]] = {
    "ring": _make_ring,
    "star": lambda count: ((0, place) for place in range(1, count)),
    "path": lambda count: itertools.pairwise(range(count)),
    "grid": _make_grid,
    "complete": lambda count: itertools.combinations(range(count), 2),
    "small world": _make_ring,
    "binary tree": lambda count: (((place - 1) // 2, place) for place in range(1, count)),
    "creditors": lambda _: ((0, 1), (0, 2), (0, 5), (1, 2), (2, 3), (3, 4), (3, 6), (5, 6)),
}


def _draw_shortcuts(
    count: int, edges: set[tuple[int, int]], shortcuts: int, source: "Source | None"
) -> set[tuple[int, int]]:
    free = [edge for edge in itertools.combinations(range(count), 2) if edge not in edges]
    if shortcuts > len(free):
        raise ParameterError("federated.too_many_shortcuts", most=len(free), found=shortcuts)
    order = permutation(len(free), Seeded(0) if source is None else source)
    return {free[place] for place in order[:shortcuts]}
