"""Counts that agree: against generalized least squares, solved as one matrix by NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.local.ranges.tree import Consistency, Tree, best_fanout

SHAPES = [(10, 3), (16, 4), (7, 2), (5, 8), (30, 3), (2, 2), (27, 3), (9, 2)]


def least_squares(tree: Tree, variances: list[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All nodes' indicator rows, and the answer as a matrix of the answers and a vector of the total."""
    leaf = np.arange(tree.leaves)
    rows = [(tree.node(level, leaf)[None] == np.arange(size)[:, None]) for level, size in enumerate(tree.sizes)]
    indicator = np.concatenate(rows).astype(float)
    weights = np.repeat([1 / variance for variance in variances], tree.sizes)
    # The last leaf is what the others leave of the total.
    free = np.vstack([np.eye(tree.leaves - 1), -np.ones(tree.leaves - 1)])
    start = np.zeros(tree.leaves)
    start[-1] = 1.0
    design = indicator @ free
    solved = free @ np.linalg.solve(design.T @ (weights[:, None] * design), design.T * weights)
    return indicator, solved, start - solved @ indicator @ start


def test_it_is_least_squares() -> None:
    for leaves, fanout in SHAPES:
        random, tree = np.random.default_rng(leaves), Tree(leaves, fanout)
        variances = random.uniform(0.5, 3, tree.height).tolist()
        plan = Consistency(tree, variances)
        answers = [random.normal(5, 3, size) for size in tree.sizes]
        indicator, solved, of_total = least_squares(tree, variances)
        expected = solved @ np.concatenate(answers) + of_total * 50
        found = plan.solve(answers, 50.0)
        assert found[-1] == pytest.approx(expected)
        assert np.concatenate(found) == pytest.approx(indicator @ expected)
        assert found[0].sum() == pytest.approx(50)

        weights = random.integers(0, 2, leaves).astype(float)
        coefficients, whole = plan.coefficients(weights)
        assert np.concatenate(coefficients) == pytest.approx(weights @ solved, abs=1e-12)
        assert whole == pytest.approx(weights @ of_total, abs=1e-12)

        others = [random.uniform(0.5, 3, size) for size in tree.sizes]
        found_variances, wholes = plan.leaf_variances(others)
        assert found_variances == pytest.approx(solved**2 @ np.concatenate(others))
        assert wholes == pytest.approx(of_total, abs=1e-12)


def test_other_weights_are_worse() -> None:
    for leaves, fanout in SHAPES:
        tree = Tree(leaves, fanout)
        variances = [1.0 + level for level in range(tree.height)]
        right = Consistency(tree, variances)
        given_ = [np.full(size, variance) for size, variance in zip(tree.sizes, variances, strict=True)]
        best, _ = right.leaf_variances(given_)
        wrong, _ = Consistency(tree, [3.0 * v if i else v for i, v in enumerate(variances)]).leaf_variances(given_)
        assert (best <= wrong + 1e-12).all()
        alone = np.full(leaves, variances[-1])
        assert (best < alone).all()


@given(st.integers(2, 500), st.integers(2, 20))
def test_levels_and_sums(leaves: int, fanout: int) -> None:
    tree = Tree(leaves, fanout)
    assert tree.sizes[-1] == leaves
    assert tree.sizes[0] <= fanout
    assert all(-(-below // fanout) == above for above, below in zip(tree.sizes, tree.sizes[1:], strict=False))
    numbers = np.arange(leaves, dtype=float)
    for level, sums in enumerate(tree.sums(numbers)):
        nodes = tree.node(level, np.arange(leaves))
        assert sums.tolist() == np.bincount(nodes, weights=numbers, minlength=tree.sizes[level]).tolist()


@given(st.integers(2, 100_000))
def test_the_best_fanout_reaches_all_leaves(leaves: int) -> None:
    fanout = best_fanout(leaves)
    height = Tree(leaves, fanout).height
    assert fanout >= 2
    assert height**2 * (fanout + 1) <= min(leaves + 1, 3 * leaves.bit_length() ** 2)
