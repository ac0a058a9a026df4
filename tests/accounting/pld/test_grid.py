"""Grids stay small however many repetitions, and blocks change a bound by next to nothing."""

import numpy as np
import pytest

from celosia.accounting.pld.atoms import randomized_response
from celosia.accounting.pld.curve import Curve
from celosia.accounting.pld.discretise import Pair
from celosia.accounting.pld.grid import Grid, chosen_grid, composed
from celosia.accounting.pld.loss_atoms import Atoms
from celosia.accounting.pld.normal import Normal, SampledNormal


def test_a_grid_is_fine_for_a_step_and_spans_the_whole(*, thorough: bool) -> None:
    size = 2**20 if thorough else 2**14
    times_cases: list[int] = [1, 30, 1000, 10**6, 10**12]
    pair_cases: list[Pair] = [
        randomized_response(0.1),
        randomized_response(1e-6),
        randomized_response(1e4),
        Normal(mu=1.0),
        Normal(mu=300.0),
    ]
    for times in times_cases:
        for pair in pair_cases:
            grid = chosen_grid([[(pair, times)]], size)
            assert 1 <= grid.blocks <= times
            assert grid.fine <= grid.interval
            cells = composed([(pair, times)], grid)
            assert len(cells.masses) <= 2 * size
            assert cells.interval == grid.interval


def test_coins_fall_on_grid_points() -> None:
    grid = chosen_grid([[(randomized_response(0.1), 1000)]], 2**20)
    assert 0.1 / grid.interval == pytest.approx(round(0.1 / grid.interval), abs=1e-9)


@pytest.mark.parametrize(
    "pair", [randomized_response(0.1), Normal(mu=0.3), SampledNormal(mu=1.0, probability=0.1, kind="remove")], ids=str
)
def test_blocks_change_a_bound_by_next_to_nothing(pair: Pair) -> None:
    times = 9_999  # leaves a remainder
    grid = Grid(fine=2e-3, blocks=100, interval=2e-2)
    blocks = Curve(composed([(pair, times)], grid)).epsilon(1e-6)
    plain = Curve(composed([(pair, times)], Grid.plain(2e-3))).epsilon(1e-6)
    assert plain * (1 - 1e-9) <= blocks <= plain * 1.001


def test_blocks_are_chosen_without_remainder_where_possible() -> None:
    grid = chosen_grid([[(Normal(mu=1.0), 10**6)]], 2**20)
    assert grid.blocks > 1
    assert 10**6 % grid.blocks == 0


def test_losses_that_are_all_the_same_have_a_grid() -> None:
    nothing = Atoms(losses=np.zeros(1), masses=np.ones(1))
    grid = chosen_grid([[(nothing, 10**6)]], 2**20)
    assert Curve(composed([(nothing, 10**6)], grid)).epsilon(1e-6) < 1e-6
