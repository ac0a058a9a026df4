"""Weights of gossip: the source document's matrices, convergence to the mean, and matrices that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from celosia.core import ParameterError
from celosia.federated import Graph, Weights, constant_weights, convergence_factor, make_graph, metropolis_weights
from celosia.federated import optimal_alpha as find_optimal_alpha
from tests.federated.topology.test_graph import graphs

CREDITORS = make_graph("creditors")
# The source document's matrix after its theorem 4.2, in twelfths.
PRINTED = [
    [3, 3, 3, 0, 0, 3, 0],
    [3, 6, 3, 0, 0, 0, 0],
    [3, 3, 3, 3, 0, 0, 0],
    [0, 0, 3, 3, 3, 0, 3],
    [0, 0, 0, 3, 9, 0, 0],
    [3, 0, 0, 0, 0, 5, 4],
    [0, 0, 0, 3, 0, 4, 5],
]


def test_the_documents_matrices_and_their_factors() -> None:
    metropolis = metropolis_weights(CREDITORS)
    assert metropolis.matrix * 12 == pytest.approx(np.array(PRINTED), abs=1e-12)
    assert convergence_factor(metropolis) == pytest.approx(0.834, abs=5e-4)
    assert convergence_factor(constant_weights(CREDITORS, "1/3")) == pytest.approx(0.784, abs=5e-4)
    assert find_optimal_alpha(CREDITORS) == pytest.approx(0.376, abs=5e-4)
    assert convergence_factor(constant_weights(CREDITORS)) == pytest.approx(0.756, abs=5e-4)
    five = Graph([("1", "2"), ("1", "3"), ("1", "5"), ("2", "3"), ("3", "4"), ("4", "5")])
    first = dict(zip(five.parties, metropolis_weights(five).matrix[0].tolist(), strict=True))
    assert first == {"1": 0.25, "2": 0.25, "3": 0.25, "4": 0, "5": 0.25}


@given(graphs())
def test_gossip_converges_to_the_mean_as_fast_as_stated(graph: Graph) -> None:
    start = np.arange(len(graph.parties), dtype=np.float64) ** 2
    for weights in (metropolis_weights(graph), constant_weights(graph)):
        factor = convergence_factor(weights)
        apart = np.linalg.norm(start - start.mean())
        assert np.linalg.norm(weights.matrix @ start - start.mean()) <= factor * apart + 1e-9
        assert np.linalg.matrix_power(weights.matrix, 20_000) @ start == pytest.approx(
            np.full(len(start), start.mean())
        )
    best = find_optimal_alpha(graph)
    for alpha in (best * 0.98, best * 1.01):
        try:
            other = convergence_factor(constant_weights(graph, alpha))
        except ParameterError:  # too far for convergence
            continue
        assert other >= convergence_factor(constant_weights(graph)) - 1e-12


def test_weights_that_do_not_average_are_refused() -> None:
    path = make_graph("path", 3)
    good = metropolis_weights(path).matrix
    wrong_rows = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]]) / 3
    lopsided = good + np.array([[0.1, -0.1, 0], [0, 0, 0], [0, 0, 0]])
    across = np.full((3, 3), 1 / 3)
    bad: list[tuple[Any, str]] = [
        (wrong_rows, "row 1 sums to 0.6667"),
        (lopsided, "symmetric"),
        (across, "between '1' and '3' must be 0"),
        (np.eye(3), "does not converge: its factor is 1"),
        (np.eye(3) - 1.2 * path.laplacian, "does not converge"),
        (good[:2], "3 rows and columns"),
        (good * np.nan, "finite"),
        ([["a"] * 3] * 3, "finite"),
        (None, "finite"),
    ]
    for matrix, words in bad:
        with pytest.raises(ParameterError, match=words):
            Weights(path, matrix)
    with pytest.raises(ParameterError, match="Graph"):
        Weights("path", good)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="does not converge"):
        Weights(make_graph("path", 2), [[0, 1], [1, 0]])  # the two exchange their numbers for ever
    for alpha in (0, -1, "x", float("nan")):
        with pytest.raises(ParameterError, match="alpha"):
            constant_weights(path, alpha)
    assert (np.diag(Weights(path, np.eye(3) - 0.6 * path.laplacian).matrix) < 0).any()  # negative, but it converges
    with pytest.raises(ValueError, match="read-only"):
        metropolis_weights(path).matrix[0, 0] = 0
