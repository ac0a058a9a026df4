"""Adaptive sufficient statistics as published: an exact least eigenvalue, three noises, and Wang's ridge."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import AddRemove, ParameterError, ReplaceOne
from celosia.data.schema.columns import Integer, Real
from celosia.learn.base.exact import ExactSums
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.linear_model.adassp import AdaSSPRequest, adassp_request, least_eigenvalue
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds
from celosia.statistics.base.target import Target

_KINDS = (Real(-1, 1), Integer(0, 7))


def design_of(adjacency: Any = AddRemove, **spent: Any) -> FitSpec:
    privacy = Target.of(adjacency=adjacency, **(spent or {"rho": 0.5}))
    return FitSpec(features=_KINDS, target=Real(0, 1), privacy=privacy, bounding=privacy.bounding)


def exact(request: AdaSSPRequest, rows: list[tuple[float, ...]]) -> tuple[list[list[int]], list[int], int]:
    """The matrix, the vector and the least eigenvalue that are noised."""
    held = ExactSums(request, (*_KINDS, Real(0, 1)))
    held.add(np.array(rows, dtype=np.float64).reshape(len(rows), 3))
    numbers = [int(number) for number in held.combine()]
    matrix = [[0] * 3 for _ in range(3)]
    for number, (a, b) in zip(numbers, [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)], strict=False):
        matrix[a][b] = matrix[b][a] = number
    return matrix, numbers[6:], least_eigenvalue(matrix)


row_values = st.tuples(st.floats(-9, 9), st.sampled_from([0.0, 3.0, 7.0, 50.0]), st.floats(-1, 2))


@settings(max_examples=60, deadline=None)
@given(st.lists(row_values, max_size=5), row_values, st.one_of(st.none(), row_values))
def test_no_row_moves_a_part_by_more_than_its_noise_is_for(
    others: list[tuple[float, ...]], row: tuple[float, ...], instead: tuple[float, ...] | None
) -> None:
    request = adassp_request(design_of(AddRemove if instead is None else ReplaceOne))
    first = exact(request, [*others, row])
    second = exact(request, [*others, *([] if instead is None else [instead])])
    upper = [(a, b) for a in range(3) for b in range(a, 3)]
    apart = (
        sum((first[0][a][b] - second[0][a][b]) ** 2 for a, b in upper),
        sum((a - b) ** 2 for a, b in zip(first[1], second[1], strict=True)),
        (first[2] - second[2]) ** 2,
    )
    for found, noise in zip(apart, request.noises, strict=True):
        event: Any = noise.event
        assert found <= event.sensitivity_squared


def test_corners_reach_what_the_noise_is_for() -> None:
    request = adassp_request(design_of())
    matrix, vector, _ = exact(request, [(1, 7, 1)])
    events: list[Any] = [noise.event for noise in request.noises]
    assert sum(matrix[a][b] ** 2 for a in range(3) for b in range(a, 3)) == events[0].sensitivity_squared
    assert sum(number**2 for number in vector) == events[1].sensitivity_squared
    # Orthogonal rows of the same length: the third one adds all of its length to the least eigenvalue.
    replaced = adassp_request(design_of(ReplaceOne))
    event: Any = replaced.noises[1].event
    _, other, _ = exact(replaced, [(1, 7, 0)])
    assert sum((a - b) ** 2 for a, b in zip(vector, other, strict=True)) == event.sensitivity_squared


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(st.integers(-(10**6), 10**6), min_size=3, max_size=3), max_size=5))
def test_the_least_eigenvalue_is_found_in_whole_numbers(rows: list[list[int]]) -> None:
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
    matrix = (columns.T @ columns).tolist()
    found = least_eigenvalue(matrix)
    value = max(float(np.linalg.eigvalsh(np.array(matrix, dtype=np.float64))[0]), 0.0)
    assert abs(found - max(math.ceil(value) - 1, 0)) <= 1 + 1e-14 * np.trace(np.array(matrix))


def test_the_least_eigenvalue_where_doubles_are_not_enough() -> None:
    """2^70 times the identity plus a small block: doubles would lose it."""
    big = 2**70
    assert least_eigenvalue([[big + 5, 2], [2, big + 5]]) == big + 2
    assert least_eigenvalue([[0]]) == 0
    assert least_eigenvalue([[1]]) == 0
    assert least_eigenvalue([[7]]) == 6


def test_each_part_gets_a_third() -> None:
    request = adassp_request(design_of())
    guarantees: list[Any] = [noise.guarantee for noise in request.noises]
    shares = [float(guarantee.rho) for guarantee in guarantees]
    assert shares == pytest.approx([0.5 / 3] * 3, rel=1e-6)
    assert sum(shares) <= 0.5


def test_a_pure_promise_is_refused() -> None:
    with pytest.raises(ParameterError, match='method="adassp" has Gaussian noise: give a delta or a rho'):
        adassp_request(design_of(epsilon=1))


def test_persons_are_refused() -> None:
    spec = replace(design_of(), bounding=ContributionBounds(unit="person"))
    with pytest.raises(ParameterError, match="proved for rows"):
        adassp_request(spec)


def test_the_ridge_is_what_the_noise_asks_for_less_the_least_eigenvalue() -> None:
    loud, quiet = adassp_request(design_of(rho=0.001)), adassp_request(design_of(rho=1000))
    assert loud._ridge(0) > quiet._ridge(0) > 0
    assert quiet._ridge(10**6 * 2**32) == 0
    assert loud._ridge(-(2**50)) == loud._ridge(0)


def test_with_little_noise_it_is_least_squares() -> None:
    rng = np.random.default_rng(3)
    features = np.column_stack([rng.uniform(-1, 1, 4000), rng.integers(0, 8, 4000)])
    target = 0.5 + 0.2 * features[:, 0] + 0.03 * features[:, 1]
    request = adassp_request(design_of(rho=10_000))
    held = ExactSums(request, (*_KINDS, Real(0, 1)))
    held.add(np.column_stack([features, target]))
    noisy = request.release(held.combine(), Seeded(1))
    _, line = request.solve(noisy, through=None, penalty=np.zeros(2))
    np.testing.assert_allclose(line.slopes, [0.4, 0.21], atol=5e-3)
    moments = request.moments(noisy)
    assert moments.rows == pytest.approx(4000, abs=1)
