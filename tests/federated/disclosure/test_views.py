"""What an observer of gossip learns: exact divergences of its whole view, the published formula, and their table."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.core import NotPrivateWarning, ParameterError
from celosia.federated import (
    Graph,
    Weights,
    constant_weights,
    gossip_exposures,
    make_graph,
    metropolis_weights,
    muffliato_exposures,
)
from tests.federated.topology.test_graph import graphs

Matrix = list[list[Fraction]]
CREDITORS = make_graph("creditors")


def draw_case(seed: int) -> tuple[Graph, Matrix, int, list[int]]:
    """A random connected graph with exact weights, a number of steps, and an observer or a coalition."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 10))
    tree = {(int(rng.integers(0, place)), place) for place in range(1, count)}
    more = {edge for edge in itertools.combinations(range(count), 2) if rng.random() < rng.choice([0.0, 0.05, 0.3])}
    names = [f"p{place}" for place in range(count)]
    graph = Graph([(names[a], names[b]) for a, b in tree | more], names)
    observer = sorted(rng.choice(count, size=int(rng.integers(1, min(count, 4))), replace=False).tolist())
    degrees = graph.adjacency.sum(axis=1).tolist()
    matrix = [[Fraction(0)] * count for _ in range(count)]
    constant = rng.random() < 0.3
    for a, b in itertools.permutations(range(count), 2):
        if graph.adjacency[a, b]:
            matrix[a][b] = Fraction(1, 1 + (max(degrees) if constant else max(degrees[a], degrees[b])))
    for place in range(count):
        matrix[place][place] = 1 - sum(matrix[place], Fraction(0))
    return graph, matrix, int(rng.integers(1, 5)), observer


def multiply(one: Matrix, other: Matrix) -> Matrix:
    columns = list(zip(*other, strict=True))
    return [[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in one]


def solve(matrix: Matrix, right: Matrix) -> Matrix:
    """A solution of a consistent system, exactly; free variables are 0."""
    rows = [[*left, *more] for left, more in zip(matrix, right, strict=True)]
    width, pivots = len(matrix), list[int]()
    for column in range(width):
        place = next((row for row in range(len(pivots), width) if rows[row][column]), None)
        if place is None:
            continue
        top = len(pivots)
        rows[top], rows[place] = rows[place], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for row in range(width):
            if row != top and (factor := rows[row][column]):
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[top], strict=True)]
        pivots.append(column)
    assert not any(any(row) for row in rows[len(pivots) :]), "an inconsistent system"
    solution = [[Fraction(0)] * len(right[0]) for _ in range(width)]
    for row, column in enumerate(pivots):
        solution[column] = rows[row][width:]
    return solution


def compute_divergence(graph: Graph, matrix: Matrix, steps: int, observer: list[int]) -> list[Fraction]:
    """The squared mu of the view for each party, from its covariance given the observer's own noise (sigma 1)."""
    count = len(matrix)
    watched = [place for place in range(count) if graph.adjacency[observer, place].any()]
    power = [[Fraction(int(a == b)) for b in range(count)] for a in range(count)]
    view: Matrix = []
    for _ in range(steps):
        view += [power[place] for place in watched]
        power = multiply(power, matrix)
    joint = multiply(view, [list(column) for column in zip(*view, strict=True)])
    # Schur's complement of the own noise, whose covariance is the identity.
    cross = [[row[place] for place in observer] for row in view]
    known = multiply(cross, [list(column) for column in zip(*cross, strict=True)])
    covariance = [[a - b for a, b in zip(one, other, strict=True)] for one, other in zip(joint, known, strict=True)]
    others = [place for place in range(count) if place not in observer]
    shifts = [[row[place] for place in others] for row in view]
    solved = solve(covariance, shifts)
    squares = {
        place: sum((row[column] * by[column] for row, by in zip(shifts, solved, strict=True)), Fraction(0))
        for column, place in enumerate(others)
    }
    return [squares.get(place, Fraction(-1)) for place in range(count)]


def test_exposures_are_the_divergences_of_the_whole_view() -> None:
    exact, partial = 0, 0
    for seed in range(200):
        graph, matrix, steps, observer = draw_case(seed)
        expected = compute_divergence(graph, matrix, steps, observer)
        found = gossip_exposures(
            Weights(graph, [[float(one) for one in row] for row in matrix]),
            steps,
            [graph.parties[place] for place in observer],
        )
        for value, truth in zip(found.tolist(), expected, strict=True):
            if truth < 0:
                assert np.isnan(value)
                continue
            assert value == pytest.approx(float(truth), abs=1e-9), seed
            exact += 1
            partial += 0 < truth < 1
    assert exact > 400
    assert partial > 60  # not only nothing and everything


def test_the_table_of_the_creditors_graph() -> None:
    weights = metropolis_weights(CREDITORS)
    table = {1: (0.381, 0.381, 0), 2: (0.690, 0.488, 18), 3: (0.929, 0.584, 26), 4: (0.952, 0.696, 24)}
    table |= {5: (0.976, 0.776, 19), 6: (1.00, 0.836, 14), 8: (1.00, 0.910, 9)}
    for steps, (exact, published, below) in table.items():
        truth = np.array([gossip_exposures(weights, steps, name) for name in CREDITORS.parties])
        with pytest.warns(NotPrivateWarning, match="no upper bound"):
            formula = np.array([muffliato_exposures(weights, steps, name) for name in CREDITORS.parties])
        assert float(np.nanmean(truth)) == pytest.approx(exact, abs=5e-4)
        assert float(np.nanmean(formula)) == pytest.approx(published, abs=5e-4)
        assert int((formula < truth - 1e-9).sum()) == below


