"""Places for the parties of a graph in a picture: as far apart as they are on the graph, as nearly as a plane allows.

Stress majorization: each step solves for the places that best fit the present directions. It starts from the two main
axes of the distances, and a little of a circle, so that no two parties are in one place. Gansner, Koren and North,
*Graph drawing by stress majorization*, 2004.
"""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array

if TYPE_CHECKING:
    from celosia.federated.topology.graph import Graph

_STEPS: Final = 150
_CIRCLE: Final = 0.2  # its radius, in edges


def place_parties(graph: "Graph") -> NDArray[np.float64]:
    """Return a point for each party; the same graph has the same picture."""
    count = len(graph.parties)
    distances = csgraph.shortest_path(csr_array(graph.adjacency), directed=False, unweighted=True)
    pulls = np.zeros_like(distances)
    np.divide(1, distances**2, out=pulls, where=distances > 0)
    inverse = np.linalg.pinv(np.diag(pulls.sum(axis=1)) - pulls)
    angles = 2 * np.pi * np.arange(count) / count
    centred = np.eye(count) - 1 / count
    values, axes = np.linalg.eigh(-centred @ distances**2 @ centred / 2)
    main = axes[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    points = main + _CIRCLE * np.column_stack([np.sin(angles), np.cos(angles)])
    for _ in range(_STEPS):
        apart = points[:, None] - points
        lengths = np.sqrt((apart**2).sum(axis=2))
        ratios = np.zeros_like(distances)
        np.divide(distances * pulls, lengths, out=ratios, where=lengths > 0)
        points = inverse @ (ratios[:, :, None] * apart).sum(axis=1)
    return _turn(points)


def _turn(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay the longer side across, so that a path is a line from left to right in the order of its parties."""
    _, _, axes = np.linalg.svd(points, full_matrices=False)
    turned = points @ axes.T
    return np.asarray(turned * np.where(turned[0] > 0, -1, 1))
