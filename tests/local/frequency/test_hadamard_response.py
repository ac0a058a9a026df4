"""Hadamard response: law, draws, blocks, estimates, bad input."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.linalg import hadamard

from celosia.core import InputError, ParameterError
from celosia.local import Protocol
from celosia.local.frequency.hadamard_response import HadamardResponse
from celosia.noise import Seeded
from tests.local import laws

EPSILONS: list[int | str] = ["0.5", 1, 2, 4]


def test_the_law_uses_epsilon_and_no_more() -> None:
    blocks_cases: list[int | None] = [None, 1, 4]
    for epsilon, size, blocks in product(EPSILONS, (2, 3, 8, 100), blocks_cases):
        laws.check_law(HadamardResponse(domain=size, epsilon=epsilon, blocks=blocks), list(range(size)))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("blocks", [None, 1])
@pytest.mark.sampled(3)
def test_draws_follow_the_law(epsilon: Any, blocks: int | None) -> None:
    protocol = HadamardResponse(domain=7, epsilon=epsilon, blocks=blocks)
    for value in (0, 5):
        laws.check_draws(protocol, value)


def test_the_law_is_that_of_the_paper() -> None:
    """Acharya, Sun and Zhang 2019: e^epsilon on the rows of the own block where the column is +1, else 1."""
    protocol = HadamardResponse(domain=11, epsilon=2, blocks=4)
    rows, matrix = protocol.rows, hadamard(protocol.rows)
    assert rows == 4
    for value in range(11):
        weights = np.ones((4, rows))
        weights[value % 4, matrix[:, 1 + value // 4] > 0] = math.exp(2)
        masses = np.exp(protocol.log_masses(value, protocol.outputs()))  # type: ignore[arg-type] # listed
        assert masses == pytest.approx((weights / weights.sum()).reshape(-1))


@pytest.mark.parametrize("blocks", [1, 2])
def test_estimates_are_right_on_average(blocks: int) -> None:
    values = np.repeat(np.arange(8), [600, 300, 300, 600, 150, 0, 0, 150])  # as many of even as of odd values
    protocol = HadamardResponse(domain=8, epsilon=1, blocks=blocks)
    truth = np.bincount(values, minlength=8).astype(np.float64)
    raw, told = laws.rounds(protocol, values, 500, 3)
    scale, inside = protocol._scale()
    block = np.array([truth[v % blocks :: blocks].sum() for v in range(8)])  # people whose value is in the block
    outside = 2 / (math.e + 2 * blocks - 1)
    theory = np.asarray(scale**2 * (block * inside + (len(values) - block) * outside) - truth, dtype=np.float64)
    assert np.abs((raw.mean(axis=0) - truth) / np.sqrt(theory / 500)).max() < 5
    assert laws.variance_score(raw, truth, theory) < 4.5
    assert laws.variance_score(1.1 * raw, 1.1 * truth, theory) > 4.5
    assert np.abs((told**2).mean(axis=0) / theory - 1).max() < 0.05
    evenly = [protocol.variance(len(values), count) for count in truth]
    assert theory == pytest.approx(evenly, rel=0.2)


def test_variances_are_those_of_the_table() -> None:
    for size in (100, 1000, 65536):
        for epsilon, average, worst in ((1, "5.54", "7.20"), (2, "1.27", "2.96"), (4, "0.150", "2.28")):
            protocol = HadamardResponse(domain=size, epsilon=epsilon)
            assert f"{protocol.variance(1):.3g}" == f"{float(average):.3g}"
            assert f"{protocol.worst_variance(1):.2f}" == worst


def test_variances_are_those_of_the_law() -> None:
    """By brute force: the sign of a value's column in a report, given other people's values and one's own."""
    for blocks in (1, 2, 8):
        protocol = HadamardResponse(domain=24, epsilon=1, blocks=blocks)
        matrix, scale = hadamard(protocol.rows), protocol._scale()[0]
        masses = np.exp(laws.table(protocol, list(range(24))))
        signs = np.zeros((blocks, protocol.rows))
        signs[0] = scale * matrix[:, 1]  # of the value 0
        means = masses @ signs.reshape(-1)
        variances = masses @ signs.reshape(-1) ** 2 - means**2
        assert means == pytest.approx(np.eye(24)[0], abs=1e-12)
        assert protocol.worst_variance(1) == pytest.approx(variances[blocks])  # the same block, another column
        assert protocol.worst_variance(1, 1) == pytest.approx(variances[0])
        per_block = variances[blocks : 2 * blocks]
        assert protocol.variance(1) == pytest.approx(per_block.mean())
        assert protocol.variance(1, 1) == pytest.approx(variances[0])


def test_blocks_by_the_papers_rule() -> None:
    rules: dict[Any, int] = {"0.3": 1, "0.7": 2, 1: 2, 2: 4, 3: 16, 4: 32, 5: 128}
    assert {epsilon: HadamardResponse(domain=10**6, epsilon=epsilon).blocks for epsilon in rules} == rules
    assert HadamardResponse(domain=10, epsilon=40).blocks == 16
    assert HadamardResponse(domain=2, epsilon=60_000).blocks == 2
    for size in (2, 3, 4, 7, 8, 100, 127, 128, 129):
        for blocks in (1, 2, 8):
            protocol = HadamardResponse(domain=size, epsilon=1, blocks=blocks)
            assert blocks * (protocol.rows - 1) >= size > blocks * (protocol.rows // 2 - 1)


def test_a_large_epsilon_has_a_law_and_estimates() -> None:
    for epsilon in (50, 60_000):
        protocol = HadamardResponse(domain=9, epsilon=epsilon)
        estimate = protocol.aggregate().absorb(protocol.privatize([3] * 100, source=Seeded(1))).estimate()
        assert estimate.counts[3] == pytest.approx(100)
        assert np.exp(protocol.log_masses(1, protocol.outputs())).sum() == pytest.approx(1)  # type: ignore[arg-type]


def test_texts_and_the_wire() -> None:
    protocol = HadamardResponse(domain=["sun", "rain", "snow"], epsilon=3)
    assert Protocol.from_json(protocol.to_json()) == protocol
    batch = protocol.privatize(["sun"] * 900, source=Seeded(2)).to_arrow()
    estimate = protocol.aggregate().absorb(batch).estimate(["sun", "snow"])
    assert np.abs((estimate.raw - [900, 0]) / estimate.standard_errors).max() < 5
    assert estimate.candidates == ["sun", "snow"]


def test_impossible_reports_are_dropped() -> None:
    protocol = HadamardResponse(domain=5, epsilon=1, blocks=2)
    assert protocol.bits == 3
    aggregate = protocol.aggregate().absorb([protocol.header + bytes([number]) for number in range(256)])
    assert (aggregate.reports, aggregate.rejected) == (8, 248)
    assert aggregate.state["said"].tolist() == [[1] * 4] * 2


def test_too_many_outputs_are_not_listed() -> None:
    assert HadamardResponse(domain=10**6, epsilon=1).outputs() is None


def test_bad_blocks_are_refused() -> None:
    cases: list[Any] = [0, -1, 3, 1.0, True, "2", 2**32]
    for blocks in cases:
        with pytest.raises(ParameterError, match="blocks"):
            HadamardResponse(domain=5, epsilon=1, blocks=blocks)


def test_values_outside_the_domain_are_refused() -> None:
    cases: list[Any] = [[5], [-1], ["a"], [1.0], [None], 1]
    for values in cases:
        with pytest.raises(InputError, match="values"):
            HadamardResponse(domain=5, epsilon=1).privatize(values)
