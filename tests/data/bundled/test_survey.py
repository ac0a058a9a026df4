"""The synthetic survey: whole households, plausible persons, the same rows from the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from celosia.core import ParameterError
from celosia.data import ILLNESSES, JOBS, PROVINCES, make_survey
from celosia.noise import Seeded


def test_the_same_seed_gives_the_same_survey() -> None:
    assert make_survey(50).equals(make_survey(50, source=Seeded(2026)))
    assert not make_survey(50).equals(make_survey(50, source=Seeded(1)))


def test_persons_of_a_household_live_in_one_place() -> None:
    survey = make_survey(400)
    homes = np.array(survey["household"])
    assert np.unique(homes).tolist() == list(range(1, 401))
    for name in ("province", "postal code", "weight"):
        places = {(home, value) for home, value in zip(homes, survey[name].to_pylist(), strict=True)}
        assert len(places) == 400
    codes = dict(zip(survey["province"].to_pylist(), survey["postal code"].to_pylist(), strict=True))
    assert {name: PROVINCES[code[:2]] for name, code in codes.items()} == {name: name for name in codes}


def test_columns_hold_what_they_say() -> None:
    survey = make_survey(1000)
    ages, jobs = np.array(survey["age"]), np.array(survey["job"])
    assert 0 <= ages.min() < 18
    assert 67 < ages.max() <= 95
    assert set(jobs) <= set(JOBS)
    assert set(survey["illness"].to_pylist()) == set(ILLNESSES)
    assert (ages[jobs == "pupil"] < 18).all()
    assert (ages[jobs == "retired"] >= 67).all()
    assert (np.array(survey["weight"]) > 0).all()
    assert len(set(survey["name"].to_pylist())) == survey.num_rows


def test_a_survey_has_a_household() -> None:
    with pytest.raises(ParameterError):
        make_survey(0)