def test_two_steps_on_a_path_reveal_all_where_the_formula_says_a_third() -> None:
    weights = metropolis_weights(make_graph("path", ["u", "w", "v"]))
    assert gossip_exposures(weights, 2, "v")[0] == pytest.approx(1)
    with pytest.warns(NotPrivateWarning):
        assert muffliato_exposures(weights, 2, "v")[0] == pytest.approx(1 / 3)


@given(graphs(), st.integers(1, 12), st.data())
def test_more_steps_and_more_observers_never_see_less(graph: Graph, steps: int, data: st.DataObject) -> None:
    weights = data.draw(st.sampled_from([metropolis_weights(graph), constant_weights(graph)]))
    observer = data.draw(st.sampled_from(graph.parties))
    found = gossip_exposures(weights, steps, observer)
    assert (np.isnan(found) == (np.array(graph.parties) == observer)).all()
    assert np.nanmin(found) >= 0
    assert np.nanmax(found) == pytest.approx(1)  # a neighbour's first message is its noisy input
    assert (gossip_exposures(weights, steps + 1, observer) >= found - 1e-9)[~np.isnan(found)].all()
    if len(graph.parties) > 2:
        other = data.draw(st.sampled_from([name for name in graph.parties if name != observer]))
        both = gossip_exposures(weights, steps, [observer, other])
        assert (both >= found - 1e-9)[~np.isnan(both)].all()


def test_nothing_comes_from_beyond_the_reach_of_the_messages() -> None:
    weights = metropolis_weights(make_graph("path", 9))
    for steps in range(1, 9):
        found = gossip_exposures(weights, steps, "1")[1:]
        assert found[:steps] == pytest.approx(np.ones(steps))
        assert (found[steps:] == 0).all()


def test_hundreds_of_steps_stay_exact_where_powers_do_not() -> None:
    # On a ring the numbers of the others arrive one by one, from both sides.
    ring = metropolis_weights(make_graph("ring", 41))
    assert gossip_exposures(ring, 400, "1")[1:] == pytest.approx(np.ones(40), abs=1e-6)
    star = metropolis_weights(make_graph("star", 30))  # a leaf sees the centre, and the sum of the other leaves
    for steps in (3, 400):
        assert gossip_exposures(star, steps, "2")[2:] == pytest.approx(np.full(28, 1 / 28))


def test_what_a_small_weight_carries_is_seen_as_well() -> None:
    path = make_graph("path", ["t", "u", "w", "v"])
    weights = constant_weights(path, "1e-7")
    for steps, reach in ((1, 1), (2, 2), (3, 3)):
        found = gossip_exposures(weights, steps, "v")[:3]
        assert found == pytest.approx(np.array([0.0] * (3 - reach) + [1.0] * reach), abs=1e-9)


def test_what_is_no_view_is_refused() -> None:
    weights = metropolis_weights(CREDITORS)
    bad: list[tuple[Any, Any, Any, str]] = [
        (weights.matrix, 3, "1", "must be Weights"),
        (weights, 0, "1", "steps"),
        (weights, 2.5, "1", "steps"),
        (weights, 3, "8", "no party '8'"),
        (weights, 3, list("1234567"), "leave out"),
        (weights, 3, 5, "name or a list"),
    ]
    for compute in (gossip_exposures, muffliato_exposures):
        for given_, steps, observer, words in bad:
            with warnings.catch_warnings(action="ignore"), pytest.raises(ParameterError, match=words):
                compute(given_, steps, observer)


def mix(shift: float, known: float, places: Any) -> Any:
    """The density of w's second message on the path u, w, v: hidden state, its gradient's sign, and fresh noise."""
    hidden = np.linspace(-3, 3.5, 801)
    mass = stats.norm.pdf(hidden, shift / 3, 1 / 3) * (hidden[1] - hidden[0])
    return stats.norm.pdf(places[:, None] - hidden - np.sign(hidden - 1 / 6 + known)) @ mass


def compute_variation(known: float) -> float:
    places = np.linspace(-8, 9, 501)
    return float(np.abs(mix(0, known, places) - mix(1, known, places)).sum() * (places[1] - places[0]) / 2)


def test_a_projection_is_no_bound_when_a_gradient_depends_on_a_hidden_state() -> None:
    # Weights of a third, sigma and clip 1; u sends 0 or 1 in the first round, and w adds sign(state - 1/6) in the
    # second. By projection, v sees a third of u's noisy input and a noise of 1.
    bound = 2 * stats.norm.cdf((1 / 9 / (1 / 9 + 1)) ** 0.5 / 2) - 1
    assert bound == pytest.approx(0.126, abs=5e-4)
    assert compute_variation(known=0) == pytest.approx(0.321, abs=5e-4)
    # The state also has the first noises of w and v in it, which v knows. On average over these it is less, and still
    # beyond the bound.
    noises = np.linspace(-2.4, 2.4, 25)
    chances = stats.norm.pdf(noises, 0, 2**0.5 / 3)
    mean = float(chances @ [compute_variation(noise) for noise in noises] / chances.sum())
    assert mean == pytest.approx(0.229, abs=5e-4)
    assert mean > bound
