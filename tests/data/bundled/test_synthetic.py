from __future__ import annotations

import numpy as np

from celosia.data import CAUSES, STATES, deaths, make_deaths
from celosia.data.bundled import synthetic


def test_the_bundled_table_is_the_generated_one() -> None:
    made, bundled = make_deaths(), deaths()
    assert made.schema.equals(bundled.schema, check_metadata=True)
    assert made.equals(bundled)


def test_every_cause_and_state_has_a_weight() -> None:
    assert list(synthetic._PROFILES) == list(CAUSES)
    assert list(synthetic._STATE_WEIGHTS) == list(STATES)


def test_age_profiles_keep_the_weights_of_their_causes() -> None:
    bell = synthetic._bell(5, 3, 0)
    assert (bell >= 0).all()
    assert synthetic._PROFILE_TOTAL - bell.size < bell.sum() <= synthetic._PROFILE_TOTAL


def test_the_joint_weights_leave_minors_out_of_diabetes() -> None:
    weights = synthetic._weights()
    row = list(CAUSES).index("E149")
    assert weights[row, :, :18].sum() == 0
    assert weights[row, :, 18:].sum() > 0
    assert np.all(weights >= 0)


def test_neighbouring_rows_are_not_sorted() -> None:
    minors = make_deaths()["age"].to_numpy() < 18
    halves = minors[:100_000].sum(), minors[100_000:].sum()
    assert 0.8 < halves[0] / halves[1] < 1.25
