"""Releases: they show what was released and no more, and give an error bar or say why there is none."""

import copy
import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from celosia.core import (
    ExponentialEvent,
    LaplaceEvent,
    NoIntervalError,
    ParameterError,
    PureDP,
    Release,
    ReplaceOne,
)

EVENT = LaplaceEvent(scale=987, sensitivity=654)
GUARANTEE = PureDP(epsilon="0.1", adjacency=ReplaceOne)


def _margin(level: float) -> float:
    assert type(level) is float
    return 10 * level


def test_repr_shows_the_value_and_the_guarantee_and_no_more() -> None:
    for value in (109, -1.5, "U071", np.array([1, 2]), [1, 2], None):
        release = Release(value=value, event=EVENT, guarantee=GUARANTEE, margin=_margin)
        assert repr(release) == str(release) == f"Release({value!r}, PureDP(epsilon='0.1', adjacency=ReplaceOne))"


def test_repr_says_when_the_noise_can_be_repeated() -> None:
    release = Release(value=109, event=EVENT, guarantee=PureDP(epsilon=1), seeded=True)
    assert repr(release) == "Release(109, PureDP(epsilon=1), seeded=True)"


def test_a_release_is_not_seeded_unless_it_says_so() -> None:
    assert Release(value=109, event=EVENT, guarantee=GUARANTEE).seeded is False


def test_a_release_holds_what_it_was_given() -> None:
    release = Release(value=109, event=EVENT, guarantee=GUARANTEE, seeded=True)
    names = {"value", "event", "guarantee", "seeded", "margin", "interval"}
    assert {field.name for field in dataclasses.fields(release)} == names
    assert (release.value, release.event, release.guarantee, release.seeded) == (109, EVENT, GUARANTEE, True)


def test_releases_are_equal_by_what_they_say() -> None:
    release = Release(value=109, event=EVENT, guarantee=GUARANTEE)
    assert release == Release(value=109, event=EVENT, guarantee=GUARANTEE, margin=_margin)
    assert hash(release) == hash(copy.deepcopy(release))
    assert release != dataclasses.replace(release, value=110)
    assert release != dataclasses.replace(release, seeded=True)
    assert release != dataclasses.replace(release, guarantee=PureDP(epsilon=1))
    assert release != dataclasses.replace(release, event=ExponentialEvent(epsilon=1))


def test_a_release_is_frozen() -> None:
    release: Any = Release(value=109, event=EVENT, guarantee=GUARANTEE, seeded=True)
    for name, value in {"value": 1, "seeded": False, "guarantee": PureDP(epsilon=0)}.items():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(release, name, value)
    with pytest.raises((AttributeError, TypeError)):
        release.true_value = 108
    assert release.seeded is True


def test_an_interval_is_the_value_and_the_margin_on_both_sides() -> None:
    release = Release(value=100, event=EVENT, guarantee=GUARANTEE, margin=_margin)
    assert release.confidence_interval(0.5) == (95, 105)
    assert release.confidence_interval() == (90.5, 109.5)
    assert release.confidence_interval(level="0.9") == (91, 109)
    assert release.confidence_interval(Fraction(1, 4)) == (97.5, 102.5)
    assert release.confidence_interval(float(np.float32(0.5))) == (95, 105)


def test_an_interval_of_an_array_is_taken_coordinate_by_coordinate() -> None:
    release = Release(value=np.array([[1, 2], [3, 4]]), event=EVENT, guarantee=GUARANTEE, margin=lambda _: 2)
    low, high = release.confidence_interval(0.9)
    assert low.tolist() == [[-1, 0], [1, 2]]
    assert high.tolist() == [[3, 4], [5, 6]]


def test_an_interval_need_not_be_the_same_to_both_sides() -> None:
    def interval(level: float) -> tuple[float, float]:
        assert type(level) is float
        return 100 - level, 100 + 2 * level

    release = Release(value=100, event=EVENT, guarantee=GUARANTEE, interval=interval)
    assert release.confidence_interval("0.5") == (99.5, 101)
    assert release == Release(value=100, event=EVENT, guarantee=GUARANTEE)
    assert repr(release) == repr(Release(value=100, event=EVENT, guarantee=GUARANTEE))
    with pytest.raises(ParameterError, match=r"^level must be "):
        release.confidence_interval(2)


def test_a_level_is_a_probability_between_zero_and_one() -> None:
    cases: list[Any] = [
        0,
        1,
        0.0,
        1.0,
        -0.5,
        1.5,
        95,
        math.nan,
        math.inf,
        "",
        "95%",
        True,
        None,
        1j,
        "0.99999999999999999999",
    ]
    for level in cases:
        release = Release(value=100, event=EVENT, guarantee=GUARANTEE, margin=_margin)
        with pytest.raises(ParameterError, match=r"^level must be "):
            release.confidence_interval(level)


def test_a_choice_has_no_interval_and_says_so_without_quoting_it() -> None:
    release = Release(value="U071", event=ExponentialEvent(epsilon=1), guarantee=PureDP(epsilon=1))
    with pytest.raises(NoIntervalError, match="ExponentialEvent is a choice") as caught:
        release.confidence_interval(0.95)
    assert isinstance(caught.value, TypeError)
    assert "U071" not in str(caught.value)


def test_releases_of_different_shapes_are_different() -> None:
    one, two = (Release(value=np.zeros(n), event=EVENT, guarantee=GUARANTEE) for n in (2, 3))
    assert one != two
    assert one == Release(value=np.zeros(2), event=EVENT, guarantee=GUARANTEE)
    assert one != Release(value=0, event=EVENT, guarantee=GUARANTEE)
