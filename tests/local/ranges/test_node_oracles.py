"""Both ways to report a node: an exact law, answers without bias, and the variance of any sum of answers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from celosia.local.ranges.node_oracles import HadamardNodes, NodeOracle, UnaryNodes
from celosia.noise import Seeded

if TYPE_CHECKING:
    from celosia.local.base.protocol import State

KINDS: list[type[UnaryNodes | HadamardNodes]] = [UnaryNodes, HadamardNodes]
SIZES = (2, 5)


def oracle_of(kind: type[NodeOracle], epsilon: str | int = 1, sizes: tuple[int, ...] = SIZES) -> NodeOracle:
    return kind(epsilon=Fraction(epsilon), sizes=sizes)


def empty(oracle: NodeOracle) -> State:
    return {"counts": np.zeros(oracle.shape(), dtype=np.int64), "levels": np.zeros(len(oracle.sizes), dtype=np.int64)}


def law(oracle: NodeOracle, level: int) -> tuple[np.ndarray, np.ndarray]:
    """All reports of a level, and their probabilities for each node."""
    outputs = oracle.outputs()
    assert outputs is not None
    rows = outputs[oracle.levels(outputs) == level]
    return rows, np.exp([oracle.log_masses(level, node, rows) for node in range(oracle.sizes[level])])


def told(oracle: NodeOracle, level: int, rows: np.ndarray) -> np.ndarray:
    """What each report alone says about the nodes."""
    found = []
    for row in rows:
        state = empty(oracle)
        oracle.accumulate(state, row[None])
        found.append(oracle.answers(state, level))
    return np.array(found)


def test_the_law_is_private_and_answers_are_right_on_average() -> None:
    epsilon_cases: list[str | int] = ["1/2", 1, 4]
    level_cases: list[int] = [0, 1]
    for kind in KINDS:
        for epsilon in epsilon_cases:
            for level in level_cases:
                oracle = oracle_of(kind, epsilon)
                rows, masses = law(oracle, level)
                assert masses.sum(axis=1) == pytest.approx(1)
                worst = max(float(np.abs(np.log(one / two)).max()) for one, two in itertools.combinations(masses, 2))
                assert worst == pytest.approx(float(oracle.epsilon))
                answers = told(oracle, level, rows)
                assert masses @ answers == pytest.approx(np.eye(oracle.sizes[level]), abs=1e-9)


def test_the_variance_of_a_sum_of_answers_is_exact() -> None:
    for kind, level in product(KINDS, (0, 1)):
        oracle = oracle_of(kind, 2)
        rows, masses = law(oracle, level)
        answers = told(oracle, level, rows)
        random = np.random.default_rng(3)
        shares = random.dirichlet(np.ones(oracle.sizes[level]))
        for coefficients in (random.normal(size=shares.size), np.eye(shares.size)[0], np.ones(shares.size)):
            sums = answers @ coefficients
            each = masses @ sums**2 - (masses @ sums) ** 2
            noise = float(oracle.noise(level, coefficients, shares))
            assert noise == pytest.approx(float(shares @ each), abs=1e-9)
            bound = float((coefficients**2 * oracle.node_noise(level, shares)).sum())
            assert bound >= noise - 1e-9 or kind is HadamardNodes


def test_the_variances_are_the_published_ones() -> None:
    cases: list[tuple[type[NodeOracle], list[float]]] = [
        (UnaryNodes, [3.68, 0.724, 0.076]),
        (HadamardNodes, [4.68, 1.72, 1.08]),
    ]
    for kind, published in cases:
        for epsilon, expected in zip((1, 2, 4), published, strict=True):
            found = oracle_of(kind, epsilon, (4096,)).node_noise(0, np.zeros(1))
            assert float(found[0]) == pytest.approx(expected, rel=5e-3)


def test_what_is_drawn_is_valid_and_counted() -> None:
    sizes_cases: list[tuple[int, ...]] = [(3,), (2, 9), (4, 64), (3, 20, 130)]
    for kind, sizes in product(KINDS, sizes_cases):
        oracle = oracle_of(kind, 1, sizes)
        source = Seeded(1)
        for level, size in enumerate(sizes):
            nodes = np.arange(200) % size
            rows = oracle.sample(level, nodes, source)
            assert rows.shape == (200, -(-oracle.bits // 8))
            assert oracle.is_valid(rows).all()
            assert (oracle.levels(rows) == level).all()
            one = oracle.sample_one(level, size - 1, source).to_bytes(rows.shape[1], "little")
            assert oracle.is_valid(np.frombuffer(one, dtype=np.uint8)[None]).all()
            state = empty(oracle)
            oracle.accumulate(state, rows)
            assert state["levels"].tolist() == [200 if here == level else 0 for here in range(len(sizes))]


def test_a_large_epsilon_says_the_node() -> None:
    oracle = oracle_of(HadamardNodes, 60_000, (8, 64))
    state = empty(oracle)
    oracle.accumulate(state, oracle.sample(1, np.full(5000, 17), Seeded(2)))
    found = oracle.answers(state, 1)
    assert int(found.argmax()) == 17
    unary = oracle_of(UnaryNodes, 60_000, (8, 64))
    state = empty(unary)
    unary.accumulate(state, unary.sample(1, np.full(5000, 17), Seeded(2)))
    assert np.flatnonzero(unary.answers(state, 1)).tolist() == [17]


def test_the_third_moment_is_that_of_the_law() -> None:
    cases: list[Fraction] = [Fraction(1, 2), Fraction(2), Fraction(9)]
    for epsilon in cases:
        chance = 1 / (1 + math.exp(float(epsilon)))
        answers = np.array([1 - chance, -chance]) / (0.5 - chance)
        third = float((np.array([chance, 1 - chance]) * answers**3).sum())
        assert UnaryNodes(epsilon=epsilon, sizes=(2, 4)).node_third() == pytest.approx(third, rel=1e-9)
        # Rows in which the node has the sign of another one, and rows in which it has not, are as many but for row 0.
        assert HadamardNodes(epsilon=epsilon, sizes=(2, 4)).node_third() == 0.0
