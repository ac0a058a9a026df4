from __future__ import annotations

import functools
import math
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from celosia.cli.demo.answers import open_session
from celosia.cli.demo.attack import TRIES, Attack, Try, attack, attack_plain
from celosia.core import PureDP
from celosia.data import deaths
from celosia.noise import Seeded


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return deaths()


@pytest.fixture(scope="module")
def attacked(table: pa.Table) -> Attack:
    return attack(table, open_session(table, Fraction(2 * TRIES), Seeded(3)), Fraction(1))


def hers(table: pa.Table) -> pa.ChunkedArray:
    known = (("sex", "F"), ("cause", "G409"), ("state", "Nayarit"))
    return functools.reduce(pc.and_, (pc.equal(table[name], value) for name, value in known))


def victim(table: pa.Table) -> pa.Table:
    return table.filter(hers(table))


def test_the_condition_singles_out_one_row(table: pa.Table) -> None:
    assert victim(table).num_rows == 1


def test_the_plain_database_gives_her_age_away(table: pa.Table, attacked: Attack) -> None:
    assert attacked.revealed == victim(table)["age"][0].as_py()
    (everybody, but_one), rows = attack_plain(table)
    assert rows == table.num_rows
    assert rows * everybody - (rows - 1) * but_one == pytest.approx(attacked.revealed, abs=1e-6)


def test_it_works_on_any_age(table: pa.Table) -> None:
    ages = table["age"].to_numpy().copy()
    ages[pc.index(hers(table), True).as_py()] = 97
    changed = table.set_column(0, "age", pa.array(ages))
    (everybody, but_one), rows = attack_plain(changed)
    assert rows * everybody - (rows - 1) * but_one == pytest.approx(97, abs=1e-6)


def test_the_session_does_not(attacked: Attack) -> None:
    assert len(attacked.tries) == TRIES
    assert attacked.error > attacked.guess > 30
    assert "wrong by" in attacked.verdict
    assert "do reveal something" not in attacked.verdict


def test_a_try_costs_both_averages(attacked: Attack) -> None:
    assert attacked.cost == PureDP(epsilon=2)


@pytest.mark.thorough  # the noise of averages is tested with the queries
def test_the_noise_is_as_wide_as_theory_says(table: pa.Table) -> None:
    # An average is 120 above / (above + below) with Laplace noise of scale 120 on both sums: to first order its error,
    # times the number of rows, is (1 - p) X - p Y with p = mean / 120, and the two averages add up.
    few = pa.concat_tables([victim(table), table.filter(pc.invert(hers(table))).slice(0, 20_000)])
    session = open_session(few, Fraction(200), Seeded(5))
    found = [attempt.age for _ in range(6) for attempt in attack(few, session, Fraction(1)).tries]
    share = pc.mean(few["age"]).as_py() / 120
    deviation = math.sqrt(2 * 2 * 120**2 * ((1 - share) ** 2 + share**2))
    root = math.sqrt(sum((age - 24) ** 2 for age in found) / len(found))
    assert 0.6 * deviation < root < 1.5 * deviation


def test_the_intervals_hold_the_true_age(attacked: Attack) -> None:
    for attempt in attacked.tries:
        assert attempt.low <= attempt.age <= attempt.high
    assert sum(attempt.low <= attacked.revealed <= attempt.high for attempt in attacked.tries) >= TRIES - 1


def test_an_epsilon_that_protects_nobody_is_called_so() -> None:
    tries = (Try(age=24.5, low=23.0, high=26.0),)
    weak = Attack(plain=(61.9, 61.9), rows=200_000, revealed=24.0, tries=tries, cost=PureDP(epsilon=1000))
    assert weak.error == 0.5
    assert "do reveal something about her" in weak.verdict
