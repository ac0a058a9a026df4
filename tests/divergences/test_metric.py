"""Privacy in a metric: the smallest epsilon_out over all pairs within the radius."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.divergences import Discrete, Laplace, distance, max_divergence, metric_privacy, renyi, wasserstein

LINE = np.arange(5.0)
APART = np.abs(LINE[:, None] - LINE)


@given(st.floats(0.1, 5), st.integers(0, 4))
def test_laplace_is_private_in_proportion_to_the_distance(scale: float, radius: int) -> None:
    found = metric_privacy([Laplace(x, scale) for x in LINE], APART, radius)
    assert found.epsilon_out == pytest.approx(radius / scale, rel=1e-12)
    assert found.holds(radius / scale * (1 + 1e-9))
    if radius:
        assert not found.holds(radius / scale * 0.9)


def test_classical_privacy_is_radius_one_between_data_sets() -> None:
    # Definition 2.4 of Estrada Franco 2025: randomized response on one bit, data sets of at most one record.
    databases = [[], [0], [1]]
    apart = np.array([[distance(one, other) for other in databases] for one in databases])
    outputs = np.array([[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]])
    assert metric_privacy(outputs, apart, 1).epsilon_out == pytest.approx(math.log(2))
    two = metric_privacy(outputs, apart, 2)
    assert two.epsilon_out == pytest.approx(math.log(3))
    assert two.worst == (1, 2)


def test_it_is_the_supremum_in_both_directions() -> None:
    outputs = np.array([[0.9, 0.1], [0.5, 0.5]])
    found = metric_privacy(outputs, [[0, 1], [1, 0]], 1)
    both = max(max_divergence(outputs[0], outputs[1]), max_divergence(outputs[1], outputs[0]))
    assert found.epsilon_out == pytest.approx(both)
    assert found.worst == (1, 0)


def test_any_divergence() -> None:
    order_two = functools.partial(renyi, order=2)
    table = [[0.5, 0.5], [0.25, 0.75]]
    assert metric_privacy(table, [[0, 1], [1, 0]], 1, order_two).epsilon_out == pytest.approx(
        max(order_two(*table), order_two(*reversed(table)))
    )
    moved = [Discrete(points=np.array([x, x + 1]), probabilities=np.array([0.5, 0.5])) for x in LINE]
    found = metric_privacy(moved, APART, 3, functools.partial(wasserstein, order=math.inf))
    assert found.epsilon_out == 3
    assert metric_privacy([[1.0, 0.0], [0.0, 1.0]], [[0, 1], [1, 0]], 1).epsilon_out == math.inf


def test_no_pair_within_the_radius() -> None:
    alone = metric_privacy([[0.5, 0.5]], [[0]], 1)
    assert (alone.epsilon_out, alone.worst) == (0, None)


def test_bad_metrics() -> None:
    cases: list[list[list[float]]] = [
        [[0, 1]],
        [[0, -1], [-1, 0]],
        [[0, 1], [2, 0]],
        [[1, 1], [1, 0]],
        [[0, math.nan]] * 2,
    ]
    for apart in cases:
        with pytest.raises(ParameterError, match="distances"):
            metric_privacy([[0.5, 0.5], [0.5, 0.5]], apart, 1)


def test_bad_radius_and_divergence() -> None:
    with pytest.raises(ParameterError, match="epsilon_in"):
        metric_privacy([[1.0]], [[0]], -1)
    with pytest.raises(ParameterError, match="divergence"):
        metric_privacy([[1.0], [1.0]], [[0, 1], [1, 0]], 1, lambda _p, _q: math.nan)
    with pytest.raises(ParameterError, match="epsilon_out"):
        metric_privacy([[1.0]], [[0]], 1).holds(math.nan)


def test_a_pair_on_the_rim_is_counted() -> None:
    grid = np.arange(4) * 0.1  # 0.1 * 3 is above 0.3
    outputs = [[0.5, 0.5], [0.4, 0.6], [0.3, 0.7], [0.2, 0.8]]
    assert metric_privacy(outputs, abs(grid[:, None] - grid), 0.3).worst == (0, 3)


def test_wrong_types_are_named() -> None:
    table, metric = [[0.5, 0.5], [0.4, 0.6]], [[0, 1], [1, 0]]
    with pytest.raises(ParameterError, match=r"^outputs must be a sequence"):
        metric_privacy(5, metric, 1)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ParameterError, match=r"^divergence must be a function"):
        metric_privacy(table, metric, 1, 5)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ParameterError, match=r"^divergence of inputs 0 and 1 must be a number, not None"):
        metric_privacy(table, metric, 1, lambda _p, _q: None)  # type: ignore[arg-type,return-value]  # likewise
