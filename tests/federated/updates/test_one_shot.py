"""The sums of one round are those of all records in one place, and are not shown before they have noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import InputError
from celosia.federated.contributions import RoundSum
from celosia.learn import LinearRegression
from celosia.noise import Seeded
from tests.federated.test_federation import federate, make_records


@given(st.lists(st.integers(1, 60), min_size=2, max_size=5), st.integers(0, 2**32))
def test_the_exact_sums_of_the_parties_are_those_of_all_records(sizes: list[int], seed: int) -> None:
    parties = {str(number): make_records(size, seed + number) for number, size in enumerate(sizes)}
    plan: Any = federate(parties).plan()
    features, target = (np.concatenate([records[place] for records in parties.values()]) for place in (0, 1))
    model = LinearRegression(bounds=(0, 10), bounds_y=(-5, 45), epsilon=1, delta="1e-5")
    together = model.sum_records(features, target, model.plan_sums(features, target)).combine()
    names = list(parties)
    exact = plan.compute(names, plan.start(), [Seeded(1)] * len(names))
    total = sum(np.asarray(one, dtype=object) for one in exact)
    assert np.array_equal(total, np.asarray(together, dtype=object))


def test_a_plan_shows_no_sums() -> None:
    plan = federate().plan()
    assert "sums" not in repr(plan)
    huge = RoundSum(total=np.array([2**63] * plan.width, dtype=object), accepted=("a",), rejected={})
    with pytest.raises(InputError):
        plan.advance(plan.start(), huge)
