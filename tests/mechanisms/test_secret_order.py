"""Secret orders and stops: uniform over all of them, and repeatable from a seeded source only."""

from collections import Counter
from itertools import permutations
from typing import Any

import pytest
from scipy import stats

from celosia.core import ParameterError
from celosia.mechanisms.secret_order import secret_permutation, secret_stop
from celosia.noise import Seeded


def test_every_order_is_equally_likely() -> None:
    source = Seeded(5)
    seen = Counter(tuple(secret_permutation(4, source=source).tolist()) for _ in range(6_000))
    assert set(seen) == set(permutations(range(4)))
    assert stats.chisquare(list(seen.values())).pvalue > 0.001


def test_every_stop_is_equally_likely() -> None:
    source = Seeded(5)
    seen = Counter(secret_stop(7, source=source) for _ in range(7_000))
    assert set(seen) == set(range(1, 8))
    assert stats.chisquare(list(seen.values())).pvalue > 0.001


def test_one_record_has_one_order_and_one_stop() -> None:
    assert secret_permutation(1).tolist() == [0]
    assert secret_stop(1) == 1


def test_the_system_draws_anew() -> None:
    assert secret_permutation(50).tolist() != secret_permutation(50).tolist()
    assert secret_permutation(50, source=Seeded(1)).tolist() == secret_permutation(50, source=Seeded(1)).tolist()


def test_records_are_counted() -> None:
    cases: list[Any] = [0, -3, 2.5, True, None]
    for records in cases:
        with pytest.raises(ParameterError, match="records"):
            secret_permutation(records)
        with pytest.raises(ParameterError, match="records"):
            secret_stop(records)
